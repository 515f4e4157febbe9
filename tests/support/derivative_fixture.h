/* A point at which functions of physics/ and contact/ are differentiated: a system, parameters, a state, a random
 * functional of what a function computes, and room for its gradient. */
#ifndef CAROM_TESTS_DERIVATIVE_FIXTURE_H
#define CAROM_TESTS_DERIVATIVE_FIXTURE_H

#include "contact/contact_event.h"
#include "system/sampler.h"

typedef struct fixture {
  carom_system *system;
  mechanics mechanics;
  double *theta, *x, *v, *g; /* inputs; g is a free force */
  double *theta_bar, *x_bar, *v_bar, *g_bar;
  double dt_bar;  /* of the length of a time step */
  double *weight; /* [2D + rows] functional */
  carom_rollout_options options;
  carom_dynamics dynamics;
  carom_integrator method;
  bool drifts; /* velocities are left as they are, off the constraints */
  bool flat;   /* corners lie in a plane that they touch: a change of one of them is at a kink */
  contact_list active;
  rng shapes; /* directions of radii, corners, planes and drags */
  arena memory;
} fixture;

void fixture_open(fixture *f, const char *scene);
void fixture_close(fixture *f);

/* A sampled state with noise on it, random parameters inside their range, a random functional. */
void fixture_draw(fixture *f, rng *random, double noise);

void clear_bars(fixture *f);

#endif
