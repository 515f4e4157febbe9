/* Fits of states that were measured at unequal time steps: motion and derivatives over steps of any
 * length, exact data recovered, predictions, files, bad times refused. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "fit/fit.h"
#include "fit/flight.h"
#include "fit/population.h"
#include "rollout/rollout.h"
#include "support/fitting.h"
#include "support/messages.h"
#include "support/systems.h"

static const char *const BOX = CAROM_TEST_DATA "/rounded-box.json";

/* ---- motion over steps of their own lengths -------------------------------------------------- */

// the last state of a motion in steps that grow, beside that of many equal ones
static void check_motion(const char *scene, double tolerance) {
  enum { COUNT = 3, STEPS = 12, EACH = 78 /* 1 + 2 + ... */ };
  carom_system *system = load_system(scene);
  const carom_system_info info = carom_system_describe(system);
  const size_t size = (size_t)(info.point_count * info.dimension);
  carom_rollout_options how = carom_rollout_default_options(system);
  how.contact_time = CAROM_CONTACT_TIME_EVENT;
  how.shard_size = 1;
  double lengths[COUNT * STEPS], *x0 = calloc(2 * COUNT * size, sizeof(double)),
                                 *v0 = x0 + COUNT * size;
  double *x = calloc(2 * COUNT * (EACH + 1) * size, sizeof(double)),
         *v = x + COUNT * (EACH + 1) * size,
         *own = calloc(2 * COUNT * (STEPS + 1) * size, sizeof(double)),
         *own_v = own + COUNT * (STEPS + 1) * size;
  assert_int_equal(carom_system_sample(system, 4, COUNT, x0, v0, NULL), CAROM_OK);
  const double dt = info.dt / 8;
  for (int i = 0; i < COUNT; i++) // each sample has its lengths in another order
    for (int k = 0; k < STEPS; k++) lengths[i * STEPS + k] = dt * (1 + (k + 5 * i) % STEPS);
  how.steps = STEPS;
  assert_int_equal(
      rollout_simulate(system, &how, lengths, NULL, COUNT, x0, v0, own, own_v, NULL, NULL, NULL),
      CAROM_OK);
  how.steps = EACH;
  how.dt = dt;
  assert_int_equal(carom_system_simulate(system, &how, NULL, COUNT, x0, v0, x, v, NULL, NULL, NULL),
                   CAROM_OK);
  for (size_t i = 0; i < COUNT; i++)
    for (size_t c = 0; c < size; c++) {
      assert_near(own[(i * (STEPS + 1) + STEPS) * size + c], x[(i * (EACH + 1) + EACH) * size + c],
                  tolerance);
      assert_near(own_v[(i * (STEPS + 1) + STEPS) * size + c],
                  v[(i * (EACH + 1) + EACH) * size + c], 100 * tolerance);
    }
  free(x0);
  free(x);
  free(own);
  carom_system_destroy(system);
}

static void test_motion(void **state) {
  (void)state;
  check_motion("bp5-e", 1e-11);
  check_motion("bd1", 1e-7); // Runge-Kutta over longer steps
}

/* Steps that are all of one length, not that of the options, are those of options with that length,
 * to the bit: contacts that stick, overlaps that are undone by a velocity and impacts know it, too.
 */
static void check_length(const char *scene, carom_contact_time when,
                         carom_compensation how_undone) {
  enum { COUNT = 4, STEPS = 150 };
  carom_system *system = load_system(scene);
  const carom_system_info info = carom_system_describe(system);
  const size_t size = (size_t)(info.point_count * info.dimension), all = COUNT * (STEPS + 1) * size;
  carom_rollout_options how = carom_rollout_default_options(system);
  how.contact_time = when;
  how.compensation = how_undone;
  how.hold_contacts = true;
  how.shard_size = 1;
  how.steps = STEPS;
  double lengths[COUNT * STEPS], *x0 = calloc(2 * COUNT * size, sizeof(double)),
                                 *v0 = x0 + COUNT * size;
  double *x = calloc(4 * all, sizeof(double)), *v = x + all, *own = v + all, *own_v = own + all;
  uint8_t contacts[COUNT * (STEPS + 1)];
  assert_int_equal(carom_system_sample(system, 6, COUNT, x0, v0, NULL), CAROM_OK);
  for (int k = 0; k < COUNT * STEPS; k++) lengths[k] = 0.7 * info.dt;
  assert_int_equal(
      rollout_simulate(system, &how, lengths, NULL, COUNT, x0, v0, own, own_v, NULL, NULL, NULL),
      CAROM_OK);
  how.dt = 0.7 * info.dt;
  assert_int_equal(
      carom_system_simulate(system, &how, NULL, COUNT, x0, v0, x, v, contacts, NULL, NULL),
      CAROM_OK);
  int touched = 0;
  for (int k = 0; k < COUNT * (STEPS + 1); k++) touched += contacts[k];
  assert_true(touched > 2);
  assert_memory_equal(own, x, sizeof(double) * all);
  assert_memory_equal(own_v, v, sizeof(double) * all);
  free(x0);
  free(x);
  carom_system_destroy(system);
}

static void test_length(void **state) {
  (void)state;
  check_length("bd1", CAROM_CONTACT_TIME_STEP, CAROM_COMPENSATION_PAPER);
  check_length("cp3", CAROM_CONTACT_TIME_STEP, CAROM_COMPENSATION_POSITION);
  check_length("bd1", CAROM_CONTACT_TIME_EVENT, CAROM_COMPENSATION_POSITION);
  check_length("cp3", CAROM_CONTACT_TIME_EVENT, CAROM_COMPENSATION_POSITION);
}

/* ---- derivatives ----------------------------------------------------------------------------- */

static void check_gradient(const char *scene, const char *unknowns, bool free_states) {
  simulated s = simulate_uneven(scene, 2, 12, 9);
  carom_fit_options options = fit_one_thread();
  options.piece = 4;
  options.huber = 0;
  options.project = true;
  carom_fit *fit = fit_make(&s, unknowns, &options);
  assert_non_null(fit->shooting.times);
  fit_check_gradient(fit, free_states);
  carom_fit_destroy(fit);
  simulated_free(&s);
}

static void test_gradients(void **state) {
  (void)state;
  check_gradient("bd1", "moment,gravity,friction,scale", true);
  check_gradient("bp5", "friction:shared,restitution:shared,mass[b]", true);
  check_gradient("cp3", "friction,mass[b],gravity", false);
  check_gradient(BOX, "corner[box]:shared,radius,angular_drag", true);
}

/* A ball that falls for 0.3 s and bounces, measured 10 us before and after the impact and at other
 * times, predicted 20 us early or late: the impact passes a measured time, and the cost has no jump
 * there, as a state may take the other side of it. */
static void test_sides(void **state) {
  (void)state;
  enum { STATES = 6 };
  const double G = 10, FALL = 0.3, NEAR = 1e-5, E = 0.5, V = G * FALL;
  carom_system *system = parse_system(
      "{\"carom\": 1, \"name\": \"ball\", \"dimension\": 2, \"dt\": 0.1, \"steps\": 9,"
      "\"gravity\": [0, -10], \"bodies\": [{\"id\": \"a\", \"type\": \"point\", \"mass\": 1,"
      " \"radius\": 0.1}], \"planes\": [{\"id\": \"ground\", \"normal\": [0, 1], \"offset\": 0}],"
      "\"contacts\": {\"friction\": 0, \"restitution\": 0.5, \"time\": \"event\"},"
      "\"initial\": {\"sampler\": \"box\", \"low\": [0, 1], \"high\": [2, 2], \"speed\": 1}}");
  for (int late = 0; late < 2; late++) {
    double times[STATES] = {0, 0.11, 0.26, FALL + (late ? NEAR : -NEAR), 0.33, 0.46};
    double x[STATES * 2] = {0}, v[STATES * 2] = {0};
    for (int k = 0; k < STATES; k++) {
      const double t = times[k], up = t - FALL;
      x[2 * k + 1] = 0.1 + (up < 0 ? G / 2 * (FALL * FALL - t * t) : E * V * up - G / 2 * up * up);
      v[2 * k + 1] = up < 0 ? -G * t : E * V - G * up;
    }
    const carom_trajectories data = {.batch = 1,
                                     .state_count = STATES,
                                     .point_count = 1,
                                     .dimension = 2,
                                     .dt = 0.1,
                                     .x = x,
                                     .v = v,
                                     .times = times};
    const carom_rollout_options how = carom_rollout_default_options(system);
    carom_fit_options options = fit_one_thread();
    options.piece = 100;
    options.huber = 0;
    carom_fit *fit;
    assert_int_equal(carom_fit_create(system, &data, "gravity", &how, &options, &fit, NULL),
                     CAROM_OK);
    shooting *sh = &fit->shooting;
    minimiser *m = &fit->minimiser;
    for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) sh->noise[c] = 1e-3;
    assert_int_equal(shooting_recut(sh, 100, NULL), CAROM_OK);
    sh->free_states = true;
    const double early = late ? -2 * NEAR : 2 * NEAR;
    const double start[] = {0, x[1] - G / 2 * early * early, 0, -G * early};
    memcpy(m->starts, start, sizeof start);
    // six states off by a fiftieth of a deviation in place, a fifth in velocity
    assert_true(fit_cost_at(sh, m->q, m->starts) < 0.3);
    const double strict[] = {1};
    sh->strict = strict;
    assert_true(fit_cost_at(sh, m->q, m->starts) > 1e5);
    carom_fit_destroy(fit);
  }
  carom_system_destroy(system);
}

/* A population finds a first state of balls that collide, far from where it is looked for, as the
 * rest of a fit sees it. */
static void test_population(void **state) {
  (void)state;
  simulated s = simulate_uneven("bp5", 1, 20, 8);
  carom_fit_options options = fit_one_thread();
  options.piece = 100;
  options.huber = 0;
  carom_fit *fit = fit_make(&s, "mass[b]", &options);
  shooting *sh = &fit->shooting;
  minimiser *m = &fit->minimiser;
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) sh->noise[c] = 0.01;
  assert_int_equal(shooting_recut(sh, 100, NULL), CAROM_OK);
  sh->free_states = true;
  shooting_measured_starts(sh, m->q, m->starts);
  rng random;
  rng_seed(&random, 3, 3);
  for (int i = 0; i < 2 * sh->D; i++) m->starts[i] += 0.03 * rng_normal(&random);
  bool moved = false;
  assert_true(fit_cost_at(sh, m->q, m->starts) > 100);
  assert_int_equal(population_search(m, -INFINITY, 0, &moved, NULL), CAROM_OK);
  assert_true(moved);
  assert_true(fit_cost_at(sh, m->q, m->starts) < 1);
  carom_fit_destroy(fit);
  simulated_free(&s);
}

/* ---- exact data ------------------------------------------------------------------------------ */

static void check_exact(const char *scene, const char *unknowns, int count, int states,
                        bool positions_alone, double tolerance) {
  simulated s = simulate_uneven(scene, count, states, 3);
  carom_fit_options options = fit_one_thread();
  options.project = true;
  if (positions_alone) {
    free(s.data.v);
    s.data.v = NULL;
  }
  carom_fit *fit = fit_make(&s, unknowns, &options);
  const carom_fit_result *r = fit_run(fit);
  for (int i = 0; i < r->estimate_count; i++) {
    const carom_fit_estimate *e = &r->estimates[i];
    assert_true(e->determined);
    if (!(fabs(e->value - e->scene) <= tolerance * fmax(1, fabs(e->scene))))
      fail_msg("%s: %s is %.12g, not %.12g", scene, e->name, e->value, e->scene);
  }
  carom_fit_destroy(fit);
  simulated_free(&s);
}

static void test_exact(void **state) {
  (void)state;
  check_exact("bp5-e", "friction[c-d]:start=0.3,restitution[c-d]:start=0.6,mass[b]:start=0.3", 4,
              40, false, 1e-8);
  // states are those of finer steps of Runge-Kutta: what is left is their difference
  check_exact("bd1", "gravity:start=7,restitution:start=0.4", 3, 40, false, 1e-6);
  check_exact("bd1", "gravity:start=7,restitution:start=0.4", 3, 40, true, 1e-5);
}

/* ---- predictions ----------------------------------------------------------------------------- */

// what was held out, from first states that were measured, or found from flights that are a bit off
static void check_prediction(carom_first_state first) {
  simulated s = simulate_uneven("bd1", 4, 40, 5);
  const size_t size = (size_t)(s.data.point_count * s.data.dimension);
  const bool flight = first == CAROM_FIRST_STATE_FLIGHT;
  carom_fit_options options = fit_one_thread();
  options.first_state = first;
  options.horizon = 20;
  carom_fit *fit = fit_make(&s, "gravity:start=8", &options);
  const carom_fit_result *r = fit_run(fit);
  assert_near(fit_find(r, "gravity")->value, 9.81, 1e-3);
  // a first velocity that is wrong: the flight tells the right one
  for (int i = 0; i < s.data.batch && flight; i++)
    for (int p = 0; p < s.data.point_count; p++)
      s.data.v[(size_t)(i * s.data.state_count) * size + (size_t)(2 * p)] += 0.05;
  carom_fit_prediction p;
  carom_error error = {0};
  assert_int_equal(carom_fit_predict(fit, &s.data, &p, &error), CAROM_OK);
  assert_true(p.position_mean < 1e-3);
  // the same states, as if steps were equal
  double *times = s.data.times;
  s.data.times = NULL;
  carom_fit_prediction wrong;
  assert_int_equal(carom_fit_predict(fit, &s.data, &wrong, &error), CAROM_OK);
  assert_true(wrong.position_mean > 20 * p.position_mean);
  s.data.times = times;
  times[3] = times[2];
  carom_fit_prediction none;
  carom_fit_predict(fit, &s.data, &none, &error);
  assert_message(&error, CAROM_INVALID_DATA, "trajectory 0 do not rise");
  carom_fit_prediction_free(&p);
  carom_fit_prediction_free(&wrong);
  carom_fit_destroy(fit);
  simulated_free(&s);
}

static void test_predictions(void **state) {
  (void)state;
  check_prediction(CAROM_FIRST_STATE_MEASURED);
  check_prediction(CAROM_FIRST_STATE_FLIGHT);
}

// residuals that grow with time are taken off place and velocity at once, turns and rates likewise
static void test_flight(void **state) {
  (void)state;
  const double time[] = {0, 0.01, 0.05, 0.06, 0.2}, off[] = {0.3, -0.2, 0.1}, rate[] = {2, -1, 0.5};
  carom_system *system = load_system("bd1");
  measure m;
  assert_true(measure_init(&m, system));
  double r[15], x[6] = {0.5, 0.5, 1.5, 0.5, 0.5, 1.5}, v[6] = {0};
  for (int k = 0; k < 5; k++)
    for (int i = 0; i < 3; i++) r[k * 3 + i] = off[i] + rate[i] * time[k];
  flight_correct(&m, time, 5, 3, r, x, v);
  assert_near(x[0], 0.5 - 0.3, 1e-12);
  assert_near(x[1], 0.5 + 0.2, 1e-12);
  assert_near(v[0], -2, 1e-11);
  assert_near(v[1], 1, 1e-11);
  // the first axis, turned by -0.1, at -0.5
  assert_near(x[2] - x[0], cos(0.1), 1e-12);
  assert_near(x[3] - x[1], -sin(0.1), 1e-12);
  assert_near(v[2] - v[0], -0.5 * sin(0.1), 1e-11);
  assert_near(v[3] - v[1], -0.5 * cos(0.1), 1e-11);
  measure_free(&m);
  carom_system_destroy(system);
}

/* ---- files, bad times ------------------------------------------------------------------------ */

static void test_file(void **state) {
  (void)state;
  simulated s = simulate_uneven("bd1", 3, 20, 7);
  carom_trajectories read;
  carom_error error = {0};
  const char *path = "uneven-times.h5";
  assert_int_equal(carom_trajectories_write(&s.data, s.system, path, &error), CAROM_OK);
  assert_int_equal(carom_trajectories_read_measured(s.system, path, &read, &error), CAROM_OK);
  assert_memory_equal(read.times, s.data.times, sizeof(double) * 60);
  assert_true(read.dt > 0.5 * s.data.dt && read.dt < 1.5 * s.data.dt);
  carom_trajectories_free(&read);
  // who needs equal steps says so
  carom_trajectories_read(s.system, path, &read, &error);
  assert_message(&error, CAROM_INVALID_DATA, "steps are unequal");
  const carom_dataset_options options = carom_dataset_default_options(s.system);
  carom_dataset *dataset;
  carom_dataset_from_trajectories(s.system, &s.data, &options, &dataset, &error);
  assert_message(&error, CAROM_INVALID_DATA, "resample");
  // a time that comes twice
  s.data.times[25] = s.data.times[24];
  carom_fit *fit;
  const carom_fit_options how = fit_one_thread();
  carom_fit_create(s.system, &s.data, "gravity", &s.how, &how, &fit, &error);
  assert_message(&error, CAROM_INVALID_DATA, "trajectory 1 do not rise");
  assert_int_equal(carom_trajectories_write(&s.data, s.system, path, &error), CAROM_OK);
  carom_trajectories_read_measured(s.system, path, &read, &error);
  assert_message(&error, CAROM_INVALID_DATA, "trajectory 1 do not rise");
  remove(path);
  simulated_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_motion),     cmocka_unit_test(test_length),
      cmocka_unit_test(test_gradients),  cmocka_unit_test(test_sides),
      cmocka_unit_test(test_population), cmocka_unit_test(test_flight),
      cmocka_unit_test(test_exact),      cmocka_unit_test(test_predictions),
      cmocka_unit_test(test_file)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
