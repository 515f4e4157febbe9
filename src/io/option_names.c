/* The public interface of options by their names. */
#include "io/option_names.h"

#include "base/error.h"
#include "contact/cone_options.h"
#include "fit/fit_options.h"
#include "learn/options.h"
#include "plan/plan_options.h"
#include "rollout/rollout_options.h"

#include <stdio.h>
#include <string.h>

const option_table *option_table_of(carom_options of) {
  switch (of) {
    case CAROM_CONE_OPTIONS: return &cone_option_table;
    case CAROM_ROLLOUT_OPTIONS: return &rollout_option_table;
    case CAROM_DATASET_OPTIONS: return &dataset_option_table;
    case CAROM_MODEL_OPTIONS: return &model_option_table;
    case CAROM_TRAINER_OPTIONS: return &trainer_option_table;
    case CAROM_EVALUATION_OPTIONS: return &evaluation_option_table;
    case CAROM_PLAN_OPTIONS: return &plan_option_table;
    case CAROM_FIT_OPTIONS: return &fit_option_table;
    case CAROM_OPTIONS_COUNT: break;
  }
  return NULL;
}

int carom_option_count(carom_options of) {
  const option_table *table = option_table_of(of);
  return table != NULL ? table->count : 0;
}

// the default as text, by way of a struct that has nothing else
static void default_text(const option_field *f, char *text, size_t size) {
  carom_any_options any = {0};
  char whole[OPTION_TEXT] = "";
  option_set_number(f, &any, f->value);
  if (!(f->role & OPTION_SCENE)) option_text(f, &any, whole);
  snprintf(text, size, "%.*s", (int)size - 1, whole);
}

carom_option_info carom_option_describe(carom_options of, int index) {
  const option_table *table = option_table_of(of);
  if (table == NULL || index < 0 || index >= table->count) return (carom_option_info){0};
  const option_field *f = &table->fields[index];
  carom_option_info info = {.name = f->name,
                            .kind = f->kind,
                            .low = f->low,
                            .high = f->high,
                            .low_open = f->low_open,
                            .high_open = f->high_open,
                            .names = f->names,
                            .from_scene = (f->role & OPTION_SCENE) != 0,
                            .flag = f->flag,
                            .argument = f->argument,
                            .heading = f->heading,
                            .help = f->help};
  default_text(f, info.value, sizeof info.value);
  _Static_assert(sizeof info.range >= OPTION_RANGE_TEXT, "room for a range");
  option_range_text(f, info.range);
  return info;
}

static carom_status find(carom_options of, const char *name, const option_field **found,
                         carom_error *error) {
  static const char *const structs[] = {"carom_cone_options",    "carom_rollout_options",
                                        "carom_dataset_options", "carom_model_options",
                                        "carom_trainer_options", "carom_evaluation_options",
                                        "carom_plan_options",    "carom_fit_options"};
  const option_table *table = option_table_of(of);
  if (table == NULL)
    return error_set(error, CAROM_INVALID_ARGUMENT, "%d names no struct of options", (int)of);
  *found = option_find(table, name);
  if (*found != NULL) return CAROM_OK;
  return error_set(error, CAROM_INVALID_ARGUMENT,
                   "%s has no option '%s'; carom_option_describe lists those it has", structs[of],
                   name);
}

carom_status carom_option_set(carom_options of, void *options, const char *name, const char *text,
                              carom_error *error) {
  REQUIRE(options, error);
  REQUIRE(name, error);
  REQUIRE(text, error);
  const option_field *f;
  carom_status status = find(of, name, &f, error);
  if (status != CAROM_OK) return status;
  status = option_set_text(f, options, name, text, error);
  return status == CAROM_OK ? error_clear(error) : status;
}

carom_status carom_option_get(carom_options of, const void *options, const char *name, char *text,
                              size_t size, carom_error *error) {
  REQUIRE(options, error);
  REQUIRE(name, error);
  REQUIRE(text, error);
  const option_field *f;
  carom_status status = find(of, name, &f, error);
  if (status != CAROM_OK) return status;
  char whole[OPTION_TEXT], range[OPTION_RANGE_TEXT];
  option_text(f, options, whole);
  option_range_text(f, range);
  if (!option_fits(f, option_number(f, options)))
    return error_set(error, CAROM_INVALID_ARGUMENT, "options.%s is %s, must be %s", f->name, whole,
                     range);
  if (strlen(whole) >= size)
    return error_set(error, CAROM_INVALID_ARGUMENT, "%s: %s does not fit into %zu characters", name,
                     whole, size);
  strcpy(text, whole);
  return error_clear(error);
}

carom_status carom_options_check(carom_options of, const void *options, carom_error *error) {
  const option_table *table = option_table_of(of);
  REQUIRE(options, error);
  if (table == NULL)
    return error_set(error, CAROM_INVALID_ARGUMENT, "%d names no struct of options", (int)of);
  carom_status status = options_check(table, options, error);
  return status == CAROM_OK ? error_clear(error) : status;
}

void carom_options_set_paper(carom_options of, void *options) {
  const option_table *table = option_table_of(of);
  if (table != NULL && options != NULL) options_set_paper(table, options);
}
