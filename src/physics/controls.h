/* Forces and torques from outside, as forces on points beside -grad V: force = -grad V + G(x) u.
 *
 * A force u at a body-fixed point y = sum_p w_p x_p works u . dy, so it acts on the body's points by the
 * weights: G u = w_p u on point p. It moves with the body, and its weights do not depend on the state.
 *
 * A torque tau works tau . dtheta in a turn dx_k = dtheta x e_k of the axes e_k = x_k - x_0. Forces that do
 * so and push nothing are those of a unit body that begins to turn,
 *
 *   f_k = omega x e_k,   f_0 = -sum_k f_k,   S omega = tau,   S = sum_k (|e_k|^2 1 - e_k e_k'),
 *
 * for then sum_k e_k x f_k = S omega = tau whatever the axes have drifted to. Others with that torque differ
 * from them by forces in the range of J_E', which lambda takes up: the motion is the same. */
#ifndef CAROM_PHYSICS_CONTROLS_H
#define CAROM_PHYSICS_CONTROLS_H

#include "system/system.h"

/* gradient [D] -= G(x) u, u [control_size] */
void controls_apply(const carom_system *s, const double *x, const double *u, double *gradient);

/* From the cotangent of the gradient: x_bar +=, u_bar += (may be NULL). */
void controls_apply_vjp(const carom_system *s, const double *x, const double *u,
                        const double *gradient_bar, double *x_bar, double *u_bar);

#endif
