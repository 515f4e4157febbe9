/* The same number of LANES states side by side: what is computed for one state alike for all of them, in one vector
 * register. Each lane is rounded as if it were alone, so that no bit depends on which states share a vector. */
#ifndef CAROM_PHYSICS_LANES_H
#define CAROM_PHYSICS_LANES_H

#include <stddef.h>

#include "base/arena.h"

/* how a vector is returned depends on the processor: it never is, these functions are inlined */
#pragma GCC diagnostic ignored "-Wpsabi"

enum { LANES = 4 };
typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), may_alias));
typedef long long lanes_mask __attribute__((vector_size(LANES * sizeof(double)), may_alias));

static inline lanes lanes_all(double value) { return value - (lanes){0}; }

/* a where the mask has ones, else b */
static inline lanes lanes_select(lanes_mask mask, lanes a, lanes b) {
  return (lanes)((mask & (lanes_mask)a) | (~mask & (lanes_mask)b));
}

static inline lanes lanes_root(lanes a) {
  for (int l = 0; l < LANES; l++) a[l] = __builtin_sqrt(a[l]);
  return a;
}

/* The sum over lanes, in an order that is always the same. */
static inline double lanes_sum(lanes a) { return (a[0] + a[1]) + (a[2] + a[3]); }

static inline lanes *lanes_array(arena *memory, int count) {
  return ARENA_ARRAY(memory, lanes, count);
}
static inline void lanes_clear(lanes *values, int count) {
  for (int j = 0; j < count; j++) values[j] = (lanes){0};
}

/* values [size] from `count` states [count][size], 1 to LANES of them; lanes that are left hold the last state again. */
static inline void lanes_load(int count, int size, const double *states, lanes *values) {
  const double *row[LANES];
  for (int l = 0; l < LANES; l++) row[l] = states + (l < count ? l : count - 1) * size;
  for (int j = 0; j < size; j++) values[j] = (lanes){row[0][j], row[1][j], row[2][j], row[3][j]};
}

/* The same for cotangents: lanes that are left hold zeros, and so give none. */
static inline void lanes_load_cotangents(int count, int size, const double *states, lanes *values) {
  lanes_load(count, size, states, values);
  if (count == LANES) return;
  for (int j = 0; j < size; j++)
    for (int l = count; l < LANES; l++) values[j][l] = 0;
}

/* states [count][size] = or += the first lanes of values [size] */
static inline void lanes_store(int count, int size, const lanes *values, double *states) {
  const double *numbers = (const double *)values; // [size][LANES]
  for (int l = 0; l < count; l++)
    for (int j = 0; j < size; j++) states[l * size + j] = numbers[j * LANES + l];
}
static inline void lanes_add(int count, int size, const lanes *values, double *states) {
  const double *numbers = (const double *)values;
  for (int l = 0; l < count; l++)
    for (int j = 0; j < size; j++) states[l * size + j] += numbers[j * LANES + l];
}

#endif
