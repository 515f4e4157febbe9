/* Viscous drag: a force -c v_0 on the centre of a body and a torque -a omega, as forces on points beside -grad V.
 *
 * On unit axes e_k = x_k - x_0 at right angles |omega|^2 = 1/2 sum_k |e_k'|^2, in the plane and in space, so what
 * Rayleigh's function c/2 |v_0|^2 + a/2 |omega|^2 takes is linear in the velocities of points:
 *
 *   f_k = -a/2 (v_k - v_0),   f_0 = -c v_0 - sum_k f_k . */
#ifndef CAROM_PHYSICS_DRAG_H
#define CAROM_PHYSICS_DRAG_H

#include "physics/mechanics.h"

/* gradient [D] -= the forces at velocities v */
void drag_apply(const mechanics *m, const double *v, double *gradient);

/* From the cotangent of the gradient: v_bar +=, theta_bar +=. Also where there is no drag: its derivative at 0. */
void drag_apply_vjp(const mechanics *m, const double *v, const double *gradient_bar, double *v_bar,
                    double *theta_bar);

#endif
