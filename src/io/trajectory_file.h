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

#endif
