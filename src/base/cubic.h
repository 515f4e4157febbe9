/* The cubic on [0, length] with given values and slopes at both ends (Hermite). */
#ifndef CAROM_BASE_CUBIC_H
#define CAROM_BASE_CUBIC_H

#include <math.h>
#include <stdbool.h>

typedef struct cubic {
  double length;
  double value[2], slope[2]; /* at 0 and at length */
} cubic;

/* Its value at t, and its slope. */
static inline double cubic_at(const cubic *c, double t, double *slope) {
  double s = t / c->length, a = c->slope[0] * c->length, b = c->slope[1] * c->length;
  double rise = c->value[1] - c->value[0], second = 3 * rise - 2 * a - b, third = a + b - 2 * rise;
  *slope = (a + s * (2 * second + s * 3 * third)) / c->length;
  return c->value[0] + s * (a + s * (second + s * third));
}

/* Between `low` and `high`, at which the cubic, or its slope, has different signs: where it is zero, to some
 * digits. */
static inline double cubic_zero(const cubic *c, bool of_slope, double low, double high) {
  double slope, at_low = cubic_at(c, low, &slope);
  if (of_slope) at_low = slope;
  for (int k = 0; k < 8; k++) {
    double middle = (low + high) / 2, value = cubic_at(c, middle, &slope);
    if (of_slope) value = slope;
    if ((value < 0) == (at_low < 0))
      low = middle;
    else
      high = middle;
  }
  double t = (low + high) / 2;
  for (int k = 0; k < 2 && !of_slope; k++) {
    double value = cubic_at(c, t, &slope), next = t - value / slope;
    if (next >= low && next <= high) t = next;
  }
  return t;
}

#endif
