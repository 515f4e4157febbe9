/* Numbers inside the structs that public functions take: counts, time steps and enums that cannot be,
 * numbers that are none. Each is an error whose message says which. */
#include <limits.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/files.h"
#include "support/messages.h"
#include "support/public_calls.h"

static test_folder folder;

static int prepare(void **state) {
  (void)state;
  if (folder_enter(&folder, "bad_members") != 0) return -1;
  public_calls_prepare();
  return 0;
}

static int put_away(void **state) {
  (void)state;
  public_calls_finish();
  return folder_leave(&folder);
}

static const int negative[] = {-1, INT_MIN}, other_counts[] = {-1, 0, 7, INT_MAX, INT_MIN};
static const double no_steps[] = {NAN, INFINITY, -INFINITY, -1};
#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static void refused(carom_status status, const carom_error *error, carom_status expected,
                    const char *piece) {
  assert_int_equal(status, expected);
  assert_message(error, expected, piece);
}

static void states(void **state) {
  (void)state;
  carom_error e;
  for (int k = 0; k < COUNT(negative); k++) {
    carom_states s = some_states();
    s.batch = negative[k];
    refused(carom_states_write(&s, have.system, "o.h5", &e), &e, CAROM_INVALID_ARGUMENT,
            "the number of samples of /x is -");
  }
  for (int k = 0; k < COUNT(other_counts); k++) {
    carom_states points = some_states(), dimensions = some_states();
    points.point_count = dimensions.dimension = other_counts[k];
    refused(carom_states_write(&points, have.system, "o.h5", &e), &e, CAROM_INVALID_ARGUMENT,
            "points in 2 dimensions are none of cp3, which has 3 in 2");
    refused(carom_states_write(&dimensions, have.system, "o.h5", &e), &e, CAROM_INVALID_ARGUMENT,
            "states of 3 points in");
  }
  carom_states absent = some_states();
  absent.v = NULL;
  refused(carom_states_write(&absent, have.system, "o.h5", &e), &e, CAROM_INVALID_ARGUMENT,
          "the array of /v is NULL");
}

// one call each of the functions that take trajectories, of which the second one cuts them
static void refuse_trajectories(const carom_trajectories *t, const char *written, const char *cut) {
  carom_error e;
  carom_dataset *made = garbage;
  carom_dataset_options options = small_dataset_options();
  options.chunk = 2;
  refused(carom_trajectories_write(t, have.system, "o.h5", &e), &e, CAROM_INVALID_ARGUMENT,
          written);
  assert_int_not_equal(carom_dataset_from_trajectories(have.system, t, &options, &made, &e),
                       CAROM_OK);
  assert_message(&e, e.status, cut);
  assert_null(made);
}

static void trajectories(void **state) {
  (void)state;
  for (int k = 0; k < COUNT(negative); k++) {
    carom_trajectories batch = some_trajectories(), count = some_trajectories();
    batch.batch = count.state_count = negative[k];
    refuse_trajectories(&batch, "the number of samples of /x is -", "there are no trajectories");
    refuse_trajectories(&count, "the number of states of /x is -", "states are shorter than");
  }
  for (int k = 0; k < COUNT(other_counts); k++) {
    carom_trajectories points = some_trajectories(), dimensions = some_trajectories();
    points.point_count = dimensions.dimension = other_counts[k];
    refuse_trajectories(&points, "which has 3 in 2", "which has 3 in 2");
    refuse_trajectories(&dimensions, "which has 3 in 2", "which has 3 in 2");
  }
  for (int k = 0; k < COUNT(no_steps); k++) {
    carom_trajectories t = some_trajectories();
    t.dt = no_steps[k];
    refuse_trajectories(&t, "the time step is ", "the time step is ");
  }
  static int lengths[] = {-1, INT_MIN, INT_MAX, BATCH + 1};
  for (int k = 0; k < COUNT(lengths); k++) {
    carom_trajectories t = some_trajectories();
    t.lengths = &lengths[k];
    refuse_trajectories(&t, "must be a number of states from 0 to 2", "has a length of");
  }
}

// what is not known is left out of the file and still missing when it is read
static void partial_trajectories(void **state) {
  (void)state;
  carom_error e;
  carom_trajectories t = some_trajectories(), read;
  assert_int_equal(carom_rollout_run(have.rollout, NULL, have.x0, have.v0, &e), CAROM_OK);
  int lengths[] = {STEPS + 1, STEPS};
  t.batch = BATCH;
  t.state_count = STEPS + 1;
  t.x = (double *)carom_rollout_positions(have.rollout);
  t.v = NULL;
  t.lengths = lengths;
  assert_int_equal(carom_trajectories_write(&t, have.system, "partial.h5", &e), CAROM_OK);
  refused(carom_trajectories_read(have.system, "partial.h5", &read, &e), &e, CAROM_INVALID_DATA,
          "/v");
  carom_dataset_options options = small_dataset_options();
  carom_dataset *made, *cut;
  assert_int_equal(carom_dataset_read(have.system, "partial.h5", &options, &made, &e), CAROM_OK);
  assert_int_equal(carom_dataset_from_trajectories(have.system, &t, &options, &cut, &e), CAROM_OK);
  assert_int_equal(made->train.count, cut->train.count);
  const size_t numbers =
      (size_t)(cut->train.count * cut->train.states * t.point_count * t.dimension);
  assert_memory_equal(made->train.x, cut->train.x, numbers * sizeof(double));
  assert_memory_equal(made->train.v, cut->train.v, numbers * sizeof(double));
  carom_dataset_destroy(made);
  carom_dataset_destroy(cut);

  // a time step that is not known: no times either, which would not rise
  carom_trajectories still = some_trajectories();
  still.dt = 0;
  assert_int_equal(carom_trajectories_write(&still, have.system, "o.h5", &e), CAROM_OK);
  assert_int_equal(carom_trajectories_read(have.system, "o.h5", &read, &e), CAROM_OK);
  assert_null(read.t);
  assert_int_equal(read.dt_from, CAROM_DT_OF_SCENE);
  carom_trajectories_free(&read);
}

static void programs(void **state) {
  (void)state;
  carom_error e;
  double f[2];
  static const int counts[] = {-1, INT_MAX, INT_MIN, 20001}, dimensions[] = {-1, 0, 4, INT_MAX};
  for (int k = 0; k < COUNT(counts); k++) {
    carom_cone_program many = small_program(), flat = small_program();
    many.contact_count = counts[k];
    flat.dimension = dimensions[k];
    refused(carom_cone_solver_solve(have.solver, &many, NULL, f, NULL, &e), &e,
            CAROM_INVALID_ARGUMENT, "contact_count is ");
    refused(carom_cone_solver_solve(have.solver, &flat, NULL, f, NULL, &e), &e,
            CAROM_INVALID_ARGUMENT, "dimension is ");
    refused(carom_cone_program_write(&many, "o.json", &e), &e, CAROM_INVALID_ARGUMENT,
            "contact_count is ");
    refused(carom_cone_program_write(&flat, "o.json", &e), &e, CAROM_INVALID_ARGUMENT,
            "dimension is ");
  }
  for (int k = 0; k < 3; k++) {
    carom_cone_program program = small_program();
    const double **const pointers[] = {&program.A, &program.b, &program.mu};
    *pointers[k] = NULL;
    refused(carom_cone_program_write(&program, "o.json", &e), &e, CAROM_INVALID_ARGUMENT,
            "A, b or mu of the program is NULL");
  }
}

static void gradients(void **state) {
  (void)state;
  carom_error e;
  const carom_gradient good = {.batch = BATCH,
                               .loss_each = have.x0,
                               .x0_bar = have.x0,
                               .v0_bar = have.v0,
                               .theta_bar = have.theta};
  carom_gradient bad = good;
  bad.batch = -1;
  refused(carom_gradient_write(&bad, have.system, "o.h5", &e), &e, CAROM_INVALID_ARGUMENT,
          "the number of samples of /loss_each is -1");
  bad = good;
  bad.v0_bar = NULL;
  refused(carom_gradient_write(&bad, have.system, "o.h5", &e), &e, CAROM_INVALID_ARGUMENT,
          "the array of /d_v0 is NULL");
  bad = good;
  bad.u_bar = have.x0;
  refused(carom_gradient_write(&bad, have.system, "o.h5", &e), &e, CAROM_INVALID_ARGUMENT,
          "cp3 has no controls");
  bad.steps = -1;
  refused(carom_gradient_write(&bad, have.pushed, "o.h5", &e), &e, CAROM_INVALID_ARGUMENT,
          "the number of steps of /d_u is -1");
  bad = good;
  bad.dt = NAN;
  refused(carom_gradient_write(&bad, have.system, "o.h5", &e), &e, CAROM_INVALID_ARGUMENT,
          "the time step is ");
}

static void controls(void **state) {
  (void)state;
  carom_error e;
  carom_controls bad = some_controls();
  bad.batch = -1;
  refused(carom_controls_write(&bad, have.pushed, "o.h5", &e), &e, CAROM_INVALID_ARGUMENT,
          "the number of samples of /u is -1");
  bad = some_controls();
  bad.u = NULL;
  refused(carom_controls_write(&bad, have.pushed, "o.h5", &e), &e, CAROM_INVALID_ARGUMENT,
          "the array of /u is NULL");
  bad = some_controls();
  refused(carom_controls_write(&bad, have.system, "o.h5", &e), &e, CAROM_INVALID_ARGUMENT,
          "cp3 has no controls");
}

// every function that takes a data set or chunks
static void refuse_dataset(const carom_dataset *data, bool chunks_too) {
  carom_error e;
  carom_trainer *trainer = garbage;
  carom_evaluation *evaluation = garbage;
  carom_model_options model = small_model_options();
  const carom_trainer_options options = small_trainer_options();
  assert_int_not_equal(carom_trainer_create(have.model, data, &options, &trainer, &e), CAROM_OK);
  assert_null(trainer);
  assert_int_not_equal(carom_dataset_write(data, have.system, "o.h5", &e), CAROM_OK);
  assert_int_not_equal(carom_model_options_by_data(&model, have.system, data, &e), CAROM_OK);
  assert_int_not_equal(carom_model_evaluate(have.model, data, CAROM_TRAIN, NULL, &evaluation, &e),
                       CAROM_OK);
  assert_null(evaluation);
  if (!chunks_too) return;
  double loss;
  carom_contact_count counts[MOST_NUMBERS];
  assert_int_not_equal(carom_model_loss(have.model, &data->train, 1, NULL, &loss, NULL, NULL, &e),
                       CAROM_OK);
  assert_int_not_equal(carom_chunks_count_contacts(&data->train, have.system, counts, &e),
                       CAROM_OK);
  assert_int_equal(carom_chunks_with_contact(&data->train), 0);
}

static void datasets(void **state) {
  (void)state;
  for (int k = 0; k < COUNT(negative); k++) {
    carom_dataset count = *have.dataset, length = *have.dataset;
    count.train.count = length.train.states = negative[k];
    refuse_dataset(&count, true);
    refuse_dataset(&length, true);
  }
  for (int k = 0; k < COUNT(no_steps); k++) {
    carom_dataset data = *have.dataset;
    data.dt = no_steps[k];
    refuse_dataset(&data, false);
  }
  carom_error e;
  double loss;
  refused(carom_model_loss(have.model, &have.dataset->train, INT_MAX, NULL, &loss, NULL, NULL, &e),
          &e, CAROM_INVALID_ARGUMENT, "no chunk 2 of 2");
  refused(carom_trainer_step(have.trainer, INT_MAX, NULL, &loss, &e), &e, CAROM_INVALID_ARGUMENT,
          "count is 2147483647, must be from 1 to 2");
}

static void initial_states(void **state) {
  (void)state;
  carom_error e;
  double x0[MOST_NUMBERS];
  for (int k = 0; k < 3; k++) {
    memcpy(x0, have.x0, sizeof x0);
    x0[7] = no_steps[k];
    refused(
        carom_model_predict(have.model, BATCH, STEPS, x0, have.v0, have.x, have.v, NULL, NULL, &e),
        &e, CAROM_INVALID_DATA, "initial state of sample 1 is not finite at coordinate 1");
    refused(carom_rollout_run(have.rollout, NULL, have.x0, x0, &e), &e, CAROM_INVALID_DATA,
            "initial state of sample 1 is not finite at coordinate 1");
  }
  refused(carom_model_predict(have.model, BATCH, INT_MAX, have.x0, have.v0, have.x, have.v, NULL,
                              NULL, &e),
          &e, CAROM_INVALID_ARGUMENT, "steps is 2147483647");
}

/* ---- enums ----------------------------------------------------------------------------------- */

static carom_run_config some_config(void) {
  return (carom_run_config){.scene = (char *)carom_system_describe(have.system).json,
                            .data = (char *)"data.h5",
                            .model = small_model_options(),
                            .train = small_trainer_options(),
                            .dataset = small_dataset_options()};
}

static void refuse_config(const carom_run_config *config, const char *piece) {
  carom_error e;
  const carom_run_config good = some_config();
  refused(carom_run_config_write(config, "o.json", &e), &e, CAROM_INVALID_ARGUMENT, piece);
  assert_true(carom_run_config_differs(&good, config, NULL));
}

static void configurations(void **state) {
  (void)state;
  static const int values[] = {55, -1};
  for (int k = 0; k < COUNT(values); k++) {
    carom_run_config c = some_config();
    c.model.contact = (carom_contact_model)values[k];
    refuse_config(&c, "options.contact is");
    assert_string_equal(carom_model_options_name(&c.model), "");
    c = some_config();
    c.train.schedule = (carom_schedule)values[k];
    refuse_config(&c, "options.schedule is");
    c = some_config();
    c.dataset.velocity = (carom_velocity)values[k];
    refuse_config(&c, "options.velocity is");
    c = some_config();
    c.data_contact = (carom_contact_model)values[k];
    refuse_config(&c, "data_contact is");
  }
  carom_run_config c = some_config();
  c.train.learning_rate = NAN;
  refuse_config(&c, "options.learning_rate is nan");
  c = some_config();
  c.data = NULL;
  refuse_config(&c, "config->data is NULL");
}

static void text_of_no_value(void **state) {
  (void)state;
  carom_error e;
  char text[64];
  carom_trainer_options options = small_trainer_options();
  options.schedule = (carom_schedule)55;
  refused(carom_option_get(CAROM_TRAINER_OPTIONS, &options, "schedule", text, sizeof text, &e), &e,
          CAROM_INVALID_ARGUMENT, "options.schedule is 55, must be one of constant, cosine");
}

// threads beyond all measure are as many as there may be
static void threads_of_a_model(void **state) {
  (void)state;
  carom_model_set_threads(have.model, INT_MAX);
  const int most = carom_model_describe(have.model).options.threads;
  const carom_model_options options = carom_model_describe(have.model).options;
  assert_true(most > 0);
  assert_int_equal(carom_model_options_check(&options, have.system, NULL), CAROM_OK);
  carom_model_set_threads(have.model, -5);
  assert_int_equal(carom_model_describe(have.model).options.threads, 0);
  carom_model_set_threads(have.model, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(states),
      cmocka_unit_test(trajectories),
      cmocka_unit_test(programs),
      cmocka_unit_test(partial_trajectories),
      cmocka_unit_test(gradients),
      cmocka_unit_test(controls),
      cmocka_unit_test(datasets),
      cmocka_unit_test(initial_states),
      cmocka_unit_test(configurations),
      cmocka_unit_test(text_of_no_value),
      cmocka_unit_test(threads_of_a_model),
  };
  return cmocka_run_group_tests(tests, prepare, put_away);
}
