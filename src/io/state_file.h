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

#endif
