#include "physics/dynamics.h"

#include "base/vector.h"
#include "physics/constraints.h"

size_t dynamics_record_bytes(const mechanics *m) {
  const carom_system *s = m->system;
  size_t factor = s->row_count > 0 ? (size_t)s->constraint_shape.start[s->row_count] : 0;
  return sizeof(double) * ((size_t)s->constraint_count * (size_t)s->dimension + factor +
                           2 * (size_t)s->row_count + 3 * (size_t)s->coordinate_count);
}

dynamics_record dynamics_record_make(const mechanics *m, arena *memory) {
  const carom_system *s = m->system;
  return (dynamics_record){
      .arm = arena_doubles(memory, s->constraint_count * s->dimension),
      .factor =
          arena_doubles(memory, s->row_count > 0 ? s->constraint_shape.start[s->row_count] : 0),
      .lambda = arena_doubles(memory, s->row_count),
      .velocity = arena_doubles(memory, s->coordinate_count),
      .acceleration = arena_doubles(memory, s->coordinate_count),
      .b = arena_doubles(memory, s->row_count),
      .force = arena_doubles(memory, s->coordinate_count),
  };
}

/* Hamiltonian: b = K^-1 J v, velocity = v - M^-1 J' b, force += B(v)' b */
static void project_velocity(const mechanics *m, const double *v, dynamics_record *r,
                             arena *scratch) {
  const carom_system *s = m->system;
  int all = s->constraint_count;
  double *impulse = arena_zeros(scratch, s->coordinate_count);
  constraints_apply(m, 0, all, r->arm, v, r->b);
  constraints_solve(m, 0, all, r->factor, r->b);
  constraints_apply_transpose(m, 0, all, r->arm, r->b, impulse);
  mass_inverse(m, impulse, impulse);
  for (int i = 0; i < s->coordinate_count; i++) r->velocity[i] = v[i] - impulse[i];
  constraints_curvature_transpose(m, 1, v, r->b, r->force);
}

void dynamics_eval(const mechanics *m, carom_dynamics kind, const double *x, const double *v,
                   const double *gradient, dynamics_record *r, arena *scratch) {
  const carom_system *s = m->system;
  int size = s->coordinate_count;
  int all = s->constraint_count;
  vector_copy(r->velocity, v, size);
  for (int i = 0; i < size; i++) r->force[i] = -gradient[i];
  if (all == 0) {
    mass_inverse(m, r->force, r->acceleration);
    return;
  }
  arena_mark mark = arena_save(scratch);
  constraints_arms(m, 0, all, x, r->arm);
  constraints_factor(m, 0, all, r->arm, METRIC_INERTIAL, r->factor);
  if (kind == CAROM_HAMILTONIAN) project_velocity(m, v, r, scratch);

  // lambda = K^-1 (-J M^-1 force - B(v) x')
  double *curvature = arena_doubles(scratch, s->row_count);
  mass_inverse(m, r->force, r->acceleration);
  constraints_apply(m, 0, all, r->arm, r->acceleration, r->lambda);
  constraints_curvature(m, v, r->velocity, curvature);
  for (int i = 0; i < s->row_count; i++) r->lambda[i] = -r->lambda[i] - curvature[i];
  constraints_solve(m, 0, all, r->factor, r->lambda);

  // v' = M^-1 (force + J' lambda)
  constraints_apply_transpose(m, 0, all, r->arm, r->lambda, r->force);
  mass_inverse(m, r->force, r->acceleration);
  arena_restore(scratch, mark);
}

/* The reverse of project_velocity. `force_bar` is the cotangent of B(v)' b. */
static void project_velocity_vjp(const mechanics *m, const double *v, const dynamics_record *r,
                                 const double *velocity_bar, const double *force_bar, double *x_bar,
                                 double *v_bar, double *theta_bar, arena *scratch) {
  const carom_system *s = m->system;
  int size = s->coordinate_count;
  int all = s->constraint_count;

  // in the forward pass this was force += B(v)' b, so now with y = force_bar:
  // b_bar = B(v) y, v_bar += B(y)' b
  double *b_bar = arena_doubles(scratch, s->row_count);
  constraints_curvature(m, v, force_bar, b_bar);
  constraints_curvature_transpose(m, 1, force_bar, r->b, v_bar);

  // velocity = v - M^-1 J' b
  double *u = arena_doubles(scratch, size);
  double *rows = arena_doubles(scratch, s->row_count);
  mass_inverse(m, velocity_bar, u);
  constraints_apply(m, 0, all, r->arm, u, rows);
  for (int i = 0; i < s->row_count; i++) b_bar[i] -= rows[i];

  // b = K^-1 J v: kappa = K^-1 b_bar; v_bar += J' kappa; all Jacobian terms together are
  // kappa (x) velocity - b (x) M^-1 (velocity_bar + J' kappa), all mass terms
  // -(velocity_bar + J' kappa)' dM^-1 (J' b)
  constraints_solve(m, 0, all, r->factor, b_bar);
  double *push = arena_doubles(scratch, size);
  double *impulse = arena_zeros(scratch, size);
  vector_copy(push, velocity_bar, size);
  constraints_apply_transpose(m, 0, all, r->arm, b_bar, push);
  for (int i = 0; i < size; i++) v_bar[i] += push[i];
  constraints_apply_transpose(m, 0, all, r->arm, r->b, impulse);
  mass_inverse(m, push, u);
  constraints_bilinear_vjp(m, 0, all, 1, b_bar, r->velocity, x_bar);
  constraints_bilinear_vjp(m, 0, all, -1, r->b, u, x_bar);
  for (int i = 0; i < size; i++) push[i] = -push[i];
  mass_inverse_vjp(m, push, impulse, theta_bar);
}

void dynamics_eval_vjp(const mechanics *m, carom_dynamics kind, const double *v,
                       const dynamics_record *r, const double *velocity_bar,
                       const double *acceleration_bar, double *x_bar, double *v_bar,
                       double *gradient_bar, double *theta_bar, arena *scratch) {
  const carom_system *s = m->system;
  int size = s->coordinate_count;
  int all = s->constraint_count;
  if (all == 0) {
    // v' = -M^-1 g, x' = v
    mass_inverse(m, acceleration_bar, gradient_bar);
    for (int i = 0; i < size; i++) gradient_bar[i] = -gradient_bar[i];
    for (int i = 0; i < size; i++) v_bar[i] += velocity_bar[i];
    mass_inverse_vjp(m, acceleration_bar, r->force, theta_bar);
    return;
  }
  arena_mark mark = arena_save(scratch);

  // kappa = K^-1 J M^-1 a_bar, the cotangent of lambda's right-hand side;
  // u = M^-1 (a_bar - J' kappa)
  double *kappa = arena_doubles(scratch, s->row_count);
  double *push = arena_doubles(scratch, size);
  double *u = arena_doubles(scratch, size);
  mass_inverse(m, acceleration_bar, u);
  constraints_apply(m, 0, all, r->arm, u, kappa);
  constraints_solve(m, 0, all, r->factor, kappa);
  for (int i = 0; i < s->row_count; i++) kappa[i] = -kappa[i];
  vector_copy(push, acceleration_bar, size);
  constraints_apply_transpose(m, 0, all, r->arm, kappa, push);
  mass_inverse(m, push, u);

  // the Jacobian terms of J' lambda, J M^-1 g and K add up to lambda (x) u - kappa (x) v', those of
  // M^-1 to (a_bar - J' kappa)' dM^-1 force; kappa has its sign turned here
  constraints_bilinear_vjp(m, 0, all, 1, r->lambda, u, x_bar);
  constraints_bilinear_vjp(m, 0, all, 1, kappa, r->acceleration, x_bar);
  mass_inverse_vjp(m, push, r->force, theta_bar);
  for (int i = 0; i < size; i++) gradient_bar[i] = -u[i];

  // -kappa' B(v) x', bilinear in v and x'
  double *total_velocity_bar = arena_doubles(scratch, size);
  vector_copy(total_velocity_bar, velocity_bar, size);
  constraints_curvature_transpose(m, 1, r->velocity, kappa, v_bar);
  constraints_curvature_transpose(m, 1, v, kappa, total_velocity_bar);
  if (kind == CAROM_HAMILTONIAN)
    project_velocity_vjp(m, v, r, total_velocity_bar, u, x_bar, v_bar, theta_bar, scratch);
  else
    for (int i = 0; i < size; i++) v_bar[i] += total_velocity_bar[i];
  arena_restore(scratch, mark);
}
