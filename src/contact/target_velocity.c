#include "contact/target_velocity.h"

#include "physics/constraints.h"

#include <string.h>

/* ---- projection on the velocities that the constraints allow ----------------------------------- */

/* out = u - J_E' multipliers, multipliers = (J_E J_E')^-1 J_E u; out may be u */
static void project(const contact_event *e, const double *u, double *out, double *multipliers) {
  const mechanics *m = e->mechanics;
  if (out != u) event_copy(e, out, u);
  for (int t = 0; t < e->group.touched_count; t++) {
    const assembly *a = touched_at(e, t);
    int begin = touched_begin(e, t), end = touched_end(e, t);
    if (begin == end) continue;
    constraints_apply(m, begin, end, e->arm, out, multipliers);
    constraints_solve(m, begin, end, e->geometric, multipliers);
    for (int r = a->first_row; r < a->first_row + a->row_count; r++)
      multipliers[r] = -multipliers[r];
    constraints_apply_transpose(m, begin, end, e->arm, multipliers, out);
    for (int r = a->first_row; r < a->first_row + a->row_count; r++)
      multipliers[r] = -multipliers[r];
  }
}

/* w = P y with P = I - J_E' N, N = (J_E J_E')^-1 J_E symmetric as a projection:
 * dP = -P dJ_E' N - N' dJ_E P, so J_E_bar = -(N y) (x) (P w_bar) - (N w_bar) (x) (P y).
 * w_bar becomes y_bar = P w_bar. */
static void project_vjp(const contact_event *e, const target_velocity *t, double *w_bar,
                        double *x_bar, arena *scratch) {
  const mechanics *m = e->mechanics;
  double *multipliers = arena_zeros(scratch, m->system->row_count);
  project(e, w_bar, w_bar, multipliers);
  for (int i = 0; i < e->group.touched_count; i++) {
    int begin = touched_begin(e, i), end = touched_end(e, i);
    constraints_bilinear_vjp(m, begin, end, -1, t->multipliers, w_bar, x_bar);
    constraints_bilinear_vjp(m, begin, end, -1, multipliers, t->w, x_bar);
  }
}

/* ---- v_C* -------------------------------------------------------------------------------------- */

target_velocity target_velocity_make(const contact_event *e, arena *memory) {
  const carom_system *s = e->mechanics->system;
  target_velocity t = {.desired = arena_zeros(memory, e->size)};
  t.value = t.desired;
  if (!event_has_target(e)) return t;

  // v_d = (-gap / time, 0)
  for (int c = 0; c < e->group.count; c++)
    t.desired[c * s->dimension] = -e->group.contacts[c].gap / event_compensation_time(e);

  // v_C* = v_d where that is a velocity the system can have
  t.inverse = pseudo_inverse_make(e, memory);
  t.projected = event_has_constraints(e) || t.inverse.deficient;
  if (!t.projected) return t;

  // y = J^+ v_d, w = P y, v_C* = J w
  t.y = arena_doubles(memory, s->coordinate_count);
  t.w = arena_doubles(memory, s->coordinate_count);
  t.multipliers = arena_zeros(memory, s->row_count);
  t.value = arena_doubles(memory, e->size);
  pseudo_inverse_apply(&t.inverse, t.desired, t.y, memory);
  project(e, t.y, t.w, t.multipliers);
  event_jacobian(e, t.w, t.value);
  return t;
}

void target_velocity_vjp(const contact_event *e, const target_velocity *t, const double *value_bar,
                         const event_cotangents *bars, arena *scratch) {
  if (!event_has_target(e)) return;
  int d = e->mechanics->system->dimension;
  arena_mark mark = arena_save(scratch);
  double *desired_bar = arena_doubles(scratch, e->size);
  memcpy(desired_bar, value_bar, sizeof(double) * (size_t)e->size);
  if (t->projected) {
    // value = J w
    double *w_bar = arena_doubles(scratch, e->mechanics->system->coordinate_count);
    event_zero(e, w_bar);
    event_jacobian_transpose(e, value_bar, w_bar);
    event_jacobian_outer(e, 1, value_bar, t->w, bars->blocks);

    // w = P y, y = J^+ v_d
    project_vjp(e, t, w_bar, bars->x, scratch);
    pseudo_inverse_vjp(&t->inverse, t->desired, t->y, w_bar, desired_bar, bars->blocks, scratch);
  }
  // v_d = -gap / time
  for (int c = 0; c < e->group.count; c++)
    bars->gap[c] -= desired_bar[c * d] / event_compensation_time(e);
  arena_restore(scratch, mark);
}
