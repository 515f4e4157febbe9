#include "support/differences.h"

#include "cli/stencil.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// no test asks for less of functions with kinks: a gradient as near as this is right, other steps have nothing to add
static const double NEAR_KINKS = 1e-7;

static double central(scalar_function f, void *user, double *values, const double *saved,
                      const double *direction, int count, double h) {
  for (int i = 0; i < count; i++) values[i] = saved[i] + h * direction[i];
  double right = f(user);
  for (int i = 0; i < count; i++) values[i] = saved[i] - h * direction[i];
  double left = f(user);
  return (right - left) / (2 * h);
}

double directional_difference(scalar_function f, void *user, double *values,
                              const double *direction, int count, double h) {
  double *saved = malloc(sizeof(double) * (size_t)(count + 1));
  memcpy(saved, values, sizeof(double) * (size_t)count);
  double coarse = central(f, user, values, saved, direction, count, h);
  double fine = central(f, user, values, saved, direction, count, h / 2);
  memcpy(values, saved, sizeof(double) * (size_t)count);
  free(saved);
  return (4 * fine - coarse) / 3;
}

double gradient_error(scalar_function f, void *user, double *values, const double *gradient,
                      int count, rng *random) {
  return gradient_error_within(1e-9, f, user, values, gradient, count, random);
}

double gradient_error_within(double near, scalar_function f, void *user, double *values,
                             const double *gradient, int count, rng *random) {
  double *direction = malloc(sizeof(double) * (size_t)(count + 1));
  double along = 0, norm = 0, best = INFINITY;
  for (int i = 0; i < count; i++) {
    direction[i] = rng_normal(random);
    along += gradient[i] * direction[i];
    norm += gradient[i] * gradient[i];
  }
  double floor = 1e-4 * fmax(1, fabs(f(user)));
  // those that are seldom spoilt first
  static const double steps[] = {1e-5, 1e-6, 1e-4, 1e-3};
  for (int k = 0; k < 4 && !(best < near); k++) {
    double difference = directional_difference(f, user, values, direction, count, steps[k]);
    double scale = fmax(fmax(fmax(fabs(along), fabs(difference)), 0.1 * sqrt(norm)), floor);
    best = fmin(best, fabs(along - difference) / scale);
  }
  free(direction);
  return best;
}

/* f at saved + step * direction */
static double value_at(scalar_function f, void *user, double *values, const double *saved,
                       const double *direction, int count, double step) {
  for (int i = 0; i < count; i++) values[i] = saved[i] + step * direction[i];
  return f(user);
}

bool smooth_gradient_error(scalar_function f, void *user, double *values, const double *gradient,
                           int count, rng *random, double *error) {
  double *direction = malloc(sizeof(double) * (size_t)(2 * count + 1)), *saved = direction + count;
  memcpy(saved, values, sizeof(double) * (size_t)count);
  double along = 0, norm = 0, difference = 0, off = INFINITY, scale = 0;
  for (int i = 0; i < count; i++) {
    direction[i] = rng_normal(random);
    along += gradient[i] * direction[i];
    norm += gradient[i] * gradient[i];
  }
  stencil st = {.base = f(user)};
  double size = fmax(1, fabs(st.base));
  int levels = 0;
  bool agree = true;
  st.h = 1e-3;
  for (int left = 4; left > 0; left--, st.h /= 10) {
    // two steps that agree with each other and with the gradient are enough, fewer than two in all too few
    if (levels > 1 && off < NEAR_KINKS * scale) break;
    if (levels + left < 2 || !agree) break;
    for (int i = 0; i < STENCIL_STEPS; i++) {
      st.plus[i] = value_at(f, user, values, saved, direction, count, st.h / (1 << i));
      st.minus[i] = value_at(f, user, values, saved, direction, count, -st.h / (1 << i));
    }
    // rounding of the values, somewhat amplified by contacts
    double noise = 256 * DBL_EPSILON * size / st.h, derivative;
    if (!stencil_derivative(&st, 1e-3 * size, noise, &derivative)) continue;
    if (levels++ == 0) difference = derivative;
    off = fmin(off, fabs(along - derivative));
    agree = agree && fabs(derivative - difference) <= 1e-6 * fmax(fabs(difference), size) + noise;
    scale = fmax(fmax(fabs(along), fabs(difference)), fmax(0.1 * sqrt(norm), 1e-3 * size));
  }
  memcpy(values, saved, sizeof(double) * (size_t)count);
  free(direction);
  *error = levels > 0 ? off / scale : 0;
  return levels > 1 && agree;
}
