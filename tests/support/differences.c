#include "support/differences.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
  double *direction = malloc(sizeof(double) * (size_t)(count + 1));
  double along = 0, norm = 0, best = INFINITY;
  for (int i = 0; i < count; i++) {
    direction[i] = rng_normal(random);
    along += gradient[i] * direction[i];
    norm += gradient[i] * gradient[i];
  }
  double floor = 1e-4 * fmax(1, fabs(f(user)));
  for (double h = 1e-3; h > 5e-7; h /= 10) {
    double difference = directional_difference(f, user, values, direction, count, h);
    double scale = fmax(fmax(fmax(fabs(along), fabs(difference)), 0.1 * sqrt(norm)), floor);
    best = fmin(best, fabs(along - difference) / scale);
  }
  free(direction);
  return best;
}
