/* The search of identification where the cost jumps: many balls, whose impacts may come in another order. */
#include "fit/edge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/fitting.h"
#include "support/noisy.h"
#include "support/quick.h"
#include "support/systems.h"

static const double NOISE = 0.01;

/* A repetition of BP5 of docs/results/fitting.md, with the noise that it has. */
typedef struct repetition {
  simulated s;
  carom_trajectories exact;
  carom_fit *fit;
} repetition;

static repetition repetition_make(uint64_t seed) {
  noisy_setting setting = noisy_make(load_system("bp5"), 5, 30);
  repetition r = {
      .s = {.system = setting.system, .how = setting.how, .data = noisy_simulate(&setting, seed)},
      .exact = noisy_simulate(&setting, seed)};
  noisy_disturb(&setting, &r.s.data, NOISE, seed);
  carom_fit_options options = fit_one_thread();
  options.position_noise = options.velocity_noise = NOISE;
  options.project = true;
  r.fit = fit_make(&r.s,
                   "friction[c-d]:start=0.3,restitution[c-d]:start=0.3,mass[b]:start=0.25,mass[c]:"
                   "start=0.12,mass[d]:start=1,mass[e]:start=0.2",
                   &options);
  return r;
}

static void repetition_free(repetition *r) {
  carom_fit_destroy(r->fit);
  carom_trajectories_free(&r->exact);
  simulated_free(&r->s);
}

/* Where descent alone from the true numbers and first states ends. */
static void descend_from_truth(repetition *r) {
  minimiser *m = &r->fit->minimiser;
  shooting *sh = &r->fit->shooting;
  const size_t D = (size_t)sh->D;
  for (int j = 0; j < sh->p; j++)
    m->q[j] = unknown_coordinate(&r->fit->unknowns.items[j], r->fit->unknowns.items[j].scene);
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) sh->noise[c] = NOISE;
  sh->free_states = true;
  assert_int_equal(shooting_recut(sh, 60, NULL), CAROM_OK);
  for (int i = 0; i < sh->piece_count; i++) {
    const size_t from = (size_t)i * (size_t)r->exact.state_count * D;
    memcpy(m->starts + (size_t)i * 2 * D, r->exact.x + from, sizeof(double) * D);
    memcpy(m->starts + ((size_t)i * 2 + 1) * D, r->exact.v + from, sizeof(double) * D);
  }
  assert_int_equal(minimise(m, NULL), CAROM_OK);
}

/* One trajectory at a jump of the cost does not stop the others, nor the unknowns: 40 more where it does. */
static void test_shares(void **state) {
  (void)state;
  repetition r = repetition_make(34);
  descend_from_truth(&r);
  assert_true(r.fit->minimiser.cost < 1525);
  repetition_free(&r);
}

/* At the edge of a jump descent ends where it meets it; 8 lower on the edge. */
static void test_slides(void **state) {
  (void)state;
  repetition r = repetition_make(37);
  minimiser *m = &r.fit->minimiser;
  descend_from_truth(&r);
  const double before = m->cost;
  bool moved;
  assert_int_equal(edge_search(m, &moved, NULL), CAROM_OK);
  assert_true(moved);
  assert_true(fit_cost_at(&r.fit->shooting, m->q, m->starts) < before - 4);
  repetition_free(&r);
}

static void check_least(uint64_t seed, double least) {
  if (quick()) skip();
  repetition r = repetition_make(seed);
  fit_run(r.fit);
  assert_true(r.fit->minimiser.cost < least + 0.5);
  repetition_free(&r);
}

/* Masses that few impacts tell: without pieces of two states, which have one impact each at most, they are a factor of
 * two off, and cost 2400 more. */
static void test_short_pieces(void **state) {
  (void)state;
  check_least(7, 1430.68);
}

/* A fit that ended 4900 higher when unknowns moved while first states were found. Something else of the search leads there as
 * well by now: this guards the end, not the way. */
static void test_held_unknowns(void **state) {
  (void)state;
  check_least(60, 1466.83);
}

/* A fit whose least cost is at an edge: 5 more where descent meets it. */
static void test_fit_at_edge(void **state) {
  (void)state;
  check_least(47, 1534.96);
}

/* A trajectory in a wrong valley that pulls the unknowns against all others: 133 more. */
static void test_outvoted(void **state) {
  (void)state;
  check_least(44, 1544.37);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shares),       cmocka_unit_test(test_slides),
      cmocka_unit_test(test_short_pieces), cmocka_unit_test(test_held_unknowns),
      cmocka_unit_test(test_fit_at_edge),  cmocka_unit_test(test_outvoted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
