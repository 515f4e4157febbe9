/* Data set files (HDF5): chunks of trajectories to learn from.
 *
 *   /train/x        float64 [N][T][n][d]   positions; N chunks, T states, n points, d coordinates
 *   /train/v        float64 [N][T][n][d]   velocities
 *   /train/t        float64 [T]            times of the states, from the chunk's first one
 *   /train/contact  uint8   [N][T]         1 where a contact acted at the end of the step that led
 *                                          here
 *   /val, /test                            the same; N may be 0
 *   root attributes: carom_version (text), scene (the scene's JSON text), dt (float64)
 *
 * A reader needs the three groups with x and v, and dt; contacts that are missing are detected.
 *
 * Where a data set is read a trajectory file will do too (trajectory_file.h): it is cut into chunks
 * as the options say. Its time step is its attribute dt, else the distance of its times /t, else the
 * scene's. */
#ifndef CAROM_IO_DATASET_FILE_H
#define CAROM_IO_DATASET_FILE_H

#include "carom.h"

carom_status dataset_file_write(const carom_system *system, const char *path,
                                const carom_dataset *dataset, carom_error *error);

/* Reads and checks against the system: points, dimension, finite numbers, constraints. `options`
 * (NULL: the defaults) say how a trajectory file is cut; a data set is taken as it is. */
carom_status dataset_file_read(const carom_system *system, const char *path,
                               const carom_dataset_options *options, carom_dataset **dataset,
                               carom_error *error);

/* Whether a file holds a data set, whose chunks are cut already, and no trajectories. */
carom_status dataset_file_is_cut(const char *path, bool *is_cut, carom_error *error);

#endif
