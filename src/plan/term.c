#include "plan/term.h"

#include "base/vector.h"
#include "plan/moment.h"
#include "plan/unknowns.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

/* ---- what a body does at a state ------------------------------------------------------------- */

static void quantity_value(const carom_system *s, plan_quantity quantity, int index,
                           const double *x, const double *v, double *value) {
  const int first = s->bodies[index].first_point * s->dimension;
  switch (quantity) {
    case QUANTITY_POSITION: memcpy(value, x + first, sizeof(double) * (size_t)s->dimension); return;
    case QUANTITY_VELOCITY: memcpy(value, v + first, sizeof(double) * (size_t)s->dimension); return;
    case QUANTITY_ANGLE: body_angle(s, index, x, value); return;
    case QUANTITY_RATE: body_rate(s, index, x, v, value); return;
  }
}

/* rate = 1/2 sum_k a_k x w_k, a_k = x_k - x_0, w_k = v_k - v_0: with its cotangent r,
 * a_bar = 1/2 w x r, w_bar = 1/2 r x a. */
static void rate_vjp(const carom_system *s, int index, const double *x, const double *v,
                     const double *bar, double *x_bar, double *v_bar) {
  const int d = s->dimension, first = s->bodies[index].first_point * d;
  const double r[3] = {d == 3 ? bar[0] : 0, d == 3 ? bar[1] : 0, d == 3 ? bar[2] : bar[0]};
  for (int k = 1; k <= d; k++) {
    double a[3] = {0}, w[3] = {0}, a_bar[3], w_bar[3];
    for (int i = 0; i < d; i++) {
      a[i] = x[first + k * d + i] - x[first + i];
      w[i] = v[first + k * d + i] - v[first + i];
    }
    vector_cross(w, r, a_bar);
    vector_cross(r, a, w_bar);
    for (int i = 0; i < d; i++) {
      x_bar[first + k * d + i] += a_bar[i] / 2, x_bar[first + i] -= a_bar[i] / 2;
      v_bar[first + k * d + i] += w_bar[i] / 2, v_bar[first + i] -= w_bar[i] / 2;
    }
  }
}

/* angle = atan2(a_y, a_x) of the first axis, in the plane */
static void angle_vjp(const carom_system *s, int index, const double *x, double bar,
                      double *x_bar) {
  const int first = s->bodies[index].first_point * 2;
  const double a[2] = {x[first + 2] - x[first], x[first + 3] - x[first + 1]};
  const double square = a[0] * a[0] + a[1] * a[1];
  const double slope[2] = {-a[1] / square * bar, a[0] / square * bar};
  for (int i = 0; i < 2; i++) {
    x_bar[first + 2 + i] += slope[i];
    x_bar[first + i] -= slope[i];
  }
}

static void quantity_vjp(const carom_system *s, plan_quantity quantity, int index, const double *x,
                         const double *v, const double *bar, double *x_bar, double *v_bar) {
  const int first = s->bodies[index].first_point * s->dimension;
  switch (quantity) {
    case QUANTITY_POSITION:
      for (int i = 0; i < s->dimension; i++) x_bar[first + i] += bar[i];
      return;
    case QUANTITY_VELOCITY:
      for (int i = 0; i < s->dimension; i++) v_bar[first + i] += bar[i];
      return;
    case QUANTITY_ANGLE: angle_vjp(s, index, x, bar[0], x_bar); return;
    case QUANTITY_RATE: rate_vjp(s, index, x, v, bar, x_bar, v_bar); return;
  }
}

/* ---- norms ----------------------------------------------------------------------------------- */

/* The norm of d [count], and its slopes; at 0 those of an absolute value are 0. */
static double norm_value(term_norm norm, int count, const double *d, double *slope) {
  const double square = vector_dot_small(d, d, count), length = sqrt(square);
  double sum = 0;
  for (int i = 0; i < count; i++) {
    sum += fabs(d[i]);
    slope[i] = norm == NORM_SQUARED    ? 2 * d[i]
               : norm == NORM_ABSOLUTE ? (double)((d[i] > 0) - (d[i] < 0))
               : length > 0            ? d[i] / length
                                       : 0;
  }
  return norm == NORM_SQUARED ? square : norm == NORM_ABSOLUTE ? sum : length;
}

/* ---- a quantity at a moment ------------------------------------------------------------------ */

static double value_term(attempt *e, const term *t, bool reverse, int *missing) {
  const carom_system *s = e->plan->system;
  double here[MAX_DIMENSION] = {0}, there[MAX_DIMENSION] = {0};
  double d[MAX_DIMENSION], slope[MAX_DIMENSION], bar[MAX_DIMENSION] = {0};
  const found_moment at = moment_find(e, &t->at, e->here_x, e->here_v);
  found_moment other = {0};
  *missing += at.missing;
  quantity_value(s, t->quantity, t->body, e->here_x, e->here_v, here);
  if (t->relative) {
    other = moment_find(e, &t->other_at, e->there_x, e->there_v);
    *missing += other.missing;
    quantity_value(s, t->quantity, t->other_body, e->there_x, e->there_v, there);
  }
  for (int i = 0; i < t->axis_count; i++) {
    d[i] = here[t->axes[i]] - (t->relative ? there[t->axes[i]] : t->target[i]);
    if (t->quantity == QUANTITY_ANGLE) d[i] -= 2 * PI * nearbyint(d[i] / (2 * PI));
  }
  const double value = norm_value(t->norm, t->axis_count, d, slope);
  if (!reverse) return t->weight * value;

  const size_t bytes = sizeof(double) * (size_t)s->coordinate_count;
  for (int i = 0; i < t->axis_count; i++) bar[t->axes[i]] = t->weight * slope[i];
  memset(e->here_x_bar, 0, bytes);
  memset(e->here_v_bar, 0, bytes);
  quantity_vjp(s, t->quantity, t->body, e->here_x, e->here_v, bar, e->here_x_bar, e->here_v_bar);
  moment_vjp(e, &at, e->here_x_bar, e->here_v_bar);
  if (!t->relative) return t->weight * value;
  for (int i = 0; i < MAX_DIMENSION; i++) bar[i] = -bar[i];
  memset(e->there_x_bar, 0, bytes);
  memset(e->there_v_bar, 0, bytes);
  quantity_vjp(s, t->quantity, t->other_body, e->there_x, e->there_v, bar, e->there_x_bar,
               e->there_v_bar);
  moment_vjp(e, &other, e->there_x_bar, e->there_v_bar);
  return t->weight * value;
}

/* ---- control effort -------------------------------------------------------------------------- */

/* dt sum_k |u_k|^2 */
static double effort_term(attempt *e, const term *t, bool reverse) {
  const int size = e->plan->system->control_size;
  const double scale = t->weight * e->plan->rollout.dt;
  double sum = 0;
  for (int step = 0; step < e->plan->rollout.steps; step++)
    for (int i = t->control_first; i < t->control_first + t->control_size; i++) {
      const size_t at = (size_t)step * (size_t)size + (size_t)i;
      sum += e->u[at] * e->u[at];
      if (reverse) e->u_bar[at] += 2 * scale * e->u[at];
    }
  return scale * sum;
}

/* ---- staying clear --------------------------------------------------------------------------- */

/* The gap between a body's ball and an obstacle at x, and its gradient: `slope` by the body's centre, minus
 * that by the obstacle's. */
static double gap_of(const carom_system *s, const term *t, const double *x, double *slope) {
  const body *b = &s->bodies[t->body];
  const int d = s->dimension;
  const double *at = x + b->first_point * d;
  if (t->obstacle == OBSTACLE_PLANE) {
    const plane *p = &s->planes[t->other];
    memcpy(slope, p->normal, sizeof(double) * (size_t)d);
    return vector_dot_small(p->normal, at, d) + p->offset - b->radius;
  }
  const bool point = t->obstacle == OBSTACLE_POINT;
  const double *from = point ? t->point : x + s->bodies[t->other].first_point * d;
  double length = 0;
  for (int i = 0; i < d; i++) slope[i] = at[i] - from[i];
  length = sqrt(vector_dot_small(slope, slope, d));
  for (int i = 0; i < d; i++) slope[i] = length > 0 ? slope[i] / length : 0;
  return length - b->radius - (point ? 0 : s->bodies[t->other].radius);
}

/* dt sum over the states after the first of max(0, distance - gap)^2 */
static double clearance_term(attempt *e, const term *t, bool reverse) {
  const carom_system *s = e->plan->system;
  const int d = s->dimension;
  const double scale = t->weight * e->plan->rollout.dt;
  double sum = 0;
  for (int state = 1; state <= e->plan->rollout.steps; state++) {
    const size_t at = (size_t)state * (size_t)s->coordinate_count;
    double slope[MAX_DIMENSION];
    const double lack = t->distance - gap_of(s, t, e->x + at, slope);
    if (lack <= 0) continue;
    sum += lack * lack;
    for (int i = 0; reverse && i < d; i++) {
      const double part = -2 * scale * lack * slope[i];
      e->x_bar[at + (size_t)(s->bodies[t->body].first_point * d + i)] += part;
      if (t->obstacle == OBSTACLE_BODY)
        e->x_bar[at + (size_t)(s->bodies[t->other].first_point * d + i)] -= part;
    }
  }
  return scale * sum;
}

double term_value(attempt *e, const term *t, bool reverse, int *missing) {
  switch (t->kind) {
    case TERM_VALUE: return value_term(e, t, reverse, missing);
    case TERM_EFFORT: return effort_term(e, t, reverse);
    case TERM_CLEARANCE: return clearance_term(e, t, reverse);
  }
  return 0;
}
