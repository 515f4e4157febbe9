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

// the row of the largest remaining diagonal entry, relative to sizes if there are any; -1: none is above
// the threshold
static int find_pivot(int n, const double *remaining, const double *sizes, double threshold) {
  int pivot = -1;
  double largest = threshold;
  for (int i = 0; i < n; i++) {
    double value = sizes != NULL && remaining[i] > 0 ? remaining[i] / sizes[i] : remaining[i];
    if (value > largest) {
      largest = value;
      pivot = i;
    }
  }
  return pivot;
}

// H = L L', always going on with the row of the largest remaining diagonal entry. L is [size][size] by
// rows, so that dot products run along memory; Q takes its columns
static int pivoted_cholesky(int n, const double *dense, const double *sizes, double threshold,
                            double *L, double *remaining, double *Q) {
  for (int i = 0; i < n; i++) remaining[i] = dense[i * n + i];
  for (int k = 0; k < n; k++) {
    int pivot = find_pivot(n, remaining, sizes, threshold);
    if (pivot < 0) return k;
    double root = sqrt(remaining[pivot]);
    for (int i = 0; i < n; i++) {
      // rows that were pivots are zero from here on
      if (remaining[i] < 0 && i != pivot) {
        L[i * n + k] = Q[k * n + i] = 0;
        continue;
      }
      double value = dense[pivot * n + i] - vector_dot(L + i * n, L + pivot * n, k);
      L[i * n + k] = Q[k * n + i] = i == pivot ? root : value / root;
      remaining[i] -= i == pivot ? 0 : L[i * n + k] * L[i * n + k];
      if (i != pivot && remaining[i] < 0) remaining[i] = 0;
    }
    remaining[pivot] = -1;
  }
  return n;
}

// one column of Q made orthogonal to those before; twice where cancellation has left less than half
static void orthogonalise(const semidefinite *h, int k) {
  int n = h->size;
  double *column = h->Q + k * n, *r = h->R + k * h->rank;
  double before = sqrt(vector_dot(column, column, n)), after = before;
  for (int j = 0; j <= k; j++) r[j] = 0;
  for (int pass = 0; pass < 2; pass++) {
    for (int j = 0; j < k; j++) {
      double share = vector_dot(h->Q + j * n, column, n);
      r[j] += share;
      for (int i = 0; i < n; i++) column[i] -= share * h->Q[j * n + i];
    }
    after = sqrt(vector_dot(column, column, n));
    if (after > 0.5 * before) break;
  }
  r[k] = after;
  for (int i = 0; i < n; i++) column[i] /= after;
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

static double mean(const double *x, int count) {
  double sum = 0;
  for (int k = 0; k < count; k++) sum += x[k];
  return sum / count;
}

semidefinite semidefinite_make_scaled(const envelope *shape, const double *values,
                                      const double *sizes, double threshold, arena *scratch) {
  semidefinite h = {.size = shape->size, .shape = shape, .values = values};
  int n = h.size;
  h.work = arena_doubles(scratch, 2 * n);
  if (n > SEMIDEFINITE_DENSE) {
    make_shifted(&h, threshold * (sizes != NULL ? mean(sizes, n) : 1), scratch);
    return h;
  }
  const double *dense = expand(shape, values, scratch);
  double *L = arena_doubles(scratch, n * n);
  h.Q = arena_doubles(scratch, n * n);
  h.rank = pivoted_cholesky(n, dense, sizes, threshold, L, h.work, h.Q);
  h.R = arena_doubles(scratch, h.rank * h.rank);
  for (int k = 0; k < h.rank; k++) orthogonalise(&h, k);
  return h;
}

semidefinite semidefinite_make(const envelope *shape, const double *values, double threshold,
                               arena *scratch) {
  return semidefinite_make_scaled(shape, values, NULL, threshold, scratch);
}

// t = (R R')^-1 Q'x
static void reduced_solve(const semidefinite *h, const double *x, double *t) {
  int n = h->size, rank = h->rank;
  for (int k = 0; k < rank; k++) t[k] = vector_dot(h->Q + k * n, x, n);

  // R, from its last row, and R', from its first
  for (int k = rank - 1; k >= 0; k--) {
    const double *r = h->R + k * rank;
    t[k] /= r[k];
    for (int j = 0; j < k; j++) t[j] -= r[j] * t[k];
  }
  for (int k = 0; k < rank; k++) {
    const double *r = h->R + k * rank;
    t[k] = (t[k] - vector_dot(r, t, k)) / r[k];
  }
}

void semidefinite_solve(const semidefinite *h, double *x) {
  int n = h->size;
  double *t = h->work;
  if (h->Q != NULL) {
    // x <- H^+ x = Q R^-T R^-1 Q'x
    reduced_solve(h, x, t);
    memset(x, 0, sizeof(double) * (size_t)n);
    for (int k = 0; k < h->rank; k++)
      for (int i = 0; i < n; i++) x[i] += t[k] * h->Q[k * n + i];
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
  } else if (h->Q != NULL) {
    // x <- x - Q Q'x
    for (int k = 0; k < h->rank; k++) {
      double share = vector_dot(h->Q + k * n, x, n);
      for (int i = 0; i < n; i++) x[i] -= share * h->Q[k * n + i];
    }
  } else {
    // what repeated smoothing by shift (H + shift)^-1 leaves: x - H H^+ x
    double *copy = h->work + n;
    memcpy(copy, x, sizeof(double) * (size_t)n);
    for (int k = 0; k < REFINEMENTS; k++) {
      memcpy(h->work, x, sizeof(double) * (size_t)n);
      envelope_solve(h->shape, h->factor, h->work);
      envelope_multiply(h->shape, h->values, h->work, copy);
      for (int i = 0; i < n; i++) x[i] -= copy[i];
    }
  }
}
