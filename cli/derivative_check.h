/* Comparing the derivative of a rollout with finite differences.
 *
 * The function is a fixed random linear functional of the trajectory of a short chunk: smooth, and
 * it sees every entry. Along a random direction of one segment (initial positions, initial
 * velocities, controls, or a segment of theta) its derivative is taken by central differences with steps h,
 * h/2, h/4 and Richardson extrapolation, and compared with the vector-Jacobian product.
 *
 * The trajectory is only piecewise smooth. A chunk is skipped for a direction, and counted, if even
 * after two reductions of h
 *  - the contact flags of a perturbed run differ from the unperturbed ones,
 *  - or two extrapolations from different steps disagree (a kink inside the step),
 *  - or the slopes to the left and to the right disagree (a kink at the point itself).
 * None of these looks at the derivative that is being checked. */
#ifndef CAROM_CLI_DERIVATIVE_CHECK_H
#define CAROM_CLI_DERIVATIVE_CHECK_H

#include "cli/setup.h"

enum {
  CHUNK_STATES = 5,
  CHUNK_STEPS = CHUNK_STATES - 1,
  CHECK_X0 = 0,
  CHECK_V0 = 1,
  CHECK_U = 2,     /* controls, where the scene has some: random ones of moderate size */
  CHECK_THETA = 3, /* first segment of theta */
  CHECK_SEGMENT_COUNT = CHECK_THETA + CAROM_SEGMENT_COUNT
};

/* Start states of chunks, none with an active contact. */
typedef struct chunk_set {
  int count;
  double *x0, *v0; /* [count][point_count][dimension] */
} chunk_set;

/* Cuts trajectories [batch][states][...] into chunks: of each at most one with and one without a
 * contact, chosen at random. */
carom_status chunks_collect(const setup *s, const double *x, const double *v,
                            const uint8_t *contact, int state_count, uint64_t seed,
                            chunk_set *without, chunk_set *with, carom_error *error);
void chunks_free(chunk_set *chunks);

typedef struct check_result {
  int segment_size;
  int total;      /* chunks times directions */
  int used;       /* those that were not skipped */
  double worst;   /* largest relative error of those used */
  bool no_effect; /* derivative and difference are exactly zero everywhere */
} check_result;

/* Checks every segment over a set of chunks with s->options and s->theta. `results` is
 * [CHECK_SEGMENT_COUNT], `report` that of the chunks as they are: where programs failed, differences and
 * derivative may be of different things. Ctrl-C ends it between differences (CAROM_INTERRUPTED). */
carom_status derivative_check(const setup *s, const chunk_set *chunks, int directions,
                              uint64_t seed, check_result *results, carom_report *report,
                              carom_error *error);

const char *check_segment_name(const carom_system *system, int segment);

#endif
