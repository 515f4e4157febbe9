/* Repetitions of noisy data: trajectories with contacts at the time of impact, and normal noise of one deviation on
 * positions and velocities of points and centres, angles and rates of rigid bodies. */
#ifndef CAROM_TEST_NOISY_H
#define CAROM_TEST_NOISY_H

#include "carom.h"

typedef struct noisy_setting {
  carom_system *system;
  carom_rollout_options how;
  int count, steps;
  size_t size; /* of a state's positions */
} noisy_setting;

noisy_setting noisy_make(carom_system *system, int count, int steps);

/* Trajectories from the scene's sampler, without noise. */
carom_trajectories noisy_simulate(const noisy_setting *s, uint64_t seed);

void noisy_disturb(const noisy_setting *s, carom_trajectories *t, double noise, uint64_t seed);

#endif
