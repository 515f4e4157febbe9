/* Trajectory files (HDF5).
 *
 *   /x        float64 [N][T][n][d]   positions; N samples, T states (time steps + 1), n points,
 *   /v        float64 [N][T][n][d]   velocities                             d coordinates
 *   /t        float64 [T]            times of the states
 *   /contact  uint8   [N][T]         1 where a contact acted at the end of the step that led here
 *   root attributes: carom_version (text), scene (the scene's JSON text), dt (float64)
 *
 * A reader needs /x and /v; /t, /contact and the attributes are optional, so that files from
 * elsewhere can be targets. Numbers of any width are converted. */
#ifndef CAROM_IO_TRAJECTORY_FILE_H
#define CAROM_IO_TRAJECTORY_FILE_H

#include "carom.h"

typedef struct trajectory {
  int batch;       /* N */
  int state_count; /* T */
  int point_count;
  int dimension;
  double dt;        /* 0 if the file does not say */
  double *x, *v;    /* [batch][state_count][point_count][dimension] */
  double *t;        /* [state_count]; NULL if the file has none */
  uint8_t *contact; /* [batch][state_count]; NULL if the file has none */
} trajectory;

/* Writes; `t` may be NULL (then it is k dt), `contact` may be NULL (then it is left out). */
carom_status trajectory_file_write(const char *path, const carom_system *system,
                                   const trajectory *data, carom_error *error);

/* Reads and checks against the system: points, dimension, finite numbers, at least one sample. */
carom_status trajectory_file_read(const char *path, const carom_system *system, trajectory *data,
                                  carom_error *error);
void trajectory_free(trajectory *data);

#endif
