#include "learn/motion.h"

#include <math.h>
#include <stdlib.h>

static double at(const motion *m, int k, int coordinate) {
  return m->x[(size_t)k * (size_t)m->size + (size_t)coordinate];
}

double motion_time(const motion *m, int k, int to) {
  return m->t != NULL ? m->t[to] - m->t[k] : (to - k) * m->dt;
}

static double given(const motion *m, int k, int coordinate) {
  return m->v[(size_t)k * (size_t)m->size + (size_t)coordinate];
}

/* One-sided difference at k, `side` = -1 from the states before, +1 from those after. */
static double one_sided(const motion *m, int k, int side, int coordinate) {
  int near = k + side, far = k + 2 * side;
  if (near < 0 || near >= m->states) return NAN;
  double first = (at(m, near, coordinate) - at(m, k, coordinate)) / motion_time(m, k, near);
  if (far < 0 || far >= m->states) return first;
  // the parabola's slope: of equal steps (-3 x_0 + 4 x_1 - x_2) / 2
  double second = (at(m, far, coordinate) - at(m, near, coordinate)) / motion_time(m, near, far);
  double beyond = motion_time(m, k, near) / motion_time(m, k, far);
  return (1 + beyond) * first - beyond * second;
}

static double velocity_on(const motion *m, int k, int side, int coordinate) {
  if (m->v != NULL) return given(m, k, coordinate);
  double value = one_sided(m, k, side, coordinate);
  return isnan(value) ? one_sided(m, k, -side, coordinate) : value;
}

double motion_velocity_before(const motion *m, int k, int coordinate) {
  return velocity_on(m, k, -1, coordinate);
}

double motion_velocity_after(const motion *m, int k, int coordinate) {
  return velocity_on(m, k, 1, coordinate);
}

// change of velocity between k - 1 and k, or its stand-in of positions about `middle`
static double change_at(const motion *m, int k, int middle, int coordinate) {
  if (m->v != NULL) {
    if (k < 1 || k >= m->states) return NAN;
    return given(m, k, coordinate) - given(m, k - 1, coordinate);
  }
  if (middle < 1 || middle + 1 >= m->states) return NAN;
  const double x = at(m, middle, coordinate), before = at(m, middle - 1, coordinate),
               after = at(m, middle + 1, coordinate);
  if (m->t == NULL) return (before - 2 * x + after) / m->dt;
  const double span = 0.5 * motion_time(m, middle - 1, middle + 1);
  return ((after - x) / motion_time(m, middle, middle + 1) -
          (x - before) / motion_time(m, middle - 1, middle)) /
         span * motion_time(m, k - 1, k);
}

// the change of the step that leads to state `of`, for a step as long as that to state k
static double scaled_change(const motion *m, int of, int middle, int k, int coordinate) {
  const double change = change_at(m, of, middle, coordinate);
  if (m->t == NULL || isnan(change)) return change;
  return change * motion_time(m, k - 1, k) / motion_time(m, of - 1, of);
}

velocity_changes motion_changes(const motion *m, int k, int coordinate) {
  return (velocity_changes){.before = scaled_change(m, k - 1, k - 2, k, coordinate),
                            .within = motion_velocity_after(m, k, coordinate) -
                                      motion_velocity_before(m, k - 1, coordinate),
                            .after = scaled_change(m, k + 1, k + 1, k, coordinate)};
}

/* What a change between two others would be without a contact: the smaller of both where they agree in
 * sign, else 0. */
double free_change(const velocity_changes *c) {
  if (isnan(c->before)) return isnan(c->after) ? 0 : c->after;
  if (isnan(c->after)) return c->before;
  if (c->before * c->after <= 0) return 0;
  return fabs(c->before) < fabs(c->after) ? c->before : c->after;
}

/* ---- scatter ---- */

static int compare(const void *a, const void *b) {
  double p = *(const double *)a, q = *(const double *)b;
  return (p > q) - (p < q);
}

double median(double *values, int count) {
  if (count == 0) return NAN;
  qsort(values, (size_t)count, sizeof(double), compare);
  return 0.5 * (values[(count - 1) / 2] + values[count / 2]);
}

size_t motion_stride(int count, const motion *motions, int most) {
  size_t steps = 0;
  for (int i = 0; i < count; i++) steps += (size_t)(motions[i].states - 1);
  return steps / (size_t)most + 1;
}

/* |dv - free dv|: what a step changes beyond what its neighbours let expect */
static double velocity_scatter(const motion *m, int k, int coordinate) {
  velocity_changes c = motion_changes(m, k, coordinate);
  return fabs(c.within - free_change(&c));
}

/* |x_k - x_{k-1} - dt (v_{k-1} + v_k) / 2| */
static double position_scatter(const motion *m, int k, int coordinate) {
  double mean = 0.5 * (motion_velocity_before(m, k - 1, coordinate) +
                       motion_velocity_after(m, k, coordinate));
  return fabs(at(m, k, coordinate) - at(m, k - 1, coordinate) - mean * motion_time(m, k - 1, k));
}

static double scatter_of(int count, const motion *motions, int coordinate, double *samples,
                         int most, double (*of)(const motion *, int, int)) {
  size_t stride = motion_stride(count, motions, most), place = 0;
  int found = 0;
  for (int i = 0; i < count; i++)
    for (int k = 1; k < motions[i].states; k++)
      if (place++ % stride == 0 && found < most) samples[found++] = of(&motions[i], k, coordinate);
  return found > 0 ? DEVIATION_OF_MEDIAN * median(samples, found) : 0;
}

scatter motion_scatter(int count, const motion *motions, int coordinate, double *samples,
                       int most) {
  return (scatter){
      .velocity = scatter_of(count, motions, coordinate, samples, most, velocity_scatter),
      .position = scatter_of(count, motions, coordinate, samples, most, position_scatter)};
}
