/* States put on the equality constraints: they hold to rounding, no impulse from outside has acted,
 * units and place do not matter, a way that does not arrive is said. Derivatives are in
 * test_derivatives.c, those at states far off, near and on the constraints here. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "physics/constraint_projection.h"
#include "support/differences.h"
#include "support/systems.h"
#include "system/sampler.h"

/* ---- a state off the constraints ---------------------------------------------------------------- */

typedef struct fixture {
  carom_system *system;
  mechanics mechanics;
  int size;
  double *theta, *x, *v, *weight; /* inputs, and a functional [2D] of what comes out */
  double *theta_bar, *x_bar, *v_bar;
  arena memory;
} fixture;

static void fixture_open(fixture *f, carom_system *system) {
  *f = (fixture){.system = system, .size = system->coordinate_count};
  arena_init(&f->memory);
  mechanics_init(&f->mechanics, system);
  double **vectors[] = {&f->x, &f->v, &f->x_bar, &f->v_bar};
  for (int i = 0; i < 4; i++) *vectors[i] = arena_zeros(&f->memory, f->size);
  f->weight = arena_zeros(&f->memory, 2 * f->size);
  f->theta = arena_zeros(&f->memory, system->parameter_count);
  f->theta_bar = arena_zeros(&f->memory, system->parameter_count);
  carom_parameters_default(system, f->theta);
  mechanics_set_parameters(&f->mechanics, f->theta);
}

static void fixture_close(fixture *f) {
  mechanics_free(&f->mechanics);
  carom_system_destroy(f->system);
  arena_free(&f->memory);
}

static void fixture_draw(fixture *f, rng *random, double noise) {
  sampler_draw(f->system, random, f->x, f->v);
  for (int i = 0; i < f->size; i++) f->x[i] += noise * rng_normal(random);
  for (int i = 0; i < f->size; i++) f->v[i] += rng_normal(random);
  for (int i = 0; i < 2 * f->size; i++) f->weight[i] = rng_normal(random);
}

static double *copy_of(fixture *f, const double *values) {
  double *copy = arena_doubles(&f->memory, f->size);
  memcpy(copy, values, sizeof(double) * (size_t)f->size);
  return copy;
}

static const char *const scenes[] = {
    "bd5",
    "cp3",
    "gyro",
    CAROM_SOURCE_DIR "/examples/scenes/double-pendulum.json",
    CAROM_SOURCE_DIR "/examples/scenes/tethered-disk.json",
    CAROM_SOURCE_DIR "/examples/scenes/spheres.json",
    CAROM_TEST_DATA "/bodies3d.json",
    CAROM_TEST_DATA "/rigid-chain.json",
    CAROM_TEST_DATA "/rigid-chain3d.json",
    CAROM_TEST_DATA "/cases/hingeleg.json",
};
enum { SCENE_COUNT = sizeof scenes / sizeof scenes[0] };

/* ---- what holds afterwards ---------------------------------------------------------------------- */

static void test_constraints_hold(void **state) {
  (void)state;
  for (int k = 0; k < SCENE_COUNT; k++) {
    fixture f;
    rng random;
    carom_error error;
    fixture_open(&f, load_system(scenes[k]));
    rng_seed(&random, 3, (uint64_t)k);
    for (int draw = 0; draw < 50; draw++) {
      fixture_draw(&f, &random, 0.01);
      assert_int_equal(project_state(&f.mechanics, f.x, f.v, &f.memory), 0);
      if (carom_system_check_states(f.system, 1, f.x, f.v, 1e-12, &error) != CAROM_OK)
        fail_msg("%s, draw %d: %s", scenes[k], draw, error.message);

      // and a second time nothing changes
      const double *x = copy_of(&f, f.x), *v = copy_of(&f, f.v);
      project_state(&f.mechanics, f.x, f.v, &f.memory);
      for (int i = 0; i < f.size; i++) assert_near(f.x[i], x[i], 3e-15 * fmax(1, fabs(x[i])));
      for (int i = 0; i < f.size; i++) assert_near(f.v[i], v[i], 1e-13);
    }
    fixture_close(&f);
  }
}

/* sum over all bodies of M x, along axis i: the first moment of mass, or momentum */
static double total(fixture *f, const double *values, int i) {
  int d = f->system->dimension;
  double *momentum = arena_doubles(&f->memory, f->size), sum = 0;
  mass_apply(&f->mechanics, values, momentum);
  for (int p = 0; p < f->system->point_count; p++) sum += momentum[p * d + i];
  return sum;
}

/* sum over all points of x ^ M v in the plane of axes i and j */
static double spin(fixture *f, int i, int j) {
  int d = f->system->dimension;
  double *momentum = arena_doubles(&f->memory, f->size), sum = 0;
  mass_apply(&f->mechanics, f->v, momentum);
  for (int p = 0; p < f->system->point_count; p++)
    sum += f->x[p * d + i] * momentum[p * d + j] - f->x[p * d + j] * momentum[p * d + i];
  return sum;
}

/* Constraints inside a free assembly push its parts apart alone: the centre of mass, the momentum and,
 * where the positions are on the constraints already, the angular momentum stay. */
static void test_nothing_acts_from_outside(void **state) {
  (void)state;
  const char *const free_scenes[] = {"bd5", CAROM_TEST_DATA "/bodies3d.json",
                                     CAROM_SOURCE_DIR "/examples/scenes/spheres.json"};
  for (int k = 0; k < 3; k++) {
    fixture f;
    rng random;
    fixture_open(&f, load_system(free_scenes[k]));
    rng_seed(&random, 4, (uint64_t)k);
    fixture_draw(&f, &random, 0.01);
    int d = f.system->dimension;
    double place[3], momentum[3];
    for (int i = 0; i < d; i++) place[i] = total(&f, f.x, i), momentum[i] = total(&f, f.v, i);
    assert_int_equal(project_state(&f.mechanics, f.x, f.v, &f.memory), 0);
    for (int i = 0; i < d; i++) assert_near(total(&f, f.x, i), place[i], 1e-13);
    for (int i = 0; i < d; i++) assert_near(total(&f, f.v, i), momentum[i], 1e-13);

    for (int i = 0; i < f.size; i++) f.v[i] += rng_normal(&random);
    double turn = spin(&f, 0, 1);
    assert_int_equal(project_state(&f.mechanics, f.x, f.v, &f.memory), 0);
    assert_near(spin(&f, 0, 1), turn, 1e-13);
    fixture_close(&f);
  }
}

/* Two points with a link of length `unit` between them, the first linked to the origin or held at its
 * place by a ball joint. */
static carom_system *pendulum(bool ball, double unit, double mass) {
  char text[1024], held[128];
  snprintf(held, sizeof held,
           ball ? "{\"type\": \"ball\", \"ends\": [[%.17g, 0], \"a\"]}"
                : "{\"type\": \"link\", \"ends\": [[0, 0], \"a\"], \"length\": %.17g}",
           unit);
  snprintf(text, sizeof text,
           "{\"carom\": 1, \"name\": \"p\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 1,"
           " \"bodies\": [{\"id\": \"a\", \"type\": \"point\", \"mass\": %.17g},"
           "              {\"id\": \"b\", \"type\": \"point\", \"mass\": %.17g}],"
           " \"joints\": [%s, {\"type\": \"link\", \"ends\": [\"a\", \"b\"], \"length\": %.17g}],"
           " \"initial\": {\"sampler\": \"state\", \"bodies\":"
           "   [{\"body\": \"a\", \"position\": [%.17g, 0]},"
           "    {\"body\": \"b\", \"position\": [%.17g, 0]}]}}",
           mass, 3 * mass, held, unit, unit, 2 * unit);
  return parse_system(text);
}

static void test_units(void **state) {
  (void)state;
  const double unit = 0x1p-45, mass = 0x1p30;
  for (int ball = 0; ball < 2; ball++) {
    fixture here, there;
    rng random;
    fixture_open(&here, pendulum(ball, 1, 1));
    fixture_open(&there, pendulum(ball, unit, mass));
    rng_seed(&random, 5, 0);
    fixture_draw(&here, &random, 0.05);
    for (int i = 0; i < here.size; i++) there.x[i] = unit * here.x[i];
    for (int i = 0; i < here.size; i++) there.v[i] = unit * here.v[i];
    assert_int_equal(project_state(&here.mechanics, here.x, here.v, &here.memory), 0);
    assert_int_equal(project_state(&there.mechanics, there.x, there.v, &there.memory), 0);
    for (int i = 0; i < here.size; i++) assert_near(there.x[i] / unit, here.x[i], 1e-15);
    for (int i = 0; i < here.size; i++) assert_near(there.v[i] / unit, here.v[i], 1e-14);
    fixture_close(&here);
    fixture_close(&there);
  }
}

/* A disk with a side longer than the two others together: it is left as it was, and counted. */
static void test_failure_is_counted(void **state) {
  (void)state;
  fixture f;
  rng random;
  fixture_open(&f, load_system("bd1"));
  rng_seed(&random, 7, 0);
  fixture_draw(&f, &random, 0.01);
  f.system->constraints[0].length = 5;
  size_t bytes = sizeof(double) * (size_t)f.size;
  const double *x = copy_of(&f, f.x), *v = copy_of(&f, f.v);
  assert_int_equal(project_state(&f.mechanics, f.x, f.v, &f.memory), 1);
  assert_memory_equal(f.x, x, bytes);
  assert_memory_equal(f.v, v, bytes);

  // nothing was done, so nothing is undone
  memcpy(f.x_bar, f.weight, bytes);
  memcpy(f.v_bar, f.weight + f.size, bytes);
  project_state_vjp(&f.mechanics, f.x, f.v, f.x_bar, f.v_bar, f.theta_bar, &f.memory);
  assert_memory_equal(f.x_bar, f.weight, bytes);
  assert_memory_equal(f.v_bar, f.weight + f.size, bytes);
  fixture_close(&f);
}

/* ---- derivatives --------------------------------------------------------------------------------- */

static double value(void *user) {
  fixture *f = user;
  mechanics_set_parameters(&f->mechanics, f->theta);
  arena_mark mark = arena_save(&f->memory);
  double *x = copy_of(f, f->x), *v = copy_of(f, f->v), sum = 0;
  assert_int_equal(project_state(&f->mechanics, x, v, &f->memory), 0);
  for (int i = 0; i < f->size; i++) sum += f->weight[i] * x[i] + f->weight[f->size + i] * v[i];
  arena_restore(&f->memory, mark);
  return sum;
}

/* States as far off as a tenth of the bodies, which take several steps, others that take one, and those
 * on the constraints, which take none. */
static void check_derivatives(double noise) {
  for (int k = 0; k < SCENE_COUNT; k++) {
    fixture f;
    rng random;
    fixture_open(&f, load_system(scenes[k]));
    rng_seed(&random, 6, (uint64_t)k);
    double worst = 0;
    for (int draw = 0; draw < 20; draw++) {
      fixture_draw(&f, &random, noise);
      mechanics_set_parameters(&f.mechanics, f.theta);
      memcpy(f.x_bar, f.weight, sizeof(double) * (size_t)f.size);
      memcpy(f.v_bar, f.weight + f.size, sizeof(double) * (size_t)f.size);
      memset(f.theta_bar, 0, sizeof(double) * (size_t)f.system->parameter_count);
      project_state_vjp(&f.mechanics, f.x, f.v, f.x_bar, f.v_bar, f.theta_bar, &f.memory);
      worst = fmax(worst, gradient_error(value, &f, f.x, f.x_bar, f.size, &random));
      worst = fmax(worst, gradient_error(value, &f, f.v, f.v_bar, f.size, &random));
      worst = fmax(worst, gradient_error(value, &f, f.theta, f.theta_bar, f.system->parameter_count,
                                         &random));
    }
    print_message("%-16s %.1e\n", f.system->name, worst);
    assert_true(worst < 1e-7);
    fixture_close(&f);
  }
}

static void test_derivatives(void **state) {
  (void)state;
  check_derivatives(0.02);
  check_derivatives(1e-6);
  check_derivatives(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_constraints_hold),
      cmocka_unit_test(test_nothing_acts_from_outside),
      cmocka_unit_test(test_units),
      cmocka_unit_test(test_failure_is_counted),
      cmocka_unit_test(test_derivatives),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
