/* Pseudo-inverse of a square matrix that need not be symmetric, and whose rank has to be found out.
 *
 * G = P L U by elimination with row pivots where no pivot is small; else G = U S V' by one-sided Jacobi
 * rotations, with singular values not above GENERAL_RANK of the largest taken for zero. For the small systems
 * of a few contacts. */
#ifndef CAROM_BASE_GENERAL_INVERSE_H
#define CAROM_BASE_GENERAL_INVERSE_H

#include <stdbool.h>

#include "base/arena.h"

#define GENERAL_RANK 1e-11

typedef struct general_inverse {
  int size, rank;
  double *values;  /* [size][size] L and U in one; or U S, a row for each column */
  int *pivot;      /* [size] rows exchanged; NULL: by singular values */
  double *V;       /* [size][size] a row for each column of V */
  double *inverse; /* [size] 1 / S^2, 0 beyond the rank */
  double *work;    /* [size] */
} general_inverse;

/* G [size][size] is not changed. */
general_inverse general_inverse_make(int size, const double *G, arena *memory);

/* x = G^+ x,  x = (G')^+ x,  x = (I - G^+ G) x */
void general_solve(const general_inverse *g, double *x);
void general_solve_transposed(const general_inverse *g, double *x);
void general_null(const general_inverse *g, double *x);

#endif
