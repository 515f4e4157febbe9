#include "cli/reproduce_table.h"

#include "cli/common.h"
#include "cli/paper_values.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_BODIES = 8 }; /* whose mass ratios are listed: not those of ropes */

/* Runs of the same task and model. */
typedef struct group {
  const result *runs;
  int count;
} group;

static group group_at(const result_list *list, int first) {
  return (group){&list->items[first], results_group_end(list, first) - first};
}

static json_t *group_json(const group *g) {
  json_t *seeds = json_array();
  for (int k = 0; k < g->count; k++) json_array_append_new(seeds, json_integer(g->runs[k].seed));
  return json_pack("{ss ss so}", "task", g->runs[0].task, "model", g->runs[0].model, "seeds",
                   seeds);
}

/* ---- learned values -------------------------------------------------------------------------- */

/* A number of each run's evaluation over the seeds; `paper` is NaN where there is none, `decimals`
 * is how many it has. */
static json_t *value_json(const group *g, const char *path, const char *true_path, double paper,
                          int decimals) {
  const double truth = json_at(g->runs[0].evaluation, true_path);
  double sum = 0.0, least = INFINITY, most = -INFINITY, off = 0.0;
  for (int k = 0; k < g->count; k++) {
    const double value = json_at(g->runs[k].evaluation, path);
    sum += value;
    least = fmin(least, value);
    most = fmax(most, value);
    off = fmax(off, fabs(value - truth));
  }
  // half a unit of the paper's last decimal, with room for rounding of its own
  const double room = 0.5 * pow(10.0, -decimals) * (1.0 + 1e-9);
  json_t *close = isnan(paper) ? json_null() : json_boolean(off <= fabs(paper - truth) + room);
  return json_pack("{so so so so so so so}", "true", json_number(truth), "mean",
                   json_number(sum / g->count), "min", json_number(least), "max", json_number(most),
                   "off", json_number(off), "paper", json_number(paper), "at_least_as_close",
                   close);
}

// one friction and restitution for all contacts: that of the first
static json_t *properties_json(const result_list *list) {
  json_t *rows = json_array();
  for (int k = 0; k < list->count; k = results_group_end(list, k)) {
    const group g = group_at(list, k);
    if (!g.runs[0].shared_properties || isnan(json_at(g.runs[0].evaluation, "contacts.0.friction")))
      continue;
    const paper_properties *paper = paper_properties_of(g.runs[0].task, g.runs[0].model);
    json_t *row = group_json(&g);
    json_object_set_new(row, "friction",
                        value_json(&g, "contacts.0.friction", "contacts.0.scene_friction",
                                   paper != NULL ? paper->friction : NAN, 3));
    json_object_set_new(row, "restitution",
                        value_json(&g, "contacts.0.restitution", "contacts.0.scene_restitution",
                                   paper != NULL ? paper->restitution : NAN, 3));
    json_array_append_new(rows, row);
  }
  return rows;
}

static json_t *mass_json(const group *g, int index, const paper_masses *paper) {
  char path[64], true_path[64];
  snprintf(path, sizeof path, "bodies.%d.mass_ratio", index);
  snprintf(true_path, sizeof true_path, "bodies.%d.scene_mass_ratio", index);
  const json_t *bodies = json_object_get(g->runs[0].evaluation, "bodies");
  const char *id =
      json_string_value(json_object_get(json_array_get(bodies, (size_t)index), "body"));
  const bool printed = paper != NULL && index <= PAPER_RATIOS && paper->ratios[index - 1] > 0.0;
  json_t *row = group_json(g);
  json_object_set_new(row, "body", json_string(id != NULL ? id : ""));
  json_object_set_new(row, "index", json_integer(index + 1));
  json_object_set_new(row, "ratio",
                      value_json(g, path, true_path, printed ? paper->ratios[index - 1] : NAN, 4));
  return row;
}

static json_t *masses_json(const result_list *list) {
  json_t *rows = json_array();
  for (int k = 0; k < list->count; k = results_group_end(list, k)) {
    const group g = group_at(list, k);
    const paper_masses *paper = paper_masses_of(g.runs[0].task, g.runs[0].model);
    const int count = (int)json_array_size(json_object_get(g.runs[0].evaluation, "bodies"));
    for (int body = 1; body < count && count <= MOST_BODIES; body++)
      json_array_append_new(rows, mass_json(&g, body, paper));
  }
  return rows;
}

// every contact of tasks where each has its own properties: the first model, its first seed
static json_t *contacts_json(const result_list *list) {
  json_t *tables = json_array();
  for (int k = 0; k < list->count; k = results_group_end(list, k)) {
    const result *r = &list->items[k];
    if (r->shared_properties || strcmp(r->model, carom_model_name(0)) != 0) continue;
    json_array_append_new(
        tables, json_pack("{ss ss si sO sO}", "task", r->task, "model", r->model, "seed", r->seed,
                          "training_chunks", json_object_get(r->evaluation, "training_chunks"),
                          "contacts", json_object_get(r->evaluation, "contacts")));
  }
  return tables;
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
static json_t *contact_runs_json(const result_list *list) {
  json_t *rows = json_array();
  for (int k = 0; k < list->count; k++) {
    const result *r = &list->items[k];
    if (r->shared_properties) continue;
    const json_t *contacts = json_object_get(r->evaluation, "contacts");
    json_array_append_new(
        rows,
        json_pack("{ss ss si sf sf}", "task", r->task, "model", r->model, "seed", r->seed,
                  "friction_off", worst_contact(contacts, "friction", "scene_friction"),
                  "restitution_off", worst_contact(contacts, "restitution", "scene_restitution")));
  }
  return rows;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* What an evaluation says of one number over trajectories. */
typedef struct sample {
  double count, mean, half_width;
} sample;

static sample sample_of(const result *r, const char *path) {
  static const char *const names[] = {"count", "mean", "half_width_95"};
  double values[3];
  for (int k = 0; k < 3; k++) {
    char name[96];
    snprintf(name, sizeof name, "%.60s.%s", path, names[k]);
    // a null is that of too few trajectories
    const double value = json_at(r->evaluation, name);
    values[k] = isnan(value) ? 0.0 : value;
  }
  return (sample){values[0], values[1], values[2]};
}

/* Mean over the trajectories of all seeds with its 95 % interval, as if they had been one sample:
 * from each seed's count n, mean m and half width h = 1.96 s / sqrt(n), the squares about the
 * common mean are the sum of (n - 1) s^2 + n (m - mean)^2. */
static json_t *error_json(const group *g, const char *path) {
  static const double quantile = 1.96;
  double count = 0.0, mean = 0.0, least = INFINITY, most = -INFINITY, squares = 0.0;
  for (int k = 0; k < g->count; k++) {
    const sample s = sample_of(&g->runs[k], path);
    if (s.count < 1.0) continue;
    count += s.count;
    mean += (s.mean - mean) * s.count / count;
    least = fmin(least, s.mean);
    most = fmax(most, s.mean);
  }
  for (int k = 0; k < g->count; k++) {
    const sample s = sample_of(&g->runs[k], path);
    const double deviation = s.half_width * sqrt(s.count) / quantile, off = s.mean - mean;
    if (s.count < 1.0) continue;
    squares += (s.count - 1.0) * deviation * deviation + s.count * off * off;
  }
  // without trajectories there is no mean, from one no interval
  const double half_width = quantile * sqrt(squares / (count * (count - 1.0)));
  return json_pack("{si so so so so}", "count", (int)count, "mean",
                   json_number(count > 0.0 ? mean : NAN), "half_width_95", json_number(half_width),
                   "min", json_number(least), "max", json_number(most));
}

// the relative error of each state of the longer predictions, over the seeds
static json_t *curve_json(const group *g) {
  const int states = (int)fmax(0.0, json_at(g->runs[0].evaluation, "extended.states"));
  json_t *curve = json_array();
  for (int state = 0; state < states; state++) {
    char path[64];
    snprintf(path, sizeof path, "extended.error_of_state.%d", state);
    double sum = 0.0;
    for (int k = 0; k < g->count; k++) sum += json_at(g->runs[k].evaluation, path);
    json_array_append_new(curve, json_number(sum / g->count));
  }
  return curve;
}

static json_t *paper_json(const paper_error *p) {
  if (p == NULL) return json_null();
  return json_pack("{sf sf ss}", "mean", p->mean, "half_width_95", p->half_width, "source",
                   p->source);
}

// predictions that became non-finite
static int failed_count(const group *g) {
  double sum = 0.0;
  for (int k = 0; k < g->count; k++) {
    sum += fmax(0.0, json_at(g->runs[k].evaluation, "chunk.failed"));
    sum += fmax(0.0, json_at(g->runs[k].evaluation, "extended.failed"));
  }
  return (int)sum;
}

static json_t *errors_json(const result_list *list) {
  static const char *const parts[][2] = {
      {"chunk", "chunk.relative_error"},
      {"chunk_state_norm", "chunk.state_norm_error"},
      {"extended", "extended.relative_error"},
      {"energy_drift", "energy.drift_predicted.greatest"},
      {"energy_drift_true", "energy.drift_true.greatest"},
  };
  json_t *rows = json_array();
  for (int k = 0; k < list->count; k = results_group_end(list, k)) {
    const group g = group_at(list, k);
    const json_t *first = g.runs[0].evaluation;
    json_t *row = group_json(&g);
    const int states = (int)fmax(1.0, json_at(first, "extended.states"));
    json_object_set_new(row, "chunk_states", json_integer((int)json_at(first, "chunk.states")));
    json_object_set_new(row, "steps", json_integer(states - 1));
    for (size_t part = 0; part < sizeof parts / sizeof parts[0]; part++)
      json_object_set_new(row, parts[part][0], error_json(&g, parts[part][1]));
    json_object_set_new(row, "error_of_state", curve_json(&g));
    json_object_set_new(row, "failed", json_integer(failed_count(&g)));
    const paper_error *paper = paper_error_of(g.runs[0].task, g.runs[0].model);
    const double error = json_at(row, "chunk.mean");
    json_object_set_new(row, "paper", paper_json(paper));
    json_object_set_new(row, "at_most_paper",
                        paper == NULL ? json_null() : json_boolean(error <= paper->mean));
    json_array_append_new(rows, row);
  }
  return rows;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static json_t *runs_json(const result_list *list) {
  json_t *rows = json_array();
  for (int k = 0; k < list->count; k++) {
    const result *r = &list->items[k];
    const double programs = json_at(r->evaluation, "report.programs");
    const double unsolved = json_at(r->evaluation, "report.failed_programs");
    json_array_append_new(
        rows,
        json_pack("{ss ss si si si so sI sI ss ss}", "task", r->task, "model", r->model, "seed",
                  r->seed, "epochs", r->epochs, "best_epoch", r->best_epoch, "seconds",
                  json_number(r->seconds), "programs",
                  (json_int_t)r->programs + (json_int_t)fmax(0.0, programs), "unsolved_programs",
                  (json_int_t)r->unsolved + (json_int_t)fmax(0.0, unsolved), "carom_version",
                  r->version, "command", r->command));
  }
  return rows;
}

json_t *learning_json(const result_list *list, const char *command) {
  return json_pack("{ss ss so so so so so so}", "carom_version", carom_version(), "command",
                   command, "properties", properties_json(list), "masses", masses_json(list),
                   "contact_runs", contact_runs_json(list), "contacts", contacts_json(list),
                   "errors", errors_json(list), "runs", runs_json(list));
}
