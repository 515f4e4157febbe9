#include "contact/gap_closing.h"

#include "base/vector.h"
#include "contact/normal_rows.h"
#include "physics/constraint_projection.h"

#include <math.h>

/* Of the mobility of a contact by itself: a step leaves this share of a gap, and moves bodies at most 500
 * times as far as the gap is wide. */
static const double SOFTNESS = 1e-6;
static const double ENOUGH = 4e-15; /* gap beside the size of coordinates */
enum { MOST_STEPS = 8 };

/* One step: from x by w to `moved`, then onto the constraints. */
typedef struct closing_step {
  contact_event event; /* at x */
  const double *x;
  double *push;  /* [count] */
  double *moved; /* [D] */
} closing_step;

/* z <- H^-1 z [count], island by island */
static void solve_normals(const contact_event *e, double *z, arena *scratch) {
  for (int island = 0; island < e->group.island_count; island++) {
    int begin = island_begin(e, island);
    if (island_end(e, island) - begin == 1) {
      z[begin] /= normal_entry(e, island, SOFTNESS);
      continue;
    }
    arena_mark mark = arena_save(scratch);
    normal_matrix h = normal_matrix_make(e, island, SOFTNESS, scratch);
    envelope_factor(&h.shape, h.values, 1e-14);
    envelope_solve(&h.shape, h.values, z + begin);
    arena_restore(scratch, mark);
  }
}

/* w = M^ J_n' push, push = -H^-1 gap */
static closing_step step_from(const mechanics *m, const carom_rollout_options *options,
                              const contact_list *contacts, const double *x, arena *memory) {
  int size = m->system->coordinate_count;
  closing_step s = {.event = contact_event_make(m, options, contacts, x, memory), .x = x};
  s.push = arena_doubles(memory, s.event.group.count);
  for (int c = 0; c < s.event.group.count; c++) s.push[c] = -s.event.group.contacts[c].gap;
  solve_normals(&s.event, s.push, memory);
  double *w = arena_doubles(memory, size);
  event_zero(&s.event, w);
  add_normal_forces(&s.event, 1, s.push, w);
  event_respond(&s.event, w, memory);
  s.moved = arena_doubles(memory, size);
  vector_copy(s.moved, x, size);
  event_add(&s.event, 1, w, s.moved);
  return s;
}

static bool are_closed(const carom_system *s, const contact_list *contacts, const double *x) {
  double length = 0, worst = 0;
  for (int i = 0; i < s->coordinate_count; i++) length = fmax(length, fabs(x[i]));
  for (int c = 0; c < contacts->count; c++) {
    contact_id id = contacts->ids[c];
    worst = fmax(worst, fabs(contact_gap(s, &id, x)));
  }
  return worst <= ENOUGH * length;
}

/* The steps that are made from x, and where they end. */
typedef struct closing {
  int count;
  closing_step steps[MOST_STEPS];
  double *x; /* [D] */
  bool arrived;
} closing;

static closing closing_make(const mechanics *m, const carom_rollout_options *options,
                            const contact_list *contacts, const double *x, arena *memory) {
  int size = m->system->coordinate_count;
  closing c = {.arrived = true};
  c.x = arena_doubles(memory, size);
  vector_copy(c.x, x, size);
  while (c.count < MOST_STEPS) {
    if (c.count > 0 && are_closed(m->system, contacts, c.x)) return c;
    closing_step s = step_from(m, options, contacts, c.x, memory);
    c.steps[c.count++] = s;
    c.x = arena_doubles(memory, size);
    vector_copy(c.x, s.moved, size);
    for (int t = 0; t < s.event.group.touched_count; t++)
      c.arrived =
          project_positions(m, METRIC_INERTIAL, s.event.group.touched[t].assembly, c.x, memory) &&
          c.arrived;
  }
  c.arrived = are_closed(m->system, contacts, c.x) && c.arrived;
  return c;
}

bool close_gaps(const mechanics *m, const carom_rollout_options *options,
                const contact_list *contacts, double *x, double *v, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  closing c = closing_make(m, options, contacts, x, scratch);
  const contact_group *g = &c.steps[0].event.group;
  vector_copy(x, c.x, m->system->coordinate_count);
  for (int t = 0; t < g->touched_count; t++)
    project_velocities(m, METRIC_INERTIAL, g->touched[t].assembly, x, v, scratch);
  arena_restore(scratch, mark);
  return c.arrived;
}

/* The reverse of x' = x + w: with q = H^-1 J_n M^ x'_bar and alpha = x'_bar - J_n' q, as in position_shift.c,
 * J_bar = push (x) M^ alpha - q (x) w, gap_bar = -q, and M^ enters as alpha' dM^ (J_n' push). */
static void step_vjp(const closing_step *s, double *x_bar, double *theta_bar, arena *scratch) {
  const contact_event *e = &s->event;
  const carom_system *system = e->mechanics->system;
  int size = system->coordinate_count, count = e->group.count;
  int square = system->dimension * system->dimension;
  event_cotangents bars = {.blocks = arena_zeros(scratch, e->group.block_count * square),
                           .gap = arena_zeros(scratch, count),
                           .x = x_bar,
                           .theta = theta_bar};
  double *alpha = arena_doubles(scratch, size), *force = arena_doubles(scratch, size);
  double *q = arena_doubles(scratch, count);
  event_copy(e, force, x_bar);
  event_respond(e, force, scratch);
  normal_velocities(e, force, q);
  solve_normals(e, q, scratch);

  // alpha = x'_bar - J_n' q
  event_copy(e, alpha, x_bar);
  add_normal_forces(e, -1, q, alpha);
  event_zero(e, force);
  add_normal_forces(e, 1, s->push, force);
  mass_image image = mass_image_of(e, alpha, scratch), shift = mass_image_of(e, force, scratch);
  mass_image_vjp(e, &image, &shift, &bars);
  add_normal_outer(e, 1, s->push, image.u, bars.blocks);
  add_normal_outer(e, -1, q, shift.u, bars.blocks);
  for (int c = 0; c < count; c++)
    mobility_vjp(e, c, -SOFTNESS * q[c] * s->push[c], &bars, alpha, force);
  for (int c = 0; c < count; c++) {
    const contact *on = &e->group.contacts[c];
    contact_geometry_vjp(system, on, s->x, bars.blocks + on->first_block * square, -q[c], x_bar,
                         theta_bar);
  }
}

void close_gaps_vjp(const mechanics *m, const carom_rollout_options *options,
                    const contact_list *contacts, const double *x, const double *v, double *x_bar,
                    double *v_bar, double *theta_bar, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  closing c = closing_make(m, options, contacts, x, scratch);
  const contact_group *g = &c.steps[0].event.group;
  for (int t = 0; t < g->touched_count; t++)
    project_velocities_vjp(m, g->touched[t].assembly, c.x, v, v_bar, x_bar, theta_bar, scratch);
  for (int k = c.count - 1; k >= 0; k--) {
    for (int t = 0; t < g->touched_count; t++)
      project_positions_vjp(m, g->touched[t].assembly, c.steps[k].moved, x_bar, theta_bar, scratch);
    step_vjp(&c.steps[k], x_bar, theta_bar, scratch);
  }
  arena_restore(scratch, mark);
}
