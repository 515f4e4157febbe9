/* The search of identification: ways out of wrong valleys of the cost, other valleys in the
 * intervals, derivatives of bodies that do not feel each other. */
#include "fit/search.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fit/look_along.h"
#include "fit/valley.h"
#include "support/fitting.h"
#include "support/noisy.h"
#include "support/quick.h"
#include "support/systems.h"
#include "system/system.h"

/* A fit of noisy data whose noise is known. */
static carom_fit *fit_known_noise(const simulated *s, const char *unknowns, double noise) {
  carom_fit_options options = fit_one_thread();
  options.position_noise = options.velocity_noise = options.angle_noise = options.rate_noise =
      noise;
  options.project = true;
  return fit_make(s, unknowns, &options);
}

/* Ways out of a wrong valley: a first state that is far off is found anew, a friction at which
 * everything sticks, where the cost is flat, is left. */
static void test_valleys(void **state) {
  (void)state;
  simulated s = simulate_noisy("bd1", 3, 60, true, 0.01, 2);
  carom_fit *fit = fit_known_noise(&s, "friction,gravity", 0.01);
  fit_run(fit);
  minimiser *m = &fit->minimiser;
  shooting *sh = &fit->shooting;
  const double least = m->cost, friction = m->q[0];
  bool moved;
  double *z = calloc((size_t)sh->f, sizeof(double));
  for (int k = 0; k < sh->f; k++) z[k] = 0.05;
  assert_true(tangent_move(&sh->tangent, m->starts + 2 * (size_t)sh->D, z));
  m->gain = 0.5;
  sh->join = 0;
  assert_int_equal(valley_states(m, false, &moved, NULL), CAROM_OK);
  assert_true(moved);
  assert_true(fit_cost_at(sh, m->q, m->starts) < least + 0.5);
  const double low = m->low[0], high = m->high[0];
  m->q[0] = m->low[0] = m->high[0] = 0.8;
  assert_int_equal(minimise(m, NULL), CAROM_OK);
  assert_true(m->cost > least + 1);
  m->low[0] = low;
  m->high[0] = high;
  assert_int_equal(valley_properties(m, &moved, NULL), CAROM_OK);
  assert_true(moved);
  for (int round = 0; round < 4; round++) {
    assert_int_equal(minimise(m, NULL), CAROM_OK);
    assert_int_equal(valley_states(m, false, &moved, NULL), CAROM_OK);
    assert_int_equal(minimise(m, NULL), CAROM_OK);
    assert_int_equal(valley_properties(m, &moved, NULL), CAROM_OK);
  }
  assert_near(m->q[0], friction, 0.01);
  assert_true(m->cost < least + 0.5);
  free(z);
  carom_fit_destroy(fit);
  simulated_free(&s);
}

/* One trajectory of balls, all of it one piece, fitted from given unknowns on. */
static carom_fit *fit_balls(simulated *s, double noise, const double *q) {
  const uint64_t REPETITION = 119; // of docs/results/fitting.md
  noisy_setting setting = noisy_make(load_system("bp5"), 1, 30);
  *s = (simulated){
      .system = setting.system, .how = setting.how, .data = noisy_simulate(&setting, REPETITION)};
  noisy_disturb(&setting, &s->data, noise, REPETITION);
  carom_fit *fit = fit_known_noise(s, "friction[c-d],restitution[c-d]", noise);
  const bool estimate[CAROM_CHANNEL_COUNT] = {false};
  memcpy(fit->minimiser.q, q, sizeof(double) * 2);
  assert_int_equal(search_pieces(fit, estimate, 1000, 1, NULL), CAROM_OK);
  return fit;
}

/* A trajectory whose impacts have settled in an order that asks for more than twice the friction
 * costs 70 more, within four deviations of what noise leaves. */
static void test_friction_of_one(void **state) {
  (void)state;
  if (quick()) skip();
  simulated s;
  carom_fit *fit = fit_balls(&s, 0.01, (const double[]){0.239, 0.8188});
  minimiser *m = &fit->minimiser;
  bool moved;
  const double before = m->cost;
  assert_near(m->q[0], 0.239, 0.01);
  assert_int_equal(valley_properties(m, &moved, NULL), CAROM_OK);
  assert_true(moved);
  assert_near(m->q[0], 0.1, 0.01);
  assert_true(m->cost < before - 60);
  carom_fit_destroy(fit);
  simulated_free(&s);
}

/* Where everything sticks with a friction, a place where something slides is visited. */
static void test_sliding(void **state) {
  (void)state;
  if (quick()) skip();
  simulated s;
  const bool estimate[CAROM_CHANNEL_COUNT] = {false};
  carom_fit *fit = fit_balls(&s, 0.05, (const double[]){0.3, 0.846});
  minimiser *m = &fit->minimiser;
  double edge;
  assert_int_equal(valley_sliding_edge(m, 0, &edge, NULL), CAROM_OK);
  assert_true(edge > 0.11 && edge < m->q[0]);
  const double sticking = m->cost;
  assert_int_equal(look_along(fit, estimate, NULL), CAROM_OK);
  bool slid = false;
  for (int k = 0; k < fit->visited.count; k++) {
    const place *at = &fit->visited.all[k].at;
    slid = slid || (fabs(at->q[0] - 0.1) < 0.02 && at->cost < sticking);
  }
  assert_true(slid);
  carom_fit_destroy(fit);
  simulated_free(&s);
}

/* Data of docs/results/fitting.md whose least cost one way out alone leads to: within what other
 * valleys beside it differ by. */
static void check_least(const char *scene, const char *unknowns, double noise, uint64_t repetition,
                        double least) {
  if (quick()) skip();
  noisy_setting setting = noisy_make(load_system(scene), 5, 60);
  simulated s = {
      .system = setting.system, .how = setting.how, .data = noisy_simulate(&setting, repetition)};
  noisy_disturb(&setting, &s.data, noise, repetition);
  carom_fit *fit = fit_known_noise(&s, unknowns, noise);
  fit_run(fit);
  assert_true(fit->minimiser.cost < least + 0.5);
  carom_fit_destroy(fit);
  simulated_free(&s);
}

/* Hops along the ground that were taken for the next ones cost 48 more; the ridge between is 300
 * high. */
static void test_hops(void **state) {
  (void)state;
  check_least("cp3", "friction:start=0.8,restitution:start=0.2,mass[b]:start=0.3,mass[c]:start=0.1",
              0.01, 82, 1749.32);
}

/* At the edge where a contact begins to slide descent ends 3.5 too high. */
static void test_edge(void **state) {
  (void)state;
  check_least("bd1", "friction:start=0.4,restitution:start=0.5,moment:start=0.004,gravity:start=7",
              0.01, 6, 918.37);
}

/* A first state of which only all coordinates together lead to the right impacts: 640 and 264
 * more. */
static void test_drawn_states(void **state) {
  (void)state;
  const char *unknowns =
      "friction:start=0.4,restitution:start=0.5,moment:start=0.004,gravity:start=7";
  check_least("bd1", unknowns, 0.05, 59, 867.11);
  check_least("bd1", unknowns, 0.05, 39, 893.24);
}

/* Bounces of a restitution near 0 that come one after the other cost 77 more than none. */
static void test_border(void **state) {
  (void)state;
  check_least("cp3", "friction:start=0.8,restitution:start=0.2,mass[b]:start=0.3,mass[c]:start=0.1",
              0.01, 52, 1893.39);
}

/* Bounces so close to each other that two fall into one time step: a state beside them is compared
 * with the sides of both, or the cost jumps and is 6 higher. */
static void test_close_impacts(void **state) {
  (void)state;
  check_least("cp3", "friction:start=0.8,restitution:start=0.2,mass[b]:start=0.3,mass[c]:start=0.1",
              0.01, 12, 1889.29);
}

/* ---- intervals ------------------------------------------------------------------------------- */

/* An interval covers the floor of another valley that the search has met, and as far about it as 95
 * % allow its cost; a place on the slope of the same valley adds nothing, nor does one that costs
 * too much. */
static void test_rivals(void **state) {
  (void)state;
  const double DROP = 1.920729410347062;
  simulated s = simulate_noisy("bd1", 2, 30, true, 0.01, 4);
  carom_fit *fit = fit_known_noise(&s, "restitution,gravity", 0.01);
  fit_run(fit);
  minimiser *m = &fit->minimiser;
  const carom_fit_estimate known = fit->verdict.estimates[1];
  const double slope = sqrt(2 * 0.5 / m->normal.S[3]); // along which the cost rises by 0.5
  const double above[] = {0.5, 1.95, 0.5},
               gravity[] = {known.low - 1, known.high + 1, m->q[1] + slope};
  m->rival_count = 3;
  for (int k = 0; k < 3; k++) {
    double *rival = m->rivals + k * 3;
    rival[0] = m->cost + above[k];
    rival[1] = m->q[0];
    rival[2] = gravity[k];
  }
  verdict_free(&fit->verdict);
  assert_int_equal(judge(m, NULL, &fit->verdict, NULL), CAROM_OK);
  const double reach = sqrt(2 * (DROP - above[0])) * known.deviation;
  assert_near(fit->verdict.estimates[1].low, gravity[0] - reach, 1e-9);
  assert_near(fit->verdict.estimates[1].high, known.high, 1e-9);
  bool told = false;
  for (int k = 0; k < fit->verdict.note_count; k++)
    told = told || strstr(fit->verdict.notes[k].text, "another valley") != NULL;
  assert_true(told);
  carom_fit_destroy(fit);
  simulated_free(&s);
}

/* Exact data that does not tell a small restitution from 0: it is 0, not where a weak prior left
 * it. */
static void test_rest_at_border(void **state) {
  (void)state;
  simulated s = simulate_noisy("cp3", 1, 100, false, 0, 3);
  const carom_fit_options options = fit_one_thread();
  carom_fit *fit =
      fit_make(&s, "friction:start=1.5,restitution:start=0.3,mass[b]:start=0.6", &options);
  const carom_fit_estimate *e = fit_find(fit_run(fit), "restitution");
  assert_true(e->value == 0 && e->low == 0 && e->high < 0.05);
  carom_fit_destroy(fit);
  simulated_free(&s);
}

/* ---- bodies that do not feel each other ------------------------------------------------------ */

/* Rows that share a reverse pass are those that have one each. */
static void test_parts(void **state) {
  (void)state;
  simulated s = simulate_noisy("bp5", 3, 12, true, 0, 2);
  carom_fit *fit = fit_known_noise(&s, "friction,restitution,mass[b],mass[d]", 0.01);
  minimiser *m = &fit->minimiser;
  shooting *sh = &fit->shooting;
  sh->free_states = true;
  assert_true(sh->parts.apart);
  shooting_measured_starts(sh, m->q, m->starts);
  const size_t f = (size_t)sh->f, p = (size_t)sh->p, all = f * f + f * p + p * p;
  double *normals = malloc(sizeof(double) * all * (size_t)sh->piece_count), cost, scale = 0;
  for (int apart = 1; apart >= 0; apart--) {
    sh->parts.apart = apart;
    assert_int_equal(shooting_evaluate(sh, m->q, m->starts, NULL, 0, true, &cost, NULL), CAROM_OK);
    for (int i = 0; i < sh->piece_count && apart; i++) {
      double *to = normals + (size_t)i * all;
      memcpy(to, sh->normals[i].ss, sizeof(double) * f * f);
      memcpy(to + f * f, sh->normals[i].sq, sizeof(double) * f * p);
      memcpy(to + f * f + f * p, sh->normals[i].qq, sizeof(double) * p * p);
    }
  }
  for (size_t k = 0; k < all * (size_t)sh->piece_count; k++) scale = fmax(scale, fabs(normals[k]));
  for (int i = 0; i < sh->piece_count; i++) {
    const double *from = normals + (size_t)i * all;
    for (size_t k = 0; k < f * f; k++) assert_near(from[k], sh->normals[i].ss[k], 1e-9 * scale);
    for (size_t k = 0; k < f * p; k++)
      assert_near(from[f * f + k], sh->normals[i].sq[k], 1e-9 * scale);
    for (size_t k = 0; k < p * p; k++)
      assert_near(from[f * f + f * p + k], sh->normals[i].qq[k], 1e-9 * scale);
  }
  free(normals);
  carom_fit_destroy(fit);
  simulated_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_valleys), cmocka_unit_test(test_hops),
      cmocka_unit_test(test_edge),    cmocka_unit_test(test_drawn_states),
      cmocka_unit_test(test_border),  cmocka_unit_test(test_close_impacts),
      cmocka_unit_test(test_rivals),  cmocka_unit_test(test_rest_at_border),
      cmocka_unit_test(test_parts),   cmocka_unit_test(test_friction_of_one),
      cmocka_unit_test(test_sliding)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
