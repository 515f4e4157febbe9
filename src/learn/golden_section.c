#include "learn/golden_section.h"

#include <math.h>

carom_status best_of(line_function f, void *user, int count, const double *at, int *best,
                     double *value, carom_error *error) {
  *best = 0;
  *value = INFINITY;
  for (int k = 0; k < count; k++) {
    double there;
    carom_status status = f(user, at[k], &there, error);
    if (status != CAROM_OK) return status;
    if (there >= *value) continue;
    *value = there;
    *best = k;
  }
  return CAROM_OK;
}

carom_status golden_section(line_function f, void *user, int count, const double *at, int best,
                            double *place, double *value, carom_error *error) {
  enum { STEPS = 7 };
  double low = at[best > 0 ? best - 1 : 0], high = at[best < count - 1 ? best + 1 : best];
  *place = at[best];
  for (int k = 0; k < STEPS; k++) {
    // into the longer of the two parts
    const bool up = high - *place > *place - low;
    const double next = *place + 0.381966 * ((up ? high : low) - *place);
    double there;
    carom_status status = f(user, next, &there, error);
    if (status != CAROM_OK) return status;
    if (there < *value) {
      *(up ? &low : &high) = *place;
      *place = next;
      *value = there;
    } else {
      *(up ? &high : &low) = next;
    }
  }
  return CAROM_OK;
}
