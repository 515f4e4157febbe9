/* Tables of options: every row of every table, by text, JSON and HDF5 there and back, and out of its
 * range by one step. A new option is covered by its row. */
#include "io/h5_file.h"
#include "io/json_difference.h"
#include "io/option_file.h"
#include "io/option_names.h"
#include "io/run_config.h"
#include "learn/options.h"
#include "support/files.h"
#include "support/messages.h"
#include "support/systems.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SETS = CAROM_OPTIONS_COUNT };

static carom_any_options defaults_of(carom_options of, const carom_system *system) {
  carom_any_options made = {0};
  switch (of) {
    case CAROM_CONE_OPTIONS: made.cone = carom_cone_default_options(); break;
    case CAROM_ROLLOUT_OPTIONS: made.rollout = carom_rollout_default_options(system); break;
    case CAROM_DATASET_OPTIONS: made.dataset = carom_dataset_default_options(system); break;
    case CAROM_MODEL_OPTIONS: made.model = carom_model_default_options(system); break;
    case CAROM_TRAINER_OPTIONS: made.trainer = carom_trainer_default_options(); break;
    case CAROM_EVALUATION_OPTIONS: made.evaluation = carom_evaluation_default_options(); break;
    case CAROM_PLAN_OPTIONS: made.plan = carom_plan_default_options(); break;
    case CAROM_FIT_OPTIONS: made.fit = carom_fit_default_options(); break;
    case CAROM_OPTIONS_COUNT: break;
  }
  return made;
}

// another value that is possible; a number needs all of its digits
static void change(const option_field *f, void *options) {
  double value = option_number(f, options);
  switch (f->kind) {
    case CAROM_OPTION_SWITCH: value = value == 0; break;
    case CAROM_OPTION_CHOICE: value = value > 0 ? value - 1 : value + 1; break;
    case CAROM_OPTION_NUMBER: value = value != 0 ? value / 3 : 1.0 / 3; break;
    case CAROM_OPTION_SEED: value = value + 12345; break;
    default: value = value < f->high ? value + 1 : value - 1;
  }
  assert_true(option_fits(f, value));
  option_set_number(f, options, value);
}

static void change_all(const option_table *table, void *options) {
  for (int k = 0; k < table->count; k++) change(&table->fields[k], options);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void rows_are_whole(void **state) {
  (void)state;
  for (int of = 0; of < SETS; of++) {
    const option_table *table = option_table_of((carom_options)of);
    assert_int_equal(carom_option_count((carom_options)of), table->count);
    for (int k = 0; k < table->count; k++) {
      const option_field *f = &table->fields[k];
      assert_true((f->kind == CAROM_OPTION_CHOICE) == (f->names != NULL));
      if (!(f->role & OPTION_SCENE)) assert_true(option_fits(f, f->value));
      if (f->role & OPTION_PAPER) assert_true(option_fits(f, f->paper));
      if (f->role & OPTION_LATER) assert_true(option_fits(f, f->before));
      // a flag has its help; the word of its argument is missing where it takes none
      if (f->flag != NULL) assert_true(f->help != NULL);
      if (f->flag != NULL) assert_true((f->argument == NULL) == (f->kind == CAROM_OPTION_SWITCH));
      for (int other = 0; other < k; other++) {
        const option_field *g = &table->fields[other];
        assert_string_not_equal(f->name, g->name);
        assert_string_not_equal(option_file_name(f), option_file_name(g));
        if (f->flag != NULL && g->flag != NULL) assert_string_not_equal(f->flag, g->flag);
      }
    }
  }
}

// both stand in one checkpoint
static void names_in_checkpoints_differ(void **state) {
  (void)state;
  for (int k = 0; k < model_option_table.count; k++) {
    const option_field *f = &model_option_table.fields[k];
    if (option_is_saved(f)) assert_null(option_in_file(&trainer_option_table, option_file_name(f)));
  }
}

static void defaults_are_possible(void **state) {
  carom_system *system = *state;
  for (int of = 0; of < SETS; of++) {
    carom_any_options options = defaults_of((carom_options)of, system);
    carom_error error = {0};
    assert_int_equal(carom_options_check((carom_options)of, &options, &error), CAROM_OK);
    carom_options_set_paper((carom_options)of, &options);
    assert_int_equal(carom_options_check((carom_options)of, &options, &error), CAROM_OK);
  }
}

static void descriptions(void **state) {
  (void)state;
  const carom_option_info rate = carom_option_describe(CAROM_TRAINER_OPTIONS, 2);
  assert_string_equal(rate.name, "learning_rate");
  assert_string_equal(rate.flag, "lr");
  assert_string_equal(rate.value, "0.004");
  assert_string_equal(rate.range, "a positive number");
  assert_false(rate.from_scene);
  assert_true(carom_option_describe(CAROM_ROLLOUT_OPTIONS, 0).from_scene);
  // there is no such option, or no such struct
  assert_null(carom_option_describe(CAROM_TRAINER_OPTIONS, 99).name);
  assert_null(carom_option_describe(CAROM_TRAINER_OPTIONS, -1).name);
  assert_null(carom_option_describe((carom_options)SETS, 0).name);
  assert_int_equal(carom_option_count((carom_options)SETS), 0);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void text_round_trip(void **state) {
  carom_system *system = *state;
  for (int of = 0; of < SETS; of++) {
    const option_table *table = option_table_of((carom_options)of);
    for (int k = 0; k < table->count; k++) {
      const option_field *f = &table->fields[k];
      carom_any_options changed = defaults_of((carom_options)of, system), read = changed;
      change(f, &changed);
      char text[OPTION_TEXT];
      carom_error error = {0};
      assert_int_equal(
          carom_option_get((carom_options)of, &changed, f->name, text, sizeof text, &error),
          CAROM_OK);
      assert_int_equal(carom_option_set((carom_options)of, &read, f->name, text, &error), CAROM_OK);
      // this field and no other
      assert_memory_equal(&read, &changed, sizeof read);
    }
  }
}

static void seeds_keep_their_bits(void **state) {
  (void)state;
  carom_trainer_options options = carom_trainer_default_options();
  assert_int_equal(
      carom_option_set(CAROM_TRAINER_OPTIONS, &options, "seed", "18446744073709551615", NULL),
      CAROM_OK);
  assert_true(options.seed == UINT64_MAX);
  char text[32];
  assert_int_equal(carom_option_get(CAROM_TRAINER_OPTIONS, &options, "seed", text, 32, NULL),
                   CAROM_OK);
  assert_string_equal(text, "18446744073709551615");
  carom_trainer_options other = options;
  other.seed--;
  const option_field *seed = option_find(&trainer_option_table, "seed");
  assert_false(option_equal(seed, &options, &other));
}

static void any_locale(void **state) {
  (void)state;
  if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL) {
    print_message("  no locale with a comma here\n");
    skip();
  }
  carom_trainer_options options = carom_trainer_default_options();
  char text[32];
  const carom_status set = carom_option_set(CAROM_TRAINER_OPTIONS, &options, "beta1", "0.25", NULL);
  const carom_status get =
      carom_option_get(CAROM_TRAINER_OPTIONS, &options, "beta1", text, sizeof text, NULL);
  setlocale(LC_NUMERIC, "C");
  assert_int_equal(set, CAROM_OK);
  assert_int_equal(get, CAROM_OK);
  assert_true(options.beta1 == 0.25);
  assert_string_equal(text, "0.25");
}

static void refuse_text(carom_options of, const char *name, const char *text, const char *piece) {
  carom_any_options options = {0}, before = options;
  carom_error error = {0};
  assert_int_equal(carom_option_set(of, &options, name, text, &error), CAROM_INVALID_ARGUMENT);
  assert_message(&error, CAROM_INVALID_ARGUMENT, piece);
  assert_memory_equal(&options, &before, sizeof options);
}

static void texts_that_are_no_values(void **state) {
  (void)state;
  refuse_text(CAROM_TRAINER_OPTIONS, "--lr", "0", "--lr 0: expected a positive number");
  refuse_text(CAROM_TRAINER_OPTIONS, "--lr", "nan", "--lr nan: expected a positive number");
  refuse_text(CAROM_TRAINER_OPTIONS, "--lr", "inf", "--lr inf: expected a positive number");
  refuse_text(CAROM_TRAINER_OPTIONS, "beta1", "1",
              "beta1 1: expected a number of at least 0 and below 1");
  refuse_text(CAROM_TRAINER_OPTIONS, "batch", "99999999999",
              "batch 99999999999: expected an integer from 1 to 2147483647");
  refuse_text(CAROM_TRAINER_OPTIONS, "batch", "99999999999999999999", "to 2147483647");
  refuse_text(CAROM_TRAINER_OPTIONS, "batch", "2.5", "expected an integer");
  refuse_text(CAROM_TRAINER_OPTIONS, "batch", "2x", "expected an integer");
  refuse_text(CAROM_TRAINER_OPTIONS, "batch", "", "expected an integer");
  refuse_text(CAROM_TRAINER_OPTIONS, "seed", "-1", "seed -1: expected an integer from 0 to");
  refuse_text(CAROM_TRAINER_OPTIONS, "schedule", "linear", "expected one of constant, cosine");
  refuse_text(CAROM_MODEL_OPTIONS, "elastic_term", "maybe", "expected true or false");
  refuse_text(CAROM_MODEL_OPTIONS, "--layers", "20",
              "--layers 20: expected an integer from 1 to 8");
  refuse_text(CAROM_MODEL_OPTIONS, "layers", "2", "carom_model_options has no option 'layers'");
  refuse_text(CAROM_MODEL_OPTIONS, NULL, "2", "NULL");
  refuse_text(CAROM_MODEL_OPTIONS, "hidden_size", NULL, "NULL");
  refuse_text((carom_options)SETS, "hidden_size", "2", "no struct of options");
  carom_model_options options = {.hidden_size = 256};
  char text[3];
  carom_error error = {0};
  assert_int_equal(carom_option_get(CAROM_MODEL_OPTIONS, &options, "hidden_size", text, 3, &error),
                   CAROM_INVALID_ARGUMENT);
  assert_message(&error, CAROM_INVALID_ARGUMENT, "256 does not fit into 3");
}

/* ---- ranges ---------------------------------------------------------------------------------- */

// the first values that do not belong to the range; false: there is none on that side
static bool beyond(const option_field *f, bool above, double *value) {
  switch (f->kind) {
    case CAROM_OPTION_INTEGER:
      *value = above ? f->high + 1 : f->low - 1;
      return *value <= INT32_MAX && *value >= INT32_MIN;
    case CAROM_OPTION_NUMBER: {
      const double end = above ? f->high : f->low;
      const bool open = above ? f->high_open : f->low_open;
      *value = open ? end : nextafter(end, above ? INFINITY : -INFINITY);
      return true;
    }
    case CAROM_OPTION_CHOICE: {
      int count = 0;
      while (f->names[count] != NULL) count++;
      *value = above ? count : -1;
      return true;
    }
    default: return false;
  }
}

static void out_of_range_by_one_step(void **state) {
  carom_system *system = *state;
  int tried = 0;
  for (int of = 0; of < SETS; of++) {
    const option_table *table = option_table_of((carom_options)of);
    for (int k = 0; k < 2 * table->count; k++) {
      const option_field *f = &table->fields[k / 2];
      carom_any_options options = defaults_of((carom_options)of, system);
      double value;
      if (!beyond(f, k % 2 == 1, &value)) continue;
      tried++;
      option_set_number(f, &options, value);
      carom_error error = {0};
      assert_int_equal(carom_options_check((carom_options)of, &options, &error),
                       CAROM_INVALID_ARGUMENT);
      char piece[64];
      snprintf(piece, sizeof piece, "options.%s is ", f->name);
      assert_message(&error, CAROM_INVALID_ARGUMENT, piece);
      if (f->flag == NULL || f->kind == CAROM_OPTION_CHOICE) continue;
      // as text, under the name of its flag
      char flag[64], text[OPTION_TEXT];
      snprintf(flag, sizeof flag, "--%s", f->flag);
      option_text(f, &options, text);
      refuse_text((carom_options)of, flag, text, flag);
    }
  }
  assert_true(tried > 60);
}

static void numbers_that_are_none(void **state) {
  carom_system *system = *state;
  for (int of = 0; of < SETS; of++) {
    const option_table *table = option_table_of((carom_options)of);
    for (int k = 0; k < table->count; k++) {
      const option_field *f = &table->fields[k];
      if (f->kind != CAROM_OPTION_NUMBER) continue;
      carom_any_options options = defaults_of((carom_options)of, system);
      option_set_number(f, &options, NAN);
      assert_int_not_equal(carom_options_check((carom_options)of, &options, NULL), CAROM_OK);
      option_set_number(f, &options, INFINITY);
      assert_int_not_equal(carom_options_check((carom_options)of, &options, NULL), CAROM_OK);
    }
  }
}

// the functions that take options check them
static void functions_refuse_them(void **state) {
  carom_system *system = *state;
  carom_error error = {0};
  carom_rollout_options rollout = carom_rollout_default_options(system);
  rollout.integrator = (carom_integrator)55;
  carom_rollout *made;
  assert_int_not_equal(carom_rollout_create(system, &rollout, 1, &made, &error), CAROM_OK);
  assert_message(
      &error, CAROM_INVALID_ARGUMENT,
      "options.integrator is 55, must be one of rk4, euler, symplectic-euler, rk4-secant");
  carom_model_options model = carom_model_default_options(system);
  model.dynamics = (carom_dynamics)2;
  carom_model *made_model;
  assert_int_not_equal(carom_model_create(system, &model, &made_model, &error), CAROM_OK);
  assert_message(&error, CAROM_INVALID_ARGUMENT, "options.dynamics is 2, must be one of");
  carom_dataset_options dataset = carom_dataset_default_options(system);
  dataset.chunk = 1;
  carom_dataset *data;
  assert_int_not_equal(carom_dataset_generate(system, NULL, &dataset, &data, &error), CAROM_OK);
  assert_message(&error, CAROM_INVALID_ARGUMENT, "options.chunk is 1, must be an integer from 2");
}

/* ---- config.json ----------------------------------------------------------------------------- */

static carom_run_config make_config(const carom_system *system) {
  carom_run_config c = {.scene = strdup(carom_system_describe(system).json),
                        .data = strdup("data.h5"),
                        .model = carom_model_default_options(system),
                        .train = carom_trainer_default_options(),
                        .dataset = carom_dataset_default_options(system)};
  return c;
}

static void assert_equal_options(const option_table *table, const void *a, const void *b) {
  for (int k = 0; k < table->count; k++) {
    const option_field *f = &table->fields[k];
    if (!(f->role & OPTION_SPEED) && !option_equal(f, a, b)) fail_msg("%s differs", f->name);
  }
}

static void config_round_trip(void **state) {
  carom_system *system = *state;
  carom_run_config written = make_config(system), read;
  change_all(&model_option_table, &written.model);
  written.model.baseline = CAROM_BASELINE_NONE; // no baseline has cmr or chnn
  change_all(&trainer_option_table, &written.train);
  change_all(&dataset_option_table, &written.dataset);
  written.data_contact = CAROM_CMR;
  carom_system *made;
  carom_error error = {0};
  assert_int_equal(carom_run_config_write(&written, "config.json", &error), CAROM_OK);
  if (carom_run_config_read("config.json", &read, &made, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  assert_equal_options(&model_option_table, &written.model, &read.model);
  assert_equal_options(&trainer_option_table, &written.train, &read.train);
  assert_equal_options(&dataset_option_table, &written.dataset, &read.dataset);
  assert_int_equal(read.data_contact, CAROM_CMR);
  // how fast it goes is not part of a run
  assert_int_equal(read.model.threads, 0);
  carom_system_destroy(made);
  carom_run_config_free(&written);
  carom_run_config_free(&read);
}

static carom_status read_object(const option_table *table, json_t *object,
                                carom_any_options *options, carom_error *error) {
  return options_read_json(table, object, "heading", options, error);
}

static void check_member(const option_table *table, const option_field *f,
                         carom_any_options *options) {
  carom_error error = {0};
  char piece[64];
  snprintf(piece, sizeof piece, "heading.%s is ", option_file_name(f));
  json_t *object = options_json(table, options);
  assert_int_equal(read_object(table, object, options, &error), CAROM_OK);
  // of another kind
  json_object_set_new(object, option_file_name(f), json_array());
  assert_int_equal(read_object(table, object, options, &error), CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, piece);
  // missing: an error, or what it was before there was such an option
  json_object_del(object, option_file_name(f));
  const carom_status status = read_object(table, object, options, &error);
  if (f->role & OPTION_LATER) {
    assert_int_equal(status, CAROM_OK);
    assert_true(option_number(f, options) == f->before);
  } else {
    assert_message(&error, CAROM_INVALID_DATA, piece);
  }
  json_decref(object);
}

static void members_of_objects(void **state) {
  carom_system *system = *state;
  for (int of = 0; of < SETS; of++) {
    const option_table *table = option_table_of((carom_options)of);
    carom_any_options options = defaults_of((carom_options)of, system);
    for (int k = 0; k < table->count; k++)
      if (option_is_saved(&table->fields[k])) check_member(table, &table->fields[k], &options);
    json_t *object = options_json(table, &options);
    json_object_set_new(object, "colour", json_integer(1));
    carom_error error = {0};
    assert_int_equal(read_object(table, object, &options, &error), CAROM_INVALID_DATA);
    assert_message(&error, CAROM_INVALID_DATA, "heading.colour is no option");
    json_decref(object);
  }
}

// what `carom train --resume` compares
static void differences_are_named(void **state) {
  carom_system *system = *state;
  const struct {
    const char *heading;
    const option_table *table;
  } parts[] = {{"train", &trainer_option_table},
               {"model_options", &model_option_table},
               {"dataset", &dataset_option_table}};
  for (size_t part = 0; part < 3; part++) {
    for (int k = 0; k < parts[part].table->count; k++) {
      const option_field *f = &parts[part].table->fields[k];
      if (!option_is_saved(f)) continue;
      carom_run_config a = make_config(system), b = make_config(system);
      void *const options[] = {&b.train, &b.model, &b.dataset};
      change(f, options[part]);
      json_t *first = run_config_json(&a), *second = run_config_json(&b);
      carom_difference found;
      assert_true(json_find_difference(first, second, &found));
      char path[96];
      snprintf(path, sizeof path, "%s.%s", parts[part].heading, option_file_name(f));
      assert_string_equal(found.path, path);
      json_decref(first);
      json_decref(second);
      carom_run_config_free(&a);
      carom_run_config_free(&b);
    }
  }
}

// the file as text, with one piece of it in place of another
static void refuse_config(const char *old, const char *new, const char *piece) {
  size_t size;
  char *bytes = read_bytes("config.json", &size), *at = strstr(bytes, old);
  assert_non_null(at);
  char *text;
  size_t length;
  FILE *out = open_memstream(&text, &length);
  fprintf(out, "%.*s%s%s", (int)(at - bytes), bytes, new, at + strlen(old));
  fclose(out);
  write_bytes("other.json", text, length);
  carom_run_config read;
  carom_system *made;
  carom_error error = {0};
  assert_int_equal(carom_run_config_read("other.json", &read, &made, &error), CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, piece);
  assert_null(made);
  free(text);
  free(bytes);
}

static void bad_configs(void **state) {
  carom_system *system = *state;
  carom_run_config written = make_config(system);
  assert_int_equal(carom_run_config_write(&written, "config.json", NULL), CAROM_OK);
  refuse_config("\"batch\": 200", "\"batch\": 0",
                "other.json: train.batch is 0, expected an integer from 1 to 2147483647");
  refuse_config("\"cosine\"", "\"linear\"",
                "other.json: train.schedule is \"linear\", expected one of constant, cosine");
  refuse_config("\"val\": 100", "\"val\": 1e2", "other.json: dataset.val is 100.0, expected an");
  refuse_config("\"hidden_size\"", "\"hidden\"", "other.json: model_options.hidden is no option");
  refuse_config("\"seed\": 0", "\"seed\": 0, \"luck\": 1", "other.json: luck is nothing that");
  refuse_config("\"contact\": \"cm\"", "\"contact\": \"pgs\"", "other.json: dataset.contact is");
  refuse_config("\"train\": {", "\"train\": 7, \"dataset\": {", "other.json");
  carom_run_config_free(&written);
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void attribute_round_trip(void **state) {
  carom_system *system = *state;
  for (int of = 0; of < SETS; of++) {
    const option_table *table = option_table_of((carom_options)of);
    carom_any_options written = defaults_of((carom_options)of, system), read = written;
    for (int k = 0; k < table->count; k++)
      if (option_is_saved(&table->fields[k])) change(&table->fields[k], &written);
    h5_writer *writer;
    assert_int_equal(h5_writer_create("options.h5", &writer, NULL), CAROM_OK);
    carom_error error = {0};
    const carom_status status = options_write_attributes(writer, table, &written, NULL, &error);
    assert_int_equal(h5_writer_finish(writer, status, &error), CAROM_OK);
    h5_reader *reader;
    assert_int_equal(h5_reader_open("options.h5", &reader, NULL), CAROM_OK);
    assert_int_equal(options_read_attributes(reader, "options.h5", table, &read, &error), CAROM_OK);
    assert_memory_equal(&read, &written, sizeof read);
    h5_reader_close(reader);
  }
}

// each one missing in turn
static void attributes_that_are_missing(void **state) {
  carom_system *system = *state;
  for (int of = 0; of < SETS; of++) {
    const option_table *table = option_table_of((carom_options)of);
    for (int k = 0; k < table->count; k++) {
      const option_field *f = &table->fields[k];
      if (!option_is_saved(f)) continue;
      carom_any_options options = defaults_of((carom_options)of, system);
      h5_writer *writer;
      assert_int_equal(h5_writer_create("options.h5", &writer, NULL), CAROM_OK);
      assert_int_equal(options_write_attributes(writer, table, &options, f->name, NULL), CAROM_OK);
      assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
      h5_reader *reader;
      assert_int_equal(h5_reader_open("options.h5", &reader, NULL), CAROM_OK);
      carom_error error = {0};
      const carom_status status =
          options_read_attributes(reader, "options.h5", table, &options, &error);
      h5_reader_close(reader);
      char piece[64];
      snprintf(piece, sizeof piece, "attribute %s is missing", option_file_name(f));
      if (f->role & OPTION_LATER)
        assert_true(status == CAROM_OK && option_number(f, &options) == f->before);
      else
        assert_message(&error, CAROM_INVALID_DATA, piece);
    }
  }
}

static void refuse_attribute(const option_table *table, const option_field *f,
                             const carom_any_options *written) {
  h5_writer *writer;
  h5_reader *reader;
  carom_any_options read = {0};
  carom_error error = {0};
  assert_int_equal(h5_writer_create("options.h5", &writer, NULL), CAROM_OK);
  assert_int_equal(options_write_attributes(writer, table, written, NULL, NULL), CAROM_OK);
  assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
  assert_int_equal(h5_reader_open("options.h5", &reader, NULL), CAROM_OK);
  assert_int_equal(options_read_attributes(reader, "options.h5", table, &read, &error),
                   CAROM_INVALID_DATA);
  h5_reader_close(reader);
  char piece[64];
  snprintf(piece, sizeof piece, "options.h5: attribute %s is ", option_file_name(f));
  assert_message(&error, CAROM_INVALID_DATA, piece);
}

// a damaged file, or one of another program's
static void attributes_out_of_range(void **state) {
  carom_system *system = *state;
  for (int of = 0; of < SETS; of++) {
    const option_table *table = option_table_of((carom_options)of);
    for (int k = 0; k < 2 * table->count; k++) {
      const option_field *f = &table->fields[k / 2];
      carom_any_options options = defaults_of((carom_options)of, system);
      double value;
      if (!option_is_saved(f) || !beyond(f, k % 2 == 1, &value)) continue;
      option_set_number(f, &options, value);
      refuse_attribute(table, f, &options);
    }
  }
}

/* ---- a table of its own ---------------------------------------------------------------------- */

typedef struct small {
  int64_t count;
  double ratio;
} small;

static const option_field small_fields[] = {
    {OPTION(small, count), OPTION_RANGE(0, 0x1p53), .value = 7, .file = "n"},
    {OPTION(small, ratio), OPTION_AT_LEAST(1), .low_open = true, .value = 2, .role = OPTION_LATER,
     .before = 3}};
static const option_table small_table = OPTION_TABLE(small_fields);

// an option that came later than a file has the value that it had before
static void older_files(void **state) {
  (void)state;
  small made;
  options_set_defaults(&small_table, &made);
  assert_true(made.count == 7 && made.ratio == 2);
  json_t *object = json_pack("{si}", "n", 11);
  assert_int_equal(options_read_json(&small_table, object, "old", &made, NULL), CAROM_OK);
  assert_true(made.count == 11 && made.ratio == 3);
  json_decref(object);
  h5_writer *writer;
  h5_reader *reader;
  assert_int_equal(h5_writer_create("old.h5", &writer, NULL), CAROM_OK);
  assert_int_equal(h5_write_number_attribute(writer, "n", 12, NULL), CAROM_OK);
  assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
  assert_int_equal(h5_reader_open("old.h5", &reader, NULL), CAROM_OK);
  made.ratio = 5;
  assert_int_equal(options_read_attributes(reader, "old.h5", &small_table, &made, NULL), CAROM_OK);
  assert_true(made.count == 12 && made.ratio == 3);
  h5_reader_close(reader);
  // its range in words
  char range[OPTION_RANGE_TEXT];
  option_range_text(&small_fields[1], range);
  assert_string_equal(range, "a number above 1");
}

static test_folder folder;

static int set_up(void **state) {
  if (folder_enter(&folder, "options") != 0) return -1;
  *state = load_system("cp3");
  return 0;
}

static int tear_down(void **state) {
  carom_system_destroy(*state);
  return folder_leave(&folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_whole),
      cmocka_unit_test(names_in_checkpoints_differ),
      cmocka_unit_test(defaults_are_possible),
      cmocka_unit_test(descriptions),
      cmocka_unit_test(text_round_trip),
      cmocka_unit_test(seeds_keep_their_bits),
      cmocka_unit_test(any_locale),
      cmocka_unit_test(texts_that_are_no_values),
      cmocka_unit_test(out_of_range_by_one_step),
      cmocka_unit_test(numbers_that_are_none),
      cmocka_unit_test(functions_refuse_them),
      cmocka_unit_test(config_round_trip),
      cmocka_unit_test(members_of_objects),
      cmocka_unit_test(differences_are_named),
      cmocka_unit_test(bad_configs),
      cmocka_unit_test(attribute_round_trip),
      cmocka_unit_test(attributes_that_are_missing),
      cmocka_unit_test(attributes_out_of_range),
      cmocka_unit_test(older_files),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
