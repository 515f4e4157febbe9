/* The equations of motion between contacts, and their derivative, for up to LANES states at once (lanes.h).
 *
 * With g = grad V, J = J_E, K = J M^-1 J', B(v) = D_x (J v):
 *
 *   Lagrangian (appendix B.2)         x' = v
 *                                     v' = M^-1 (J' lambda - g)
 *                                     lambda = K^-1 (J M^-1 g - B(v) v)
 *
 *   Hamiltonian (appendix B.3)        b = K^-1 J v
 *                                     x' = v - M^-1 J' b
 *                                     v' = M^-1 (J' lambda - g + B(v)' b)
 *                                     lambda = K^-1 (J M^-1 (g - B(v)' b) - B(v) x')
 *
 * The second is the paper's z' = J grad H - J DPsi' [DPsi J DPsi']^-1 DPsi J grad H, its 2E x 2E
 * system [[0, K], [-K, W]] (a, b) = (J v, B v - J M^-1 g), W = B M^-1 J' - J M^-1 B', solved by
 * blocks, with momenta p = M v replaced by v. On the constraint manifold J v = 0, so b = 0 and the
 * two agree; off it the Hamiltonian form does not let positions drift along J'. */
#ifndef CAROM_PHYSICS_DYNAMICS_H
#define CAROM_PHYSICS_DYNAMICS_H

#include "physics/lanes.h"
#include "physics/mechanics.h"

/* What the derivative needs of one evaluation of LANES states. */
typedef struct dynamics_record {
  lanes *arm;          /* [constraint_count][dimension] */
  lanes *factor;       /* of K */
  lanes *lambda;       /* [row_count] */
  lanes *v;            /* [D] */
  lanes *velocity;     /* [D] x' */
  lanes *acceleration; /* [D] v' */
  lanes *b;            /* [row_count] Hamiltonian only */
  lanes *force; /* [D] J' lambda - g (+ B' b) = M v'; without constraints [count][D] numbers */
} dynamics_record;

/* How many records `count` states need. */
static inline int dynamics_record_count(int count) { return (count + LANES - 1) / LANES; }

dynamics_record dynamics_record_make(const mechanics *m, arena *memory);

/* Bytes of its arrays. */
size_t dynamics_record_bytes(const mechanics *m);

/* velocity, acceleration [count][D] and `record` from x, v, gradient [count][D], count 1 .. LANES. */
void dynamics_eval(const mechanics *m, carom_dynamics kind, int count, const double *x,
                   const double *v, const double *gradient, double *velocity, double *acceleration,
                   dynamics_record *record, arena *scratch);

/* From the cotangents [count][D] of x' and v': v_bar +=, x_bar +=, theta_bar += (masses and moments) and
 * gradient_bar = (overwritten). */
void dynamics_eval_vjp(const mechanics *m, carom_dynamics kind, int count,
                       const dynamics_record *record, const double *velocity_bar,
                       const double *acceleration_bar, double *x_bar, double *v_bar,
                       double *gradient_bar, double *theta_bar, arena *scratch);

#endif
