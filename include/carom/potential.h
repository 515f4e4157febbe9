/* A potential energy of the caller's own, in the place of the scene's or beside it. */
#ifndef CAROM_PUBLIC_POTENTIAL_H
#define CAROM_PUBLIC_POTENTIAL_H

#include <stdbool.h>

#include "rollout.h"

#ifdef __cplusplus
extern "C" {
#endif

/* V(x), given by its gradient and the derivative of that. Each function gets `count` states at once and
 * must treat each by itself, and must answer the same whenever it is asked the same: the derivative of a
 * rollout asks again. What it returns other than CAROM_OK ends the call that asked, with this status and
 * the message put into `error` (never NULL; carom_error_set). */
typedef struct carom_potential {
  /* gradient [count][point_count][dimension] = dV/dx at x, of the same shape */
  carom_status (*gradient)(void *user, int count, const double *x, double *gradient,
                           carom_error *error);
  /* the reverse: x_bar += Hessian(x) gradient_bar, all [count][point_count][dimension], and
   * parameters_bar [parameter_count] += the cotangent of the potential's own parameters, unless it is
   * NULL: not wanted */
  carom_status (*gradient_vjp)(void *user, int count, const double *x, const double *gradient_bar,
                               double *x_bar, double *parameters_bar, carom_error *error);
  int parameter_count; /* of its own, by which there are cotangents; 0: none */
  bool beside_scene;   /* true: the scene's gravity and springs act too */
  bool concurrent; /* true: may be called by several threads at once, each with a part of the batch
                          (options.shard_size). false: by the thread that runs the rollout alone, with the
                          whole batch, once for each stage of the integrator; with
                          CAROM_CONTACT_TIME_EVENT also with single states */
  void *user;      /* handed on */
} carom_potential;

/* carom_rollout_create with a potential, which is copied; what `user` points to must outlive the rollout. */
CAROM_API carom_status carom_rollout_create_with_potential(const carom_system *system,
                                                           const carom_rollout_options *options,
                                                           const carom_potential *energy, int batch,
                                                           carom_rollout **rollout,
                                                           carom_error *error);

/* Cotangents [parameter_count] of the potential's parameters by the last carom_rollout_vjp, owned by the
 * rollout; NULL where it has none. */
CAROM_API const double *carom_rollout_potential_bar(const carom_rollout *rollout);

#ifdef __cplusplus
}
#endif
#endif
