/* Poses of bodies, from CSV, npz and HDF5 files of other programs, as trajectories of a scene
 * (carom import says which columns and datasets). */
#ifndef CAROM_CLI_POSE_FILE_H
#define CAROM_CLI_POSE_FILE_H

#include "carom.h"

typedef struct pose_units {
  double length, time, angle; /* of the scene in one of the files */
  double dt;                  /* in the files' units; 0: as they say */
} pose_units;

/* All trajectories of all files, with lengths; v is NULL where no file has velocities. Times that
 * are multiples of one step, the same for all, give that step, and missing states where some are
 * left out; any others are kept as data->times, with a missing state where there is a long gap. */
carom_status poses_read(const carom_system *system, const char *const *files, int file_count,
                        const pose_units *units, carom_trajectories *data, carom_error *error);

#endif
