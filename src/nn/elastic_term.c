#include "nn/elastic_term.h"

#include <math.h>

static bool is_elastic(const limit *l) { return l->kind == LIMIT_STRETCH; }

int elastic_term_count(const carom_system *s) {
  int count = 0;
  for (int k = 0; k < s->limit_count; k++) count += is_elastic(&s->limits[k]);
  return count;
}

/* ---- one segment ----------------------------------------------------------------------------- */

/* The middle of its bounds, or the one that there is. */
static double usual_length(const limit *l) {
  if (!isfinite(l->high)) return l->low;
  return l->low > 0 ? 0.5 * (l->low + l->high) : l->high;
}

/* A segment at one state. */
typedef struct strain {
  const combination *segment;
  double size, inverse;       /* |s|, 1 / |s| or 0 */
  double scale;               /* 1 / length */
  double value;               /* z */
  double unit[MAX_DIMENSION]; /* s / |s|; zero where |s| is */
} strain;

/* combination_value, to be inlined with a constant dimension: there are as many of these as matrix
 * products of a long rope leave time for. */
static inline void segment_value(const combination *c, int dimension, const double *x,
                                 bool with_constant, double *value) {
  for (int i = 0; i < dimension; i++) value[i] = with_constant ? c->constant[i] : 0;
  for (int k = 0; k < c->count; k++)
    for (int i = 0; i < dimension; i++) value[i] += c->weight[k] * x[c->point[k] * dimension + i];
}

/* z = |s| / length - 1 */
static inline strain strain_at(const limit *l, int dimension, const double *x) {
  strain s;
  s.segment = &l->segment;
  s.scale = 1 / usual_length(l);
  segment_value(s.segment, dimension, x, true, s.unit);
  double square = 0;
  for (int i = 0; i < dimension; i++) square += s.unit[i] * s.unit[i];
  s.size = sqrt(square);
  s.value = s.size * s.scale - 1;
  s.inverse = s.size > 0 ? 1 / s.size : 0;
  for (int i = 0; i < dimension; i++) s.unit[i] *= s.inverse;
  return s;
}

/* x_bar += factor * (derivative of the segment by x)^T direction */
static inline void add_to_points(const combination *c, int dimension, double factor,
                                 const double *direction, double *x_bar) {
  for (int k = 0; k < c->count; k++)
    for (int i = 0; i < dimension; i++)
      x_bar[c->point[k] * dimension + i] += factor * c->weight[k] * direction[i];
}

/* One segment's part of the derivative: the slope a + 2 b z changes along the unit vector, and the
 * unit vector turns by what is left of the cotangent across it. */
static inline void strain_vjp(const strain *s, int dimension, const double *c,
                              const double *gradient_bar, double *x_bar, double *c_bar) {
  double moved[MAX_DIMENSION], direction[MAX_DIMENSION], along = 0;
  segment_value(s->segment, dimension, gradient_bar, false, moved);
  for (int i = 0; i < dimension; i++) along += s->unit[i] * moved[i];
  const double slope = c[0] + 2 * s->value * c[1];
  for (int i = 0; i < dimension; i++) {
    const double across = (moved[i] - along * s->unit[i]) * s->inverse;
    direction[i] = 2 * c[1] * s->scale * along * s->unit[i] + slope * across;
  }
  add_to_points(s->segment, dimension, s->scale, direction, x_bar);
  c_bar[0] += s->scale * along;
  c_bar[1] += 2 * s->value * s->scale * along;
}

/* ---- all segments of a state ----------------------------------------------------------------- */

/* grad (a z + b z^2) = (a + 2 b z) / length * s / |s|, on the points of the segment */
static inline void state_gradient(const carom_system *s, int dimension, const double *c,
                                  const double *x, double *gradient) {
  for (int k = 0; k < s->limit_count; k++) {
    if (!is_elastic(&s->limits[k])) continue;
    const strain z = strain_at(&s->limits[k], dimension, x);
    const double slope = c[0] + 2 * z.value * c[1];
    add_to_points(z.segment, dimension, z.scale * slope, z.unit, gradient);
    c += 2;
  }
}

static inline void state_gradient_vjp(const carom_system *s, int dimension, const double *c,
                                      const double *x, const double *gradient_bar, double *x_bar,
                                      double *c_bar) {
  for (int k = 0; k < s->limit_count; k++) {
    if (!is_elastic(&s->limits[k])) continue;
    const strain z = strain_at(&s->limits[k], dimension, x);
    strain_vjp(&z, dimension, c, gradient_bar, x_bar, c_bar);
    c += 2;
    c_bar += 2;
  }
}

/* ---- all segments of all states -------------------------------------------------------------- */

void elastic_term_value(const carom_system *s, const double *coefficients, int count,
                        const double *x, double *value) {
  for (int row = 0; row < count; row++, x += s->coordinate_count) {
    const double *c = coefficients;
    for (int k = 0; k < s->limit_count; k++) {
      if (!is_elastic(&s->limits[k])) continue;
      const double z = strain_at(&s->limits[k], s->dimension, x).value;
      value[row] += z * (c[0] + z * c[1]);
      c += 2;
    }
  }
}

void elastic_term_gradient(const carom_system *s, const double *coefficients, int count,
                           const double *x, double *gradient) {
  const int d = s->coordinate_count;
  for (int row = 0; row < count; row++, x += d, gradient += d) {
    if (s->dimension == 2)
      state_gradient(s, 2, coefficients, x, gradient);
    else
      state_gradient(s, s->dimension, coefficients, x, gradient);
  }
}

void elastic_term_gradient_vjp(const carom_system *s, const double *coefficients, int count,
                               const double *x, const double *gradient_bar, double *x_bar,
                               double *coefficients_bar) {
  const int d = s->coordinate_count;
  for (int row = 0; row < count; row++, x += d, gradient_bar += d, x_bar += d) {
    if (s->dimension == 2)
      state_gradient_vjp(s, 2, coefficients, x, gradient_bar, x_bar, coefficients_bar);
    else
      state_gradient_vjp(s, s->dimension, coefficients, x, gradient_bar, x_bar, coefficients_bar);
  }
}
