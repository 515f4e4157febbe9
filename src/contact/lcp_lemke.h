/* Lemke's method on the complementarity problem in its standard form w = Mz + q, z = (f_n, beta, gamma):
 *
 *       [ A_nn     A_nt D     0 ]
 *   M = [ D'A_tn   D'A_tt D   E ]    q = (b_n, D'b_t, 0)
 *       [ mu       -E'        0 ]
 *
 * M is copositive: z'Mz = f'Af + gamma.mu f_n >= 0. So Lemke's method ends in a solution whenever no impulse in the
 * pyramids moves nothing (Af = 0), as is the case with A + delta I; ties are broken in lexicographic order, so that it
 * does not go round in circles. */
#ifndef CAROM_CONTACT_LCP_LEMKE_H
#define CAROM_CONTACT_LCP_LEMKE_H

#include "contact/lcp_equations.h"

/* Solves with A + e->delta I and b; f [C] is written. False if it ended on a ray, or rounding let it go on for too
 * long: f is then 0. *pivots is added to. */
bool lcp_lemke(const lcp_equations *e, double *f, int *pivots, arena *scratch);

/* w = Mz + q by itself: M [n][n], q and z [n]. */
bool lemke_solve(int n, const double *M, const double *q, double *z, int *pivots, arena *scratch);

#endif
