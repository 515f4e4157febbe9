/* A potential that the caller of the library has given (carom/potential.h), behind the engine's interface.
 *
 * Its parameters are those of the caller's and, if the scene's potential acts beside it, all of theta after
 * them. A call that fails leaves the arena's guard as missing memory does; what it failed with is kept. */
#ifndef CAROM_PHYSICS_GIVEN_POTENTIAL_H
#define CAROM_PHYSICS_GIVEN_POTENTIAL_H

#include "physics/potential.h"

typedef struct given_potential {
  potential base;
  carom_potential given;
  carom_error *failure; /* of the first call that failed; its status is CAROM_OK if none did */
} given_potential;

/* Whether a rollout can use it. */
carom_status given_potential_check(const carom_potential *given, carom_error *error);

given_potential given_potential_make(const carom_potential *given, carom_error *failure);

/* Numbers in its parameters' cotangent. */
int given_potential_count(const given_potential *p, const carom_system *system);

#endif
