#include "support/noisy.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "support/give_up.h"
#include "system/system.h"

noisy_setting noisy_make(carom_system *system, int count, int steps) {
  noisy_setting s = {.system = system,
                     .how = carom_rollout_default_options(system),
                     .count = count,
                     .steps = steps,
                     .size = (size_t)system->coordinate_count};
  s.how.steps = steps;
  s.how.threads = 1;
  s.how.contact_time = CAROM_CONTACT_TIME_EVENT;
  return s;
}

carom_trajectories noisy_simulate(const noisy_setting *s, uint64_t seed) {
  size_t all = (size_t)s->count * (size_t)(s->steps + 1) * s->size;
  carom_trajectories t = {.batch = s->count,
                          .state_count = s->steps + 1,
                          .point_count = s->system->point_count,
                          .dimension = s->system->dimension,
                          .dt = s->how.dt,
                          .x = malloc(sizeof(double) * all),
                          .v = malloc(sizeof(double) * all)};
  double *x0 = calloc(2 * (size_t)s->count * s->size, sizeof(double)),
         *v0 = x0 + (size_t)s->count * s->size;
  if (carom_system_sample(s->system, seed, s->count, x0, v0, NULL) != CAROM_OK ||
      carom_system_simulate(s->system, &s->how, NULL, s->count, x0, v0, t.x, t.v, NULL, NULL,
                            NULL) != CAROM_OK)
    give_up("noisy_simulate", "no trajectories");
  free(x0);
  return t;
}

// a rigid body moved and turned as a whole, in the plane
static void disturb_rigid(double *x, double *v, int points, double noise, rng *random) {
  double angle = noise * rng_normal(random), rate = noise * rng_normal(random);
  double move[4];
  for (int i = 0; i < 4; i++) move[i] = noise * rng_normal(random);
  for (int k = points - 1; k >= 0; k--) {
    double axis[2] = {x[2 * k] - x[0], x[2 * k + 1] - x[1]};
    double turning[2] = {v[2 * k] - v[0], v[2 * k + 1] - v[1]};
    double c = cos(angle), s = sin(angle);
    double turned[2] = {c * axis[0] - s * axis[1], s * axis[0] + c * axis[1]};
    double faster[2] = {c * turning[0] - s * turning[1] - rate * turned[1],
                        s * turning[0] + c * turning[1] + rate * turned[0]};
    for (int i = 0; i < 2; i++) {
      x[2 * k + i] = x[i] + turned[i] + move[i];
      v[2 * k + i] = v[i] + faster[i] + move[2 + i];
    }
  }
}

void noisy_disturb(const noisy_setting *s, carom_trajectories *t, double noise, uint64_t seed) {
  const carom_system *system = s->system;
  rng random;
  rng_seed(&random, seed, 4711);
  for (int k = 0; k < t->batch * t->state_count; k++)
    for (int b = 0; b < system->body_count; b++) {
      const body *one = &system->bodies[b];
      size_t at = (size_t)k * s->size + (size_t)(one->first_point * system->dimension);
      if (one->rigid && system->dimension == 2) {
        disturb_rigid(t->x + at, t->v + at, one->point_count, noise, &random);
        continue;
      }
      for (int i = 0; i < one->point_count * system->dimension; i++) {
        t->x[at + (size_t)i] += noise * rng_normal(&random);
        t->v[at + (size_t)i] += noise * rng_normal(&random);
      }
    }
}
