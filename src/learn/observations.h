/* Chunks as a loss sees them: what was measured, where predictions begin, how large the noise is.
 *
 * Usually a chunk is predicted from its first state, which is taken as exact. Noise in that state is
 * then an error of the model's input, and least squares in such a regression are biased however much
 * data there is. Where predictions begin at estimated states (learn/states.h) the measured first state
 * is one of the states that the prediction is compared with, and the comparison is in the numbers z of
 * a measurement (learn/measurement.h) by the deviation of their noise:
 *
 *   loss = 2 log(scale) + mean of (N + 1) log(1 + z^2 / N),   z = residual / (scale deviation)
 *
 * twice the negative logarithm of Student's distribution with N degrees of freedom, up to a constant: for
 * small z it is z^2, and what no noise explains (a contact that the prediction misses) weighs little.
 * `scale`, at least 1, is that of the residuals while the model is still wrong. With a response the states
 * follow the model to first order, and z is what they leave (learn/state_response.h). */
#ifndef CAROM_LEARN_OBSERVATIONS_H
#define CAROM_LEARN_OBSERVATIONS_H

#include "carom.h"

#include <math.h>

typedef struct noise_level {
  double position, velocity; /* deviations of the numbers of a measurement */
  double scale;              /* by which residuals are larger still: 1 or more */
} noise_level;

typedef struct state_response state_response;

typedef struct observations {
  carom_chunks chunks;
  const double *x0, *v0;    /* [count][D] where predictions begin; NULL: at the first states */
  const noise_level *noise; /* NULL without x0, v0 */
  const state_response *response; /* of these states to the model; NULL: they stand still */
  int response_first;             /* its chunk that is the first one here */
  double contact_weight; /* of chunks with a contact (learn/balance.h); 0: as of all others */
} observations;

static inline observations observations_of(const carom_chunks *chunks) {
  return (observations){.chunks = *chunks};
}

/* Those from chunk `first` on, in the same memory; `width` is D. */
observations observations_from(const observations *all, int width, int first);

/* Where the prediction of a chunk begins. */
const double *observed_x0(const observations *o, int width, int chunk);
const double *observed_v0(const observations *o, int width, int chunk);

/* Student's distribution: loss of a number z, its derivative, the weight w of z^2 at which w z^2 has it. */
enum { STUDENT_FREEDOM = 5 };
static inline double student_loss(double z) {
  return (STUDENT_FREEDOM + 1) * log1p(z * z / STUDENT_FREEDOM);
}
static inline double student_weight(double z) {
  return (STUDENT_FREEDOM + 1) / (STUDENT_FREEDOM + z * z);
}
static inline double student_slope(double z) { return 2 * z * student_weight(z); }

/* carom_model_loss of observations. */
carom_status observations_loss(carom_model *model, const observations *o, int count,
                               const int *indices, double *loss, double *gradient,
                               carom_report *report, carom_error *error);

/* Numbers z of `count` predictions that begin at x0, v0 [count][D], beside the chunks at `indices`:
 * [count][states][2 M], owned by the model until its next prediction. */
carom_status observations_residuals(carom_model *model, const observations *o, int count,
                                    const int *indices, const double *x0, const double *v0,
                                    const double **residuals, carom_error *error);

#endif
