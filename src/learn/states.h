/* First states of chunks as unknowns of a training, beside the parameters of the model.
 *
 * For a model as it stands each chunk has a problem of its own: the state from which the prediction is
 * nearest to all that was measured, the first state included, in the loss of learn/observations.h. With
 * 2 M unknowns that is small, and steps of Gauss and Newton solve it:
 *
 *   H = J' W J + damping,   step = - H^-1 J' W z
 *
 * A pass takes a step with each state where that lowers the chunk's loss, J being the slopes that the last pass
 * took, W the weights of Student's distribution, damping Levenberg's and Marquardt's; then it takes slopes
 * anew, by differences of predictions. A training alternates: a pass over the states, some epochs of descent by
 * the parameters, during which the states follow the model to first order (learn/state_response.h).
 *
 * Friction and restitution act by contacts alone, and far: where one of each is all there is, a pass solves
 * for both together with all states, which are eliminated chunk by chunk (a Schur complement), and takes the
 * step if it lowers the loss.
 *
 * In which time step a contact acts depends on the first state by a jump, and no derivative leads across
 * it, while the velocities after tell the step beyond doubt. So for chunks that noise does not explain a
 * pass also tries states from anew: drawn around the estimate, around the measurement, ahead or behind in
 * time.
 *
 * A pass is a function of the model, the estimates and (seed, number): it can be repeated to the bit. */
#ifndef CAROM_LEARN_STATES_H
#define CAROM_LEARN_STATES_H

#include "base/envelope.h"
#include "learn/observations.h"
#include "learn/projection.h"
#include "learn/state_response.h"

/* Damping of H that a new state begins with. */
static const double STATES_FIRST_DAMPING = 0.01;

/* Estimates of the chunks of one split. */
typedef struct state_estimates {
  carom_chunks chunks; /* as measured */
  double *x, *v;       /* [count][D] */
  double *damping;     /* [count] of H */
  state_response response;
} state_estimates;

/* All that a training estimates; zeros where it takes first states as exact. */
typedef struct state_estimation {
  bool on;
  noise_level noise;
  state_estimates train, validation;
  projection onto;
  int *rows;      /* [4 M + 1] of `shape` */
  envelope shape; /* of a full matrix [2 M][2 M] */
  double
      *parameters; /* the model's after the last pass, of which the responses are; NULL before it */
} state_estimation;

/* Begins at the measured states, put on the constraints. deviation 0: estimated from the data.
 * states_free is due in any case. */
carom_status states_begin(state_estimation *e, const carom_system *system,
                          const carom_dataset *dataset, double deviation, carom_error *error);
void states_free(state_estimation *e);

/* What a loss sees of a split. */
observations states_observe(const state_estimation *e, const state_estimates *split);

/* One pass over the states of both splits, with friction and restitution of the model where these are
 * shared by all contacts. Takes the scale of the residuals and the responses anew. Contact programs of trials
 * count in no report. After an error estimates are as good as before. */
carom_status states_improve(state_estimation *e, carom_model *model, uint64_t seed, int number,
                            carom_error *error);

/* Takes the responses of both splits at the estimates as they are, of the model as it stands or with other
 * parameters: those of the last pass give its responses again. */
carom_status states_respond(state_estimation *e, carom_model *model, carom_error *error);
carom_status states_respond_as(state_estimation *e, carom_model *model, const double *parameters,
                               carom_error *error);

/* The deviation of numbers that are normal around 0, by the median of their absolute values [count], which
 * it sorts. */
double deviation_by_median(double *values, size_t count);

/* The deviations of noise in the numbers of a measurement, from their third differences in time (second
 * ones where chunks have three states): motion that is smooth over a few states leaves the noise. The
 * median does not mind contacts. */
carom_status noise_level_find(const carom_system *system, const carom_chunks *chunks,
                              noise_level *noise, carom_error *error);

#endif
