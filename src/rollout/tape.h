/* What is kept of a shard for its reverse: the impulses of every contact event, packed one after the
 * other. Everything else is recomputed from the states, which the trajectory holds. */
#ifndef CAROM_ROLLOUT_TAPE_H
#define CAROM_ROLLOUT_TAPE_H

#include "rollout/impact_log.h"

typedef struct tape {
  growing memory;
  int64_t *offset;    /* [samples][steps] where an event's impulses begin, or -1 */
  impact_log impacts; /* empty unless they are to be kept */
} tape;

void tape_free(tape *t);
long tape_allocations(const tape *t);

/* Empties a tape for a shard of so many samples and steps; false if memory is short. */
bool tape_begin(tape *t, int samples, int steps);

#endif
