#include "contact/event_operators.h"

#include "physics/constraints.h"

/* ---- vectors over the points of touched assemblies -------------------------------------------- */

void event_copy(const contact_event *e, double *to, const double *from) {
  int d = e->mechanics->system->dimension;
  for (int t = 0; t < e->group.touched_count; t++) {
    const assembly *a = touched_at(e, t);
    for (int k = 0; k < a->point_count; k++)
      for (int i = 0; i < d; i++) to[a->points[k] * d + i] = from[a->points[k] * d + i];
  }
}

void event_zero(const contact_event *e, double *to) {
  int d = e->mechanics->system->dimension;
  for (int t = 0; t < e->group.touched_count; t++) {
    const assembly *a = touched_at(e, t);
    for (int k = 0; k < a->point_count; k++)
      for (int i = 0; i < d; i++) to[a->points[k] * d + i] = 0;
  }
}

void event_add(const contact_event *e, double scale, const double *from, double *to) {
  int d = e->mechanics->system->dimension;
  for (int t = 0; t < e->group.touched_count; t++) {
    const assembly *a = touched_at(e, t);
    for (int k = 0; k < a->point_count; k++)
      for (int i = 0; i < d; i++) to[a->points[k] * d + i] += scale * from[a->points[k] * d + i];
  }
}

/* ---- the contact Jacobian --------------------------------------------------------------------- */

void event_jacobian(const contact_event *e, const double *v, double *rows) {
  int d = e->mechanics->system->dimension;
  for (int c = 0; c < e->group.count; c++) contact_apply(&e->group.contacts[c], d, v, rows + c * d);
}

void event_jacobian_transpose(const contact_event *e, const double *rows, double *out) {
  int d = e->mechanics->system->dimension;
  for (int c = 0; c < e->group.count; c++)
    contact_apply_transpose(&e->group.contacts[c], d, rows + c * d, out);
}

static inline void outer_in(const int d, const contact_event *e, double scale, const double *rows,
                            const double *points, double *blocks_bar) {
  for (int c = 0; c < e->group.count; c++) {
    const contact *on = &e->group.contacts[c];
    for (int k = 0; k < on->point_count; k++) {
      double *bar = blocks_bar + (on->first_block + k) * d * d;
      const double *u = points + on->point[k] * d;
      for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) bar[i * d + j] += scale * rows[c * d + i] * u[j];
    }
  }
}

void event_jacobian_outer(const contact_event *e, double scale, const double *rows,
                          const double *points, double *blocks_bar) {
  if (e->mechanics->system->dimension == 2)
    outer_in(2, e, scale, rows, points, blocks_bar);
  else
    outer_in(3, e, scale, rows, points, blocks_bar);
}

void event_drop_held(const contact_event *e, double *rows) {
  for (int r = 0; r < e->size; r++)
    if (e->held[r]) rows[r] = 0;
}

/* ---- the inverse mass under the constraints ---------------------------------------------------- */

void assembly_constrain(const contact_event *e, int assembly_index, double *out, double *push,
                        double *lambda) {
  const mechanics *m = e->mechanics;
  const assembly *a = &m->system->assemblies[assembly_index];
  if (a->row_count == 0) return;
  int begin = m->assembly_constraint[assembly_index];
  int end = m->assembly_constraint[assembly_index + 1];

  // lambda = (J_E M^-1 J_E')^-1 J_E M^-1 push
  constraints_apply(m, begin, end, e->arm, out, lambda);
  constraints_solve(m, begin, end, e->factor, lambda);

  // push -= J_E' lambda
  for (int r = a->first_row; r < a->first_row + a->row_count; r++) lambda[r] = -lambda[r];
  constraints_apply_transpose(m, begin, end, e->arm, lambda, push);
  for (int r = a->first_row; r < a->first_row + a->row_count; r++) lambda[r] = -lambda[r];
  mass_inverse_assembly(m, a, push, out);
}

mass_image mass_image_of(const contact_event *e, const double *force, arena *memory) {
  const carom_system *s = e->mechanics->system;
  mass_image image = {arena_doubles(memory, s->coordinate_count),
                      arena_doubles(memory, s->coordinate_count),
                      arena_doubles(memory, s->row_count)};
  event_copy(e, image.push, force);
  for (int t = 0; t < e->group.touched_count; t++) {
    mass_inverse_assembly(e->mechanics, touched_at(e, t), image.push, image.u);
    assembly_constrain(e, e->group.touched[t].assembly, image.u, image.push, image.lambda);
  }
  return image;
}

/* left' dM^ right = push_l' dM^-1 push_r - lambda_r' dJ_E u_l - lambda_l' dJ_E u_r */
void mass_image_vjp(const contact_event *e, const mass_image *left, const mass_image *right,
                    const event_cotangents *bars) {
  const mechanics *m = e->mechanics;
  for (int t = 0; t < e->group.touched_count; t++) {
    int begin = touched_begin(e, t), end = touched_end(e, t);
    mass_inverse_assembly_vjp(m, touched_at(e, t), left->push, right->push, bars->theta);
    constraints_bilinear_vjp(m, begin, end, -1, right->lambda, left->u, bars->x);
    constraints_bilinear_vjp(m, begin, end, -1, left->lambda, right->u, bars->x);
  }
}

void event_apply_impulse(const contact_event *e, const double *f, double *v, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  double *force = arena_doubles(scratch, e->mechanics->system->coordinate_count);
  event_zero(e, force);
  event_jacobian_transpose(e, f, force);
  event_add(e, 1, mass_image_of(e, force, scratch).u, v);
  arena_restore(scratch, mark);
}
