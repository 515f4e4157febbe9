#include "cli/reproduce_results.h"

#include "cli/paper_values.h"
#include "cli/template.h"
#include "cli/train_command.h"

#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one run --------------------------------------------------------------------------------- */

void result_free(result *r) {
  free(r->task);
  free(r->model);
  free(r->folder);
  free(r->version);
  free(r->command);
  json_decref(r->evaluation);
}

static carom_status load_json(const char *folder, const char *name, json_t **value,
                              carom_error *error) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  json_error_t problem;
  *value = json_load_file(path, JSON_REJECT_DUPLICATES, &problem);
  if (*value != NULL) return CAROM_OK;
  return carom_error_set(error, CAROM_INVALID_DATA, "%s:%d:%d: cannot be read: %s", path,
                         problem.line, problem.column, problem.text);
}

static carom_status load_evaluation(const char *folder, result *r, carom_error *error) {
  carom_status status = load_json(folder, "evaluation.json", &r->evaluation, error);
  if (status != CAROM_OK) return status;
  if (isfinite(json_at(r->evaluation, "training_chunks")) &&
      isfinite(json_at(r->evaluation, "chunk.states")) &&
      json_is_array(json_object_get(r->evaluation, "contacts")) &&
      json_is_array(json_object_get(r->evaluation, "bodies")))
    return CAROM_OK;
  return carom_error_set(
      error, CAROM_INVALID_DATA,
      "%s/evaluation.json: is not an evaluation; remove it to have the run evaluated "
      "again",
      folder);
}

static carom_status load_config(const char *folder, result *r, carom_error *error) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/config.json", folder);
  carom_run_config config;
  carom_system *system;
  json_t *document = NULL;
  carom_status status = carom_run_config_read(path, &config, &system, error);
  if (status != CAROM_OK) return status;
  status = load_json(folder, "config.json", &document, error);
  if (status == CAROM_OK) {
    const char *version = json_string_value(json_object_get(document, "carom_version"));
    r->version = strdup(version != NULL ? version : "unknown");
    r->shared_properties = config.model.shared_properties;
    r->command = train_command(&config, system, r->folder);
    // a baseline learns from the pairs of its chunks
    const bool pairs = config.model.baseline != CAROM_BASELINE_NONE;
    const double samples = json_at(r->evaluation, "training_chunks") *
                           (pairs ? json_at(r->evaluation, "chunk.states") - 1 : 1);
    r->batches = (int)ceil(samples / config.train.batch);
    if (r->version == NULL || r->command == NULL)
      status = carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  }
  json_decref(document);
  carom_run_config_free(&config);
  carom_system_destroy(system);
  return status;
}

// the field that begins behind the last comma, which is cut off
static const char *cut_field(char *line) {
  char *comma = strrchr(line, ',');
  if (comma == NULL) return "";
  *comma = '\0';
  return comma + 1;
}

/* Places of columns of metrics.csv, -1 where there is none. Names of properties stand behind all of
 * them and may hold commas; what is behind those is counted from the end of a line. */
typedef struct metrics_columns {
  int epoch, best, loss, seconds;
} metrics_columns;

static int find_column(const char *header, const char *name) {
  const size_t length = strlen(name);
  for (int column = 0; header != NULL; column++) {
    if (strncmp(header, name, length) == 0 && header[length] == ',') return column;
    header = strchr(header, ',');
    if (header != NULL) header++;
  }
  return -1;
}

/* Adds a line of metrics.csv; programs, degenerate_programs, failed_programs, worst_residual are the
 * last four columns. */
static void add_metrics(const metrics_columns *columns, char *line, result *r) {
  cut_field(line);
  r->unsolved += atoll(cut_field(line));
  cut_field(line);
  r->programs += atoll(cut_field(line));
  double loss = NAN;
  bool best = false;
  for (int column = 0; line != NULL; column++) {
    const char *field = strsep(&line, ",");
    if (column == columns->loss) loss = atof(field);
    if (column == columns->best) best = atoi(field) != 0;
    if (column == columns->epoch) r->epochs = atoi(field);
    if (column == columns->best && atoi(field) != 0) r->best_epoch = r->epochs;
    if (column == columns->seconds) r->seconds += atof(field);
  }
  if (best) r->best_loss = loss;
}

static carom_status load_metrics(const char *folder, result *r, carom_error *error) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/metrics.csv", folder);
  FILE *file = fopen(path, "r");
  if (file == NULL)
    return carom_error_set(error, CAROM_FILE_ERROR, "%s: cannot be read: %s", path,
                           strerror(errno));
  char *line = NULL;
  size_t room = 0;
  metrics_columns columns = {-1, -1, -1, -1};
  if (getline(&line, &room, file) > 0)
    columns = (metrics_columns){find_column(line, "epoch"), find_column(line, "best"),
                                find_column(line, "validation_loss"), find_column(line, "seconds")};
  while (getline(&line, &room, file) > 0) add_metrics(&columns, line, r);
  r->iteration_seconds =
      r->epochs > 0 && r->batches > 0 ? r->seconds / r->epochs / r->batches : NAN;
  free(line);
  fclose(file);
  if (columns.epoch >= 0 && columns.best >= 0 && columns.seconds >= 0) return CAROM_OK;
  return carom_error_set(error, CAROM_INVALID_DATA, "%s: has no columns epoch, best and seconds",
                         path);
}

/* ---- all of them ----------------------------------------------------------------------------- */

// k of "seed<k>", -1 for any other name
static int seed_of(const char *name) {
  char *end;
  if (strncmp(name, "seed", 4) != 0 || name[4] < '0' || name[4] > '9') return -1;
  const long seed = strtol(name + 4, &end, 10);
  return *end == '\0' && seed <= INT_MAX ? (int)seed : -1;
}

// a new entry for the run in the folder of FOLDER/task/model/seed/evaluation.json
static carom_status add_run(result_list *list, const FTSENT *file, carom_error *error) {
  const FTSENT *seed = file->fts_parent, *model = seed->fts_parent, *task = model->fts_parent;
  result *items = realloc(list->items, (size_t)(list->count + 1) * sizeof *items);
  if (items == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  list->items = items;
  result *r = &items[list->count++];
  *r = (result){.task = strdup(task->fts_name),
                .model = strdup(model->fts_name),
                .seed = seed_of(seed->fts_name)};
  char *folder = strndup(file->fts_path, file->fts_pathlen - file->fts_namelen - 1);
  if (asprintf(&r->folder, "%s/%s/%s", task->fts_name, model->fts_name, seed->fts_name) < 0)
    r->folder = NULL;
  carom_status status = CAROM_OK;
  if (r->task == NULL || r->model == NULL || r->folder == NULL || folder == NULL)
    status = carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  if (status == CAROM_OK) status = load_evaluation(folder, r, error);
  if (status == CAROM_OK) status = load_config(folder, r, error);
  if (status == CAROM_OK) status = load_metrics(folder, r, error);
  free(folder);
  return status;
}

static int rank_of_task(const char *name) {
  int k = 0;
  while (paper_tasks[k] != NULL && strcmp(paper_tasks[k], name) != 0) k++;
  return k;
}

static int rank_of_model(const char *name) {
  int k = 0;
  while (k < carom_model_name_count() && strcmp(carom_model_name(k), name) != 0) k++;
  return k;
}

static int compare(const void *first, const void *second) {
  const result *a = first, *b = second;
  int order = rank_of_task(a->task) - rank_of_task(b->task);
  // by number where names have one: rope50, rope100
  if (order == 0) order = strverscmp(a->task, b->task);
  if (order == 0) order = rank_of_model(a->model) - rank_of_model(b->model);
  if (order == 0) order = strcmp(a->model, b->model);
  return order != 0 ? order : (a->seed > b->seed) - (a->seed < b->seed);
}

carom_status results_collect(const char *folder, result_list *list, carom_error *error) {
  enum { SEED_LEVEL = 3, FILE_LEVEL };
  *list = (result_list){0};
  char *start = strdup(folder);
  char *const roots[] = {start, NULL};
  FTS *walk = start != NULL ? fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR | FTS_NOSTAT, NULL) : NULL;
  carom_status status = CAROM_OK;
  if (walk == NULL)
    status =
        carom_error_set(error, CAROM_FILE_ERROR, "%s: cannot be read: %s", folder, strerror(errno));
  for (FTSENT *e; status == CAROM_OK && (e = fts_read(walk)) != NULL;) {
    if (e->fts_level == SEED_LEVEL && e->fts_info == FTS_D && seed_of(e->fts_name) < 0)
      fts_set(walk, e, FTS_SKIP);
    if (e->fts_level != FILE_LEVEL) continue;
    if (e->fts_info == FTS_D) fts_set(walk, e, FTS_SKIP);
    if (e->fts_info != FTS_D && strcmp(e->fts_name, "evaluation.json") == 0)
      status = add_run(list, e, error);
  }
  if (walk != NULL) fts_close(walk);
  free(start);
  if (status != CAROM_OK) results_free(list);
  if (list->count > 0) qsort(list->items, (size_t)list->count, sizeof *list->items, compare);
  return status;
}

void results_free(result_list *list) {
  for (int k = 0; k < list->count; k++) result_free(&list->items[k]);
  free(list->items);
  *list = (result_list){0};
}

int results_group_end(const result_list *list, int first) {
  const result *r = &list->items[first];
  int end = first + 1;
  while (end < list->count && strcmp(list->items[end].task, r->task) == 0 &&
         strcmp(list->items[end].model, r->model) == 0)
    end++;
  return end;
}
