#include "rollout/stretch.h"

#include "base/vector.h"
#include "physics/constraint_projection.h"

static integrator integrator_of(const stretch_setting *s, double h) {
  integrator in = s->integrator;
  in.dt = h;
  return in;
}

/* The contacts that last as they are at x: the point on which a rim rests moves along. */
static contact_list resting_at(const stretch_setting *s, const contact_list *resting,
                               const double *x, arena *memory) {
  contact_list now = {.count = resting->count,
                      .ids = ARENA_ARRAY(memory, contact_id, resting->count)};
  for (int i = 0; i < resting->count; i++) {
    now.ids[i] = resting->ids[i];
    contact_gap(s->integrator.mechanics->system, &now.ids[i], x);
  }
  return now;
}

size_t stretch_impulse_bytes(const carom_system *s, int contacts) {
  contact_event most = {.size = contacts * s->dimension};
  most.group.count = most.group.island_count = contacts;
  return event_impulses_bytes(&most);
}

static int count_pushing(const contact_event *e, const double *f) {
  int d = e->mechanics->system->dimension, count = 0;
  for (int c = 0; c < e->group.count; c++) count += f[c * d] > 0;
  return count;
}

stretch_outcome stretch_run(const stretch_setting *s, double h, const contact_list *resting,
                            double *x, double *v, void *memory) {
  const mechanics *m = s->integrator.mechanics;
  integrator in = integrator_of(s, h);
  stretch_outcome outcome = {.arrived = true};
  s->record->controls = s->controls;
  integrator_step(&in, 1, x, v, s->record, s->scratch);
  if (s->stabilize) outcome.failed_projections = project_state(m, x, v, s->scratch);
  if (resting->count == 0) return outcome;
  if (memory == NULL)
    memory = arena_bytes(s->scratch, stretch_impulse_bytes(m->system, resting->count));
  contact_list now = resting_at(s, resting, x, s->scratch);
  contact_event event = resting_make(m, s->resting, &now, x, h, s->scratch);
  event.failures = s->failures;
  outcome.resting = event_impulses_at(&event, memory);
  outcome.arrived = resting_solve(&event, x, v, &outcome.resting.compression, s->scratch);
  outcome.island_count = event.group.island_count;
  outcome.pushing_count = count_pushing(&event, outcome.resting.compression.f);
  return outcome;
}

/* ---- the derivative ---------------------------------------------------------------------------- */

static double *copy_of(const double *from, int size, arena *memory) {
  double *made = arena_doubles(memory, size);
  vector_copy(made, from, size);
  return made;
}

stretch_record stretch_repeat(const stretch_setting *s, double h, const contact_list *resting,
                              const double *x, const double *v, void *memory, arena *lasting) {
  const mechanics *m = s->integrator.mechanics;
  int size = m->system->coordinate_count;
  integrator in = integrator_of(s, h);
  stretch_record r = {.h = h, .rests = resting->count > 0};
  r.free_x = copy_of(x, size, lasting);
  r.free_v = copy_of(v, size, lasting);
  s->record->controls = s->controls;
  integrator_step(&in, 1, r.free_x, r.free_v, s->record, s->scratch);
  r.x = r.free_x;
  r.v = r.free_v;
  if (s->stabilize) {
    r.x = copy_of(r.free_x, size, lasting);
    r.v = copy_of(r.free_v, size, lasting);
    project_state(m, r.x, r.v, s->scratch);
  }
  if (!r.rests) return r;
  contact_list now = resting_at(s, resting, r.x, lasting);
  r.event = resting_make(m, s->resting, &now, r.x, h, lasting);
  r.impulses = event_impulses_at(&r.event, memory).compression;
  return r;
}

void stretch_vjp(const stretch_setting *s, const stretch_record *r, double *x_bar, double *v_bar,
                 const stretch_cotangents *bars) {
  integrator in = integrator_of(s, r->h);
  if (r->rests)
    resting_solve_vjp(&r->event, r->v, &r->impulses, x_bar, v_bar, bars->theta, bars->h,
                      s->scratch);
  if (s->stabilize)
    project_state_vjp(in.mechanics, r->free_x, r->free_v, x_bar, v_bar, bars->theta, s->scratch);
  s->record->controls = s->controls;
  s->record->controls.u_bar = bars->u;
  s->record->weights = s->weight;
  integrator_step_vjp(&in, 1, s->record, x_bar, v_bar, bars->theta, bars->potential, bars->h,
                      s->scratch);
}
