/* Evaluations as files: evaluation.json with every number, evaluation.h5 with arrays for plotting.
 *
 * evaluation.h5, N trajectories from the first states of the test chunks, T = steps + 1 states:
 *
 *   /x_predicted, /v_predicted  float64 [N][T][n][d]   NaN where a prediction became non-finite
 *   /x_true, /v_true            float64 [N][T][n][d]   the true motion from the same states
 *   /t                          float64 [T]
 *   /error, /error_half_width   float64 [T]            relative error of each state: mean over the
 *                                                      trajectories, half of its 95 % interval
 *   /energy_predicted, /energy_true  float64 [N][T]    with the scene's masses and potential
 *   /friction, /restitution     float64 [possible contacts]   learned; /scene_friction, ... beside
 *   /mass_ratio                 float64 [bodies]       learned; /scene_mass_ratio beside
 *   /moment                     float64 [bodies][d]    learned; /scene_moment beside
 *   /contact_states, /contact_chunks  float64 [possible contacts]   how often each contact occurs in
 *                                                      the training chunks
 *   root attributes: carom_version, scene, dt
 *
 * Where the truth is not known, predicted and true trajectories are those of the chunks (true: the
 * data), and the energies are left out. */
#ifndef CAROM_IO_EVALUATION_FILE_H
#define CAROM_IO_EVALUATION_FILE_H

#include "carom.h"

#endif
