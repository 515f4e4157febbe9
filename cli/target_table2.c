/* `carom reproduce table2`: section 4 of the paper. Learned beside true values and the paper's.
 *
 * table2.json:
 *   {
 *     "carom_version", "command",       the program and the command that wrote it
 *     "properties": [{"task", "model", "seeds", "friction": VALUE, "restitution": VALUE}],
 *     "masses": [{"task", "model", "seeds", "body", "index", "ratio": VALUE}],
 *     "contact_runs": [{"task", "model", "seed", "friction_off", "restitution_off"}],
 *     "contacts": [{"task", "model", "seed", "training_chunks", "contacts": [
 *                   {"contact", "friction", "scene_friction", "restitution", "scene_restitution",
 *                    "states", "chunks"}]}],
 *     "errors": [{"task", "model", "seeds", "chunk_states", "steps", "chunk": ERROR,
 *                 "chunk_state_norm": ERROR, "extended": ERROR, "energy_drift": ERROR,
 *                 "energy_drift_true": ERROR, "error_of_state": [...], "failed", "paper",
 *                 "at_most_paper"}],
 *     "runs": [...]
 *   }
 * VALUE, ERROR and "runs" are those of reproduce_rows.h; "paper" is {"mean", "half_width_95",
 * "source"} or null. */
#include "cli/paper_values.h"
#include "cli/reproduce_rows.h"
#include "cli/reproduce_target.h"
#include "cli/template.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BODIES = 8 }; /* whose mass ratios are listed: not those of ropes */

static json_t *mass_row(const run_group *g, int index, double paper) {
  char path[64], true_path[64], id_path[64];
  snprintf(path, sizeof path, "bodies.%d.mass_ratio", index);
  snprintf(true_path, sizeof true_path, "bodies.%d.scene_mass_ratio", index);
  snprintf(id_path, sizeof id_path, "bodies.%d.body", index);
  const char *id = json_string_value(json_find(g->runs[0].evaluation, id_path));
  json_t *row = group_row(g);
  json_object_set_new(row, "body", json_string(id != NULL ? id : ""));
  json_object_set_new(row, "index", json_integer(index + 1));
  json_object_set_new(row, "ratio", group_value(g, path, true_path, paper, 4));
  return row;
}

static void add_masses(const run_group *g, json_t *rows) {
  const json_t *paper = paper_entry("mass_ratios", g->runs[0].task, g->runs[0].model);
  const int count = (int)json_array_size(json_object_get(g->runs[0].evaluation, "bodies"));
  if (isnan(json_at(g->runs[0].evaluation, "bodies.0.mass_ratio"))) return; // not learned
  for (int body = 1; body < count && count <= MOST_BODIES; body++)
    json_array_append_new(rows,
                          mass_row(g, body, json_at(json_array_get(paper, (size_t)body - 1), "")));
}

// how far the worst contact that occurs in the data is off
static double worst_contact(const json_t *contacts, const char *learned, const char *truth) {
  double worst = 0.0;
  const json_t *row;
  size_t k;
  json_array_foreach(contacts, k, row) {
    if (json_at(row, "states") > 0)
      worst = fmax(worst, fabs(json_at(row, learned) - json_at(row, truth)));
  }
  return worst;
}

// each run of tasks where each contact has its own properties
static void add_contact_runs(const run_group *g, json_t *rows) {
  for (int k = 0; k < g->count; k++) {
    const result *r = &g->runs[k];
    if (r->shared_properties || isnan(json_at(r->evaluation, "contacts.0.friction"))) continue;
    const json_t *contacts = json_object_get(r->evaluation, "contacts");
    json_array_append_new(
        rows,
        json_pack("{ss ss si sf sf}", "task", r->task, "model", r->model, "seed", r->seed,
                  "friction_off", worst_contact(contacts, "friction", "scene_friction"),
                  "restitution_off", worst_contact(contacts, "restitution", "scene_restitution")));
  }
}

// every contact of these tasks: the first model, its first seed
static void add_contacts(const run_group *g, json_t *rows) {
  const result *r = &g->runs[0];
  if (r->shared_properties || strcmp(r->model, carom_model_name(0)) != 0) return;
  json_array_append_new(
      rows, json_pack("{ss ss si sO sO}", "task", r->task, "model", r->model, "seed", r->seed,
                      "training_chunks", json_object_get(r->evaluation, "training_chunks"),
                      "contacts", json_object_get(r->evaluation, "contacts")));
}

static void add_rows(const result_list *list, json_t *document) {
  json_object_set_new(document, "properties", rows_of_groups(list, add_property_row));
  json_object_set_new(document, "masses", rows_of_groups(list, add_masses));
  json_object_set_new(document, "contact_runs", rows_of_groups(list, add_contact_runs));
  json_object_set_new(document, "contacts", rows_of_groups(list, add_contacts));
  json_object_set_new(document, "errors", rows_of_groups(list, add_error_row));
  json_object_set_new(document, "runs", run_rows(list));
}

static const char *const models[] = {"cm-cd-clnn", "cm-cd-chnn", "cmr-cd-clnn", "cmr-cd-chnn",
                                     NULL};

const reproduce_target table2_target = {.name = "table2",
                                        .summary = "table 2 and appendix I: what is learned",
                                        .models = models,
                                        .tasks = paper_tasks,
                                        .add_rows = add_rows};
