/* Identification: tangent spaces and the gradient of its cost beside differences, exact data
 * recovered, noisy data within its intervals, what is not determined named, bad input refused. */
#include "fit/fit.h"

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
#include "support/fitting.h"
#include "support/messages.h"
#include "support/quick.h"
#include "support/systems.h"
#include "system/system.h"

/* ---- tangent spaces -------------------------------------------------------------------------- */

static void check_tangent(const char *scene) {
  simulated s = simulate_noisy(scene, 1, 3, false, 0, 5);
  tangent_space t;
  assert_true(tangent_space_init(&t, s.system));
  size_t D = (size_t)t.coordinates, row = 2 * D;
  double *B = calloc(3 * (size_t)t.size * row + 3 * row, sizeof(double));
  double *L = B + (size_t)t.size * row, *z = L + (size_t)t.size * row,
         *state = z + (size_t)t.size * row;
  double *forward = state + row, *backward = forward + row;
  memcpy(state, s.data.x, sizeof(double) * D);
  memcpy(state + D, s.data.v, sizeof(double) * D);
  tangent_at(&t, state, B, L);
  const double h = 1e-6;
  for (int i = 0; i < t.size; i++) {
    for (int j = 0; j < t.size; j++) {
      double sum = 0;
      for (size_t k = 0; k < row; k++) sum += L[(size_t)i * row + k] * B[(size_t)j * row + k];
      assert_near(sum, i == j, 1e-10);
    }
    memset(z, 0, sizeof(double) * (size_t)t.size);
    memcpy(forward, state, sizeof(double) * row);
    memcpy(backward, state, sizeof(double) * row);
    z[i] = h;
    assert_true(tangent_move(&t, forward, z));
    z[i] = -h;
    assert_true(tangent_move(&t, backward, z));
    for (size_t k = 0; k < row; k++)
      assert_near((forward[k] - backward[k]) / (2 * h), B[(size_t)i * row + k],
                  1e-6 * (1 + fabs(state[D + k % D])));
    assert_int_equal(carom_system_check_states(s.system, 1, forward, forward + D, 1e-9, NULL),
                     CAROM_OK);
  }
  memset(z, 0, sizeof(double) * (size_t)t.size);
  memcpy(forward, state, sizeof(double) * row);
  assert_true(tangent_move(&t, forward, z));
  assert_memory_equal(forward, state, sizeof(double) * row);
  free(B);
  tangent_space_free(&t);
  simulated_free(&s);
}

static void test_tangents(void **state) {
  (void)state;
  const char *const scenes[] = {"cp3", "bp5", "bd5", "gyro", "rope", "bd1"};
  for (size_t k = 0; k < sizeof scenes / sizeof scenes[0]; k++) check_tangent(scenes[k]);
}

/* ---- the gradient of the cost ---------------------------------------------------------------- */

static void check_gradient(const char *scene, const char *unknowns, bool free_states, int steps) {
  simulated s = simulate_noisy(scene, 2, steps, true, 1e-3, 9);
  carom_fit_options options = fit_one_thread();
  options.piece = 4;
  options.huber = 0;
  carom_fit *fit = fit_make(&s, unknowns, &options);
  fit_check_gradient(fit, free_states);
  carom_fit_destroy(fit);
  simulated_free(&s);
}

static void test_gradients(void **state) {
  (void)state;
  check_gradient("cp3", "friction,mass[b],gravity:prior=9/0.5", true, 8);
  check_gradient("cp3", "friction,mass[b],gravity:prior=9/0.5", false, 8);
  check_gradient("gyro", "moment,gravity", true, 8);
  check_gradient("bd1", "moment,gravity,friction,scale,shift[y]", false, 8);
  check_gradient("bd1", "moment,gravity,friction,scale", true, 8);
  check_gradient("rope", "stiffness:shared,mass:shared", false, 6);
  check_gradient("bd1", "radius,offset:shared,drag,angular_drag", true, 8);
  check_gradient(CAROM_TEST_DATA "/rounded-box.json", "corner[box],offset[slope],drag", false, 12);
  check_gradient(CAROM_TEST_DATA "/rounded-box.json", "corner[box]:shared,radius,angular_drag",
                 true, 12);
  check_gradient(CAROM_TEST_DATA "/rounded-box.json", "centre[box],corner[box][3],scale,friction",
                 false, 12);
  check_gradient(CAROM_TEST_DATA "/rounded-box.json", "centre[box],shift[z]", true, 12);
}

/* ---- exact data ------------------------------------------------------------------------------ */

/* Every determined number is the scene's to 1e-8, from starts a factor of three away. */
static void check_exact(const char *scene, const char *unknowns, int count, int steps, int open) {
  simulated s = simulate_noisy(scene, count, steps, false, 0, 3);
  const carom_fit_options options = fit_one_thread();
  carom_fit *fit = fit_make(&s, unknowns, &options);
  const carom_fit_result *r = fit_run(fit);
  int undetermined = 0;
  for (int i = 0; i < r->estimate_count; i++) {
    const carom_fit_estimate *e = &r->estimates[i];
    undetermined += !e->determined;
    // where several values explain the data alike, the interval is what is known
    double tolerance = fmax(1e-8 * fmax(1, fabs(e->scene)), e->high - e->low);
    if (e->determined && (fabs(e->value - e->scene) > tolerance || e->high - e->low > 0.05))
      fail_msg("%s: %s is %.17g, should be %.17g", scene, e->name, e->value, e->scene);
  }
  if (open >= 0 && undetermined != open)
    fail_msg("%s: %d are not determined: %s", scene, undetermined,
             r->note_count > 0 ? r->notes[0].text : "no note");
  carom_fit_destroy(fit);
  simulated_free(&s);
}

static void test_exact_data(void **state) {
  (void)state;
  check_exact("cp3",
              "friction:start=1.5,restitution:start=0.5,mass[b]:start=0.6,mass[c]:start=0.05",
              quick() ? 3 : 5, quick() ? 60 : 100, 0);
  check_exact("cp3-e",
              "friction:start=0.3,restitution:start=0.33,mass[b]:start=0.04,gravity:start=3.3", 3,
              60, 0);
  check_exact("gyro", "friction:start=0.3,restitution:start=0.27,moment:start=0.1", 3, 40, 0);
  check_exact("rope", "stiffness:shared:start=17", 2, 10, 0);
  // everything sticks in this data from a friction of 0.147 on: a lower bound
  check_exact("bd1",
              "friction:start=0.6,restitution:start=0.27,moment:start=0.0075,gravity:start=3.3", 6,
              60, 1);
}

/* Tasks with a friction and restitution for each contact: some never act, the others are found. */
static void test_exact_tables(void **state) {
  (void)state;
  if (getenv("CAROM_FIT_ALL") == NULL) skip();
  check_exact("gyro-e", "friction:start=0.3,restitution:start=0.33,moment:start=0.1", 3, 40, 0);
  check_exact("bp5-e", "friction:start=0.3,restitution:start=0.33,mass[b]:start=0.3", 4, 40, 0);
  check_exact("bp5",
              "friction:start=0.3,restitution:start=0.3,mass[a]:start=0.15,mass[b]:start=0.3,"
              "mass[c]:start=0.1,mass[d]:start=1.2,mass[e]:start=0.17",
              20, 100, -1);
  check_exact("bd5",
              "friction:start=0.3,restitution:start=0.3,mass[a]:start=0.15,mass[b]:start=0.3,"
              "mass[c]:start=0.1,mass[d]:start=1.2,mass[e]:start=0.17,moment[a]:start=0.002,"
              "moment[b]:start=0.008,moment[c]:start=0.003,moment[d]:start=0.003,"
              "moment[e]:start=0.05",
              20, 100, -1);
}

/* ---- noise ----------------------------------------------------------------------------------- */

static void test_noisy_data(void **state) {
  (void)state;
  simulated s = simulate_noisy("cp3-e", 6, 40, true, 0.01, 11);
  const carom_fit_options options = fit_one_thread();
  carom_fit *fit = fit_make(&s, "mass[b]:start=0.4,mass[c]:start=0.05,gravity", &options);
  const carom_fit_result *r = fit_run(fit);
  for (int i = 0; i < r->estimate_count; i++) {
    const carom_fit_estimate *e = &r->estimates[i];
    assert_true(e->determined);
    assert_true(e->deviation > 0 && e->deviation < 0.05 * e->scene);
    assert_near(e->value, e->scene, 4 * e->deviation);
    assert_true(e->low < e->value && e->value < e->high);
  }
  assert_near(r->channels[CAROM_CHANNEL_POSITION].noise, 0.01, 0.001);
  assert_near(r->channels[CAROM_CHANNEL_VELOCITY].noise, 0.01, 0.001);
  carom_fit_prediction p;
  assert_int_equal(carom_fit_predict(fit, &s.data, &p, NULL), CAROM_OK);
  assert_int_equal(p.count, 6);
  assert_true(p.position_mean > 0 && p.position_mean < 0.2);
  carom_fit_prediction_free(&p);
  assert_int_equal(carom_fit_write(fit, "fit.h5", NULL), CAROM_OK);
  carom_arrays arrays;
  assert_int_equal(carom_arrays_read("fit.h5", &arrays, NULL), CAROM_OK);
  assert_near(carom_arrays_find(&arrays, "value")->values[2], r->estimates[2].value, 0);
  carom_arrays_free(&arrays);
  carom_fit_destroy(fit);
  simulated_free(&s);
}

// three trajectories of BD1 whose lengths are divided by 1.02 and shifted by 3 mm
static simulated in_other_units(uint64_t seed) {
  simulated s = simulate_noisy("bd1", 3, 60, true, 0, seed);
  for (int k = 0; k < 3 * 61; k++) {
    double *x = s.data.x + (size_t)k * 6, *v = s.data.v + (size_t)k * 6;
    for (int i = 0; i < 2; i++) {
      double to = (x[i] - (i == 1 ? 0.003 : 0)) / 1.02, speed = v[i] / 1.02;
      for (int p = 2; p >= 0; p--) { // axes keep their length
        x[p * 2 + i] += to - x[i];
        v[p * 2 + i] += speed - v[i];
      }
    }
  }
  return s;
}

/* A scale and a shift of the data are found, beside what they are fitted with. From the second
 * start impacts come in other steps than they did: pieces from measured states end at a jump of the
 * cost, first states have to be free to come near, and the exact end is found from measured states
 * again. */
static void test_units_of_data(void **state) {
  (void)state;
  static const struct {
    uint64_t seed;
    const char *unknowns;
    bool slides;
  } cases[] = {{4, "scale,shift[y],friction:start=0.3", true},
               {5, "scale:start=0.9798,shift[y]:start=0.0091,friction:start=0.075", false}};
  for (size_t k = quick() ? 1 : 0; k < sizeof cases / sizeof cases[0]; k++) {
    simulated s = in_other_units(cases[k].seed);
    const carom_fit_options options = fit_one_thread();
    carom_fit *fit = fit_make(&s, cases[k].unknowns, &options);
    const carom_fit_result *r = fit_run(fit);
    assert_near(fit_find(r, "scale")->value, 1.02, 1e-8);
    assert_near(fit_find(r, "shift[y]")->value, 0.003, 1e-8);
    if (cases[k].slides) assert_near(fit_find(r, "friction")->value, 0.2, 1e-8);
    assert_near(r->scale, fit_find(r, "scale")->value, 1e-15);
    carom_fit_destroy(fit);
    simulated_free(&s);
  }
}

/* Moves what is measured of the first body from its centre of mass to the point that stands at -c
 * in it. */
static void measure_beside(simulated *s, const double *c) {
  int d = s->data.dimension, size = s->data.point_count * d;
  for (int k = 0; k < s->data.batch * s->data.state_count; k++)
    for (int part = 0; part < 2; part++) {
      double *x = (part == 0 ? s->data.x : s->data.v) + (size_t)k * (size_t)size, off[3] = {0};
      for (int i = 0; i < d; i++)
        for (int axis = 0; axis < d; axis++) off[i] += c[axis] * (x[(axis + 1) * d + i] - x[i]);
      for (int i = 0; i < size; i++) x[i] -= off[i % d];
    }
}

/* A body whose mass is not where it was measured: its motion is simulated with corners as its
 * centre of mass sees them, the fit has a scene with corners as the measured point sees them. */
static void test_centre_of_mass(void **state) {
  (void)state;
  const double c[] = {0.02, -0.01, 0.03};
  simulated s =
      simulate_noisy(CAROM_TEST_DATA "/rounded-box.json", 6, quick() ? 30 : 60, true, 0, 5);
  const int size = s.system->coordinate_count, offset = s.system->segments[CAROM_CORNER].offset;
  double *theta = malloc(sizeof(double) * (size_t)carom_parameters_count(s.system));
  double *x0 = calloc(2 * 6 * (size_t)size, sizeof(double)), *v0 = x0 + 6 * size;
  carom_parameters_default(s.system, theta);
  for (int k = 0; k < s.system->segments[CAROM_CORNER].size; k++) theta[offset + k] -= c[k % 3];
  assert_int_equal(carom_system_sample(s.system, 5, 6, x0, v0, NULL), CAROM_OK);
  assert_int_equal(carom_system_simulate(s.system, &s.how, theta, 6, x0, v0, s.data.x, s.data.v,
                                         NULL, NULL, NULL),
                   CAROM_OK);
  measure_beside(&s, c);
  const carom_fit_options options = fit_one_thread();
  carom_fit *fit = fit_make(&s, "centre[box],friction:start=0.3", &options);
  const carom_fit_result *r = fit_run(fit);
  const char *const names[] = {"centre[box][x]", "centre[box][y]", "centre[box][z]"};
  for (int i = 0; i < 3; i++) {
    assert_near(fit_find(r, names[i])->value, c[i], 1e-8);
    assert_near(r->theta[offset + i], theta[offset + i], 1e-8);
  }
  assert_near(fit_find(r, "friction[box|slope]")->value, 0.4, 1e-6);
  // predictions are of the measured point
  carom_fit_prediction p;
  assert_int_equal(carom_fit_predict(fit, &s.data, &p, NULL), CAROM_OK);
  assert_true(p.position_mean < 1e-6);
  carom_fit_prediction_free(&p);
  carom_fit_destroy(fit);
  free(theta);
  free(x0);
  simulated_free(&s);
}

/* ---- what is not determined ------------------------------------------------------------------ */

static void test_undetermined(void **state) {
  (void)state;
  const carom_fit_options options = fit_one_thread();
  simulated s = simulate_noisy("cp3", 1, 5, false, 0, 2); // too short to touch anything
  carom_fit *fit = fit_make(&s, "friction,mass", &options);
  const carom_fit_result *r = fit_run(fit);
  assert_false(fit_find(r, "friction")->determined);
  assert_true(fit_has_note(r, "the contact never acts"));
  assert_true(fit_has_note(r, "known by their ratios alone"));
  assert_false(fit_find(r, "mass[a]")->determined);
  assert_near(fit_find(r, "mass[b]/mass[a]")->value, 2, 1e-7);
  carom_fit_destroy(fit);
  simulated_free(&s);
  s = simulate_noisy("bd1", 6, 60, false, 0, 3); // whose disks never slide
  fit = fit_make(&s, "friction", &options);
  r = fit_run(fit);
  assert_false(fit_find(r, "friction")->determined);
  assert_true(fit_has_note(r, "lower bound alone"));
  assert_true(fit_find(r, "friction")->low > 0.05 && fit_find(r, "friction")->low < 0.2);
  carom_fit_destroy(fit);
  simulated_free(&s);
}

/* Data that the scene cannot have made: said, with what to do. */
static void test_wrong_scene(void **state) {
  (void)state;
  const carom_fit_options options = fit_one_thread();
  const int steps = quick() ? 30 : 40;
  simulated s = simulate_noisy("bd1", 2, steps, true, 0, 4);
  // the ground is elsewhere
  for (int k = 0; k < 2 * (steps + 1) * 3; k++) s.data.x[2 * k + 1] -= 0.05;
  carom_fit *fit = fit_make(&s, "restitution", &options);
  const carom_fit_result *r = fit_run(fit);
  assert_true(fit_has_note(r, "inside of something by more than noise"));
  assert_true(fit_has_note(r, "shift[...]"));
  carom_fit_destroy(fit);
  simulated_free(&s);
}

/* One trajectory of six that jumps on its way is named, none of data as it is. */
static void test_misfit(void **state) {
  (void)state;
  for (int spoiled = 0; spoiled < 2; spoiled++) {
    simulated s = simulate_noisy("bd1", 6, quick() ? 16 : 40, true, 0.01, 5);
    const size_t D = (size_t)s.system->coordinate_count, states = (size_t)s.data.state_count;
    for (size_t t = states / 2; t < states && spoiled; t++)
      for (size_t k = 0; k < D; k += 2) s.data.x[(2 * states + t) * D + k] += 0.08;
    carom_fit_options options = fit_one_thread();
    if (quick()) options.iterations = 12;
    options.position_noise = options.velocity_noise = options.angle_noise = options.rate_noise =
        0.01;
    options.project = true;
    carom_fit *fit = fit_make(&s, "gravity", &options);
    const carom_fit_result *r = fit_run(fit);
    assert_int_equal(fit_has_note(r,
                                  "1 of 6 trajectories fit worse than noise explains, "
                                  "trajectory 2 the worst"),
                     spoiled);
    assert_int_equal(fit_has_note(r, "worse than noise explains"), spoiled);
    carom_fit_destroy(fit);
    simulated_free(&s);
  }
}

/* An unknown at its border has the interval of its profile: where it ends, the least cost has risen
 * by 1.92. */
static void test_profile(void **state) {
  (void)state;
  simulated s = simulate_noisy("cp3-e", 4, 40, true, 0.01, 21);
  carom_fit_options options = fit_one_thread();
  options.position_noise = options.velocity_noise = 0.01;
  carom_fit *fit = fit_make(&s, "friction,restitution,mass[b]", &options);
  const carom_fit_result *r = fit_run(fit);
  int profiled = 0;
  for (int i = 0; i < r->estimate_count; i++) profiled += r->estimates[i].profiled;
  assert_true(profiled > 0);
  for (int j = 0; j < r->unknown_count; j++) {
    const carom_fit_estimate *e = &r->estimates[j];
    if (!e->profiled) continue;
    double rise;
    assert_true(e->at_border);
    assert_int_equal(
        minimise_profile(&fit->minimiser, j, e->value == e->low ? e->high : e->low, &rise, NULL),
        CAROM_OK);
    assert_near(rise, 1.92, 0.2);
  }
  carom_fit_destroy(fit);
  simulated_free(&s);
}

/* ---- bad input ------------------------------------------------------------------------------- */

static void test_bad_unknowns(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {{"", "empty"},
               {"friction,,mass", "empty"},
               {"frction", "did you mean 'friction'"},
               {"mass[z]", "no body 'z'"},
               {"friction[a|grund]", "a|ground"},
               {"friction,friction[a|ground]", "part of 'friction' already"},
               {"mass[a]:start=-1", "must be positive"},
               {"mass[a]:start=x", "expected a number"},
               {"restitution:start=2", "outside of the bounds"},
               {"friction:prior=0.3", "MEAN/DEVIATION"},
               {"friction:low=0.6:high=0.5", "low bound"},
               {"friction:foo", "behind ':'"},
               {"moment", "no rigid body"},
               {"stiffness", "no springs"},
               {"shift[y]", "joints"},
               {"gravity[z]", "x or y"},
               {"angular_drag", "does not turn"},
               {"offset[wall]", "no such plane"},
               {"corner[a]", "no corners"},
               {"corner", "expected corner[BODY]"},
               {"centre", "expected centre[BODY]"},
               {"centre[q]", "no body 'q'"},
               {"centre[a]", "its own centre"},
               {"mass[b]/mass[q]", "divisor"},
               {"mass[a", "expected NAME"}};
  simulated s = simulate_noisy("cp3", 1, 4, false, 0, 2);
  const carom_fit_options options = fit_one_thread();
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    carom_error error = {0};
    carom_fit *fit;
    assert_int_equal(
        carom_fit_create(s.system, &s.data, cases[k].text, NULL, &options, &fit, &error),
        CAROM_INVALID_ARGUMENT);
    assert_null(fit);
    assert_message(&error, CAROM_INVALID_ARGUMENT, cases[k].message);
  }
  simulated_free(&s);
  // a rim is no ball
  s = simulate_noisy("gyro", 1, 4, false, 0, 2);
  carom_error error = {0};
  carom_fit *fit;
  carom_fit_create(s.system, &s.data, "radius", NULL, &options, &fit, &error);
  assert_null(fit);
  assert_message(&error, CAROM_INVALID_ARGUMENT, "no radius");
  carom_fit_create(s.system, &s.data, "centre[top]", NULL, &options, &fit, &error);
  assert_null(fit);
  assert_message(&error, CAROM_INVALID_ARGUMENT, "joints");
  simulated_free(&s);
  s = simulate_noisy(CAROM_TEST_DATA "/rounded-box.json", 1, 4, false, 0, 2);
  carom_fit_create(s.system, &s.data, "centre[box],centre[box][y]", NULL, &options, &fit, &error);
  assert_null(fit);
  assert_message(&error, CAROM_INVALID_ARGUMENT, "listed twice");
  simulated_free(&s);
  s = simulate_noisy("bd1", 1, 4, false, 0, 2);
  carom_fit_create(s.system, &s.data, "centre[a]", NULL, &options, &fit, &error);
  assert_null(fit);
  assert_message(&error, CAROM_INVALID_ARGUMENT, "ball's shape");
  simulated_free(&s);
  // what is held by joints does not fly
  s = simulate_noisy("cp3", 1, 4, false, 0, 2);
  carom_fit_options flight = options;
  flight.first_state = CAROM_FIRST_STATE_FLIGHT;
  carom_fit_create(s.system, &s.data, "friction", NULL, &flight, &fit, &error);
  assert_null(fit);
  assert_message(&error, CAROM_INVALID_ARGUMENT, "held by joints");
  simulated_free(&s);
}

static void test_bad_data(void **state) {
  (void)state;
  simulated s = simulate_noisy("cp3", 1, 4, false, 0, 2);
  const carom_fit_options options = fit_one_thread();
  carom_error error = {0};
  carom_fit *fit;
  carom_trajectories data = s.data;
  data.state_count = 1;
  carom_fit_create(s.system, &data, "friction", NULL, &options, &fit, &error);
  assert_message(&error, CAROM_INVALID_DATA, "at least one of two");
  data = s.data;
  data.point_count = 2;
  carom_fit_create(s.system, &data, "friction", NULL, &options, &fit, &error);
  assert_message(&error, CAROM_INVALID_DATA, "points");
  for (int i = 0; i < 5 * 6; i++) s.data.x[i] *= 3;
  carom_fit_create(s.system, &s.data, "friction", NULL, &options, &fit, &error);
  assert_message(&error, CAROM_INVALID_DATA, "off the constraints");
  for (int i = 0; i < 5 * 6; i++) s.data.x[i] = NAN;
  carom_fit_create(s.system, &s.data, "friction", NULL, &options, &fit, &error);
  assert_message(&error, CAROM_INVALID_DATA, "two states in a row without a missing number");
  simulated_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tangents),       cmocka_unit_test(test_gradients),
      cmocka_unit_test(test_exact_data),     cmocka_unit_test(test_exact_tables),
      cmocka_unit_test(test_noisy_data),     cmocka_unit_test(test_units_of_data),
      cmocka_unit_test(test_centre_of_mass), cmocka_unit_test(test_undetermined),
      cmocka_unit_test(test_wrong_scene),    cmocka_unit_test(test_profile),
      cmocka_unit_test(test_misfit),         cmocka_unit_test(test_bad_unknowns),
      cmocka_unit_test(test_bad_data)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
