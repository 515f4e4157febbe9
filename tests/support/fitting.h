/* Data and fits for tests of identification. */
#ifndef CAROM_TEST_FITTING_H
#define CAROM_TEST_FITTING_H

#include "fit/fit.h"

typedef struct simulated {
  carom_system *system;
  carom_rollout_options how;
  carom_trajectories data;
} simulated;

/* Trajectories of a scene with normal noise on every coordinate, contacts at the time of impact if
 * `event`. */
simulated simulate_noisy(const char *scene, int count, int steps, bool event, double noise,
                         uint64_t seed);
/* Exact trajectories of a scene, contacts at the time of impact, of which states are taken at
 * random eighths of time steps: steps from one to 14 of them. */
simulated simulate_uneven(const char *scene, int count, int states, uint64_t seed);
void simulated_free(simulated *s);

/* Many short time steps of few samples: threads would wait for each other, above all where others
 * work too. */
carom_fit_options fit_one_thread(void);

/* These fail the test if they cannot be done. */
carom_fit *fit_make(const simulated *s, const char *unknowns, const carom_fit_options *options);
const carom_fit_result *fit_run(carom_fit *fit);
const carom_fit_estimate *fit_find(const carom_fit_result *r, const char *name);
bool fit_has_note(const carom_fit_result *r, const char *text);
double fit_cost_at(shooting *sh, const double *q, const double *starts);

/* Gradient by q and by the first states of all pieces, joins and priors included, beside
 * differences. */
void fit_check_gradient(carom_fit *fit, bool free_states);

#endif
