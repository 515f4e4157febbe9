#include "support/fitting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "support/systems.h"

// trajectories of a scene with normal noise on every coordinate
simulated simulate_noisy(const char *scene, int count, int steps, bool event, double noise,
                         uint64_t seed) {
  simulated s = {.system = load_system(scene)};
  const carom_system_info info = carom_system_describe(s.system);
  s.how = carom_rollout_default_options(s.system);
  s.how.steps = steps;
  if (event) s.how.contact_time = CAROM_CONTACT_TIME_EVENT;
  size_t size = (size_t)(info.point_count * info.dimension),
         all = (size_t)count * (size_t)(steps + 1) * size;
  double *x0 = calloc(2 * (size_t)count * size, sizeof(double)), *v0 = x0 + (size_t)count * size;
  s.data = (carom_trajectories){.batch = count,
                                .state_count = steps + 1,
                                .point_count = info.point_count,
                                .dimension = info.dimension,
                                .dt = info.dt,
                                .x = malloc(sizeof(double) * all),
                                .v = malloc(sizeof(double) * all)};
  assert_int_equal(carom_system_sample(s.system, seed, count, x0, v0, NULL), CAROM_OK);
  assert_int_equal(carom_system_simulate(s.system, &s.how, NULL, count, x0, v0, s.data.x, s.data.v,
                                         NULL, NULL, NULL),
                   CAROM_OK);
  free(x0);
  rng random;
  rng_seed(&random, seed, 77);
  for (size_t i = 0; i < all && noise > 0; i++) {
    s.data.x[i] += noise * rng_normal(&random);
    s.data.v[i] += noise * rng_normal(&random);
  }
  return s;
}

void simulated_free(simulated *s) {
  carom_trajectories_free(&s->data);
  carom_system_destroy(s->system);
}

// many short time steps of few samples: threads would wait for each other, above all where others work too
carom_fit_options fit_one_thread(void) {
  carom_fit_options options = carom_fit_default_options();
  options.threads = 1;
  return options;
}

carom_fit *fit_make(const simulated *s, const char *unknowns, const carom_fit_options *options) {
  carom_error error = {0};
  carom_fit *fit = NULL;
  if (carom_fit_create(s->system, &s->data, unknowns, &s->how, options, &fit, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  return fit;
}

const carom_fit_result *fit_run(carom_fit *fit) {
  carom_error error = {0};
  if (carom_fit_run(fit, &error) != CAROM_OK) fail_msg("%s", error.message);
  return carom_fit_result_of(fit);
}

const carom_fit_estimate *fit_find(const carom_fit_result *r, const char *name) {
  for (int i = 0; i < r->estimate_count; i++)
    if (strcmp(r->estimates[i].name, name) == 0) return &r->estimates[i];
  fail_msg("no estimate of %s", name);
  return &r->estimates[0];
}

double fit_cost_at(shooting *sh, const double *q, const double *starts) {
  double cost;
  assert_int_equal(shooting_evaluate(sh, q, starts, NULL, 0, false, &cost, NULL), CAROM_OK);
  return cost;
}

bool fit_has_note(const carom_fit_result *r, const char *text) {
  for (int i = 0; i < r->note_count; i++)
    if (strstr(r->notes[i].text, text) != NULL) return true;
  return false;
}
