/* A rollout of one scene's text with everything around it: initial states, parameters, controls, weights
 * of a loss over the trajectory and over impacts, and its derivative beside central differences. */
#ifndef CAROM_TESTS_SCENE_RUN_H
#define CAROM_TESTS_SCENE_RUN_H

#include "base/rng.h"
#include "carom.h"

typedef struct scene_run {
  carom_system *system;
  carom_system_info info;
  carom_rollout_options options; /* before the first run they may be changed */
  carom_rollout *rollout;        /* made by the first run */
  int batch, state, control;     /* samples; numbers of a state, of the controls of all steps */
  int parameters;
  double *x0, *v0, *u, *theta;                 /* u is used where the scene has controls */
  double *x0_bar, *v0_bar, *u_bar, *theta_bar; /* of the last scene_run_vjp */
  double *wx, *wv;                             /* [batch][steps + 1][state] weights of the loss */
  double
      *wi; /* [3 state + 1] weights of each impact's x, v_before, v_after and time, or all zero */
} scene_run;

/* A scene by its text or, without a brace, its name; initial states by seed. The steps are the scene's
 * unless `steps` is positive. */
void scene_run_open(scene_run *r, const char *scene, int batch, int steps, uint64_t seed);
void scene_run_close(scene_run *r);

/* Another rollout for the next run: options have changed. */
void scene_run_renew(scene_run *r);

/* Runs; the test fails with the message if that does. */
void scene_run_go(scene_run *r);

/* Takes friction and restitution away from the ends of their ranges, where differences cannot go. */
void scene_run_leave_bounds(scene_run *r);

/* Random weights of everything: of the trajectory, and of impacts if they are kept. */
void scene_run_weigh(scene_run *r, rng *random);

/* Runs and gives the weighted sum (user is the scene_run). */
double scene_run_loss(void *user);

/* The derivative of that sum, after a run. */
void scene_run_vjp(scene_run *r);

/* State `step` of a sample. */
const double *scene_run_x(const scene_run *r, int sample, int step);
const double *scene_run_v(const scene_run *r, int sample, int step);

/* Compares the derivative by initial states, parameters and controls with differences, `what` for the
 * message: each within `tolerance` unless the values show a kink. Returns how many could be compared;
 * *tried counts all. */
int scene_run_compare(scene_run *r, const char *what, double tolerance, rng *random, int *tried);

#endif
