/* The inner loops of the network, compiled once for each kind of processor and chosen when the program
 * runs: one library is fast wherever it runs, whatever machine built it.
 *
 * A matrix product holds a tile of its result in registers and goes along k with it,
 *   tile += a(rows, p) b(p, columns),   p = 0 .. k - 1,
 * reading b from strips as wide as a tile, where it was packed before. Each number of a result is one sum
 * in the order of p, and softplus is computed number by number: all kernels with fused multiply-add
 * (AVX2, AVX-512, NEON) give the same bits. */
#ifndef CAROM_NN_KERNELS_H
#define CAROM_NN_KERNELS_H

#include <stddef.h>

/* A product c [m][n], its rows c_row numbers apart, of a, whose element (i, p) stands at a[i * a_row + p * a_step],
 * and a packed b [k][n]: c = a b + bias, bias [n] the same for every row or NULL; or, with `sum`, sum [m][n] += a b.
 * A packed b is best aligned to 64 bytes: else every register of it comes from two lines of the cache. */
typedef struct product_double {
  int m, n, k;
  const double *a;
  int a_row, a_step;
  const double *packed, *bias;
  double *c;
  int c_row;
  double *sum;
} product_double;

typedef struct product_single {
  int m, n, k;
  const float *a;
  int a_row, a_step;
  const float *packed, *bias;
  float *c;
  int c_row;
  double *sum;
} product_single;

/* Where numbers are taken from: `count` rows of n, element (p, j) at b[p * row + j * column], which become rows
 * `first` .. of a packed [k][n]. */
typedef struct packing {
  int n, k, first, count, row, column;
} packing;

/* Functions for one kind of processor. Numbers of a packed b [k][n]: packed_*; softplus: h = log(1 + e^a), s = logistic(a), within 2 ulp; h may be NULL, which
 * takes half the time. */
typedef struct nn_kernels {
  const char *name;
  size_t (*packed_double)(int n, int k);
  size_t (*packed_single)(int n, int k);
  void (*pack_double)(const packing *how, const double *b, double *packed);
  void (*pack_single)(const packing *how, const float *b, float *packed);
  void (*product_double)(const product_double *product);
  void (*product_single)(const product_single *product);
  void (*softplus_double)(int count, const double *a, double *h, double *s);
  void (*softplus_single)(int count, const float *a, float *h, float *s);
} nn_kernels;

/* Those in use: the best that the processor can run, unless others were chosen. */
const nn_kernels *kernels_in_use(void);

/* All that this processor can run, the best first; NULL behind the last. */
const nn_kernels *kernels_at(int index);

/* Takes those of a name, or the best for NULL; returns them, NULL if this processor has none of that name. For
 * tests and measurements, while nothing runs: what was packed before has to be packed again. */
const nn_kernels *kernels_choose(const char *name);

#endif
