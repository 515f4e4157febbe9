/* Draws initial states as the scene's sampler says. */
#ifndef CAROM_SYSTEM_SAMPLER_H
#define CAROM_SYSTEM_SAMPLER_H

#include "base/rng.h"
#include "system/system.h"

/* Draws one state, x and v [point_count][dimension], that holds the equality constraints in
 * position and velocity. Contacts may be active in it: the caller draws again. */
void sampler_draw(const carom_system *s, rng *r, double *x, double *v);

/* Places a rigid body: its points from the centre, a rotation matrix [dimension][dimension]
 * (row-major, columns are the body axes) and the angular velocity (one number in 2D). A point mass
 * takes the centre only. */
void place_body(const carom_system *s, int body_index, const double *centre, const double *velocity,
                const double *rotation, const double *spin, double *x, double *v);

#endif
