/* The potential network with its elastic term: value, gradient and the derivative of the
 * gradient against central differences, and what it is at the beginning. */
#include "nn/gemm.h"
#include "nn/network_potential.h"
#include "support/differences.h"
#include "support/systems.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COUNT = 3 };

/* A network at random states of a system, and a random cotangent of its gradient. */
typedef struct network_case {
  carom_system *system;
  mechanics mechanics;
  network_potential network;
  int size, parameter_count;
  double *x, *gradient, *weights, *parameters;
  void *prepared;
  void *record;
  arena memory;
} network_case;

static double *random_numbers(int count, double size, rng *random) {
  double *numbers = malloc(sizeof(double) * (size_t)count);
  for (int i = 0; i < count; i++) numbers[i] = size * rng_normal(random);
  return numbers;
}

static void set_up_case(network_case *c, const char *scene, bool elastic, bool single) {
  *c = (network_case){.system = load_system(scene)};
  mechanics_init(&c->mechanics, c->system);
  c->network = network_potential_make(c->system, elastic, 2, 10);
  c->size = c->system->coordinate_count;
  c->parameter_count = network_parameter_count(&c->network);
  rng random;
  rng_seed(&random, 11, 0);
  c->x = malloc(sizeof(double) * (size_t)(COUNT * c->size));
  double *v = malloc(sizeof(double) * (size_t)(COUNT * c->size));
  assert_int_equal(carom_system_sample(c->system, 5, COUNT, c->x, v, NULL), CAROM_OK);
  free(v);
  // off their rest lengths
  for (int i = 0; i < COUNT * c->size; i++) c->x[i] += 0.01 * rng_normal(&random);
  c->gradient = malloc(sizeof(double) * (size_t)(COUNT * c->size));
  c->weights = random_numbers(COUNT * c->size, 1, &random);
  c->parameters = random_numbers(c->parameter_count, 0.7, &random);
  c->prepared = malloc(network_prepared_bytes(&c->network.shape, single));
  network_potential_set(&c->network, c->parameters, single, c->prepared);
  network_potential_refresh(&c->network);
  c->record = malloc(c->network.base.record_bytes(&c->network.base, COUNT));
  arena_init(&c->memory);
}

static void tear_down_case(network_case *c) {
  void *pieces[] = {c->x, c->gradient, c->weights, c->parameters, c->prepared, c->record};
  for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) free(pieces[i]);
  arena_free(&c->memory);
  mechanics_free(&c->mechanics);
  carom_system_destroy(c->system);
}

// sum of V over the states
static double value_sum(void *user) {
  network_case *c = user;
  double value[COUNT], sum = 0;
  c->network.base.value(&c->network.base, &c->mechanics, COUNT, c->x, value, &c->memory);
  for (int i = 0; i < COUNT; i++) sum += value[i];
  return sum;
}

// the gradient, weighted
static double gradient_sum(void *user) {
  network_case *c = user;
  network_potential_refresh(&c->network);
  c->network.base.gradient(&c->network.base, &c->mechanics, COUNT, c->x, c->gradient, c->record,
                           &c->memory);
  double sum = 0;
  for (int i = 0; i < COUNT * c->size; i++) sum += c->weights[i] * c->gradient[i];
  return sum;
}

static void derivatives(void **state) {
  (void)state;
  const char *const scenes[] = {"cp3", "rope", CAROM_TEST_DATA "/rope3d.json", "bd5", "gyro"};
  for (int k = 0; k < 20; k++) {
    network_case c;
    set_up_case(&c, scenes[k % 10 / 2], k % 2 == 0, false);
    // in units of 1, then in others
    if (k >= 10) c.network.length = 0.3;
    if (k >= 10) c.network.energy = 2.5;
    assert_int_equal(c.network.elastic_count > 0, k % 10 >= 2 && k % 10 < 6 && k % 2 == 0);
    rng random;
    rng_seed(&random, 7, (uint64_t)k);
    gradient_sum(&c);
    double *gradient = malloc(sizeof(double) * (size_t)(COUNT * c.size));
    memcpy(gradient, c.gradient, sizeof(double) * (size_t)(COUNT * c.size));
    assert_true(gradient_error(value_sum, &c, c.x, gradient, COUNT * c.size, &random) < 1e-8);
    double *x_bar = calloc((size_t)(COUNT * c.size), sizeof(double));
    double *bars = calloc((size_t)c.parameter_count, sizeof(double));
    gradient_sum(&c);
    c.network.base.gradient_vjp(&c.network.base, &c.mechanics, COUNT, c.x, c.record, c.weights,
                                x_bar, bars, &c.memory);
    assert_true(gradient_error(gradient_sum, &c, c.x, x_bar, COUNT * c.size, &random) < 1e-7);
    const int elastic = 2 * c.network.elastic_count;
    if (elastic > 0)
      assert_true(gradient_error(gradient_sum, &c, c.parameters, bars, elastic, &random) < 1e-8);
    assert_true(gradient_error(gradient_sum, &c, c.parameters + elastic, bars + elastic,
                               c.parameter_count - elastic, &random) < 1e-7);
    free(gradient);
    free(x_bar);
    free(bars);
    tear_down_case(&c);
  }
}

// in single precision the same up to its rounding
static void single_precision(void **state) {
  (void)state;
  network_case exact, rounded;
  set_up_case(&exact, "rope", true, false);
  set_up_case(&rounded, "rope", true, true);
  assert_near(gradient_sum(&rounded) / gradient_sum(&exact), 1, 1e-4);
  assert_true(gradient_sum(&rounded) != gradient_sum(&exact));
  double *bars[2];
  network_case *cases[] = {&exact, &rounded};
  for (int k = 0; k < 2; k++) {
    network_case *c = cases[k];
    bars[k] = calloc((size_t)(c->parameter_count + COUNT * c->size), sizeof(double));
    c->network.base.gradient_vjp(&c->network.base, &c->mechanics, COUNT, c->x, c->record,
                                 c->weights, bars[k] + c->parameter_count, bars[k], &c->memory);
  }
  double largest = 0;
  const int count = exact.parameter_count + COUNT * exact.size;
  for (int i = 0; i < count; i++) largest = fmax(largest, fabs(bars[0][i]));
  for (int i = 0; i < count; i++) assert_near(bars[1][i], bars[0][i], 1e-4 * largest);
  for (int k = 0; k < 2; k++) {
    free(bars[k]);
    tear_down_case(cases[k]);
  }
}

// denormal numbers are flushed inside only, whatever the network is full of
static void denormals_come_back(void **state) {
  (void)state;
  for (int single = 0; single < 2; single++) {
    network_case c;
    set_up_case(&c, "cp3", false, single);
    for (int i = 0; i < COUNT * c.size; i++) c.x[i] *= -40;
    assert_true(isfinite(gradient_sum(&c)));
    double *bars = calloc((size_t)(c.parameter_count + COUNT * c.size), sizeof(double));
    c.network.base.gradient_vjp(&c.network.base, &c.mechanics, COUNT, c.x, c.record, c.weights,
                                bars + c.parameter_count, bars, &c.memory);
    volatile double small = 1e-310;
    assert_true(small * 0.5 > 0);
    free(bars);
    tear_down_case(&c);
  }
}

// there is no elasticity at first; with the right coefficients it is the scene's springs
static void springs(void **state) {
  (void)state;
  network_case c;
  set_up_case(&c, "rope", true, false);
  const int elastic = 2 * c.network.elastic_count;
  assert_int_equal(elastic, 20);
  rng random;
  rng_seed(&random, 1, 0);
  assert_int_equal(network_potential_initialise(&c.network, &random, c.parameters, NULL, NULL),
                   CAROM_OK);
  for (int k = 0; k < elastic; k++) assert_true(c.parameters[k] == 0);
  assert_true(gradient_sum(&c) != 0);
  // the perceptron flat, V = 50 (|s| - 0.05)^2 for every segment
  memset(c.parameters, 0, sizeof(double) * (size_t)c.parameter_count);
  for (int k = 0; k < elastic; k += 2) c.parameters[k + 1] = 50 * 0.05 * 0.05;
  gradient_sum(&c);
  carom_system *s = c.system;
  double theta[256], *expected = malloc(sizeof(double) * (size_t)(COUNT * c.size));
  assert_true(s->parameter_count <= 256);
  carom_parameters_default(s, theta);
  for (int i = 0; i < 2; i++) theta[s->segments[CAROM_GRAVITY].offset + i] = 0;
  mechanics_set_parameters(&c.mechanics, theta);
  scene_potential.gradient(&scene_potential, &c.mechanics, COUNT, c.x, expected, NULL, &c.memory);
  for (int i = 0; i < COUNT * c.size; i++) assert_near(c.gradient[i], expected[i], 1e-12);
  free(expected);
  tear_down_case(&c);
}

int main(void) {
  gemm_begin();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(derivatives),
      cmocka_unit_test(single_precision),
      cmocka_unit_test(denormals_come_back),
      cmocka_unit_test(springs),
  };
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  gemm_end();
  return failed;
}
