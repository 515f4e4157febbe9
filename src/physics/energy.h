/* Energies of states with the scene's own potential. */
#ifndef CAROM_PHYSICS_ENERGY_H
#define CAROM_PHYSICS_ENERGY_H

#include "carom.h"

/* kinetic, potential_energy [count] (either may be NULL) of x, v [count][D]; theta may be NULL for the
 * scene's. */
carom_status energy_of_states(const carom_system *system, const double *theta, int count,
                              const double *x, const double *v, double *kinetic,
                              double *potential_energy, carom_error *error);

#endif
