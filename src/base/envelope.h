/* Symmetric positive definite matrices in envelope (skyline) storage: of each row of the lower
 * triangle the entries from its first nonzero column to the diagonal, contiguous. Cholesky
 * factorisation creates no entries outside the envelope, so dense, banded and block-diagonal
 * matrices all take this one path at the cost that their shape deserves. */
#ifndef CAROM_BASE_ENVELOPE_H
#define CAROM_BASE_ENVELOPE_H

#include "base/arena.h"

typedef struct envelope {
  int size;
  const int *first; /* [size] first column stored of each row */
  const int *start; /* [size + 1] where row i begins in an array of values */
} envelope;

/* Where entry (row, column), first[row] <= column <= row, stands in the values. */
static inline int envelope_at(const envelope *shape, int row, int column) {
  return shape->start[row] + column - shape->first[row];
}

/* The largest diagonal entry of an unfactorised matrix; 0 if none is positive. */
double envelope_largest_diagonal(const envelope *shape, const double *values);

/* Makes a shape from `first` (kept, not copied). */
envelope envelope_make(int size, const int *first, arena *scratch);

/* Factorises values = L L' in place, the reciprocals of L's diagonal standing on the diagonal.
 * Returns the smallest ratio of a squared pivot to the original diagonal entry: near 1 for a
 * diagonal matrix, near machine precision for a singular one. A pivot not above
 * `floor` * (original diagonal entry) is replaced by that; the ratio tells. Rows
 * [begin, end) only: they must be a block of a block-diagonal matrix. */
double envelope_factor_rows(const envelope *shape, double *values, int begin, int end,
                            double floor);
double envelope_factor(const envelope *shape, double *values, double floor);

/* Solves L L' z = z in place, for the rows [begin, end) of a block-diagonal matrix or for all. */
void envelope_solve_rows(const envelope *shape, const double *factor, int begin, int end,
                         double *z);
void envelope_solve(const envelope *shape, const double *factor, double *z);

/* y = matrix * x for an unfactorised symmetric matrix. */
void envelope_multiply(const envelope *shape, const double *values, const double *x, double *y);

#endif
