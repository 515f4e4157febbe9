/* The equations of motion of several states at once: the same bits as of each alone, in whatever lane it stands,
 * and nothing from lanes that are empty. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "physics/dynamics.h"
#include "support/derivative_fixture.h"

enum { STATES = LANES };

/* States, gradients and cotangents [STATES][D], and what comes of them. */
typedef struct motions {
  double *x, *v, *gradient, *velocity_bar, *acceleration_bar;
  double *velocity, *acceleration, *x_bar, *v_bar, *gradient_bar; /* results */
  double *theta_bar;                                              /* of all of them */
} motions;

static motions motions_make(fixture *f) {
  const int total = STATES * f->system->coordinate_count;
  motions m;
  double **arrays[] = {&m.x,
                       &m.v,
                       &m.gradient,
                       &m.velocity_bar,
                       &m.acceleration_bar,
                       &m.velocity,
                       &m.acceleration,
                       &m.x_bar,
                       &m.v_bar,
                       &m.gradient_bar};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
    *arrays[i] = arena_zeros(&f->memory, total);
  m.theta_bar = arena_zeros(&f->memory, f->system->parameter_count);
  return m;
}

/* Forward and reverse of the states first .. first + count - 1. */
static void move(fixture *f, carom_dynamics kind, motions *m, int first, int count) {
  const int at = first * f->system->coordinate_count;
  dynamics_record record = dynamics_record_make(&f->mechanics, &f->memory);
  dynamics_eval(&f->mechanics, kind, count, m->x + at, m->v + at, m->gradient + at,
                m->velocity + at, m->acceleration + at, &record, &f->memory);
  dynamics_eval_vjp(&f->mechanics, kind, count, &record, m->velocity_bar + at,
                    m->acceleration_bar + at, m->x_bar + at, m->v_bar + at, m->gradient_bar + at,
                    m->theta_bar, &f->memory);
}

static void check_scene(const char *scene, carom_dynamics kind) {
  fixture f;
  fixture_open(&f, scene);
  mechanics_set_parameters(&f.mechanics, f.theta);
  const int size = f.system->coordinate_count, total = STATES * size;
  motions together = motions_make(&f);
  rng random;
  rng_seed(&random, 3, 0);
  carom_error error;
  assert_int_equal(carom_system_sample(f.system, 1, STATES, together.x, together.v, &error),
                   CAROM_OK);
  double *drawn[] = {together.gradient, together.velocity_bar, together.acceleration_bar};
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < total; i++) drawn[k][i] = rng_normal(&random);
  motions parts = motions_make(&f);
  const size_t bytes = sizeof(double) * (size_t)total;
  memcpy(parts.x, together.x, bytes);
  memcpy(parts.v, together.v, bytes);
  memcpy(parts.gradient, together.gradient, bytes);
  memcpy(parts.velocity_bar, together.velocity_bar, bytes);
  memcpy(parts.acceleration_bar, together.acceleration_bar, bytes);

  // one, then the others: in other lanes than before, some of them empty
  move(&f, kind, &together, 0, STATES);
  move(&f, kind, &parts, 0, 1);
  move(&f, kind, &parts, 1, STATES - 1);
  assert_memory_equal(together.velocity, parts.velocity, bytes);
  assert_memory_equal(together.acceleration, parts.acceleration, bytes);
  assert_memory_equal(together.x_bar, parts.x_bar, bytes);
  assert_memory_equal(together.v_bar, parts.v_bar, bytes);
  assert_memory_equal(together.gradient_bar, parts.gradient_bar, bytes);
  double largest = 0;
  for (int i = 0; i < f.system->parameter_count; i++) {
    largest = fmax(largest, fabs(together.theta_bar[i]));
    assert_true(fabs(together.theta_bar[i] - parts.theta_bar[i]) <=
                1e-13 * (1 + fabs(together.theta_bar[i])));
  }
  assert_true(largest > 0);
  fixture_close(&f);
}

static void test_lanes(void **state) {
  (void)state;
  const char *const scenes[] = {"bd5", "gyro", "cp3", "rope", "bp5"};
  for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; i++) {
    check_scene(scenes[i], CAROM_LAGRANGIAN);
    check_scene(scenes[i], CAROM_HAMILTONIAN);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lanes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
