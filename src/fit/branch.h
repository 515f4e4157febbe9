/* Motion on the other side of an impact.
 *
 * A measured state just beside an impact lies on one side of it: before, or after. A prediction
 * whose impact comes a moment too late or too early is on the wrong side there, and off by the
 * whole change of velocity: the cost as a function of first states jumps whenever an impact passes
 * a measured time, and descent ends at the jump. So a state beside an impact is compared with both
 * sides, each continued as if the impact were not there,
 *
 *   before   from an impact of a time step to its end, with the velocity before it
 *   after    from an impact of a time step back to its start, with the velocity after it
 *
 * and what fits best counts. Each side is a smooth function of first states and parameters, and at
 * the time of the impact they are what the prediction is: there is no jump left. Of several impacts
 * in a time step all are asked: it is the last of them that passes its end, and the first that
 * passes its start. Which side a state belongs to is plain where velocities are measured, unless
 * they hardly change.
 *
 * Motion on a side is free flight from the impact, in both directions: of length h to where the
 * side really ends, at the next impact there or at the end of the time step, where the velocity
 * v_end says what contacts that last have done to it, and of length h' to the end it is continued
 * to, over which they are taken to push on,
 *
 *   c = (v_end - v(h)) / h        v' = v(h') + c h'        x' = x(h') + c h'^2 / 2
 */
#ifndef CAROM_FIT_BRANCH_H
#define CAROM_FIT_BRANCH_H

#include "physics/integrator.h"

typedef enum branch_side { BRANCH_BEFORE, BRANCH_AFTER, BRANCH_SIDES } branch_side;

/* Free flights of one state, with what their derivative needs. */
typedef struct branch_flight {
  mechanics mechanics;
  integrator integrator;
  step_record real, continued; /* of both flights */
  double *ends;                /* [2][2 D] of them */
  double *push;                /* [D] c */
  double h, further;           /* and h' */
  arena memory, scratch;
  int D;
  double dt; /* of the time step that is looked at */
} branch_flight;

/* False if memory is short; branch_flight_free is due in any case. */
bool branch_flight_init(branch_flight *f, const carom_system *system,
                        const carom_rollout_options *simulation);
void branch_flight_free(branch_flight *f);

/* The state s [2 D] that a side of one of the impacts in the only time step of a sample is
 * continued to. */
void branch_state(branch_flight *f, const carom_rollout *rollout, int sample, branch_side side,
                  int impact, double *s);

/* Reverses the last branch_state: puts the cotangent s_bar [2 D] of that state on the impacts it
 * comes from and on the velocities v_bar [2][D] at both ends of the time step, for a
 * carom_rollout_vjp without other cotangents; theta_bar [parameter_count] = what the flights
 * themselves add. */
void branch_state_vjp(branch_flight *f, carom_rollout *rollout, int sample, branch_side side,
                      int impact, const double *s_bar, double *v_bar, double *theta_bar);

#endif
