/* To which time velocities belong, and velocities from positions, on motions with a closed form. */
#include "learn/velocity.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/systems.h"

enum { STATES = 200, SIZE = 2 };
static const double DT = 0.01, GRAVITY = -9.81;

static carom_system *one_ball(void) {
  return parse_system(
      "{\"carom\": 1, \"name\": \"ball\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 100,"
      "\"bodies\": [{\"id\": \"a\", \"type\": \"point\", \"mass\": 1, \"radius\": 0.1}],"
      "\"contacts\": {\"friction\": 0, \"restitution\": 1},"
      "\"initial\": {\"sampler\": \"box\", \"low\": [0, 0], \"high\": [2, 2], \"speed\": 1}}");
}

/* A ball that falls; v_k is that of the time k + shift. */
typedef struct fall {
  double x[STATES * SIZE], v[STATES * SIZE];
  uint8_t flags[STATES];
} fall;

static fall falling(double shift) {
  fall f = {0};
  for (int k = 0; k < STATES; k++) {
    const double t = k * DT, then = (k + shift) * DT;
    f.x[k * SIZE] = 0.5 * t;
    f.x[k * SIZE + 1] = 0.5 * GRAVITY * t * t;
    f.v[k * SIZE] = 0.5;
    f.v[k * SIZE + 1] = GRAVITY * then;
  }
  return f;
}

// `count` motions, the first `others` of which are another
static velocity_fit fit_of_two(const fall *f, int count, const fall *other, int others) {
  carom_system *system = one_ball();
  motion *motions = calloc((size_t)count, sizeof *motions);
  const uint8_t **flags = calloc((size_t)count, sizeof *flags);
  for (int i = 0; i < count; i++) {
    const fall *here = i < others ? other : f;
    motions[i] = (motion){STATES, SIZE, DT, here->x, here->v, NULL};
    flags[i] = here->flags;
  }
  velocity_fit fit;
  assert_int_equal(velocity_fit_find(system, count, motions, flags, &fit, NULL), CAROM_OK);
  free(motions);
  free(flags);
  carom_system_destroy(system);
  return fit;
}

static velocity_fit fit_of(const fall *f) { return fit_of_two(f, 1, NULL, 0); }

// the three conventions, with their distances: half the change of a step, g dt / 2, or all of it
static void conventions(void **state) {
  (void)state;
  static const double shifts[] = {0, -0.5, 0.5};
  static const velocity_convention expected[] = {VELOCITY_OF_STATE, VELOCITY_OF_STEP_BEFORE,
                                                 VELOCITY_OF_STEP_AFTER};
  for (int k = 0; k < 3; k++) {
    const fall f = falling(shifts[k]);
    const velocity_fit fit = fit_of(&f);
    const double half = -GRAVITY * DT / 2;
    assert_int_equal(fit.convention, expected[k]);
    assert_true(fabs(fit.central - 2 * half * fabs(shifts[k])) < 1e-9);
    assert_true(fabs(fit.backward - 2 * half * fabs(shifts[k] + 0.5)) < 1e-9);
    assert_true(fabs(fit.forward - 2 * half * fabs(shifts[k] - 0.5)) < 1e-9);
    // the first and the last state have no difference on one side; half of the others tell
    assert_int_equal(fit.states, (STATES - 2 + 1) / 2);
  }
}

// velocities change most in impacts: what stands beside one says nothing
static void impacts_do_not_tell(void **state) {
  (void)state;
  fall f = falling(0);
  for (int k = 5; k < STATES; k += 5) f.x[k * SIZE + 1] += 1, f.flags[k] = 1;
  // around them velocities are those of the step before: three of five states
  for (int k = 4; k < STATES; k++)
    if (k % 5 != 2 && k % 5 != 3)
      f.v[k * SIZE + 1] = (f.x[k * SIZE + 1] - f.x[(k - 1) * SIZE + 1]) / DT;
  int free_states = 0;
  for (int k = 1; k + 1 < STATES; k++)
    free_states += !f.flags[k - 1] && !f.flags[k] && !f.flags[k + 1];
  const velocity_fit fit = fit_of(&f);
  assert_int_equal(fit.convention, VELOCITY_OF_STATE);
  assert_int_equal(fit.states, (free_states + 1) / 2);
}

// of more states than are looked at some are taken, all over the data: the most decide, not the first
static void many_states(void **state) {
  (void)state;
  const fall first = falling(0), f = falling(-0.5);
  const velocity_fit fit = fit_of_two(&f, 1000, &first, 300);
  assert_int_equal(fit.convention, VELOCITY_OF_STEP_BEFORE);
  assert_in_range(fit.states, 5000, 10000);
}

static void too_few_states(void **state) {
  (void)state;
  fall f = falling(0);
  memset(f.flags + 12, 1, STATES - 12);
  assert_int_equal(fit_of(&f).convention, VELOCITY_UNDECIDED);
  // nor does a motion at one speed tell
  f = falling(0);
  for (int k = 0; k < STATES; k++) f.x[k * SIZE + 1] = f.v[k * SIZE + 1] = 0;
  assert_int_equal(fit_of(&f).convention, VELOCITY_UNDECIDED);
}

/* ---- from positions ---- */

// parabolas give the velocities of a parabola, on each side of an impact, a lone state included
static void estimates(void **state) {
  (void)state;
  for (int reach = 1; reach <= 2; reach++) {
    fall f = falling(0);
    double v[STATES * SIZE];
    uint8_t impacts[STATES] = {0};
    // a second piece that flies up; then a state alone
    enum { BOUNCE = 50, ALONE = 120 };
    impacts[BOUNCE] = impacts[ALONE] = impacts[ALONE + 1] = 1;
    for (int k = BOUNCE; k < ALONE; k++) {
      const double t = (k - BOUNCE) * DT;
      f.x[k * SIZE + 1] = 3 * t + 0.5 * GRAVITY * t * t;
      f.v[k * SIZE + 1] = 3 + GRAVITY * t;
    }
    const motion m = {STATES, SIZE, DT, f.x, NULL, NULL};
    velocity_estimate(&m, impacts, reach, v);
    for (int k = 0; k < STATES; k++) {
      if (k == ALONE) continue;
      assert_true(fabs(v[k * SIZE] - 0.5) < 1e-9);
      assert_true(fabs(v[k * SIZE + 1] - f.v[k * SIZE + 1]) < 1e-9);
    }
    // the central difference across both impacts
    const double *alone = f.x + ALONE * SIZE + 1;
    assert_true(fabs(v[ALONE * SIZE + 1] - (alone[SIZE] - alone[-SIZE]) / (2 * DT)) < 1e-9);
  }
}

// velocities of the step before or after are put at their states
static void shifts(void **state) {
  (void)state;
  const fall truth = falling(0);
  for (int after = 0; after < 2; after++) {
    const fall f = falling(after ? 0.5 : -0.5);
    const uint8_t impacts[STATES] = {0};
    double v[STATES * SIZE];
    const motion m = {STATES, SIZE, DT, f.x, f.v, NULL};
    assert_true(velocity_shift(&m, impacts, after, v));
    for (int i = 0; i < STATES * SIZE; i++) assert_true(fabs(v[i] - truth.v[i]) < 1e-9);
  }
}

/* ---- steps of any length --------------------------------------------------------------------- */

// the fall at times whose steps are from a half to one and a half of the usual one
static fall uneven_falling(double *t, double lag) {
  fall f = falling(0);
  for (int k = 0; k < STATES; k++) t[k] = k == 0 ? 7 : t[k - 1] + DT * (0.5 + (k * 7 % 11) / 10.0);
  for (int k = 0; k < STATES; k++) {
    const double at = t[k] - t[0], before = k > 0 ? t[k] - t[k - 1] : t[1] - t[0],
                 after = k + 1 < STATES ? t[k + 1] - t[k] : t[k] - t[k - 1];
    f.x[k * SIZE] = 0.5 * at;
    f.x[k * SIZE + 1] = 4 * at + 0.5 * GRAVITY * at * at;
    f.v[k * SIZE] = 0.5;
    f.v[k * SIZE + 1] = 4 + GRAVITY * (at + lag * (lag < 0 ? before : after));
  }
  return f;
}

static void uneven_steps(void **state) {
  (void)state;
  double t[STATES], v[STATES * SIZE];
  const uint8_t impacts[STATES] = {0};
  const fall truth = uneven_falling(t, 0);
  const motion positions = {STATES, SIZE, DT, truth.x, NULL, t};
  for (int reach = 1; reach <= 2; reach++) {
    velocity_estimate(&positions, impacts, reach, v);
    for (int i = 0; i < STATES * SIZE; i++) assert_true(fabs(v[i] - truth.v[i]) < 1e-9);
  }
  // inner states of velocities of the step before or after; at the ends a step is not known
  for (int after = 0; after < 2; after++) {
    const fall f = uneven_falling(t, after ? 0.5 : -0.5);
    const motion m = {STATES, SIZE, DT, f.x, f.v, t};
    assert_true(velocity_shift(&m, impacts, after, v));
    for (int i = 2 * SIZE; i < (STATES - 2) * SIZE; i++)
      assert_true(fabs(v[i] - truth.v[i]) < 1e-9);
  }
  // one-sided differences of second order
  for (int k = 2; k < STATES - 2; k++) {
    assert_true(fabs(motion_velocity_before(&positions, k, 1) - truth.v[k * SIZE + 1]) < 1e-9);
    assert_true(fabs(motion_velocity_after(&positions, k, 1) - truth.v[k * SIZE + 1]) < 1e-9);
  }
  // what free motion changes in a step is that of its neighbours, by their lengths
  const motion whole = {STATES, SIZE, DT, truth.x, truth.v, t};
  for (int k = 3; k < STATES - 3; k++)
    for (int given = 0; given < 2; given++) {
      const velocity_changes c = motion_changes(given ? &whole : &positions, k, 1);
      assert_true(fabs(c.within - c.before) < 1e-8 && fabs(c.within - c.after) < 1e-8);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conventions),  cmocka_unit_test(impacts_do_not_tell),
      cmocka_unit_test(many_states),  cmocka_unit_test(too_few_states),
      cmocka_unit_test(estimates),    cmocka_unit_test(shifts),
      cmocka_unit_test(uneven_steps),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
