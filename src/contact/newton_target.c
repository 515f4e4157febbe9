#include "contact/newton_target.h"

#include <math.h>

/* Rows of a contact that bounces whose target is -e times what they were. */
static int bouncing_rows(const contact_event *e) {
  return e->options->friction == CAROM_CONVEX_FRICTION ? e->mechanics->system->dimension : 1;
}

/* How fast a contact closes: along its normal, or along the fastest edge of its pyramid. */
static double approach(const contact_event *e, int c, const double *before) {
  double most = 0;
  for (int k = 1; k < bouncing_rows(e); k++) most = fmax(most, fabs(before[k]));
  return e->mu[c] * most - before[0];
}

newton_target newton_target_make(const contact_event *e, const double *v, arena *memory) {
  int d = e->mechanics->system->dimension;
  newton_target t = {.problem = phase_compression(e, v, memory),
                     .bounces = ARENA_ARRAY(memory, bool, e->group.count)};
  double *b = arena_doubles(memory, e->size);
  t.before = t.problem.b;
  for (int i = 0; i < e->size; i++) b[i] = t.before[i];
  for (int c = 0; c < e->group.count; c++) {
    const double *before = t.before + c * d;
    double out = event_has_target(e) ? -e->group.contacts[c].gap / event_compensation_time(e) : 0;
    t.bounces[c] = e->restitution[c] * approach(e, c, before) > out;
    for (int k = 0; k < bouncing_rows(e) && t.bounces[c]; k++)
      if (!e->held[c * d + k]) b[c * d + k] += e->restitution[c] * before[k];
    if (!t.bounces[c] && !e->held[c * d]) b[c * d] -= out;
  }
  t.problem.b = b;
  return t;
}

void newton_target_vjp(const contact_event *e, const newton_target *t, const double *v,
                       const double *target_bar, double *v_bar, const event_cotangents *bars,
                       arena *scratch) {
  const carom_system *s = e->mechanics->system;
  int d = s->dimension, count = e->group.count;
  arena_mark mark = arena_save(scratch);
  double *rows = arena_zeros(scratch, e->size), *e_bar = arena_zeros(scratch, count);
  bool stopped = e->options->stop_target_gradient && s->row_count > 0;
  for (int c = 0; c < count; c++) {
    for (int k = c * d; k < c * d + bouncing_rows(e) && t->bounces[c]; k++) {
      if (e->held[k]) continue;
      e_bar[c] -= t->before[k] * target_bar[k];
      rows[k] = -e->restitution[c] * target_bar[k];
    }
    if (!t->bounces[c] && !e->held[c * d] && event_has_target(e) && !stopped)
      bars->gap[c] -= target_bar[c * d] / event_compensation_time(e);
  }
  event_jacobian_transpose(e, rows, v_bar);
  event_jacobian_outer(e, 1, rows, v, bars->blocks);
  event_add_properties(e, CAROM_RESTITUTION, e_bar, bars->theta);
  arena_restore(scratch, mark);
}
