#include "rollout/gap_root.h"

#include "base/cubic.h"
#include "base/vector.h"

#include <math.h>

enum { MOST_PROBES = 60, QUICK_PROBES = 10 };

/* The same of balls, whose turning does not change their gaps. */
static double ball_rate(const carom_system *s, const contact_id *id, const double *x,
                        const double *v) {
  int d = s->dimension, a = s->bodies[id->first].first_point * d;
  if (id->kind == CONTACT_BALL_PLANE)
    return vector_dot_small(s->planes[id->second].normal, v + a, d);
  int b = s->bodies[id->second].first_point * d;
  double product = 0, square = 0;
  for (int i = 0; i < d; i++) {
    product += (x[b + i] - x[a + i]) * (v[b + i] - v[a + i]);
    square += (x[b + i] - x[a + i]) * (x[b + i] - x[a + i]);
  }
  return square > 0 ? product / sqrt(square) : 0;
}

double contact_rate(const carom_system *s, const contact_id *id, const double *x, const double *v,
                    arena *scratch) {
  if (id->kind == CONTACT_PAIR || id->kind == CONTACT_BALL_PLANE) return ball_rate(s, id, x, v);
  double velocity[MAX_DIMENSION];
  contact c;
  arena_mark mark = arena_save(scratch);
  contact_geometry(s, id, x, &c, scratch);
  contact_apply(&c, s->dimension, v, velocity);
  arena_restore(scratch, mark);
  return velocity[0];
}

/* The state at time t of the stretch. */
static void probe(gap_search *q, double t) {
  const stretch_setting *s = q->setting;
  int size = s->integrator.mechanics->system->coordinate_count;
  if (t == q->t) return;
  arena_mark mark = arena_save(s->scratch);
  vector_copy(q->xt, q->x, size);
  vector_copy(q->vt, q->v, size);
  q->way = stretch_run(s, t, q->resting, q->xt, q->vt, NULL);
  arena_restore(s->scratch, mark);
  q->t = t;
}

/* The gap of a contact at time t, and its rate. */
static double gap_at(gap_search *q, near_contact *c, double t, double *rate) {
  const carom_system *s = q->setting->integrator.mechanics->system;
  probe(q, t);
  double gap = contact_gap(s, &c->id, q->xt);
  *rate = contact_rate(s, &c->id, q->xt, q->vt, q->setting->scratch);
  return gap;
}

/* A time with a gap > 0 before one with a gap < 0, with the rates. */
typedef struct bracket {
  double low, high;
  double low_gap, low_rate, high_gap, high_rate;
} bracket;

/* Where the cubic through both ends says that the gap is zero. */
static double guess(const bracket *b) {
  cubic c = {b->high - b->low, {b->low_gap, b->high_gap}, {b->low_rate, b->high_rate}};
  return b->low + cubic_zero(&c, false, 0, c.length);
}

/* A gap that counts as zero after so many probes: rounding first, then what a network in single precision
 * leaves. */
static double enough(const near_contact *c, int probes) {
  double digits = probes < QUICK_PROBES ? 1e-4 : probes < 2 * QUICK_PROBES ? 1e-2 : 1;
  return digits * c->tolerance;
}

/* The secant method inside a bracket, whose first step is Newton's (the rate J_n v is the derivative of the gap
 * but for errors of integration); ends at the probe with the least gap. */
static void refine(gap_search *q, near_contact *c, bracket b) {
  double t = guess(&b), best = t, least = INFINITY, last_t = 0, last_gap = 0;
  for (int k = 0; k < MOST_PROBES; k++) {
    double rate, gap = gap_at(q, c, t, &rate);
    if (fabs(gap) < least) {
      least = fabs(gap);
      best = t;
    }
    if (least <= enough(c, k)) break;
    if (gap > 0)
      b.low = t;
    else
      b.high = t;
    if (k > 0 && gap != last_gap) rate = (gap - last_gap) / (t - last_t);
    last_t = t;
    last_gap = gap;
    t -= gap / rate;
    if (!(t > b.low && t < b.high)) t = (b.low + b.high) / 2;
    if (!(t > b.low && t < b.high)) break; // neighbouring numbers
  }
  probe(q, best);
  contact_gap(q->setting->integrator.mechanics->system, &c->id, q->xt);
}

/* A contact that leaves and comes back: a time before `high` at which it is open. False if there is none. */
static bool find_open(gap_search *q, near_contact *c, bracket *b) {
  cubic path = {b->high, {0, b->high_gap}, {c->rate, b->high_rate}};
  double slope, best = -1, top = 0;
  for (int k = 1; k < 32; k++) {
    double t = b->high * k / 32, value = cubic_at(&path, t, &slope);
    if (value > top) {
      top = value;
      best = t;
    }
  }
  double t = best > 0 ? best : b->high / 32;
  for (int k = 0; k < 40; k++, t /= 2) {
    b->low_gap = gap_at(q, c, t, &b->low_rate);
    b->low = t;
    if (b->low_gap > 0) return true;
  }
  return false;
}

/* A gap that is open at both ends but closes and opens between: a time at which it is negative. False if it
 * stays open. */
static bool find_dip(gap_search *q, near_contact *c, bracket *b) {
  double low = 0, high = b->high;
  cubic path = {b->high, {c->gap, b->high_gap}, {c->rate, b->high_rate}};
  double t = cubic_zero(&path, true, 0, b->high), slope;
  if (cubic_at(&path, t, &slope) > 0.02 * fmin(c->gap, b->high_gap) + c->tolerance) return false;
  for (int k = 0; k < 12; k++) {
    double rate, gap = gap_at(q, c, t, &rate);
    if (gap < 0) {
      b->high = t;
      b->high_gap = gap;
      b->high_rate = rate;
      if (gap > -c->tolerance) {
        q->grazes++;
        return false;
      }
      return true;
    }
    if (rate < 0)
      low = t;
    else
      high = t;
    double middle = (low + high) / 2;
    if (gap > 10 * fabs(rate) * (high - low)) break;
    t = middle;
  }
  return false;
}

/* Whether a contact that is closed at `high` (or dips before it) closes after the start; a bracket of it. */
static bool find_bracket(gap_search *q, near_contact *c, double high, double gap, double rate,
                         bracket *b) {
  *b = (bracket){
      .high = high, .low_gap = c->gap, .low_rate = c->rate, .high_gap = gap, .high_rate = rate};
  if (c->touches) return gap < 0 && c->gap >= -c->tolerance && find_open(q, c, b);
  if (c->gap <= 0) return false;
  return gap < 0 || (c->rate < 0 && rate > 0 && find_dip(q, c, b));
}

/* The earliest of the contacts is found by going back: a root of one of them, then of one that is closed by
 * then, until none is. */
int first_root(gap_search *q, near_contact *near, int count) {
  const stretch_setting *s = q->setting;
  const carom_system *system = s->integrator.mechanics->system;
  int found = -1;
  arena_mark mark = arena_save(s->scratch);
  bracket *brackets = ARENA_ARRAY(s->scratch, bracket, count);
  bool *closes = ARENA_ARRAY(s->scratch, bool, count);
  for (int i = 0; i < count; i++) {
    near_contact *c = &near[i];
    closes[i] = !c->rests && find_bracket(q, c, q->length, c->end_gap, c->end_rate, &brackets[i]);
  }
  for (;;) {
    // the one that is expected first
    int next = -1;
    double earliest = INFINITY;
    for (int i = 0; i < count; i++) {
      double t = closes[i] ? guess(&brackets[i]) : INFINITY;
      if (t < earliest) {
        earliest = t;
        next = i;
      }
    }
    if (next < 0) break;
    refine(q, &near[next], brackets[next]);
    found = next;

    // those that are closed by then, unless they touch just now
    double high = q->t;
    for (int i = 0; i < count; i++) {
      if (!closes[i]) continue;
      contact_id id = near[i].id;
      double gap = contact_gap(system, &id, q->xt);
      bool earlier =
          i != next && high > 0 && (brackets[i].high < high ? true : gap < -near[i].tolerance);
      closes[i] = false;
      if (!earlier) continue;
      if (brackets[i].high >= high) {
        double rate = contact_rate(system, &id, q->xt, q->vt, s->scratch);
        closes[i] = find_bracket(q, &near[i], high, gap, rate, &brackets[i]);
        probe(q, high);
      } else {
        closes[i] = true;
      }
    }
  }
  arena_restore(s->scratch, mark);
  return found;
}
