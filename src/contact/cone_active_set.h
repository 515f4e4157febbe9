/* Semismooth Newton on f = P(f - rho s): every contact is on one face of its cone, the equations of
 * the faces are solved, the faces are revised by projecting w = f - rho s.
 *
 * That settles most programs in two to five steps. Two things can go wrong, and both are met by
 * regularising, A + delta I:
 *  - The faces cycle. For large delta they do not; the path of solutions is followed from large
 *    delta to small, in steps that shrink where the method does not settle.
 *  - The solution is not unique (A is singular). The path leads to the minimiser of least norm as
 *    delta goes to 0, and its faces tell which contacts are at the border of their cone. On these
 *    faces the limit itself is then found by Newton's method on two levels (cone_selection.c). */
#ifndef CAROM_CONTACT_CONE_ACTIVE_SET_H
#define CAROM_CONTACT_CONE_ACTIVE_SET_H

#include "base/semidefinite.h"
#include "contact/cone_equations.h"

/* Velocities below this, in units of the speed, are zero where the solution is not unique. A tenth of
 * the margin of strict complementarity, so that what is on a border can be told from what is there by
 * selection. */
#define CONE_VANISHED 1e-10

/* No impulse is larger than this, as a velocity in units of the speed: with pivots of 1e-11 and the
 * energy of the data it is below 1e6. */
#define CONE_LARGEST_IMPULSE 1e7

typedef struct active_set {
  const cone_program *program;
  const cone_scale *scale;
  double tolerance; /* largest residual that counts as solved */
  cone_equations equations;
  contact_face *faces; /* that the last step was made with */
  contact_face *next;  /* that its result asks for */
  int changes;         /* contacts where the two differ */
  double *f, *s;       /* [C] */
  double *kept;        /* [C] an f to come back to */
  double *y, *work;    /* [C], [2 C] */
  double delta;        /* regulariser */
  bool balanced;       /* rho is chosen so that rho s is as large as f */
  bool roughly;        /* a regularised problem is only the start of the next */
  double residual;     /* |f - P(f - rho s)| as a velocity, of the regularised problem, relative to
                           the contact's speed */
  double magnitude;    /* largest f as a velocity relative to that speed, at least 1 */
  int steps;           /* Newton steps made, over all runs */
  bool singular;       /* the solution is a least-norm selection */
  bool degenerate;     /* a contact lies on the border between two states */
  arena *scratch;
} active_set;

active_set active_set_make(const cone_program *program, const cone_scale *scale, double tolerance,
                           arena *scratch);

/* The three ways to a solution; true if a->f solves the program, a->faces are then its faces.
 * run: from a->f, first with `states` if given.
 * follow: along the path of decreasing delta.
 * polish: from a->f, which is near the solution with `delta` (in units of the stiffness). */
bool active_set_run(active_set *a, const unsigned char *states, int max_steps);
bool active_set_follow(active_set *a);
bool active_set_polish(active_set *a, double delta);

/* From anywhere, without selection (cone_proximal.c): a->f is then the best that was found even if it
 * is no solution, and in the cones. */
bool active_set_proximate(active_set *a);

/* Solves the problem with A + delta I, from a->f. */
bool active_set_settle(active_set *a, double delta);

/* Along the path of such problems from large delta down to `last`; returns how far it came (both in units
 * of the stiffness), with the solution there in a->kept. */
double active_set_descend(active_set *a, double last);

/* Velocities, residual and the next faces at a->f. */
void active_set_revise(active_set *a);

/* Residual and magnitude of one contact, added to the largest seen. */
void active_set_measure(int dimension, double unit, const double *f, const double *projection,
                        double *residual, double *magnitude);

/* Another state, or sliding the other way. */
bool active_set_differs(const cone_program *program, int contact, const contact_face *one,
                        const contact_face *other);

/* Strict complementarity: the contact is farther than rounding from another state. */
bool active_set_is_strict(const active_set *a, int contact);

/* ---- level two: the minimiser of least norm (cone_selection.c) */

/* Accepts a solution of which some contacts are at a border between states: unique solutions as
 * they are (degenerate), others after selection. */
bool active_set_accept_border(active_set *a);

/* Newton's method on both levels from a->next and, if a->delta > 0, the solution with delta. */
bool active_set_select(active_set *a);

/* With y = T'f given: f1 = df/d(epsilon) of A + epsilon I, up to the null space, and
 * sigma = f + A f1, which takes the place of the velocity where that vanishes. y is destroyed. */
void cone_second_level(const cone_equations *e, const semidefinite *h, const double *f, double *y,
                       double *f1, double *sigma);

/* H^+ on the present faces of the equations; pivots that cancellation has left count as zero. */
semidefinite cone_equations_pseudo_inverse(const cone_equations *e, arena *scratch);

/* Velocities of a contact below this count as zero where the solution is not unique. */
double cone_velocity_threshold(const cone_scale *scale, int contact);

#endif
