#include "contact/position_shift.h"

#include "base/nonnegative.h"
#include "physics/constraints.h"
#include "physics/rigid_body.h"

#include <string.h>

/* How soft a contact is beside its own mobility. The least move reaches at most 1 / (2 sqrt(softness))
 * = 50 times as far as the contact is to open: a leg that stands below its hinge, a ball deep in a
 * narrow wedge are not thrown across the scene. A contact of a free ball opens by 1 - 5e-4 of what it
 * is to; a larger softness would be felt, a smaller one throws farther. */
static const double SOFTNESS = 1e-4;

/* ---- how hard each contact pushes -------------------------------------------------------------- */

/* H of an island over the contacts' normals, with its shape. */
typedef struct normal_matrix {
  envelope shape;
  double *values;
} normal_matrix;

/* epsilon of CMr, which A has on its diagonal and H has not */
static double epsilon_of(const contact_event *e) {
  return e->options->contact == CAROM_CMR ? e->mechanics->regularizer : 0;
}

/* H of an island of one contact. */
static double single_entry(const contact_event *e, int island) {
  return e->A[island][0] + SOFTNESS * e->mobility[island_begin(e, island)] - epsilon_of(e);
}

static normal_matrix normal_matrix_make(const contact_event *e, int island, arena *memory) {
  int d = e->mechanics->system->dimension;
  int begin = island_begin(e, island), size = island_end(e, island) - begin;
  const envelope *all = &e->shape[island];
  int *first = ARENA_ARRAY(memory, int, size);
  for (int i = 0; i < size; i++) first[i] = all->first[i * d] / d;
  normal_matrix h = {.shape = envelope_make(size, first, memory)};
  h.values = arena_doubles(memory, h.shape.start[size]);
  for (int i = 0; i < size; i++) {
    for (int j = first[i]; j <= i; j++)
      h.values[envelope_at(&h.shape, i, j)] = e->A[island][envelope_at(all, i * d, j * d)];
    h.values[envelope_at(&h.shape, i, i)] += SOFTNESS * e->mobility[begin + i] - epsilon_of(e);
  }
  return h;
}

/* delta: how far a contact is to open. */
static double wish(const contact_event *e, int c) {
  return -e->group.contacts[c].gap / e->options->compensation_steps;
}

static bool solve_pushes(const contact_event *e, double *push, arena *scratch) {
  bool solved = true;
  for (int island = 0; island < e->group.island_count; island++) {
    int begin = island_begin(e, island), size = island_end(e, island) - begin;
    if (size == 1) {
      push[begin] = wish(e, begin) / single_entry(e, island);
      continue;
    }
    arena_mark mark = arena_save(scratch);
    normal_matrix h = normal_matrix_make(e, island, scratch);
    double *delta = arena_doubles(scratch, size);
    for (int i = 0; i < size; i++) delta[i] = wish(e, begin + i);
    solved = nonnegative_solve(&h.shape, h.values, delta, push + begin, scratch) && solved;
    arena_restore(scratch, mark);
  }
  return solved;
}

/* ---- where that moves the bodies --------------------------------------------------------------- */

typedef struct moved_state {
  double *rows;          /* [C] the pushes, along normals */
  mass_image shift;      /* u = w */
  double *apart;         /* [D] x' */
  double *x;             /* [D] x+ */
  mass_image correction; /* u = x+ - x' */
  contact_event there;   /* the same bodies with the constraints of x+ */
} moved_state;

/* rows = values along the normals, 0 along tangents */
static double *normal_rows(const contact_event *e, const double *values, arena *memory) {
  int d = e->mechanics->system->dimension;
  double *rows = arena_zeros(memory, e->size);
  for (int c = 0; c < e->group.count; c++) rows[c * d] = values[c];
  return rows;
}

/* J' rows in memory of its own */
static double *force_of(const contact_event *e, const double *rows, arena *memory) {
  double *force = arena_doubles(memory, e->mechanics->system->coordinate_count);
  event_zero(e, force);
  event_jacobian_transpose(e, rows, force);
  return force;
}

/* x+ = x' - M^-1 J_E' (J_E M^-1 J_E')^-1 Phi(x'), with matrices of x; free bodies in closed form */
static void move_back(const contact_event *e, moved_state *moved, arena *memory) {
  const mechanics *m = e->mechanics;
  const carom_system *s = m->system;
  double *arm = arena_doubles(memory, s->constraint_count * s->dimension);
  moved->correction = mass_image_make(e, memory);
  moved->x = arena_doubles(memory, s->coordinate_count);
  event_copy(e, moved->x, moved->apart);
  for (int t = 0; t < e->group.touched_count; t++) {
    const assembly *a = touched_at(e, t);
    int begin = touched_begin(e, t), end = touched_end(e, t), d = s->dimension;
    if (event_is_closed_form(e, a)) {
      rigid_body_straighten(m, a, moved->x);
      continue;
    }
    constraints_arms(m, begin, end, moved->apart, arm);
    constraints_values(m, begin, end, arm, moved->correction.lambda);
    assembly_remove_rows(e, t, &moved->correction);
    for (int k = 0; k < a->point_count; k++)
      for (int i = a->points[k] * d; i < (a->points[k] + 1) * d; i++)
        moved->x[i] += moved->correction.u[i];
  }
  moved->there = *e;
  event_factor_constraints(&moved->there, moved->x, memory);
}

/* For the reverse, again, with what that needs. */
static moved_state move(const contact_event *e, const double *push, bool again, arena *memory) {
  moved_state moved = {.rows = normal_rows(e, push, memory)};
  double *force = force_of(e, moved.rows, memory);
  if (again) {
    moved.shift = mass_image_of(e, force, memory);
  } else {
    event_respond(e, force, memory);
    moved.shift.u = force;
  }
  moved.apart = arena_doubles(memory, e->mechanics->system->coordinate_count);
  event_copy(e, moved.apart, e->x);
  event_add(e, 1, moved.shift.u, moved.apart);
  moved.x = moved.apart;
  if (event_has_constraints(e)) move_back(e, &moved, memory);
  return moved;
}

bool position_shift(const contact_event *e, double *x, double *v, double *push, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  bool solved = solve_pushes(e, push, scratch);
  moved_state moved = move(e, push, false, scratch);
  if (event_has_constraints(e)) event_project(&moved.there, v, scratch);
  event_copy(e, x, moved.x);
  arena_restore(scratch, mark);
  return solved;
}

/* ---- the derivative ---------------------------------------------------------------------------- */

/* In the forward pass this was v+ = M^ M v at x+ and x+ = x' - M^-1 J_E' (J_E M^-1 J_E')^-1 Phi(x').
 * x_bar [D] is that of x+ on entry, of x' on return. */
static void move_back_vjp(const contact_event *e, const moved_state *moved, const double *v,
                          double *v_bar, double *x_bar, const event_cotangents *bars,
                          arena *scratch) {
  const mechanics *m = e->mechanics;
  const carom_system *s = m->system;

  // v+
  double *turned = arena_doubles(scratch, s->coordinate_count);
  event_copy(e, turned, v);
  mass_image projected = event_project(&moved->there, turned, scratch);
  event_cotangents at_end = {.x = x_bar, .theta = bars->theta};
  event_project_vjp(&moved->there, &projected, v_bar, &at_end, scratch);

  // x+: by its matrices, then by Phi(x')
  mass_image image = mass_image_make(e, scratch);
  double *arm = arena_doubles(scratch, s->constraint_count * s->dimension);
  event_copy(e, image.push, x_bar);
  for (int t = 0; t < e->group.touched_count; t++) {
    const assembly *a = touched_at(e, t);
    int begin = touched_begin(e, t), end = touched_end(e, t);
    if (event_is_closed_form(e, a)) {
      rigid_body_straighten_vjp(m, a, moved->apart, x_bar, bars->theta);
      continue;
    }
    assembly_image(e, t, &image);
    assembly_image_vjp(e, t, &image, &moved->correction, bars);
    constraints_arms(m, begin, end, moved->apart, arm);
    for (int r = a->first_row; r < a->first_row + a->row_count; r++)
      image.lambda[r] = -image.lambda[r];
    constraints_apply_transpose(m, begin, end, arm, image.lambda, x_bar);
  }
}

/* The derivative of the pushes: rows [C], p along the normals, the cotangent of delta. */
static double *pushes_vjp(const contact_event *e, const double *push, const double *push_bar,
                          arena *memory) {
  double *p = arena_doubles(memory, e->group.count);
  for (int island = 0; island < e->group.island_count; island++) {
    int begin = island_begin(e, island);
    if (island_end(e, island) - begin == 1) {
      p[begin] = push_bar[begin] / single_entry(e, island);
      continue;
    }
    normal_matrix h = normal_matrix_make(e, island, memory);
    nonnegative_solve_vjp(&h.shape, h.values, push + begin, push_bar + begin, p + begin, memory);
  }
  return p;
}

/* From the term scale * J_n M^-1 J_n' of one contact. */
static void mobility_vjp(const contact_event *e, int c, double scale, const event_cotangents *bars,
                         arena *scratch) {
  const mechanics *m = e->mechanics;
  const carom_system *s = m->system;
  const contact *on = &e->group.contacts[c];
  int d = s->dimension;
  arena_mark mark = arena_save(scratch);
  double *force = arena_doubles(scratch, s->coordinate_count);
  double *scaled = arena_doubles(scratch, s->coordinate_count);
  double *velocity = arena_doubles(scratch, s->coordinate_count);
  for (int k = 0; k < on->point_count; k++) {
    const body *b = &s->bodies[s->point_body[on->point[k]]];
    for (int i = b->first_point * d; i < (b->first_point + b->point_count) * d; i++) force[i] = 0;
  }
  for (int k = 0; k < on->point_count; k++)
    for (int j = 0; j < d; j++) force[on->point[k] * d + j] += on->block[k * d * d + j];
  for (int k = 0; k < on->point_count; k++) {
    int body_index = s->point_body[on->point[k]];
    bool seen = false;
    for (int l = 0; l < k; l++) seen = seen || s->point_body[on->point[l]] == body_index;
    if (seen) continue;
    const body *b = &s->bodies[body_index];
    for (int i = b->first_point * d; i < (b->first_point + b->point_count) * d; i++)
      scaled[i] = scale * force[i];
    mass_inverse_body(m, body_index, force, velocity);
    mass_inverse_body_vjp(m, body_index, scaled, force, bars->theta);
  }
  for (int k = 0; k < on->point_count; k++)
    for (int j = 0; j < d; j++)
      bars->blocks[(on->first_block + k) * d * d + j] += 2 * scale * velocity[on->point[k] * d + j];
  arena_restore(scratch, mark);
}

/* w = M^ J_n' push, push = argmin(H, delta), H = J_n M^ J_n' + softness diag m, like a phase of impulses
 * (event_phase.c): with w_bar and p from the program's derivative let alpha = w_bar - J_n' p; then
 * J_bar = push (x) M^ alpha - p (x) w, and M^ enters as alpha' dM^ (J_n' push). */
static void shift_vjp(const contact_event *e, const moved_state *moved, const double *push,
                      const double *w_bar, const event_cotangents *bars, arena *scratch) {
  const carom_system *s = e->mechanics->system;
  int d = s->dimension, count = e->group.count;
  double *rows = arena_doubles(scratch, e->size), *push_bar = arena_doubles(scratch, count);
  event_jacobian(e, mass_image_of(e, w_bar, scratch).u, rows);
  for (int c = 0; c < count; c++) push_bar[c] = rows[c * d];
  const double *p = pushes_vjp(e, push, push_bar, scratch);
  const double *p_rows = normal_rows(e, p, scratch);

  // alpha = w_bar - J_n' p
  double *alpha = force_of(e, p_rows, scratch);
  for (int t = 0; t < e->group.touched_count; t++) {
    const assembly *a = touched_at(e, t);
    for (int k = 0; k < a->point_count; k++)
      for (int i = a->points[k] * d; i < (a->points[k] + 1) * d; i++)
        alpha[i] = w_bar[i] - alpha[i];
  }
  mass_image image = mass_image_of(e, alpha, scratch);
  mass_image_vjp(e, &image, &moved->shift, bars);
  event_jacobian_outer(e, 1, moved->rows, image.u, bars->blocks);
  event_jacobian_outer(e, -1, p_rows, moved->shift.u, bars->blocks);

  // the soft diagonal, delta = -gap / steps
  for (int c = 0; c < count; c++) {
    if (push[c] > 0) mobility_vjp(e, c, -SOFTNESS * p[c] * push[c], bars, scratch);
    bars->gap[c] -= p[c] / e->options->compensation_steps;
  }
}

void position_shift_vjp(const contact_event *e, const double *v, const double *push, double *v_bar,
                        const event_cotangents *bars, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  moved_state moved = move(e, push, true, scratch);
  double *apart_bar = arena_doubles(scratch, e->mechanics->system->coordinate_count);
  event_copy(e, apart_bar, bars->x);
  event_zero(e, bars->x);
  if (event_has_constraints(e)) move_back_vjp(e, &moved, v, v_bar, apart_bar, bars, scratch);

  // x' = x + w
  shift_vjp(e, &moved, push, apart_bar, bars, scratch);
  event_add(e, 1, apart_bar, bars->x);
  arena_restore(scratch, mark);
}
