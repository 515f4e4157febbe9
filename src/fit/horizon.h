/* Unknowns by the error of long predictions.
 *
 * Multiple shooting asks that a model be right up to the noise. Where it is not (a real cube, corners that are
 * not sharp, friction that is not Coulomb's), what it finds is what small errors of the model ask for, and
 * predictions are bad. Here whole trajectories are predicted from their first states, and
 *
 *   loss(q) = mean over trajectories, mean over states of sum over channels |residual| / usual residual
 *
 * is made small, with the priors of q as one trajectory more: distances and angles as they are,
 * not squared. Such a loss jumps with every contact that comes a step earlier, so derivatives at a
 * point say little. They are taken of the mean over a cloud of values instead: q_s = q + h xi_s,
 * xi = +-1; by regression r(q_s) = r + J (q_s - q); and Gauss and Newton's step of the reweighted
 * squares is made with that, as ensemble methods do (cloud.h). The cloud becomes as wide as q is
 * known. The search begins with few trajectories and a part of the horizon, and ends with all.
 *
 * Intervals are of the spread between trajectories: with g_i the gradient of trajectory i and A =
 * sum A_i, Cov = A^-1 (sum g_i g_i') A^-1 (White's sandwich), which asks nothing of the model or
 * of the noise. */
#ifndef CAROM_FIT_HORIZON_H
#define CAROM_FIT_HORIZON_H

#include "fit/fit.h"

/* Finds fit->minimiser.q and fills fit->verdict. */
carom_status horizon_fit(carom_fit *fit, carom_error *error);

#endif
