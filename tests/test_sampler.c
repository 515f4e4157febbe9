/* Initial states drawn by the samplers: they hold the constraints, and they are distributed as the
 * scene says. Means over N draws are compared within five standard errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rotation.h"
#include "support/systems.h"
#include "system/sampler.h"

enum { DRAWS = 4000, SEED = 7 };

// a scene with memory for one state
typedef struct fixture {
  carom_system *system;
  double *x, *v;
} fixture;

static fixture fixture_of(carom_system *system) {
  size_t size = (size_t)system->coordinate_count;
  return (fixture){
      .system = system, .x = calloc(size, sizeof(double)), .v = calloc(size, sizeof(double))};
}

static fixture fixture_make(const char *name) { return fixture_of(load_system(name)); }
static fixture fixture_parse(const char *text) { return fixture_of(parse_system(text)); }

static void fixture_free(fixture *f) {
  carom_system_destroy(f->system);
  free(f->x);
  free(f->v);
}

static void draw(fixture *f, int sample) {
  rng r;
  rng_seed(&r, SEED, (uint64_t)sample);
  sampler_draw(f->system, &r, f->x, f->v);
}

// running mean and variance of a quantity, with its bounds
typedef struct statistic {
  double sum, square, low, high;
  int count;
} statistic;

static void add(statistic *s, double value) {
  if (s->count == 0) s->low = s->high = value;
  s->low = fmin(s->low, value);
  s->high = fmax(s->high, value);
  s->sum += value;
  s->square += value * value;
  s->count++;
}

static double deviation(const statistic *s) {
  double mean = s->sum / s->count;
  return sqrt(s->square / s->count - mean * mean);
}

static void assert_distribution(const statistic *s, double mean, double expected_deviation) {
  double found = s->sum / s->count;
  double error = expected_deviation / sqrt(s->count);
  if (!(fabs(found - mean) <= 5 * error)) fail_msg("mean %g instead of %g", found, mean);
  if (!(fabs(deviation(s) - expected_deviation) <= 5 * error))
    fail_msg("deviation %g instead of %g", deviation(s), expected_deviation);
}

static void assert_bounds(const statistic *s, double low, double high) {
  double margin = 0.02 * (high - low);
  if (!(s->low >= low && s->low < low + margin && s->high <= high && s->high > high - margin))
    fail_msg("range %g to %g instead of %g to %g", s->low, s->high, low, high);
}

static void check_draws(fixture *f, int count) {
  for (int i = 0; i < count; i++) {
    carom_error error;
    draw(f, i);
    if (carom_system_check_states(f->system, 1, f->x, f->v, 1e-12, &error) != CAROM_OK)
      fail_msg("%s, draw %d: %s", f->system->name, i, error.message);
  }
}

static void draws_hold_the_constraints(void **state) {
  (void)state;
  for (int i = 0; i < carom_scene_count(); i++) {
    fixture f = fixture_make(carom_scene_name(i));
    check_draws(&f, 200);
    fixture_free(&f);
  }
  static const char *const names[] = {"falling-box", "spheres", "double-pendulum", "tethered-disk"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char path[512];
    snprintf(path, sizeof path, "%s/examples/scenes/%s.json", CAROM_SOURCE_DIR, names[i]);
    fixture f = fixture_make(path);
    check_draws(&f, 50);
    fixture_free(&f);
  }
}

// the order of links and bodies in the file does not matter, nor which end is named first
static void pendulums_in_any_order(void **state) {
  (void)state;
  fixture f = fixture_parse(
      "{\"carom\": 1, \"name\": \"p\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 1, \"bodies\": ["
      "{\"id\": \"low\", \"type\": \"point\", \"mass\": 1},"
      "{\"id\": \"high\", \"type\": \"point\", \"mass\": 1}], \"joints\": ["
      "{\"type\": \"link\", \"ends\": [\"low\", \"high\"], \"length\": 2},"
      "{\"type\": \"link\", \"ends\": [\"high\", [3, 4]], \"length\": 1}], \"initial\": {"
      "\"sampler\": \"angles\", \"bodies\": [\"high\", \"low\"], \"angle\": [-3, 3], \"rate\": "
      "2}}");
  check_draws(&f, 100);
  assert_true(f.system->initial.anchor[0] == 3 && f.system->initial.anchor[1] == 4);
  fixture_free(&f);
}

static void chains_of_rigid_links(void **state) {
  (void)state;
  fixture f = fixture_parse(
      "{\"carom\": 1, \"name\": \"c\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 1, \"chains\": [{"
      "\"id\": \"c\", \"points\": 30, \"mass\": 1, \"length\": 0.5, \"anchor\": [1, 2]}],"
      "\"initial\": {\"sampler\": \"chain\", \"angle\": [-3, 3], \"bend\": 1, \"rate\": 2}}");
  assert_int_equal(f.system->row_count, 30);
  assert_int_equal(f.system->constraint_shape.start[30], 59); // tridiagonal
  check_draws(&f, 100);
  fixture_free(&f);
}

static void balls_in_a_box(void **state) {
  (void)state;
  fixture f = fixture_make("bp5");
  statistic position = {0}, velocity = {0};
  for (int i = 0; i < DRAWS; i++) {
    draw(&f, i);
    for (int k = 0; k < f.system->coordinate_count; k++) {
      add(&position, f.x[k]);
      add(&velocity, f.v[k]);
    }
  }
  assert_distribution(&position, 0.5, sqrt(1.0 / 12));
  assert_bounds(&position, 0, 1);
  assert_distribution(&velocity, 0, 1);
  fixture_free(&f);
}

static void disks_in_a_box(void **state) {
  (void)state;
  fixture f = fixture_make("bd1");
  statistic speed = {0}, angle = {0}, rate = {0};
  for (int i = 0; i < DRAWS; i++) {
    draw(&f, i);
    double axis[2] = {f.x[2] - f.x[0], f.x[3] - f.x[1]};
    add(&speed, f.v[0]);
    add(&angle, atan2(axis[1], axis[0]));
    add(&rate, axis[0] * (f.v[3] - f.v[1]) - axis[1] * (f.v[2] - f.v[0]));
    // the second axis is the first one turned to the left
    assert_true(fabs(f.x[4] - f.x[0] + axis[1]) < 1e-14);
    assert_true(fabs(f.x[5] - f.x[1] - axis[0]) < 1e-14);
  }
  assert_distribution(&speed, 0, 0.5);
  assert_distribution(&angle, 0, 3.14159265 / sqrt(3));
  assert_distribution(&rate, 0, 0.5);
  fixture_free(&f);
}

static void bodies_in_space(void **state) {
  (void)state;
  char path[512];
  snprintf(path, sizeof path, "%s/examples/scenes/spheres.json", CAROM_SOURCE_DIR);
  fixture f = fixture_make(path);
  statistic entries = {0}, trace = {0}, along = {0};
  for (int i = 0; i < DRAWS; i++) {
    draw(&f, i);
    double sum = 0;
    for (int k = 0; k < 3; k++) {
      for (int l = 0; l < 3; l++) add(&entries, f.x[3 * (k + 1) + l] - f.x[l]);
      sum += f.x[3 * (k + 1) + k] - f.x[k];
    }
    add(&trace, sum);
    // velocity of the second tip along the first axis: a component of the spin
    double component = 0;
    for (int l = 0; l < 3; l++) component += (f.v[6 + l] - f.v[l]) * (f.x[3 + l] - f.x[l]);
    add(&along, component);
  }
  // uniform rotations: entries have mean 0 and mean square 1/3, the trace mean 0 and mean square 1
  assert_distribution(&entries, 0, sqrt(1.0 / 3));
  assert_distribution(&trace, 0, 1);
  assert_distribution(&along, 0, 2);
  fixture_free(&f);
}

static void pendulum_angles(void **state) {
  (void)state;
  fixture f = fixture_make("cp3");
  statistic angle = {0}, rate = {0};
  static const double lengths[3] = {0.35, 0.4, 0.35};
  for (int i = 0; i < DRAWS; i++) {
    draw(&f, i);
    double before[4] = {0};
    for (int k = 0; k < 3; k++) {
      double dx = f.x[2 * k] - before[0], dy = f.x[2 * k + 1] - before[1];
      double du = f.v[2 * k] - before[2], dw = f.v[2 * k + 1] - before[3];
      add(&angle, atan2(dx, -dy));
      add(&rate, (dx * dw - dy * du) / (lengths[k] * lengths[k]));
      before[0] = f.x[2 * k], before[1] = f.x[2 * k + 1];
      before[2] = f.v[2 * k], before[3] = f.v[2 * k + 1];
    }
  }
  assert_distribution(&angle, 1.57, 3.14 / sqrt(12));
  assert_bounds(&angle, 0, 3.14);
  assert_distribution(&rate, 0, 1);
  fixture_free(&f);
}

static void rope_bends(void **state) {
  (void)state;
  fixture f = fixture_make("rope");
  statistic first = {0}, bend = {0};
  for (int i = 0; i < DRAWS; i++) {
    draw(&f, i);
    double before = atan2(f.x[0], -f.x[1]);
    add(&first, before);
    for (int k = 1; k < 10; k++) {
      double dx = f.x[2 * k] - f.x[2 * k - 2], dy = f.x[2 * k + 1] - f.x[2 * k - 1];
      assert_true(fabs(hypot(dx, dy) - 0.05) < 1e-14);
      double angle = atan2(dx, -dy);
      add(&bend, remainder(angle - before, 2 * 3.14159265358979323846));
      before = angle;
    }
  }
  assert_distribution(&first, 1.57, 3.14 / sqrt(12));
  assert_distribution(&bend, 0, 0.6 / sqrt(12));
  assert_bounds(&bend, -0.3, 0.3);
  fixture_free(&f);
}

// Euler angles and rates found again from the state
static void gyroscope_angles(void **state) {
  (void)state;
  fixture f = fixture_make("gyro");
  statistic phi = {0}, theta = {0}, phi_rate = {0}, theta_rate = {0}, spin = {0}, sign = {0};
  for (int i = 0; i < DRAWS; i++) {
    draw(&f, i);
    double axis[3][3], rate[3][3];
    for (int k = 0; k < 3; k++) {
      for (int l = 0; l < 3; l++) {
        axis[k][l] = f.x[3 * (k + 1) + l] - f.x[l];
        rate[k][l] = f.v[3 * (k + 1) + l] - f.v[l];
      }
    }
    // the third axis is (sin phi sin theta, -cos phi sin theta, cos theta); theta may be negative,
    // in which case (phi + pi, -theta) looks the same: phi within a quarter turn tells
    double angle = atan(axis[2][0] / -axis[2][1]);
    double tilt = copysign(acos(axis[2][2]), -axis[2][1] / cos(angle));
    add(&phi, angle);
    add(&theta, tilt);
    double node[3] = {cos(angle), sin(angle), 0};
    double along = 0;
    for (int l = 0; l < 3; l++) along += rate[2][l] * node[l];
    if (fabs(sin(tilt)) > 0.05) add(&phi_rate, along / sin(tilt));
    double fall = -rate[2][2] / sin(tilt);
    if (fabs(sin(tilt)) > 0.05) add(&theta_rate, fall);
    // omega along the third axis is the velocity of the first tip along the second axis
    double component = 0;
    for (int l = 0; l < 3; l++) component += rate[0][l] * axis[1][l];
    double psi_rate = component - along / sin(tilt) * cos(tilt);
    if (fabs(sin(tilt)) > 0.05) {
      add(&spin, fabs(psi_rate));
      add(&sign, psi_rate > 0 ? 1 : -1);
    }
  }
  assert_distribution(&phi, 0, 3 / sqrt(12));
  assert_distribution(&theta, 0, 3 / sqrt(12));
  assert_bounds(&theta, -1.5, 1.5);
  assert_distribution(&phi_rate, 0, 9 / sqrt(12));
  assert_distribution(&theta_rate, 0, 0.6 / sqrt(12));
  assert_distribution(&spin, 10.5, 1.5);
  assert_distribution(&sign, 0, 1);
  fixture_free(&f);
}

static void draws_depend_on_seed_and_sample_only(void **state) {
  (void)state;
  fixture f = fixture_make("bd5");
  size_t size = sizeof(double) * (size_t)f.system->coordinate_count;
  double *x = malloc(size), *v = malloc(size);
  draw(&f, 3);
  memcpy(x, f.x, size);
  memcpy(v, f.v, size);
  draw(&f, 4);
  assert_memory_not_equal(x, f.x, size);
  for (int i = 0; i < 4; i++) draw(&f, i);
  assert_memory_equal(x, f.x, size);
  assert_memory_equal(v, f.v, size);
  free(x);
  free(v);
  fixture_free(&f);
}

static void samples_do_not_depend_on_their_number(void **state) {
  (void)state;
  enum { MANY = 6, FEW = 2 };
  fixture f = fixture_make("cp3");
  int size = f.system->coordinate_count;
  double x[MANY * 6], v[MANY * 6], fewer_x[FEW * 6], fewer_v[FEW * 6];
  assert_int_equal(size, 6);
  assert_int_equal(carom_system_sample(f.system, SEED, MANY, x, v, NULL), CAROM_OK);
  assert_int_equal(carom_system_sample(f.system, SEED, FEW, fewer_x, fewer_v, NULL), CAROM_OK);
  assert_memory_equal(x, fewer_x, sizeof fewer_x);
  assert_memory_equal(v, fewer_v, sizeof fewer_v);
  // another seed gives other states
  assert_int_equal(carom_system_sample(f.system, SEED + 1, FEW, fewer_x, fewer_v, NULL), CAROM_OK);
  assert_memory_not_equal(x, fewer_x, sizeof fewer_x);
  fixture_free(&f);
}

static void a_rotation_vector_turns(void **state) {
  (void)state;
  const double quarter[3] = {0, 0, 3.14159265358979323846 / 2}, none[3] = {0};
  double rotation[9], euler[9];
  rotation_from_vector(quarter, rotation);
  rotation_from_euler(quarter[2], 0, 0, euler);
  for (int k = 0; k < 9; k++) assert_true(fabs(rotation[k] - euler[k]) < 1e-15);
  assert_true(fabs(rotation[3] - 1) < 1e-15); // x goes to y
  rotation_from_vector(none, rotation);
  for (int k = 0; k < 9; k++) assert_true(rotation[k] == (k % 4 == 0 ? 1 : 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(draws_hold_the_constraints),
      cmocka_unit_test(pendulums_in_any_order),
      cmocka_unit_test(chains_of_rigid_links),
      cmocka_unit_test(balls_in_a_box),
      cmocka_unit_test(disks_in_a_box),
      cmocka_unit_test(bodies_in_space),
      cmocka_unit_test(pendulum_angles),
      cmocka_unit_test(rope_bends),
      cmocka_unit_test(gyroscope_angles),
      cmocka_unit_test(draws_depend_on_seed_and_sample_only),
      cmocka_unit_test(samples_do_not_depend_on_their_number),
      cmocka_unit_test(a_rotation_vector_turns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
