/* Gaussian noise on states, as a measurement would have it: on each of the numbers of which
 * learn/measurement.h says that a measurement consists. */
#ifndef CAROM_LEARN_NOISE_H
#define CAROM_LEARN_NOISE_H

#include "carom.h"

/* Adds noise of deviation `deviation` to every state of the chunks. Chunk k depends on (seed, k)
 * alone. Contact flags stay: they tell what happened. */
carom_status noise_add(const carom_system *system, double deviation, uint64_t seed,
                       carom_chunks *chunks, carom_error *error);

#endif
