#include "physics/dynamics.h"

#include "base/vector.h"
#include "physics/lane_mechanics.h"

/* Without constraints states are computed one by one: there is nothing to share. */
static bool is_free(const carom_system *s) { return s->constraint_count == 0; }

static int factor_count(const carom_system *s) {
  return s->row_count > 0 ? s->constraint_shape.start[s->row_count] : 0;
}

size_t dynamics_record_bytes(const mechanics *m) {
  const carom_system *s = m->system;
  const size_t coordinates = (size_t)s->coordinate_count * (is_free(s) ? 1 : 4);
  return sizeof(lanes) * ((size_t)s->constraint_count * (size_t)s->dimension +
                          (size_t)factor_count(s) + 2 * (size_t)s->row_count + coordinates);
}

dynamics_record dynamics_record_make(const mechanics *m, arena *memory) {
  const carom_system *s = m->system;
  dynamics_record r = {.force = lanes_array(memory, s->coordinate_count)};
  if (is_free(s)) return r;
  r.arm = lanes_array(memory, s->constraint_count * s->dimension);
  r.factor = lanes_array(memory, factor_count(s));
  r.lambda = lanes_array(memory, s->row_count);
  r.v = lanes_array(memory, s->coordinate_count);
  r.velocity = lanes_array(memory, s->coordinate_count);
  r.acceleration = lanes_array(memory, s->coordinate_count);
  r.b = lanes_array(memory, s->row_count);
  return r;
}

/* x' = v, v' = -M^-1 g */
static void eval_free(const mechanics *m, int count, const double *v, const double *gradient,
                      double *velocity, double *acceleration, double *force) {
  const int size = m->system->coordinate_count;
  vector_copy(velocity, v, count * size);
  for (int i = 0; i < count * size; i++) force[i] = -gradient[i];
  for (int k = 0; k < count; k++) mass_inverse(m, force + k * size, acceleration + k * size);
}

static void eval_free_vjp(const mechanics *m, int count, const double *force,
                          const double *velocity_bar, const double *acceleration_bar, double *v_bar,
                          double *gradient_bar, double *theta_bar) {
  const int size = m->system->coordinate_count;
  for (int k = 0; k < count; k++) {
    mass_inverse(m, acceleration_bar + k * size, gradient_bar + k * size);
    mass_inverse_vjp(m, acceleration_bar + k * size, force + k * size, theta_bar);
  }
  for (int i = 0; i < count * size; i++) gradient_bar[i] = -gradient_bar[i];
  for (int i = 0; i < count * size; i++) v_bar[i] += velocity_bar[i];
}

/* Hamiltonian: b = K^-1 J v, velocity = v - M^-1 J' b, force += B(v)' b */
static void project_velocity(const mechanics *m, dynamics_record *r, arena *scratch) {
  const carom_system *s = m->system;
  lanes *impulse = lanes_array(scratch, s->coordinate_count);
  lanes_clear(impulse, s->coordinate_count);
  lane_apply(m, r->arm, r->v, r->b);
  lane_solve(m, r->factor, r->b);
  lane_apply_transpose(m, r->arm, r->b, impulse);
  lane_mass_inverse(m, impulse, impulse);
  for (int i = 0; i < s->coordinate_count; i++) r->velocity[i] = r->v[i] - impulse[i];
  lane_curvature_transpose(m, 1, r->v, r->b, r->force);
}

void dynamics_eval(const mechanics *m, carom_dynamics kind, int count, const double *x,
                   const double *v, const double *gradient, double *velocity, double *acceleration,
                   dynamics_record *r, arena *scratch) {
  const carom_system *s = m->system;
  const int size = s->coordinate_count;
  if (is_free(s)) {
    eval_free(m, count, v, gradient, velocity, acceleration, (double *)r->force);
    return;
  }
  arena_mark mark = arena_save(scratch);
  lanes *place = lanes_array(scratch, size);
  lanes_load(count, size, x, place);
  lanes_load(count, size, v, r->v);
  lanes_load(count, size, gradient, r->force);
  for (int i = 0; i < size; i++) r->velocity[i] = r->v[i];
  for (int i = 0; i < size; i++) r->force[i] = -r->force[i];
  lane_arms(m, place, r->arm);
  lane_factor(m, r->arm, r->factor);
  if (kind == CAROM_HAMILTONIAN) project_velocity(m, r, scratch);

  // lambda = K^-1 (-J M^-1 force - B(v) x')
  lanes *curvature = lanes_array(scratch, s->row_count);
  lane_mass_inverse(m, r->force, r->acceleration);
  lane_apply(m, r->arm, r->acceleration, r->lambda);
  lane_curvature(m, r->v, r->velocity, curvature);
  for (int i = 0; i < s->row_count; i++) r->lambda[i] = -r->lambda[i] - curvature[i];
  lane_solve(m, r->factor, r->lambda);

  // v' = M^-1 (force + J' lambda)
  lane_apply_transpose(m, r->arm, r->lambda, r->force);
  lane_mass_inverse(m, r->force, r->acceleration);
  lanes_store(count, size, r->velocity, velocity);
  lanes_store(count, size, r->acceleration, acceleration);
  arena_restore(scratch, mark);
}

/* Cotangents of LANES states. */
typedef struct lane_bars {
  lanes *velocity, *x, *v; /* [D] of x', of the state */
  double *theta;
} lane_bars;

/* The reverse of project_velocity. `force_bar` is the cotangent of B(v)' b. */
static void project_velocity_vjp(const mechanics *m, const dynamics_record *r,
                                 const lanes *force_bar, const lane_bars *bars, arena *scratch) {
  const carom_system *s = m->system;
  const int size = s->coordinate_count;

  // in the forward pass this was force += B(v)' b, so now with y = force_bar:
  // b_bar = B(v) y, v_bar += B(y)' b
  lanes *b_bar = lanes_array(scratch, s->row_count);
  lane_curvature(m, r->v, force_bar, b_bar);
  lane_curvature_transpose(m, 1, force_bar, r->b, bars->v);

  // velocity = v - M^-1 J' b
  lanes *u = lanes_array(scratch, size), *rows = lanes_array(scratch, s->row_count);
  lane_mass_inverse(m, bars->velocity, u);
  lane_apply(m, r->arm, u, rows);
  for (int i = 0; i < s->row_count; i++) b_bar[i] -= rows[i];

  // b = K^-1 J v: kappa = K^-1 b_bar; v_bar += J' kappa; all Jacobian terms together are
  // kappa (x) velocity - b (x) M^-1 (velocity_bar + J' kappa), all mass terms
  // -(velocity_bar + J' kappa)' dM^-1 (J' b)
  lane_solve(m, r->factor, b_bar);
  lanes *push = lanes_array(scratch, size), *impulse = lanes_array(scratch, size);
  lanes_clear(impulse, size);
  for (int i = 0; i < size; i++) push[i] = bars->velocity[i];
  lane_apply_transpose(m, r->arm, b_bar, push);
  for (int i = 0; i < size; i++) bars->v[i] += push[i];
  lane_apply_transpose(m, r->arm, r->b, impulse);
  lane_mass_inverse(m, push, u);
  lane_curvature_transpose(m, 1, r->velocity, b_bar, bars->x);
  lane_curvature_transpose(m, -1, u, r->b, bars->x);
  for (int i = 0; i < size; i++) push[i] = -push[i];
  lane_mass_inverse_vjp(m, push, impulse, bars->theta);
}

void dynamics_eval_vjp(const mechanics *m, carom_dynamics kind, int count, const dynamics_record *r,
                       const double *velocity_bar, const double *acceleration_bar, double *x_bar,
                       double *v_bar, double *gradient_bar, double *theta_bar, arena *scratch) {
  const carom_system *s = m->system;
  const int size = s->coordinate_count;
  if (is_free(s)) {
    eval_free_vjp(m, count, (const double *)r->force, velocity_bar, acceleration_bar, v_bar,
                  gradient_bar, theta_bar);
    return;
  }
  arena_mark mark = arena_save(scratch);
  lane_bars bars = {.velocity = lanes_array(scratch, size),
                    .x = lanes_array(scratch, size),
                    .v = lanes_array(scratch, size),
                    .theta = theta_bar};
  lanes_load_cotangents(count, size, velocity_bar, bars.velocity);
  lanes_clear(bars.x, size);
  lanes_clear(bars.v, size);

  // kappa = K^-1 J M^-1 a_bar, the cotangent of lambda's right-hand side;
  // u = M^-1 (a_bar - J' kappa)
  lanes *kappa = lanes_array(scratch, s->row_count);
  lanes *push = lanes_array(scratch, size), *u = lanes_array(scratch, size);
  lanes_load_cotangents(count, size, acceleration_bar, push);
  lane_mass_inverse(m, push, u);
  lane_apply(m, r->arm, u, kappa);
  lane_solve(m, r->factor, kappa);
  for (int i = 0; i < s->row_count; i++) kappa[i] = -kappa[i];
  lane_apply_transpose(m, r->arm, kappa, push);
  lane_mass_inverse(m, push, u);

  // the Jacobian terms of J' lambda, J M^-1 g and K add up to lambda (x) u - kappa (x) v', those of
  // M^-1 to (a_bar - J' kappa)' dM^-1 force; kappa has its sign turned here
  lane_curvature_transpose(m, 1, u, r->lambda, bars.x);
  lane_curvature_transpose(m, 1, r->acceleration, kappa, bars.x);
  lane_mass_inverse_vjp(m, push, r->force, theta_bar);

  // -kappa' B(v) x', bilinear in v and x'
  lane_curvature_transpose(m, 1, r->velocity, kappa, bars.v);
  lane_curvature_transpose(m, 1, r->v, kappa, bars.velocity);
  if (kind == CAROM_HAMILTONIAN)
    project_velocity_vjp(m, r, u, &bars, scratch);
  else
    for (int i = 0; i < size; i++) bars.v[i] += bars.velocity[i];
  for (int i = 0; i < size; i++) u[i] = -u[i];
  lanes_store(count, size, u, gradient_bar);
  lanes_add(count, size, bars.x, x_bar);
  lanes_add(count, size, bars.v, v_bar);
  arena_restore(scratch, mark);
}
