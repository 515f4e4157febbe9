/* What a stretch of time between impacts is made of, function by function: the derivative of a step by its
 * length, contacts that last, gaps that are closed; each beside central differences. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cubic.h"
#include "base/vector.h"
#include "contact/gap_closing.h"
#include "contact/resting.h"
#include "physics/integrator.h"
#include "support/differences.h"
#include "support/systems.h"

/* A state near contact, with everything that is differentiated by. */
typedef struct fixture {
  carom_system *system;
  mechanics mechanics;
  carom_rollout_options options;
  carom_integrator method;
  carom_dynamics dynamics;
  int size;
  double *x, *v, *theta, h;
  double *x_bar, *v_bar, *theta_bar, h_bar;
  double *wx, *wv;
  contact_list near;
  arena memory;
} fixture;

#define BEGIN(dimension, gravity)                         \
  "{\"carom\":1,\"name\":\"s\",\"dimension\":" #dimension \
  ",\"dt\":0.02,\"steps\":1,\"gravity\":" gravity ","
#define GROUND2 "\"planes\":[{\"id\":\"ground\",\"normal\":[0,1],\"offset\":0}],"
#define ROUGH "\"contacts\":{\"pairs\":true,\"friction\":0.3,\"restitution\":0.4},"

static const struct {
  const char *name, *scene;
} cases[] = {
    {"balls and disk on the ground",
     BEGIN(
         2,
         "[0,-9.8]") "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,\"radius\":0.5},"
                     "{\"id\":\"b\",\"type\":\"point\",\"mass\":1,\"radius\":0.3}]," GROUND2 ROUGH
                     "\"initial\":{\"sampler\":\"state\",\"bodies\":[{\"body\":\"a\",\"position\":"
                     "[0,0.5],\"rotation\":0.3,\"velocity\":[1,0]},{\"body\":\"b\",\"position\":"
                     "[0.777,0.301]}]}}"},
    {"box on the ground",
     BEGIN(
         2,
         "[0,-9.8]") "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,\"shape\":{\"type\":"
                     "\"box\","
                     "\"half_extents\":[0.3,0.1]}}]," GROUND2 ROUGH
                     "\"initial\":{\"sampler\":\"state\",\"bodies\":[{\"body\":\"a\",\"position\":"
                     "[0,0.1],\"velocity\":[1,0]}]}}"},
    {"box in space on the ground",
     BEGIN(3,
           "[0,0,-9.8]") "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":2,\"shape\":{"
                         "\"type\":"
                         "\"box\",\"half_extents\":[0.3,0.2,0.1]}}],"
                         "\"planes\":[{\"id\":\"ground\",\"normal\":[0,0,1],\"offset\":0}]," ROUGH
                         "\"initial\":{\"sampler\":\"state\",\"bodies\":[{\"body\":\"a\","
                         "\"position\":"
                         "[0,0,0.1],\"velocity\":[1,0.5,0]}]}}"},
    {"pendulums at a wall",
     BEGIN(
         2,
         "[0,-9.8]") "\"bodies\":[{\"id\":\"a\",\"type\":\"point\",\"mass\":2,\"radius\":0.1},"
                     "{\"id\":\"b\",\"type\":\"point\",\"mass\":1,\"radius\":0.1}],"
                     "\"joints\":[{\"type\":\"link\",\"ends\":[[0,0],\"a\"],\"length\":1},"
                     "{\"type\":\"link\",\"ends\":[\"a\",\"b\"],\"length\":1}],"
                     "\"planes\":[{\"id\":\"wall\",\"normal\":[-1,0],\"offset\":0.1}]," ROUGH
                     "\"initial\":{\"sampler\":\"state\",\"bodies\":[{\"body\":\"a\",\"position\":"
                     "[0,-1]},{\"body\":\"b\",\"position\":[0,-2]}]}}"},
};
enum { CASES = sizeof cases / sizeof cases[0] };

/* The scene's state with noise; contacts whose gap is small. Only the velocity presses them together. */
static void fixture_open(fixture *f, int k, rng *random) {
  *f = (fixture){.system = parse_system(cases[k].scene), .h = 0.013};
  const carom_system *s = f->system;
  arena_init(&f->memory);
  contact_list_init(&f->near);
  mechanics_init(&f->mechanics, s);
  carom_rollout_options options = carom_rollout_default_options(s);
  f->options = resting_options(&options);
  f->size = s->coordinate_count;
  double **const arrays[] = {&f->x, &f->v, &f->x_bar, &f->v_bar, &f->wx, &f->wv};
  for (int i = 0; i < 6; i++) *arrays[i] = arena_zeros(&f->memory, f->size);
  f->theta = arena_zeros(&f->memory, s->parameter_count);
  f->theta_bar = arena_zeros(&f->memory, s->parameter_count);
  carom_parameters_default(s, f->theta);
  assert_int_equal(carom_system_sample(s, 1, 1, f->x, f->v, NULL), CAROM_OK);
  int down = s->dimension - 1;
  for (int i = 0; i < f->size; i++) {
    f->x[i] += 2e-4 * rng_normal(random);
    f->v[i] += 0.05 * rng_normal(random) - (i % s->dimension == down ? 0.4 : 0);
    if (k == 3 && i % 2 == 0) f->v[i] += 0.6;
    f->wx[i] = rng_normal(random);
    f->wv[i] = rng_normal(random);
  }
  mechanics_set_parameters(&f->mechanics, f->theta);
  f->near.margin = 0.01;
  assert_true(collision_detect(s, f->x, &f->near));
  assert_true(f->near.count > 0);
}

static void fixture_close(fixture *f) {
  contact_list_free(&f->near);
  mechanics_free(&f->mechanics);
  arena_free(&f->memory);
  carom_system_destroy(f->system);
}

static double *copy(fixture *f, const double *from) {
  double *made = arena_doubles(&f->memory, f->size);
  vector_copy(made, from, f->size);
  return made;
}

static double weighted(const fixture *f, const double *x, const double *v) {
  double sum = 0;
  for (int i = 0; i < f->size; i++) sum += f->wx[i] * x[i] + f->wv[i] * v[i];
  return sum;
}

static void begin_bars(fixture *f) {
  vector_copy(f->x_bar, f->wx, f->size);
  vector_copy(f->v_bar, f->wv, f->size);
  memset(f->theta_bar, 0, sizeof(double) * (size_t)f->system->parameter_count);
  f->h_bar = 0;
}

/* ---- a step by its length ---- */

static integrator integrator_of(const fixture *f) {
  return (integrator){.mechanics = &f->mechanics,
                      .potential = &scene_potential,
                      .method = f->method,
                      .dynamics = f->dynamics,
                      .dt = f->h,
                      .substeps = 2};
}

static double step_value(void *user) {
  fixture *f = user;
  arena_mark mark = arena_save(&f->memory);
  integrator in = integrator_of(f);
  step_record record = step_record_make(&in, 1, &f->memory);
  double *x = copy(f, f->x), *v = copy(f, f->v);
  integrator_step(&in, 1, x, v, &record, &f->memory);
  double value = weighted(f, x, v);
  arena_restore(&f->memory, mark);
  return value;
}

static void test_length_of_a_step(void **state) {
  (void)state;
  rng random;
  rng_seed(&random, 2, 0);
  for (int k = 0; k < CASES; k++)
    for (int choice = 0; choice < 6; choice++) {
      fixture f;
      fixture_open(&f, k, &random);
      f.method = (carom_integrator)(choice % 3);
      f.dynamics = (carom_dynamics)(choice / 3);
      f.h = choice == 5 ? 0 : 0.3;
      integrator in = integrator_of(&f);
      step_record record = step_record_make(&in, 1, &f.memory);
      integrator_step(&in, 1, copy(&f, f.x), copy(&f, f.v), &record, &f.memory);
      begin_bars(&f);
      integrator_step_vjp(&in, 1, &record, f.x_bar, f.v_bar, f.theta_bar, f.theta_bar, &f.h_bar,
                          &f.memory);
      double error = gradient_error(step_value, &f, &f.h, &f.h_bar, 1, &random);
      if (!(error < 1e-8)) fail_msg("%s, choice %d: error %g", cases[k].name, choice, error);
      fixture_close(&f);
    }
}

/* ---- gaps that are closed ---- */

static double closing_value(void *user) {
  fixture *f = user;
  mechanics_set_parameters(&f->mechanics, f->theta);
  arena_mark mark = arena_save(&f->memory);
  double *x = copy(f, f->x), *v = copy(f, f->v);
  close_gaps(&f->mechanics, &f->options, &f->near, x, v, &f->memory);
  double value = weighted(f, x, v);
  arena_restore(&f->memory, mark);
  return value;
}

static void compare(fixture *f, const char *what, const char *name, scalar_function value,
                    rng *random) {
  const struct {
    const char *name;
    double *values, *bar;
    int count;
  } inputs[] = {{"x", f->x, f->x_bar, f->size},
                {"v", f->v, f->v_bar, f->size},
                {"theta", f->theta, f->theta_bar, f->system->parameter_count},
                {"h", &f->h, &f->h_bar, 1}};
  for (int i = 0; i < (value == closing_value ? 3 : 4); i++) {
    double error =
        gradient_error(value, f, inputs[i].values, inputs[i].bar, inputs[i].count, random);
    if (!(error < 1e-6)) fail_msg("%s, %s by %s: error %g", what, name, inputs[i].name, error);
  }
}

/* Gaps are closed to rounding, what was closed stays, and the derivative is that of the way. */
static void test_closing(void **state) {
  (void)state;
  rng random;
  rng_seed(&random, 3, 0);
  for (int k = 0; k < CASES; k++) {
    fixture f;
    fixture_open(&f, k, &random);
    double *x = copy(&f, f.x), *v = copy(&f, f.v);
    assert_true(close_gaps(&f.mechanics, &f.options, &f.near, x, v, &f.memory));
    double *again = copy(&f, x);
    assert_true(close_gaps(&f.mechanics, &f.options, &f.near, again, v, &f.memory));
    for (int i = 0; i < f.size; i++) assert_near(again[i], x[i], 1e-13);
    for (int c = 0; c < f.near.count; c++)
      assert_near(contact_gap(f.system, &f.near.ids[c], x), 0, 1e-13);
    begin_bars(&f);
    close_gaps_vjp(&f.mechanics, &f.options, &f.near, f.x, f.v, f.x_bar, f.v_bar, f.theta_bar,
                   &f.memory);
    compare(&f, "closing", cases[k].name, closing_value, &random);
    fixture_close(&f);
  }
}

/* ---- contacts that last ---- */

static contact_event event_of(fixture *f, phase_solution *impulses) {
  contact_event e = resting_make(&f->mechanics, &f->options, &f->near, f->x, f->h, &f->memory);
  *impulses = event_impulses_at(&e, arena_bytes(&f->memory, event_impulses_bytes(&e))).compression;
  return e;
}

static double resting_value(void *user) {
  fixture *f = user;
  mechanics_set_parameters(&f->mechanics, f->theta);
  arena_mark mark = arena_save(&f->memory);
  phase_solution impulses;
  contact_event e = event_of(f, &impulses);
  double *x = copy(f, f->x), *v = copy(f, f->v);
  resting_solve(&e, x, v, &impulses, &f->memory);
  double value = weighted(f, x, v);
  arena_restore(&f->memory, mark);
  return value;
}

static void test_resting(void **state) {
  (void)state;
  rng random;
  rng_seed(&random, 4, 0);
  for (int k = 0; k < CASES; k++) {
    fixture f;
    fixture_open(&f, k, &random);
    phase_solution impulses;
    contact_event e = event_of(&f, &impulses);
    double *x = copy(&f, f.x), *v = copy(&f, f.v);
    assert_true(resting_solve(&e, x, v, &impulses, &f.memory));
    // what pushes does not approach, and nothing is pushed by itself
    int pushing = 0, d = f.system->dimension;
    for (int c = 0; c < e.group.count; c++) pushing += impulses.f[c * d] > 0;
    assert_true(pushing > 0);
    begin_bars(&f);
    resting_solve_vjp(&e, f.v, &impulses, f.x_bar, f.v_bar, f.theta_bar, &f.h_bar, &f.memory);
    compare(&f, "resting", cases[k].name, resting_value, &random);
    fixture_close(&f);
  }
}

/* ---- the cubic ---- */

static void test_cubic(void **state) {
  (void)state;
  // 2 - 3 t + t^3 on [0, 1.5]: value 0 at t = 1, where its slope is 0 too; (t - 0.2)^3 - 0.1
  cubic c = {1.5, {2, 2 - 4.5 + 3.375}, {-3, -3 + 6.75}};
  double slope;
  assert_near(cubic_at(&c, 0.5, &slope), 2 - 1.5 + 0.125, 1e-14);
  assert_near(slope, -3 + 0.75, 1e-14);
  assert_near(cubic_zero(&c, true, 0, 1.5), 1, 1e-2);
  cubic d = {1, {0.5, -0.5}, {-1, -1}};
  assert_near(cubic_zero(&d, false, 0, 1), 0.5, 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_length_of_a_step),
      cmocka_unit_test(test_closing),
      cmocka_unit_test(test_resting),
      cmocka_unit_test(test_cubic),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
