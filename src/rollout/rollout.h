/* Inside view of a rollout, for tests. */
#ifndef CAROM_ROLLOUT_ROLLOUT_H
#define CAROM_ROLLOUT_ROLLOUT_H

#include "carom.h"

/* How often memory has been asked of the system by workers and tapes so far: constant once warm. */
long rollout_allocations(const carom_rollout *rollout);

#endif
