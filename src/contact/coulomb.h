/* Coulomb's law in place of the convex friction model (theory.md, section 7).
 *
 * The cone program lets a sliding contact part at s_n = mu |s_t|. With De Saxce's term in b,
 *
 *   b_n + gamma,   gamma = mu |s_t|,   s = Af + b
 *
 * that is s_n + gamma = mu |s_t|, hence s_n = 0: f is the solution of a cone program whose b depends on it.
 * A contact that leaves has s_n >= 0 then, one that sticks is as before, since there gamma = 0. It holds
 * for both phases of an event; the bound f_n >= lower is not touched by it.
 *
 * gamma is found by Newton's method on G(gamma) = mu |s_t| - gamma, each step one cone program and the
 * derivative of it; in 2D, where s is affine in gamma as long as no contact changes its state, that arrives
 * in one or two steps. If it does not arrive, the program is called inaccurate, with the relative size of
 * G as its residual, and the impulse with the least G is used. */
#ifndef CAROM_CONTACT_COULOMB_H
#define CAROM_CONTACT_COULOMB_H

#include "contact/cone_program.h"

/* As cone_solve. */
void coulomb_solve(const cone_program *program, const carom_cone_options *options,
                   cone_solution *solution, arena *scratch);

/* As cone_solve_vjp: bars->p is such that b_bar = -p, and what goes through A is that of p too. */
void coulomb_solve_vjp(const cone_program *program, const carom_cone_options *options,
                       const cone_solution *solution, const double *f_bar, cone_cotangents *bars,
                       arena *scratch);

#endif
