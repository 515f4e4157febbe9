/* Motion on the other side of an impact: beside closed forms, and its derivative beside
 * differences. */
#include "fit/branch.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "rollout/rollout.h"
#include "support/systems.h"

/* One time step of a system from a state, and flights from its impacts. */
typedef struct fixture {
  carom_system *system;
  carom_rollout *rollout;
  branch_flight flight;
  double theta[64];
  double x0[16], v0[16];
  int D;
} fixture;

// in place: the flight points into itself
static void fixture_make(fixture *f, const char *scene) {
  *f = (fixture){.system = load_system(scene)};
  carom_rollout_options how = carom_rollout_default_options(f->system);
  how.steps = 1;
  how.shard_size = how.threads = 1;
  how.keep_impacts = true;
  how.contact_time = CAROM_CONTACT_TIME_EVENT;
  f->D = f->system->coordinate_count;
  assert_true(f->D <= 16 && f->system->parameter_count <= 64);
  carom_parameters_default(f->system, f->theta);
  assert_int_equal(carom_rollout_create(f->system, &how, 1, &f->rollout, NULL), CAROM_OK);
  assert_true(branch_flight_init(&f->flight, f->system, &how));
}

static void fixture_free(fixture *f) {
  branch_flight_free(&f->flight);
  carom_rollout_destroy(f->rollout);
  carom_system_destroy(f->system);
}

// the state of a side of one of the impacts
static void side_of(fixture *f, branch_side side, int impact, double *s) {
  mechanics_set_parameters(&f->flight.mechanics, f->theta);
  assert_int_equal(carom_rollout_run(f->rollout, f->theta, f->x0, f->v0, NULL), CAROM_OK);
  assert_true(impact < carom_rollout_impact_count(f->rollout, 0));
  branch_state(&f->flight, f->rollout, 0, side, impact, s);
}

// a disk of radius 0.1 that falls to the ground without turning, `gap` above it
static void drop(fixture *f, double gap, double sideways, double down) {
  const double points[6] = {0.5, 0.1 + gap, 1.5, 0.1 + gap, 0.5, 1.1 + gap};
  for (int i = 0; i < 6; i++) {
    f->x0[i] = points[i];
    f->v0[i] = i % 2 == 0 ? sideways : -down;
  }
}

/* bd1: gravity 9.81, restitution 0.8, time step 0.01. */
static void test_closed_form(void **state) {
  (void)state;
  const double g = 9.81, e = 0.8, gap = 0.006, down = 1.5, dt = 0.01;
  fixture f;
  fixture_make(&f, "bd1");
  double s[12], hit = sqrt(down * down + 2 * g * gap), time = (hit - down) / g;
  drop(&f, gap, 0, down);
  side_of(&f, BRANCH_BEFORE, 0, s);
  assert_near(s[1], 0.1 + gap - down * dt - g * dt * dt / 2, 1e-12);
  assert_near(s[7], -down - g * dt, 1e-12);
  side_of(&f, BRANCH_AFTER, 0, s);
  assert_near(s[1], 0.1 - e * hit * time - g * time * time / 2, 1e-12);
  assert_near(s[7], e * hit + g * time, 1e-12);
  fixture_free(&f);
}

/* Without restitution the disk stays on the ground after the impact, and is continued along it. */
static void test_lasting_contact(void **state) {
  (void)state;
  fixture f;
  fixture_make(&f, "bd1");
  double s[12];
  for (int i = 0; i < f.system->contact_count; i++)
    f.theta[f.system->segments[CAROM_RESTITUTION].offset + i] = 0;
  drop(&f, 0.004, 0, 1);
  side_of(&f, BRANCH_AFTER, 0, s);
  assert_near(s[1], 0.1, 1e-9);
  assert_near(s[7], 0, 1e-6);
  fixture_free(&f);
}

static double along(fixture *f, branch_side side, int impact, const double *s_bar) {
  double s[32], sum = 0;
  side_of(f, side, impact, s);
  for (int i = 0; i < 2 * f->D; i++) sum += s_bar[i] * s[i];
  return sum;
}

static double difference(fixture *f, branch_side side, int impact, const double *s_bar,
                         double *number) {
  const double h = 1e-6, at = *number;
  *number = at + h;
  double up = along(f, side, impact, s_bar);
  *number = at - h;
  double down = along(f, side, impact, s_bar);
  *number = at;
  return (up - down) / (2 * h);
}

/* Both sides of one impact of the step that f stands before. */
static void check_derivative(fixture *f, int impact) {
  double s[32], s_bar[32], v_bar[32], theta_bar[64], x0_bar[16], v0_bar[16];
  rng random;
  rng_seed(&random, 5, 1);
  for (int side = 0; side < BRANCH_SIDES; side++) {
    for (int i = 0; i < 2 * f->D; i++) s_bar[i] = rng_normal(&random);
    side_of(f, (branch_side)side, impact, s);
    branch_state_vjp(&f->flight, f->rollout, 0, (branch_side)side, impact, s_bar, v_bar, theta_bar);
    assert_int_equal(carom_rollout_vjp(f->rollout, NULL, v_bar, x0_bar, v0_bar, NULL, NULL),
                     CAROM_OK);
    const double *through = rollout_theta_bar(f->rollout, 0);
    for (int i = 0; i < f->system->parameter_count; i++) theta_bar[i] += through[i];
    // states of a body that stays one: its centre, and its velocity
    for (int i = 0; i < 2; i++) {
      double moved = 0, faster = 0, by = 0, by_v = 0;
      for (int k = 0; k < 3; k++) {
        by += x0_bar[2 * k + i];
        by_v += v0_bar[2 * k + i];
      }
      const double h = 1e-6;
      double costs[4];
      for (int k = 0; k < 3; k++) f->x0[2 * k + i] += h;
      costs[0] = along(f, (branch_side)side, impact, s_bar);
      for (int k = 0; k < 3; k++) f->x0[2 * k + i] -= 2 * h;
      costs[1] = along(f, (branch_side)side, impact, s_bar);
      for (int k = 0; k < 3; k++) f->x0[2 * k + i] += h, f->v0[2 * k + i] += h;
      costs[2] = along(f, (branch_side)side, impact, s_bar);
      for (int k = 0; k < 3; k++) f->v0[2 * k + i] -= 2 * h;
      costs[3] = along(f, (branch_side)side, impact, s_bar);
      for (int k = 0; k < 3; k++) f->v0[2 * k + i] += h;
      moved = (costs[0] - costs[1]) / (2 * h);
      faster = (costs[2] - costs[3]) / (2 * h);
      assert_near(by, moved, 1e-5 * (1 + fabs(moved)));
      assert_near(by_v, faster, 1e-5 * (1 + fabs(faster)));
    }
    for (int i = 0; i < f->system->parameter_count; i++) {
      double by = difference(f, (branch_side)side, impact, s_bar, &f->theta[i]);
      assert_near(theta_bar[i], by, 1e-5 * (1 + fabs(by)));
    }
  }
}

static void test_derivative(void **state) {
  (void)state;
  fixture f;
  fixture_make(&f, "bd1");
  drop(&f, 0.006, 0.7, 1.5);
  check_derivative(&f, 0);
  fixture_free(&f);
}

// a disk that flies into the corner between the ground and the wall on the left, which it meets
// first
static void fly_into_corner(fixture *f) {
  const double points[6] = {0.104, 0.108, 1.104, 0.108, 0.104, 1.108};
  for (int i = 0; i < 6; i++) {
    f->x0[i] = points[i];
    f->v0[i] = i % 2 == 0 ? -1.2 : -1.1;
  }
}

/* Of two impacts in a step each has sides of its own: between them the disk has bounced once. */
static void test_two_impacts(void **state) {
  (void)state;
  const double g = 9.81, dt = 0.01;
  fixture f;
  double s[12], v[4];
  fixture_make(&f, "bd1");
  fly_into_corner(&f);
  side_of(&f, BRANCH_BEFORE, 1, s);
  assert_int_equal(carom_rollout_impact_count(f.rollout, 0), 2);
  carom_impact first = carom_rollout_impact(f.rollout, 0, 0);
  memcpy(v, first.v_after, sizeof v);
  // from the first impact on to the end of the step, as if the second were not there
  double rest = dt - first.time;
  assert_near(s[0], first.x[0] + v[0] * rest, 1e-9);
  assert_near(s[1], first.x[1] + v[1] * rest - g * rest * rest / 2, 1e-9);
  assert_near(s[6], v[0], 1e-9);
  assert_near(s[7], v[1] - g * rest, 1e-9);
  // and from the second back to the first, and on as if that were not there
  side_of(&f, BRANCH_AFTER, 0, s);
  first = carom_rollout_impact(f.rollout, 0, 0);
  assert_near(s[0], first.x[0] - first.v_after[0] * first.time, 1e-9);
  assert_near(s[7], first.v_after[1] + g * first.time, 1e-9);
  for (int impact = 0; impact < 2; impact++) check_derivative(&f, impact);
  fixture_free(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_closed_form), cmocka_unit_test(test_lasting_contact),
      cmocka_unit_test(test_derivative), cmocka_unit_test(test_two_impacts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
