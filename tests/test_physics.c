/* Laws that the engine has to keep: closed-form solutions, conservation, optimality. */
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
#include "base/rotation.h"
#include "physics/collision.h"
#include "support/quick.h"
#include "support/systems.h"
#include "system/sampler.h"

static double total_energy(const carom_system *s, const double *theta, const double *x,
                           const double *v) {
  double kinetic, potential_energy;
  carom_system_energy(s, theta, x, v, &kinetic, &potential_energy, NULL);
  return kinetic + potential_energy;
}

/* Simulates one state; the caller frees *x and *v. */
static void simulate_one(const carom_system *s, const carom_rollout_options *options,
                         const double *x0, const double *v0, double **x, double **v,
                         uint8_t *contacts) {
  size_t numbers = (size_t)(options->steps + 1) * (size_t)s->coordinate_count;
  carom_error error;
  *x = malloc(sizeof(double) * numbers);
  *v = malloc(sizeof(double) * numbers);
  if (carom_system_simulate(s, options, NULL, 1, x0, v0, *x, *v, contacts, NULL, &error) !=
      CAROM_OK)
    fail_msg("%s", error.message);
}

/* ---- closed forms ------------------------------------------------------------------------------ */

/* A ball thrown up comes down as the parabola says; RK4 is exact on it. */
static void test_free_flight(void **state) {
  (void)state;
  carom_system *s = parse_system(
      "{\"carom\":1,\"name\":\"throw\",\"dimension\":2,\"dt\":0.01,\"steps\":100,\"gravity\":[0,-9."
      "81],"
      "\"bodies\":[{\"id\":\"a\",\"type\":\"point\",\"mass\":2}],"
      "\"initial\":{\"sampler\":\"box\",\"low\":[0,0],\"high\":[1,1],\"speed\":1}}");
  carom_rollout_options options = carom_rollout_default_options(s);
  double x0[2] = {0.3, 0.2}, v0[2] = {1, 4}, *x, *v;
  simulate_one(s, &options, x0, v0, &x, &v, NULL);
  double t = 1;
  assert_true(fabs(x[200] - (0.3 + 1 * t)) < 1e-12);
  assert_true(fabs(x[201] - (0.2 + 4 * t - 9.81 / 2 * t * t)) < 1e-12);
  free(x);
  free(v);
  carom_system_destroy(s);
}

static const char *const DISK_ON_GROUND =
    "{\"carom\":1,\"name\":\"disk\",\"dimension\":2,\"dt\":0.01,\"steps\":1,\"gravity\":[0,0],"
    "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":1.5,\"radius\":0.1}],"
    "\"planes\":[{\"id\":\"ground\",\"normal\":[0,1],\"offset\":0}],"
    "\"contacts\":{\"friction\":%g,\"restitution\":%g},"
    "\"initial\":{\"sampler\":\"box\",\"low\":[0,1],\"high\":[1,2],\"speed\":1}}";

/* Velocity of a disk after it meets the ground with (v_x, v_y) and spin w, no penetration. */
static void bounce(double mu, double e, double vx, double vy, double w, double *after) {
  char text[1024];
  snprintf(text, sizeof text, DISK_ON_GROUND, mu, e);
  carom_system *s = parse_system(text);
  carom_rollout_options options = carom_rollout_default_options(s);
  options.penetration_compensation = false;
  // just above the ground, moving into it during one step
  double h = 1e-6, y = 0.1 - options.dt * vy - h;
  double x0[6] = {0, y, 1, y, 0, y + 1};
  double v0[6] = {vx, vy, vx, vy + w, vx - w, vy};
  double *x, *v;
  uint8_t contacts[2];
  simulate_one(s, &options, x0, v0, &x, &v, contacts);
  assert_int_equal(contacts[1], 1);
  // the body turned by w dt during the step: read the spin in its own axes
  double c = cos(w * options.dt), sn = sin(w * options.dt);
  after[0] = v[6];
  after[1] = v[7];
  after[2] = (v[8] - v[6]) * -sn + (v[9] - v[7]) * c;
  free(x);
  free(v);
  carom_system_destroy(s);
}

/* A disk that grips: the compression phase ends with the contact point at rest, so that with
 * inertia m r^2 / 2 the tangential impulse is -m u / 3, u = v_x + r w; restitution returns e times
 * the normal impulse and, the point being at rest, no more friction. */
static void test_gripping_disk(void **state) {
  (void)state;
  double after[3], r = 0.1, vx = 0.5, vy = -2, w = 3;
  bounce(2, 0.6, vx, vy, w, after);
  double u = vx + r * w;
  assert_true(fabs(after[0] - (vx - u / 3)) < 1e-7);
  assert_true(fabs(after[1] - 0.6 * 2) < 1e-7);
  assert_true(fabs(after[2] - (w - 2 * u / (3 * r))) < 1e-5);
}

/* Without friction only the normal velocity changes. */
static void test_frictionless_disk(void **state) {
  (void)state;
  double after[3];
  bounce(0, 0.7, 0.5, -2, 3, after);
  assert_true(fabs(after[0] - 0.5) < 1e-12);
  assert_true(fabs(after[1] - 1.4) < 1e-9);
  assert_true(fabs(after[2] - 3) < 1e-6);
}

/* A sliding block (a point mass) under the convex friction model: the impulse of compression lies
 * on the cone and minimises 1/2 f'f/m + f.v, f = f_n (1, -mu): f_n = m (|v_n| + mu v_t)/(1 + mu^2).
 * That is more than Coulomb's law gives, by the separation mu |v_t+| that the relaxation allows. */
static void test_sliding_point(void **state) {
  (void)state;
  carom_system *s = parse_system(
      "{\"carom\":1,\"name\":\"slide\",\"dimension\":2,\"dt\":0.01,\"steps\":1,\"gravity\":[0,0],"
      "\"bodies\":[{\"id\":\"a\",\"type\":\"point\",\"mass\":0.7,\"radius\":0.1}],"
      "\"planes\":[{\"id\":\"ground\",\"normal\":[0,1],\"offset\":0}],"
      "\"contacts\":{\"friction\":0.3,\"restitution\":0},"
      "\"initial\":{\"sampler\":\"box\",\"low\":[0,1],\"high\":[1,2],\"speed\":1}}");
  carom_rollout_options options = carom_rollout_default_options(s);
  options.penetration_compensation = false;
  double x0[2] = {0, 0.1 + 0.0199}, v0[2] = {3, -2}, *x, *v;
  simulate_one(s, &options, x0, v0, &x, &v, NULL);
  double mu = 0.3, impulse = (2 + mu * 3) / (1 + mu * mu); // per unit mass
  assert_true(fabs(v[2] - (3 - mu * impulse)) < 1e-12);
  assert_true(fabs(v[3] - (-2 + impulse)) < 1e-12);
  assert_true(fabs(v[3] - mu * v[2]) < 1e-12); // the artefact: s_n = mu |s_t|
  free(x);
  free(v);
  carom_system_destroy(s);
}

/* Two balls, central impact: the textbook velocities. */
static void test_two_balls(void **state) {
  (void)state;
  carom_system *s = parse_system(
      "{\"carom\":1,\"name\":\"two\",\"dimension\":2,\"dt\":0.01,\"steps\":1,\"gravity\":[0,0],"
      "\"bodies\":[{\"id\":\"a\",\"type\":\"point\",\"mass\":2,\"radius\":0.1},"
      "{\"id\":\"b\",\"type\":\"point\",\"mass\":3,\"radius\":0.1}],"
      "\"contacts\":{\"pairs\":true,\"friction\":0,\"restitution\":0.4},"
      "\"initial\":{\"sampler\":\"box\",\"low\":[0,0],\"high\":[1,1],\"speed\":1}}");
  carom_rollout_options options = carom_rollout_default_options(s);
  options.penetration_compensation = false;
  double x0[4] = {0, 0, 0.21, 0}, v0[4] = {2, 0, 0, 0}, *x, *v;
  simulate_one(s, &options, x0, v0, &x, &v, NULL);
  double common = 2 * 2.0 / 5;
  assert_true(fabs(v[4] - (common - 0.4 * 3.0 / 5 * 2)) < 1e-12);
  assert_true(fabs(v[6] - (common + 0.4 * 2.0 / 5 * 2)) < 1e-12);
  free(x);
  free(v);
  carom_system_destroy(s);
}

/* ---- energy without contacts ------------------------------------------------------------------- */

/* Relative energy drift of undisturbed motion over 100 time steps, the worst of ten samples.
 * Relative to the larger of kinetic and potential energy at the start. */
static double energy_drift(carom_system *s, carom_integrator integrator, int substeps) {
  double worst = 0;
  size_t bytes = sizeof(double) * (size_t)s->coordinate_count;
  double *x0 = malloc(bytes), *v0 = malloc(bytes);
  for (int sample = 0; sample < 10; sample++) {
    rng random;
    rng_seed(&random, 3, (uint64_t)sample);
    sampler_draw(s, &random, x0, v0);
    carom_rollout_options options = carom_rollout_default_options(s);
    options.steps = 100;
    options.substeps = substeps;
    options.integrator = integrator;
    options.dynamics = sample % 2 == 0 ? CAROM_LAGRANGIAN : CAROM_HAMILTONIAN;
    double *x, *v, kinetic, potential_energy;
    simulate_one(s, &options, x0, v0, &x, &v, NULL);
    carom_system_energy(s, NULL, x0, v0, &kinetic, &potential_energy, NULL);
    double end =
        total_energy(s, NULL, x + 100 * s->coordinate_count, v + 100 * s->coordinate_count);
    worst =
        fmax(worst, fabs(end - kinetic - potential_energy) / fmax(kinetic, fabs(potential_energy)));
    free(x);
    free(v);
  }
  free(x0);
  free(v0);
  return worst;
}

static const char *const drift_scenes[] = {"bp5-e", "bp5",  "bd5",    "bd1", "cp3-e",
                                           "cp3",   "rope", "gyro-e", "gyro"};

static carom_system *load_without_contacts(const char *scene) {
  carom_system *s = load_system(scene);
  s->plane_count = s->segments[CAROM_OFFSET].size = 0;
  s->pair_contacts = false;
  s->limit_count = 0;
  return s;
}

/* Energy of every scene with its contacts taken away. What one RK4 step a time step loses on fast
 * swings and spins is truncation: it falls with a power of the substep, and below 1e-6. Halving the substep
 * divides it by more than `fall`. */
static void check_energy_drift(carom_integrator integrator, double fall) {
  for (size_t k = 0; k < sizeof drift_scenes / sizeof drift_scenes[0]; k += quick() ? 3 : 1) {
    carom_system *s = load_without_contacts(drift_scenes[k]);
    print_message("%-6s drift with", drift_scenes[k]);
    double before = INFINITY, drift = INFINITY;
    for (int substeps = 1; substeps <= 32 && !(drift < 1e-6); substeps *= 2) {
      before = drift;
      drift = energy_drift(s, integrator, substeps);
      print_message(" %d substeps %.1e", substeps, drift);
      if (before < 1e-3) assert_true(drift < before / fall);
    }
    print_message("\n");
    assert_true(drift < 1e-6);
    carom_system_destroy(s);
  }
}

static void test_energy_drift(void **state) {
  (void)state;
  check_energy_drift(CAROM_RK4, 8);
  check_energy_drift(CAROM_RK4_SECANT, 7);
}

/* ---- the gradient taken twice ------------------------------------------------------------------ */

/* A mass on a spring, x'' = -400 x, for a hundredth of a second in so many steps: the error at the end. */
static double spring_error(int steps) {
  carom_system *s = parse_system(
      "{\"carom\":1,\"name\":\"spring\",\"dimension\":2,\"dt\":0.05,\"steps\":1,"
      "\"bodies\":[{\"id\":\"a\",\"type\":\"point\",\"mass\":1},"
      "{\"id\":\"b\",\"type\":\"point\",\"mass\":1}],"
      "\"springs\":[{\"ends\":[\"a\",\"b\"],\"stiffness\":100,\"length\":1}],"
      "\"initial\":{\"sampler\":\"box\",\"low\":[0,0],\"high\":[1,1]}}");
  carom_rollout_options options = carom_rollout_default_options(s);
  options.integrator = CAROM_RK4_SECANT;
  options.substeps = steps;
  const double x0[4] = {0, 0, 1.2, 0}, v0[4] = {0, 0, 0, 0};
  double *x, *v;
  simulate_one(s, &options, x0, v0, &x, &v, NULL);
  // V = k (r - 1)^2 and the reduced mass 1/2: r - 1 = 0.2 cos(sqrt(4 k) t)
  double error = fabs(x[4 + 2] - x[4] - 1 - 0.2 * cos(20 * 0.05));
  free(x);
  free(v);
  carom_system_destroy(s);
  return error;
}

/* rk4-secant is rk4 to the bit where the gradient of the potential is constant, whatever joints do; where
 * it is not, its error falls with the third power of the step. */
static void test_secants(void **state) {
  (void)state;
  static const char *const constant[] = {"bp5", "bd5", "cp3", "gyro"};
  for (size_t k = 0; k < sizeof constant / sizeof constant[0]; k++) {
    carom_system *s = load_system(constant[k]);
    const size_t bytes = sizeof(double) * (size_t)s->coordinate_count;
    double *x0 = malloc(bytes), *v0 = malloc(bytes), *x[2], *v[2];
    rng random;
    rng_seed(&random, 8, k);
    sampler_draw(s, &random, x0, v0);
    carom_rollout_options options = carom_rollout_default_options(s);
    options.steps = 60;
    for (int i = 0; i < 2; i++) {
      options.integrator = i == 0 ? CAROM_RK4 : CAROM_RK4_SECANT;
      simulate_one(s, &options, x0, v0, &x[i], &v[i], NULL);
    }
    assert_memory_equal(x[0], x[1], 61 * bytes);
    assert_memory_equal(v[0], v[1], 61 * bytes);
    for (int i = 0; i < 2; i++) {
      free(x[i]);
      free(v[i]);
    }
    free(x0);
    free(v0);
    carom_system_destroy(s);
  }
  double before = spring_error(2);
  for (int steps = 4; steps <= 64; steps *= 2) {
    double error = spring_error(steps);
    print_message("%d steps: %.1e\n", steps, error);
    assert_true(error < before / 7);
    before = error;
  }
}

/* ---- ropes in space ---------------------------------------------------------------------------- */

enum { ROPE_POINTS = 8, ROPE_STEPS = 40 };

static const char *const ROPE =
    "{\"carom\":1,\"name\":\"rope\",\"dimension\":%d,\"dt\":0.005,\"steps\":40,"
    "\"gravity\":%s,"
    "\"chains\":[{\"id\":\"rope\",\"points\":8,\"mass\":0.1,\"length\":0.05,\"stiffness\":50,"
    "\"bend_limit\":0.3,\"stretch_limits\":[0.8,1.2]}],"
    "\"contacts\":{\"friction\":0.3,\"restitution\":0.2},"
    "\"initial\":{\"sampler\":\"box\",\"low\":%s,\"high\":%s}}";

/* A rope that hangs on the origin. */
static carom_system *make_rope(int dimension, const double *gravity) {
  char text[1024], weight[128];
  bool flat = dimension == 2;
  snprintf(weight, sizeof weight, flat ? "[%.17g,%.17g]" : "[%.17g,%.17g,%.17g]", gravity[0],
           gravity[1], flat ? 0 : gravity[2]);
  snprintf(text, sizeof text, ROPE, dimension, weight, flat ? "[0,0]" : "[0,0,0]",
           flat ? "[1,1]" : "[1,1,1]");
  return parse_system(text);
}

/* Positions [ROPE_STEPS + 1][ROPE_POINTS][d] of a rope that is in contact most of the time; the
 * caller frees them. */
static double *move_rope(int d, const double *gravity, const double *x0, const double *v0) {
  carom_system *s = make_rope(d, gravity);
  carom_rollout_options options = carom_rollout_default_options(s);
  uint8_t contacts[ROPE_STEPS + 1];
  double *x, *v;
  simulate_one(s, &options, x0, v0, &x, &v, contacts);
  int touched = 0;
  for (int i = 0; i <= ROPE_STEPS; i++) touched += contacts[i];
  assert_true(touched > ROPE_STEPS / 2);
  free(v);
  carom_system_destroy(s);
  return x;
}

static double farthest(const double *a, const double *b, int count) {
  double worst = 0;
  for (int i = 0; i < count; i++) worst = fmax(worst, fabs(a[i] - b[i]));
  return worst;
}

/* In a coordinate plane of space a rope moves as it does in 2D: bends to either side, friction in
 * the limits, penetrations undone. */
static void test_rope_in_a_plane(void **state) {
  (void)state;
  enum { COUNT = (ROPE_STEPS + 1) * ROPE_POINTS };
  const double gravity[2] = {3, -9};
  double worst = 0;
  for (int k = 0; k < 30; k++) {
    // axes of the plane: xy, yz, zx
    int first = k % 3, second = (k + 1) % 3;
    double x0[ROPE_POINTS * 2], v0[ROPE_POINTS * 2], weight[3] = {0};
    double x1[ROPE_POINTS * 3] = {0}, v1[ROPE_POINTS * 3] = {0}, expected[COUNT * 3] = {0};
    rng random;
    rng_seed(&random, 31, (uint64_t)k);
    double angle = rng_uniform(&random, 0, 3), x = 0, y = 0;
    for (int i = 0; i < ROPE_POINTS; i++) {
      x0[i * 2] = x += 0.05 * sin(angle);
      x0[i * 2 + 1] = y -= 0.05 * cos(angle);
      angle += rng_uniform(&random, -0.35, 0.35);
      for (int j = 0; j < 2; j++) v0[i * 2 + j] = 0.5 * rng_normal(&random);
    }
    for (int i = 0; i < ROPE_POINTS; i++) {
      x1[i * 3 + first] = x0[i * 2], x1[i * 3 + second] = x0[i * 2 + 1];
      v1[i * 3 + first] = v0[i * 2], v1[i * 3 + second] = v0[i * 2 + 1];
    }
    weight[first] = gravity[0], weight[second] = gravity[1];
    double *flat = move_rope(2, gravity, x0, v0), *space = move_rope(3, weight, x1, v1);
    for (int i = 0; i < COUNT; i++) {
      expected[i * 3 + first] = flat[i * 2];
      expected[i * 3 + second] = flat[i * 2 + 1];
    }
    worst = fmax(worst, farthest(space, expected, COUNT * 3));
    free(flat);
    free(space);
  }
  print_message("positions in space differ from those in the plane by %.1e\n", worst);
  assert_true(worst < 1e-12);
}

/* out_i = R in_i for `count` points */
static void turn_points(const double *rotation, const double *in, int count, double *out) {
  for (int p = 0; p < count; p++)
    for (int i = 0; i < 3; i++) {
      out[p * 3 + i] = 0;
      for (int j = 0; j < 3; j++) out[p * 3 + i] += rotation[i * 3 + j] * in[p * 3 + j];
    }
}

/* Space has no preferred direction: turned at the start, turned all the way. */
static void test_turned_rope(void **state) {
  (void)state;
  enum { COUNT = (ROPE_STEPS + 1) * ROPE_POINTS };
  const double gravity[3] = {1, 2, -9};
  double worst = 0;
  for (int k = 0; k < 30; k++) {
    double x0[ROPE_POINTS * 3], v0[ROPE_POINTS * 3], x1[ROPE_POINTS * 3], v1[ROPE_POINTS * 3];
    double vector[3], rotation[9], weight[3], expected[COUNT * 3];
    rng random;
    rng_seed(&random, 32, (uint64_t)k);
    for (int i = 0; i < ROPE_POINTS; i++)
      for (int j = 0; j < 3; j++) {
        x0[i * 3 + j] = 0.05 * (i + 1) * (j == 0) + 0.006 * rng_normal(&random);
        v0[i * 3 + j] = 0.5 * rng_normal(&random);
      }
    for (int j = 0; j < 3; j++) vector[j] = rng_normal(&random);
    rotation_from_vector(vector, rotation);
    turn_points(rotation, x0, ROPE_POINTS, x1);
    turn_points(rotation, v0, ROPE_POINTS, v1);
    turn_points(rotation, gravity, 1, weight);
    double *straight = move_rope(3, gravity, x0, v0), *turned = move_rope(3, weight, x1, v1);
    turn_points(rotation, straight, COUNT, expected);
    worst = fmax(worst, farthest(turned, expected, COUNT * 3));
    free(straight);
    free(turned);
  }
  print_message("positions of the turned rope differ by %.1e\n", worst);
  assert_true(worst < 1e-12);
}

/* Segments folded onto each other have no plane to unfold in; one is taken: the tip feels rows of
 * length 1 / 0.05 that are orthogonal, the normal one across the segment. */
static void test_folded_rope(void **state) {
  (void)state;
  const double gravity[3] = {0};
  carom_system *s = make_rope(3, gravity);
  double x[ROPE_POINTS * 3] = {0}, x_bar[ROPE_POINTS * 3] = {0};
  double *theta_bar = calloc((size_t)s->parameter_count, sizeof(double));
  for (int i = 0; i < ROPE_POINTS; i++) x[i * 3 + 1] = i % 2 == 0 ? 0.05 : 0;
  contact_id id = {.kind = CONTACT_LIMIT};
  contact c;
  arena memory;
  arena_init(&memory);
  contact_geometry(s, &id, x, &c, &memory);
  assert_near(c.gap, 0.3 - acos(-1), 1e-15);
  assert_int_equal(c.point_count, 2);
  assert_int_equal(c.point[1], 1);
  const double *tip = c.block + 9;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      double product = 0;
      for (int q = 0; q < 3; q++) product += tip[i * 3 + q] * tip[j * 3 + q];
      assert_near(product, i == j ? 400 : 0, 1e-12);
    }
  assert_near(tip[1], 0, 1e-15);

  // derivatives are numbers
  double block_bar[18];
  for (int i = 0; i < 18; i++) block_bar[i] = i % 5 - 2;
  contact_geometry_vjp(s, &c, x, block_bar, 1, x_bar, theta_bar);
  for (int i = 0; i < ROPE_POINTS * 3; i++) assert_true(isfinite(x_bar[i]));
  free(theta_bar);
  arena_free(&memory);
  carom_system_destroy(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_free_flight),       cmocka_unit_test(test_gripping_disk),
      cmocka_unit_test(test_frictionless_disk), cmocka_unit_test(test_sliding_point),
      cmocka_unit_test(test_two_balls),         cmocka_unit_test(test_energy_drift),
      cmocka_unit_test(test_secants),           cmocka_unit_test(test_rope_in_a_plane),
      cmocka_unit_test(test_turned_rope),       cmocka_unit_test(test_folded_rope),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
