/* Potential and masses from pairs of consecutive states without a contact: a least-squares problem.
 *
 * Between contacts a time step is v_{k+1} = v_k + h v'(x, v), and the potential V = sum_j c_j f_j(x) is
 * linear in its last layer and its elasticity (nn/features.h). So the residual of one step,
 *
 *   r = (predicted - measured velocity) / S, tips of body axes seen at the body's length,
 *
 * is nearly linear in c, with the rows h a_bar' dv'/dc taken at the middle of the pair, and smooth in the
 * few logarithms of masses and moments, whose columns come from the derivative of the equations of motion
 * (physics/dynamics.h). Gauss and Newton's steps with these rows and the true residual, that of a prediction,
 * converge to where the true residual is least; the rows are off by the order of h^2 alone. Levenberg
 * and Marquardt's damping holds masses and elasticity, a ridge that is lowered from step to step the weights:
 * random hidden layers give features that are nearly linear in x, so that forces like gravity are
 * differences of large numbers unless the weights are held.
 *
 * A pair that does not fit by far (a contact that nothing told of) weighs little: Huber's weights, by the
 * median of all pairs. A step is taken if it lowers the error of the training pairs and of the validation
 * pairs. The common scale of masses and potential, which shows in no motion between contacts, is held.
 *
 * Which bits come out does not depend on the number of threads: pairs are worked on in groups whose sums
 * are added in their order. Every rank does all of it. */
#ifndef CAROM_LEARN_FORCE_FIT_H
#define CAROM_LEARN_FORCE_FIT_H

#include "learn/warm_work.h"

/* What a fit leaves, for what builds on it (learn/contact_fit.h). */
typedef struct force_fit {
  int pairs;            /* that were fitted; 0: there are none without contact */
  int features, masses; /* unknowns: c, and logarithms of masses and moments */
  int *entries;         /* [features + masses] of the model's parameters */
  double before, after; /* root mean square of r over the training pairs */
  double *follow; /* [masses][features] change of c that leaves r as it is, per change of a mass */
  double
      *information; /* [masses][masses] what r tells of the masses: the rest of the normal matrix */
} force_fit;

/* Bytes that force_fit_run asks for. */
size_t force_fit_bytes(const carom_model *model, const carom_chunks *train);

/* Fits; the parameters are better than before or as they were. To be freed in any case. */
carom_status force_fit_run(force_fit *fit, carom_model *model, const carom_dataset *data,
                           const warm_work *work, carom_error *error);
void force_fit_free(force_fit *fit);

#endif
