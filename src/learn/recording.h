/* Given trajectories, made ready to be cut into chunks: what is missing is left out, states are put on
 * the constraints if that was asked for, velocities are compared with positions, moved or estimated,
 * contacts are found. What was found out goes into the findings of the data set. */
#ifndef CAROM_LEARN_RECORDING_H
#define CAROM_LEARN_RECORDING_H

#include "carom.h"

/* Consecutive states of one trajectory that are all there, at least as many as a chunk has. */
typedef struct run {
  int trajectory;
  int first; /* state in the trajectory */
  int states;
} run;

typedef struct recording {
  const carom_system *system;
  int count, states; /* trajectories, and states of each in memory */
  double dt;
  const double *times;    /* [count][states]; NULL: dt apart */
  const double *x, *v;    /* [count][states][point_count][dimension] */
  const uint8_t *contact; /* [count][states] */
  int run_count;
  run *runs; /* in the order of trajectories and time */
  /* where something was made: */
  double *owned_x, *owned_v;
  uint8_t *owned_contact;
} recording;

/* `given` must outlive the recording. Findings are added to `dataset`. */
carom_status recording_make(const carom_system *system, const carom_trajectories *given,
                            const carom_dataset_options *options, recording *r,
                            carom_dataset *dataset, carom_error *error);
void recording_free(recording *r);

#endif
