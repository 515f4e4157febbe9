/* Velocities of given trajectories: to which time they belong, and how they are computed from positions
 * on either side of an impact.
 *
 * The state (x_k, v_k) of a smooth motion has both at one time, so that v_k is the central difference
 * c = (x_{k+1} - x_{k-1}) / 2 dt up to the square of dt. Many simulators and filters keep the velocity of
 * the step that led to the state, b = (x_k - x_{k-1}) / dt, or that of the step that follows,
 * f = (x_{k+1} - x_k) / dt. The three differ by half the change of velocity of a step. Which one v_k is
 * close to can be told wherever that is more than the scatter. The centres of bodies tell it: the axes of
 * a body are often given as omega x axis, which is tangent whatever time omega belongs to. */
#ifndef CAROM_LEARN_VELOCITY_H
#define CAROM_LEARN_VELOCITY_H

#include "carom.h"
#include "learn/motion.h"

typedef enum velocity_convention {
  VELOCITY_UNDECIDED, /* too smooth, or too noisy */
  VELOCITY_OF_STATE,  /* central differences */
  VELOCITY_OF_STEP_BEFORE,
  VELOCITY_OF_STEP_AFTER
} velocity_convention;

/* Medians over steps without a contact of |v - c|, |v - b| and |v - f|. */
typedef struct velocity_fit {
  velocity_convention convention;
  int states; /* that were compared */
  double central, backward, forward;
} velocity_fit;

/* flags[i] [states of motion i] = 1 where a contact acted on the way to the state. */
carom_status velocity_fit_find(const carom_system *system, int count, const motion *motions,
                               const uint8_t *const *flags, velocity_fit *fit, carom_error *error);

/* v [states][size] from positions: the slope at its state of the quadratic through the states within
 * `reach` (1: central differences; 2: five states, smoother) that are on the same side of impacts, at
 * least three where there are so many. impacts[k] = 1 if one happened between k - 1 and k. */
void velocity_estimate(const motion *m, const uint8_t *impacts, int reach, double *v);

/* The same from velocities m->v that belong to the step before each state (after = false) or after it.
 * false if there is no memory. */
bool velocity_shift(const motion *m, const uint8_t *impacts, bool after, double *v);

#endif
