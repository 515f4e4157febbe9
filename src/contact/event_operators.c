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

mass_image mass_image_make(const contact_event *e, arena *memory) {
  const carom_system *s = e->mechanics->system;
  double *vectors = arena_doubles(memory, 3 * s->coordinate_count + s->row_count);
  return (mass_image){.u = vectors,
                      .push = vectors + s->coordinate_count,
                      .reaction = vectors + 2 * s->coordinate_count,
                      .lambda = vectors + 3 * s->coordinate_count};
}

/* The image of a rigid body that moves so: push = M u, what is left of the forces that stand in push
 * reacts. */
static void rigid_image(const rigid_body *b, const assembly *a, const double motion[MAX_WRENCH],
                        mass_image *image) {
  int d = b->dimension;
  for (int i = b->at; i < b->at + (d + 1) * d; i++) image->reaction[i] = image->push[i];
  rigid_body_momenta(b, motion, image->push);
  for (int i = b->at; i < b->at + (d + 1) * d; i++) image->reaction[i] -= image->push[i];
  for (int i = 0; i < b->size - d; i++) image->lambda[a->first_row + i] = motion[d + i];
}

void assembly_image(const contact_event *e, int t, mass_image *image) {
  const mechanics *m = e->mechanics;
  const assembly *a = touched_at(e, t);
  const rigid_body *b = rigid_at(e, t);
  if (b != NULL) {
    double motion[MAX_WRENCH];
    rigid_body_wrench(b, image->push, motion);
    rigid_body_move(b, motion);
    rigid_body_velocities(b, motion, image->u);
    rigid_image(b, a, motion, image);
    return;
  }
  mass_inverse_assembly(m, a, image->push, image->u);
  assembly_constrain(e, e->group.touched[t].assembly, image->u, image->push, image->lambda);
}

mass_image mass_image_of(const contact_event *e, const double *force, arena *memory) {
  mass_image image = mass_image_make(e, memory);
  event_copy(e, image.push, force);
  for (int t = 0; t < e->group.touched_count; t++) assembly_image(e, t, &image);
  return image;
}

/* left' dM^ right = push_l' dM^-1 push_r - lambda_r' dJ_E u_l - lambda_l' dJ_E u_r; with a rigid motion in
 * the place of u, lambda_r' dJ_E u_l = sum_k de_k . (omega_l x (J_E' lambda_r)_k) */
void assembly_image_vjp(const contact_event *e, int t, const mass_image *left,
                        const mass_image *right, const event_cotangents *bars) {
  const mechanics *m = e->mechanics;
  const assembly *a = touched_at(e, t);
  mass_inverse_assembly_vjp(m, a, left->push, right->push, bars->theta);
  const rigid_body *b = rigid_at(e, t);
  if (b != NULL) {
    rigid_body_axes_vjp(b, right->reaction, left->lambda + a->first_row, bars->x);
    rigid_body_axes_vjp(b, left->reaction, right->lambda + a->first_row, bars->x);
    return;
  }
  int begin = touched_begin(e, t), end = touched_end(e, t);
  constraints_bilinear_vjp(m, begin, end, -1, right->lambda, left->u, bars->x);
  constraints_bilinear_vjp(m, begin, end, -1, left->lambda, right->u, bars->x);
}

void mass_image_vjp(const contact_event *e, const mass_image *left, const mass_image *right,
                    const event_cotangents *bars) {
  for (int t = 0; t < e->group.touched_count; t++) assembly_image_vjp(e, t, left, right, bars);
}

void event_respond(const contact_event *e, double *force, arena *scratch) {
  const mechanics *m = e->mechanics;
  arena_mark mark = arena_save(scratch);
  double *out = arena_doubles(scratch, m->system->coordinate_count);
  double *lambda = arena_doubles(scratch, m->system->row_count);
  for (int t = 0; t < e->group.touched_count; t++) {
    const rigid_body *b = rigid_at(e, t);
    if (b != NULL) {
      double motion[MAX_WRENCH];
      rigid_body_wrench(b, force, motion);
      rigid_body_move(b, motion);
      rigid_body_velocities(b, motion, out);
      continue;
    }
    mass_inverse_assembly(m, touched_at(e, t), force, out);
    assembly_constrain(e, e->group.touched[t].assembly, out, force, lambda);
  }
  event_copy(e, force, out);
  arena_restore(scratch, mark);
}

void event_apply_impulse(const contact_event *e, const double *f, double *v, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  double *force = arena_doubles(scratch, e->mechanics->system->coordinate_count);
  event_zero(e, force);
  event_jacobian_transpose(e, f, force);
  event_respond(e, force, scratch);
  event_add(e, 1, force, v);
  arena_restore(scratch, mark);
}

double *event_velocity_after(const contact_event *e, const double *v, const double *f,
                             arena *memory) {
  double *after = arena_doubles(memory, e->mechanics->system->coordinate_count);
  event_copy(e, after, v);
  event_apply_impulse(e, f, after, memory);
  return after;
}

void event_add_properties(const contact_event *e, carom_segment segment, const double *bar,
                          double *theta_bar) {
  int offset = e->mechanics->system->segments[segment].offset;
  for (int c = 0; c < e->group.count; c++)
    theta_bar[offset + e->group.contacts[c].id.property] += bar[c];
}

/* ---- back on the constraints ------------------------------------------------------------------- */

bool event_has_constraints(const contact_event *e) {
  for (int t = 0; t < e->group.touched_count; t++)
    if (touched_at(e, t)->row_count > 0) return true;
  return false;
}

bool event_projects(const contact_event *e) {
  return !event_is_papers(e) && event_has_constraints(e);
}

void event_factor_constraints(contact_event *e, const double *x, arena *memory) {
  const mechanics *m = e->mechanics;
  const carom_system *s = m->system;
  e->x = x;
  e->arm = arena_doubles(memory, s->constraint_count * s->dimension);
  e->factor = arena_doubles(memory, s->constraint_shape.start[s->row_count]);
  if (!event_is_papers(e)) e->rigid = ARENA_ARRAY(memory, rigid_body, e->group.touched_count);
  for (int t = 0; t < e->group.touched_count; t++) {
    int begin = touched_begin(e, t), end = touched_end(e, t);
    const assembly *a = touched_at(e, t);
    if (e->rigid != NULL) {
      e->rigid[t].size = 0;
      if (assembly_is_rigid_body(s, a)) e->rigid[t] = rigid_body_at(m, a, x);
      if (e->rigid[t].size > 0) continue;
    }
    constraints_arms(m, begin, end, x, e->arm);
    constraints_factor(m, begin, end, e->arm, METRIC_INERTIAL, e->factor);
  }
}

void assembly_remove_rows(const contact_event *e, int t, mass_image *image) {
  const mechanics *m = e->mechanics;
  const assembly *a = touched_at(e, t);
  int d = m->system->dimension, begin = touched_begin(e, t), end = touched_end(e, t);
  double *rows = image->lambda + a->first_row;
  constraints_solve(m, begin, end, e->factor, image->lambda);
  for (int r = 0; r < a->row_count; r++) rows[r] = -rows[r];
  for (int k = 0; k < a->point_count; k++)
    for (int i = 0; i < d; i++) image->push[a->points[k] * d + i] = 0;
  constraints_apply_transpose(m, begin, end, e->arm, image->lambda, image->push);
  for (int r = 0; r < a->row_count; r++) rows[r] = -rows[r];
  mass_inverse_assembly(m, a, image->push, image->u);
}

/* With P = M^ M = I - M^-1 J_E' N, N = (J_E M^-1 J_E')^-1 J_E, and q = v+_bar:
 *   q' dP v = -(P'q)' dM^-1 (J_E' N v) - (N v)' dJ_E M^ q - (N M^-1 q)' dJ_E P v,
 * which is the derivative of q' M^ r for an r whose image has u = P v, lambda = N v and
 * push = -J_E' N v; and v_bar = P' q is the push of q's own image. J_E' N v = M (v - P v). */
mass_image event_project(const contact_event *e, double *v, arena *memory) {
  const mechanics *m = e->mechanics;
  int d = m->system->dimension;
  mass_image image = mass_image_make(e, memory);
  for (int t = 0; t < e->group.touched_count; t++) {
    const assembly *a = touched_at(e, t);
    const rigid_body *b = rigid_at(e, t);
    if (b != NULL) {
      double motion[MAX_WRENCH];
      mass_apply_body(m, m->system->point_body[a->points[0]], v, image.push);
      rigid_body_project(b, motion, v);
      rigid_image(b, a, motion, &image);
      for (int i = b->at; i < b->at + (d + 1) * d; i++) image.push[i] = -image.reaction[i];
    } else {
      constraints_apply(m, touched_begin(e, t), touched_end(e, t), e->arm, v, image.lambda);
      assembly_remove_rows(e, t, &image);
      for (int k = 0; k < a->point_count; k++)
        for (int i = a->points[k] * d; i < (a->points[k] + 1) * d; i++) v[i] += image.u[i];
    }
  }
  event_copy(e, image.u, v);
  return image;
}

void event_project_vjp(const contact_event *e, const mass_image *projected, double *v_bar,
                       const event_cotangents *bars, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  mass_image image = mass_image_of(e, v_bar, scratch);
  mass_image_vjp(e, &image, projected, bars);
  event_copy(e, v_bar, image.push);
  arena_restore(scratch, mark);
}
