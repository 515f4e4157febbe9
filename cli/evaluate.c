/* carom evaluate: how well a trained model predicts, and what it learned beside the truth. */
#include "base/error.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "io/checkpoint_file.h"
#include "io/dataset_file.h"
#include "io/evaluation_file.h"
#include "io/run_config.h"
#include "learn/dataset.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_DATA = 512, KEY_STEPS, KEY_CHECKPOINT, KEY_SPLIT, KEY_NO_TRUTH, KEY_JSON };
enum { TABLE_ROWS = 30 };

static const char *const checkpoint_names[] = {"best", "last", NULL};
static const char *const split_names[] = {"train", "val", "test", NULL};

typedef struct arguments {
  const char *run;
  const char *data;
  int steps;
  int checkpoint;
  int split;
  bool no_truth;
  bool json;
} arguments;

static const struct argp_option options[] = {
    {"data", KEY_DATA, "FILE", 0, "another data set than the run's", 0},
    {"split", KEY_SPLIT, "NAME", 0, "chunks to evaluate on: train, val or test (default)", 0},
    {"steps", KEY_STEPS, "N", 0, "time steps of the longer predictions (50)", 0},
    {"checkpoint", KEY_CHECKPOINT, "NAME", 0, "best (default) or last", 0},
    {"no-truth", KEY_NO_TRUTH, NULL, 0,
     "the scene's own values are not those of the data: compare with the data alone", 0},
    {"json", KEY_JSON, NULL, 0, "results as JSON", 0},
    {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  arguments *a = state->input;
  switch (key) {
    case KEY_DATA: a->data = text; return 0;
    case KEY_STEPS: a->steps = parse_integer(state, "--steps", text, 1, 1000000); return 0;
    case KEY_CHECKPOINT:
      a->checkpoint = parse_name(state, "--checkpoint", text, checkpoint_names);
      return 0;
    case KEY_SPLIT: a->split = parse_name(state, "--split", text, split_names); return 0;
    case KEY_NO_TRUTH: a->no_truth = true; return 0;
    case KEY_JSON: a->json = true; return 0;
    case ARGP_KEY_ARG:
      if (a->run != NULL) argp_error(state, "one run folder is expected, '%s' is one more", text);
      a->run = text;
      return 0;
    case ARGP_KEY_END:
      if (a->run == NULL) argp_error(state, "a run folder is missing (`carom train -o DIR`)");
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp argp = {
    options,
    parse,
    "DIR",
    "Evaluates the run in DIR on its test chunks: errors of predictions along the chunks and along "
    "more steps with 95 % confidence intervals, energy, learned friction, restitution and masses "
    "beside the scene's. Writes the same to DIR/evaluation.json, and arrays for plotting to "
    "DIR/evaluation.h5."
    "\vExample:\n  carom evaluate runs/cp3 --steps 100",
    NULL,
    NULL,
    NULL};

/* A run with what was found out about it. */
typedef struct outcome {
  run_config config;
  carom_system *system;
  carom_model *model;
  carom_dataset *data;
  evaluation *result;
} outcome;

static void outcome_free(outcome *o) {
  evaluation_destroy(o->result);
  carom_dataset_destroy(o->data);
  carom_model_destroy(o->model);
  carom_system_destroy(o->system);
  run_config_free(&o->config);
}

static carom_status in_run(const arguments *a, const char *name, char path[static PATH_MAX],
                           carom_error *error) {
  int length = snprintf(path, PATH_MAX, "%s/%s", a->run, name);
  if (length >= 0 && length < PATH_MAX) return CAROM_OK;
  return error_set(error, CAROM_INVALID_ARGUMENT, "%s: the path is too long", a->run);
}

static carom_status load_model(const arguments *a, outcome *o, carom_error *error) {
  char path[PATH_MAX], name[16];
  snprintf(name, sizeof name, "%s.h5", checkpoint_names[a->checkpoint]);
  carom_status status = in_run(a, name, path, error);
  return status == CAROM_OK ? carom_model_load(o->system, path, &o->model, error) : status;
}

// the run's data: a path in the configuration is absolute or relative to the run folder
static carom_status load_data(const arguments *a, outcome *o, carom_error *error) {
  char path[PATH_MAX];
  const char *file = a->data != NULL ? a->data : o->config.data;
  carom_status status = CAROM_OK;
  if (a->data == NULL && file[0] != '/') {
    status = in_run(a, file, path, error);
    file = path;
  }
  if (status == CAROM_OK)
    status = dataset_file_read(o->system, file, &o->config.dataset, &o->data, error);
  if (status != CAROM_OK) return status;
  double dt = carom_model_options_of(o->model).dt;
  if (fabs(o->data->dt - dt) > 1e-9 * dt)
    return error_set(error, CAROM_INVALID_DATA,
                     "%s: its time step is %.12g, the model was trained with %.12g", file,
                     o->data->dt, dt);
  if (dataset_split(o->data, a->split)->count > 0) return CAROM_OK;
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: has no %s chunks to evaluate on; choose others with --split", file,
                   split_names[a->split]);
}

// every number, and what was evaluated
static json_t *describe(const arguments *a, const outcome *o) {
  const carom_model_options used = carom_model_options_of(o->model);
  json_t *value = evaluation_to_json(o->system, o->result);
  json_object_set_new(value, "run", json_string(a->run));
  json_object_set_new(value, "model", json_string(model_options_name(&used)));
  json_object_set_new(value, "checkpoint", json_string(checkpoint_names[a->checkpoint]));
  json_object_set_new(value, "split", json_string(split_names[a->split]));
  return value;
}

static carom_status write_files(const arguments *a, const outcome *o, carom_error *error) {
  char path[PATH_MAX];
  carom_status status = in_run(a, "evaluation.json", path, error);
  if (status != CAROM_OK) return status;
  json_t *value = describe(a, o);
  status = evaluation_json_write(path, value, error);
  json_decref(value);
  if (status == CAROM_OK) status = in_run(a, "evaluation.h5", path, error);
  if (status == CAROM_OK) status = evaluation_file_write(path, o->system, o->result, error);
  return status;
}

static carom_status evaluate(const arguments *a, outcome *o, carom_error *error) {
  char path[PATH_MAX];
  carom_status status = in_run(a, "config.json", path, error);
  if (status == CAROM_OK) status = run_config_read(path, &o->config, &o->system, error);
  if (status == CAROM_OK) status = load_model(a, o, error);
  if (status == CAROM_OK) status = load_data(a, o, error);
  if (status != CAROM_OK) return status;
  evaluation_options wanted = evaluation_options_default();
  wanted.steps = a->steps;
  wanted.truth_known = !a->no_truth;
  wanted.contact = o->config.data_contact;
  status = evaluation_run(o->system, o->model, o->data->dt, dataset_split(o->data, a->split),
                          &o->data->train, &wanted, &o->result, error);
  return status == CAROM_OK ? write_files(a, o, error) : status;
}

/* ---- results ---- */

static void print_estimate(const char *label, const estimate *e) {
  printf("  %-34s %10.3e  +- %8.2e  %10.3e  %10.3e\n", label, e->mean, e->half_width, e->median,
         e->largest);
}

static void print_horizon(const char *against, const horizon *h) {
  char label[64];
  snprintf(label, sizeof label, "relative, %d states, to %s", h->states, against);
  print_estimate(label, &h->relative);
  print_estimate("  norm of each state", &h->state_norm);
  if (h->failed_count > 0)
    printf("  %d of %d predictions became non-finite and are left out\n", h->failed_count,
           h->count);
}

static void print_errors(const evaluation *e) {
  printf("\n  %-34s %10s  %11s  %10s  %10s\n", "error", "mean", "95 %", "median", "largest");
  print_horizon("the data", &e->chunk);
  if (!e->truth_known) return;
  print_estimate("  of the scene's own values", &e->scene_relative);
  print_horizon("the truth", &e->extended);
  print_estimate("energy drift, largest", &e->drift.greatest);
  print_estimate("energy drift, mean", &e->drift.average);
  print_estimate("  of the true motion, largest", &e->true_drift.greatest);
  print_estimate("  of the true motion, mean", &e->true_drift.average);
  print_estimate("energy off the true one, largest", &e->energy_error);
}

// the error of single states, at steps that grow
static void print_curve(const horizon *h) {
  static const int steps[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
  printf("\n  relative error at step");
  for (size_t k = 0; k < sizeof steps / sizeof steps[0] && steps[k] < h->states; k++)
    printf("  %d: %.2e", steps[k], h->curve[steps[k]]);
  putchar('\n');
}

static void print_contact_row(const char *label, const evaluation *e, int friction, int restitution,
                              int64_t states, int64_t chunks) {
  printf("  %-20s %10.6f %10.6f %12.6f %10.6f %9lld %8lld\n", label, e->theta[friction],
         e->scene_theta[friction], e->theta[restitution], e->scene_theta[restitution],
         (long long)states, (long long)chunks);
}

static void print_contacts(const outcome *o) {
  const evaluation *e = o->result;
  const int count = carom_system_describe(o->system).contact_count;
  const int friction = carom_parameter_segment(o->system, CAROM_FRICTION).offset;
  const int restitution = carom_parameter_segment(o->system, CAROM_RESTITUTION).offset;
  if (count == 0) return;
  printf("\n  %-20s %10s %10s %12s %10s %9s %8s\n", "contact", "friction", "scene", "restitution",
         "scene", "states", "chunks");
  const bool shared = carom_system_describe(o->system).shared_properties;
  if (shared && carom_model_options_of(o->model).shared_properties) {
    int64_t states = 0, chunks = chunks_with_contact(&o->data->train);
    for (int k = 0; k < count; k++) states += e->counts[k].states;
    print_contact_row("all", e, friction, restitution, states, chunks);
    return;
  }
  for (int k = 0; k < count && k < TABLE_ROWS; k++) {
    char label[64];
    carom_system_contact_label(o->system, k, label, sizeof label);
    print_contact_row(label, e, friction + k, restitution + k, e->counts[k].states,
                      e->counts[k].chunks);
  }
  if (count > TABLE_ROWS) printf("  ... %d more: --json lists all\n", count - TABLE_ROWS);
}

static void print_body_row(const char *label, double learned, double scene) {
  printf("  %-20s %10.6f %10.6f %11.4f %%\n", label, learned, scene,
         100.0 * (learned / scene - 1.0));
}

// in the plane a body turns about one axis: its motion tells the sum of its moments, not each
static void print_inertia(const outcome *o, int body_index) {
  char label[64];
  snprintf(label, sizeof label, "%.40s inertia", carom_system_body_id(o->system, body_index));
  print_body_row(label, evaluation_inertia(o->system, o->result->theta, body_index),
                 evaluation_inertia(o->system, o->result->scene_theta, body_index));
}

static void print_moments(const outcome *o, int body_index) {
  const evaluation *e = o->result;
  const int d = carom_system_describe(o->system).dimension;
  const int first = carom_parameter_segment(o->system, CAROM_LOG_MOMENT).offset + body_index * d;
  if (d == 2) print_inertia(o, body_index);
  for (int k = 0; k < d && d == 3; k++) {
    char label[64];
    snprintf(label, sizeof label, "%.40s moment %d", carom_system_body_id(o->system, body_index),
             k);
    print_body_row(label, exp(e->theta[first + k]), exp(e->scene_theta[first + k]));
  }
}

static void print_bodies(const outcome *o) {
  const evaluation *e = o->result;
  const int count = carom_system_describe(o->system).body_count;
  printf("\n  %-20s %10s %10s %13s\n", "body", "mass ratio", "scene", "off by");
  for (int k = 0; k < count && k < TABLE_ROWS; k++) {
    if (k > 0 || count == 1)
      print_body_row(carom_system_body_id(o->system, k),
                     evaluation_mass_ratio(o->system, e->theta, k),
                     evaluation_mass_ratio(o->system, e->scene_theta, k));
    if (evaluation_has_moments(o->system, k)) print_moments(o, k);
  }
  if (count > TABLE_ROWS) printf("  ... %d more: --json lists all\n", count - TABLE_ROWS);
}

static void print_text(const arguments *a, const outcome *o) {
  const carom_model_options used = carom_model_options_of(o->model);
  const evaluation *e = o->result;
  printf("run            %s: %s of %s, checkpoint %s\n", a->run, model_options_name(&used),
         carom_system_describe(o->system).name, checkpoint_names[a->checkpoint]);
  printf("data           %d %s chunks of %d states; trained on %d\n", e->chunk.count,
         split_names[a->split], e->chunk.states, e->train_count);
  print_errors(e);
  print_curve(e->truth_known ? &e->extended : &e->chunk);
  print_contacts(o);
  print_bodies(o);
  printf("\nwritten        %s/evaluation.json, %s/evaluation.h5\n", a->run, a->run);
}

static void print_as_json(const arguments *a, const outcome *o) { print_json(describe(a, o)); }

int command_evaluate(int argc, char **argv) {
  arguments a = {.steps = evaluation_options_default().steps, .split = SPLIT_COUNT - 1};
  argp_parse(&argp, argc, argv, 0, NULL, &a);
  outcome o = {0};
  carom_error error = {0};
  int code = EXIT_SUCCESS;
  if (evaluate(&a, &o, &error) != CAROM_OK) {
    code = report_failure("evaluate", &error);
  } else {
    report_unsolved("evaluate", &o.result->report);
    (a.json ? print_as_json : print_text)(&a, &o);
  }
  outcome_free(&o);
  return code;
}
