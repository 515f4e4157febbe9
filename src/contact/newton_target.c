#include "contact/newton_target.h"

newton_target newton_target_make(const contact_event *e, const double *v, arena *memory) {
  int d = e->mechanics->system->dimension;
  newton_target t = {.problem = phase_compression(e, v, memory),
                     .bounces = ARENA_ARRAY(memory, bool, e->group.count)};
  double *b = arena_doubles(memory, e->size);
  t.before = t.problem.b;
  for (int i = 0; i < e->size; i++) b[i] = t.before[i];
  for (int c = 0; c < e->group.count; c++) {
    double back = -e->restitution[c] * t.before[c * d];
    double out = event_has_target(e) ? -e->group.contacts[c].gap / event_compensation_time(e) : 0;
    t.bounces[c] = back > out;
    if (!e->held[c * d]) b[c * d] -= t.bounces[c] ? back : out;
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
    double bar = e->held[c * d] ? 0 : target_bar[c * d];
    if (t->bounces[c]) {
      e_bar[c] = -t->before[c * d] * bar;
      rows[c * d] = -e->restitution[c] * bar;
    } else if (event_has_target(e) && !stopped) {
      bars->gap[c] -= bar / event_compensation_time(e);
    }
  }
  event_jacobian_transpose(e, rows, v_bar);
  event_jacobian_outer(e, 1, rows, v, bars->blocks);
  event_add_properties(e, CAROM_RESTITUTION, e_bar, bars->theta);
  arena_restore(scratch, mark);
}
