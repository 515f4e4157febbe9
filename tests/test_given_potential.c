/* A potential of the caller's own: the scene's in another's hands, closed forms, the derivative beside
 * central differences with and without contacts, how it is called, what becomes of its failures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/differences.h"
#include "support/systems.h"

enum { BATCH = 3, MOST = 4000 };

/* V(x) = sum_i p0 x_i + p1 x_i^2 / 2 + p2 x_i^4 / 4 + p3 x_0 x_1 over the first numbers of a state: linear and
 * not, with numbers that act on each other; and what happened to it. */
typedef struct wells {
  int size, acting; /* numbers of a state, and those that it acts on */
  double p[4];
  int calls, reverse_calls, least, most; /* times asked; states of a call */
  int fail_at;                           /* which call of gradient, or of gradient_vjp, fails; -1 */
  bool fails_in_reverse;
  carom_status failure;
  const char *message;
  double spoil; /* added to the gradient */
} wells;

static carom_status wells_failure(const wells *w, carom_error *error) {
  if (w->message != NULL) return carom_error_set(error, w->failure, "%s", w->message);
  return w->failure;
}

static carom_status wells_gradient(void *user, int count, const double *x, double *gradient,
                                   carom_error *error) {
  wells *w = user;
  w->least = w->calls == 0 || count < w->least ? count : w->least;
  w->most = count > w->most ? count : w->most;
  if (!w->fails_in_reverse && w->calls++ == w->fail_at) return wells_failure(w, error);
  for (int k = 0; k < count; k++, x += w->size, gradient += w->size) {
    for (int i = 0; i < w->size; i++)
      gradient[i] = i < w->acting ? w->p[0] + w->p[1] * x[i] + w->p[2] * x[i] * x[i] * x[i] : 0;
    gradient[0] += w->p[3] * x[1];
    gradient[1] += w->p[3] * x[0] + w->spoil;
  }
  return CAROM_OK;
}

static carom_status wells_gradient_vjp(void *user, int count, const double *x, const double *bar,
                                       double *x_bar, double *p_bar, carom_error *error) {
  wells *w = user;
  if (w->fails_in_reverse && w->reverse_calls++ == w->fail_at) return wells_failure(w, error);
  for (int k = 0; k < count; k++, x += w->size, bar += w->size, x_bar += w->size) {
    for (int i = 0; i < w->acting; i++) x_bar[i] += (w->p[1] + 3 * w->p[2] * x[i] * x[i]) * bar[i];
    x_bar[0] += w->p[3] * bar[1];
    x_bar[1] += w->p[3] * bar[0];
    for (int i = 0; p_bar != NULL && i < w->acting; i++) {
      p_bar[0] += bar[i];
      p_bar[1] += x[i] * bar[i];
      p_bar[2] += x[i] * x[i] * x[i] * bar[i];
    }
    if (p_bar != NULL) p_bar[3] += x[1] * bar[0] + x[0] * bar[1];
  }
  return CAROM_OK;
}

/* A scene under such a potential. */
typedef struct fixture {
  carom_system *system;
  carom_rollout_options options;
  carom_potential potential;
  carom_rollout *rollout;
  wells wells;
  int state, batch;
  double x0[200], v0[200], theta[200], wx[MOST], wv[MOST];
  double x0_bar[200], v0_bar[200], theta_bar[200];
  int64_t contacts;
} fixture;

static void fixture_open(fixture *f, const char *name, int steps) {
  carom_error error;
  *f = (fixture){.system = load_system(name), .batch = BATCH};
  const carom_system_info info = carom_system_describe(f->system);
  f->state = info.point_count * info.dimension;
  assert_true(f->state * BATCH <= 200 && f->state * BATCH * (steps + 1) <= MOST);
  f->options = carom_rollout_default_options(f->system);
  f->options.steps = steps;
  f->wells =
      (wells){.size = f->state, .acting = f->state, .p = {0.3, 0.5, 0.2, 0.1}, .fail_at = -1};
  f->potential = (carom_potential){.gradient = wells_gradient,
                                   .gradient_vjp = wells_gradient_vjp,
                                   .parameter_count = 4,
                                   .user = &f->wells};
  // with room to both sides
  carom_parameters_default(f->system, f->theta);
  const carom_segment_info friction = carom_parameters_segment(f->system, CAROM_FRICTION);
  const carom_segment_info bounce = carom_parameters_segment(f->system, CAROM_RESTITUTION);
  for (int i = 0; i < friction.size; i++) f->theta[friction.offset + i] = 0.2;
  for (int i = 0; i < bounce.size; i++) f->theta[bounce.offset + i] = 0.5;
  if (carom_system_sample(f->system, 3, BATCH, f->x0, f->v0, &error) != CAROM_OK)
    fail_msg("%s", error.message);
}

static void fixture_make(fixture *f) {
  carom_error error;
  carom_rollout_destroy(f->rollout);
  if (carom_rollout_create_with_potential(f->system, &f->options, &f->potential, f->batch,
                                          &f->rollout, &error) != CAROM_OK)
    fail_msg("%s", error.message);
}

static void fixture_run(fixture *f) {
  carom_error error;
  if (carom_rollout_run(f->rollout, f->theta, f->x0, f->v0, &error) != CAROM_OK)
    fail_msg("%s", error.message);
}

static void fixture_vjp(fixture *f) {
  carom_error error;
  if (carom_rollout_vjp(f->rollout, f->wx, f->wv, f->x0_bar, f->v0_bar, f->theta_bar, &error) !=
      CAROM_OK)
    fail_msg("%s", error.message);
}

static void fixture_close(fixture *f) {
  carom_rollout_destroy(f->rollout);
  carom_system_destroy(f->system);
}

/* ---- values ---- */

/* gravity of cp3 in the caller's hands */
typedef struct gravity {
  const carom_system *system;
  double weight[8]; /* m g of each body */
} gravity;

static carom_status gravity_gradient(void *user, int count, const double *x, double *gradient,
                                     carom_error *error) {
  const gravity *g = user;
  (void)x;
  (void)error;
  for (int k = 0; k < 3 * count; k++) {
    gradient[2 * k] = -0.0;
    gradient[2 * k + 1] = g->weight[k % 3];
  }
  return CAROM_OK;
}

static carom_status gravity_gradient_vjp(void *user, int count, const double *x, const double *bar,
                                         double *x_bar, double *p_bar, carom_error *error) {
  (void)user;
  (void)count;
  (void)x;
  (void)bar;
  (void)x_bar;
  (void)p_bar;
  (void)error;
  return CAROM_OK;
}

/* The scene's own potential, given from outside, makes the scene's own motion and derivative. */
static void test_the_potential_of_the_scene(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, "cp3", 60);
  gravity g = {.system = f.system};
  const carom_segment_info mass = carom_parameters_segment(f.system, CAROM_LOG_MASS);
  const carom_segment_info strength = carom_parameters_segment(f.system, CAROM_GRAVITY);
  for (int b = 0; b < 3; b++)
    g.weight[b] = -f.theta[strength.offset + 1] * exp(f.theta[mass.offset + b]);
  f.potential = (carom_potential){
      .gradient = gravity_gradient, .gradient_vjp = gravity_gradient_vjp, .user = &g};
  fixture_make(&f);
  fixture_run(&f);
  carom_rollout *plain;
  assert_int_equal(carom_rollout_create(f.system, &f.options, BATCH, &plain, NULL), CAROM_OK);
  assert_int_equal(carom_rollout_run(plain, f.theta, f.x0, f.v0, NULL), CAROM_OK);
  assert_true(carom_rollout_report(f.rollout).events > 0);
  const int count = BATCH * 61 * f.state;
  for (int i = 0; i < count; i++)
    assert_near(carom_rollout_positions(f.rollout)[i], carom_rollout_positions(plain)[i], 1e-12);
  rng random;
  rng_seed(&random, 5, 0);
  for (int i = 0; i < count; i++) f.wx[i] = rng_normal(&random);
  double x0_bar[200], v0_bar[200];
  fixture_vjp(&f);
  assert_null(carom_rollout_potential_bar(f.rollout));
  assert_null(carom_rollout_potential_bar(plain));
  assert_int_equal(carom_rollout_vjp(plain, f.wx, f.wv, x0_bar, v0_bar, NULL, NULL), CAROM_OK);
  for (int i = 0; i < BATCH * f.state; i++) {
    assert_near(f.x0_bar[i], x0_bar[i], 1e-9 * (1 + fabs(x0_bar[i])));
    assert_near(f.v0_bar[i], v0_bar[i], 1e-9 * (1 + fabs(v0_bar[i])));
  }
  carom_rollout_destroy(plain);
  fixture_close(&f);
}

/* A point of mass 2 in V = 4 x^2: x = cos(2 t). */
static void test_an_oscillator(void **state) {
  (void)state;
  carom_system *system = parse_system(
      "{\"carom\":1,\"name\":\"point\",\"dimension\":2,\"dt\":0.001,\"steps\":1000,"
      "\"gravity\":[0,-9.81],\"bodies\":[{\"id\":\"a\",\"type\":\"point\",\"mass\":2}],"
      "\"initial\":{\"sampler\":\"state\",\"bodies\":[{\"body\":\"a\",\"position\":[1,0]}]}}");
  const carom_rollout_options options = carom_rollout_default_options(system);
  wells w = {.size = 2, .acting = 2, .p = {0, 8, 0, 0}, .fail_at = -1};
  carom_potential potential = {
      .gradient = wells_gradient, .gradient_vjp = wells_gradient_vjp, .user = &w};
  const double x0[2] = {1, 0}, v0[2] = {0, 0};
  for (int beside = 0; beside < 2; beside++) {
    carom_rollout *r;
    potential.beside_scene = beside;
    assert_int_equal(carom_rollout_create_with_potential(system, &options, &potential, 1, &r, NULL),
                     CAROM_OK);
    assert_int_equal(carom_rollout_run(r, NULL, x0, v0, NULL), CAROM_OK);
    const double *x = carom_rollout_positions(r) + 2 * 1000;
    // gravity pulls its rest to -2 * 9.81 / 8
    const double rest = beside ? -2 * 9.81 / 8 : 0;
    assert_near(x[0], cos(2), 1e-11);
    assert_near(x[1], rest * (1 - cos(2)), 1e-11);
    carom_rollout_destroy(r);
  }
  carom_system_destroy(system);
}

/* ---- the derivative ---- */

static double weighted(void *user) {
  fixture *f = user;
  fixture_run(f);
  const double *x = carom_rollout_positions(f->rollout), *v = carom_rollout_velocities(f->rollout);
  double sum = 0;
  for (int i = 0; i < f->batch * (f->options.steps + 1) * f->state; i++)
    sum += f->wx[i] * x[i] + f->wv[i] * v[i];
  return sum;
}

/* By initial states, theta and the potential's own parameters, with weights of all states drawn at random. */
static void compare(fixture *f, const char *what) {
  rng random;
  rng_seed(&random, 7, 0);
  for (int i = 0; i < f->batch * (f->options.steps + 1) * f->state; i++) {
    f->wx[i] = rng_normal(&random);
    f->wv[i] = rng_normal(&random);
  }
  fixture_make(f);
  fixture_run(f);
  const carom_report report = carom_rollout_report(f->rollout);
  f->contacts = report.events + report.impacts;
  fixture_vjp(f);
  double p_bar[4];
  memcpy(p_bar, carom_rollout_potential_bar(f->rollout), sizeof p_bar);
  struct {
    const char *name;
    double *values;
    const double *gradient;
    int count;
  } parts[] = {{"x0", f->x0, f->x0_bar, f->batch * f->state},
               {"v0", f->v0, f->v0_bar, f->batch * f->state},
               {"theta", f->theta, f->theta_bar, carom_parameters_count(f->system)},
               {"the potential's parameters", f->wells.p, p_bar, 4}};
  for (int k = 0; k < 4; k++) {
    const double error =
        gradient_error(weighted, f, parts[k].values, parts[k].gradient, parts[k].count, &random);
    if (!(error < 1e-6)) fail_msg("%s: by %s: relative error %g", what, parts[k].name, error);
  }
}

static void test_derivative_between_contacts(void **state) {
  (void)state;
  const char *const scenes[] = {"bp5", "cp3", "gyro"};
  for (int k = 0; k < 3; k++)
    for (int beside = 0; beside < 2; beside++) {
      fixture f;
      fixture_open(&f, scenes[k], 8);
      f.potential.beside_scene = beside;
      f.potential.concurrent = k == 1;
      f.options.shard_size = 2;
      compare(&f, scenes[k]);
      fixture_close(&f);
    }
}

/* Balls thrown at walls by gravity and the wells, at steps and at the time of impact. */
static void test_derivative_through_contacts(void **state) {
  (void)state;
  for (int event = 0; event < 2; event++)
    for (int beside = 0; beside < 2; beside++) {
      fixture f;
      fixture_open(&f, "bd1", 20);
      f.options.contact_time = event ? CAROM_CONTACT_TIME_EVENT : CAROM_CONTACT_TIME_STEP;
      f.potential.beside_scene = beside;
      f.wells.acting = 2;
      f.wells.p[0] = 0.3;
      compare(&f, event ? "bd1, event" : "bd1, step");
      assert_true(f.contacts > 0);
      fixture_close(&f);
    }
}

/* ---- how it is called ---- */

static void test_once_for_each_stage_with_the_whole_batch(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, "cp3", 10);
  f.options.shard_size = 1;
  f.options.threads = 2;
  fixture_make(&f);
  fixture_run(&f);
  assert_int_equal(f.wells.calls, 4 * 10);
  assert_int_equal(f.wells.least, BATCH);
  f.options.integrator = CAROM_EULER;
  f.options.substeps = 3;
  f.wells.calls = 0;
  fixture_make(&f);
  fixture_run(&f);
  assert_int_equal(f.wells.calls, 3 * 10);
  fixture_close(&f);
}

/* Same bits from any number of threads, and whether it is asked for all at once or not. */
static void test_threads(void **state) {
  (void)state;
  fixture f;
  double x[MOST], theta_bar[200], p_bar[4];
  const int count = BATCH * 41 * 6;
  fixture_open(&f, "cp3", 40);
  rng random;
  rng_seed(&random, 7, 0);
  for (int i = 0; i < count; i++) f.wx[i] = rng_normal(&random);
  for (int k = 0; k < 3; k++) {
    f.potential.concurrent = k < 2;
    f.potential.beside_scene = true;
    f.options.threads = k + 1;
    f.options.shard_size = 1;
    fixture_make(&f);
    fixture_run(&f);
    fixture_vjp(&f);
    const double *found = carom_rollout_potential_bar(f.rollout);
    if (k == 0) {
      memcpy(x, carom_rollout_positions(f.rollout), sizeof(double) * (size_t)count);
      memcpy(theta_bar, f.theta_bar, sizeof theta_bar);
      memcpy(p_bar, found, sizeof p_bar);
    }
    assert_memory_equal(x, carom_rollout_positions(f.rollout), sizeof(double) * (size_t)count);
    // sums over one shard are made in another order
    for (int i = 0; i < 4; i++) assert_near(found[i], p_bar[i], k < 2 ? 0 : 1e-9 * fabs(p_bar[i]));
    if (k < 2) assert_memory_equal(theta_bar, f.theta_bar, sizeof theta_bar);
  }
  fixture_close(&f);
}

/* ---- failures ---- */

static void expect_failure(fixture *f, bool reverse, carom_status status, const char *message) {
  carom_error error;
  carom_status found = carom_rollout_run(f->rollout, f->theta, f->x0, f->v0, &error);
  if (reverse) {
    assert_int_equal(found, CAROM_OK);
    found = carom_rollout_vjp(f->rollout, f->wx, f->wv, NULL, NULL, NULL, &error);
  }
  assert_int_equal(found, status);
  assert_int_equal(error.status, status);
  if (strstr(error.message, message) == NULL) fail_msg("%s", error.message);
}

static void test_failures(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, "cp3", 10);
  f.options.shard_size = 1;
  for (int concurrent = 0; concurrent < 2; concurrent++)
    for (int reverse = 0; reverse < 2; reverse++) {
      f.potential.concurrent = concurrent;
      f.options.threads = 1;
      fixture_make(&f);
      f.wells.calls = f.wells.reverse_calls = 0;
      f.wells.fails_in_reverse = reverse;
      f.wells.fail_at = 5;
      f.wells.failure = CAROM_INVALID_DATA;
      f.wells.message = "no such network";
      expect_failure(&f, reverse, CAROM_INVALID_DATA, "no such network");

      // without words
      f.wells.calls = f.wells.reverse_calls = 0;
      f.wells.failure = CAROM_INTERRUPTED;
      f.wells.message = NULL;
      expect_failure(&f, reverse, CAROM_INTERRUPTED, "the potential that was given failed");

      // the rollout is as good as before
      f.wells.fail_at = -1;
      fixture_run(&f);
      fixture_vjp(&f);
    }
  f.wells.spoil = NAN;
  expect_failure(&f, false, CAROM_NUMERICAL_FAILURE, "its gradient is not finite at state 0");
  f.wells.spoil = 0;
  fixture_run(&f);
  f.wells.p[1] = INFINITY; // between a run and its derivative
  carom_error error;
  memset(f.wx, 0, sizeof f.wx);
  f.wx[BATCH * 11 * f.state - 1] = 1;
  assert_int_equal(carom_rollout_vjp(f.rollout, f.wx, f.wv, NULL, NULL, NULL, &error),
                   CAROM_NUMERICAL_FAILURE);
  assert_non_null(strstr(error.message, "not finite"));
  fixture_close(&f);
}

static void test_bad_potentials(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f, "cp3", 10);
  const struct {
    carom_potential potential;
    const char *message;
  } cases[] = {
      {{.gradient_vjp = wells_gradient_vjp}, "potential.gradient is NULL"},
      {{.gradient = wells_gradient}, "potential.gradient_vjp is NULL"},
      {{.gradient = wells_gradient, .gradient_vjp = wells_gradient_vjp, .parameter_count = -1},
       "potential.parameter_count is -1"},
  };
  for (int k = 0; k < 3; k++) {
    carom_error error;
    carom_rollout *made = f.rollout;
    assert_int_equal(carom_rollout_create_with_potential(f.system, &f.options, &cases[k].potential,
                                                         1, &made, &error),
                     CAROM_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, cases[k].message));
    assert_null(made);
  }
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_potential_of_the_scene),
      cmocka_unit_test(test_an_oscillator),
      cmocka_unit_test(test_derivative_between_contacts),
      cmocka_unit_test(test_derivative_through_contacts),
      cmocka_unit_test(test_once_for_each_stage_with_the_whole_batch),
      cmocka_unit_test(test_threads),
      cmocka_unit_test(test_failures),
      cmocka_unit_test(test_bad_potentials),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
