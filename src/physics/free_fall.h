/* Time steps of bodies that nothing but gravity moves: point masses without joints, springs, drag and controls. Their motion is
 *
 *   x1 = x + h v + h^2 / 2 g,   v1 = v + h g
 *
 * which is what Runge and Kutta's method gives, too, but for rounding, in four stages. Its derivative knows what drag and gravity would
 * change, also where there is none. */
#ifndef CAROM_PHYSICS_FREE_FALL_H
#define CAROM_PHYSICS_FREE_FALL_H

#include "physics/integrator.h"

/* Is a step of this integrator, with the controls of the record, such a one? */
bool free_fall_is(const integrator *in, const step_record *record);

/* x, v [count][D] one time step on; the record keeps where they were. */
void free_fall_step(const integrator *in, int count, double *x, double *v, step_record *record);

/* The same from where the record has them. */
void free_fall_replay(const integrator *in, int count, const step_record *record, double *x,
                      double *v);

/* integrator_step_vjp of such a step. */
void free_fall_step_vjp(const integrator *in, int count, const step_record *record, double *x_bar,
                        double *v_bar, double *theta_bar, double *potential_bar, double *dt_bar);

#endif
