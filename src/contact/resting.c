#include "contact/resting.h"

#include "base/vector.h"
#include "contact/friction_shift.h"
#include "contact/gap_closing.h"

#include <string.h>

carom_rollout_options resting_options(const carom_rollout_options *options) {
  carom_rollout_options o = *options;
  o.contact = CAROM_CM;
  o.friction = CAROM_COULOMB_FRICTION;
  o.compensation = CAROM_COMPENSATION_POSITION;
  o.penetration_compensation = true; // mobilities are needed; bodies are moved by gap_closing alone
  o.cone.smoothing = 0;
  return o;
}

contact_event resting_make(const mechanics *m, const carom_rollout_options *options,
                           const contact_list *list, const double *x, double h, arena *memory) {
  contact_event e = contact_event_make(m, options, list, x, memory);
  e.hold = h;
  return e;
}

/* The contacts that push. */
static contact_list pushing(const contact_event *e, const phase_solution *f, arena *memory) {
  int d = e->mechanics->system->dimension;
  contact_list list = {.ids = ARENA_ARRAY(memory, contact_id, e->group.count)};
  for (int c = 0; c < e->group.count; c++)
    if (f->f[c * d] > 0) list.ids[list.count++] = e->group.contacts[c].id;
  return list;
}

bool resting_solve(const contact_event *e, double *x, double *v, phase_solution *f,
                   arena *scratch) {
  arena_mark mark = arena_save(scratch);
  if (event_projects(e)) event_project(e, v, scratch);
  phase_problem problem = phase_compression(e, v, scratch);
  phase_solve(e, &problem, f, scratch);
  event_apply_impulse(e, f->f, v, scratch);
  const double *shift = friction_shift_make(e, f->f, NULL, scratch);
  contact_list closed = pushing(e, f, scratch);
  bool arrived = friction_shift(e, shift, x, v, scratch);
  if (closed.count > 0)
    arrived = close_gaps(e->mechanics, e->options, &closed, x, v, scratch) && arrived;
  arena_restore(scratch, mark);
  return arrived;
}

/* The reverse of friction's shift and of the closing of gaps, which began at e->x with velocity `after`;
 * f_bar [C] is written. */
static void positions_vjp(const contact_event *e, const double *after, const phase_solution *f,
                          double *f_bar, double *v_bar, const event_cotangents *bars,
                          arena *scratch) {
  int size = e->mechanics->system->coordinate_count;
  arena_mark mark = arena_save(scratch);
  contact_list closed = pushing(e, f, scratch);
  if (closed.count > 0) {
    double *x = arena_doubles(scratch, size), *v = arena_doubles(scratch, size);
    vector_copy(x, e->x, size);
    vector_copy(v, after, size);
    friction_shift(e, friction_shift_make(e, f->f, NULL, scratch), x, v, scratch);
    close_gaps_vjp(e->mechanics, e->options, &closed, x, v, bars->x, v_bar, bars->theta, scratch);
  }
  friction_shift_vjp(e, f->f, NULL, e->x, after, f_bar, bars->x, v_bar, bars, scratch);
  arena_restore(scratch, mark);
}

void resting_solve_vjp(const contact_event *e, const double *v, const phase_solution *f,
                       double *x_bar, double *v_bar, double *theta_bar, double *h_bar,
                       arena *scratch) {
  const carom_system *s = e->mechanics->system;
  int square = s->dimension * s->dimension, count = e->group.count, size = s->coordinate_count;
  arena_mark mark = arena_save(scratch);

  // the forward pass again, with the impulses that it found
  double *before = arena_doubles(scratch, size), *after = arena_doubles(scratch, size);
  mass_image projected = {0};
  vector_copy(before, v, size);
  if (event_projects(e)) projected = event_project(e, before, scratch);
  vector_copy(after, before, size);
  event_apply_impulse(e, f->f, after, scratch);
  phase_problem problem = phase_compression(e, before, scratch);

  event_cotangents bars = {.blocks = arena_zeros(scratch, e->group.block_count * square),
                           .gap = arena_zeros(scratch, count),
                           .x = x_bar,
                           .theta = theta_bar,
                           .hold = h_bar};
  phase_cotangents phase = {.v = v_bar,
                            .response = arena_doubles(scratch, size),
                            .f = arena_zeros(scratch, e->size),
                            .p = arena_doubles(scratch, e->size),
                            .mu = arena_doubles(scratch, count),
                            .lower = arena_doubles(scratch, count)};
  positions_vjp(e, after, f, phase.f, v_bar, &bars, scratch);

  // v+ = v + M^ J' f
  event_copy(e, phase.response, v_bar);
  event_respond(e, phase.response, scratch);
  phase_vjp(e, &problem, f, after, &phase, &bars, scratch);
  event_add_properties(e, CAROM_FRICTION, phase.mu, theta_bar);
  if (event_projects(e)) event_project_vjp(e, &projected, v_bar, &bars, scratch);
  for (int k = 0; k < count; k++) {
    const contact *on = &e->group.contacts[k];
    contact_geometry_vjp(s, on, e->x, bars.blocks + on->first_block * square, bars.gap[k], x_bar,
                         theta_bar);
  }
  arena_restore(scratch, mark);
}
