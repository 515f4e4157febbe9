/* What a measurement of a state consists of: M numbers of position and M of velocity, in which noise is
 * of one size and numbers do not depend on each other, so that noise leaves the constraints held:
 *
 *   chains of pendulums (sampler "angles")   the angle of every link, and its rate
 *   rigid bodies                             centre, rotation (a small vector, in the plane an angle);
 *                                            velocity, spin about the axes of the body
 *   point masses                             position; velocity
 *
 * A step is a small change of these numbers, [2 M], those of position first; a residual is the step from
 * a measured state to another one. Turns are sin(angle) times their axis: exact for small ones. */
#ifndef CAROM_LEARN_MEASUREMENT_H
#define CAROM_LEARN_MEASUREMENT_H

#include "learn/projection.h"

/* M */
int measurement_count(const carom_system *system);

/* x, v <- the state a step away. Bodies that are tied together are put back on their constraints by the
 * shortest way; false where that fails. */
bool measurement_step(projection *onto, const double *step, double *x, double *v);

/* residual [2 M] of a state beside a measured one. */
void measurement_residual(const carom_system *system, const double *x, const double *v,
                          const double *measured_x, const double *measured_v, double *residual);

/* Its reverse: x_bar, v_bar [D] are set. */
void measurement_residual_vjp(const carom_system *system, const double *x, const double *v,
                              const double *measured_x, const double *residual_bar, double *x_bar,
                              double *v_bar);

#endif
