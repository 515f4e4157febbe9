/* States of data put back on the equality constraints by the shortest way in plain Euclidean distance of
 * all points (METRIC_GEOMETRIC of physics/constraint_projection.h), without masses: these are not known
 * where data is learned from. */
#ifndef CAROM_LEARN_PROJECTION_H
#define CAROM_LEARN_PROJECTION_H

#include "physics/mechanics.h"

typedef struct projection {
  const carom_system *system;
  mechanics mechanics;
  arena memory, scratch;
} projection;

/* False if memory is short; projection_free is due in any case. */
bool projection_init(projection *p, const carom_system *system);
void projection_free(projection *p);

/* Puts x on the constraints; false if Newton's method does not arrive, where x is as far off as the
 * bodies are large. */
bool projection_positions(projection *p, double *x);

/* Puts v on the tangent space at x. */
void projection_velocities(projection *p, const double *x, double *v);

/* Both. */
bool projection_apply(projection *p, double *x, double *v);

#endif
