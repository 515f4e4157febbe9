/* Gradient files (HDF5): a loss over a batch of trajectories and its derivative.
 *
 *   /loss           float64 scalar                mean of loss_each
 *   /loss_each      float64 [N]                   of each sample
 *   /d_x0, /d_v0    float64 [N][n][d]             by the initial state
 *   /d_u            float64 [N][time steps][c]    by the controls, where there were some
 *   /d_mass         float64 [bodies]              by the logarithm of the mass
 *   /d_moment       float64 [bodies][d]           by the logarithm of the second moments
 *   /d_friction     float64 [possible contacts]
 *   /d_restitution  float64 [possible contacts]
 *   /d_regularizer  float64 [1]                   by epsilon of CMr
 *   /d_gravity      float64 [d]
 *   /d_stiffness    float64 [springs]
 *   root attributes: carom_version, scene, dt */
#ifndef CAROM_IO_GRADIENT_FILE_H
#define CAROM_IO_GRADIENT_FILE_H

#include "carom.h"

#endif
