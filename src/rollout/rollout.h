/* Inside view of a rollout. */
#ifndef CAROM_ROLLOUT_ROLLOUT_H
#define CAROM_ROLLOUT_ROLLOUT_H

#include "physics/potential.h"

/* Replaces the scene's potential (gravity and springs) by another, which must outlive the rollout.
 * Its gradient_vjp gets theta_bar for the cotangents of its parameters. */
void rollout_set_potential(carom_rollout *rollout, const potential *other);

/* The cotangent of theta [carom_parameters_count] that one sample has after carom_rollout_vjp, where
 * options.shard_size is 1. */
const double *rollout_theta_bar(const carom_rollout *rollout, int sample);

/* How often memory has been asked of the system by workers and tapes so far: constant once warm. */
long rollout_allocations(const carom_rollout *rollout);

#endif
