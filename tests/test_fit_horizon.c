/* Identification by long predictions: what predicts whole trajectories best, how well it is known,
 * and first states from flights. */
#include "support/fitting.h"
#include "support/quick.h"
#include "support/systems.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What predicts best is found from a start far away: predictions become as good as with the true
 * numbers, which are in the intervals. */
static void test_horizon(void **state) {
  (void)state;
  simulated s = simulate_noisy(CAROM_TEST_DATA "/rounded-box.json", 16, 40, true, 1e-4, 21);
  carom_fit_options options = fit_one_thread();
  options.horizon = 30;
  carom_fit *fit = fit_make(&s, "friction:start=0.7,gravity:start=8.8", &options);
  const carom_fit_result *r = fit_run(fit);
  const carom_fit_estimate *friction = fit_find(r, "friction[box|slope]"),
                           *gravity = fit_find(r, "gravity");
  print_message("friction %.4f +- %.4f, gravity %.4f +- %.4f\n", friction->value,
                friction->deviation, gravity->value, gravity->deviation);
  assert_true(r->pieces < 16 * 6); // residuals are those of pieces of ten states
  assert_near(friction->value, 0.4, 0.05);
  assert_near(gravity->value, 9.81, 0.1);
  assert_true(friction->deviation > 0 && friction->deviation < 0.05);
  assert_true(gravity->low < 9.81 && gravity->high > 9.81);
  // what is known beforehand counts, by how well it is known
  carom_fit *told =
      fit_make(&s, "friction:start=0.45:prior=0.45/0.0001,gravity:prior=9.8/10", &options);
  assert_near(fit_find(fit_run(told), "friction[box|slope]")->value, 0.45, 0.005);
  carom_fit_destroy(told);
  // the same from the truth
  carom_fit_prediction found, exact;
  assert_int_equal(carom_fit_predict(fit, &s.data, &found, NULL), CAROM_OK);
  carom_fit_destroy(fit);
  options.iterations = 1;
  fit = fit_make(&s, "friction:start=0.4:low=0.399999:high=0.400001", &options);
  fit_run(fit);
  assert_int_equal(carom_fit_predict(fit, &s.data, &exact, NULL), CAROM_OK);
  print_message("distance %.2e, of the true numbers %.2e\n", found.position_mean,
                exact.position_mean);
  assert_true(found.position_mean < 2 * exact.position_mean + 1e-3);
  carom_fit_prediction_free(&found);
  carom_fit_prediction_free(&exact);
  carom_fit_destroy(fit);
  simulated_free(&s);
}

/* A search that begins with a few trajectories ends with all: intervals of 64 are half those of
 * 16. */
static void test_horizon_of_many(void **state) {
  (void)state;
  double deviations[2];
  for (int many = 0; many < 2; many++) {
    simulated s =
        simulate_noisy(CAROM_TEST_DATA "/rounded-box.json", many ? 64 : 16, 40, true, 2e-4, 21);
    carom_fit_options options = fit_one_thread();
    options.horizon = 30;
    carom_fit *fit = fit_make(&s, "friction:start=0.7,gravity:start=8.8", &options);
    const carom_fit_result *r = fit_run(fit);
    const carom_fit_estimate *gravity = fit_find(r, "gravity");
    print_message("gravity %.4f +- %.4f\n", gravity->value, gravity->deviation);
    deviations[many] = gravity->deviation;
    assert_true(fabs(gravity->value - 9.81) < 3 * gravity->deviation);
    assert_true(fit_has_note(r, many ? "over the 64 trajectories fitted" : "over the 16"));
    carom_fit_destroy(fit);
    simulated_free(&s);
  }
  assert_true(deviations[1] < 0.7 * deviations[0]);
}

/* Predictions that become chaotic: deviations are not as short as the search was narrow. Of normal
 * estimates the mean of squares by their deviations would be 1. */
static void test_horizon_of_chaos(void **state) {
  (void)state;
  double squares = 0;
  int count = 0;
  for (int k = 0; k < (quick() ? 1 : 3); k++) {
    simulated s = simulate_noisy(CAROM_TEST_DATA "/rounded-box.json", quick() ? 6 : 24,
                                 quick() ? 60 : 100, true, 2e-3, 30 + k);
    carom_fit_options options = fit_one_thread();
    options.horizon = quick() ? 60 : 100;
    carom_fit *fit =
        fit_make(&s, "friction:start=0.6,restitution:start=0.2,gravity:start=9", &options);
    const carom_fit_result *r = fit_run(fit);
    for (int i = 0; i < r->estimate_count; i++, count++) {
      const carom_fit_estimate *e = &r->estimates[i];
      const double off = (e->value - e->scene) / e->deviation;
      print_message("%s %.4f +- %.4f (%.1f)  ", e->name, e->value, e->deviation, off);
      assert_true(e->determined && fabs(e->value - e->scene) < (quick() ? 0.03 : 0.01) * e->scene);
      squares += off * off;
    }
    print_message("\n");
    carom_fit_destroy(fit);
    simulated_free(&s);
  }
  assert_true(squares / count < 4);
}

/* Errors of predictions with the scene's values from first states as they are, or from flights. */
static carom_fit_prediction predict_from(const simulated *s, const char *unknowns,
                                         carom_first_state first) {
  carom_fit_options options = fit_one_thread();
  options.horizon = 3;
  options.first_state = first;
  carom_fit *fit = fit_make(s, unknowns, &options);
  carom_fit_prediction p;
  fit_run(fit);
  assert_int_equal(carom_fit_predict(fit, &s->data, &p, NULL), CAROM_OK);
  carom_fit_destroy(fit);
  return p;
}

/* First velocities and rates are measured badly. */
static void spoil_first_states(simulated *s) {
  int d = s->data.dimension, size = s->data.point_count * d;
  for (int k = 0; k < s->data.batch; k++) {
    size_t at = (size_t)k * (size_t)s->data.state_count * (size_t)size;
    double *x = s->data.x + at, *v = s->data.v + at;
    for (int pt = 1; pt <= d; pt++) { // a rate of 0.5 about the last axis
      v[pt * d] -= 0.5 * (x[pt * d + 1] - x[1]);
      v[pt * d + 1] += 0.5 * (x[pt * d] - x[0]);
    }
    for (int i = 0; i < size; i++) v[i] += 0.05;
  }
}

/* A first state that is measured badly is found by the flight that follows, in space and in the
 * plane; where there is none, it is as it was measured. */
static void test_first_states_from_flight(void **state) {
  (void)state;
  static const struct {
    const char *scene, *unknowns;
  } cases[] = {
      {CAROM_TEST_DATA "/rounded-box.json", "friction:start=0.4:low=0.3999999:high=0.4000001"},
      {"bd1", "friction:start=0.2:low=0.1999999:high=0.2000001"}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    simulated s = simulate_noisy(cases[k].scene, 8, 40, true, 0, 31);
    spoil_first_states(&s);
    carom_fit_prediction as_is = predict_from(&s, cases[k].unknowns, CAROM_FIRST_STATE_MEASURED);
    carom_fit_prediction flight = predict_from(&s, cases[k].unknowns, CAROM_FIRST_STATE_FLIGHT);
    int found = 0;
    for (int i = 0; i < as_is.count; i++) {
      bool same = flight.position[i] == as_is.position[i] && flight.angle[i] == as_is.angle[i];
      if (!same && (flight.position[i] > 0.01 * as_is.position[i] ||
                    flight.angle[i] > 0.01 * as_is.angle[i]))
        fail_msg("%s %d: distance %.2e, from its flight %.2e; angle %.2e, %.2e", cases[k].scene, i,
                 as_is.position[i], flight.position[i], as_is.angle[i], flight.angle[i]);
      found += !same;
    }
    assert_true(found >= 4);
    carom_fit_prediction_free(&as_is);
    carom_fit_prediction_free(&flight);
    simulated_free(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_horizon), cmocka_unit_test(test_horizon_of_many),
      cmocka_unit_test(test_horizon_of_chaos), cmocka_unit_test(test_first_states_from_flight)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
