/* Steps of bodies that nothing but gravity moves, in closed form, beside the stages of Runge and Kutta's method, which a mechanics that is
 * told of drags takes, of none as well; values, cotangents, replays. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "physics/free_fall.h"
#include "support/differences.h"
#include "support/systems.h"

enum { SAMPLES = 3, MOST = 64 };

#define BODIES                                                                 \
  "\"bodies\":[{\"id\":\"a\",\"type\":\"point\",\"mass\":0.3,\"radius\":0.1}," \
  "{\"id\":\"b\",\"type\":\"point\",\"mass\":2,\"radius\":0.2}],\"contacts\":{\"pairs\":true}"
#define SCENE(dimension, gravity, rest)                   \
  "{\"carom\":1,\"name\":\"s\",\"dimension\":" #dimension \
  ",\"dt\":0.2,\"steps\":1,\"gravity\":" gravity "," rest "}"
#define PLACED2                                                                          \
  ",\"initial\":{\"sampler\":\"state\",\"bodies\":[{\"body\":\"a\",\"position\":[0,0]}," \
  "{\"body\":\"b\",\"position\":[1,1]}]}"
#define PLACED3                                                                            \
  ",\"initial\":{\"sampler\":\"state\",\"bodies\":[{\"body\":\"a\",\"position\":[0,0,0]}," \
  "{\"body\":\"b\",\"position\":[1,1,1]}]}"

static const char *const falling[] = {SCENE(2, "[0.7,-9.8]", BODIES PLACED2),
                                      SCENE(3, "[0.7,-9.8,3]", BODIES PLACED3),
                                      SCENE(2, "[0,0]", BODIES PLACED2)};

/* What a step and its reverse make of a state. */
typedef struct outcome {
  double x[MOST], v[MOST], x_bar[MOST], v_bar[MOST], theta_bar[MOST], dt_bar[SAMPLES];
  double replayed_x[MOST], replayed_v[MOST];
} outcome;

static void fill(uint64_t stream, double *to, int count) {
  rng random;
  rng_seed(&random, 5, stream);
  for (int i = 0; i < count; i++) to[i] = rng_normal(&random);
}

static outcome step(const integrator *in, bool weighed) {
  static const double weights[SAMPLES] = {1, 0.3, 2};
  const int total = SAMPLES * in->mechanics->system->coordinate_count;
  arena memory;
  arena_init(&memory);
  outcome o = {0};
  fill(0, o.x, total);
  fill(1, o.v, total);
  fill(2, o.x_bar, total);
  fill(3, o.v_bar, total);
  step_record record = step_record_make(in, SAMPLES, &memory);
  integrator_step(in, SAMPLES, o.x, o.v, &record, &memory);
  integrator_replay(in, SAMPLES, &record, o.replayed_x, o.replayed_v);
  record.weights = weighed ? weights : NULL;
  integrator_step_vjp(in, SAMPLES, &record, o.x_bar, o.v_bar, o.theta_bar, o.theta_bar, o.dt_bar,
                      &memory);
  arena_free(&memory);
  return o;
}

static void assert_alike(const double *a, const double *b, int count) {
  for (int i = 0; i < count; i++) assert_near(a[i], b[i], 1e-13 * (1 + fabs(b[i])));
}

static void compare(const char *scene, carom_integrator method, int substeps, bool weighed) {
  carom_system *system = parse_system(scene);
  mechanics m;
  double theta[MOST];
  assert_true(mechanics_init(&m, system));
  assert_true(system->parameter_count <= MOST);
  carom_parameters_default(system, theta);
  mechanics_set_parameters(&m, theta);
  const integrator in = {.mechanics = &m,
                         .potential = &scene_potential,
                         .method = method,
                         .dynamics = CAROM_LAGRANGIAN,
                         .dt = 0.2,
                         .substeps = substeps};
  assert_true(free_fall_is(&in, &(step_record){0}));
  const outcome fallen = step(&in, weighed);
  m.drags = true;
  assert_false(free_fall_is(&in, &(step_record){0}));
  const outcome staged = step(&in, weighed);
  const int total = SAMPLES * system->coordinate_count;
  assert_alike(fallen.x, staged.x, total);
  assert_alike(fallen.v, staged.v, total);
  assert_alike(fallen.x_bar, staged.x_bar, total);
  assert_alike(fallen.v_bar, staged.v_bar, total);
  assert_alike(fallen.theta_bar, staged.theta_bar, system->parameter_count);
  assert_alike(fallen.dt_bar, staged.dt_bar, SAMPLES);
  assert_memory_equal(fallen.replayed_x, fallen.x, sizeof fallen.x);
  assert_memory_equal(fallen.replayed_v, fallen.v, sizeof fallen.v);
  // what gravity and drag would change is there also where there is none
  const int gravity = system->segments[CAROM_GRAVITY].offset,
            drag = system->segments[CAROM_DRAG].offset;
  assert_true(fabs(fallen.theta_bar[gravity]) > 1e-3 && fabs(fallen.theta_bar[drag]) > 1e-3);
  mechanics_free(&m);
  carom_system_destroy(system);
}

static void test_closed_form_beside_stages(void **state) {
  (void)state;
  for (size_t s = 0; s < sizeof falling / sizeof falling[0]; s++)
    for (int k = 0; k < 8; k++)
      compare(falling[s], k % 2 == 0 ? CAROM_RK4 : CAROM_RK4_SECANT, 1 + k / 2 % 2, k / 4 == 1);
}

/* ---- differences ---- */

/* A state of one sample and everything that its step hangs on. */
typedef struct fixture {
  mechanics m;
  integrator in;
  int size;
  double x[MOST], v[MOST], theta[MOST], h, weight[2 * MOST];
} fixture;

static double loss(void *user) {
  fixture *f = user;
  double x[MOST], v[MOST], sum = 0;
  arena memory;
  arena_init(&memory);
  mechanics_set_parameters(&f->m, f->theta);
  f->in.dt = f->h;
  step_record record = step_record_make(&f->in, 1, &memory);
  memcpy(x, f->x, sizeof x);
  memcpy(v, f->v, sizeof v);
  integrator_step(&f->in, 1, x, v, &record, &memory);
  for (int i = 0; i < f->size; i++) sum += f->weight[i] * x[i] + f->weight[MOST + i] * v[i];
  arena_free(&memory);
  return sum;
}

/* By the state, the length of the step and all parameters, drags that are 0 among them. */
static void test_differences(void **state) {
  (void)state;
  rng random;
  rng_seed(&random, 6, 0);
  for (size_t s = 0; s < sizeof falling / sizeof falling[0]; s++) {
    carom_system *system = parse_system(falling[s]);
    fixture f = {.size = system->coordinate_count, .h = 0.2};
    double x_bar[MOST], v_bar[MOST], theta_bar[MOST] = {0}, h_bar = 0;
    arena memory;
    arena_init(&memory);
    assert_true(mechanics_init(&f.m, system));
    f.in = (integrator){
        .mechanics = &f.m, .potential = &scene_potential, .method = CAROM_RK4, .substeps = 1};
    carom_parameters_default(system, f.theta);
    fill(10, f.x, f.size);
    fill(11, f.v, f.size);
    fill(12, f.weight, 2 * MOST);
    memcpy(x_bar, f.weight, sizeof x_bar);
    memcpy(v_bar, f.weight + MOST, sizeof v_bar);
    loss(&f); // sets parameters and the length
    step_record record = step_record_make(&f.in, 1, &memory);
    assert_true(free_fall_is(&f.in, &record));
    double x[MOST], v[MOST];
    memcpy(x, f.x, sizeof x);
    memcpy(v, f.v, sizeof v);
    free_fall_step(&f.in, 1, x, v, &record);
    free_fall_step_vjp(&f.in, 1, &record, x_bar, v_bar, theta_bar, theta_bar, &h_bar);
    assert_true(gradient_error(loss, &f, f.x, x_bar, f.size, &random) < 1e-8);
    assert_true(gradient_error(loss, &f, f.v, v_bar, f.size, &random) < 1e-8);
    assert_true(gradient_error(loss, &f, f.theta, theta_bar, system->parameter_count, &random) <
                1e-8);
    assert_true(gradient_error(loss, &f, &f.h, &h_bar, 1, &random) < 1e-8);
    arena_free(&memory);
    mechanics_free(&f.m);
    carom_system_destroy(system);
  }
}

/* Whatever else moves bodies is left to the stages. */
static void test_what_does_not_fall(void **state) {
  (void)state;
  static const char *const others[] = {
      SCENE(2, "[0,-9.8]",
            BODIES PLACED2 ",\"springs\":[{\"ends\":[\"a\",\"b\"],\"stiffness\":3}]"),
      SCENE(
          2, "[0,-9.8]",
          "\"bodies\":[{\"id\":\"a\",\"type\":\"rigid\",\"mass\":0.3,\"radius\":0.1}],"
          "\"initial\":{\"sampler\":\"state\",\"bodies\":[{\"body\":\"a\",\"position\":[0,0]}]}")};
  for (size_t k = 0; k < sizeof others / sizeof others[0]; k++) {
    carom_system *system = parse_system(others[k]);
    mechanics m;
    assert_true(mechanics_init(&m, system));
    const integrator in = {
        .mechanics = &m, .potential = &scene_potential, .method = CAROM_RK4, .substeps = 1};
    assert_false(free_fall_is(&in, &(step_record){0}));
    mechanics_free(&m);
    carom_system_destroy(system);
  }
  carom_system *system = parse_system(falling[0]);
  mechanics m;
  assert_true(mechanics_init(&m, system));
  integrator in = {.mechanics = &m, .potential = &scene_potential, .method = CAROM_RK4};
  const double u = 0;
  const potential other = scene_potential;
  assert_true(free_fall_is(&in, &(step_record){0}));
  assert_false(free_fall_is(&in, &(step_record){.controls = {.u = &u}}));
  in.method = CAROM_EULER;
  assert_false(free_fall_is(&in, &(step_record){0}));
  in.method = CAROM_RK4;
  in.potential = &other;
  assert_false(free_fall_is(&in, &(step_record){0}));
  mechanics_free(&m);
  carom_system_destroy(system);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_closed_form_beside_stages),
      cmocka_unit_test(test_differences),
      cmocka_unit_test(test_what_does_not_fall),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
