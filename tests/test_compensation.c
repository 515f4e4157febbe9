/* What becomes of bodies that overlap, in scenes where it went wrong: depths, energies, rest. */
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

#include "base/nonnegative.h"
#include "base/rng.h"
#include "physics/constraints.h"
#include "physics/rigid_body.h"
#include "support/quick.h"
#include "support/stepper.h"
#include "support/systems.h"

enum { TEXT = 16384 };

static void open_case(stepper *s, const char *name) {
  char path[256];
  snprintf(path, sizeof path, CAROM_TEST_DATA "/cases/%s.json", name);
  stepper_open(s, load_system(path));
}

/* Energy never exceeds what it was and what was lifted, and no impulse gives any. */
static void assert_no_gain(const stepper *s, double scale) {
  assert_true(s->finite);
  assert_int_equal(s->failed, 0);
  assert_true(s->impulse <= 1e-13 * scale);
  assert_true(s->most <= 1e-9 * scale);
}

/* ---- scenes that went wrong -------------------------------------------------------------------- */

/* A disk of radius 10 rests on the ground at a depth of 4 g dt^2, 3.5 after the event, and does not move. */
static void test_large_disk_does_not_sink(void **state) {
  (void)state;
  stepper s;
  open_case(&s, "sink_cm");
  stepper_run(&s, 1000);
  assert_no_gain(&s, s.first);
  assert_near(s.x[1], 10 - 3.5 * 981e-4, 1e-3);
  assert_near(s.deepest, 4 * 981e-4, 1e-3);
  assert_near(s.x[0], 0, 1e-12);
  assert_true(stepper_kinetic(&s) < 1e-20);
  stepper_close(&s);
}

static void test_small_box_does_not_explode(void **state) {
  (void)state;
  stepper s;
  open_case(&s, "smallbox");
  stepper_run(&s, repeats(3000));
  assert_no_gain(&s, s.first);
  if (repeats(3000) == 3000) {
    assert_true(stepper_kinetic(&s) < 1e-20);
    assert_near(s.x[2], 0.0005 - 3.5 * 9.81e-8, 1e-8);
  }
  stepper_close(&s);
}

/* A disk that is dropped straight down does not roll, however its axes lie. */
static void test_dropped_disk_does_not_roll(void **state) {
  (void)state;
  stepper s;
  open_case(&s, "diskdrop");
  stepper_run(&s, 1000);
  assert_no_gain(&s, s.first);
  assert_true(s.x[0] == 0 && s.v[0] == 0);
  assert_near(atan2(s.x[3] - s.x[1], s.x[2] - s.x[0]), 0.3, 1e-12);
  assert_true(stepper_kinetic(&s) < 1e-25);
  stepper_close(&s);
}

/* ---- stacks and heaps -------------------------------------------------------------------------- */

/* `count` disks on each other, their axes turned. */
static void write_stack(int count, char text[TEXT]) {
  int used = snprintf(text, TEXT,
                      "{\"carom\": 1, \"name\": \"stack\", \"dimension\": 2, \"dt\": 0.01,"
                      "\"steps\": 1, \"gravity\": [0, -9.81], \"planes\":"
                      "[{\"id\": \"g\", \"normal\": [0, 1], \"offset\": 0}],"
                      "\"contacts\": {\"pairs\": true, \"friction\": 1, \"restitution\": 0},"
                      "\"bodies\": [");
  for (int k = 0; k < count; k++)
    used += snprintf(text + used, TEXT - (size_t)used,
                     "%s{\"id\": \"b%d\", \"type\": \"rigid\", \"mass\": 1, \"radius\": 0.1}",
                     k > 0 ? "," : "", k);
  used += snprintf(text + used, TEXT - (size_t)used,
                   "], \"initial\": {\"sampler\": \"state\", \"bodies\": [");
  for (int k = 0; k < count; k++)
    used += snprintf(text + used, TEXT - (size_t)used,
                     "%s{\"body\": \"b%d\", \"position\": [0, %.17g], \"rotation\": %.17g}",
                     k > 0 ? "," : "", k, 0.1 + 0.2 * k, 0.37 * k);
  snprintf(text + used, TEXT - (size_t)used, "]}}");
}

/* A stack is an unstable equilibrium: it stands as long as nothing pushes sideways, to the last bit. */
static void test_stacks_stand(void **state) {
  (void)state;
  for (int count = 3; count <= 10; count++) {
    char text[TEXT];
    stepper s;
    write_stack(count, text);
    stepper_open(&s, parse_system(text));
    stepper_run(&s, repeats(10000));
    assert_no_gain(&s, s.first);
    for (int k = 0; k < count; k++) assert_true(s.x[6 * k] == 0);
    assert_true(stepper_kinetic(&s) < 1e-25);
    assert_near(s.x[1], 0.1 - 3.5 * 9.81e-4, 1e-4);
    stepper_close(&s);
  }
}

/* 49 disks that fall on each other between walls, e = 0, mu = 1. */
static void write_heap(char text[TEXT]) {
  int used = snprintf(text, TEXT,
                      "{\"carom\": 1, \"name\": \"heap\", \"dimension\": 2, \"dt\": 0.01,"
                      "\"steps\": 1, \"gravity\": [0, -9.81], \"planes\":"
                      "[{\"id\": \"g\", \"normal\": [0, 1], \"offset\": 0},"
                      "{\"id\": \"l\", \"normal\": [1, 0], \"offset\": 0.88},"
                      "{\"id\": \"r\", \"normal\": [-1, 0], \"offset\": 0.88}],"
                      "\"contacts\": {\"pairs\": true, \"friction\": 1, \"restitution\": 0},"
                      "\"bodies\": [");
  for (int k = 0; k < 49; k++)
    used += snprintf(text + used, TEXT - (size_t)used,
                     "%s{\"id\": \"b%d\", \"type\": \"rigid\", \"mass\": 1, \"radius\": 0.1}",
                     k > 0 ? "," : "", k);
  used += snprintf(text + used, TEXT - (size_t)used,
                   "], \"initial\": {\"sampler\": \"state\", \"bodies\": [");
  for (int k = 0; k < 49; k++)
    used += snprintf(text + used, TEXT - (size_t)used,
                     "%s{\"body\": \"b%d\", \"position\": [%.17g, %.17g]}", k > 0 ? "," : "", k,
                     (k / 7 - 3) * 0.22 + 0.003 * sin(7.0 * k), 0.12 + 0.23 * (k % 7));
  snprintf(text + used, TEXT - (size_t)used, "]}}");
}

static void test_heap_comes_to_rest(void **state) {
  (void)state;
  if (getenv("CAROM_TEST_QUICK") != NULL) return;
  char text[TEXT];
  stepper s;
  write_heap(text);
  stepper_open(&s, parse_system(text));
  stepper_run(&s, 1500);
  print_message("heap: %.1e J, deepest %.1e, %d programs failed\n", stepper_kinetic(&s), s.deepest,
                s.failed);
  assert_true(s.finite);
  assert_true(s.most <= 1e-9 * s.first);
  assert_true(stepper_kinetic(&s) < 1e-3);
  assert_true(s.deepest < 2 * 4 * 9.81e-4);
  stepper_close(&s);
}

/* ---- depths ------------------------------------------------------------------------------------ */

static const char *const overlapping =
    "{\"carom\": 1, \"name\": \"overlap\", \"dimension\": %d, \"dt\": 0.01, \"steps\": 1,"
    "\"bodies\": [{\"id\": \"a\", \"type\": \"%s\", \"mass\": 2, %s}],"
    "\"planes\": [{\"id\": \"g\", \"normal\": [%s1], \"offset\": 0}],"
    "\"contacts\": {\"friction\": 0.3, \"restitution\": 0.5},"
    "\"initial\": {\"sampler\": \"state\", \"bodies\": [{\"body\": \"a\", \"position\": "
    "[%s0.09]}]}}";

/* A ball that bounces leaves the ground by itself: it is not lifted too, and keeps its energy for good. */
static void test_bouncing_ball_is_not_lifted(void **state) {
  (void)state;
  stepper s;
  stepper_open(&s,
               parse_system("{\"carom\": 1, \"name\": \"ball\", \"dimension\": 2, \"dt\": 0.01, "
                            "\"steps\": 5, \"gravity\": [0, -9.81],"
                            "\"bodies\": [{\"id\": \"a\", \"type\": \"point\", \"mass\": 1, "
                            "\"radius\": 0.1}],"
                            "\"planes\": [{\"id\": \"g\", \"normal\": [0, 1], \"offset\": 0}],"
                            "\"contacts\": {\"friction\": 0, \"restitution\": 1},"
                            "\"initial\": {\"sampler\": \"state\", \"bodies\": ["
                            "{\"body\": \"a\", \"position\": [0, 1], \"velocity\": [0, 0]}]}}"));
  stepper_run(&s, repeats(10000));
  assert_true(s.events > repeats(10000) / 200);
  assert_true(s.lifted == 0);
  assert_near(s.energy, s.first, 1e-10 * s.first);
  stepper_close(&s);
}

/* A body at rest without gravity that overlaps the ground by 0.01 leaves an eighth of the overlap in each
 * event, but for what softness costs, and stays at rest. */
static void test_overlap_shrinks_by_an_eighth(void **state) {
  (void)state;
  static const struct {
    int dimension;
    const char *type, *shape;
    double softness; /* U / A of section 9 */
  } bodies[] = {
      {2, "point", "\"radius\": 0.1", 1},
      {2, "rigid", "\"radius\": 0.1", 5},
      {3, "rigid", "\"radius\": 0.1", 6},
      {2, "rigid", "\"shape\": {\"type\": \"box\", \"half_extents\": [0.3, 0.1]}", 0},
      {3, "rigid", "\"shape\": {\"type\": \"box\", \"half_extents\": [0.3, 0.2, 0.1]}", 0}};
  for (size_t k = 0; k < sizeof bodies / sizeof bodies[0]; k++) {
    char text[TEXT];
    stepper s;
    const char *zeros = bodies[k].dimension == 2 ? "0, " : "0, 0, ";
    snprintf(text, sizeof text, overlapping, bodies[k].dimension, bodies[k].type, bodies[k].shape,
             zeros, zeros);
    stepper_open(&s, parse_system(text));
    stepper_step(&s);
    double left = 0.1 - s.x[bodies[k].dimension - 1];
    double share = bodies[k].softness > 0 ? 1 / (1 + 1e-4 * bodies[k].softness) : 1;
    assert_near(left, 0.01 * (1 - share / 8), bodies[k].softness > 0 ? 1e-15 : 1e-6);
    assert_true(stepper_kinetic(&s) == 0);
    stepper_run(&s, 100);
    assert_true(0.1 - s.x[bodies[k].dimension - 1] < 1e-7);
    stepper_close(&s);
  }
}

/* ---- constraints ------------------------------------------------------------------------------- */

/* The largest violation of the constraints, of positions and of velocities. */
static void violations(stepper *s, double *position, double *velocity) {
  const carom_system *system = s->system;
  arena_mark mark = arena_save(&s->scratch);
  double *arm = arena_doubles(&s->scratch, system->constraint_count * system->dimension);
  double *rows = arena_doubles(&s->scratch, system->row_count);
  constraints_arms(&s->mechanics, 0, system->constraint_count, s->x, arm);
  constraints_values(&s->mechanics, 0, system->constraint_count, arm, rows);
  for (int r = 0; r < system->row_count; r++) *position = fmax(*position, fabs(rows[r]));
  constraints_apply(&s->mechanics, 0, system->constraint_count, arm, s->v, rows);
  for (int r = 0; r < system->row_count; r++) *velocity = fmax(*velocity, fabs(rows[r]));
  arena_restore(&s->scratch, mark);
}

/* A box that tumbles and comes to rest on a corner's way turns in every shift. Its axes keep their lengths
 * over 10,000 steps, and at the end of each event velocities are those of a rigid motion. */
static void test_shifts_keep_constraints(void **state) {
  (void)state;
  stepper s;
  open_case(&s, "smallbox");
  double position = 0, velocity = 0;
  for (int k = 0; k < repeats(10000); k++) {
    int events = s.events;
    double of_step = 0, ignored = 0;
    stepper_step(&s);
    violations(&s, &position, events < s.events ? &of_step : &ignored);
    double speed = 1e-3;
    for (int i = 0; i < s.system->coordinate_count; i++) speed = fmax(speed, fabs(s.v[i]));
    velocity = fmax(velocity, of_step / speed);
  }
  print_message("constraints: positions within %.1e, velocities after events within %.1e\n",
                position, velocity);
  assert_true(position < 1e-7);
  assert_true(velocity < 1e-13);
  stepper_close(&s);
}

/* ---- parts ------------------------------------------------------------------------------------- */

/* Random definite matrices: all conditions of the minimum hold, and its derivative is that of differences. */
static void test_nonnegative(void **state) {
  (void)state;
  arena memory;
  rng random;
  arena_init(&memory);
  rng_seed(&random, 3, 0);
  enum { MOST = 12 };
  double worst = 0;
  for (int draw = 0; draw < repeats(300); draw++) {
    int size = 1 + draw % MOST, first[MOST] = {0};
    double G[MOST][MOST], r[MOST], z[MOST], z_bar[MOST], r_bar[MOST], gradient[MOST];
    arena_mark mark = arena_save(&memory);
    envelope shape = envelope_make(size, first, &memory);
    double *H = arena_zeros(&memory, shape.start[size]);
    for (int i = 0; i < size; i++)
      for (int k = 0; k < size; k++) G[i][k] = rng_normal(&random);
    for (int i = 0; i < size; i++) {
      r[i] = rng_normal(&random) + 0.5;
      z_bar[i] = rng_normal(&random);
      for (int j = 0; j <= i; j++) {
        for (int k = 0; k < size; k++) H[envelope_at(&shape, i, j)] += G[i][k] * G[j][k];
        if (i == j) H[envelope_at(&shape, i, j)] += 0.1;
      }
    }
    assert_true(nonnegative_solve(&shape, H, r, z, &memory));
    envelope_multiply(&shape, H, z, gradient);
    for (int i = 0; i < size; i++) {
      assert_true(z[i] >= 0 && gradient[i] - r[i] > -1e-10);
      assert_true(z[i] == 0 || fabs(gradient[i] - r[i]) < 1e-10);
    }
    nonnegative_solve_vjp(&shape, H, z, z_bar, r_bar, &memory);
    for (int i = 0; i < size; i++) {
      // a step that crosses no kink is exact: the solution is piecewise linear in r
      double moved[MOST], z_moved[MOST], difference = 0;
      memcpy(moved, r, sizeof moved);
      moved[i] += 1e-7;
      nonnegative_solve(&shape, H, moved, z_moved, &memory);
      bool kink = false;
      for (int k = 0; k < size; k++) {
        kink = kink || (z_moved[k] > 0) != (z[k] > 0);
        difference += z_bar[k] * (z_moved[k] - z[k]) / 1e-7;
      }
      if (!kink) worst = fmax(worst, fabs(difference - r_bar[i]) / (1 + fabs(r_bar[i])));
    }
    arena_restore(&memory, mark);
  }
  assert_true(worst < 1e-5);
  arena_free(&memory);
}

/* The closed form of M^ is what the factor of J_E M^-1 J_E' gives, also where the axes have drifted. */
static void test_rigid_body_is_constrained_mass(void **state) {
  (void)state;
  const char *scenes[] = {"bd5", CAROM_TEST_DATA "/cases/smallbox.json"};
  rng random;
  rng_seed(&random, 7, 0);
  for (int k = 0; k < 2; k++) {
    stepper s;
    stepper_open(&s, load_system(scenes[k]));
    const carom_system *system = s.system;
    const assembly *a = &system->assemblies[0];
    int n = system->coordinate_count, end = s.mechanics.assembly_constraint[1];
    double force[100] = {0}, push[100] = {0}, u[100] = {0}, v[100] = {0}, wrench[MAX_WRENCH];
    assert_true(assembly_is_rigid_body(system, a) && n <= 100);
    for (int i = 0; i < n; i++) {
      s.x[i] += 0.05 * rng_normal(&random);
      push[i] = force[i] = rng_normal(&random);
    }
    double *arm = arena_doubles(&s.memory, system->constraint_count * system->dimension);
    double *factor = arena_doubles(&s.memory, system->constraint_shape.start[system->row_count]);
    double *rows = arena_doubles(&s.memory, system->row_count);
    constraints_arms(&s.mechanics, 0, end, s.x, arm);
    constraints_factor(&s.mechanics, 0, end, arm, METRIC_INERTIAL, factor);
    mass_inverse_assembly(&s.mechanics, a, push, u);
    constraints_apply(&s.mechanics, 0, end, arm, u, rows);
    constraints_solve(&s.mechanics, 0, end, factor, rows);
    for (int r = 0; r < a->row_count; r++) rows[r] = -rows[r];
    constraints_apply_transpose(&s.mechanics, 0, end, arm, rows, push);
    mass_inverse_assembly(&s.mechanics, a, push, u);

    rigid_body b = rigid_body_at(&s.mechanics, a, s.x);
    rigid_body_wrench(&b, force, wrench);
    rigid_body_move(&b, wrench);
    rigid_body_velocities(&b, wrench, v);
    double size = 0;
    for (int i = 0; i < a->point_count * system->dimension; i++) size = fmax(size, fabs(u[i]));
    for (int i = 0; i < a->point_count * system->dimension; i++)
      assert_near(v[i], u[i], 1e-11 * size);

    // M^ M of a velocity that breaks the constraints
    double momentum[100] = {0}, after[100] = {0};
    for (int i = 0; i < n; i++) after[i] = v[i] = rng_normal(&random);
    mass_apply(&s.mechanics, v, momentum);
    rigid_body_wrench(&b, momentum, wrench);
    rigid_body_move(&b, wrench);
    rigid_body_velocities(&b, wrench, v);
    rigid_body_project(&b, wrench, after);
    for (int i = 0; i < a->point_count * system->dimension; i++) assert_near(after[i], v[i], 1e-12);
    stepper_close(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_large_disk_does_not_sink),
      cmocka_unit_test(test_small_box_does_not_explode),
      cmocka_unit_test(test_dropped_disk_does_not_roll),
      cmocka_unit_test(test_stacks_stand),
      cmocka_unit_test(test_heap_comes_to_rest),
      cmocka_unit_test(test_bouncing_ball_is_not_lifted),
      cmocka_unit_test(test_overlap_shrinks_by_an_eighth),
      cmocka_unit_test(test_shifts_keep_constraints),
      cmocka_unit_test(test_nonnegative),
      cmocka_unit_test(test_rigid_body_is_constrained_mass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
