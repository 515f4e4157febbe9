/* The search of identification where the cost jumps: many balls, whose impacts may come in another
 * order. */
#include "fit/edge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fit/met.h"
#include "fit/population.h"
#include "fit/search.h"
#include "fit/valley.h"
#include "support/fitting.h"
#include "support/noisy.h"
#include "support/quick.h"
#include "support/systems.h"

/* A repetition of BP5 of docs/results/fitting.md, with the noise that it has. */
typedef struct repetition {
  simulated s;
  carom_trajectories exact;
  carom_fit *fit;
} repetition;

static repetition repetition_make(uint64_t seed, int count, int steps, double noise) {
  noisy_setting setting = noisy_make(load_system("bp5"), count, steps);
  repetition r = {
      .s = {.system = setting.system, .how = setting.how, .data = noisy_simulate(&setting, seed)},
      .exact = noisy_simulate(&setting, seed)};
  noisy_disturb(&setting, &r.s.data, noise, seed);
  carom_fit_options options = fit_one_thread();
  options.position_noise = options.velocity_noise = noise;
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

/* True numbers and first states, of whole trajectories. */
static void begin_at_truth(repetition *r, double noise) {
  minimiser *m = &r->fit->minimiser;
  shooting *sh = &r->fit->shooting;
  const size_t D = (size_t)sh->D;
  for (int j = 0; j < sh->p; j++)
    m->q[j] = unknown_coordinate(&r->fit->unknowns.items[j], r->fit->unknowns.items[j].scene);
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) sh->noise[c] = noise;
  sh->free_states = true;
  assert_int_equal(shooting_recut(sh, 60, NULL), CAROM_OK);
  for (int i = 0; i < sh->piece_count; i++) {
    const size_t from = (size_t)i * (size_t)r->exact.state_count * D;
    memcpy(m->starts + (size_t)i * 2 * D, r->exact.x + from, sizeof(double) * D);
    memcpy(m->starts + ((size_t)i * 2 + 1) * D, r->exact.v + from, sizeof(double) * D);
  }
}

/* Where descent alone from there ends. */
static void descend_from_truth(repetition *r, double noise) {
  begin_at_truth(r, noise);
  assert_int_equal(minimise(&r->fit->minimiser, NULL), CAROM_OK);
}

/* ---- evaluations ----------------------------------------------------------------------------- */

enum { MOST = 32 };

static void evaluate(repetition *r, const int *subset, int count, bool derivatives) {
  minimiser *m = &r->fit->minimiser;
  double cost;
  assert_int_equal(shooting_evaluate(&r->fit->shooting, m->q, m->starts, subset, count, derivatives,
                                     &cost, NULL),
                   CAROM_OK);
  assert_true(isfinite(cost));
}

/* Pieces of unequal lengths in one batch, of which the longer ones go on alone, are what each is by
 * itself, to the bit. */
static void test_pieces_together(void **state) {
  (void)state;
  repetition r = repetition_make(3, 2, 22, 0.05);
  shooting *sh = &r.fit->shooting;
  begin_at_truth(&r, 0.05);
  assert_int_equal(shooting_recut(sh, 5, NULL), CAROM_OK);
  shooting_measured_starts(sh, r.fit->minimiser.q, r.fit->minimiser.starts);
  assert_in_range(sh->piece_count, 6, MOST);
  bool unequal = false;
  for (int i = 1; i < sh->piece_count; i++)
    unequal = unequal || sh->pieces[i].count != sh->pieces[0].count;
  assert_true(unequal);
  const size_t block = sizeof(double) * (size_t)(sh->f * sh->f);
  double costs[MOST], *blocks = malloc(block * MOST);
  assert_non_null(blocks);
  evaluate(&r, NULL, 0, true);
  memcpy(costs, sh->piece_cost, sizeof(double) * (size_t)sh->piece_count);
  for (int i = 0; i < sh->piece_count; i++)
    memcpy((char *)blocks + (size_t)i * block, sh->normals[i].ss, block);
  for (int i = 0; i < sh->piece_count; i++) {
    evaluate(&r, &i, 1, true);
    assert_near(sh->piece_cost[i], costs[i], 0);
    assert_memory_equal((char *)blocks + (size_t)i * block, sh->normals[i].ss, block);
  }
  free(blocks);
  repetition_free(&r);
}

/* A piece that costs more than its limit is given up, and no other is; what states from a mark on
 * cost counts by a degree. */
static void test_limits(void **state) {
  (void)state;
  static const double degrees[] = {1, 0.25, 1};
  static const double beyond[] = {1 - 1e-9, 1 - 1e-9, 0.2}; // the last ones long before their end
  repetition r = repetition_make(3, 2, 22, 0.05);
  shooting *sh = &r.fit->shooting;
  begin_at_truth(&r, 0.05);
  assert_int_equal(shooting_recut(sh, 5, NULL), CAROM_OK);
  shooting_measured_starts(sh, r.fit->minimiser.q, r.fit->minimiser.starts);
  double costs[MOST], marked[MOST], limits[MOST];
  sh->mark = 2;
  evaluate(&r, NULL, 0, false);
  memcpy(costs, sh->piece_cost, sizeof(double) * (size_t)sh->piece_count);
  memcpy(marked, sh->mark_cost, sizeof(double) * (size_t)sh->piece_count);
  for (int round = 0; round < 3; round++) {
    sh->degree = degrees[round];
    for (int i = 0; i < sh->piece_count; i++) {
      const double counted = marked[i] + sh->degree * (costs[i] - marked[i]);
      assert_true(marked[i] > 0 && costs[i] > marked[i]);
      limits[i] = counted * (i % 2 == 0 ? 1 + 1e-9 : beyond[round]);
    }
    const minimiser *m = &r.fit->minimiser;
    bool there;
    assert_int_equal(shooting_try(sh, m->q, m->starts, NULL, 0, limits, &there, NULL), CAROM_OK);
    assert_true(there);
    for (int i = 0; i < sh->piece_count; i++) {
      if (i % 2 == 0) assert_near(sh->piece_cost[i], costs[i], 0);
      if (i % 2 == 1) assert_true(isinf(sh->piece_cost[i]));
    }
  }
  repetition_free(&r);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* One trajectory at a jump of the cost does not stop the others, nor the unknowns: 40 more where it
 * does. */
static void test_shares(void **state) {
  (void)state;
  repetition r = repetition_make(34, 5, 30, 0.01);
  descend_from_truth(&r, 0.01);
  assert_true(r.fit->minimiser.cost < 1525);
  repetition_free(&r);
}

/* At the edge of a jump descent ends where it meets it; 8 lower on the edge. */
static void test_slides(void **state) {
  (void)state;
  repetition r = repetition_make(37, 5, 30, 0.01);
  minimiser *m = &r.fit->minimiser;
  descend_from_truth(&r, 0.01);
  const double before = m->cost;
  bool moved;
  assert_int_equal(edge_search(m, &moved, NULL), CAROM_OK);
  assert_true(moved);
  assert_true(fit_cost_at(&r.fit->shooting, m->q, m->starts) < before - 4);
  repetition_free(&r);
}

/* Masses that are a fifth off, with true first states: a trajectory that falls over an edge as it
 * follows the masses finds back, or it ends 30 and 475 above the least cost instead of 9 and
 * 226. */
static void test_way_back(void **state) {
  (void)state;
  if (quick()) skip();
  const double noise = 0.05;
  double above = 0;
  for (uint64_t seed = 1; seed <= 3; seed += 2) {
    repetition r = repetition_make(seed, 5, 30, noise);
    minimiser *m = &r.fit->minimiser;
    descend_from_truth(&r, noise);
    above -= m->cost;
    begin_at_truth(&r, noise);
    for (int j = 2; j < r.fit->shooting.p; j++) m->q[j] -= 0.2;
    assert_int_equal(minimise(m, NULL), CAROM_OK);
    above += m->cost;
    repetition_free(&r);
  }
  assert_true(above < 370);
}

/* ---- populations ----------------------------------------------------------------------------- */

/* First states whose measurement leaves many orders of impacts open, the unknowns held at the
 * truth: a single one that grows with the horizon (valley_states) ends 124 above the true ones in
 * three trajectories together, a population below them. */
static void test_population(void **state) {
  (void)state;
  static const uint64_t seeds[] = {4, 5, 11};
  const double noise = 0.05;
  double above = 0;
  for (int k = 0; k < (quick() ? 1 : 3); k++) {
    repetition r = repetition_make(seeds[k], 1, quick() ? 3 : 30, noise);
    minimiser *m = &r.fit->minimiser;
    shooting *sh = &r.fit->shooting;
    bool moved;
    begin_at_truth(&r, noise);
    above -= fit_cost_at(sh, m->q, m->starts);
    shooting_measured_starts(sh, m->q, m->starts);
    m->gain = 0.5;
    assert_int_equal(population_search(m, -INFINITY, 0, &moved, NULL), CAROM_OK);
    assert_true(moved);
    above += fit_cost_at(sh, m->q, m->starts);
    repetition_free(&r);
  }
  assert_true(above < 10);
}

/* A sample of the likelihood itself is above the floor of its valley, and descents from there end
 * on edges: four draws together would be 10 above the true first states instead of 10 below. */
static void test_cold_population(void **state) {
  (void)state;
  if (quick()) skip();
  const double noise = 0.05;
  repetition r = repetition_make(5, 1, 30, noise);
  minimiser *m = &r.fit->minimiser;
  shooting *sh = &r.fit->shooting;
  double above = 0;
  bool moved;
  begin_at_truth(&r, noise);
  const double truth = fit_cost_at(sh, m->q, m->starts);
  for (int draw = 0; draw < 4; draw++) {
    shooting_measured_starts(sh, m->q, m->starts);
    assert_int_equal(population_search(m, -INFINITY, draw, &moved, NULL), CAROM_OK);
    above += fit_cost_at(sh, m->q, m->starts) - truth;
  }
  assert_true(above < -4);
  repetition_free(&r);
}

/* One state with its velocities tells a first state: there is nothing to look for, and no member
 * has a cost to be chosen by. */
static void test_population_of_one_state(void **state) {
  (void)state;
  const double noise = 0.05;
  repetition r = repetition_make(5, 1, 3, noise);
  minimiser *m = &r.fit->minimiser;
  bool moved = true;
  begin_at_truth(&r, noise);
  r.fit->shooting.horizon = 1;
  assert_int_equal(population_search(m, -INFINITY, 0, &moved, NULL), CAROM_OK);
  assert_false(moved);
  repetition_free(&r);
}

/* Of many pieces the worst are looked at, and none becomes worse. */
static void test_worst_pieces(void **state) {
  (void)state;
  if (quick()) skip();
  enum { LOOKED_AT = POPULATION_PIECES };
  const double noise = 0.05;
  repetition r = repetition_make(4, 2, 30, noise);
  minimiser *m = &r.fit->minimiser;
  shooting *sh = &r.fit->shooting;
  bool moved;
  begin_at_truth(&r, noise);
  assert_int_equal(shooting_recut(sh, 2, NULL), CAROM_OK);
  assert_true(sh->piece_count > LOOKED_AT);
  shooting_measured_starts(sh, m->q, m->starts);
  assert_int_equal(population_search(m, -INFINITY, 0, &moved, NULL), CAROM_OK);
  for (int k = 1; k < LOOKED_AT; k++)
    assert_true(m->totals[m->subset[k]] <= m->totals[m->subset[k - 1]]);
  fit_cost_at(sh, m->q, m->starts);
  for (int i = 0; i < sh->piece_count; i++) {
    bool looked_at = false;
    for (int k = 0; k < LOOKED_AT; k++) looked_at = looked_at || m->subset[k] == i;
    assert_true(sh->piece_cost[i] <= m->totals[i]);
    if (!looked_at) assert_true(m->totals[i] <= m->totals[m->subset[LOOKED_AT - 1]]);
    if (!looked_at) assert_near(sh->piece_cost[i], m->totals[i], 0);
  }
  repetition_free(&r);
}

/* First states that were met elsewhere are tried here: a search of single ones (valley_states) ends
 * above the true ones, which are among those that were met, beside measured ones, from which
 * descent leads nowhere. */
static void test_met(void **state) {
  (void)state;
  if (quick()) skip();
  const double noise = 0.05;
  repetition r = repetition_make(5, 1, 30, noise);
  minimiser *m = &r.fit->minimiser;
  shooting *sh = &r.fit->shooting;
  met all;
  bool moved;
  begin_at_truth(&r, noise);
  m->gain = 0.5;
  const double truth = fit_cost_at(sh, m->q, m->starts);
  assert_true(met_make(&all, m));
  assert_int_equal(met_search(&all, m, &moved, NULL), CAROM_OK); // of nothing
  assert_false(moved);
  for (int k = 0; k < MOST_MET + 2; k++) { // the last makes room
    begin_at_truth(&r, noise);
    if (k != 1) shooting_measured_starts(sh, m->q, m->starts);
    met_add(&all, m);
  }
  assert_int_equal(all.count, MOST_MET);
  assert_int_equal(valley_states(m, true, &moved, NULL), CAROM_OK);
  assert_true(fit_cost_at(sh, m->q, m->starts) > truth + 5);
  assert_int_equal(met_search(&all, m, &moved, NULL), CAROM_OK);
  assert_true(moved);
  assert_true(fit_cost_at(sh, m->q, m->starts) <= truth);
  met_free(&all);
  repetition_free(&r);
}

/* What a trajectory of points costs by itself, without a side to choose: that of a simulation
 * beside what was measured. */
static double cost_by_hand(const repetition *r, int index, double noise) {
  const shooting *sh = &r->fit->shooting;
  const int states = r->s.data.state_count, D = sh->D;
  const size_t all = (size_t)states * (size_t)D, from = (size_t)index * all;
  double *x = malloc(sizeof(double) * 2 * all), *v = x + all, cost = 0;
  const double *start = r->fit->minimiser.starts + (size_t)index * 2 * (size_t)D;
  double *theta = malloc(sizeof(double) * (size_t)sh->system->parameter_count);
  assert_non_null(x);
  assert_non_null(theta);
  carom_parameters_default(sh->system, theta);
  unknowns_put(sh->unknowns, r->fit->minimiser.q, theta, &r->fit->shooting.measure);
  assert_int_equal(carom_system_simulate(sh->system, &r->s.how, theta, 1, start, start + D, x, v,
                                         NULL, NULL, NULL),
                   CAROM_OK);
  for (size_t k = 0; k < all; k += 2) {
    const double off[] = {
        hypot(x[k] - r->s.data.x[from + k], x[k + 1] - r->s.data.x[from + k + 1]),
        hypot(v[k] - r->s.data.v[from + k], v[k + 1] - r->s.data.v[from + k + 1])};
    for (int c = 0; c < 2; c++) {
      const double size = off[c] / noise;
      cost += size > sh->huber ? sh->huber * (size - 0.5 * sh->huber) : 0.5 * size * size;
    }
  }
  free(x);
  free(theta);
  return cost;
}

/* At a minimum of the cost that lets states choose between the sides of impacts many take the other
 * one. What they gain by that is known, and of a strict cost, or one that is strict in part, they
 * do not have it. */
static void test_strict(void **state) {
  (void)state;
  const double noise = 0.05;
  repetition r = repetition_make(12, 2, 20, noise);
  shooting *sh = &r.fit->shooting;
  const minimiser *m = &r.fit->minimiser;
  double free_cost[2], gain[2];
  bool there;
  descend_from_truth(&r, noise);
  assert_int_equal(sh->piece_count, 2);
  evaluate(&r, NULL, 0, false);
  memcpy(free_cost, sh->piece_cost, sizeof free_cost);
  memcpy(gain, sh->side_gain, sizeof gain);
  assert_true(gain[0] > 100 && gain[1] > 100);
  for (int k = 1; k <= 4; k++) {
    const double strict[] = {k == 4 ? 1 : 0.25 * k, k == 4 ? 1 : 0.1};
    sh->strict = strict;
    assert_int_equal(shooting_try(sh, m->q, m->starts, NULL, 0, NULL, &there, NULL), CAROM_OK);
    for (int i = 0; i < 2; i++) {
      assert_near(sh->piece_cost[i], free_cost[i] + strict[i] * gain[i], 1e-8 * gain[i]);
      if (k == 4) assert_near(sh->piece_cost[i], cost_by_hand(&r, i, noise), 1e-6);
      if (k < 4) assert_near(sh->side_gain[i], gain[i], 1e-9 * gain[i]);
    }
  }
  // the first one is given up somewhere, and the other takes its place with what its last state has
  // gained
  const double strict[] = {0.5, 0.5}, whole = free_cost[1] + 0.5 * gain[1];
  sh->strict = strict;
  for (int k = 0; k < 40; k++) {
    const double most[] = {0.025 * k * (free_cost[0] + 0.5 * gain[0]), INFINITY};
    assert_int_equal(shooting_try(sh, m->q, m->starts, NULL, 0, most, &there, NULL), CAROM_OK);
    assert_true(isinf(sh->piece_cost[0]));
    assert_near(sh->piece_cost[1], whole, 1e-8 * whole);
  }
  sh->strict = NULL;
  repetition_free(&r);
}

/* ---- whole fits ------------------------------------------------------------------------------ */

static void check_least(uint64_t seed, double noise, double least) {
  if (quick()) skip();
  const bool estimate[CAROM_CHANNEL_COUNT] = {false};
  repetition r = repetition_make(seed, 5, 30, noise);
  assert_int_equal(search_run(r.fit, estimate, NULL),
                   CAROM_OK); // without a sample, which is as long again
  assert_true(r.fit->minimiser.cost < least + 0.5);
  repetition_free(&r);
}

/* Masses that few impacts tell: without pieces of two states, which have one impact each at most,
 * they are a factor of two off, and cost 2400 more. */
static void test_short_pieces(void **state) {
  (void)state;
  check_least(7, 0.01, 1430.68);
}

/* Noise of five times the way of a time step. Without pieces of four states, whose order of impacts
 * is hardly in question, masses are lost, and the fit ends 191 above the minimum beside the truth,
 * 1523.15. */
static void test_pieces_of_four(void **state) {
  (void)state;
  check_least(29, 0.05, 1523.15);
}

/* A fit whose least cost is at an edge: 5 more where descent meets it. */
static void test_fit_at_edge(void **state) {
  (void)state;
  check_least(47, 0.01, 1534.96);
}

/* A trajectory in a wrong valley that pulls the unknowns against all others: 133 more. */
static void test_outvoted(void **state) {
  (void)state;
  check_least(44, 0.01, 1544.37);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces_together),
                                     cmocka_unit_test(test_limits),
                                     cmocka_unit_test(test_shares),
                                     cmocka_unit_test(test_slides),
                                     cmocka_unit_test(test_way_back),
                                     cmocka_unit_test(test_population),
                                     cmocka_unit_test(test_cold_population),
                                     cmocka_unit_test(test_population_of_one_state),
                                     cmocka_unit_test(test_met),
                                     cmocka_unit_test(test_strict),
                                     cmocka_unit_test(test_worst_pieces),
                                     cmocka_unit_test(test_short_pieces),
                                     cmocka_unit_test(test_pieces_of_four),
                                     cmocka_unit_test(test_fit_at_edge),
                                     cmocka_unit_test(test_outvoted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
