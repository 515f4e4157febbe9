/* Inside view of a rollout. */
#ifndef CAROM_ROLLOUT_ROLLOUT_H
#define CAROM_ROLLOUT_ROLLOUT_H

#include "physics/potential.h"

/* carom_rollout_create with another potential in place of the scene's (gravity and springs), which
 * must outlive the rollout. It has no parameters as far as the rollout knows: theta's cotangents
 * are those of the engine alone. */
carom_status rollout_create_with(const carom_system *system, const carom_rollout_options *options,
                                 const potential *energy, int batch, carom_rollout **rollout,
                                 carom_error *error);

/* From the next run on, the first `samples` of the batch alone: initial states, trajectories and
 * cotangents of the others are neither read nor written. */
void rollout_use_first(carom_rollout *rollout, int samples);

/* From the next run on, time steps are of these lengths [batch][steps] (NULL: of options.dt again),
 * which have to stay until the last derivative of a run was taken. options.shard_size must be 1;
 * times of impacts are right in runs of one step alone. */
void rollout_use_lengths(carom_rollout *rollout, const double *lengths);

/* carom_system_simulate with such lengths. */
carom_status rollout_simulate(const carom_system *system, const carom_rollout_options *options,
                              const double *lengths, const double *theta, int batch,
                              const double *x0, const double *v0, double *x, double *v,
                              uint8_t *contacts, carom_report *report, carom_error *error);

/* The cotangent of theta [carom_parameters_count] that one sample has after carom_rollout_vjp,
 * where options.shard_size is 1. */
const double *rollout_theta_bar(const carom_rollout *rollout, int sample);

/* How often memory has been asked of the system by workers and tapes so far: constant once warm. */
long rollout_allocations(const carom_rollout *rollout);

#endif
