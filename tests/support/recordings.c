#include "support/recordings.h"

#include "learn/dataset.h"
#include "support/systems.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

size_t size_of(const carom_system *system) {
  const carom_system_info info = carom_system_describe(system);
  return (size_t)info.point_count * (size_t)info.dimension;
}

carom_dataset_options small_options(const carom_system *system) {
  carom_dataset_options o = carom_dataset_default_options(system);
  o.train = 100;
  o.validation = 30;
  o.test = 20;
  return o;
}

recording record(const char *scene, int count, int steps) {
  recording r = {.system = load_system(scene), .count = count, .states = steps + 1};
  r.size = size_of(r.system);
  size_t states = (size_t)count * (size_t)r.states;
  double *x0 = malloc(sizeof(double) * (size_t)count * r.size);
  double *v0 = malloc(sizeof(double) * (size_t)count * r.size);
  r.x = malloc(sizeof(double) * states * r.size);
  r.v = malloc(sizeof(double) * states * r.size);
  r.contact = malloc(states);
  carom_rollout_options o = carom_rollout_default_options(r.system);
  o.steps = steps;
  assert_int_equal(carom_system_sample(r.system, 5, count, x0, v0, NULL), CAROM_OK);
  assert_int_equal(
      carom_system_simulate(r.system, &o, NULL, count, x0, v0, r.x, r.v, r.contact, NULL, NULL),
      CAROM_OK);
  free(x0);
  free(v0);
  return r;
}

void record_free(recording *r) {
  free(r->x);
  free(r->v);
  free(r->contact);
  carom_system_destroy(r->system);
}

carom_trajectories trajectories_of(const recording *r, const uint8_t *contact) {
  const carom_system_info info = carom_system_describe(r->system);
  return (carom_trajectories){.batch = r->count,
                              .state_count = r->states,
                              .point_count = info.point_count,
                              .dimension = info.dimension,
                              .dt = 0.01,
                              .x = r->x,
                              .v = r->v,
                              .contact = (uint8_t *)contact};
}

/* Where the chunks of a split were cut: marks the states they took with split + 1. No state may be
 * taken twice. */
static void mark_states(const recording *r, const carom_chunks *chunks, int split, uint8_t *owner) {
  for (int k = 0; k < chunks->count; k++) {
    const double *first = chunks->x + (size_t)k * (size_t)chunks->states * r->size;
    int at = 0, states = r->count * r->states;
    while (at < states && memcmp(r->x + (size_t)at * r->size, first, sizeof(double) * r->size) != 0)
      at++;
    assert_true(at < states);
    // in one piece, from one trajectory
    assert_int_equal(at / r->states, (at + chunks->states - 1) / r->states);
    assert_memory_equal(r->x + (size_t)at * r->size, first,
                        sizeof(double) * r->size * (size_t)chunks->states);
    for (int i = 0; i < chunks->states; i++) {
      assert_int_equal(owner[at + i], 0);
      owner[at + i] = (uint8_t)(split + 1);
    }
  }
}

uint8_t *find_owners(const recording *r, carom_dataset *data) {
  uint8_t *owner = calloc((size_t)r->count * (size_t)r->states, 1);
  for (int split = 0; split < SPLIT_COUNT; split++)
    mark_states(r, dataset_split(data, split), split, owner);
  return owner;
}

static void assert_same_chunks(const carom_system *system, const carom_chunks *a,
                               const carom_chunks *b) {
  assert_int_equal(a->count, b->count);
  assert_int_equal(a->states, b->states);
  size_t states = (size_t)a->count * (size_t)a->states;
  assert_memory_equal(a->x, b->x, sizeof(double) * states * size_of(system));
  assert_memory_equal(a->v, b->v, sizeof(double) * states * size_of(system));
  assert_memory_equal(a->contact, b->contact, states);
}

void assert_same_data(const carom_system *system, carom_dataset *a, carom_dataset *b) {
  assert_true(a->dt == b->dt);
  for (int k = 0; k < SPLIT_COUNT; k++)
    assert_same_chunks(system, dataset_split(a, k), dataset_split(b, k));
}

void assert_constraints(const carom_system *system, const carom_chunks *chunks, double tolerance) {
  carom_error error;
  if (carom_system_check_states(system, chunks->count * chunks->states, chunks->x, chunks->v,
                                tolerance, &error) != CAROM_OK)
    fail_msg("%s", error.message);
}
