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
 * A reader needs the three groups with x and v, and dt; contacts that are missing are detected. A
 * checksum stands in front (seal.h), as in all HDF5 files of carom.
 *
 * Where a data set is read a trajectory file will do too (trajectory_file.h): it is cut into chunks
 * as the options say. Its time step is its attribute dt, else the distance of its times /t, else the
 * scene's. */
#ifndef CAROM_IO_DATASET_FILE_H
#define CAROM_IO_DATASET_FILE_H

#include "carom.h"

#endif
