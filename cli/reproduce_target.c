#include "cli/reproduce_target.h"

#include "cli/embedded.h"
#include "cli/template.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const reproduce_target *const reproduce_targets[] = {
    &table2_target,  &baselines_target,   &long_target,     &energy_target,
    &samples_target, &scalability_target, &noise_target,    &regularizer_target,
    &rope_target,    &lcp_target,         &planning_target, NULL};

/* ---- experiments ----------------------------------------------------------------------------- */

void experiment_folder(const experiment *e, char folder[TASK_NAME]) {
  snprintf(folder, TASK_NAME, "%s%s%s", e->task, e->variant != NULL ? "+" : "",
           e->variant != NULL ? e->variant : "");
}

static given_options *options_of(train_arguments *given, carom_options of) {
  if (of == CAROM_DATASET_OPTIONS) return &given->dataset.options;
  return of == CAROM_MODEL_OPTIONS ? &given->network : &given->training;
}

static const experiment_option quick_options[] = {{CAROM_DATASET_OPTIONS, "train", "100"},
                                                  {CAROM_DATASET_OPTIONS, "validation", "20"},
                                                  {CAROM_DATASET_OPTIONS, "test", "20"},
                                                  {CAROM_TRAINER_OPTIONS, "epochs", "10"}};
enum { QUICK_COUNT = sizeof quick_options / sizeof quick_options[0] };

const char *quick_words(void) {
  return "--quick: 100 training, 20 validation and 20 test chunks and 10 epochs unless others were "
         "given or the experiment is about them, without ropes of more than 50 points and data "
         "sets "
         "of more than 100 chunks. These are not the paper's experiments; they show that all works";
}

void experiment_apply(const experiment *e, bool quick, train_arguments *given) {
  for (int k = 0; quick && k < QUICK_COUNT; k++) {
    given_options *to = options_of(given, quick_options[k].of);
    if (given_text(to, quick_options[k].name) == NULL)
      given_options_set(to, quick_options[k].name, quick_options[k].value);
  }
  if (e->lcp) given->dataset.contact = CAROM_LCP;
  for (int k = 0; k < EXPERIMENT_OPTIONS && e->options[k].name != NULL; k++)
    given_options_set(options_of(given, e->options[k].of), e->options[k].name, e->options[k].value);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool is_one_of(const char *const *names, const char *name) {
  for (; *names != NULL; names++)
    if (strcmp(*names, name) == 0) return true;
  return false;
}

static bool belongs(const reproduce_target *target, const result *r) {
  if (target->experiments == NULL) return strchr(r->task, '+') == NULL;
  for (const experiment *e = target->experiments; e->task != NULL; e++) {
    char folder[TASK_NAME];
    experiment_folder(e, folder);
    if (strcmp(folder, r->task) == 0 &&
        is_one_of(e->models != NULL ? e->models : target->models, r->model))
      return true;
  }
  return false;
}

void target_select(const reproduce_target *target, result_list *list) {
  int kept = 0;
  for (int k = 0; k < list->count; k++) {
    const result r = list->items[k];
    if (!belongs(target, &r)) {
      result_free(&list->items[k]);
      continue;
    }
    list->items[kept++] = r;
  }
  list->count = kept;
}

json_t *target_document(const reproduce_target *target, const result_list *list,
                        const char *command, bool quick) {
  json_t *document = json_pack("{ss ss}", "carom_version", carom_version(), "command", command);
  if (document == NULL) return NULL;
  if (quick) json_object_set_new(document, "quick", json_pack("[{ss}]", "text", quick_words()));
  target->add_rows(list, document);
  return document;
}

char *target_text(const reproduce_target *target, const json_t *document) {
  char name[64];
  snprintf(name, sizeof name, "%s.md", target->name);
  return template_fill(embedded_text(name), document);
}

/* ---- data of figures ------------------------------------------------------------------------- */

// one more array; its values are copied
static carom_status add_array(carom_arrays *all, const char *group, const char *name, int rank,
                              const int *shape, const double *values, carom_error *error) {
  size_t count = 1;
  for (int k = 0; k < rank; k++) count *= (size_t)shape[k];
  carom_array *items = realloc(all->items, sizeof *items * (size_t)(all->count + 1));
  if (items != NULL) all->items = items;
  double *copy = malloc(sizeof(double) * (count + 1));
  if (items == NULL || copy == NULL) {
    free(copy);
    return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  }
  memcpy(copy, values, sizeof(double) * count);
  carom_array *to = &items[all->count++];
  *to = (carom_array){.rank = rank, .values = copy};
  for (int k = 0; k < rank; k++) to->shape[k] = shape[k];
  snprintf(to->name, sizeof to->name, "%.60s/%.32s", group, name);
  return CAROM_OK;
}

// an array of numbers, null is NaN
static carom_status add_numbers(carom_arrays *all, const char *group, const char *name,
                                const json_t *list, carom_error *error) {
  const int count = (int)json_array_size(list);
  double *values = malloc(sizeof(double) * (size_t)(count + 1));
  if (values == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  for (int k = 0; k < count; k++) values[k] = json_at(json_array_get(list, (size_t)k), "");
  carom_status status = add_array(all, group, name, 1, &count, values, error);
  free(values);
  return status;
}

// numbers of a row of "errors", over its seeds
static carom_status add_error_arrays(const json_t *row, carom_arrays *all, carom_error *error) {
  static const char *const estimates[] = {"chunk", "extended", "energy_drift"};
  static const char *const numbers[] = {"training_chunks", "validation_loss", "iteration_seconds"};
  char group[96];
  const int one = 1, two = 2;
  snprintf(group, sizeof group, "%.40s|%.16s", json_string_value(json_object_get(row, "task")),
           json_string_value(json_object_get(row, "model")));
  carom_status status = CAROM_OK;
  for (int k = 0; k < 3 && status == CAROM_OK; k++) {
    const json_t *estimate = json_object_get(row, estimates[k]);
    const double values[] = {json_at(estimate, "mean"), json_at(estimate, "half_width_95")};
    status = add_array(all, group, estimates[k], 1, &two, values, error);
  }
  for (int k = 0; k < 3 && status == CAROM_OK; k++) {
    const double value = json_at(row, numbers[k]);
    status = add_array(all, group, numbers[k], 1, &one, &value, error);
  }
  if (status == CAROM_OK)
    status =
        add_numbers(all, group, "error_of_state", json_object_get(row, "error_of_state"), error);
  return status;
}

// the target's datasets of one run
static carom_status add_figures(const reproduce_target *target, const result *r, const char *folder,
                                carom_arrays *all, carom_error *error) {
  char path[PATH_MAX], group[96];
  carom_arrays found;
  if (snprintf(path, sizeof path, "%s/%s/evaluation.h5", folder, r->folder) >= PATH_MAX)
    return carom_error_set(error, CAROM_INVALID_ARGUMENT, "%.200s...: the name is too long",
                           folder);
  carom_status status = carom_arrays_read(path, &found, error);
  if (status != CAROM_OK) return status;
  snprintf(group, sizeof group, "%.40s|%.16s|seed%d", r->task, r->model, r->seed);
  for (int k = 0; target->figures[k] != NULL && status == CAROM_OK; k++) {
    const carom_array *from = carom_arrays_find(&found, target->figures[k]);
    if (from != NULL && from->rank > 0)
      status = add_array(all, group, from->name, from->rank, from->shape, from->values, error);
  }
  carom_arrays_free(&found);
  return status;
}

carom_status target_write_figures(const reproduce_target *target, const result_list *list,
                                  const json_t *document, const char *folder, carom_error *error) {
  carom_arrays all = {0};
  char path[PATH_MAX];
  carom_status status = CAROM_OK;
  const json_t *errors = json_object_get(document, "errors");
  for (size_t k = 0; k < json_array_size(errors) && status == CAROM_OK; k++)
    status = add_error_arrays(json_array_get(errors, k), &all, error);
  for (int k = 0; target->figures != NULL && k < list->count && status == CAROM_OK; k++)
    status = add_figures(target, &list->items[k], folder, &all, error);
  snprintf(path, sizeof path, "%.*s/%s.h5", PATH_MAX - 64, folder, target->name);
  if (status == CAROM_OK) status = carom_arrays_write(&all, path, error);
  carom_arrays_free(&all);
  return status;
}
