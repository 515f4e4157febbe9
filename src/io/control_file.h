/* Control files (HDF5).
 *
 *   /u  float64 [N][steps][c]   forces and torques of each time step; N samples, c numbers of all controls of
 *                               the scene, in its order (docs/scene-format.md)
 *   root attributes as in a trajectory file; all are optional
 *
 * A trajectory file with controls is taken too. */
#ifndef CAROM_IO_CONTROL_FILE_H
#define CAROM_IO_CONTROL_FILE_H

#include "carom.h"
#include "io/h5_file.h"

/* An error if the system has no controls; `path` is where they would come from or go. */
carom_status control_check_size(const carom_system *system, const char *path, carom_error *error);

/* The dataset /u in a file that is open; for reading *batch and *steps are what is expected, or < 0. */
carom_status control_write(h5_writer *writer, const carom_system *system, int batch, int steps,
                           const double *u, carom_error *error);
carom_status control_read(h5_reader *reader, const carom_system *system, int *batch, int *steps,
                          double **u, carom_error *error);

#endif
