/* Gaussian noise on states, as a measurement would have it, that leaves the constraints held:
 *  - chains of pendulums (sampler "angles"): on the angle and the rate of every link;
 *  - rigid bodies: on the centre, the rotation (a small rotation vector), velocity and spin;
 *  - point masses: on position and velocity.
 * Where bodies are tied together otherwise, the noisy state is put back on the constraints by the
 * shortest way: Newton's method on positions, then a projection of velocities. */
#ifndef CAROM_LEARN_NOISE_H
#define CAROM_LEARN_NOISE_H

#include "carom.h"

/* Adds noise of deviation `deviation` to every state of the chunks. Chunk k depends on (seed, k)
 * alone. Contact flags stay: they tell what happened. */
carom_status noise_add(const carom_system *system, double deviation, uint64_t seed,
                       carom_chunks *chunks, carom_error *error);

#endif
