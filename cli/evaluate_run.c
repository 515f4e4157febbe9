#include "cli/evaluate_run.h"

#include "cli/dataset_options.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/ranks.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const checkpoint_names[] = {"best", "last", NULL};
const char *const split_names[] = {"train", "val", "test", NULL};

evaluate_request evaluate_request_default(void) {
  return (evaluate_request){.split = CAROM_TEST, .options = carom_evaluation_default_options()};
}

void evaluate_outcome_free(evaluate_outcome *o) {
  carom_evaluation_destroy(o->result);
  carom_fit_prediction_free(&o->prediction);
  carom_dataset_destroy(o->data);
  carom_dataset_destroy(o->training);
  carom_model_destroy(o->model);
  carom_system_destroy(o->system);
  carom_run_config_free(&o->config);
}

static carom_status in_run(const evaluate_request *a, const char *name, char path[static PATH_MAX],
                           carom_error *error) {
  int length = snprintf(path, PATH_MAX, "%s/%s", a->run, name);
  if (length >= 0 && length < PATH_MAX) return CAROM_OK;
  return carom_error_set(error, CAROM_INVALID_ARGUMENT, "%s: the path is too long", a->run);
}

static carom_status load_model(const evaluate_request *a, evaluate_outcome *o, carom_error *error) {
  char path[PATH_MAX], name[16];
  snprintf(name, sizeof name, "%s.h5", checkpoint_names[a->checkpoint]);
  carom_status status = in_run(a, name, path, error);
  if (status == CAROM_OK) status = carom_model_load(o->system, path, &o->model, error);
  if (status == CAROM_OK) carom_model_set_threads(o->model, a->options.threads);
  return status;
}

// the run's own data: a path in the configuration is absolute or relative to the run folder
static carom_status read_own(const evaluate_request *a, evaluate_outcome *o, carom_dataset **data,
                             carom_error *error) {
  char path[PATH_MAX];
  const char *file = o->config.data;
  carom_dataset_options options = o->config.dataset;
  options.threads = a->options.threads;
  carom_status status = CAROM_OK;
  if (file[0] != '/') {
    status = in_run(a, file, path, error);
    file = path;
  }
  return status == CAROM_OK ? carom_dataset_read(o->system, file, &options, data, error) : status;
}

static carom_status load_data(const evaluate_request *a, evaluate_outcome *o, carom_error *error) {
  const char *file = a->data != NULL ? a->data : o->config.data;
  carom_dataset_options options = o->config.dataset;
  options.threads = a->options.threads;
  carom_status status = a->data == NULL
                            ? read_own(a, o, &o->data, error)
                            : carom_dataset_read(o->system, file, &options, &o->data, error);
  if (status != CAROM_OK) return status;
  // what the model was trained on, where that is still there
  if (a->data != NULL) read_own(a, o, &o->training, NULL);
  double dt = carom_model_describe(o->model).options.dt;
  if (fabs(o->data->dt - dt) > 1e-9 * dt)
    return carom_error_set(error, CAROM_INVALID_DATA,
                           "%s: its time step is %.12g, the model was trained with %.12g", file,
                           o->data->dt, dt);
  if (carom_dataset_split(o->data, a->split)->count > 0) return CAROM_OK;
  return carom_error_set(error, CAROM_INVALID_DATA,
                         "%s: has no %s chunks to evaluate on; choose others with --split", file,
                         split_names[a->split]);
}

/* evaluation in the run folder; of other data evaluation-NAME, NAME its file's without the ending:
 * what was found on the run's own data stays. */
static carom_status name_output(const evaluate_request *a, evaluate_outcome *o,
                                carom_error *error) {
  const char *slash = a->data != NULL ? strrchr(a->data, '/') : NULL;
  const char *name = slash != NULL ? slash + 1 : a->data;
  const char *dot = name != NULL ? strrchr(name, '.') : NULL;
  const int width = name == NULL ? 0 : dot != NULL ? (int)(dot - name) : (int)strlen(name);
  const int length = a->output != NULL
                         ? snprintf(o->output, sizeof o->output, "%s", a->output)
                         : snprintf(o->output, sizeof o->output, "%s/evaluation%s%.*s", a->run,
                                    name != NULL ? "-" : "", width, name != NULL ? name : "");
  if (length >= 0 && length + 6 < (int)sizeof o->output) return CAROM_OK;
  return carom_error_set(error, CAROM_INVALID_ARGUMENT, "%s: the path is too long", a->run);
}

json_t *evaluate_describe(const evaluate_request *a, const evaluate_outcome *o) {
  const carom_model_options used = carom_model_describe(o->model).options;
  char *text = carom_evaluation_json(o->result, o->system);
  json_t *value = text != NULL ? json_loads(text, 0, NULL) : NULL;
  free(text);
  json_object_set_new(value, "run", json_string(a->run));
  if (a->data != NULL) json_object_set_new(value, "data", json_string(a->data));
  json_object_set_new(value, "model", json_string(carom_model_options_name(&used)));
  json_object_set_new(value, "checkpoint", json_string(checkpoint_names[a->checkpoint]));
  json_object_set_new(value, "split", json_string(split_names[a->split]));
  const carom_fit_prediction *p = &o->prediction;
  if (a->whole != NULL)
    json_object_set_new(
        value, "whole",
        json_pack("{ss si so so so so}", "file", a->whole, "trajectories", p->count, "position",
                  json_number(p->position_mean), "position_deviation",
                  json_number(p->position_deviation), "angle", json_number(p->angle_mean),
                  "angle_deviation", json_number(p->angle_deviation)));
  return value;
}

// the JSON comes last: a folder that has it is evaluated
static carom_status write_files(const evaluate_request *a, const evaluate_outcome *o,
                                carom_error *error) {
  char path[PATH_MAX + 8];
  snprintf(path, sizeof path, "%s.h5", o->output);
  carom_status status = carom_evaluation_write(o->result, o->system, path, error);
  if (status != CAROM_OK) return status;
  snprintf(path, sizeof path, "%s.json", o->output);
  json_t *value = evaluate_describe(a, o);
  status = write_json(path, value, error);
  json_decref(value);
  return status;
}

static carom_status predict_whole(const evaluate_request *a, evaluate_outcome *o,
                                  carom_error *error) {
  carom_trajectories t = {0};
  carom_status status = carom_trajectories_read_measured(o->system, a->whole, &t, error);
  if (status == CAROM_OK) {
    status =
        carom_model_predict_whole(o->model, &t, o->config.dataset.velocity, &o->prediction, error);
    if (status != CAROM_OK) {
      char why[sizeof error->message];
      snprintf(why, sizeof why, "%s", error->message);
      carom_error_set(error, status, "%s: %.900s", a->whole, why);
    }
  }
  carom_trajectories_free(&t);
  return status;
}

carom_status evaluate_run(const evaluate_request *a, evaluate_outcome *o, carom_error *error) {
  char path[PATH_MAX];
  carom_status status = in_run(a, "config.json", path, error);
  if (status == CAROM_OK) status = carom_run_config_read(path, &o->config, &o->system, error);
  if (status == CAROM_OK) status = load_model(a, o, error);
  if (status == CAROM_OK) status = load_data(a, o, error);
  if (status == CAROM_OK) status = name_output(a, o, error);
  if (status != CAROM_OK) return status;
  const carom_model_options of_model = carom_model_describe(o->model).options;
  dataset_warn_simulation("evaluate", o->system, o->data, &of_model);
  static const carom_chunks unknown = {0};
  carom_evaluation_options wanted = a->options;
  if (a->data != NULL) wanted.train = o->training != NULL ? &o->training->train : &unknown;
  wanted.contact = o->config.data_contact;
  status = carom_model_evaluate(o->model, o->data, a->split, &wanted, &o->result, error);
  if (status == CAROM_OK && a->whole != NULL) status = predict_whole(a, o, error);
  if (status == CAROM_OK && ranks_writes()) status = write_files(a, o, error);
  return carom_ranks_agree(status, error);
}
