/* How good a trained model is: errors of its predictions, energy, learned beside true properties.
 *
 * Two horizons. Along the chunks the prediction is compared with the data. Along more steps it is
 * compared with the true motion: the scene simulated with its own parameters from the first states
 * of the chunks. Where the truth is not known (own data, whose masses and friction the scene only
 * guesses) there is the first horizon alone.
 *
 * Errors of one trajectory, the given first state included:
 *   relative       sum |predicted - true| / sum |true| over all entries of (x, v)
 *   state_norm     sqrt(sum (predicted - true)^2 / sum true^2) of each state, mean over the states
 *   absolute       mean |predicted - true| over all entries of (x, v), as the paper's loss has it
 * Over trajectories: the mean with a 95 % confidence interval (normal approximation), the median,
 * the largest.
 *
 * Energies are those of the scene's own masses and potential, whatever the model believes. Drift is
 * |E_k - E_0| over the start's kinetic energy plus |potential energy|; contacts that lose energy
 * make it in the true motion too, so it stands beside that of the true motion. */
#ifndef CAROM_LEARN_EVALUATION_H
#define CAROM_LEARN_EVALUATION_H

#include "learn/chunks.h"

carom_estimate estimate_of(double *values, int count); /* sorts `values` */

/* Evaluates on `chunks` (test); `train` (may be NULL) is where contacts are counted. */
carom_status evaluation_run(const carom_system *system, carom_model *trained, double dt,
                            const carom_chunks *chunks, const carom_chunks *train,
                            const carom_evaluation_options *options, carom_evaluation **result,
                            carom_error *error);

#endif
