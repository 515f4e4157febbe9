/* One motion of a plan with its objective and gradient. Each thread has one; what it needs is allocated
 * once. */
#ifndef CAROM_PLAN_ATTEMPT_H
#define CAROM_PLAN_ATTEMPT_H

#include "physics/mechanics.h"
#include "plan/plan.h"

typedef struct attempt {
  const carom_plan *plan;
  const carom_model *model; /* NULL: the scene's own properties */
  carom_rollout *rollout;
  mechanics mechanics; /* of systems with joints, whose starts are put on them */
  bool has_joints;
  double *theta, *theta_bar;                             /* [parameters] */
  double *free_x, *free_v;                               /* [D] the start before that */
  double *x0, *v0, *x0_bar, *v0_bar;                     /* [D] */
  double *u, *u_bar;                                     /* [steps][control_size] */
  const double *x, *v;                                   /* [steps + 1][D] the motion */
  double *x_bar, *v_bar;                                 /* [steps + 1][D] */
  double *terms;                                         /* [term_count] weighted */
  double *here_x, *here_v, *here_x_bar, *here_v_bar;     /* [D] a moment, */
  double *there_x, *there_v, *there_x_bar, *there_v_bar; /* and what it is compared with */
  double loss;
  int missing; /* moments that did not come; the last state stood for them */
  double forward_seconds, reverse_seconds; /* of the processor, all so far */
  int64_t runs, reverses;
  arena scratch;
} attempt;

/* `model` may be NULL. attempt_free takes what a failure left, too. */
carom_status attempt_init(attempt *e, const carom_plan *plan, const carom_model *model,
                          carom_error *error);
void attempt_free(attempt *e);

/* The motion and objective at z, and its gradient [unknown_count] unless NULL. A start that cannot be
 * (overlapping bodies, joints that cannot be closed) is CAROM_INVALID_DATA, a motion that diverges
 * CAROM_NUMERICAL_FAILURE. */
carom_status attempt_run(attempt *e, const double *z, double *gradient, carom_error *error);

#endif
