/* Whether a state is one that the system can be in. */
#ifndef CAROM_SYSTEM_STATE_CHECK_H
#define CAROM_SYSTEM_STATE_CHECK_H

#include "system/system.h"

/* Speed of the fastest point. */
double state_speed(const carom_system *system, const double *v);

/* Checks one state as carom_system_check_states does; velocities are relative to `speed`. The message
 * says what is wrong, the caller where. */
carom_status state_check(const carom_system *system, const double *x, const double *v,
                         double tolerance, double speed, carom_error *error);

#endif
