/* Rollouts as a user of the library meets them: the same bits from any number of threads, no
 * allocation once warm, errors, interruption, counters. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "rollout/rollout.h"
#include "support/messages.h"
#include "support/quick.h"
#include "support/systems.h"

typedef struct batch {
  carom_system *system;
  carom_system_info info;
  int count, size; /* samples, coordinates of a state */
  double *x0, *v0;
} batch;

static void batch_open(batch *b, const char *scene, int count) {
  carom_error error;
  b->system = load_system(scene);
  b->info = carom_system_describe(b->system);
  b->count = count;
  b->size = b->info.point_count * b->info.dimension;
  b->x0 = malloc(sizeof(double) * (size_t)(count * b->size));
  b->v0 = malloc(sizeof(double) * (size_t)(count * b->size));
  if (carom_system_sample(b->system, 42, count, b->x0, b->v0, &error) != CAROM_OK)
    fail_msg("%s", error.message);
}

static void batch_close(batch *b) {
  carom_system_destroy(b->system);
  free(b->x0);
  free(b->v0);
}

static carom_rollout *make_rollout(const batch *b, const carom_rollout_options *options) {
  carom_rollout *rollout;
  carom_error error;
  if (carom_rollout_create(b->system, options, b->count, &rollout, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  return rollout;
}

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * 0x100000001B3u;
  return hash;
}

/* Hash of everything that a run and its derivative give. */
static uint64_t hash_of_run(const batch *b, int threads, carom_contact_model contact_model) {
  carom_rollout_options options = carom_rollout_default_options(b->system);
  carom_error error;
  options.threads = threads;
  options.contact = contact_model;
  options.steps = options.steps < 100 ? options.steps : 100;
  carom_rollout *rollout = make_rollout(b, &options);
  if (carom_rollout_run(rollout, NULL, b->x0, b->v0, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  size_t numbers = (size_t)b->count * (size_t)(options.steps + 1) * (size_t)b->size;
  size_t state = sizeof(double) * (size_t)(b->count * b->size);
  size_t parameters = sizeof(double) * (size_t)carom_parameters_count(b->system);
  double *x0_bar = malloc(state), *v0_bar = malloc(state), *theta_bar = malloc(parameters);
  // the loss 1/2 (|x|^2 + |v|^2) of the whole trajectory
  assert_int_equal(
      carom_rollout_vjp(rollout, carom_rollout_positions(rollout),
                        carom_rollout_velocities(rollout), x0_bar, v0_bar, theta_bar, &error),
      CAROM_OK);
  uint64_t hash = 0xCBF29CE484222325u;
  hash = hash_bytes(hash, carom_rollout_positions(rollout), sizeof(double) * numbers);
  hash = hash_bytes(hash, carom_rollout_velocities(rollout), sizeof(double) * numbers);
  hash = hash_bytes(hash, x0_bar, state);
  hash = hash_bytes(hash, v0_bar, state);
  hash = hash_bytes(hash, theta_bar, parameters);
  free(x0_bar);
  free(v0_bar);
  free(theta_bar);
  carom_rollout_destroy(rollout);
  return hash;
}

static const char *const scenes[] = {"bp5-e",  "bp5",  "bd5",  "cp3-e", "cp3",
                                     "gyro-e", "gyro", "rope", "bd1"};
enum { SCENE_COUNT = sizeof scenes / sizeof scenes[0] };

static void test_same_bits_from_any_threads(void **state) {
  (void)state;
  for (int k = 0; k < SCENE_COUNT; k++) {
    batch b;
    batch_open(&b, scenes[k], quick() ? 13 : 37);
    for (int contact_model = 0; contact_model < 2; contact_model++) {
      uint64_t one = hash_of_run(&b, 1, (carom_contact_model)contact_model);
      assert_true(one == hash_of_run(&b, 1, (carom_contact_model)contact_model));
      assert_true(one == hash_of_run(&b, 2, (carom_contact_model)contact_model));
      assert_true(one == hash_of_run(&b, 4, (carom_contact_model)contact_model));
    }
    batch_close(&b);
  }
}

/* A second pass over the same work asks no memory of the system. */
static void test_no_allocation_once_warm(void **state) {
  (void)state;
  for (int k = 0; k < SCENE_COUNT; k++) {
    batch b;
    batch_open(&b, scenes[k], 8);
    carom_rollout_options options = carom_rollout_default_options(b.system);
    carom_error error;
    options.threads = 1;
    carom_rollout *rollout = make_rollout(&b, &options);
    long before = 0;
    for (int pass = 0; pass < 3; pass++) {
      assert_int_equal(carom_rollout_run(rollout, NULL, b.x0, b.v0, &error), CAROM_OK);
      assert_int_equal(carom_rollout_vjp(rollout, carom_rollout_positions(rollout), NULL, NULL,
                                         NULL, NULL, &error),
                       CAROM_OK);
      if (pass > 0) assert_int_equal(rollout_allocations(rollout), before);
      before = rollout_allocations(rollout);
    }
    assert_true(before > 0);
    assert_true(carom_rollout_report(rollout).events > 0);
    carom_rollout_destroy(rollout);
    batch_close(&b);
  }
}

/* The first samples alone are what they are among all, and nothing of the others is touched. */
static void test_first_samples_alone(void **state) {
  (void)state;
  enum { ALL = 7, SOME = 2 };
  batch b;
  batch_open(&b, "bp5", ALL);
  carom_rollout_options options = carom_rollout_default_options(b.system);
  options.shard_size = 1;
  options.steps = 40;
  carom_rollout *whole = make_rollout(&b, &options), *some = make_rollout(&b, &options);
  const size_t row = sizeof(double) * (size_t)b.size;
  double *bars[2];
  for (int k = 0; k < 2; k++) {
    carom_rollout *r = k == 0 ? whole : some;
    bars[k] = malloc(ALL * row);
    for (int i = 0; i < ALL * b.size; i++) bars[k][i] = -1;
    if (k == 1) rollout_use_first(r, SOME);
    assert_int_equal(carom_rollout_run(r, NULL, b.x0, b.v0, NULL), CAROM_OK);
    assert_int_equal(
        carom_rollout_vjp(r, carom_rollout_positions(r), NULL, bars[k], NULL, NULL, NULL),
        CAROM_OK);
  }
  assert_memory_equal(carom_rollout_positions(some), carom_rollout_positions(whole),
                      SOME * 41 * row);
  assert_memory_equal(bars[1], bars[0], SOME * row);
  for (int i = SOME * b.size; i < ALL * b.size; i++) assert_true(bars[1][i] == -1);
  assert_true(carom_rollout_report(some).time_steps == SOME * 40);
  // and all again
  rollout_use_first(some, ALL);
  assert_int_equal(carom_rollout_run(some, NULL, b.x0, b.v0, NULL), CAROM_OK);
  assert_memory_equal(carom_rollout_positions(some), carom_rollout_positions(whole),
                      ALL * 41 * row);
  free(bars[0]);
  free(bars[1]);
  carom_rollout_destroy(whole);
  carom_rollout_destroy(some);
  batch_close(&b);
}

/* carom_system_simulate gives what a rollout gives, and every sample what it gives alone. */
static void test_simulate_agrees_with_rollout(void **state) {
  (void)state;
  batch b;
  batch_open(&b, "bd5", 11);
  carom_rollout_options options = carom_rollout_default_options(b.system);
  carom_error error;
  size_t numbers = (size_t)(b.count * b.size * (options.steps + 1));
  double *x = malloc(sizeof(double) * numbers), *v = malloc(sizeof(double) * numbers);
  uint8_t *contacts = malloc((size_t)(b.count * (options.steps + 1)));
  carom_report report;
  assert_int_equal(carom_system_simulate(b.system, &options, NULL, b.count, b.x0, b.v0, x, v,
                                         contacts, &report, &error),
                   CAROM_OK);
  carom_rollout *rollout = make_rollout(&b, &options);
  assert_int_equal(carom_rollout_run(rollout, NULL, b.x0, b.v0, &error), CAROM_OK);
  assert_memory_equal(x, carom_rollout_positions(rollout), sizeof(double) * numbers);
  assert_memory_equal(v, carom_rollout_velocities(rollout), sizeof(double) * numbers);
  assert_memory_equal(contacts, carom_rollout_contacts(rollout),
                      (size_t)(b.count * (options.steps + 1)));

  // counters and flags agree
  int64_t events = 0;
  for (int i = 0; i < b.count * (options.steps + 1); i++) events += contacts[i];
  assert_int_equal(report.events, events);
  assert_int_equal(report.time_steps, b.count * options.steps);
  assert_int_equal(report.failed_programs, 0);

  // a sample alone
  int last = b.count - 1, state_size = b.size * (options.steps + 1);
  double *alone_x = malloc(sizeof(double) * (size_t)state_size);
  double *alone_v = malloc(sizeof(double) * (size_t)state_size);
  assert_int_equal(
      carom_system_simulate(b.system, &options, NULL, 1, b.x0 + last * b.size, b.v0 + last * b.size,
                            alone_x, alone_v, NULL, NULL, &error),
      CAROM_OK);
  assert_memory_equal(alone_x, x + last * state_size, sizeof(double) * (size_t)state_size);
  carom_rollout_destroy(rollout);
  free(alone_x);
  free(alone_v);
  free(x);
  free(v);
  free(contacts);
  batch_close(&b);
}

/* ---- errors ------------------------------------------------------------------------------------ */

static void expect(carom_status status, const carom_error *error, carom_status wanted,
                   const char *part) {
  assert_int_equal(status, wanted);
  assert_message(error, wanted, part);
}

static void test_bad_calls(void **state) {
  (void)state;
  batch b;
  batch_open(&b, "cp3", 2);
  carom_rollout_options good = carom_rollout_default_options(b.system), bad;
  carom_error error;
  carom_rollout *rollout = NULL;
  expect(carom_rollout_create(NULL, &good, 1, &rollout, &error), &error, CAROM_INVALID_ARGUMENT,
         "NULL");
  expect(carom_rollout_create(b.system, &good, 0, &rollout, &error), &error, CAROM_INVALID_ARGUMENT,
         "batch is 0");
  bad = good, bad.dt = NAN;
  expect(carom_rollout_create(b.system, &bad, 1, &rollout, &error), &error, CAROM_INVALID_ARGUMENT,
         "options.dt");
  bad = good, bad.substeps = 0;
  expect(carom_rollout_create(b.system, &bad, 1, &rollout, &error), &error, CAROM_INVALID_ARGUMENT,
         "options.substeps");
  bad = good, bad.cone.tolerance = 0;
  expect(carom_rollout_create(b.system, &bad, 1, &rollout, &error), &error, CAROM_INVALID_ARGUMENT,
         "options.cone");

  bad = good, bad.integrator = (carom_integrator)55;
  expect(carom_rollout_create(b.system, &bad, 1, &rollout, &error), &error, CAROM_INVALID_ARGUMENT,
         "options.integrator is 55");
  bad = good, bad.dynamics = (carom_dynamics)2;
  expect(carom_rollout_create(b.system, &bad, 1, &rollout, &error), &error, CAROM_INVALID_ARGUMENT,
         "options.dynamics is 2");
  bad = good, bad.contact = (carom_contact_model)9;
  expect(carom_rollout_create(b.system, &bad, 1, &rollout, &error), &error, CAROM_INVALID_ARGUMENT,
         "options.contact is 9");

  // a derivative before a run
  rollout = make_rollout(&b, &good);
  expect(carom_rollout_vjp(rollout, NULL, NULL, NULL, NULL, NULL, &error), &error,
         CAROM_INVALID_ARGUMENT, "no finished run");

  // bad numbers
  double *theta = malloc(sizeof(double) * (size_t)carom_parameters_count(b.system));
  carom_parameters_default(b.system, theta);
  theta[carom_parameters_segment(b.system, CAROM_FRICTION).offset] = -1;
  expect(carom_rollout_run(rollout, theta, b.x0, b.v0, &error), &error, CAROM_INVALID_ARGUMENT,
         "friction");
  b.x0[b.size + 3] = NAN;
  expect(carom_rollout_run(rollout, NULL, b.x0, b.v0, &error), &error, CAROM_INVALID_DATA,
         "sample 1");
  free(theta);
  carom_rollout_destroy(rollout);
  batch_close(&b);
}

/* Numbers of a shard are counted by int: of a system with many coordinates fewer samples go into one. */
static void test_shards_of_large_systems(void **state) {
  (void)state;
  static const char rope[] =
      "{\"carom\": 1, \"name\": \"long rope\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 1,"
      "\"chains\": [{\"id\": \"rope\", \"points\": 4200, \"mass\": 0.1, \"length\": 0.05,"
      "\"anchor\": [0, 0], \"stiffness\": 50}],"
      "\"contacts\": {\"friction\": 0, \"restitution\": 0},"
      "\"initial\": {\"sampler\": \"chain\", \"angle\": [0, 1], \"bend\": 0.3, \"rate\": 1}}";
  carom_system *system = parse_system(rope);
  carom_rollout_options options = carom_rollout_default_options(system);
  options.shard_size = 1 << 16;
  options.threads = 1;
  carom_error error;
  carom_rollout *rollout;
  expect(carom_rollout_create(system, &options, 1 << 16, &rollout, &error), &error,
         CAROM_INVALID_ARGUMENT,
         "options.shard_size is 65536; with 8400 coordinates of a state at most 63913 samples");
  // fewer samples make smaller shards
  assert_int_equal(carom_rollout_create(system, &options, 1, &rollout, &error), CAROM_OK);
  carom_rollout_destroy(rollout);
  carom_system_destroy(system);
}

/* A step far too large for the system's springs ends in a message, not in NaN. */
static void test_divergence_is_reported(void **state) {
  (void)state;
  batch b;
  batch_open(&b, "rope", 1);
  carom_rollout_options options = carom_rollout_default_options(b.system);
  options.dt = 5;
  options.steps = 400;
  carom_error error;
  carom_rollout *rollout = make_rollout(&b, &options);
  expect(carom_rollout_run(rollout, NULL, b.x0, b.v0, &error), &error, CAROM_NUMERICAL_FAILURE,
         "non-finite at step");
  expect(carom_rollout_vjp(rollout, NULL, NULL, NULL, NULL, NULL, &error), &error,
         CAROM_INVALID_ARGUMENT, "no finished run");
  carom_rollout_destroy(rollout);
  batch_close(&b);
}

/* The derivative is that of the last run, whatever the caller has done with its arrays since. */
static void test_inputs_may_change_after_a_run(void **state) {
  (void)state;
  batch b;
  batch_open(&b, "bd5", 5);
  carom_rollout_options options = carom_rollout_default_options(b.system);
  carom_error error;
  size_t parameters = (size_t)carom_parameters_count(b.system);
  size_t states = (size_t)(b.count * b.size);
  double *theta = malloc(sizeof(double) * parameters), *bars[2], *x0_bars[2];
  for (int pass = 0; pass < 2; pass++) {
    bars[pass] = malloc(sizeof(double) * parameters);
    x0_bars[pass] = malloc(sizeof(double) * states);
  }
  carom_parameters_default(b.system, theta);
  carom_rollout *rollout = make_rollout(&b, &options);
  assert_int_equal(carom_rollout_run_count(rollout), 0);
  for (int pass = 0; pass < 2; pass++) {
    assert_int_equal(carom_rollout_run(rollout, theta, b.x0, b.v0, &error), CAROM_OK);
    assert_int_equal(carom_rollout_run_count(rollout), pass + 1);
    for (size_t i = 0; pass == 1 && i < states; i++) b.x0[i] = b.v0[i] = NAN;
    for (size_t i = 0; pass == 1 && i < parameters; i++) theta[i] = NAN;
    assert_int_equal(carom_rollout_vjp(rollout, carom_rollout_positions(rollout), NULL,
                                       x0_bars[pass], NULL, bars[pass], &error),
                     CAROM_OK);
  }
  assert_memory_equal(bars[0], bars[1], sizeof(double) * parameters);
  assert_memory_equal(x0_bars[0], x0_bars[1], sizeof(double) * states);

  // a run that is refused leaves nothing to differentiate
  expect(carom_rollout_run(rollout, theta, b.x0, b.v0, &error), &error, CAROM_INVALID_ARGUMENT,
         "log_mass");
  expect(carom_rollout_vjp(rollout, NULL, NULL, NULL, NULL, NULL, &error), &error,
         CAROM_INVALID_ARGUMENT, "no finished run");
  assert_int_equal(carom_rollout_run_count(rollout), 2);
  for (int pass = 0; pass < 2; pass++) {
    free(bars[pass]);
    free(x0_bars[pass]);
  }
  free(theta);
  carom_rollout_destroy(rollout);
  batch_close(&b);
}

static bool stop_at_half(void *user, int64_t done, int64_t total) {
  *(int64_t *)user = done;
  return 2 * done < total;
}

static void test_progress_can_stop(void **state) {
  (void)state;
  batch b;
  batch_open(&b, "bp5", 32);
  carom_rollout_options options = carom_rollout_default_options(b.system);
  int64_t done = 0;
  options.progress = stop_at_half;
  options.progress_user = &done;
  carom_error error;
  carom_rollout *rollout = make_rollout(&b, &options);
  expect(carom_rollout_run(rollout, NULL, b.x0, b.v0, &error), &error, CAROM_INTERRUPTED,
         "stopped");
  assert_true(2 * done >= (int64_t)b.count * options.steps);
  carom_rollout_destroy(rollout);
  batch_close(&b);
}

/* A program that cannot be solved is counted, kept and can be replayed: a gyroscope whose start moves
 * its own joint has contact velocities outside the range of A, and friction beyond that of any
 * material cannot hold them. */
static void test_failures_are_kept(void **state) {
  (void)state;
  batch b;
  batch_open(&b, "gyro", 16);
  carom_rollout_options options = carom_rollout_default_options(b.system);
  double *theta = malloc(sizeof(double) * (size_t)carom_parameters_count(b.system));
  carom_parameters_default(b.system, theta);
  theta[carom_parameters_segment(b.system, CAROM_FRICTION).offset] = 10;
  for (int i = 0; i < b.count * b.size; i++) b.v0[i] += 0.05 * sin(i);
  carom_error error;
  carom_rollout *rollout = make_rollout(&b, &options);
  assert_int_equal(carom_rollout_run(rollout, theta, b.x0, b.v0, &error), CAROM_OK);
  carom_report report = carom_rollout_report(rollout);
  assert_true(report.failed_programs > 0);
  int kept = carom_rollout_failure_count(rollout);
  assert_int_equal(kept, report.failed_programs < 16 ? (int)report.failed_programs : 16);

  // the copy alone fails for the same reason
  carom_cone_program program = carom_rollout_failure(rollout, kept - 1);
  assert_int_equal(program.contact_count, 1);
  carom_cone_solver *solver;
  carom_cone_options cone = carom_cone_default_options();
  carom_cone_info info;
  double f[3];
  assert_int_equal(carom_cone_solver_create(&solver, &error), CAROM_OK);
  assert_int_equal(carom_cone_solver_solve(solver, &program, &cone, f, &info, &error), CAROM_OK);
  assert_int_equal(info.status, CAROM_CONE_UNBOUNDED);
  carom_cone_solver_destroy(solver);
  carom_rollout_destroy(rollout);
  free(theta);
  batch_close(&b);
}

/* Programs that end above the tolerance are failures: smoothed ones cannot reach one below rounding. */
static void test_inaccurate_programs_are_counted(void **state) {
  (void)state;
  batch b;
  batch_open(&b, "bd5", 4);
  carom_rollout_options options = carom_rollout_default_options(b.system);
  options.cone.smoothing = 1e-3;
  carom_error error;
  for (int strict = 0; strict < 2; strict++) {
    if (strict) options.cone.tolerance = 1e-30;
    carom_rollout *rollout = make_rollout(&b, &options);
    assert_int_equal(carom_rollout_run(rollout, NULL, b.x0, b.v0, &error), CAROM_OK);
    carom_report report = carom_rollout_report(rollout);
    assert_true(report.programs > 0);
    assert_int_equal(report.failed_programs, strict ? report.programs : 0);
    carom_rollout_destroy(rollout);
  }
  batch_close(&b);
}

/* Runs that diverge as they are, at step 2937 and 5038: put on the constraints after each time step they
 * hold them, and energy stays near what it was. */
static void test_stabilized_runs_hold(void **state) {
  (void)state;
  const char *const unstable[] = {"cp3-e", "gyro-e"};
  for (int k = 0; k < 2; k++) {
    carom_error error;
    carom_report report;
    carom_system *system = load_system(unstable[k]);
    carom_rollout_options options = carom_rollout_default_options(system);
    const carom_system_info info = carom_system_describe(system);
    options.steps = 6000;
    const size_t size = (size_t)(info.point_count * info.dimension), states = 6001;
    double *x0 = malloc(sizeof(double) * 2 * size), *v0 = x0 + size;
    double *x = malloc(sizeof(double) * 2 * size * states), *v = x + size * states;
    assert_int_equal(carom_system_sample(system, 0, 1, x0, v0, &error), CAROM_OK);
    assert_int_equal(
        carom_system_simulate(system, &options, NULL, 1, x0, v0, x, v, NULL, NULL, &error),
        CAROM_NUMERICAL_FAILURE);

    options.stabilize = true;
    assert_int_equal(
        carom_system_simulate(system, &options, NULL, 1, x0, v0, x, v, NULL, &report, &error),
        CAROM_OK);
    assert_int_equal(report.failed_projections, 0);
    if (carom_system_check_states(system, (int)states, x, v, 1e-11, &error) != CAROM_OK)
      fail_msg("%s", error.message);
    double energy[2][2];
    for (size_t i = 0; i < 2; i++)
      carom_system_energy(system, NULL, x + 6000 * i * size, v + 6000 * i * size, &energy[i][0],
                          &energy[i][1], &error);
    assert_near(energy[1][0] + energy[1][1], energy[0][0] + energy[0][1], 0.2);
    free(x);
    free(x0);
    carom_system_destroy(system);
  }
}

/* What a scene says of its simulation is the default of a rollout. */
static void test_options_of_the_scene(void **state) {
  (void)state;
  const char text[] =
      "{\"carom\": 1, \"name\": \"a\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 1, "
      "\"stabilize\": true,"
      " \"bodies\": [{\"id\": \"a\", \"type\": \"point\", \"mass\": 1, \"radius\": 0.1}],"
      " \"planes\": [{\"id\": \"g\", \"normal\": [0, 1], \"offset\": 0}],"
      " \"contacts\": {\"law\": \"coulomb\", \"hold\": true},"
      " \"initial\": {\"sampler\": \"state\", \"bodies\": [{\"body\": \"a\", \"position\": [0, "
      "1]}]}}";
  carom_system *system = parse_system(text), *plain = load_system("bd1");
  carom_rollout_options said = carom_rollout_default_options(system);
  carom_rollout_options silent = carom_rollout_default_options(plain);
  assert_true(said.stabilize && said.hold_contacts && said.friction == CAROM_COULOMB_FRICTION);
  assert_true(!silent.stabilize && !silent.hold_contacts);
  assert_int_equal(silent.friction, CAROM_CONVEX_FRICTION);
  carom_system_destroy(system);
  carom_system_destroy(plain);
}

/* The least time steps: none. */
static void test_zero_steps(void **state) {
  (void)state;
  batch b;
  batch_open(&b, "gyro", 3);
  carom_rollout_options options = carom_rollout_default_options(b.system);
  options.steps = 0;
  carom_error error;
  carom_rollout *rollout = make_rollout(&b, &options);
  assert_int_equal(carom_rollout_run(rollout, NULL, b.x0, b.v0, &error), CAROM_OK);
  double *x0_bar = malloc(sizeof(double) * (size_t)(3 * b.size));
  assert_int_equal(carom_rollout_vjp(rollout, b.x0, NULL, x0_bar, NULL, NULL, &error), CAROM_OK);
  assert_memory_equal(x0_bar, b.x0, sizeof(double) * (size_t)(3 * b.size));
  free(x0_bar);
  carom_rollout_destroy(rollout);
  batch_close(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_bits_from_any_threads),
      cmocka_unit_test(test_no_allocation_once_warm),
      cmocka_unit_test(test_first_samples_alone),
      cmocka_unit_test(test_simulate_agrees_with_rollout),
      cmocka_unit_test(test_bad_calls),
      cmocka_unit_test(test_shards_of_large_systems),
      cmocka_unit_test(test_divergence_is_reported),
      cmocka_unit_test(test_inputs_may_change_after_a_run),
      cmocka_unit_test(test_progress_can_stop),
      cmocka_unit_test(test_failures_are_kept),
      cmocka_unit_test(test_inaccurate_programs_are_counted),
      cmocka_unit_test(test_stabilized_runs_hold),
      cmocka_unit_test(test_options_of_the_scene),
      cmocka_unit_test(test_zero_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
