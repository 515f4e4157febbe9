#include "nn/softplus.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* e^-x for x in [0, 700]: e^-x = 2^k e^r, |r| <= ln 2 / 2, e^r by its series. */
static inline double exp_minus_double(double x) {
  const double shift = 0x1.8p52; // adding it rounds to an integer, which stands in the low bits
  double scaled = -x * 0x1.71547652b82fep+0 + shift;
  int64_t bits;
  memcpy(&bits, &scaled, sizeof bits);
  double k = scaled - shift;
  double r = fma(k, -0x1.62e42fefa39efp-1, -x);
  r = fma(k, -0x1.abc9e3b39803fp-56, r);
  double p = 1.0 / 6227020800.0;
  p = fma(p, r, 1.0 / 479001600.0);
  p = fma(p, r, 1.0 / 39916800.0);
  p = fma(p, r, 1.0 / 3628800.0);
  p = fma(p, r, 1.0 / 362880.0);
  p = fma(p, r, 1.0 / 40320.0);
  p = fma(p, r, 1.0 / 5040.0);
  p = fma(p, r, 1.0 / 720.0);
  p = fma(p, r, 1.0 / 120.0);
  p = fma(p, r, 1.0 / 24.0);
  p = fma(p, r, 1.0 / 6.0);
  p = fma(p, r, 0.5);
  p = fma(p, r, 1.0);
  p = fma(p, r, 1.0);
  int64_t power = (int64_t)((uint64_t)bits << 52) + 0x3FF0000000000000;
  double two_to_k;
  memcpy(&two_to_k, &power, sizeof two_to_k);
  return p * two_to_k;
}

/* log(1 + t) for t in [0, 1]: log y = 2 artanh(z), z = (y - 1) / (y + 1), by its series, with
 * y = 1 + t below the square root of 2 and y = (1 + t) / 2 above, so that |z| <= 0.172. */
static inline double log_one_plus_double(double t) {
  bool high = t > 0.4142135623730951;
  double z = (high ? t - 1 : t) / (high ? t + 3 : t + 2), q = z * z;
  double p = 1.0 / 21;
  for (int k = 9; k >= 0; k--) p = fma(p, q, 1.0 / (2 * k + 1));
  return 2 * z * p + (high ? 0x1.62e42fefa39efp-1 : 0);
}

/* h = max(a, 0) + log(1 + t), s = 1 / (1 + e^-a) = 1 / (1 + t) or t / (1 + t), with t = e^-|a| */
void softplus_double(int count, const double *a, double *h, double *s) {
#pragma omp simd
  for (int i = 0; i < count; i++) {
    double x = a[i], size = fabs(x);
    size = size < 700 ? size : 700;
    double t = exp_minus_double(size);
    double inverse = 1 / (1 + t);
    s[i] = x >= 0 ? inverse : t * inverse;
    h[i] = (x >= 0 ? x : 0) + log_one_plus_double(t);
  }
}

static inline float exp_minus_single(float x) {
  const float shift = 0x1.8p23f;
  float scaled = -x * 0x1.715476p+0f + shift;
  int32_t bits;
  memcpy(&bits, &scaled, sizeof bits);
  float k = scaled - shift;
  float r = fmaf(k, -0x1.62e430p-1f, -x);
  r = fmaf(k, 0x1.05c610p-29f, r);
  float p = 1.0f / 5040;
  p = fmaf(p, r, 1.0f / 720);
  p = fmaf(p, r, 1.0f / 120);
  p = fmaf(p, r, 1.0f / 24);
  p = fmaf(p, r, 1.0f / 6);
  p = fmaf(p, r, 0.5f);
  p = fmaf(p, r, 1.0f);
  p = fmaf(p, r, 1.0f);
  int32_t power = (int32_t)((uint32_t)bits << 23) + 0x3F800000;
  float two_to_k;
  memcpy(&two_to_k, &power, sizeof two_to_k);
  return p * two_to_k;
}

static inline float log_one_plus_single(float t) {
  float z = t / (2 + t), q = z * z;
  float p = 1.0f / 17;
  for (int k = 7; k >= 0; k--) p = fmaf(p, q, 1.0f / (float)(2 * k + 1));
  return 2 * z * p;
}

void softplus_single(int count, const float *a, float *h, float *s) {
#pragma omp simd
  for (int i = 0; i < count; i++) {
    float x = a[i], size = fabsf(x);
    size = size < 87 ? size : 87;
    float t = exp_minus_single(size);
    float inverse = 1 / (1 + t);
    s[i] = x >= 0 ? inverse : t * inverse;
    h[i] = (x >= 0 ? x : 0) + log_one_plus_single(t);
  }
}
