/* Runs as documents of a page: metrics over epochs, evaluation, configuration, predicted and true motion. */
#include "cli/csv_table.h"
#include "cli/memory.h"
#include "cli/output.h"
#include "cli/page_input.h"
#include "cli/page_motion.h"
#include "cli/template.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A run that is being read. */
typedef struct run_input {
  const char *folder;
  carom_run_config config;
  carom_system *system;
  csv_table metrics;
  json_t *evaluation; /* NULL: not evaluated */
  json_t *settings;   /* config.json as it stands */
} run_input;

// a name that does not fit is that of no file
static const char *in_folder(char *path, const char *folder, const char *name) {
  if (strlen(folder) + 1 + strlen(name) >= PATH_MAX) return strcpy(path, "");
  return strcat(strcat(strcpy(path, folder), "/"), name);
}

static bool is_file(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* ---- charts of the metrics ------------------------------------------------------------------- */

// a column of the metrics as an array of the page
static json_t *column_values(page_document *d, const csv_table *t, int column) {
  double *values = allocate((size_t)t->row_count, sizeof(double));
  if (values == NULL) {
    d->failed = true;
    return json_null();
  }
  for (int k = 0; k < t->row_count; k++)
    values[k] = t->values[(size_t)k * (size_t)t->column_count + (size_t)column];
  json_t *array = page_numbers(d, values, t->row_count, 1, true);
  free(values);
  return array;
}

static void add_loss_chart(page_document *d, const csv_table *t) {
  static const char *const names[][2] = {{"loss", "training loss"},
                                         {"validation_loss", "validation loss"}};
  json_t *series = page_chart(
      d,
      &(page_chart_info){
          .title = "Loss", .x_label = "epoch", .y_label = "loss", .group = "training", .log = true},
      column_values(d, t, 0));
  for (int k = 0; k < 2; k++) {
    const int column = csv_column(t, names[k][0]);
    if (column >= 0) page_series(series, names[k][1], column_values(d, t, column), NAN);
  }
}

/* What a learned property is called and what the scene says it is. */
typedef struct truth_table {
  carom_model *model;
  carom_properties properties;
  double *theta;
} truth_table;

// the names of properties come with a model: the smallest network will do
static bool truth_open(const run_input *run, truth_table *t) {
  *t = (truth_table){0};
  carom_model_options options = run->config.model;
  options.hidden_layers = options.hidden_size = 1;
  t->theta = allocate((size_t)carom_parameters_count(run->system), sizeof(double));
  if (t->theta == NULL) return false;
  carom_parameters_default(run->system, t->theta);
  return carom_model_create(run->system, &options, &t->model, NULL) == CAROM_OK &&
         carom_model_properties(t->model, &t->properties, NULL) == CAROM_OK;
}

static void truth_close(truth_table *t) {
  carom_properties_free(&t->properties);
  carom_model_destroy(t->model);
  free(t->theta);
}

static double truth_of(const truth_table *t, const char *name) {
  for (int k = 0; k < t->properties.count; k++)
    if (strcmp(t->properties.items[k].name, name) == 0)
      return carom_property_value(&t->properties.items[k], t->theta);
  return NAN;
}

// every column of a family: "friction" and "friction/a|ground", ...
static void add_property_chart(page_document *d, const run_input *run, const truth_table *truth,
                               const char *family, const char *words, bool truth_known) {
  const csv_table *t = &run->metrics;
  char title[128];
  snprintf(title, sizeof title, "%s%s", words, truth_known ? " (dashed: true)" : "");
  const size_t length = strlen(family);
  json_t *series = NULL;
  for (int k = 0; k < t->column_count; k++) {
    const char *name = t->names[k];
    if (strncmp(name, family, length) != 0 || (name[length] != '\0' && name[length] != '/'))
      continue;
    if (series == NULL)
      series = page_chart(
          d,
          &(page_chart_info){
              .title = title, .x_label = "epoch", .y_label = "", .group = "learned properties"},
          column_values(d, t, 0));
    page_series(series, name[length] == '/' ? name + length + 1 : name, column_values(d, t, k),
                truth_known ? truth_of(truth, name) : NAN);
  }
}

static void add_metrics(page_document *d, const run_input *run) {
  static const char *const families[][2] = {{"friction", "Friction \u00b5"},
                                            {"restitution", "Restitution e"},
                                            {"mass_ratio", "Mass by that of the first body"},
                                            {"moment", "Second moments"}};
  if (run->metrics.row_count == 0) return;
  const json_t *known = json_object_get(run->evaluation, "truth_known");
  truth_table truth;
  const bool have = truth_open(run, &truth);
  add_loss_chart(d, &run->metrics);
  for (size_t k = 0; k < sizeof families / sizeof families[0]; k++)
    add_property_chart(d, run, &truth, families[k][0], families[k][1],
                       have && !json_is_false(known));
  const int norm = csv_column(&run->metrics, "gradient_norm");
  if (norm >= 0) {
    json_t *series = page_chart(d,
                                &(page_chart_info){.title = "Gradient norm and learning rate",
                                                   .x_label = "epoch",
                                                   .y_label = "",
                                                   .group = "training",
                                                   .log = true},
                                column_values(d, &run->metrics, 0));
    page_series(series, "gradient norm", column_values(d, &run->metrics, norm), NAN);
    const int rate = csv_column(&run->metrics, "learning_rate");
    if (rate >= 0) page_series(series, "learning rate", column_values(d, &run->metrics, rate), NAN);
  }
  truth_close(&truth);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static json_t *cell(const json_t *value) {
  return value != NULL ? json_copy((json_t *)value) : json_null();
}

// mean, interval, median and largest of an estimate
static void estimate_row(json_t *rows, const char *label, const json_t *e) {
  if (!json_is_object(e)) return;
  json_array_append_new(
      rows, json_pack("[s o o o o o]", label, cell(json_object_get(e, "mean")),
                      cell(json_object_get(e, "half_width_95")), cell(json_object_get(e, "median")),
                      cell(json_object_get(e, "largest")), cell(json_object_get(e, "count"))));
}

static void add_error_table(page_document *d, const json_t *e) {
  static const char *const columns[] = {
      "error", "mean", "95 % interval, half", "median", "largest", "trajectories", NULL};
  static const struct {
    const char *label, *path;
  } lines[] = {{"relative, along the chunks", "chunk.relative_error"},
               {"relative, along more steps", "extended.relative_error"},
               {"norm of the state, along the chunks", "chunk.state_norm_error"},
               {"norm of the state, along more steps", "extended.state_norm_error"},
               {"the scene's own parameters, along the chunks", "scene_relative_error"},
               {"energy, largest along a trajectory", "energy.error"},
               {"energy drift, predicted", "energy.drift_predicted.greatest"},
               {"energy drift, true motion", "energy.drift_true.greatest"}};
  json_t *rows =
      page_table(d, "Errors on test data",
                 "sum |predicted - true| / sum |true|, and half of the 95 % interval", columns);
  for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++)
    estimate_row(rows, lines[k].label, json_find(e, lines[k].path));
}

// "0.39 to 0.42", "not told by the data"
static json_t *range_text(const json_t *row, const char *property) {
  char name[64], text[96];
  snprintf(name, sizeof name, "%s_range", property);
  const json_t *range = json_object_get(row, name);
  snprintf(name, sizeof name, "%s_determined", property);
  if (json_array_size(range) != 2) return json_string("");
  snprintf(text, sizeof text, "%.4g to %.4g%s", json_number_value(json_array_get(range, 0)),
           json_number_value(json_array_get(range, 1)),
           json_is_true(json_object_get(row, name)) ? "" : ", not told by the data");
  return json_string(text);
}

static void add_contact_table(page_document *d, const json_t *e) {
  static const char *const columns[] = {"contact",
                                        "\u00b5 learned",
                                        "\u00b5 true",
                                        "\u00b5 that explain the data",
                                        "e learned",
                                        "e true",
                                        "e that explain the data",
                                        "chunks",
                                        NULL};
  const json_t *contacts = json_object_get(e, "contacts");
  if (json_array_size(contacts) == 0) return;
  json_t *rows = page_table(
      d, "Contacts", "What was learned of each; chunks: how many of the training data's have it",
      columns);
  for (size_t k = 0; k < json_array_size(contacts); k++) {
    const json_t *c = json_array_get(contacts, k);
    json_array_append_new(
        rows,
        json_pack("[o o o o o o o o]", cell(json_object_get(c, "contact")),
                  cell(json_object_get(c, "friction")), cell(json_object_get(c, "scene_friction")),
                  range_text(c, "friction"), cell(json_object_get(c, "restitution")),
                  cell(json_object_get(c, "scene_restitution")), range_text(c, "restitution"),
                  cell(json_object_get(c, "chunks"))));
  }
}

static void add_body_table(page_document *d, const json_t *e) {
  static const char *const columns[] = {"body", "mass ratio learned", "mass ratio true", NULL};
  const json_t *bodies = json_object_get(e, "bodies");
  if (json_array_size(bodies) < 2) return;
  json_t *rows = page_table(d, "Masses by that of the first body", NULL, columns);
  for (size_t k = 0; k < json_array_size(bodies); k++) {
    const json_t *b = json_array_get(bodies, k);
    json_array_append_new(rows, json_pack("[o o o]", cell(json_object_get(b, "body")),
                                          cell(json_object_get(b, "mass_ratio")),
                                          cell(json_object_get(b, "scene_mass_ratio"))));
  }
}

// the settings, flat: "train.epochs", 300; the scene's text has a place of its own
static void add_settings(json_t *rows, const json_t *object, const char *prefix) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)object, key, value) {
    char name[160];
    snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] != '\0' ? "." : "", key);
    if (strcmp(name, "scene") == 0) continue;
    if (json_is_object(value)) {
      add_settings(rows, value, name);
    } else if (!json_is_array(value)) {
      json_array_append_new(
          rows,
          json_pack("[s o]", name,
                    json_is_boolean(value) ? json_string(json_is_true(value) ? "true" : "false")
                                           : cell(value)));
    }
  }
}

/* ---- a run ----------------------------------------------------------------------------------- */

static double last_metric(const csv_table *t, const char *name) {
  const int column = csv_column(t, name);
  if (column < 0 || t->row_count == 0) return NAN;
  return t->values[(size_t)(t->row_count - 1) * (size_t)t->column_count + (size_t)column];
}

static double sum_metric(const csv_table *t, const char *name) {
  const int column = csv_column(t, name);
  double sum = 0;
  for (int k = 0; column >= 0 && k < t->row_count; k++)
    sum += t->values[(size_t)k * (size_t)t->column_count + (size_t)column];
  return column >= 0 ? sum : NAN;
}

static double best_loss(const csv_table *t) {
  const int column = csv_column(t, "validation_loss");
  double best = INFINITY;
  for (int k = 0; column >= 0 && k < t->row_count; k++)
    best = fmin(best, t->values[(size_t)k * (size_t)t->column_count + (size_t)column]);
  return isfinite(best) ? best : last_metric(t, "loss");
}

/* What the table of runs says of one. */
static json_t *summary_json(const run_input *run) {
  const csv_table *t = &run->metrics;
  return json_pack("{ss ss sI si so so so so so}", "scene", carom_system_describe(run->system).name,
                   "model", carom_model_options_name(&run->config.model), "seed",
                   (json_int_t)run->config.train.seed, "epochs", t->row_count, "loss",
                   json_number(best_loss(t)), "error",
                   cell(json_find(run->evaluation, "chunk.relative_error.mean")), "long",
                   cell(json_find(run->evaluation, "extended.relative_error.mean")), "energy",
                   cell(json_find(run->evaluation, "energy.error.mean")), "seconds",
                   json_number(sum_metric(t, "seconds")));
}

static void add_run_facts(page_document *d, const run_input *run) {
  const carom_system_info info = carom_system_describe(run->system);
  page_fact(d, "Folder", "%s", run->folder);
  page_fact(d, "Scene", "%s: %s", info.name, info.description);
  page_fact(d, "Model", "%s", carom_model_options_name(&run->config.model));
  page_fact(d, "Seed", "%llu", (unsigned long long)run->config.train.seed);
  page_fact(d, "Epochs", "%d of %d, %.3g s", run->metrics.row_count, run->config.train.epochs,
            sum_metric(&run->metrics, "seconds"));
  if (run->metrics.row_count > 0)
    page_fact(d, "Best validation loss", "%.3e", best_loss(&run->metrics));
  const json_t *mean = json_find(run->evaluation, "chunk.relative_error.mean");
  if (mean != NULL)
    page_fact(d, "Relative error", "%.3e", json_number_value(mean));
  else
    page_fact(d, "Evaluation", "none yet: carom evaluate %s", run->folder);
}

static carom_status run_open(run_input *run, const char *folder, carom_error *error) {
  char path[PATH_MAX];
  *run = (run_input){.folder = folder};
  carom_status status = carom_run_config_read(in_folder(path, folder, "config.json"), &run->config,
                                              &run->system, error);
  if (status != CAROM_OK) return status;
  run->settings = json_load_file(path, 0, NULL);
  if (is_file(in_folder(path, folder, "metrics.csv")))
    status = csv_read(path, &run->metrics, error);
  if (status != CAROM_OK || !is_file(in_folder(path, folder, "evaluation.json"))) return status;
  json_error_t found;
  run->evaluation = json_load_file(path, 0, &found);
  if (run->evaluation != NULL) return CAROM_OK;
  return carom_error_set(error, CAROM_INVALID_DATA,
                         "%s:%d: %s; is it damaged? `carom evaluate %s` makes it again", path,
                         found.line, found.text, folder);
}

static void run_close(run_input *run) {
  csv_free(&run->metrics);
  json_decref(run->evaluation);
  json_decref(run->settings);
  carom_run_config_free(&run->config);
  carom_system_destroy(run->system);
}

// predicted beside true motion where the run was evaluated, else its data
static carom_status add_run_motion(page_document *d, const run_input *run,
                                   const motion_choice *choice, carom_error *error) {
  char path[PATH_MAX], data[PATH_MAX];
  const char *file = in_folder(path, run->folder, "evaluation.h5");
  if (!is_file(file)) {
    if (run->config.data == NULL) return CAROM_OK;
    in_folder(data, run->folder, run->config.data);
    file = run->config.data[0] == '/' ? run->config.data : data;
    if (!is_file(file)) return CAROM_OK;
  }
  motion_set set;
  carom_status status = motion_set_read(file, choice, &set, error);
  if (status != CAROM_OK) return status;
  char name[256];
  if (set.sample_count < set.sample_total)
    page_fact(d, "Samples", "%d of %d are on this page (--samples)", set.sample_count,
              set.sample_total);
  status = page_add_tracks(d, &set, path_name(file, name, sizeof name), error);
  motion_set_free(&set);
  return status;
}

static void add_evaluation(page_document *d, const run_input *run) {
  if (run->evaluation == NULL) return;
  add_error_table(d, run->evaluation);
  add_contact_table(d, run->evaluation);
  add_body_table(d, run->evaluation);
  const json_t *curve = json_find(run->evaluation, "extended.error_of_state");
  const int count = (int)json_array_size(curve);
  double *values = allocate(2 * (size_t)count, sizeof(double));
  for (int k = 0; values != NULL && k < count; k++) {
    values[k] = k * run->config.model.dt;
    // a log axis has no place for the start, which is given
    values[count + k] = k > 0 ? json_number_value(json_array_get(curve, (size_t)k)) : NAN;
  }
  if (values != NULL && count > 1)
    page_series(page_chart(d,
                           &(page_chart_info){.title = "Relative error along the prediction",
                                              .x_label = "time",
                                              .y_label = "relative error",
                                              .group = "evaluation",
                                              .log = true},
                           page_numbers(d, values, count, 1, true)),
                "mean over the test trajectories", page_numbers(d, values + count, count, 1, true),
                NAN);
  free(values);
}

// everything but the motion
static void fill_document(page_document *d, const run_input *run) {
  static const char *const columns[] = {"setting", "value", NULL};
  json_object_set_new(d->root, "scene", page_scene(run->system));
  json_object_set_new(d->root, "summary", summary_json(run));
  json_object_set_new(d->root, "path", page_text(run->folder));
  add_run_facts(d, run);
  add_metrics(d, run);
  add_evaluation(d, run);
  add_settings(page_table(d, "Configuration", NULL, columns), run->settings, "");
  json_object_set_new(d->root, "sceneText", json_string(run->config.scene));
}

carom_status page_add_run(page *p, const char *folder, const motion_choice *choice,
                          carom_error *error) {
  char name[256];
  run_input run;
  carom_status status = run_open(&run, folder, error);
  if (status == CAROM_OK) {
    page_document *d = page_add(p, "run", path_name(folder, name, sizeof name));
    if (d != NULL) {
      fill_document(d, &run);
      status = add_run_motion(d, &run, choice, error);
    } else {
      status = carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", folder);
    }
  }
  run_close(&run);
  return status;
}

/* ---- folders --------------------------------------------------------------------------------- */

static bool is_run(const char *folder) {
  char path[PATH_MAX];
  return is_file(in_folder(path, folder, "config.json"));
}

static int by_version(const struct dirent **a, const struct dirent **b) {
  return versionsort(a, b);
}

// folders below this one that are runs, in the order of their names
static carom_status add_runs_below(page *p, const char *folder, const motion_choice *choice,
                                   int depth, carom_error *error) {
  enum { DEEPEST = 5 };
  struct dirent **entries;
  const int count = depth < DEEPEST ? scandir(folder, &entries, NULL, by_version) : 0;
  carom_status status = CAROM_OK;
  for (int k = 0; k < count; k++) {
    char path[PATH_MAX];
    struct stat found;
    if (status == CAROM_OK && entries[k]->d_name[0] != '.' &&
        stat(in_folder(path, folder, entries[k]->d_name), &found) == 0 && S_ISDIR(found.st_mode))
      status = is_run(path) ? page_add_run(p, path, choice, error)
                            : add_runs_below(p, path, choice, depth + 1, error);
    free(entries[k]);
  }
  if (count > 0) free(entries);
  return status;
}

carom_status page_add_input(page *p, const char *path, const motion_choice *choice,
                            carom_error *error) {
  struct stat found;
  if (stat(path, &found) == 0 && S_ISDIR(found.st_mode)) {
    if (is_run(path)) return page_add_run(p, path, choice, error);
    const int before = p->count;
    const carom_status status = add_runs_below(p, path, choice, 0, error);
    if (status != CAROM_OK || p->count > before) return status;
    return carom_error_set(error, CAROM_INVALID_DATA,
                           "%s: a folder without config.json, and there is no run below it; "
                           "files are given by their names: carom view %s/*.h5",
                           path, path);
  }
  return page_add_file(p, path, choice, error);
}
