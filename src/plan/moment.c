#include "plan/moment.h"

#include "base/vector.h"

#include <math.h>

/* ---- which ----------------------------------------------------------------------------------- */

static bool counts(const moment *m, const carom_impact *impact) {
  if (m->contacts == NULL) return true;
  for (int k = 0; k < impact->contact_count; k++)
    if (m->contacts[impact->contacts[k]]) return true;
  return false;
}

/* The n-th contact's place among the impacts; -1: there are fewer. */
static int find_contact(const attempt *e, const moment *m) {
  const bool at_steps = e->plan->rollout.contact_time == CAROM_CONTACT_TIME_STEP;
  int last_step = -2, seen = 0;
  for (int i = 0; i < carom_rollout_impact_count(e->rollout, 0); i++) {
    const carom_impact impact = carom_rollout_impact(e->rollout, 0, i);
    if (!counts(m, &impact)) continue;
    const bool same = at_steps && impact.step <= last_step + 1;
    last_step = impact.step;
    if (!same && ++seen == m->number) return i;
  }
  return -1;
}

static const double *state_at(const attempt *e, const double *motion, int state) {
  return motion + (size_t)state * (size_t)e->plan->system->coordinate_count;
}

static found_moment last_state(const attempt *e) {
  return (found_moment){
      .source = SOURCE_STATE, .missing = true, .state = e->plan->rollout.steps, .impact = -1};
}

static double along(const found_moment *f, int dimension, const double *v) {
  return vector_dot_small(f->up, v + f->coordinate, dimension);
}

/* The first pair of states, the earlier of which may be an impact, between which the body stops rising. */
static found_moment find_apex(const attempt *e, const moment *m) {
  const carom_system *s = e->plan->system;
  found_moment f = {.source = SOURCE_BETWEEN,
                    .impact = -1,
                    .coordinate = s->bodies[m->body].first_point * s->dimension};
  const double size = sqrt(vector_dot_small(s->gravity, s->gravity, s->dimension));
  for (int k = 0; k < s->dimension; k++) f.up[k] = -s->gravity[k] / size;
  int first = 0;
  const double *before = state_at(e, e->v, 0);
  if (m->number > 0) {
    f.impact = find_contact(e, m);
    if (f.impact < 0) return last_state(e);
    const carom_impact impact = carom_rollout_impact(e->rollout, 0, f.impact);
    before = impact.v_after;
    first = impact.step + 1;
    // a contact at the end of its time step is that state
    if (impact.time >= first * e->plan->rollout.dt) f.impact = -1;
  }
  for (f.state = f.impact < 0 ? first + 1 : first; f.state <= e->plan->rollout.steps; f.state++) {
    const double *v = state_at(e, e->v, f.state);
    if (along(&f, s->dimension, before) > 0 && along(&f, s->dimension, v) <= 0) return f;
    before = v;
    f.impact = -1;
  }
  return last_state(e);
}

/* ---- the state there ------------------------------------------------------------------------- */

/* The two ends of the stretch that an apex lies in: positions, velocities, time from one to the other. */
typedef struct stretch_ends {
  const double *xa, *va, *xb, *vb;
  double h;
  double s; /* where in it, from 0 to 1 */
} stretch_ends;

static stretch_ends ends_of(const attempt *e, const found_moment *f) {
  stretch_ends ends = {.xb = state_at(e, e->x, f->state), .vb = state_at(e, e->v, f->state)};
  const double dt = e->plan->rollout.dt;
  if (f->impact >= 0) {
    const carom_impact impact = carom_rollout_impact(e->rollout, 0, f->impact);
    ends.xa = impact.x, ends.va = impact.v_after;
    ends.h = f->state * dt - impact.time;
  } else {
    ends.xa = state_at(e, e->x, f->state - 1), ends.va = state_at(e, e->v, f->state - 1);
    ends.h = dt;
  }
  const double a = along(f, e->plan->system->dimension, ends.va);
  const double b = along(f, e->plan->system->dimension, ends.vb);
  ends.s = a / (a - b);
  return ends;
}

/* Weights of the cubic x(s) = w0 xa + w1 h va + w2 xb + w3 h vb, and their slopes by s. */
static void cubic_weights(double s, double *w, double *slope) {
  w[0] = (1 + 2 * s) * (1 - s) * (1 - s), slope[0] = 6 * s * (s - 1);
  w[1] = s * (1 - s) * (1 - s), slope[1] = (1 - s) * (1 - 3 * s);
  w[2] = s * s * (3 - 2 * s), slope[2] = 6 * s * (1 - s);
  w[3] = s * s * (s - 1), slope[3] = s * (3 * s - 2);
}

static void between(const attempt *e, const found_moment *f, double *x, double *v) {
  const stretch_ends c = ends_of(e, f);
  double w[4], slope[4];
  cubic_weights(c.s, w, slope);
  for (int i = 0; i < e->plan->system->coordinate_count; i++) {
    x[i] = w[0] * c.xa[i] + w[1] * c.h * c.va[i] + w[2] * c.xb[i] + w[3] * c.h * c.vb[i];
    v[i] = (1 - c.s) * c.va[i] + c.s * c.vb[i];
  }
}

found_moment moment_find(const attempt *e, const moment *m, double *x, double *v) {
  const int size = e->plan->system->coordinate_count, last = e->plan->rollout.steps;
  found_moment f = {.source = SOURCE_STATE, .impact = -1};
  switch (m->kind) {
    case MOMENT_STEP: f.state = m->step; break;
    case MOMENT_END: f.state = last; break;
    case MOMENT_CONTACT:
      f.source = SOURCE_IMPACT;
      f.after = m->after;
      f.impact = find_contact(e, m);
      if (f.impact < 0) f = last_state(e);
      break;
    case MOMENT_APEX: f = find_apex(e, m); break;
  }
  if (f.source == SOURCE_BETWEEN) {
    between(e, &f, x, v);
  } else if (f.source == SOURCE_IMPACT) {
    const carom_impact impact = carom_rollout_impact(e->rollout, 0, f.impact);
    vector_copy(x, impact.x, size);
    vector_copy(v, f.after ? impact.v_after : impact.v_before, size);
  } else {
    vector_copy(x, state_at(e, e->x, f.state), size);
    vector_copy(v, state_at(e, e->v, f.state), size);
  }
  return f;
}

/* ---- the reverse ----------------------------------------------------------------------------- */

static double *bar_at(const attempt *e, double *motion, int state) {
  return motion + (size_t)state * (size_t)e->plan->system->coordinate_count;
}

/* In the forward pass this was s = a / (a - b) of the velocities a, b along gravity at both ends, then
 * x = sum of cubic_weights, v = (1 - s) va + s vb, and h = t_b - time of the impact. */
static void between_vjp(attempt *e, const found_moment *f, const double *x_bar,
                        const double *v_bar) {
  const carom_system *s = e->plan->system;
  const stretch_ends c = ends_of(e, f);
  carom_impact_bars impact = {0};
  if (f->impact >= 0) impact = carom_rollout_impact_bars(e->rollout, 0, f->impact);
  double *xa_bar = f->impact >= 0 ? impact.x : bar_at(e, e->x_bar, f->state - 1);
  double *va_bar = f->impact >= 0 ? impact.v_after : bar_at(e, e->v_bar, f->state - 1);
  double *xb_bar = bar_at(e, e->x_bar, f->state), *vb_bar = bar_at(e, e->v_bar, f->state);
  double w[4], slope[4], s_bar = 0, h_bar = 0;
  cubic_weights(c.s, w, slope);
  for (int i = 0; i < s->coordinate_count; i++) {
    xa_bar[i] += w[0] * x_bar[i];
    va_bar[i] += w[1] * c.h * x_bar[i] + (1 - c.s) * v_bar[i];
    xb_bar[i] += w[2] * x_bar[i];
    vb_bar[i] += w[3] * c.h * x_bar[i] + c.s * v_bar[i];
    s_bar += x_bar[i] * (slope[0] * c.xa[i] + slope[1] * c.h * c.va[i] + slope[2] * c.xb[i] +
                         slope[3] * c.h * c.vb[i]) +
             v_bar[i] * (c.vb[i] - c.va[i]);
    h_bar += x_bar[i] * (w[1] * c.va[i] + w[3] * c.vb[i]);
  }
  const double a = along(f, s->dimension, c.va), b = along(f, s->dimension, c.vb);
  for (int k = 0; k < s->dimension; k++) {
    va_bar[f->coordinate + k] -= s_bar * f->up[k] * b / ((a - b) * (a - b));
    vb_bar[f->coordinate + k] += s_bar * f->up[k] * a / ((a - b) * (a - b));
  }
  if (f->impact >= 0) *impact.time -= h_bar;
}

void moment_vjp(attempt *e, const found_moment *f, const double *x_bar, const double *v_bar) {
  if (f->source == SOURCE_BETWEEN) {
    between_vjp(e, f, x_bar, v_bar);
    return;
  }
  double *to_x = f->source == SOURCE_STATE ? bar_at(e, e->x_bar, f->state) : NULL;
  double *to_v = f->source == SOURCE_STATE ? bar_at(e, e->v_bar, f->state) : NULL;
  if (f->source == SOURCE_IMPACT) {
    const carom_impact_bars bars = carom_rollout_impact_bars(e->rollout, 0, f->impact);
    to_x = bars.x;
    to_v = f->after ? bars.v_after : bars.v_before;
  }
  for (int i = 0; i < e->plan->system->coordinate_count; i++) {
    to_x[i] += x_bar[i];
    to_v[i] += v_bar[i];
  }
}
