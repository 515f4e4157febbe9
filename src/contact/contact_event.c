#include "contact/contact_event.h"

#include "contact/event_matrix.h"
#include "contact/friction_shift.h"
#include "contact/newton_target.h"
#include "contact/position_shift.h"
#include "contact/target_velocity.h"

#include <string.h>

contact_event contact_event_make(const mechanics *m, const carom_rollout_options *options,
                                 const contact_list *active, const double *x, arena *memory) {
  contact_group group = contact_group_make(m->system, active, x, memory);
  return contact_event_from_group(m, options, &group, x, memory);
}

contact_event contact_event_from_group(const mechanics *m, const carom_rollout_options *options,
                                       const contact_group *group, const double *x, arena *memory) {
  contact_event e = {
      .mechanics = m, .options = options, .x = x, .group = *group, .hold = options->dt};
  e.size = e.group.count * m->system->dimension;
  e.mu = arena_doubles(memory, e.group.count);
  e.restitution = arena_doubles(memory, e.group.count);
  for (int c = 0; c < e.group.count; c++) {
    e.group.contacts[c].turns = options->contact == CAROM_LCP;
    e.mu[c] = m->friction[e.group.contacts[c].id.property];
    e.restitution[c] = m->restitution[e.group.contacts[c].id.property];
  }
  event_matrix_make(&e, memory);
  return e;
}

/* ---- impulses in one piece of memory ----------------------------------------------------------- */

size_t event_impulses_bytes(const contact_event *e) {
  size_t count = (size_t)e->group.count, size = (size_t)e->size;
  size_t islands = (size_t)e->group.island_count;
  size_t bytes =
      sizeof(double) * (4 * size + 3 * count) + sizeof(carom_cone_info) * 2 * islands + 2 * count;
  return (bytes + 7) / 8 * 8;
}

event_impulses event_impulses_at(const contact_event *e, void *memory) {
  phase_solution c, r;
  int duals = e->size + e->group.count;
  c.f = memory;
  r.f = c.f + e->size;
  c.dual = r.f + e->size;
  r.dual = c.dual + duals;
  double *push = r.dual + duals;
  c.info = (carom_cone_info *)(void *)(push + e->group.count);
  r.info = c.info + e->group.island_count;
  c.state = (unsigned char *)(r.info + e->group.island_count);
  r.state = c.state + e->group.count;
  return (event_impulses){.compression = c, .restitution = r, .push = push};
}

/* ---- the two phases ---------------------------------------------------------------------------- */

/* Is b of the restitution without bounds solved by f_r = 0? Not with a target, nor by CMr, whose compression
 * leaves epsilon f_c, nor by a smoothed one. */
static bool settles(const contact_event *e) {
  return !event_is_papers(e) && e->options->contact == CAROM_CM && e->options->cone.smoothing == 0;
}

/* b = J v' - v_C*, lower = e f_c,n */
static phase_problem restitution_problem(const contact_event *e, const phase_problem *compression,
                                         const target_velocity *target, const double *v,
                                         const phase_solution *c, arena *memory) {
  int d = e->mechanics->system->dimension;
  double *b = arena_doubles(memory, e->size), *lower = arena_doubles(memory, e->group.count);
  event_jacobian(e, v, b);
  for (int i = 0; i < e->size; i++) b[i] -= target->value[i];
  event_drop_held(e, b);
  for (int k = 0; k < e->group.count; k++) lower[k] = e->restitution[k] * c->f[k * d];
  return (phase_problem){
      .b = b, .lower = lower, .before = compression->before, .settled = settles(e) ? c : NULL};
}

static void two_phases_solve(const contact_event *e, double *v, event_impulses *impulses,
                             arena *scratch) {
  phase_solution *c = &impulses->compression, *r = &impulses->restitution;
  target_velocity target = target_velocity_make(e, scratch);

  // v' = v + M^ J' f_c
  phase_problem compression = phase_compression(e, v, scratch);
  phase_solve(e, &compression, c, scratch);
  event_apply_impulse(e, c->f, v, scratch);

  // v+ = v' + M^ J' f_r
  phase_problem restitution = restitution_problem(e, &compression, &target, v, c, scratch);
  phase_solve(e, &restitution, r, scratch);
  event_apply_impulse(e, r->f, v, scratch);
}

/* ---- the one phase of the complementarity model, whose impulses stand with those of compression ---- */

static void complementarity_solve(const contact_event *e, double *v, event_impulses *impulses,
                                  arena *scratch) {
  phase_solution *c = &impulses->compression, *r = &impulses->restitution;
  newton_target target = newton_target_make(e, v, scratch);
  phase_solve(e, &target.problem, c, scratch);
  event_apply_impulse(e, c->f, v, scratch);
  memset(r->f, 0, sizeof(double) * (size_t)e->size);
  memset(r->state, 0, (size_t)e->group.count);
  memset(r->info, 0, sizeof(carom_cone_info) * (size_t)e->group.island_count);
}

/* ---- the event ---------------------------------------------------------------------------------- */

bool contact_event_solve(const contact_event *e, double *x, double *v, event_impulses *impulses,
                         arena *scratch) {
  const double *f_c = impulses->compression.f, *f_r = impulses->restitution.f;
  arena_mark mark = arena_save(scratch);
  if (event_projects(e)) event_project(e, v, scratch);
  if (event_is_complementary(e))
    complementarity_solve(e, v, impulses, scratch);
  else
    two_phases_solve(e, v, impulses, scratch);

  // positions; x may be e->x, so what is made of that comes first
  const double *hold = e->options->hold_contacts ? friction_shift_make(e, f_c, f_r, scratch) : NULL;
  bool solved = !event_shifts(e) || position_shift(e, x, v, impulses->push, scratch);
  if (hold != NULL) solved = friction_shift(e, hold, x, v, scratch) && solved;
  arena_restore(scratch, mark);
  return solved;
}

/* ---- the derivative ---------------------------------------------------------------------------- */

/* in the forward pass this was lower = e f_c,n, so now f_c,n_bar = e lower_bar, e_bar = f_c,n
 * lower_bar */
static void bound_vjp(const contact_event *e, const double *f_c, phase_cotangents *phase,
                      double *theta_bar) {
  int d = e->mechanics->system->dimension;
  memset(phase->f, 0, sizeof(double) * (size_t)e->size);
  for (int c = 0; c < e->group.count; c++) {
    phase->f[c * d] = e->restitution[c] * phase->lower[c];
    phase->lower[c] *= f_c[c * d];
  }
  event_add_properties(e, CAROM_RESTITUTION, phase->lower, theta_bar);
}

/* Reverses friction_shift, which began at the state that position_shift left; f_bar is written, what goes
 * through e->x added to bars. */
static void hold_vjp(const contact_event *e, const event_impulses *impulses, const double *after,
                     double *f_bar, double *x_bar, double *v_bar, const event_cotangents *bars,
                     arena *scratch) {
  int n = e->mechanics->system->coordinate_count;
  arena_mark mark = arena_save(scratch);
  double *x = arena_doubles(scratch, n), *v = arena_doubles(scratch, n);
  double *push = arena_doubles(scratch, e->group.count);
  event_copy(e, x, e->x);
  event_copy(e, v, after);
  if (event_shifts(e)) position_shift(e, x, v, push, scratch);
  friction_shift_vjp(e, impulses->compression.f, impulses->restitution.f, x, v, f_bar, x_bar, v_bar,
                     bars, scratch);
  arena_restore(scratch, mark);
}

/* Velocities [D] before, between and after the phases. */
typedef struct event_velocities {
  const double *before, *middle, *after;
} event_velocities;

/* The reverse of two_phases_solve: phase has v_bar and M^ v_bar of the velocity after, f_bar [C] is what depends on
 * either impulse besides. */
static void two_phases_vjp(const contact_event *e, const event_velocities *v,
                           const event_impulses *impulses, const double *f_bar,
                           phase_cotangents *phase, const event_cotangents *bars, arena *scratch) {
  const carom_system *s = e->mechanics->system;
  const phase_solution *c = &impulses->compression, *r = &impulses->restitution;

  // the forward pass again, with the impulses that it found
  target_velocity target = target_velocity_make(e, scratch);
  phase_problem compression = phase_compression(e, v->before, scratch);
  phase_problem restitution = restitution_problem(e, &compression, &target, v->middle, c, scratch);

  // restitution: v_C* entered as b = J v' - v_C*
  memcpy(phase->f, f_bar, sizeof(double) * (size_t)e->size);
  phase_vjp(e, &restitution, r, v->after, phase, bars, scratch);
  event_add_properties(e, CAROM_FRICTION, phase->mu, bars->theta);
  if (!(e->options->stop_target_gradient && s->row_count > 0))
    target_velocity_vjp(e, &target, phase->p, bars, scratch);
  bound_vjp(e, c->f, phase, bars->theta);
  for (int i = 0; i < e->size; i++) phase->f[i] += f_bar[i];

  // compression
  phase_vjp(e, &compression, c, v->middle, phase, bars, scratch);
  event_add_properties(e, CAROM_FRICTION, phase->mu, bars->theta);
}

static void complementarity_vjp(const contact_event *e, const event_velocities *v,
                                const event_impulses *impulses, const double *f_bar,
                                phase_cotangents *phase, const event_cotangents *bars,
                                arena *scratch) {
  const phase_solution *c = &impulses->compression;
  newton_target target = newton_target_make(e, v->before, scratch);
  memcpy(phase->f, f_bar, sizeof(double) * (size_t)e->size);
  phase_vjp(e, &target.problem, c, v->middle, phase, bars, scratch);
  event_add_properties(e, CAROM_FRICTION, phase->mu, bars->theta);
  newton_target_vjp(e, &target, v->before, phase->p, phase->v, bars, scratch);
}

void contact_event_vjp(const contact_event *e, const double *v, const event_impulses *impulses,
                       double *v_bar, double *x_bar, double *theta_bar, arena *scratch) {
  const carom_system *s = e->mechanics->system;
  const phase_solution *c = &impulses->compression, *r = &impulses->restitution;
  int square = s->dimension * s->dimension, count = e->group.count;
  arena_mark mark = arena_save(scratch);

  // the forward pass again, with the impulses that it found
  double *before = arena_doubles(scratch, s->coordinate_count);
  mass_image projected = {0};
  event_copy(e, before, v);
  if (event_projects(e)) projected = event_project(e, before, scratch);
  const double *middle = event_velocity_after(e, before, c->f, scratch);
  const double *after =
      event_is_complementary(e) ? middle : event_velocity_after(e, middle, r->f, scratch);
  const event_velocities velocities = {before, middle, after};

  event_cotangents bars = {.blocks = arena_zeros(scratch, e->group.block_count * square),
                           .gap = arena_zeros(scratch, count),
                           .x = x_bar,
                           .theta = theta_bar};

  // positions: friction's shift, then that of overlaps; both are made of e->x
  double *f_bar = arena_zeros(scratch, e->size);
  event_cotangents early = bars;
  if (e->options->hold_contacts) {
    early.x = arena_zeros(scratch, s->coordinate_count);
    hold_vjp(e, impulses, after, f_bar, x_bar, v_bar, &early, scratch);
  }
  if (event_shifts(e)) position_shift_vjp(e, after, impulses->push, v_bar, &bars, scratch);
  if (e->options->hold_contacts) event_add(e, 1, early.x, x_bar);

  // velocities
  double *response = arena_doubles(scratch, s->coordinate_count);
  event_copy(e, response, v_bar);
  event_respond(e, response, scratch);
  phase_cotangents phase = {.v = v_bar,
                            .response = response,
                            .f = arena_doubles(scratch, e->size),
                            .p = arena_doubles(scratch, e->size),
                            .mu = arena_doubles(scratch, count),
                            .lower = arena_doubles(scratch, count)};
  if (event_is_complementary(e))
    complementarity_vjp(e, &velocities, impulses, f_bar, &phase, &bars, scratch);
  else
    two_phases_vjp(e, &velocities, impulses, f_bar, &phase, &bars, scratch);
  if (event_projects(e)) event_project_vjp(e, &projected, v_bar, &bars, scratch);

  // geometry
  for (int k = 0; k < count; k++) {
    const contact *on = &e->group.contacts[k];
    contact_geometry_vjp(s, on, e->x, bars.blocks + on->first_block * square, bars.gap[k], x_bar,
                         theta_bar);
  }
  arena_restore(scratch, mark);
}
