/* What may stand in the place of contact events: a function that changes the velocities of all samples of
 * a shard after a time step, with its derivative. The baselines' networks are such functions
 * (nn/velocity_network.h); the engine knows nothing else of them. */
#ifndef CAROM_ROLLOUT_VELOCITY_CHANGE_H
#define CAROM_ROLLOUT_VELOCITY_CHANGE_H

#include "physics/mechanics.h"

typedef struct velocity_change velocity_change;

struct velocity_change {
  bool at_contacts; /* it acts on samples with an active contact alone */
  bool whole_step;  /* there are no equations of motion: v <- v + change(x, v), x <- x + dt v */
  /* bytes that the derivative of one change of `count` samples needs kept */
  size_t (*record_bytes)(const velocity_change *self, int count);
  /* v [count][D] += change(x, v) of the samples whose `acts` is set; fills `record` */
  void (*apply)(const velocity_change *self, const mechanics *m, int count, const bool *acts,
                const double *x, double *v, void *record, arena *scratch);
  /* v_bar of the state after becomes that of the state before, x_bar +=, theta_bar += and
   * parameters_bar +=, which begins with those of the potential */
  void (*apply_vjp)(const velocity_change *self, const mechanics *m, int count, void *record,
                    double *x_bar, double *v_bar, double *theta_bar, double *parameters_bar,
                    arena *scratch);
};

#endif
