/* Checkpoints: what is saved is what is loaded, to the bit; what does not fit is refused and named;
 * a full disk leaves the old one as it was. */
#include "io/checkpoint_file.h"
#include "io/h5_file.h"
#include "io/option_file.h"
#include "learn/options.h"
#include "learn/trainer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/files.h"
#include "support/messages.h"
#include "support/systems.h"

/* A folder of its own, two systems, data of the first. */
typedef struct fixture {
  test_folder folder;
  carom_system *system, *other;
  carom_dataset *data;
} fixture;

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof *f);
  if (folder_enter(&f->folder, "checkpoint") != 0) return -1;
  f->system = load_system("cp3");
  f->other = load_system("cp3-e");
  carom_dataset_options options = carom_dataset_default_options(f->system);
  options.train = 6;
  options.validation = 2;
  options.test = 0;
  options.steps = 30;
  options.threads = 1;
  *state = f;
  return carom_dataset_generate(f->system, NULL, &options, &f->data, NULL) == CAROM_OK ? 0 : -1;
}

static int tear_down(void **state) {
  fixture *f = *state;
  const int removed = folder_leave(&f->folder);
  carom_dataset_destroy(f->data);
  carom_system_destroy(f->system);
  carom_system_destroy(f->other);
  free(f);
  return removed;
}

static carom_model_options model_options(const carom_system *system) {
  carom_model_options options = carom_model_default_options(system);
  options.hidden_layers = 2;
  options.hidden_size = 5;
  options.threads = 1;
  options.seed = UINT64_MAX - 1; /* more than a double holds */
  return options;
}

static carom_model *make_model(const carom_system *system, const carom_model_options *options) {
  carom_model *model;
  assert_int_equal(carom_model_create(system, options, &model, NULL), CAROM_OK);
  return model;
}

static carom_model *save_model(const fixture *f, const char *path) {
  const carom_model_options options = model_options(f->system);
  carom_model *model = make_model(f->system, &options);
  assert_int_equal(carom_model_save(model, path, NULL), CAROM_OK);
  return model;
}

static carom_trainer_options train_options(void) {
  carom_trainer_options options = carom_trainer_paper_options();
  options.epochs = 4;
  options.batch = 2;
  options.learning_rate = 0.01;
  options.seed = UINT64_MAX;
  return options;
}

/* A training with a model of its own. */
typedef struct training {
  carom_model *model;
  carom_trainer *trainer;
} training;

static training make_training(const fixture *f, const carom_model_options *model,
                              const carom_trainer_options *train) {
  training made = {.model = make_model(f->system, model)};
  assert_int_equal(carom_trainer_create(made.model, f->data, train, &made.trainer, NULL), CAROM_OK);
  return made;
}

static training default_training(const fixture *f) {
  const carom_model_options model = model_options(f->system);
  const carom_trainer_options train = train_options();
  return make_training(f, &model, &train);
}

static void training_free(training *t) {
  carom_trainer_destroy(t->trainer);
  carom_model_destroy(t->model);
}

static void assert_same_parameters(carom_model *a, carom_model *b) {
  const size_t count = (size_t)carom_model_describe(a).parameter_count;
  assert_int_equal(carom_model_describe(b).parameter_count, count);
  assert_memory_equal(carom_model_parameters(a), carom_model_parameters(b), count * sizeof(double));
}

/* ---- models ---------------------------------------------------------------------------------- */

static void model_round_trip(void **state) {
  fixture *f = *state;
  for (int k = 0; k < carom_model_name_count(); k++) {
    carom_model_options options = model_options(f->system);
    assert_int_equal(carom_model_options_by_name(&options, carom_model_name(k), NULL), CAROM_OK);
    options.shared_properties = k % 2 == 0;
    options.learn_regularizer = k > 1;
    options.single_precision = k == 3;
    options.dt = 0.005;
    options.initial_friction = 0.7;
    carom_model *model = make_model(f->system, &options), *read;
    carom_error error;
    assert_int_equal(carom_model_save(model, "model.h5", &error), CAROM_OK);
    assert_int_equal(carom_model_load(f->system, "model.h5", &read, &error), CAROM_OK);
    const carom_model_options found = carom_model_describe(read).options;
    assert_int_equal(found.contact, options.contact);
    assert_int_equal(found.dynamics, options.dynamics);
    assert_int_equal(found.hidden_layers, 2);
    assert_int_equal(found.hidden_size, 5);
    assert_int_equal(found.shared_properties, options.shared_properties);
    assert_int_equal(found.learn_regularizer, options.learn_regularizer);
    assert_int_equal(found.single_precision, options.single_precision);
    assert_true(found.dt == 0.005);
    assert_true(found.initial_friction == 0.7);
    assert_true(found.seed == options.seed);
    assert_same_parameters(model, read);
    carom_model_destroy(read);
    carom_model_destroy(model);
  }
}

// one dataset for each segment, in its shape
static void segments_are_datasets(void **state) {
  fixture *f = *state;
  carom_model *model = save_model(f, "model.h5");
  h5_reader *reader;
  assert_int_equal(h5_reader_open("model.h5", &reader, NULL), CAROM_OK);
  assert_int_equal(h5_link_count(reader), carom_model_describe(model).array_count);
  for (int k = 0; k < carom_model_describe(model).array_count; k++)
    assert_true(h5_has_dataset(reader, carom_model_array(model, k).name));
  // six coordinates into five neurons
  h5_axis axes[] = {{"out", 5}, {"in", 6}};
  double *values;
  assert_int_equal(h5_read_doubles(reader, "weight0", 2, axes, &values, NULL), CAROM_OK);
  free(values);
  h5_reader_close(reader);
  carom_model_destroy(model);
}

static void refuse_model(const carom_system *system, const char *path, carom_status status,
                         const char *piece) {
  carom_error error = {0};
  carom_model *model;
  assert_int_equal(carom_model_load(system, path, &model, &error), status);
  assert_message(&error, status, piece);
  assert_message(&error, status, path);
  assert_null(model);
}

static void other_scene(void **state) {
  fixture *f = *state;
  carom_model *model = save_model(f, "model.h5");
  refuse_model(f->other, "model.h5", CAROM_INVALID_DATA,
               "another scene: bodies[0].mass is 0.1 there and 0.2 here");
  carom_model_destroy(model);
}

static void foreign_files(void **state) {
  fixture *f = *state;
  refuse_model(f->system, "missing.h5", CAROM_FILE_ERROR, "No such file");
  write_bytes("text.h5", "hello", 5);
  refuse_model(f->system, "text.h5", CAROM_INVALID_DATA, "not an HDF5 file");
  // HDF5, but another kind of file
  h5_writer *writer;
  assert_int_equal(h5_writer_create("foreign.h5", &writer, NULL), CAROM_OK);
  assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
  refuse_model(f->system, "foreign.h5", CAROM_INVALID_DATA, "not a checkpoint of carom");
  assert_int_equal(h5_writer_create("future.h5", &writer, NULL), CAROM_OK);
  assert_int_equal(h5_write_number_attribute(writer, "checkpoint", 9, NULL), CAROM_OK);
  assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
  refuse_model(f->system, "future.h5", CAROM_INVALID_DATA, "version 9");
}

// whatever is cut off, it is refused without a crash, and the trainer is as it was
static void cut_short(void **state) {
  fixture *f = *state;
  training t = default_training(f), other = default_training(f);
  assert_int_equal(carom_trainer_epoch(t.trainer, NULL, NULL), CAROM_OK);
  assert_int_equal(carom_trainer_save(t.trainer, "whole.h5", NULL), CAROM_OK);
  size_t size;
  char *bytes = read_bytes("whole.h5", &size);
  for (size_t length = 0; length < size; length += 487) {
    write_bytes("cut.h5", bytes, length);
    refuse_model(f->system, "cut.h5", CAROM_INVALID_DATA, "");
    carom_error error = {0};
    assert_int_not_equal(carom_trainer_restore(other.trainer, "cut.h5", &error), CAROM_OK);
    assert_message(&error, CAROM_INVALID_DATA, "cut.h5");
  }
  assert_int_equal(other.trainer->state.epochs_done, 0);
  assert_int_equal(other.trainer->optimizer.steps, 0);
  free(bytes);
  training_free(&t);
  training_free(&other);
}

/* ---- trainings ------------------------------------------------------------------------------- */

static bool stop_early(void *user, int64_t done, int64_t total) {
  (void)total;
  return done != *(const int64_t *)user;
}

// saved after any batch and taken up by another process's trainer: the same file at the end
static void resume_everywhere(const fixture *f, carom_trainer_options usual) {
  const carom_model_options model = model_options(f->system);
  training whole = make_training(f, &model, &usual);
  assert_int_equal(carom_trainer_run(whole.trainer, NULL, NULL, NULL), CAROM_OK);
  assert_int_equal(carom_trainer_save(whole.trainer, "whole.h5", NULL), CAROM_OK);
  for (int64_t batches = 0; batches <= 12; batches++) {
    carom_trainer_options options = usual;
    options.progress = stop_early;
    options.progress_user = &batches;
    training stopped = make_training(f, &model, &options),
             resumed = make_training(f, &model, &usual);
    if (batches > 0) {
      assert_int_equal(carom_trainer_run(stopped.trainer, NULL, NULL, NULL), CAROM_INTERRUPTED);
    }
    assert_int_equal(carom_trainer_save(stopped.trainer, "half.h5", NULL), CAROM_OK);
    // parameters of its own do not matter
    memset(carom_model_parameters(resumed.model), 0, sizeof(double));
    carom_error error = {0};
    if (carom_trainer_restore(resumed.trainer, "half.h5", &error) != CAROM_OK)
      fail_msg("%s", error.message);
    assert_int_equal(carom_trainer_run(resumed.trainer, NULL, NULL, NULL), CAROM_OK);
    assert_same_parameters(whole.model, resumed.model);
    assert_int_equal(carom_trainer_save(resumed.trainer, "resumed.h5", NULL), CAROM_OK);
    assert_same_files("whole.h5", "resumed.h5");
    training_free(&stopped);
    training_free(&resumed);
  }
  training_free(&whole);
}

static void resumed_is_uninterrupted(void **state) { resume_everywhere(*state, train_options()); }

// estimated states are in the file
// in the middle of an epoch in which chunks with a contact have a weight of their own
static void resumed_with_a_balance(void **state) {
  carom_trainer_options options = train_options();
  options.balance = CAROM_BALANCE_ALWAYS;
  resume_everywhere(*state, options);
}

static void resumed_with_estimated_states(void **state) {
  carom_trainer_options options = train_options();
  options.estimate_states = true;
  options.states_every = 2;
  resume_everywhere(*state, options);
}

static void refuse_training(const fixture *f, const carom_model_options *model,
                            const carom_trainer_options *train, const char *piece) {
  training t = make_training(f, model, train);
  const double first = carom_model_parameters(t.model)[0];
  carom_error error = {0};
  assert_int_equal(carom_trainer_restore(t.trainer, "saved.h5", &error), CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, piece);
  assert_message(&error, CAROM_INVALID_DATA, "saved.h5");
  assert_true(carom_model_parameters(t.model)[0] == first);
  training_free(&t);
}

static void other_training(void **state) {
  fixture *f = *state;
  training t = default_training(f);
  assert_int_equal(carom_trainer_epoch(t.trainer, NULL, NULL), CAROM_OK);
  assert_int_equal(carom_trainer_save(t.trainer, "saved.h5", NULL), CAROM_OK);
  const carom_model_options model = model_options(f->system);
  const carom_trainer_options train = train_options();
  carom_model_options m = model;
  m.hidden_size = 7;
  refuse_training(f, &m, &train, "hidden_size is 5 there and 7 here");
  m = model;
  m.hidden_layers = 3;
  refuse_training(f, &m, &train, "hidden_layers is 2 there and 3 here");
  m = model;
  m.contact = CAROM_CMR;
  refuse_training(f, &m, &train, "model is cm-cd-clnn there and cmr-cd-clnn here");
  carom_trainer_options o = train;
  o.learning_rate = 0.1;
  refuse_training(f, &model, &o, "learning_rate is 0.01 there and 0.1 here");
  o = train;
  o.seed = 1;
  refuse_training(f, &model, &o, "train_seed is 18446744073709551615 there and 1 here");
  o = train;
  o.schedule = CAROM_COSINE;
  refuse_training(f, &model, &o, "schedule is constant there and cosine here");
  // one number of the data is another
  f->data->train.x[3] += 1e-12;
  refuse_training(f, &model, &train, "data_hash");
  f->data->train.x[3] -= 1e-12;
  training_free(&t);
}

/* Another value of an option that a training can be made with. */
static void change(const option_field *f, void *options) {
  const double value = option_number(f, options);
  double other = value + 1;
  if (f->kind == CAROM_OPTION_NUMBER) other = value == 0 ? 1 : value / 3;
  if (f->kind == CAROM_OPTION_SWITCH || f->kind == CAROM_OPTION_CHOICE) other = value == 0;
  assert_true(option_fits(f, other));
  option_set_number(f, options, other);
}

// every option of model and trainer but those of speed has to be the same
static void every_option_is_compared(void **state) {
  fixture *f = *state;
  carom_model_options model = model_options(f->system);
  model.length_scale = model.speed_scale = 2;
  model.regularizer = 0.02;
  carom_trainer_options train = train_options();
  train.schedule = CAROM_COSINE;
  training t = make_training(f, &model, &train);
  assert_int_equal(carom_trainer_save(t.trainer, "saved.h5", NULL), CAROM_OK);
  char piece[96];
  for (int k = 0; k < trainer_option_table.count; k++) {
    const option_field *field = &trainer_option_table.fields[k];
    // a training may end at another time
    if (!option_is_saved(field) || strcmp(field->name, "patience") == 0 ||
        strcmp(field->name, "tolerance") == 0)
      continue;
    carom_trainer_options o = train;
    change(field, &o);
    snprintf(piece, sizeof piece, "another training: %s is ", option_file_name(field));
    refuse_training(f, &model, &o, piece);
  }
  for (int k = 0; k < model_option_table.count; k++) {
    const option_field *field = &model_option_table.fields[k];
    // a trainer needs the time step of its data
    if (!option_is_saved(field) || strcmp(field->name, "dt") == 0) continue;
    carom_model_options m = model;
    change(field, &m);
    snprintf(piece, sizeof piece, "another training: %s is ", option_file_name(field));
    refuse_training(f, &m, &train, piece);
  }
  training_free(&t);
}

// every number of the state comes back as itself
static void state_round_trip(void **state) {
  fixture *f = *state;
  training t = default_training(f), other = default_training(f);
  const training_state saved = {.epochs_done = 11,
                                .batches_done = 2,
                                .loss_sum = 0.13,
                                .gradient_norm = 0.14,
                                .report = {.time_steps = 15,
                                           .events = 16,
                                           .contacts = 17,
                                           .programs = 18,
                                           .interior_programs = 19,
                                           .singular_programs = 20,
                                           .degenerate_programs = 21,
                                           .projected_programs = 23,
                                           .failed_programs = 22,
                                           .worst_residual = 0.23,
                                           .failed_projections = 30},
                                .moves = 24,
                                .search_loss_before = 0.28,
                                .search_loss_after = 0.29,
                                .best_loss = 0.25,
                                .best_epoch = 10,
                                .lowest_loss = 0.24,
                                .lowest_epoch = 9};
  t.trainer->state = saved;
  t.trainer->optimizer.steps = 27;
  assert_int_equal(carom_trainer_save(t.trainer, "saved.h5", NULL), CAROM_OK);
  assert_int_equal(carom_trainer_restore(other.trainer, "saved.h5", NULL), CAROM_OK);
  const training_state *read = &other.trainer->state;
  assert_int_equal(other.trainer->optimizer.steps, 27);
  assert_int_equal(read->epochs_done, 11);
  assert_int_equal(read->batches_done, 2);
  assert_true(read->loss_sum == 0.13 && read->gradient_norm == 0.14);
  assert_int_equal(read->report.time_steps, 15);
  assert_int_equal(read->report.events, 16);
  assert_int_equal(read->report.contacts, 17);
  assert_int_equal(read->report.programs, 18);
  assert_int_equal(read->report.interior_programs, 19);
  assert_int_equal(read->report.singular_programs, 20);
  assert_int_equal(read->report.degenerate_programs, 21);
  assert_int_equal(read->report.projected_programs, 23);
  assert_int_equal(read->report.failed_programs, 22);
  assert_true(read->report.worst_residual == 0.23);
  assert_int_equal(read->report.failed_projections, 30);
  assert_int_equal(read->moves, 24);
  assert_true(read->search_loss_before == 0.28 && read->search_loss_after == 0.29);
  assert_true(read->best_loss == 0.25);
  assert_int_equal(read->best_epoch, 10);
  assert_true(read->lowest_loss == 0.24 && read->lowest_epoch == 9);
  training_free(&t);
  training_free(&other);
}

// an attribute that this version does not know may stand for something that it would not do
static void unknown_attributes(void **state) {
  fixture *f = *state;
  h5_writer *writer;
  assert_int_equal(h5_writer_create("later.h5", &writer, NULL), CAROM_OK);
  assert_int_equal(h5_write_number_attribute(writer, "checkpoint", 1, NULL), CAROM_OK);
  assert_int_equal(h5_write_number_attribute(writer, "viscosity", 1, NULL), CAROM_OK);
  assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
  refuse_model(f->system, "later.h5", CAROM_INVALID_DATA, "attribute viscosity is nothing that");
}

// more epochs are fine, but not where the rate depends on them
static void more_epochs(void **state) {
  fixture *f = *state;
  const carom_model_options model = model_options(f->system);
  for (int cosine = 0; cosine < 2; cosine++) {
    carom_trainer_options options = train_options();
    options.schedule = cosine ? CAROM_COSINE : CAROM_CONSTANT;
    training t = make_training(f, &model, &options);
    assert_int_equal(carom_trainer_save(t.trainer, "saved.h5", NULL), CAROM_OK);
    options.epochs = 9;
    training longer = make_training(f, &model, &options);
    carom_error error = {0};
    assert_int_equal(carom_trainer_restore(longer.trainer, "saved.h5", &error),
                     cosine ? CAROM_INVALID_DATA : CAROM_OK);
    if (cosine) assert_message(&error, CAROM_INVALID_DATA, "epochs is 4 there and 9 here");
    training_free(&t);
    training_free(&longer);
  }
}

static void model_alone_is_no_training(void **state) {
  fixture *f = *state;
  training t = default_training(f);
  assert_int_equal(carom_model_save(t.model, "saved.h5", NULL), CAROM_OK);
  const carom_model_options model = model_options(f->system);
  const carom_trainer_options train = train_options();
  refuse_training(f, &model, &train, "not the state of its training");
  // but a training has a model
  assert_int_equal(carom_trainer_save(t.trainer, "saved.h5", NULL), CAROM_OK);
  carom_model *read;
  assert_int_equal(carom_model_load(f->system, "saved.h5", &read, NULL), CAROM_OK);
  assert_same_parameters(t.model, read);
  carom_model_destroy(read);
  training_free(&t);
}

/* ---- a full disk ----------------------------------------------------------------------------- */

static void full_disk_keeps_the_old_one(void **state) {
  fixture *f = *state;
  training t = default_training(f);
  assert_int_equal(carom_trainer_save(t.trainer, "old.h5", NULL), CAROM_OK);
  assert_int_equal(carom_trainer_save(t.trainer, "copy.h5", NULL), CAROM_OK);
  assert_int_equal(carom_trainer_epoch(t.trainer, NULL, NULL), CAROM_OK);
  const struct rlimit before = files_limit(4000);
  carom_error error = {0};
  const carom_status status = carom_trainer_save(t.trainer, "old.h5", &error);
  files_unlimit(&before);
  assert_int_equal(status, CAROM_FILE_ERROR);
  assert_message(&error, CAROM_FILE_ERROR, "old.h5: cannot be written: File too large");
  assert_same_files("old.h5", "copy.h5");
  assert_no_leftover();
  if (access("/dev/full", F_OK) == 0) {
    assert_int_equal(carom_model_save(t.model, "/dev/full", &error), CAROM_FILE_ERROR);
    assert_message(&error, CAROM_FILE_ERROR, "No space left");
  }
  training_free(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(model_round_trip),
      cmocka_unit_test(segments_are_datasets),
      cmocka_unit_test(other_scene),
      cmocka_unit_test(foreign_files),
      cmocka_unit_test(cut_short),
      cmocka_unit_test(resumed_is_uninterrupted),
      cmocka_unit_test(resumed_with_a_balance),
      cmocka_unit_test(resumed_with_estimated_states),
      cmocka_unit_test(other_training),
      cmocka_unit_test(every_option_is_compared),
      cmocka_unit_test(state_round_trip),
      cmocka_unit_test(unknown_attributes),
      cmocka_unit_test(more_epochs),
      cmocka_unit_test(model_alone_is_no_training),
      cmocka_unit_test(full_disk_keeps_the_old_one),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
