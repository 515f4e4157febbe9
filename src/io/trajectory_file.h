/* Trajectory files (HDF5).
 *
 *   /x        float64 [N][T][n][d]   positions; N samples, T states (time steps + 1), n points,
 *   /v        float64 [N][T][n][d]   velocities                             d coordinates
 *   /t        float64 [T]            times of the states, or [N][T] those of each sample (see below)
 *   /contact  uint8   [N][T]         1 where a contact acted at the end of the step that led here
 *   /length   integer [N]            states of each sample, where they are not all T
 *   /u        float64 [N][T - 1][c]  controls of each time step, where there were some; c numbers of all
 *                                    controls of the scene, in its order
 *   root attributes: carom_version (text), scene (the scene's JSON text), dt (float64)
 *
 * Data sets can be made of less: without /v, with a /length, with NaN for states that are missing; not of
 * motion under controls, unless they are zero, since models know of none. For a scene without controls /u
 * means nothing.
 *
 * Any other reader needs /x and /v, all of it; /t, /contact and the attributes are optional, so that files from
 * elsewhere can be targets. Numbers of any width are converted; /contact may hold truth values of
 * numpy too, or any number that is 0 or 1.
 *
 * The time step is the attribute dt, one positive number; where there is none, the mean distance of
 * the times /t. Times must rise, each step within TIME_JITTER of their mean, and the mean within
 * TIME_DRIFT of dt: the states of a trajectory are equally spaced. Fits alone take others too: times of any steps,
 * for all samples or each, which rise; dt, where there is one, is about their median step. */
#ifndef CAROM_IO_TRAJECTORY_FILE_H
#define CAROM_IO_TRAJECTORY_FILE_H

#include "carom.h"
#include "io/h5_file.h"

/* How far times may be from equal steps, of a step: rounding of 32-bit numbers stays below. And how
 * far their mean may be from the attribute dt. */
#define TIME_JITTER 0.01
#define TIME_DRIFT 0.001

/* Whether states of this shape are states of the system; `path` is where they would go. */
carom_status trajectory_check_shape(const carom_system *system, const char *path, int point_count,
                                    int dimension, carom_error *error);

/* carom_trajectories_read from a file that is open. */
carom_status trajectory_read(h5_reader *reader, const carom_system *system,
                             carom_trajectories *data, carom_error *error);

/* The same for data sets: without /v, with a /length, with NaN and infinities as they are. */
carom_status trajectory_read_partial(h5_reader *reader, const carom_system *system,
                                     carom_trajectories *data, carom_error *error);

#endif
