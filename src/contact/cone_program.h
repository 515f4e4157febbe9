/* The cone program of one group of touching bodies, in the form that the solver works on.
 *
 *   minimise 1/2 f'Af + b'f   subject to   |f_t,i| <= mu_i f_n,i ,  f_n,i >= lower_i      (5), (7)
 *
 * A is symmetric positive semidefinite in envelope storage whose rows begin at contact boundaries:
 * first[] is a multiple of `dimension` and the same for all rows of one contact.
 *
 * The work is done in two ways that check each other:
 *  - active set (cone_active_set.h): every contact is in one of four states; Newton's method on
 *    the equations of those states, states revised by projecting f - rho s on the cone. Exact
 *    (about 1e-15) and fast; it is accepted only if all optimality conditions hold. Where it
 *    cycles, or where A is singular and f not unique, it follows the solutions of A + delta I to
 *    small delta, and ends at the minimiser of least norm (cone_selection.c).
 *  - interior point (cone_interior.h): Nesterov-Todd scaled primal-dual method, globally
 *    convergent; used where the active set does not settle (about one random program in 1000), and
 *    its end is polished by the active set again. It alone serves the smoothed problem
 *    (options.smoothing > 0).
 *
 * With s = Af + b (the contact velocity after the impulse) the states are:
 *   FREE_STICK   f inside the cone, f_n > lower             s = 0
 *   FREE_SLIDE   f on the cone, f_n > lower                 s_n = mu |s_t|, f_t = -mu f_n s_t/|s_t|
 *   BOUND_STICK  f_n = lower, |f_t| < mu lower              s_t = 0, s_n >= 0
 *   BOUND_SLIDE  f_n = lower, |f_t| = mu lower              f_t = -mu lower s_t/|s_t|,
 *                                                           s_n >= mu |s_t|
 * A separating contact is BOUND_SLIDE with lower = 0. */
#ifndef CAROM_CONTACT_CONE_PROGRAM_H
#define CAROM_CONTACT_CONE_PROGRAM_H

#include "base/arena.h"
#include "base/envelope.h"
#include "carom.h"

typedef enum contact_state {
  FREE_STICK,
  FREE_SLIDE,
  BOUND_STICK,
  BOUND_SLIDE,
  INTERIOR /* solved by the interior point only: smoothed, or not strictly complementary */
} contact_state;

typedef struct cone_program {
  int contact_count;
  int dimension;
  envelope shape;      /* of A */
  const double *A;     /* lower triangle in `shape` */
  const double *b;     /* [contact_count * dimension] */
  const double *mu;    /* [contact_count] */
  const double *lower; /* [contact_count]; below 0 is as good as 0 */
  double scale;        /* size of the velocities that b is a difference of, so that rounding in a
                           b that cancels to zero is not taken for a problem; 0: b's own size */
} cone_program;

/* What is kept of a solution: enough, with the program, to differentiate it. */
typedef struct cone_solution {
  double *f;            /* [C] */
  unsigned char *state; /* [contact_count] a contact_state */
  double *dual;         /* [C + contact_count] cone duals z and bound duals w, used where state is
                            INTERIOR */
  carom_cone_info info;
} cone_solution;

/* Solves. `solution->f`, `state`, `dual` are the caller's memory; `state` on entry is a first guess
 * if `warm`. Scratch comes from `scratch`, which is left as it was. */
void cone_solve(const cone_program *program, const carom_cone_options *options, bool warm,
                cone_solution *solution, arena *scratch);

/* A term of A_bar: 1/2 (p f' + f p'). */
typedef struct cone_pair {
  double *p, *f; /* [C] */
} cone_pair;

/* One for the least-norm selection of a singular A, two for a b that was projected on its range. */
enum { CONE_PAIRS = 3 };

/* What the derivative makes of f_bar, in the caller's memory: p such that
 *   b_bar = -p,   A_bar = -1/2 (p f' + f p') + the pairs      (symmetric)
 * and the cotangents of mu and lower. */
typedef struct cone_cotangents {
  double *p;                  /* [C] */
  double *mu, *lower;         /* [contact_count] */
  cone_pair pair[CONE_PAIRS]; /* zero from pair_count on */
  int pair_count;
} cone_cotangents;

/* Memory for the cotangents of a number of contacts, zero. */
cone_cotangents cone_cotangents_make(int contact_count, int dimension, arena *memory);

/* The derivative at a solution (cone_vjp.c): a factor, made once, and its use for one f_bar [C] after
 * the other. Program and solution must stay. Where A is singular it is exact for all changes that
 * keep the rank of A on the contacts in question and b in its range, as changes of a mechanical
 * system do; where b was projected on the range (info.projected), for all that keep the rank. At mu = 0, and by lower = 0 of a separating contact, it is the derivative to the
 * right. */
typedef struct cone_adjoint cone_adjoint;

cone_adjoint *cone_adjoint_make(const cone_program *program, const carom_cone_options *options,
                                const cone_solution *solution, arena *memory);
void cone_adjoint_apply(cone_adjoint *adjoint, const double *f_bar, cone_cotangents *bars);

/* Both, for one f_bar. */
void cone_solve_vjp(const cone_program *program, const carom_cone_options *options,
                    const cone_solution *solution, const double *f_bar, cone_cotangents *bars,
                    arena *scratch);

/* Natural-map residual: largest |f - P(f - rho s)| / rho, P the projection on cone and bound and
 * 1 / rho the mean diagonal entry of the contact's block of A; relative to the larger of the size
 * of b (or program->scale) and the largest |f| / rho. */
double cone_residual(const cone_program *program, const double *f, arena *scratch);

#endif
