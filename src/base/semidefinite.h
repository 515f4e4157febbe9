/* Pseudo-inverse of a symmetric positive semidefinite matrix H whose rank has to be found out.
 *
 * Small matrices: Cholesky with complete pivoting, H = L L' with L [size][rank], and L = Q R with
 * orthonormal columns Q; then H^+ = Q R^-T R^-1 Q' and the projector on the null space is I - Q Q'. That
 * costs a few ordinary factorisations, a tenth of an eigendecomposition, and keeps results in the range
 * of H to rounding.
 * Above SEMIDEFINITE_DENSE unknowns, to stay linear in the length of a band: a factor of
 * H + shift I and iterative refinement from zero, which converges to the same least-norm solution;
 * its part in the null space carries rounding noise of about 1e-16 / 1e-8. */
#ifndef CAROM_BASE_SEMIDEFINITE_H
#define CAROM_BASE_SEMIDEFINITE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/envelope.h"

enum { SEMIDEFINITE_DENSE = 200 };

typedef struct semidefinite {
  int size;
  int rank;  /* size where H is definite; of a large matrix only "below size" is meant */
  double *Q; /* [rank][size], a row for each column of Q; NULL for large matrices */
  double *R; /* [rank][rank], column by column: R[k][j] is row j of column k, j <= k */
  const envelope *shape; /* large matrices: of `values` and `factor` */
  const double *values;
  double *factor;
  double *work; /* [2 size] */
} semidefinite;

/* Factorises H (kept for large matrices). Pivots not above `threshold` count as zero. */
semidefinite semidefinite_make(const envelope *shape, const double *values, double threshold,
                               arena *scratch);

/* The same with a size of each diagonal entry: pivots not above `threshold` times that count as zero,
 * and the largest beside its size goes first. For matrices whose rows differ in units. */
semidefinite semidefinite_make_scaled(const envelope *shape, const double *values,
                                      const double *sizes, double threshold, arena *scratch);

/* x = H^+ x, and x = (projection of x on the null space of H). */
void semidefinite_solve(const semidefinite *h, double *x);
void semidefinite_null(const semidefinite *h, double *x);

#endif
