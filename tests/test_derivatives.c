/* Every differentiated function of physics/ and contact/ beside central differences, one table: each
 * row evaluates a random linear functional of what a function computes, and its gradient through
 * the function's vjp, at random states of every scene, on and off the constraint manifold. */
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
#include "physics/integrator.h"
#include "support/derivative_fixture.h"
#include "support/differences.h"
#include "support/quick.h"

static double dot(const double *a, const double *b, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += a[i] * b[i];
  return sum;
}

/* ---- the functions: value and gradient -------------------------------------------------------- */

/* weight' M^-1 g */
static double mass_value(void *user) {
  fixture *f = user;
  mechanics_set_parameters(&f->mechanics, f->theta);
  arena_mark mark = arena_save(&f->memory);
  double *out = arena_doubles(&f->memory, f->system->coordinate_count);
  mass_inverse(&f->mechanics, f->g, out);
  double value = dot(f->weight, out, f->system->coordinate_count);
  arena_restore(&f->memory, mark);
  return value;
}
static void mass_gradient(fixture *f) {
  mass_inverse_vjp(&f->mechanics, f->weight, f->g, f->theta_bar);
  mass_inverse(&f->mechanics, f->weight, f->g_bar);
}

/* weight_rows' J_E(x) g */
static double jacobian_value(void *user) {
  fixture *f = user;
  const carom_system *s = f->system;
  arena_mark mark = arena_save(&f->memory);
  double *arm = arena_doubles(&f->memory, s->constraint_count * s->dimension);
  double *rows = arena_doubles(&f->memory, s->row_count);
  constraints_arms(&f->mechanics, 0, s->constraint_count, f->x, arm);
  constraints_apply(&f->mechanics, 0, s->constraint_count, arm, f->g, rows);
  double value = dot(f->weight, rows, s->row_count);
  arena_restore(&f->memory, mark);
  return value;
}
static void jacobian_gradient(fixture *f) {
  const carom_system *s = f->system;
  double *arm = arena_doubles(&f->memory, s->constraint_count * s->dimension);
  constraints_arms(&f->mechanics, 0, s->constraint_count, f->x, arm);
  constraints_bilinear_vjp(&f->mechanics, 0, s->constraint_count, 1, f->weight, f->g, f->x_bar);
  constraints_apply_transpose(&f->mechanics, 0, s->constraint_count, arm, f->weight, f->g_bar);
}

/* weight_rows' B(v) g: the time derivative of J_E times g */
static double curvature_value(void *user) {
  fixture *f = user;
  arena_mark mark = arena_save(&f->memory);
  double *rows = arena_doubles(&f->memory, f->system->row_count);
  constraints_curvature(&f->mechanics, f->v, f->g, rows);
  double value = dot(f->weight, rows, f->system->row_count);
  arena_restore(&f->memory, mark);
  return value;
}
static void curvature_gradient(fixture *f) {
  constraints_curvature_transpose(&f->mechanics, 1, f->v, f->weight, f->g_bar);
  constraints_curvature_transpose(&f->mechanics, 1, f->g, f->weight, f->v_bar);
}

/* weight' grad V(x) */
static double potential_value(void *user) {
  fixture *f = user;
  mechanics_set_parameters(&f->mechanics, f->theta);
  arena_mark mark = arena_save(&f->memory);
  double *gradient = arena_doubles(&f->memory, f->system->coordinate_count);
  scene_potential.gradient(&scene_potential, &f->mechanics, 1, f->x, gradient, NULL, &f->memory);
  double value = dot(f->weight, gradient, f->system->coordinate_count);
  arena_restore(&f->memory, mark);
  return value;
}
static void potential_gradient(fixture *f) {
  scene_potential.gradient_vjp(&scene_potential, &f->mechanics, 1, f->x, NULL, f->weight, f->x_bar,
                               f->theta_bar, &f->memory);
}

/* V itself, with its gradient */
static double energy_value(void *user) {
  fixture *f = user;
  double value;
  scene_potential.value(&scene_potential, &f->mechanics, 1, f->x, &value, &f->memory);
  return value;
}
static void energy_gradient(fixture *f) {
  scene_potential.gradient(&scene_potential, &f->mechanics, 1, f->x, f->x_bar, NULL, &f->memory);
}

/* weight' (x', v') of the equations of motion */
static double dynamics_value(void *user) {
  fixture *f = user;
  int n = f->system->coordinate_count;
  mechanics_set_parameters(&f->mechanics, f->theta);
  arena_mark mark = arena_save(&f->memory);
  dynamics_record record = dynamics_record_make(&f->mechanics, &f->memory);
  double *k = arena_doubles(&f->memory, 2 * n);
  dynamics_eval(&f->mechanics, f->dynamics, 1, f->x, f->v, f->g, k, k + n, &record, &f->memory);
  double value = dot(f->weight, k, 2 * n);
  arena_restore(&f->memory, mark);
  return value;
}
static void dynamics_gradient(fixture *f) {
  int n = f->system->coordinate_count;
  dynamics_record record = dynamics_record_make(&f->mechanics, &f->memory);
  double *k = arena_doubles(&f->memory, 2 * n);
  dynamics_eval(&f->mechanics, f->dynamics, 1, f->x, f->v, f->g, k, k + n, &record, &f->memory);
  dynamics_eval_vjp(&f->mechanics, f->dynamics, 1, &record, f->weight, f->weight + n, f->x_bar,
                    f->v_bar, f->g_bar, f->theta_bar, &f->memory);
}

/* weight' (x, v) after one time step of two substeps */
static integrator fixture_integrator(const fixture *f) {
  return (integrator){.mechanics = &f->mechanics,
                      .potential = &scene_potential,
                      .method = f->method,
                      .dynamics = f->dynamics,
                      .dt = f->options.dt,
                      .substeps = 2};
}
static double step_value(void *user) {
  fixture *f = user;
  int n = f->system->coordinate_count;
  mechanics_set_parameters(&f->mechanics, f->theta);
  arena_mark mark = arena_save(&f->memory);
  integrator in = fixture_integrator(f);
  step_record record = step_record_make(&in, 1, &f->memory);
  double *x = arena_doubles(&f->memory, n), *v = arena_doubles(&f->memory, n);
  memcpy(x, f->x, sizeof(double) * (size_t)n);
  memcpy(v, f->v, sizeof(double) * (size_t)n);
  integrator_step(&in, 1, x, v, &record, &f->memory);
  double value = dot(f->weight, x, n) + dot(f->weight + n, v, n);
  arena_restore(&f->memory, mark);
  return value;
}
static void reverse_step(fixture *f, const double *weights) {
  int n = f->system->coordinate_count;
  integrator in = fixture_integrator(f);
  step_record record = step_record_make(&in, 1, &f->memory);
  double *x = arena_doubles(&f->memory, n), *v = arena_doubles(&f->memory, n);
  memcpy(x, f->x, sizeof(double) * (size_t)n);
  memcpy(v, f->v, sizeof(double) * (size_t)n);
  integrator_step(&in, 1, x, v, &record, &f->memory);
  memcpy(f->x_bar, f->weight, sizeof(double) * (size_t)n);
  memcpy(f->v_bar, f->weight + n, sizeof(double) * (size_t)n);
  f->dt_bar = 0;
  record.weights = weights;
  integrator_step_vjp(&in, 1, &record, f->x_bar, f->v_bar, f->theta_bar, f->theta_bar, &f->dt_bar,
                      &f->memory);
}
static void step_gradient(fixture *f) { reverse_step(f, NULL); }
// a weight is in the cotangents of parameters alone
static void weighed_step_gradient(fixture *f) {
  const double weight = 0.3;
  reverse_step(f, &weight);
  for (int i = 0; i < f->system->parameter_count; i++) f->theta_bar[i] /= weight;
}

/* weight' (x, v) put on the constraints */
static double projection_value(void *user) {
  fixture *f = user;
  int n = f->system->coordinate_count;
  mechanics_set_parameters(&f->mechanics, f->theta);
  arena_mark mark = arena_save(&f->memory);
  double *x = arena_doubles(&f->memory, n), *v = arena_doubles(&f->memory, n);
  memcpy(x, f->x, sizeof(double) * (size_t)n);
  memcpy(v, f->v, sizeof(double) * (size_t)n);
  assert_int_equal(project_state(&f->mechanics, x, v, &f->memory), 0);
  double value = dot(f->weight, x, n) + dot(f->weight + n, v, n);
  arena_restore(&f->memory, mark);
  return value;
}
static void projection_gradient(fixture *f) {
  int n = f->system->coordinate_count;
  memcpy(f->x_bar, f->weight, sizeof(double) * (size_t)n);
  memcpy(f->v_bar, f->weight + n, sizeof(double) * (size_t)n);
  project_state_vjp(&f->mechanics, f->x, f->v, f->x_bar, f->v_bar, f->theta_bar, &f->memory);
}

/* v becomes the nearest velocity (in the inertial metric) that the constraints at x allow, unless the
 * fixture drifts. */
static void allow_velocity(fixture *f, double *v) {
  if (f->drifts) return;
  const carom_system *s = f->system;
  arena_mark mark = arena_save(&f->memory);
  double *arm = arena_doubles(&f->memory, s->constraint_count * s->dimension);
  double *factor = arena_doubles(&f->memory, s->row_count * s->row_count + 1);
  double *rows = arena_doubles(&f->memory, s->row_count);
  double *push = arena_zeros(&f->memory, s->coordinate_count);
  constraints_arms(&f->mechanics, 0, s->constraint_count, f->x, arm);
  constraints_factor(&f->mechanics, 0, s->constraint_count, arm, METRIC_INERTIAL, factor);
  constraints_apply(&f->mechanics, 0, s->constraint_count, arm, v, rows);
  constraints_solve(&f->mechanics, 0, s->constraint_count, factor, rows);
  constraints_apply_transpose(&f->mechanics, 0, s->constraint_count, arm, rows, push);
  mass_inverse(&f->mechanics, push, push);
  for (int i = 0; i < s->coordinate_count; i++) v[i] -= push[i];
  arena_restore(&f->memory, mark);
}

/* g_bar' (allowed velocity), a function of x, v and the masses that the event is composed with */
static double allowed_value(void *user) {
  fixture *f = user;
  int n = f->system->coordinate_count;
  mechanics_set_parameters(&f->mechanics, f->theta);
  arena_mark mark = arena_save(&f->memory);
  double *v = arena_doubles(&f->memory, n);
  memcpy(v, f->v, sizeof(double) * (size_t)n);
  allow_velocity(f, v);
  double value = dot(f->g_bar, v, n);
  arena_restore(&f->memory, mark);
  return value;
}

/* bar += gradient of allowed_value, by differences */
static void add_allowed_gradient(fixture *f, double *values, double *bar, int count) {
  double *direction = arena_zeros(&f->memory, count);
  for (int i = 0; i < count; i++) {
    direction[i] = 1;
    bar[i] += directional_difference(allowed_value, f, values, direction, count, 1e-3);
    direction[i] = 0;
  }
}

/* weight' (v, x) after the contact event at x. In the paper's event the velocity before is made to keep
 * to the constraints: otherwise a singular contact matrix meets velocities outside its range, where the
 * event is not continuous. */
static double event_value(void *user) {
  fixture *f = user;
  int n = f->system->coordinate_count;
  mechanics_set_parameters(&f->mechanics, f->theta);
  arena_mark mark = arena_save(&f->memory);
  double *v = arena_doubles(&f->memory, n), *x = arena_doubles(&f->memory, n);
  memcpy(v, f->v, sizeof(double) * (size_t)n);
  memcpy(x, f->x, sizeof(double) * (size_t)n);
  allow_velocity(f, v);
  // the contacts of the unperturbed state: an edge of a rim stays the same edge
  contact_event e = contact_event_make(&f->mechanics, &f->options, &f->active, f->x, &f->memory);
  event_impulses impulses =
      event_impulses_at(&e, arena_bytes(&f->memory, event_impulses_bytes(&e)));
  contact_event_solve(&e, x, v, &impulses, &f->memory);
  double value = dot(f->weight, v, n) + dot(f->weight + n, x, n);
  arena_restore(&f->memory, mark);
  return value;
}
/* What the last event's programs were: solved, or worse. */
static carom_cone_status event_status;
static bool event_singular; /* one of them needed the selection */
static void event_gradient(fixture *f) {
  const carom_system *s = f->system;
  int n = s->coordinate_count;
  double *before = arena_doubles(&f->memory, n), *after = arena_doubles(&f->memory, n);
  double *moved = arena_doubles(&f->memory, n);
  memcpy(before, f->v, sizeof(double) * (size_t)n);
  allow_velocity(f, before);
  memcpy(after, before, sizeof(double) * (size_t)n);
  contact_event e = contact_event_make(&f->mechanics, &f->options, &f->active, f->x, &f->memory);
  event_impulses impulses =
      event_impulses_at(&e, arena_bytes(&f->memory, event_impulses_bytes(&e)));
  contact_event_solve(&e, moved, after, &impulses, &f->memory);
  event_status = CAROM_CONE_SOLVED;
  event_singular = false;
  for (int i = 0; i < e.group.island_count; i++) {
    if (impulses.compression.info[i].status > event_status)
      event_status = impulses.compression.info[i].status;
    event_singular = event_singular || impulses.compression.info[i].singular ||
                     impulses.restitution.info[i].singular;
    if (impulses.restitution.info[i].status > event_status)
      event_status = impulses.restitution.info[i].status;
  }
  memcpy(f->g_bar, f->weight, sizeof(double) * (size_t)n);
  memcpy(f->x_bar, f->weight + n, sizeof(double) * (size_t)n);
  contact_event_vjp(&e, before, &impulses, f->g_bar, f->x_bar, f->theta_bar, &f->memory);
  add_allowed_gradient(f, f->x, f->x_bar, n);
  add_allowed_gradient(f, f->v, f->v_bar, n);
  add_allowed_gradient(f, f->theta, f->theta_bar, s->segments[CAROM_FRICTION].offset);
  mechanics_set_parameters(&f->mechanics, f->theta);
}

/* ---- the table --------------------------------------------------------------------------------- */

typedef struct element {
  const char *name;
  scalar_function value;
  void (*gradient)(fixture *f);
  bool x, v, g, theta; /* what it depends on */
  bool needs_constraints;
  bool needs_contacts;
} element;

static const element elements[] = {
    {"mass", mass_value, mass_gradient, 0, 0, 1, 1, 0, 0},
    {"constraint Jacobian", jacobian_value, jacobian_gradient, 1, 0, 1, 0, 1, 0},
    {"constraint curvature", curvature_value, curvature_gradient, 0, 1, 1, 0, 1, 0},
    {"potential", energy_value, energy_gradient, 1, 0, 0, 0, 0, 0},
    {"potential gradient", potential_value, potential_gradient, 1, 0, 0, 1, 0, 0},
    {"dynamics", dynamics_value, dynamics_gradient, 1, 1, 1, 1, 0, 0},
    {"time step", step_value, step_gradient, 1, 1, 0, 1, 0, 0},
    {"weighed time step", step_value, weighed_step_gradient, 1, 1, 0, 1, 0, 0},
    {"projection", projection_value, projection_gradient, 1, 1, 0, 1, 1, 0},
    {"contact event", event_value, event_gradient, 1, 1, 0, 1, 0, 1},
};
enum { ELEMENT_COUNT = sizeof elements / sizeof elements[0] };

static const char *const scenes[] = {
    "bp5",
    "bd5",
    "cp3",
    "gyro",
    "rope",
    "bd1",
    CAROM_SOURCE_DIR "/examples/scenes/falling-box.json",
    CAROM_SOURCE_DIR "/examples/scenes/spheres.json",
    CAROM_SOURCE_DIR "/examples/scenes/double-pendulum.json",
    CAROM_SOURCE_DIR "/examples/scenes/tethered-disk.json",
    CAROM_TEST_DATA "/rope3d.json",
    CAROM_TEST_DATA "/bodies3d.json",
    CAROM_TEST_DATA "/rigid-chain.json",
    CAROM_TEST_DATA "/rigid-chain3d.json",
};
enum { SCENE_COUNT = sizeof scenes / sizeof scenes[0] };

/* What was compared of an element that has kinks. */
typedef struct comparison {
  int compared, skipped; /* directions */
  double worst;
} comparison;

static void compare_input(fixture *f, const element *e, double *values, const double *gradient,
                          int count, rng *random, comparison *c) {
  double error;
  if (count == 0) return;
  bool smooth = smooth_gradient_error(e->value, f, values, gradient, count, random, &error);
  c->compared += smooth;
  c->skipped += !smooth;
  // a NaN must not pass for small
  if (smooth && !(error <= c->worst)) c->worst = isnan(error) ? INFINITY : error;
}

/* The derivatives of the contact event by all its inputs at the fixture's point. */
static void compare_event(fixture *f, rng *random, comparison *c) {
  const element *e = &elements[ELEMENT_COUNT - 1];
  const carom_system *s = f->system;
  clear_bars(f);
  arena_mark mark = arena_save(&f->memory);
  mechanics_set_parameters(&f->mechanics, f->theta);
  e->gradient(f);
  arena_restore(&f->memory, mark);
  compare_input(f, e, f->x, f->x_bar, s->coordinate_count, random, c);
  compare_input(f, e, f->v, f->v_bar, s->coordinate_count, random, c);
  for (int k = 0; k < (f->flat ? CAROM_RADIUS : CAROM_SEGMENT_COUNT); k++)
    compare_input(f, e, f->theta + s->segments[k].offset, f->theta_bar + s->segments[k].offset,
                  s->segments[k].size, k < CAROM_RADIUS ? random : &f->shapes, c);
  mechanics_set_parameters(&f->mechanics, f->theta);
}

static double input_error(fixture *f, const element *e, double *values, const double *gradient,
                          int count, rng *random) {
  return count > 0 ? gradient_error(e->value, f, values, gradient, count, random) : 0;
}

/* Worst relative error over all inputs of an element at the fixture's point. */
static double element_error(fixture *f, const element *e, rng *random) {
  const carom_system *s = f->system;
  int n = s->coordinate_count;
  clear_bars(f);
  arena_mark mark = arena_save(&f->memory);
  mechanics_set_parameters(&f->mechanics, f->theta);
  e->gradient(f);
  arena_restore(&f->memory, mark);
  double worst = 0;
  if (e->x) worst = fmax(worst, input_error(f, e, f->x, f->x_bar, n, random));
  if (e->v) worst = fmax(worst, input_error(f, e, f->v, f->v_bar, n, random));
  if (e->g) worst = fmax(worst, input_error(f, e, f->g, f->g_bar, n, random));
  if (e->value == step_value)
    worst = fmax(worst, input_error(f, e, &f->options.dt, &f->dt_bar, 1, random));
  for (int k = 0; e->theta && k < CAROM_SEGMENT_COUNT; k++)
    worst = fmax(worst, input_error(f, e, f->theta + s->segments[k].offset,
                                    f->theta_bar + s->segments[k].offset, s->segments[k].size,
                                    k < CAROM_RADIUS ? random : &f->shapes));
  mechanics_set_parameters(&f->mechanics, f->theta);
  return worst;
}

/* Adds a random velocity that the constraints allow. */
static void stir(fixture *f, rng *random) {
  for (int i = 0; i < f->system->coordinate_count; i++) f->v[i] += rng_normal(random);
  allow_velocity(f, f->v);
}

/* A state with active contacts; noise where no constraint holds the positions, or where they may drift. */
static bool draw_contacts(fixture *f, rng *random, double noise) {
  bool held = f->system->row_count > 0 && !f->drifts;
  for (int attempt = 0; attempt < 2000; attempt++) {
    fixture_draw(f, random, held ? 0 : noise);
    mechanics_set_parameters(&f->mechanics, f->theta);
    stir(f, random);
    collision_detect(f->mechanics.system, f->x, &f->active);
    if (f->active.count > 0 && f->active.count <= 12) return true;
  }
  return false;
}

static void test_elements(void **state) {
  (void)state;
  for (int i = 0; i < ELEMENT_COUNT; i++) {
    const element *e = &elements[i];
    if (e->needs_contacts) continue;
    double worst = 0;
    for (int k = 0; k < SCENE_COUNT; k++) {
      fixture f;
      rng random;
      fixture_open(&f, scenes[k]);
      rng_seed(&random, 17, (uint64_t)(i * 100 + k));
      // eight are every integrator with both forms of the dynamics
      for (int draw = 0; draw < (quick() ? 8 : 12); draw++) {
        if (e->needs_constraints && f.system->row_count == 0) continue;
        fixture_draw(&f, &random, 0.002);
        mechanics_set_parameters(&f.mechanics, f.theta);
        f.dynamics = draw % 2 == 0 ? CAROM_LAGRANGIAN : CAROM_HAMILTONIAN;
        f.method = (carom_integrator[]){CAROM_RK4, CAROM_EULER, CAROM_SYMPLECTIC_EULER,
                                        CAROM_RK4_SECANT}[draw / 2 % 4];
        double error = element_error(&f, e, &random);
        if (error > 1e-7) print_message("%s, %s, draw %d: %.1e\n", e->name, scenes[k], draw, error);
        worst = fmax(worst, error);
      }
      fixture_close(&f);
    }
    print_message("%-22s %.1e\n", e->name, worst);
    assert_true(worst < 1e-7);
  }
}

/* Events that are compared for each scene and kind. */
static int event_draws(void) { return quick() ? 12 : 60; }

/* Events of one scene, at sampled states with noise on positions that no constraint holds. Contact
 * events have kinks where a contact changes its state, and derivatives of one side only where strict
 * complementarity fails: the few draws near one are counted, not compared. */
static void check_events(const char *scene, carom_compensation compensation, double noise,
                         uint64_t stream, int singular, bool complementarity) {
  fixture f;
  rng random;
  fixture_open(&f, scene);
  f.options.compensation = compensation;
  f.drifts = compensation != CAROM_COMPENSATION_PAPER;
  f.flat = singular > 0;
  rng_seed(&random, 5, stream);
  int degenerate = 0, draws = 0, selected = 0;
  comparison all = {0};
  for (; draws < event_draws() && draw_contacts(&f, &random, noise); draws++) {
    f.options.contact = complementarity ? CAROM_LCP : draws % 2 == 0 ? CAROM_CM : CAROM_CMR;
    f.options.penetration_compensation = draws % 3 != 0;
    f.options.hold_contacts = draws % 5 > 2;
    bool coulomb = singular == 0 && draws % 7 > 3;
    f.options.friction = coulomb ? CAROM_COULOMB_FRICTION : CAROM_CONVEX_FRICTION;
    comparison one = {0};
    compare_event(&f, &random, &one);
    if (one.worst > 1e-5) print_message("%s, draw %d: %.1e\n", f.system->name, draws, one.worst);
    degenerate += event_status != CAROM_CONE_SOLVED;
    if (event_status != CAROM_CONE_SOLVED) continue;
    selected += event_singular;
    all.compared += one.compared;
    all.skipped += one.skipped;
    all.worst = fmax(all.worst, one.worst);
  }
  print_message(
      "%-16s %d events, %d degenerate, %d with selection; %d directions, %d at a kink; %.1e\n",
      f.system->name, draws, degenerate, selected, all.compared, all.skipped, all.worst);
  assert_true(2 * draws >= event_draws());
  assert_true(selected * 60 >= singular * event_draws());
  assert_true(all.skipped * 20 <= all.compared);
  // v_C* of dependent rows divides twice by a Jacobian whose tangents weigh 3e-4: rounding, which differs from
  // processor to processor, leaves up to 1e-5 of its derivative
  const bool crowded = noise > 0.01 && compensation == CAROM_COMPENSATION_PAPER;
  assert_true(all.worst < (crowded ? 5e-5 : 1e-5));
  assert_true(degenerate <= draws / 4);
  fixture_close(&f);
}

static void test_events(void **state) {
  (void)state;
  for (int k = 0; k < SCENE_COUNT; k++) {
    check_events(scenes[k], CAROM_COMPENSATION_PAPER, 0.004, (uint64_t)k, 0, false);
    check_events(scenes[k], CAROM_COMPENSATION_POSITION, 0.004, (uint64_t)k, 0, false);
  }
}

/* Corners that are balls: the point that touches moves over them as the body turns. */
static void test_rounded_corners(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++)
    check_events(CAROM_TEST_DATA "/rounded-box.json", (carom_compensation)k, 0.004, 105, 0, false);
}

/* Ropes with more contacts than points: J is rank deficient, which v_C* has to cope with. */
static void test_crowded_ropes(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    check_events("rope", (carom_compensation)k, 0.012, 100, 0, false);
    check_events(CAROM_TEST_DATA "/rope3d.json", (carom_compensation)k, 0.012, 101, 0, false);
  }
}

/* More contacts on one body than it has freedoms: A is singular, and impulses are selected. */
static void test_redundant_contacts(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    check_events(CAROM_TEST_DATA "/lying-plate.json", (carom_compensation)k, 0, 102, 10, false);
    check_events(CAROM_TEST_DATA "/lying-box.json", (carom_compensation)k, 0, 103, 10, false);
  }
}

/* The same under the complementarity model. Pyramids of friction turn with the tangents; a single phase does not ask
 * which of many impulses it was, so that few are selected. */
static void test_complementarity(void **state) {
  (void)state;
  for (int compensation = 0; compensation < 2; compensation++) {
    for (int k = 0; k < SCENE_COUNT; k++)
      check_events(scenes[k], (carom_compensation)compensation, 0.004, (uint64_t)k, 0, true);
    check_events(CAROM_TEST_DATA "/rope3d.json", (carom_compensation)compensation, 0.004, 104, 0,
                 true);
    check_events(CAROM_TEST_DATA "/lying-plate.json", (carom_compensation)compensation, 0, 102, 0,
                 true);
  }
}

/* Axes that the constraints hold at every x: b is zero there, so that the event is smooth also where
 * velocities are off the constraints. A limit along a rigid link has its normal held, which makes
 * every event degenerate by rule, but derivatives exist there too. */
static void check_held(const char *scene, carom_cone_status status, bool drifts) {
  fixture f;
  rng random;
  fixture_open(&f, scene);
  f.drifts = drifts;
  rng_seed(&random, 5, 200);
  comparison all = {0};
  for (int draw = 0; draw < event_draws(); draw++) {
    assert_true(draw_contacts(&f, &random, 0));
    compare_event(&f, &random, &all);
    assert_int_equal(event_status, status);
  }
  print_message("%-16s %s: %d directions, %d at a kink; %.1e\n", f.system->name,
                drifts ? "drifting" : "allowed", all.compared, all.skipped, all.worst);
  assert_true(all.skipped * 20 <= all.compared);
  assert_true(all.worst < 1e-5);
  fixture_close(&f);
}

static void test_held_axes(void **state) {
  (void)state;
  for (int drifts = 0; drifts < 2; drifts++) {
    check_held(CAROM_TEST_DATA "/rigid-chain.json", CAROM_CONE_SOLVED, drifts);
    check_held(CAROM_TEST_DATA "/rigid-chain3d.json", CAROM_CONE_SOLVED, drifts);
    check_held(CAROM_TEST_DATA "/limited-link.json", CAROM_CONE_DEGENERATE, drifts);
  }
}

/* The value with all restitutions at `e`. */
static double value_at_restitution(fixture *f, double e) {
  const carom_segment_info at = carom_parameters_segment(f->system, CAROM_RESTITUTION);
  for (int i = 0; i < at.size; i++) f->theta[at.offset + i] = e;
  return event_value(f);
}

/* Without restitution the second phase is not solved, and the derivative by restitution is that to the right:
 * for events of one contact, beside differences to the right over two lengths, extrapolated. */
static void test_restitution_from_zero(void **state) {
  (void)state;
  const char *const of[] = {"bd1", "gyro", CAROM_SOURCE_DIR "/examples/scenes/falling-box.json",
                            CAROM_SOURCE_DIR "/examples/scenes/spheres.json"};
  int compared = 0;
  double worst = 0, length = 1e-5;
  for (int k = 0; k < 4; k++) {
    fixture f;
    rng random;
    fixture_open(&f, of[k]);
    f.options.compensation = CAROM_COMPENSATION_POSITION;
    f.drifts = true;
    rng_seed(&random, 9, (uint64_t)k);
    const carom_segment_info at = carom_parameters_segment(f.system, CAROM_RESTITUTION);
    for (int draw = 0; draw < 100; draw++) {
      assert_true(draw_contacts(&f, &random, 0.004));
      if (f.active.count != 1) continue;
      double sum = 0, zero = value_at_restitution(&f, 0);
      clear_bars(&f);
      arena_mark mark = arena_save(&f.memory);
      event_gradient(&f);
      arena_restore(&f.memory, mark);
      for (int i = 0; i < at.size; i++) sum += f.theta_bar[at.offset + i];
      double once = (value_at_restitution(&f, length) - zero) / length;
      double twice = (value_at_restitution(&f, 2 * length) - zero) / (2 * length);
      worst = fmax(worst, fabs(2 * once - twice - sum) / (1 + fabs(sum)));
      compared++;
    }
    fixture_close(&f);
  }
  print_message("restitution from zero: %d events, %.1e\n", compared, worst);
  assert_true(compared > 100);
  assert_true(worst < 1e-4);
}

/* ---- bends by themselves ----------------------------------------------------------------------- */

/* A bend limit of the fixture's scene, what is asked of its geometry being a functional of the
 * blocks and the gap, or the gap alone. Unlike the frame of other contacts, the rows of a bend are
 * differentiated as they are. */
typedef struct bend_case {
  fixture *f;
  contact_id id;
  double block_bar[MAX_CONTACT_POINTS * MAX_DIMENSION * MAX_DIMENSION];
  double gap_bar;
} bend_case;

static double bend_value(void *user) {
  bend_case *b = user;
  const carom_system *s = b->f->system;
  arena_mark mark = arena_save(&b->f->memory);
  contact c;
  contact_geometry(s, &b->id, b->f->x, &c, &b->f->memory);
  double value =
      b->gap_bar * c.gap + dot(b->block_bar, c.block, c.point_count * s->dimension * s->dimension);
  arena_restore(&b->f->memory, mark);
  return value;
}

/* Worst relative error at the fixture's state: of the derivative of rows and gap, and of the normal
 * row as the gradient of the gap. */
static double bend_error(bend_case *b, rng *random) {
  fixture *f = b->f;
  const carom_system *s = f->system;
  int n = s->coordinate_count, d = s->dimension;
  contact c;
  arena_mark mark = arena_save(&f->memory);
  contact_geometry(s, &b->id, f->x, &c, &f->memory);
  b->gap_bar = rng_normal(random);
  for (int i = 0; i < c.point_count * d * d; i++) b->block_bar[i] = rng_normal(random);
  clear_bars(f);
  contact_geometry_vjp(s, &c, f->x, b->block_bar, b->gap_bar, f->x_bar, f->theta_bar);
  double worst = gradient_error(bend_value, b, f->x, f->x_bar, n, random);

  clear_bars(f);
  const double along[MAX_DIMENSION] = {1, 0, 0};
  contact_apply_transpose(&c, d, along, f->x_bar);
  memset(b->block_bar, 0, sizeof b->block_bar);
  b->gap_bar = 1;
  worst = fmax(worst, gradient_error(bend_value, b, f->x, f->x_bar, n, random));
  arena_restore(&f->memory, mark);
  return worst;
}

static void test_bends(void **state) {
  (void)state;
  for (int k = 0; k < SCENE_COUNT; k++) {
    fixture f;
    rng random;
    fixture_open(&f, scenes[k]);
    const carom_system *s = f.system;
    rng_seed(&random, 23, (uint64_t)k);
    double worst = 0;
    int compared = 0;
    for (int draw = 0; draw < 20; draw++) {
      fixture_draw(&f, &random, 0.01);
      for (int i = 0; i < s->limit_count && s->limits[i].kind == LIMIT_BEND; i++, compared++) {
        // a turn in space has one side only
        int side = s->dimension == 2 ? draw % 2 : 0;
        bend_case b = {.f = &f, .id = {CONTACT_LIMIT, i, 0, side, s->limits[i].property}};
        worst = fmax(worst, bend_error(&b, &random));
      }
    }
    if (compared > 0) print_message("%-16s %d bends %.1e\n", s->name, compared, worst);
    assert_true(worst < 1e-7);
    fixture_close(&f);
  }
}

/* Bodies that leave straight along the normal, without any tangential velocity, are free along tangents. */
static void test_straight_leave(void **state) {
  (void)state;
  comparison all = {0};
  rng random;
  rng_seed(&random, 13, 0);
  const char *const of[] = {"bd1", CAROM_SOURCE_DIR "/examples/scenes/spheres.json"};
  for (int k = 0; k < 2; k++) {
    fixture f;
    fixture_open(&f, of[k]);
    f.options.compensation = CAROM_COMPENSATION_POSITION;
    for (int draw = 0; draw < 20; draw++) {
      assert_true(draw_contacts(&f, &random, 0));
      if (f.active.count != 1 || f.active.ids[0].kind != CONTACT_BALL_PLANE) continue;
      const plane *wall = &f.system->planes[f.active.ids[0].second];
      int d = f.system->dimension;
      for (int i = 0; i < f.system->coordinate_count; i++) f.v[i] = wall->normal[i % d];
      compare_event(&f, &random, &all);
    }
    fixture_close(&f);
  }
  print_message("straight away: %d directions, %d at a kink; %.1e\n", all.compared, all.skipped,
                all.worst);
  assert_true(all.compared >= 50 && all.skipped * 20 <= all.compared);
  assert_true(all.worst < 1e-5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_elements),
      cmocka_unit_test(test_events),
      cmocka_unit_test(test_rounded_corners),
      cmocka_unit_test(test_crowded_ropes),
      cmocka_unit_test(test_redundant_contacts),
      cmocka_unit_test(test_complementarity),
      cmocka_unit_test(test_held_axes),
      cmocka_unit_test(test_bends),
      cmocka_unit_test(test_restitution_from_zero),
      cmocka_unit_test(test_straight_leave),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
