#include "base/semidefinite.h"

#include "base/vector.h"

#include <math.h>
#include <string.h>
/* Large matrices: shift in units of the threshold. Each refinement leaves shift / (eigenvalue + shift)
 * of the error, so that after all of them eigenvalues of 1e5 thresholds are right to 1e-12; those
 * below the shift itself are not found. Less of a shift leaves more rounding noise, 1e-16 / shift, in
 * the null space. */
static const double SHIFT = 1e3;
enum { REFINEMENTS = 6 };

/* Pivots below this share of the diagonal are rounding. */
static const double PIVOT_FLOOR = 1e-15;

// both triangles of an envelope matrix, dense
static double *expand(const envelope *shape, const double *values, arena *scratch) {
  int n = shape->size;
  double *dense = arena_zeros(scratch, n * n);
  for (int i = 0; i < n; i++)
    for (int j = shape->first[i]; j <= i; j++)
      dense[i * n + j] = dense[j * n + i] = values[envelope_at(shape, i, j)];
  return dense;
}

// H = L L' by columns, always going on with the row of the largest remaining diagonal entry
static int pivoted_cholesky(int n, const double *dense, double threshold, double *L,
                            double *remaining) {
  for (int i = 0; i < n; i++) remaining[i] = dense[i * n + i];
  for (int k = 0; k < n; k++) {
    int pivot = 0;
    for (int i = 1; i < n; i++)
      if (remaining[i] > remaining[pivot]) pivot = i;
    if (!(remaining[pivot] > threshold)) return k;
    double root = sqrt(remaining[pivot]);
    for (int i = 0; i < n; i++) {
      // rows that were pivots are zero from here on
      if (remaining[i] < 0 && i != pivot) {
        L[i * n + k] = 0;
        continue;
      }
      double value = dense[pivot * n + i] - vector_dot(L + i * n, L + pivot * n, k);
      L[i * n + k] = i == pivot ? root : value / root;
      remaining[i] -= i == pivot ? 0 : L[i * n + k] * L[i * n + k];
      if (i != pivot && remaining[i] < 0) remaining[i] = 0;
    }
    remaining[pivot] = -1;
  }
  return n;
}

/* L'L = G G' of the rank columns, from which H^+ = L (L'L)^-2 L' */
static void make_gram(semidefinite *h, arena *scratch) {
  int n = h->size, rank = h->rank;
  int *first = ARENA_ARRAY(scratch, int, rank + 1);
  memset(first, 0, sizeof(int) * (size_t)(rank + 1));
  h->gram_shape = envelope_make(rank, first, scratch);
  h->gram = arena_zeros(scratch, rank * (rank + 1) / 2);
  for (int i = 0; i < n; i++) {
    const double *row = h->L + i * n;
    for (int a = 0; a < rank; a++) {
      double *target = h->gram + h->gram_shape.start[a];
      for (int b = 0; b <= a; b++) target[b] += row[a] * row[b];
    }
  }
  envelope_factor(&h->gram_shape, h->gram, PIVOT_FLOOR);
}

// rank below size is found from the pivots of the shifted factor
static void make_shifted(semidefinite *h, double threshold, arena *scratch) {
  int n = h->size;
  int count = h->shape->start[n];
  h->factor = arena_doubles(scratch, count);
  memcpy(h->factor, h->values, sizeof(double) * (size_t)count);
  double shift = SHIFT * threshold;
  for (int i = 0; i < n; i++) h->factor[envelope_at(h->shape, i, i)] += shift;
  envelope_factor(h->shape, h->factor, PIVOT_FLOOR);
  h->rank = n;
  for (int i = 0; i < n; i++) {
    double reciprocal = h->factor[envelope_at(h->shape, i, i)];
    if (1 / (reciprocal * reciprocal) < 2 * shift) h->rank = n - 1;
  }
}

semidefinite semidefinite_make(const envelope *shape, const double *values, double threshold,
                               arena *scratch) {
  semidefinite h = {.size = shape->size, .shape = shape, .values = values};
  int n = h.size;
  h.work = arena_doubles(scratch, 2 * n);
  if (n > SEMIDEFINITE_DENSE) {
    make_shifted(&h, threshold, scratch);
    return h;
  }
  const double *dense = expand(shape, values, scratch);
  h.L = arena_doubles(scratch, n * n);
  h.rank = pivoted_cholesky(n, dense, threshold, h.L, h.work);
  make_gram(&h, scratch);
  return h;
}

// t = (L'L)^-1 L'x
static void gram_solve(const semidefinite *h, const double *x, double *t) {
  int n = h->size, rank = h->rank;
  memset(t, 0, sizeof(double) * (size_t)rank);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < rank; k++) t[k] += h->L[i * n + k] * x[i];
  envelope_solve(&h->gram_shape, h->gram, t);
}

void semidefinite_solve(const semidefinite *h, double *x) {
  int n = h->size;
  double *t = h->work;
  if (h->L != NULL) {
    // x <- H^+ x = L (L'L)^-1 (L'L)^-1 L'x
    gram_solve(h, x, t);
    envelope_solve(&h->gram_shape, h->gram, t);
    for (int i = 0; i < n; i++) x[i] = vector_dot(h->L + i * n, t, h->rank);
    return;
  }
  // x <- x + (H + shift)^-1 (right side - H x) from zero
  double *right = h->work + n;
  memcpy(right, x, sizeof(double) * (size_t)n);
  memset(x, 0, sizeof(double) * (size_t)n);
  for (int k = 0; k < REFINEMENTS; k++) {
    envelope_multiply(h->shape, h->values, x, t);
    for (int i = 0; i < n; i++) t[i] = right[i] - t[i];
    envelope_solve(h->shape, h->factor, t);
    for (int i = 0; i < n; i++) x[i] += t[i];
  }
}

void semidefinite_null(const semidefinite *h, double *x) {
  int n = h->size;
  if (h->rank == n) {
    memset(x, 0, sizeof(double) * (size_t)n);
  } else if (h->L != NULL) {
    // x <- x - L (L'L)^-1 L'x
    gram_solve(h, x, h->work);
    for (int i = 0; i < n; i++) x[i] -= vector_dot(h->L + i * n, h->work, h->rank);
  } else {
    // what repeated smoothing by shift (H + shift)^-1 leaves: x - H H^+ x
    double *copy = h->work + n;
    memcpy(copy, x, sizeof(double) * (size_t)n);
    // x <- x - H (H + shift)^-1 x
    for (int k = 0; k < REFINEMENTS; k++) {
      memcpy(h->work, x, sizeof(double) * (size_t)n);
      envelope_solve(h->shape, h->factor, h->work);
      envelope_multiply(h->shape, h->values, h->work, copy);
      for (int i = 0; i < n; i++) x[i] -= copy[i];
    }
  }
}
