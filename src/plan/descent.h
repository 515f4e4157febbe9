/* Minimising the objective from one start: gradient descent, AdamW, L-BFGS, within bounds.
 *
 * Numbers have a measure w (plan->measure): the inner product is sum w a b. So the gradient of a control
 * is that by a function of time, g / w, and does not depend on how many numbers the function is given by.
 * Gradient descent steps along g / w; L-BFGS begins with it and takes its curvature from pairs of steps s
 * and changes of g; AdamW, which scales each number by itself, has no use for it.
 *
 * A step is cut at the bounds (projected). Steps that lead to no possible motion are halved. */
#ifndef CAROM_PLAN_DESCENT_H
#define CAROM_PLAN_DESCENT_H

#include "plan/attempt.h"

typedef struct descent {
  const carom_plan *plan;
  const carom_plan_options *options;
  attempt *attempt;
  bool (*report)(void *user, int iteration, double loss); /* false: stop */
  void *user;

  double *z, *g; /* [unknown_count] where it is, the gradient there */
  double loss;
  int missing;
  double *trial, *trial_g, *direction; /* [unknown_count] */
  double *s, *y, *rho;                 /* L-BFGS: [memory][unknown_count], [memory] */
  int pairs, newest;

  /* what is kept */
  double *best;                   /* [unknown_count] */
  double *losses, *norms, *rates; /* [iterations + 1] */
  double *history;                /* [iterations + 1][unknown_count] */
  carom_plan_start outcome;
} descent;

/* Room for all iterations; descent_free takes what a failure left, too. */
carom_status descent_init(descent *d, const carom_plan *plan, const carom_plan_options *options,
                          carom_error *error);
void descent_free(descent *d);

/* From z on. An impossible start is an error; later ones are not. */
carom_status descent_run(descent *d, const double *start, carom_error *error);

#endif
