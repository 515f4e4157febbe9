/* A system simulated step by step, with the energy of each part of a step: what the equations of motion do
 * to it between contacts, what impulses take, and what the shift of positions lifts. */
#ifndef CAROM_TESTS_STEPPER_H
#define CAROM_TESTS_STEPPER_H

#include "contact/contact_event.h"
#include "physics/integrator.h"

typedef struct stepper {
  carom_system *system;
  carom_rollout_options options;
  mechanics mechanics;
  integrator integrator;
  step_record record;
  contact_list active;
  arena memory, scratch;
  double *x, *v;      /* [D] the state */
  double first;       /* energy at the beginning */
  double energy;      /* now */
  double motion;      /* sum of the changes between contacts: errors of integration */
  double impulse;     /* largest change of kinetic energy in an event */
  double lifted;      /* sum of the changes of potential energy in events */
  double most;        /* largest excess of the energy over first + lifted */
  double given;       /* the same over first + lifted + motion: what events gave */
  double deepest;     /* overlap of the last event */
  int events, failed; /* programs that were not solved, shifts included */
  bool finite;
} stepper;

/* Takes the system over, at a sampled state; options are the scene's. */
void stepper_open(stepper *s, carom_system *system);
void stepper_close(stepper *s);

/* One time step. */
void stepper_step(stepper *s);

/* Until `steps` are over or something is not finite. */
void stepper_run(stepper *s, int steps);

double stepper_kinetic(stepper *s);

#endif
