/* Initial-state files (HDF5).
 *
 *   /x  float64 [N][n][d]   positions; N samples, n points, d coordinates
 *   /v  float64 [N][n][d]   velocities
 *   root attributes as in a trajectory file
 *
 * A trajectory file (/x, /v [N][T][n][d]) is taken too: its first states are the initial ones. */
#ifndef CAROM_IO_STATE_FILE_H
#define CAROM_IO_STATE_FILE_H

#include "carom.h"

typedef struct states {
  int batch;
  int point_count;
  int dimension;
  double *x, *v; /* [batch][point_count][dimension] */
} states;

carom_status state_file_write(const char *path, const carom_system *system, const states *data,
                              carom_error *error);

/* Reads and checks against the system: points, dimension, finite numbers, at least one sample.
 * Whether the constraints hold is for carom_system_check_state to say. */
carom_status state_file_read(const char *path, const carom_system *system, states *data,
                             carom_error *error);
void states_free(states *data);

#endif
