#include "contact/position_shift.h"

#include "base/nonnegative.h"
#include "contact/normal_rows.h"
#include "physics/constraints.h"

#include <math.h>
#include <string.h>

/* How soft a contact is beside its own mobility. The least move reaches at most 1 / (2 sqrt(softness))
 * = 50 times as far as the contact is to open: a leg that stands below its hinge, a ball deep in a
 * narrow wedge are not thrown across the scene. A contact of a free ball opens by 1 - 5e-4 of what it
 * is to; a larger softness would be felt, a smaller one throws farther. */
static const double SOFTNESS = 1e-4;

/* ---- how hard each contact pushes -------------------------------------------------------------- */

/* delta = -gap / steps - dt J_n v [count]: how far each contact is to open that does not open by itself. */
static double *wishes(const contact_event *e, const double *v, arena *memory) {
  double *delta = arena_doubles(memory, e->group.count);
  normal_velocities(e, v, delta);
  for (int c = 0; c < e->group.count; c++)
    delta[c] =
        -e->group.contacts[c].gap / e->options->compensation_steps - e->options->dt * delta[c];
  return delta;
}

static bool solve_pushes(const contact_event *e, const double *v, double *push, arena *scratch) {
  const double *delta = wishes(e, v, scratch);
  bool solved = true;
  for (int island = 0; island < e->group.island_count; island++) {
    int begin = island_begin(e, island), size = island_end(e, island) - begin;
    if (size == 1) {
      push[begin] = fmax(delta[begin], 0) / normal_entry(e, island, SOFTNESS);
      continue;
    }
    arena_mark mark = arena_save(scratch);
    normal_matrix h = normal_matrix_make(e, island, SOFTNESS, scratch);
    solved = nonnegative_solve(&h.shape, h.values, delta + begin, push + begin, scratch) && solved;
    arena_restore(scratch, mark);
  }
  return solved;
}

/* ---- where that moves the bodies --------------------------------------------------------------- */

typedef struct moved_state {
  mass_image shift;      /* u = w */
  double *apart;         /* [D] x' */
  double *x;             /* [D] x+ */
  mass_image correction; /* u = x+ - x' */
  contact_event there;   /* the same bodies with the constraints of x+ */
} moved_state;

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
    if (rigid_at(e, t) != NULL) {
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
  moved_state moved = {0};
  double *force = arena_doubles(memory, e->mechanics->system->coordinate_count);
  event_zero(e, force);
  add_normal_forces(e, 1, push, force);
  if (again) {
    moved.shift = mass_image_of(e, force, memory);
  } else {
    event_respond(e, force, memory);
    moved.shift.u = force;
  }
  if (again && !event_has_constraints(e)) return moved;
  moved.apart = arena_doubles(memory, e->mechanics->system->coordinate_count);
  event_copy(e, moved.apart, e->x);
  event_add(e, 1, moved.shift.u, moved.apart);
  moved.x = moved.apart;
  if (event_has_constraints(e)) move_back(e, &moved, memory);
  return moved;
}

/* Does nothing move? With constraints something does also without a push: what drift there is. */
static bool stays(const contact_event *e, const double *push) {
  if (event_has_constraints(e)) return false;
  for (int c = 0; c < e->group.count; c++)
    if (push[c] > 0) return false;
  return true;
}

bool position_shift(const contact_event *e, double *x, double *v, double *push, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  bool solved = solve_pushes(e, v, push, scratch);
  if (stays(e, push)) {
    event_copy(e, x, e->x);
    arena_restore(scratch, mark);
    return solved;
  }
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
    if (rigid_at(e, t) != NULL) {
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

/* The derivative of the pushes: p [count], the cotangent of delta. */
static double *pushes_vjp(const contact_event *e, const double *push, const double *push_bar,
                          arena *memory) {
  double *p = arena_doubles(memory, e->group.count);
  for (int island = 0; island < e->group.island_count; island++) {
    int begin = island_begin(e, island);
    if (island_end(e, island) - begin == 1) {
      p[begin] = push[begin] > 0 ? push_bar[begin] / normal_entry(e, island, SOFTNESS) : 0;
      continue;
    }
    normal_matrix h = normal_matrix_make(e, island, SOFTNESS, memory);
    nonnegative_solve_vjp(&h.shape, h.values, push + begin, push_bar + begin, p + begin, memory);
  }
  return p;
}

/* w = M^ J_n' push, push = argmin(H, delta), H = J_n M^ J_n' + softness diag m, like a phase of impulses
 * (event_phase.c): with w_bar and p from the program's derivative let alpha = w_bar - J_n' p; then
 * J_bar = push (x) M^ alpha - p (x) w, and M^ enters as alpha' dM^ (J_n' push). */
static void shift_vjp(const contact_event *e, const moved_state *moved, const double *v,
                      const double *push, const double *w_bar, double *v_bar,
                      const event_cotangents *bars, arena *scratch) {
  int count = e->group.count, size = e->mechanics->system->coordinate_count;
  double *alpha = arena_doubles(scratch, size), *velocity = arena_doubles(scratch, size);
  double *push_bar = arena_doubles(scratch, count);
  event_copy(e, alpha, w_bar);
  event_respond(e, alpha, scratch);
  normal_velocities(e, alpha, push_bar);
  const double *p = pushes_vjp(e, push, push_bar, scratch);

  // alpha = w_bar - J_n' p
  event_copy(e, alpha, w_bar);
  add_normal_forces(e, -1, p, alpha);
  mass_image image = mass_image_of(e, alpha, scratch);
  mass_image_vjp(e, &image, &moved->shift, bars);
  add_normal_outer(e, 1, push, image.u, bars->blocks);
  add_normal_outer(e, -1, p, moved->shift.u, bars->blocks);

  // delta = -gap / steps - dt J_n v, and the soft diagonal
  add_normal_forces(e, -e->options->dt, p, v_bar);
  add_normal_outer(e, -e->options->dt, p, v, bars->blocks);
  for (int c = 0; c < count; c++) {
    if (push[c] > 0) mobility_vjp(e, c, -SOFTNESS * p[c] * push[c], bars, alpha, velocity);
    bars->gap[c] -= p[c] / e->options->compensation_steps;
  }
}

void position_shift_vjp(const contact_event *e, const double *v, const double *push, double *v_bar,
                        const event_cotangents *bars, arena *scratch) {
  if (stays(e, push)) return;
  arena_mark mark = arena_save(scratch);
  moved_state moved = move(e, push, true, scratch);
  double *apart_bar = arena_doubles(scratch, e->mechanics->system->coordinate_count);
  event_copy(e, apart_bar, bars->x);
  event_zero(e, bars->x);
  if (event_has_constraints(e)) move_back_vjp(e, &moved, v, v_bar, apart_bar, bars, scratch);

  // x' = x + w
  shift_vjp(e, &moved, v, push, apart_bar, v_bar, bars, scratch);
  event_add(e, 1, apart_bar, bars->x);
  arena_restore(scratch, mark);
}
