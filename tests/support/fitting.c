#include "support/fitting.h"

#include <math.h>
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

simulated simulate_uneven(const char *scene, int count, int states, uint64_t seed) {
  enum { FINE = 8 };
  const int fine = states * 2 * FINE;
  simulated s = {.system = load_system(scene)};
  const carom_system_info info = carom_system_describe(s.system);
  s.how = carom_rollout_default_options(s.system);
  s.how.contact_time = CAROM_CONTACT_TIME_EVENT;
  carom_rollout_options how = s.how;
  how.steps = fine;
  how.dt = info.dt / FINE;
  size_t size = (size_t)(info.point_count * info.dimension), row = (size_t)(fine + 1) * size;
  double *x0 = calloc(2 * (size_t)count * size, sizeof(double)), *v0 = x0 + (size_t)count * size;
  double *x = malloc(sizeof(double) * 2 * (size_t)count * row), *v = x + (size_t)count * row;
  size_t all = (size_t)count * (size_t)states;
  s.data = (carom_trajectories){.batch = count,
                                .state_count = states,
                                .point_count = info.point_count,
                                .dimension = info.dimension,
                                .dt = info.dt,
                                .x = malloc(sizeof(double) * all * size),
                                .v = malloc(sizeof(double) * all * size),
                                .times = malloc(sizeof(double) * all)};
  assert_int_equal(carom_system_sample(s.system, seed, count, x0, v0, NULL), CAROM_OK);
  assert_int_equal(
      carom_system_simulate(s.system, &how, NULL, count, x0, v0, x, v, NULL, NULL, NULL), CAROM_OK);
  rng random;
  rng_seed(&random, seed, 78);
  for (size_t i = 0; i < (size_t)count; i++)
    for (size_t k = 0, at = 0; k < (size_t)states; k++) {
      const size_t to = i * (size_t)states + k, from = i * row + at * size;
      memcpy(s.data.x + to * size, x + from, sizeof(double) * size);
      memcpy(s.data.v + to * size, v + from, sizeof(double) * size);
      s.data.times[to] = 100 + (double)at * how.dt;
      at += (size_t)rng_uniform(&random, 1, 2 * FINE - 1);
    }
  free(x0);
  free(x);
  return s;
}

void simulated_free(simulated *s) {
  carom_trajectories_free(&s->data);
  carom_system_destroy(s->system);
}

// many short time steps of few samples: threads would wait for each other, above all where others
// work too
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

void fit_check_gradient(carom_fit *fit, bool free_states) {
  shooting *sh = &fit->shooting;
  minimiser *m = &fit->minimiser;
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) sh->noise[c] = 1e-2 * (1 + c);
  sh->free_states = free_states;
  sh->join = 0.5;
  shooting_measured_starts(sh, m->q, m->starts);
  for (int j = 0; j < sh->p; j++) m->q[j] += 0.01;
  double cost;
  assert_int_equal(shooting_evaluate(sh, m->q, m->starts, NULL, 0, true, &cost, NULL), CAROM_OK);
  // B' K^-1 g taken back: the gradient is that before elimination
  normal_reduce(&m->normal, m->q, m->starts, 1e12, false);
  const double h = 1e-6;
  double scale = 0;
  for (int j = 0; j < sh->p; j++) scale = fmax(scale, fabs(m->normal.gq[j]));
  for (int j = 0; j < sh->p; j++) {
    double at = m->q[j];
    m->q[j] = at + h;
    double up = fit_cost_at(sh, m->q, m->starts);
    m->q[j] = at - h;
    double down = fit_cost_at(sh, m->q, m->starts);
    m->q[j] = at;
    assert_near(m->normal.gq[j], (up - down) / (2 * h), 1e-4 * scale);
  }
  scale = 0;
  for (int k = 0; k < sh->piece_count * sh->f && free_states; k++)
    scale = fmax(scale, fabs(m->normal.gz[k]));
  size_t row = 2 * (size_t)sh->D;
  double *z = calloc((size_t)sh->f, sizeof(double)), *kept = malloc(sizeof(double) * row);
  for (int k = 0; k < sh->piece_count * sh->f && free_states; k += 3) {
    double *start = m->starts + (size_t)(k / sh->f) * row, costs[2];
    memcpy(kept, start, sizeof(double) * row);
    for (int side = 0; side < 2; side++) {
      memcpy(start, kept, sizeof(double) * row);
      z[k % sh->f] = side == 0 ? h : -h;
      assert_true(tangent_move(&sh->tangent, start, z));
      costs[side] = fit_cost_at(sh, m->q, m->starts);
    }
    z[k % sh->f] = 0;
    memcpy(start, kept, sizeof(double) * row);
    assert_near(m->normal.gz[k], (costs[0] - costs[1]) / (2 * h), 1e-4 * scale);
  }
  free(z);
  free(kept);
}
