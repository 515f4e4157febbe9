/* The equations of motion between contacts, and their derivative, for one state.
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

#include "physics/mechanics.h"

/* What the derivative needs of one evaluation. */
typedef struct dynamics_record {
  double *arm;          /* [constraint_count][dimension] */
  double *factor;       /* of K */
  double *lambda;       /* [row_count] */
  double *velocity;     /* [D] x' */
  double *acceleration; /* [D] v' */
  double *b;            /* [row_count] Hamiltonian only */
  double *force;        /* [D] J' lambda - g (+ B' b) = M v' */
} dynamics_record;

dynamics_record dynamics_record_make(const mechanics *m, arena *memory);

/* Bytes of its arrays. */
size_t dynamics_record_bytes(const mechanics *m);

/* Fills `record` (its velocity and acceleration are the result) from x, v, gradient [D]. */
void dynamics_eval(const mechanics *m, carom_dynamics kind, const double *x, const double *v,
                   const double *gradient, dynamics_record *record, arena *scratch);

/* From the cotangents of x' and v': v_bar +=, x_bar +=, theta_bar += (masses and moments) and
 * gradient_bar = (overwritten). */
void dynamics_eval_vjp(const mechanics *m, carom_dynamics kind, const double *v,
                       const dynamics_record *record, const double *velocity_bar,
                       const double *acceleration_bar, double *x_bar, double *v_bar,
                       double *gradient_bar, double *theta_bar, arena *scratch);

#endif
