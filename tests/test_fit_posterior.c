/* Samples of the likelihood of an identification: beside the normal distribution where it is one,
 * beside importance sampling where it has edges, and what a fit makes of them. */
#include "fit/posterior.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fit/chains.h"
#include "fit/draws.h"
#include "fit/population.h"
#include "fit/sample_search.h"
#include "support/fitting.h"
#include "support/noisy.h"
#include "support/quick.h"
#include "support/systems.h"

/* A ball that falls on the ground: it moves by 0.03 in the time step in which it touches. */
static const char *const ball =
    "{\"carom\": 1, \"name\": \"ball\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 30, "
    "\"gravity\": [0, -9.81],"
    " \"bodies\": [{\"id\": \"ball\", \"type\": \"point\", \"mass\": 1, \"radius\": 0.1}],"
    " \"planes\": [{\"id\": \"ground\", \"normal\": [0, 1], \"offset\": 0}],"
    " \"contacts\": {\"friction\": 0, \"restitution\": 0.6},"
    " \"initial\": {\"sampler\": \"state\", \"bodies\": [{\"body\": \"ball\", \"position\": [0, "
    "0.4],"
    " \"velocity\": [0.5, -1]}]}}";

typedef struct setup {
  simulated s;
  carom_fit *fit;
} setup;

/* A noisy trajectory of it, and its minimum from the true numbers and the measured state. */
static setup setup_make(const char *unknowns, int steps, double noise, uint64_t seed) {
  noisy_setting setting = noisy_make(parse_system(ball), 1, steps);
  setup t = {
      .s = {.system = setting.system, .how = setting.how, .data = noisy_simulate(&setting, seed)}};
  noisy_disturb(&setting, &t.s.data, noise, seed);
  carom_fit_options options = fit_one_thread();
  options.position_noise = options.velocity_noise = noise;
  t.fit = fit_make(&t.s, unknowns, &options);
  minimiser *m = &t.fit->minimiser;
  shooting *sh = m->sh;
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) sh->noise[c] = noise;
  sh->free_states = true;
  assert_int_equal(shooting_recut(sh, 1000, NULL), CAROM_OK);
  shooting_measured_starts(sh, m->q, m->starts);
  assert_int_equal(minimise(m, NULL), CAROM_OK);
  return t;
}

static void setup_free(setup *t) {
  carom_fit_destroy(t->fit);
  simulated_free(&t->s);
}

typedef struct spread {
  double mean, deviation;
} spread;

/* Mean and deviation of the first unknown over so many sweeps, of the likelihood itself. */
static spread sample(setup *t, int sweeps) {
  const double strict = 1;
  chains c;
  bool there;
  double sum = 0, square = 0;
  assert_int_equal(chains_make(&c, &t->fit->minimiser, &there, NULL), CAROM_OK);
  assert_true(there);
  c.sh->strict = &strict;
  assert_int_equal(chains_warm_up(&c, 50, NULL), CAROM_OK);
  for (int k = 0; k < sweeps; k++) {
    assert_int_equal(chains_sweep(&c, NULL), CAROM_OK);
    for (int member = 0; member < c.size; member++) {
      sum += c.q[member * c.p];
      square += c.q[member * c.p] * c.q[member * c.p];
    }
  }
  c.sh->strict = NULL;
  chains_free(&c);
  const double count = (double)sweeps * c.size, mean = sum / count;
  return (spread){mean, sqrt(square / count - mean * mean)};
}

/* A flight is linear in gravity and first state: its likelihood is normal, and the sample that of
 * the curvature. */
static void test_normal(void **state) {
  (void)state;
  setup t = setup_make("gravity", 12, 0.05, 3);
  minimiser *m = &t.fit->minimiser;
  double cost, share;
  bool rough;
  assert_int_equal(draws_roughness(m, &share, &rough, NULL), CAROM_OK);
  assert_near(share, 0, 0);
  assert_false(rough);
  assert_int_equal(shooting_evaluate(m->sh, m->q, m->starts, NULL, 0, true, &cost, NULL), CAROM_OK);
  normal_reduce(&m->normal, m->q, m->starts, 0, false);
  const double deviation = 1 / sqrt(m->normal.S[0]);
  const spread found = sample(&t, quick() ? 100 : 800);
  const double tolerance = (quick() ? 0.25 : 0.1) * deviation;
  assert_near(found.mean, m->q[0], tolerance);
  assert_near(found.deviation, deviation, tolerance);
  setup_free(&t);
}

/* The same by importance sampling: drawings from the normal distribution about the minimum, wider
 * by half, each weighed by its likelihood. How many of them count goes to `counting`. */
static spread weigh(setup *t, int drawings, double *counting) {
  const double strict = 1, WIDE = 1.6;
  minimiser *m = &t->fit->minimiser;
  shooting *sh = m->sh;
  const int f = sh->f;
  gaussian g;
  rng random;
  double cost, least = INFINITY, z[16], dz[16], zero = 0, base[16], start[16], dq;
  double *logs = malloc(sizeof(double) * 2 * (size_t)drawings), *q = logs + drawings;
  assert_non_null(logs);
  assert_true(f <= 16 && sh->p == 1 && 2 * sh->D <= 16);
  assert_true(gaussian_make(&g, sh));
  assert_int_equal(shooting_evaluate(sh, m->q, m->starts, NULL, 0, true, &cost, NULL), CAROM_OK);
  assert_true(gaussian_factor(&g, m));
  rng_seed(&random, 5, 5);
  normal_states(&m->normal, &zero, base);
  sh->strict = &strict;
  for (int k = 0; k < drawings; k++) {
    // the logarithm of the density from which (dq, z) come: of dq, and of z about what follows from
    // it
    double density = 0;
    bool there;
    gaussian_draw_unknowns(&g, &random, WIDE, &dq);
    density -= 0.5 * pow(dq * g.unknowns[0] / WIDE, 2);
    gaussian_draw_state(&g, &random, 0, WIDE, z);
    for (int i = 0; i < f; i++) {
      double y = 0; // L' z
      for (int j = i; j < f; j++) y += g.states[j * f + i] * z[j];
      density -= 0.5 * y * y / (WIDE * WIDE);
    }
    normal_states(&m->normal, &dq, dz);
    for (int i = 0; i < f; i++) z[i] += dz[i] - base[i];
    memcpy(start, m->starts, sizeof(double) * 2 * (size_t)sh->D);
    assert_true(tangent_move(&sh->tangent, start, z));
    q[k] = m->q[0] + dq;
    logs[k] = -INFINITY;
    if (q[k] < m->low[0] || q[k] > m->high[0]) continue;
    assert_int_equal(shooting_try(sh, &q[k], start, NULL, 0, NULL, &there, NULL), CAROM_OK);
    if (there) logs[k] = -sh->piece_cost[0] - unknowns_prior(sh->unknowns, &q[k]) - density;
    least = fmin(least, -logs[k]);
  }
  sh->strict = NULL;
  double sum = 0, square = 0, first = 0, second = 0;
  for (int k = 0; k < drawings; k++) {
    const double weight = exp(logs[k] + least);
    sum += weight, square += weight * weight;
    first += weight * q[k], second += weight * q[k] * q[k];
  }
  gaussian_free(&g);
  free(logs);
  *counting = sum * sum / square;
  return (spread){first / sum, sqrt(second / sum - pow(first / sum, 2))};
}

/* Noise of twice the way of a time step: the impact may be in one time step alone, which the
 * curvature does not know. */
static void test_edges(void **state) {
  (void)state;
  setup t = setup_make("restitution", 16, 0.1, 4);
  minimiser *m = &t.fit->minimiser;
  double counting, cost;
  const double tolerance = (quick() ? 0.25 : 0.1);
  const spread expected = weigh(&t, quick() ? 2000 : 40000, &counting);
  assert_true(counting > (quick() ? 50 : 1000));
  const spread found = sample(&t, quick() ? 100 : 1000);
  assert_near(found.mean, expected.mean, tolerance * expected.deviation);
  assert_near(found.deviation, expected.deviation, tolerance * expected.deviation);
  // it is not that of the curvature, or this would be no test
  assert_int_equal(shooting_evaluate(m->sh, m->q, m->starts, NULL, 0, true, &cost, NULL), CAROM_OK);
  normal_reduce(&m->normal, m->q, m->starts, 0, false);
  const double deviation = 1 / sqrt(m->normal.S[0]);
  assert_true(fabs(expected.deviation - deviation) > 0.25 * deviation ||
              fabs(expected.mean - m->q[0]) > 0.5 * deviation);
  setup_free(&t);
}

/* ---- several places -------------------------------------------------------------------------- */

/* A quarter of one normal distribution and three quarters of another: mean and covariance by
 * hand. */
static void test_join(void **state) {
  (void)state;
  double a[] = {1, 2, 0.5, 0.1, 0.1, 0.2}, b[] = {3, 1, 0.3, 0, 0, 0.4};
  posterior into = {.count = 10, .p = 2, .mean = a, .covariance = a + 2};
  const posterior other = {.count = 5, .p = 2, .mean = b, .covariance = b + 2};
  posterior_join(&into, 0.5, &other, 1.5);
  const double expected[] = {2.5,
                             1.25,
                             0.25 * 0.5 + 0.75 * 0.3 + 0.1875 * 4,
                             0.25 * 0.1 - 0.1875 * 2,
                             0.25 * 0.1 - 0.1875 * 2,
                             0.25 * 0.2 + 0.75 * 0.4 + 0.1875};
  for (int k = 0; k < 6; k++) assert_near(a[k], expected[k], 1e-14);
  assert_int_equal(into.count, 15);
  assert_int_equal(into.others, 1);
  posterior_join(&into, 1, &other, 0.01);
  assert_int_equal(into.others, 1);
}

/* To another value of the unknown, where a population finds the first state that fits it best. */
static void go_astray(carom_fit *fit, double q) {
  minimiser *m = &fit->minimiser;
  bool moved;
  m->q[0] = q;
  shooting_measured_starts(m->sh, m->q, m->starts);
  assert_int_equal(population_search(m, -INFINITY, 3, &moved, NULL), CAROM_OK);
}

/* A sample that begins eight deviations off stays there. Beside one of the right place, which was
 * visited too, it hardly counts, and the fit goes there. */
static void test_places(void **state) {
  (void)state;
  if (quick()) skip();
  const double noise = 0.05;
  const bool estimate[CAROM_CHANNEL_COUNT] = {0};
  noisy_setting setting = noisy_make(load_system(CAROM_TEST_DATA "/two-balls-in-box.json"), 1, 16);
  simulated s = {.system = setting.system, .how = setting.how, .data = noisy_simulate(&setting, 5)};
  noisy_disturb(&setting, &s.data, noise, 5);
  carom_fit_options options = fit_one_thread();
  options.position_noise = options.velocity_noise = noise;
  carom_fit *fit = fit_make(&s, "mass[b]:start=4", &options);
  minimiser *m = &fit->minimiser;
  fit_run(fit);
  assert_true(fit->sample.rough && fit->sample.count > 0);
  const double mean = fit->sample.mean[0], deviation = sqrt(fit->sample.covariance[0]),
               energy = fit->sample.energy, cost = m->cost, q = m->q[0];
  visited right = {0};
  visited_free(&fit->visited);
  assert_int_equal(visited_add(&right, fit, NULL), CAROM_OK);
  right.all[0].at.starts[0] += 0.04; // where it begins is not the best, either
  assert_true(fit_cost_at(m->sh, m->q, right.all[0].at.starts) > cost + 2);
  const double astray = mean + 8 * deviation;
  go_astray(fit, astray);
  assert_int_equal(sample_search(fit, estimate, NULL), CAROM_OK);
  assert_true(fit->sample.count > 0);
  assert_true(fit->sample.mean[0] > mean + 5 * deviation);
  assert_true(fit->sample.energy > energy + 10);

  go_astray(fit, astray);
  fit->visited = right;
  assert_int_equal(sample_search(fit, estimate, NULL), CAROM_OK);
  assert_near(fit->sample.mean[0], mean, deviation);
  assert_near(fit->sample.energy, energy, 2);
  assert_true(sqrt(fit->sample.covariance[0]) < 2 * deviation);
  assert_near(m->q[0], q, 0.5 * deviation);
  assert_near(fit_cost_at(m->sh, m->q, m->starts), cost, 0.5);
  for (int k = 0; k < m->rival_count; k++) // those of where it went astray are forgotten
    assert_near(m->rivals[2 * k + 1], q, 5 * deviation);
  carom_fit_destroy(fit);
  simulated_free(&s);
}

/* ---- fits ------------------------------------------------------------------------------------ */

/* Values and intervals of a sample in the place of those of the curvature, with a note; a warning
 * where there should be one and is none. */
static void test_judged(void **state) {
  (void)state;
  setup t = setup_make("restitution,gravity", 20, 0.02, 4);
  carom_fit *fit = t.fit;
  minimiser *m = &fit->minimiser;
  double cost;
  m->sh->note_felt = true;
  assert_int_equal(shooting_evaluate(m->sh, m->q, m->starts, NULL, 0, true, &cost, NULL), CAROM_OK);
  double mean[] = {m->q[0] - 0.01, m->q[1] + 0.2}, covariance[] = {4e-4, 1e-4, 1e-4, 0.01};
  assert_int_equal(judge(m, NULL, &fit->verdict, NULL), CAROM_OK);
  const carom_fit_estimate plain[] = {fit->verdict.estimates[0], fit->verdict.estimates[1]};
  posterior drawn = {.rough = true, .count = 100, .mean = mean, .covariance = covariance};
  verdict_free(&fit->verdict);
  assert_int_equal(judge(m, &drawn, &fit->verdict, NULL), CAROM_OK);
  for (int j = 0; j < 2; j++) {
    const carom_fit_estimate *e = &fit->verdict.estimates[j];
    const double reach = 1.959963984540054 * sqrt(covariance[3 * j]);
    assert_near(e->value, mean[j], 1e-12);
    assert_true(plain[j].determined && plain[j].value != e->value);
    assert_near(e->low, fmin(mean[j] - reach, plain[j].low), 1e-9);
    assert_near(e->high, fmax(mean[j] + reach, plain[j].high), 1e-9);
    assert_near(e->deviation, sqrt(covariance[3 * j]), 1e-12);
  }
  assert_near(fit->verdict.correlation[1], 1e-4 / sqrt(4e-4 * 0.01), 1e-12);
  const carom_fit_note *note = &fit->verdict.notes[fit->verdict.note_count - 1];
  assert_false(note->warning);
  assert_non_null(strstr(note->text, "100 draws"));
  for (int k = 0; k < fit->verdict.note_count; k++)
    assert_null(strstr(fit->verdict.notes[k].text, "other place"));
  drawn.others = 2;
  verdict_free(&fit->verdict);
  assert_int_equal(judge(m, &drawn, &fit->verdict, NULL), CAROM_OK);
  note = &fit->verdict.notes[fit->verdict.note_count - 2];
  assert_non_null(strstr(note->text, "2 other places of the unknowns explain the data"));
  covariance[3] = 1e4; // beyond a natural unit
  verdict_free(&fit->verdict);
  assert_int_equal(judge(m, &drawn, &fit->verdict, NULL), CAROM_OK);
  assert_true(fit->verdict.estimates[0].determined && !fit->verdict.estimates[1].determined);
  assert_true(isinf(fit->verdict.estimates[1].deviation));
  assert_true(fit->verdict.estimates[1].low < mean[1] - 100);
  note = &fit->verdict.notes[fit->verdict.note_count - 3];
  assert_true(note->warning);
  assert_non_null(strstr(note->text, "gravity is not determined"));
  drawn.count = drawn.others = 0;
  drawn.roughness = 0.83;
  verdict_free(&fit->verdict);
  assert_int_equal(judge(m, &drawn, &fit->verdict, NULL), CAROM_OK);
  assert_near(fit->verdict.estimates[0].value, m->q[0], 1e-12);
  note = &fit->verdict.notes[fit->verdict.note_count - 1];
  assert_true(note->warning);
  assert_non_null(strstr(note->text, "83 %"));
  assert_non_null(strstr(note->text, "radii and planes")); // it is not cut off
  setup_free(&t);
}

/* Balls whose impacts may come in other orders: a sample is taken, its impacts are where they were
 * measured, and values, parameters and intervals are its. */
static void test_fit_of_balls(void **state) {
  (void)state;
  if (quick()) skip();
  const double noise = 0.05;
  noisy_setting setting = noisy_make(load_system("bp5"), 2, 24);
  simulated s = {.system = setting.system, .how = setting.how, .data = noisy_simulate(&setting, 5)};
  noisy_disturb(&setting, &s.data, noise, 5);
  carom_fit_options options = fit_one_thread();
  options.position_noise = options.velocity_noise = noise;
  options.project = true;
  carom_fit *fit = fit_make(&s, "mass[b]:start=0.25,mass[d]:start=1", &options);
  const carom_fit_result *r = fit_run(fit);
  assert_true(fit->sample.rough && fit->sample.count > 0 && !fit->sample.stuck);
  assert_true(fit_has_note(r, "draws"));
  for (int j = 0; j < 2; j++) {
    const unknown *u = &fit->unknowns.items[j];
    assert_near(r->estimates[j].value, unknown_value(u, fit->sample.mean[j]), 1e-12);
    assert_near(r->theta[u->entries[0]], u->coefficients[0] + fit->sample.mean[j], 1e-12);
    assert_true(r->estimates[j].low < u->scene && u->scene < r->estimates[j].high);
  }
  carom_fit_destroy(fit);
  simulated_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_normal), cmocka_unit_test(test_edges),
      cmocka_unit_test(test_join),   cmocka_unit_test(test_places),
      cmocka_unit_test(test_judged), cmocka_unit_test(test_fit_of_balls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
