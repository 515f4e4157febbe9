/* One time step of one sample in which contacts act when their gaps close (docs/theory.md, section 16).
 *
 * A step is cut into stretches (stretch.h) by impacts. Of each stretch the length is the first root of a gap
 * along its own motion, the last takes what is left. At the root the contact event acts on velocities, for all
 * contacts that touch there, without compensation, since nothing overlaps. Contacts that would leave for a
 * fraction of a time step only, or not at all, last: they push over the following stretch.
 *
 * Which contacts last follows from the state alone; so a trajectory can be taken up at any of its states. */
#ifndef CAROM_ROLLOUT_IMPACT_STEP_H
#define CAROM_ROLLOUT_IMPACT_STEP_H

#include "rollout/stretch.h"
#include "rollout/tape.h"

/* Of impacts: those of the rollout, without compensation. */
carom_rollout_options impact_options(const carom_rollout_options *options);

typedef struct impact_setting {
  stretch_setting stretch;
  const carom_rollout_options *impact; /* impact_options */
  double dt;
  int sample, step;   /* for the log of impacts */
  contact_list *near; /* for detection, kept between steps */
  tape *tape;         /* NULL: nothing is kept */
  bool keeps_impacts;
  carom_report *report;
} impact_setting;

/* From x0, v0 [D]; x, v hold the end of the step as if there were no contacts, and then the end of the step.
 * *offset says where the tape has its stretches, -1 if it is one without contacts: then x, v are left as they
 * were. *acted: a contact did. False if memory is short. */
bool impact_step(const impact_setting *s, const double *x0, const double *v0, double *x, double *v,
                 int64_t *offset, bool *acted);

/* Reverses a step that has stretches on the tape; x_bar, v_bar [D] of its end become those of its start.
 * *impacts_left counts down the sample's impacts in the log. */
void impact_step_vjp(const impact_setting *s, int64_t offset, int *impacts_left, double *x_bar,
                     double *v_bar, double *theta_bar, double *potential_bar, double *u_bar);

#endif
