#include "nn/elastic_term.h"

#include "physics/lanes.h"

#include <math.h>

#define INLINE static inline __attribute__((always_inline))

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

/* A segment at LANES states. */
typedef struct strain {
  const combination *segment;
  double scale;              /* 1 / length */
  lanes inverse;             /* 1 / |s| or 0 */
  lanes value;               /* z */
  lanes unit[MAX_DIMENSION]; /* s / |s|; zero where |s| is */
} strain;

/* combination_value, to be inlined with a constant dimension: there are as many of these as matrix
 * products of a long rope leave time for. */
INLINE void segment_value(const combination *c, int dimension, const lanes *x, bool with_constant,
                          lanes *value) {
  for (int i = 0; i < dimension; i++) value[i] = lanes_all(with_constant ? c->constant[i] : 0);
  for (int k = 0; k < c->count; k++)
    for (int i = 0; i < dimension; i++) value[i] += c->weight[k] * x[c->point[k] * dimension + i];
}

/* z = |s| / length - 1 */
INLINE strain strain_at(const limit *l, int dimension, const lanes *x) {
  strain s;
  s.segment = &l->segment;
  s.scale = 1 / usual_length(l);
  segment_value(s.segment, dimension, x, true, s.unit);
  lanes square = {0};
  for (int i = 0; i < dimension; i++) square += s.unit[i] * s.unit[i];
  const lanes size = lanes_root(square);
  s.value = size * s.scale - 1;
  s.inverse = lanes_select(size > 0, 1 / size, (lanes){0});
  for (int i = 0; i < dimension; i++) s.unit[i] *= s.inverse;
  return s;
}

/* x_bar += factor * (derivative of the segment by x)^T direction */
INLINE void add_to_points(const combination *c, int dimension, lanes factor, const lanes *direction,
                          lanes *x_bar) {
  for (int k = 0; k < c->count; k++)
    for (int i = 0; i < dimension; i++)
      x_bar[c->point[k] * dimension + i] += factor * c->weight[k] * direction[i];
}

/* One segment's part of the derivative: the slope a + 2 b z changes along the unit vector, and the
 * unit vector turns by what is left of the cotangent across it. */
INLINE void strain_vjp(const strain *s, int dimension, const double *c, const lanes *gradient_bar,
                       lanes *x_bar, double *c_bar) {
  lanes moved[MAX_DIMENSION], direction[MAX_DIMENSION], along = {0};
  segment_value(s->segment, dimension, gradient_bar, false, moved);
  for (int i = 0; i < dimension; i++) along += s->unit[i] * moved[i];
  const lanes slope = c[0] + 2 * s->value * c[1];
  for (int i = 0; i < dimension; i++) {
    const lanes across = (moved[i] - along * s->unit[i]) * s->inverse;
    direction[i] = 2 * c[1] * s->scale * along * s->unit[i] + slope * across;
  }
  add_to_points(s->segment, dimension, lanes_all(s->scale), direction, x_bar);
  c_bar[0] += s->scale * lanes_sum(along);
  c_bar[1] += 2 * s->scale * lanes_sum(s->value * along);
}

/* ---- all segments of LANES states ------------------------------------------------------------ */

/* grad (a z + b z^2) = (a + 2 b z) / length * s / |s|, on the points of the segment */
INLINE void states_gradient(const carom_system *s, int dimension, const double *c, const lanes *x,
                            lanes *gradient) {
  for (int k = 0; k < s->limit_count; k++) {
    if (!is_elastic(&s->limits[k])) continue;
    const strain z = strain_at(&s->limits[k], dimension, x);
    const lanes slope = c[0] + 2 * z.value * c[1];
    add_to_points(z.segment, dimension, z.scale * slope, z.unit, gradient);
    c += 2;
  }
}

INLINE void states_gradient_vjp(const carom_system *s, int dimension, const double *c,
                                const lanes *x, const lanes *gradient_bar, lanes *x_bar,
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

static int group(int count, int first) { return count - first < LANES ? count - first : LANES; }

void elastic_term_value(const carom_system *s, const double *coefficients, int count,
                        const double *x, double *value, arena *scratch) {
  const arena_mark mark = arena_save(scratch);
  const int d = s->coordinate_count;
  lanes *at = lanes_array(scratch, d);
  for (int first = 0; first < count; first += LANES) {
    lanes_load(group(count, first), d, x + first * d, at);
    lanes sum = {0};
    const double *c = coefficients;
    for (int k = 0; k < s->limit_count; k++) {
      if (!is_elastic(&s->limits[k])) continue;
      const lanes z = strain_at(&s->limits[k], s->dimension, at).value;
      sum += z * (c[0] + z * c[1]);
      c += 2;
    }
    lanes_add(group(count, first), 1, &sum, value + first);
  }
  arena_restore(scratch, mark);
}

void elastic_term_gradient(const carom_system *s, const double *coefficients, int count,
                           const double *x, double *gradient, arena *scratch) {
  const arena_mark mark = arena_save(scratch);
  const int d = s->coordinate_count;
  lanes *at = lanes_array(scratch, d), *sum = lanes_array(scratch, d);
  for (int first = 0; first < count; first += LANES) {
    lanes_load(group(count, first), d, x + first * d, at);
    lanes_clear(sum, d);
    if (s->dimension == 2)
      states_gradient(s, 2, coefficients, at, sum);
    else
      states_gradient(s, 3, coefficients, at, sum);
    lanes_add(group(count, first), d, sum, gradient + first * d);
  }
  arena_restore(scratch, mark);
}

void elastic_term_gradient_vjp(const carom_system *s, const double *coefficients, int count,
                               const double *x, const double *gradient_bar, double *x_bar,
                               double *coefficients_bar, arena *scratch) {
  const arena_mark mark = arena_save(scratch);
  const int d = s->coordinate_count;
  lanes *at = lanes_array(scratch, d), *bar = lanes_array(scratch, d);
  lanes *sum = lanes_array(scratch, d);
  for (int first = 0; first < count; first += LANES) {
    lanes_load(group(count, first), d, x + first * d, at);
    lanes_load_cotangents(group(count, first), d, gradient_bar + first * d, bar);
    lanes_clear(sum, d);
    if (s->dimension == 2)
      states_gradient_vjp(s, 2, coefficients, at, bar, sum, coefficients_bar);
    else
      states_gradient_vjp(s, 3, coefficients, at, bar, sum, coefficients_bar);
    lanes_add(group(count, first), d, sum, x_bar + first * d);
  }
  arena_restore(scratch, mark);
}
