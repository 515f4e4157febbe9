/* Small dense symmetric matrices. */
#ifndef CAROM_BASE_DENSE_H
#define CAROM_BASE_DENSE_H

#include <stdbool.h>

/* a [n][n] = L L' in its lower triangle; false if it is not positive definite. */
bool dense_factor(int n, double *a);
/* z = (L L')^-1 z */
void dense_solve(int n, const double *factor, double *z);

/* Eigenvalues ascending and eigenvectors (rows of `vectors`) of a [n][n], which is destroyed: Jacobi's
 * method, exact to rounding for small eigenvalues of scaled matrices too. */
void dense_eigen(int n, double *a, double *values, double *vectors);

#endif
