/* Copies and products of vectors that several folders need. */
#ifndef CAROM_BASE_VECTOR_H
#define CAROM_BASE_VECTOR_H

#include <stdbool.h>
#include <string.h>

static inline void vector_copy(double *to, const double *from, int count) {
  memcpy(to, from, sizeof(double) * (size_t)count);
}

/* 0 times a finite number is 0, times any other NaN */
static inline bool vector_is_finite(const double *values, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += values[i] * 0;
  return sum == 0;
}

/* a'b in four running sums, which compilers keep in one vector register, without the overhead of a
 * fully vectorised loop: most rows of contact problems are short. */
__attribute__((always_inline)) static inline double vector_dot(const double *a, const double *b,
                                                               int count) {
  double sum[4] = {0, 0, 0, 0};
  int k = 0;
  for (; k + 4 <= count; k += 4)
    for (int i = 0; i < 4; i++) sum[i] += a[k + i] * b[k + i];
  for (; k < count; k++) sum[0] += a[k] * b[k];
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* a'b of two or three numbers, summed in order */
static inline double vector_dot_small(const double *a, const double *b, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += a[i] * b[i];
  return sum;
}

/* c = a x b in space */
static inline void vector_cross(const double *a, const double *b, double *c) {
  c[0] = a[1] * b[2] - a[2] * b[1];
  c[1] = a[2] * b[0] - a[0] * b[2];
  c[2] = a[0] * b[1] - a[1] * b[0];
}

#endif
