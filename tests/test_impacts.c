/* Impacts as results of a run: what they say beside the trajectory, their order, their derivative. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rollout/rollout.h"
#include "support/scene_run.h"
#include "support/systems.h"

/* A point that falls on the ground, e = 0.5, without friction. */
static const char ball[] =
    "{\"carom\":1,\"name\":\"b\",\"dimension\":2,\"dt\":0.01,\"steps\":60,\"gravity\":[0,-10],"
    "\"bodies\":[{\"id\":\"a\",\"type\":\"point\",\"mass\":2,\"radius\":0.1}],"
    "\"planes\":[{\"id\":\"ground\",\"normal\":[0,1],\"offset\":0}],"
    "\"contacts\":{\"friction\":0,\"restitution\":0.5},"
    "\"initial\":{\"sampler\":\"state\",\"bodies\":[{\"body\":\"a\",\"position\":[0,0.4],"
    "\"velocity\":[1,0]}]}}";

/* The first impact is that of the first step with a contact; velocities are those that the law of
 * restitution says, x is where the fall has led. */
static void test_what_a_bounce_says(void **state) {
  (void)state;
  scene_run r;
  scene_run_open(&r, ball, 1, 0, 1);
  r.options.keep_impacts = true;
  scene_run_go(&r);
  int count = carom_rollout_impact_count(r.rollout, 0);
  assert_int_equal(count, (int)carom_rollout_report(r.rollout).events);
  assert_true(count >= 2);

  // y = 0.4 - 5 t^2 is below 0.1 from t = 0.2449 on: at the end of step 24
  carom_impact first = carom_rollout_impact(r.rollout, 0, 0);
  assert_int_equal(first.step, 24);
  assert_near(first.time, 0.25, 1e-15);
  assert_int_equal(first.contact_count, 1);
  assert_int_equal(first.contacts[0], 0);
  assert_near(first.x[1], 0.4 - 5 * 0.25 * 0.25, 1e-13);
  assert_near(first.v_before[1], -2.5, 1e-13);
  assert_near(first.v_after[1], 1.25, 1e-13);
  assert_near(first.v_after[0], 1, 1e-13);
  assert_near(first.impulses[0], 2 * 3.75, 1e-12);
  assert_memory_equal(first.v_after, scene_run_v(&r, 0, 25), sizeof(double) * 2);
  for (int k = 1; k < count; k++)
    assert_true(carom_rollout_impact(r.rollout, 0, k).time >
                carom_rollout_impact(r.rollout, 0, k - 1).time);
  assert_int_equal(carom_rollout_impact(r.rollout, 0, count).step, -1);
  assert_int_equal(carom_rollout_impact(r.rollout, 1, 0).step, -1);
  assert_null(carom_rollout_impact_bars(r.rollout, 0, -1).time);
  scene_run_close(&r);
}

/* Not kept unless asked for. */
static void test_not_kept(void **state) {
  (void)state;
  scene_run r;
  scene_run_open(&r, ball, 1, 0, 1);
  scene_run_go(&r);
  assert_true(carom_rollout_report(r.rollout).events > 0);
  assert_int_equal(carom_rollout_impact_count(r.rollout, 0), 0);
  scene_run_close(&r);
}

/* Every sample of every shard has its own, and they say what its contact flags say. */
static void test_samples_keep_their_own(void **state) {
  (void)state;
  scene_run r;
  scene_run_open(&r, "bd5", 19, 60, 3);
  r.options.keep_impacts = true;
  r.options.shard_size = 4;
  scene_run_go(&r);
  const uint8_t *touched = carom_rollout_contacts(r.rollout);
  int64_t total = 0, contacts = 0;
  for (int b = 0; b < r.batch; b++) {
    int k = 0, count = carom_rollout_impact_count(r.rollout, b);
    for (int step = 0; step < 60; step++) {
      if (!touched[b * 61 + step + 1]) continue;
      assert_true(k < count);
      carom_impact impact = carom_rollout_impact(r.rollout, b, k++);
      assert_int_equal(impact.step, step);
      for (int c = 1; c < impact.contact_count; c++)
        assert_true(impact.contacts[c] >= impact.contacts[c - 1]);
      for (int c = 0; c < impact.contact_count; c++) assert_true(impact.impulses[2 * c] >= 0);
      contacts += impact.contact_count;
    }
    assert_int_equal(k, count);
    total += count;
  }
  assert_int_equal(total, carom_rollout_report(r.rollout).events);
  assert_int_equal(contacts, carom_rollout_report(r.rollout).contacts);

  // nothing is allocated once warm
  scene_run_vjp(&r);
  long before = rollout_allocations(r.rollout);
  scene_run_go(&r);
  scene_run_vjp(&r);
  assert_int_equal(rollout_allocations(r.rollout), before);
  scene_run_close(&r);
}

/* Cotangents of impacts go where those of the trajectory go; a run sets them to zero. */
static void test_derivative(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int batch, steps;
  } scenes[] = {{"bp5", 4, 30}, {"bd5", 4, 30}, {"cp3", 12, 50}, {"gyro", 12, 60}, {"rope", 2, 20}};
  rng random;
  rng_seed(&random, 5, 0);
  int compared = 0, tried = 0;
  for (int k = 0; k < 5; k++)
    for (int choice = 0; choice < 2; choice++) {
      scene_run r;
      scene_run_open(&r, scenes[k].name, scenes[k].batch, scenes[k].steps, 4);
      r.options.keep_impacts = true;
      r.options.stabilize = choice == 1;
      r.options.compensation = (carom_compensation)choice;
      scene_run_leave_bounds(&r);
      scene_run_weigh(&r, &random);
      compared += scene_run_compare(&r, scenes[k].name, 1e-6, &random, &tried);
      int64_t count = 0;
      for (int b = 0; b < r.batch; b++) count += carom_rollout_impact_count(r.rollout, b);
      if (count == 0) fail_msg("%s: no impact", scenes[k].name);
      scene_run_go(&r);
      for (int b = 0; b < r.batch; b++)
        for (int i = 0; i < carom_rollout_impact_count(r.rollout, b); i++) {
          carom_impact_bars bars = carom_rollout_impact_bars(r.rollout, b, i);
          assert_true(*bars.time == 0 && bars.x[0] == 0 && bars.v_after[r.state - 1] == 0);
        }
      scene_run_close(&r);
    }
  printf("derivatives of impacts: %d of %d compared\n", compared, tried);
  assert_true(compared * 4 >= tried * 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_a_bounce_says),
      cmocka_unit_test(test_not_kept),
      cmocka_unit_test(test_samples_keep_their_own),
      cmocka_unit_test(test_derivative),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
