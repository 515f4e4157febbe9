#include "cli/plan_run.h"

#include "cli/given_options.h"
#include "cli/output.h"

#include <stdio.h>

carom_status plan_run_properties(plan_run *w, const char *folder, carom_error *error) {
  char path[4096];
  carom_run_config config;
  carom_difference found;
  snprintf(path, sizeof path, "%.4000s/config.json", folder);
  carom_status status = carom_run_config_read(path, &config, &w->learned_system, error);
  if (status != CAROM_OK) return status;
  carom_run_config_free(&config);
  const carom_system *system = carom_plan_describe(w->plan).system;
  if (carom_system_differs(w->learned_system, system, &found))
    return carom_error_set(
        error, CAROM_INVALID_DATA,
        "%s: the run is of another scene than the plan: %s is %s there and %s here", folder,
        found.path, found.first, found.second);
  snprintf(path, sizeof path, "%.4000s/best.h5", folder);
  status = carom_model_load(w->learned_system, path, &w->model, error);
  if (status == CAROM_OK) status = carom_plan_set_model(w->plan, w->model, error);
  return status;
}

void plan_run_free(plan_run *w) {
  carom_plan_result_destroy(w->result);
  carom_plan_destroy(w->plan);
  carom_model_destroy(w->model);
  carom_system_destroy(w->learned_system);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static json_t *numbers_json(const double *values, int count) {
  json_t *array = json_array();
  for (int k = 0; k < count; k++) json_array_append_new(array, json_number(values[k]));
  return array;
}

static json_t *unknowns_json(const plan_run *w) {
  const carom_plan_result *r = w->result;
  const double *start = r->start_unknowns + (size_t)r->best * (size_t)r->unknown_count;
  json_t *array = json_array();
  for (int k = 0; k < r->unknown_count; k++)
    json_array_append_new(
        array, json_pack("{ss so so}", "name", carom_plan_unknown(w->plan, k).name, "start",
                         json_number(start[k]), "found", json_number(r->unknowns[k])));
  return array;
}

static json_t *starts_json(const carom_plan_result *r) {
  json_t *array = json_array();
  for (int k = 0; k < r->start_count; k++) {
    const carom_plan_start *s = &r->starts[k];
    json_array_append_new(
        array,
        json_pack("{so so si si si ss}", "first_loss", json_number(s->first_loss), "loss",
                  json_number(s->loss), "iterations", s->iterations, "evaluations", s->evaluations,
                  "missing", s->missing, "ended", carom_plan_stop_text(s->stop)));
  }
  return array;
}

static json_t *terms_json(const plan_run *w) {
  const carom_plan_result *r = w->result;
  json_t *array = json_array();
  for (int k = 0; k < r->term_count; k++) {
    char label[256];
    carom_plan_term_label(w->plan, k, label, sizeof label);
    json_t *term = json_pack("{ss so}", "term", label, "value", json_number(r->terms[k]));
    if (r->judged) json_object_set_new(term, "true_value", json_number(r->true_terms[k]));
    json_array_append_new(array, term);
  }
  return array;
}

json_t *plan_run_json(const plan_run *w) {
  const carom_plan_result *r = w->result;
  const carom_plan_start *best = &r->starts[r->best];
  json_t *out = json_pack(
      "{ss ss so so si si ss so so so so}", "plan", carom_plan_describe(w->plan).name, "optimizer",
      choice_name(CAROM_PLAN_OPTIONS, "optimizer", (int)w->options.optimizer), "first_loss",
      json_number(best->first_loss), "loss", json_number(r->loss), "iterations", best->iterations,
      "evaluations", best->evaluations, "ended", carom_plan_stop_text(best->stop), "unknowns",
      unknowns_json(w), "terms", terms_json(w), "starts", starts_json(r), "losses",
      numbers_json(r->losses, r->iterations + 1));
  json_object_set_new(out, "missing", json_integer(best->missing));
  json_object_set_new(out, "best_start", json_integer(r->best));
  json_object_set_new(out, "gradient_norms", numbers_json(r->gradient_norms, r->iterations + 1));
  json_object_set_new(out, "seconds", json_number(r->seconds));
  json_object_set_new(out, "forward_seconds", json_number(r->forward_seconds));
  json_object_set_new(out, "reverse_seconds", json_number(r->reverse_seconds));
  if (w->options.goal > 0) json_object_set_new(out, "success", json_boolean(r->success));
  if (r->judged) json_object_set_new(out, "true_loss", json_number(r->true_loss));
  if (r->judged && w->options.goal > 0)
    json_object_set_new(out, "true_success", json_boolean(r->true_success));
  json_object_set_new(out, "report", json_report(&r->report));
  return out;
}
