/* States near a state that hold the constraints: coordinates z of the tangent space of (x, v).
 *
 * A free point has its coordinates, a rigid body without joints its centre and a turn phi (tips e_k
 * go to exp(phi) e_k, and the angular velocity to omega + beta), everything else an orthonormal
 * basis N of the null space of J_E(x):
 *
 *   dx = N a,   dv = N b - J^+ (D_x (J v)) N a
 *
 * where the second term keeps J v = 0 to first order. Since its range is normal to N, a = N' dx and
 * b = N' dv. A tangent has both ways as matrices: directions B [size][2 D] and the left inverse
 * L [size][2 D], L B' = 1. */
#ifndef CAROM_FIT_TANGENT_H
#define CAROM_FIT_TANGENT_H

#include "learn/projection.h"

typedef struct tangent_space {
  const carom_system *system;
  projection onto;
  int coordinates; /* D */
  int size;        /* of z: twice the degrees of freedom */
  int most;        /* coordinates of the largest jointed assembly */
  double *work, *moving;
} tangent_space;

/* False if memory is short; tangent_space_free is due in any case. */
bool tangent_space_init(tangent_space *t, const carom_system *system);
void tangent_space_free(tangent_space *t);

/* B and L [size][2 D] at the state s = (x, v) [2 D]. */
void tangent_at(tangent_space *t, const double *s, double *B, double *L);

/* s moved by z; z = 0 leaves it as it is to the bit, on the constraints or off. False if it cannot
 * be. */
bool tangent_move(tangent_space *t, double *s, const double *z);

#endif
