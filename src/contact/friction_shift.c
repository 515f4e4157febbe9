#include "contact/friction_shift.h"

#include "physics/constraint_projection.h"

/* rows = hold/2 of the tangential entries of f */
static void tangential(const contact_event *e, const double *f, double *rows) {
  int d = e->mechanics->system->dimension;
  for (int i = 0; i < e->size; i++) rows[i] = i % d == 0 ? 0 : e->hold / 2 * f[i];
}

/* hold/2 M^ J' (f_c + f_r)_t; rows [C] is hold/2 (f_c + f_r)_t */
static mass_image shift_of(const contact_event *e, const double *f_c, const double *f_r,
                           double *rows, arena *memory) {
  double *force = arena_doubles(memory, e->mechanics->system->coordinate_count);
  for (int i = 0; i < e->size; i++) rows[i] = f_c[i] + (f_r != NULL ? f_r[i] : 0);
  tangential(e, rows, rows);
  event_zero(e, force);
  event_jacobian_transpose(e, rows, force);
  return mass_image_of(e, force, memory);
}

const double *friction_shift_make(const contact_event *e, const double *f_c, const double *f_r,
                                  arena *memory) {
  return shift_of(e, f_c, f_r, arena_doubles(memory, e->size), memory).u;
}

bool friction_shift(const contact_event *e, const double *shift, double *x, double *v,
                    arena *scratch) {
  const mechanics *m = e->mechanics;
  bool held = true;
  event_add(e, 1, shift, x);
  for (int t = 0; t < e->group.touched_count; t++) {
    int assembly_index = e->group.touched[t].assembly;
    if (project_positions(m, METRIC_INERTIAL, assembly_index, x, scratch))
      project_velocities(m, METRIC_INERTIAL, assembly_index, x, v, scratch);
    else
      held = false;
  }
  return held;
}

void friction_shift_vjp(const contact_event *e, const double *f_c, const double *f_r,
                        const double *x, const double *v, double *f_bar, double *x_bar,
                        double *v_bar, const event_cotangents *bars, arena *scratch) {
  const mechanics *m = e->mechanics;
  int n = m->system->coordinate_count;
  arena_mark mark = arena_save(scratch);
  double *rows = arena_doubles(scratch, e->size);
  double *moved = arena_doubles(scratch, n), *after = arena_doubles(scratch, n);
  mass_image shift = shift_of(e, f_c, f_r, rows, scratch);
  event_copy(e, moved, x);
  event_add(e, 1, shift.u, moved);

  // onto the constraints
  event_copy(e, after, moved);
  for (int t = 0; t < e->group.touched_count; t++) {
    int a = e->group.touched[t].assembly;
    if (!project_positions(m, METRIC_INERTIAL, a, after, scratch)) continue;
    project_velocities_vjp(m, a, after, v, v_bar, x_bar, bars->theta, scratch);
    project_positions_vjp(m, a, moved, x_bar, bars->theta, scratch);
  }

  // x' = x + M^ J' rows, rows = hold/2 f_t: f_bar = hold/2 (J M^ x'_bar)_t, J_bar += rows (x) M^ x'_bar,
  // hold_bar = 1/2 f_t . (J M^ x'_bar)_t
  mass_image left = mass_image_of(e, x_bar, scratch);
  mass_image_vjp(e, &left, &shift, bars);
  event_jacobian_outer(e, 1, rows, left.u, bars->blocks);
  event_jacobian(e, left.u, f_bar);
  for (int i = 0, d = m->system->dimension; bars->hold != NULL && i < e->size; i++)
    if (i % d != 0) *bars->hold += (f_c[i] + (f_r != NULL ? f_r[i] : 0)) / 2 * f_bar[i];
  tangential(e, f_bar, f_bar);
  arena_restore(scratch, mark);
}
