/* The complementarity problem of one group of touching bodies: a law of friction with a pyramid in the place of the
 * cone (theory.md, section 17). With s = Af + b, b = Jv - target, Coulomb's law is
 *
 *   0 <= f_n   _|_  s_n >= 0
 *   f_t in the diamond |f_t,1| + |f_t,2| <= mu f_n, and -s_t normal to it there
 *
 * which is, with f_t = sum of beta_j over the directions d_j = +- each tangent, the linear complementarity problem
 *
 *   0 <= f_n   _|_  s_n >= 0,   0 <= beta_j  _|_  d_j.s_t + gamma >= 0,   0 <= gamma  _|_  mu f_n - sum beta >= 0 .
 *
 * By the convex law the first line is 0 <= f_n _|_ s_n - mu gamma >= 0, gamma = max|s_t|: the conditions of the least
 * f'Af/2 + f.b over the pyramids, whose matrix is positive semidefinite. A sliding contact then parts at mu gamma.
 *
 * `lower` of the program is not read. Every contact is in one of these states:
 *   OPEN     f = 0                                                         s_n >= 0 (mu gamma)
 *   STICK    |f_t|_1 < mu f_n                                              s = 0
 *   corner   f_t = mu f_n (sign of one tangent)                            s_n = 0 (mu gamma), s_t against it most of all
 *   edge     |f_t,1| + |f_t,2| = mu f_n, 3D                                s_n = 0 (mu gamma), s_t at right angles to the edge
 *
 * Solved in this order, each accepted only by the natural map |f - P(f - rho s)| (as cone_program.h has it):
 *  - Newton's method on the states, which mostly arrives in two to four steps;
 *  - the same along A + delta I for falling delta;
 *  - Lemke's pivots on A + delta I (lcp_lemke.h), which cannot fail but for rounding, then Newton's method;
 *  - proximal points, f <- solution with A + delta I and b - delta f;
 *  - else there may be no solution: bodies are wedged, and no velocity opens all contacts as they are to. The
 *    solution with A + delta I, delta LCP_SOFTNESS of its size, is used, and the status tells (unbounded).
 * Where A is singular on the states, f is the one whose free components have least norm. */
#ifndef CAROM_CONTACT_LCP_H
#define CAROM_CONTACT_LCP_H

#include "contact/cone_program.h"

/* As a cone_solution's `state`: a slide is LCP_SLIDE + 3 (a + 1) + (b + 1), a and b the signs of the tangential
 * impulse. Both 0: the contact has mu = 0 and is not known to slide. */
enum { LCP_OPEN, LCP_STICK, LCP_SLIDE };

#define LCP_SOFTNESS 1e-4

/* As cone_solve and cone_solve_vjp; options->smoothing is not read. info.interior_steps are pivots. */
void lcp_solve(const cone_program *program, carom_friction_law law,
               const carom_cone_options *options, cone_solution *solution, arena *scratch);
void lcp_solve_vjp(const cone_program *program, carom_friction_law law,
                   const cone_solution *solution, const double *f_bar, cone_cotangents *bars,
                   arena *scratch);

/* Natural-map residual, scaled as cone_residual is. */
double lcp_residual(const cone_program *program, carom_friction_law law, const double *f,
                    arena *scratch);

#endif
