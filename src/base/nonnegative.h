/* Quadratic programs over non-negative numbers,
 *
 *   z = argmin 1/2 z'Hz - r'z   over z >= 0,
 *
 * for H symmetric positive definite in envelope storage. Entries are free (the gradient H z - r is 0) or
 * zero (it is >= 0). All entries that are on the wrong side change over at once, one at a time where
 * that does not make them fewer (block principal pivoting, with Murty's rule as its way out of
 * cycles): mostly one to three factorisations, whatever the size. */
#ifndef CAROM_BASE_NONNEGATIVE_H
#define CAROM_BASE_NONNEGATIVE_H

#include <stdbool.h>

#include "base/envelope.h"

/* z [size]; r > 0 expected of most entries, which begin as free. False if sides still changed at the
 * limit of steps, by rounding: z is then the last one with its negative entries set to zero. */
bool nonnegative_solve(const envelope *shape, const double *H, const double *r, double *z,
                       arena *scratch);

/* Reverses it where no entry is both zero and without gradient: from z_bar the cotangent of r, which may
 * be z_bar itself; that of H is -1/2 (r_bar z' + z r_bar'). */
void nonnegative_solve_vjp(const envelope *shape, const double *H, const double *z,
                           const double *z_bar, double *r_bar, arena *scratch);

#endif
