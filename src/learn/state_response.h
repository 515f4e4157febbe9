/* How the best first states of chunks answer to a change of the model.
 *
 * A pass over the states (learn/states.h) finds the best ones for the model as it stands. When the model then
 * moves, they would move too, and a loss in which they stand still holds the model where it is: masses,
 * potential and states would creep along together. To first order the answer is known, though. With J the slopes
 * of a chunk's numbers z by its state, W the weights of Student's distribution and H = J' W J + damping,
 *
 *   step of the state = - H^-1 J' W z,      z after it = P z,   P = 1 - J H^-1 J' W
 *
 * so the loss of P z is the loss at the states that belong to the model, without computing them: variable
 * projection (Golub and Pereyra). P is fixed between two passes and no larger than 1 in the norm of W.
 *
 * Slopes are taken by differences of predictions and kept as float: they are as exact as differences are. */
#ifndef CAROM_LEARN_STATE_RESPONSE_H
#define CAROM_LEARN_STATE_RESPONSE_H

#include "base/envelope.h"
#include "learn/observations.h"
#include "learn/projection.h"

/* Numbers of a state, 2 M, that an estimate may have: a pass takes as many predictions of each chunk. */
enum { STATES_MOST_NUMBERS = 128 };

/* Predictions that run at once, where one chunk needs no more. */
enum { STATES_MOST_SAMPLES = 1500 };

struct state_response {
  bool known;                     /* false before the first pass: states stand still */
  int chunks, numbers, residuals; /* n = 2 M, R */
  const envelope *shape;          /* of a full matrix [n][n] */
  float *slopes;                  /* [chunks][n][R] J', steps of a state in deviations */
  double *weights;                /* [chunks][R] W */
  double *factors;                /* [chunks][n (n + 1) / 2] of H */
};

/* Bytes that the response of so many chunks takes. */
size_t response_bytes(int chunks, int numbers, int residuals);

/* false: no memory. response_free is due in any case. */
bool response_init(state_response *r, int chunks, const envelope *shape, int residuals);
void response_free(state_response *r);

/* Takes it anew at the states where the observations begin, with the damping [chunks] that steps from there
 * have: a state that jumps of contacts hold where it is does not follow. After an error nothing is known. */
carom_status response_take(state_response *r, carom_model *model, const observations *observed,
                           const double *damping, projection *onto, carom_error *error);

/* The slopes of a chunk by number a of its state: [R]. */
static inline const float *response_slope(const state_response *r, int chunk, int a) {
  return r->slopes + ((size_t)chunk * (size_t)r->numbers + (size_t)a) * (size_t)r->residuals;
}

/* z [R] <- P z, and the reverse: z_bar <- P' z_bar. */
void response_follow(const state_response *r, int chunk, double *z);
void response_follow_vjp(const state_response *r, int chunk, double *z_bar);

#endif
