/* Inside view of a rollout. */
#ifndef CAROM_ROLLOUT_ROLLOUT_H
#define CAROM_ROLLOUT_ROLLOUT_H

#include "physics/potential.h"

/* carom_rollout_create with another potential in place of the scene's (gravity and springs), which must
 * outlive the rollout. It has no parameters as far as the rollout knows: theta's cotangents are those of
 * the engine alone. */
carom_status rollout_create_with(const carom_system *system, const carom_rollout_options *options,
                                 const potential *energy, int batch, carom_rollout **rollout,
                                 carom_error *error);

/* From the next run on, the first `samples` of the batch alone: initial states, trajectories and cotangents of the others are
 * neither read nor written. */
void rollout_use_first(carom_rollout *rollout, int samples);

/* The cotangent of theta [carom_parameters_count] that one sample has after carom_rollout_vjp, where
 * options.shard_size is 1. */
const double *rollout_theta_bar(const carom_rollout *rollout, int sample);

/* How often memory has been asked of the system by workers and tapes so far: constant once warm. */
long rollout_allocations(const carom_rollout *rollout);

#endif
