/* The network's kernels, all that this processor can run: products and softplus beside their definitions,
 * and the same bits from all that have fused multiply-add. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "nn/gemm.h"
#include "nn/kernels.h"
#include "nn/mlp.h"

/* ---- softplus ---------------------------------------------------------------------------------- */

/* How far sums in long double are off: valgrind computes them in double. */
static long double rounding_of_long_double(void) {
  volatile long double one = 1, small = 1;
  while (one + small / 2 != one) small /= 2;
  return small;
}

/* Beside the functions of the C library in a wider type. */
static void check_softplus(const nn_kernels *kernels) {
  enum { COUNT = 4001 };
  static double a[COUNT], h[COUNT], s[COUNT];
  static float af[COUNT], hf[COUNT], sf[COUNT];
  static double alone[COUNT];
  static float alone_single[COUNT];
  for (int i = 0; i < COUNT; i++) {
    double u = (i - COUNT / 2) / 100.0;
    a[i] = u * fabs(u); // dense near 0, to +-400
    af[i] = (float)a[i];
  }
  const long double unsure = 2 * rounding_of_long_double();
  kernels->softplus_double(COUNT, a, h, s);
  kernels->softplus_single(COUNT, af, hf, sf);
  // the slope by itself is the same
  kernels->softplus_double(COUNT, a, NULL, alone);
  kernels->softplus_single(COUNT, af, NULL, alone_single);
  assert_memory_equal(alone, s, sizeof s);
  assert_memory_equal(alone_single, sf, sizeof sf);
  for (int i = 0; i < COUNT; i++) {
    long double exact_h = fmaxl(a[i], 0) + log1pl(expl(-fabsl((long double)a[i])));
    long double exact_s = 1 / (1 + expl(-(long double)a[i]));
    assert_true(fabsl((long double)h[i] - exact_h) <= (4e-16L + unsure) * exact_h + 1e-300L);
    assert_true(fabsl((long double)s[i] - exact_s) <= (6e-16L + unsure) * exact_s + 1e-300L);
    double single_h = fmax(af[i], 0) + log1p(exp(-fabs((double)af[i])));
    double single_s = 1 / (1 + exp(-(double)af[i]));
    assert_true(fabs((double)hf[i] - single_h) <= 4e-7 * single_h + 1e-37);
    assert_true(fabs((double)sf[i] - single_s) <= 4e-7 * single_s + 1e-37);
  }
}

/* ---- matrix products --------------------------------------------------------------------------- */

typedef struct product_case {
  int m, n, k;
  double *a, *b, *bias, *c; /* [m][k], [k][n], [n], [m][n] */
  double *a_turned, *b_turned;
} product_case;

static double *random_numbers(rng *random, int count, arena *memory) {
  double *numbers = arena_doubles(memory, count);
  // floats, so that both precisions are given the same
  for (int i = 0; i < count; i++) numbers[i] = (double)(float)rng_normal(random);
  return numbers;
}

static double *turned(int rows, int columns, const double *from, arena *memory) {
  double *to = arena_doubles(memory, rows * columns);
  for (int i = 0; i < rows * columns; i++) to[i % columns * rows + i / columns] = from[i];
  return to;
}

static float *singles(const double *from, int count, arena *memory) {
  float *to = ARENA_ARRAY(memory, float, count);
  for (int i = 0; i < count; i++) to[i] = (float)from[i];
  return to;
}

/* c + a b term by term, with the bias and with the c that was there */
static void assert_product(const product_case *p, const double *result, bool bias, bool added,
                           double tolerance) {
  for (int i = 0; i < p->m; i++)
    for (int j = 0; j < p->n; j++) {
      double sum = (bias ? p->bias[j] : 0) + (added ? p->c[i * p->n + j] : 0);
      for (int q = 0; q < p->k; q++) sum += p->a[i * p->k + q] * p->b[q * p->n + j];
      assert_true(fabs(result[i * p->n + j] - sum) < tolerance * (1 + p->k));
    }
}

static void assert_single(const product_case *p, const float *result, bool bias, arena *memory) {
  double *wide = arena_doubles(memory, p->m * p->n);
  for (int i = 0; i < p->m * p->n; i++) wide[i] = (double)result[i];
  assert_product(p, wide, bias, false, 1e-6);
}

static void check_double(const product_case *p, arena *memory) {
  int m = p->m, n = p->n, k = p->k;
  double *result = arena_doubles(memory, m * n);
  gemm_nn_double(m, n, k, p->a, p->b, result, memory);
  assert_product(p, result, false, false, 1e-15);
  gemm_blas_double(m, n, k, p->a, p->b, result);
  assert_product(p, result, false, false, 1e-15);
  gemm_nt_double(m, n, k, p->a, p->b_turned, NULL, result, memory);
  assert_product(p, result, false, false, 1e-15);
  gemm_nt_double(m, n, k, p->a, p->b_turned, p->bias, result, memory);
  assert_product(p, result, true, false, 1e-15);
  memcpy(result, p->c, sizeof(double) * (size_t)(m * n));
  gemm_tn_double(m, n, k, p->a_turned, p->b, result, memory);
  assert_product(p, result, false, true, 1e-15);
}

static void check_single(const product_case *p, arena *memory) {
  int m = p->m, n = p->n, k = p->k;
  float *a = singles(p->a, m * k, memory), *b = singles(p->b, k * n, memory);
  float *a_turned = singles(p->a_turned, m * k, memory);
  float *b_turned = singles(p->b_turned, k * n, memory), *bias = singles(p->bias, n, memory);
  float *result = ARENA_ARRAY(memory, float, m *n);
  gemm_nn_single(m, n, k, a, b, result, memory);
  assert_single(p, result, false, memory);
  gemm_blas_single(m, n, k, a, b, result);
  assert_single(p, result, false, memory);
  gemm_nt_single(m, n, k, a, b_turned, NULL, result, memory);
  assert_single(p, result, false, memory);
  gemm_nt_single(m, n, k, a, b_turned, bias, result, memory);
  assert_single(p, result, true, memory);
  double *sum = arena_doubles(memory, m * n);
  memcpy(sum, p->c, sizeof(double) * (size_t)(m * n));
  gemm_tn_single(m, n, k, a_turned, b, sum, memory);
  assert_product(p, sum, false, true, 1e-6);
}

/* Rows of a and c with a gap between them, which nothing may touch; b packed in two parts. */
static void check_apart(const product_case *p, arena *memory) {
  enum { GAP = 3 };
  const int m = p->m, n = p->n, k = p->k, part = k / 3;
  double *packed = arena_bytes(memory, sizeof(double) * gemm_packed_double(n, k));
  double *whole = arena_bytes(memory, sizeof(double) * gemm_packed_double(n, k));
  gemm_pack_rows_double(n, k, part, k - part, p->b + part * n, packed);
  gemm_pack_rows_double(n, k, 0, part, p->b, packed);
  gemm_pack_double(n, k, p->b_turned, true, whole);
  assert_memory_equal(packed, whole, sizeof(double) * gemm_packed_double(n, k));

  double *a = arena_doubles(memory, m * (k + GAP)), *c = arena_doubles(memory, m * (n + GAP));
  for (int i = 0; i < m * (n + GAP); i++) c[i] = 77;
  for (int i = 0; i < m; i++) memcpy(a + i * (k + GAP), p->a + i * k, sizeof(double) * (size_t)k);
  gemm_apart_double(m, n, k, a, k + GAP, packed, c, n + GAP);
  double *result = arena_doubles(memory, m * n);
  for (int i = 0; i < m; i++) {
    memcpy(result + i * n, c + i * (n + GAP), sizeof(double) * (size_t)n);
    for (int j = n; j < n + GAP; j++) assert_true(c[i * (n + GAP) + j] == 77);
  }
  assert_product(p, result, false, false, 1e-15);

  double *a_turned = arena_doubles(memory, k * (m + GAP));
  for (int i = 0; i < k; i++)
    memcpy(a_turned + i * (m + GAP), p->a_turned + i * m, sizeof(double) * (size_t)m);
  memcpy(result, p->c, sizeof(double) * (size_t)(m * n));
  gemm_tn_packed_double(m, n, k, a_turned, m + GAP, packed, result);
  assert_product(p, result, false, true, 1e-15);
}

/* Every kind of product beside its definition: widths with and without whole tiles, rows and inner
 * sizes with every remainder. */
static void check_products(void) {
  const int widths[] = {1, 10, 16, 33, 64, 192, 256};
  rng random;
  rng_seed(&random, 12, 0);
  for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
    for (int m = 1; m <= 27; m += m < 13 ? 1 : 7) {
      arena memory;
      arena_init(&memory);
      product_case p = {.m = m, .n = widths[w], .k = 3 * m + 2};
      p.a = random_numbers(&random, p.m * p.k, &memory);
      p.b = random_numbers(&random, p.k * p.n, &memory);
      p.bias = random_numbers(&random, p.n, &memory);
      p.c = random_numbers(&random, p.m * p.n, &memory);
      p.a_turned = turned(p.m, p.k, p.a, &memory);
      p.b_turned = turned(p.k, p.n, p.b, &memory);
      check_double(&p, &memory);
      check_single(&p, &memory);
      check_apart(&p, &memory);
      arena_free(&memory);
    }
}

static void test_every_kernel(void **state) {
  (void)state;
  for (int i = 0; kernels_at(i) != NULL; i++) {
    print_message("kernels %s\n", kernels_at(i)->name);
    assert_ptr_equal(kernels_choose(kernels_at(i)->name), kernels_at(i));
    assert_ptr_equal(kernels_in_use(), kernels_at(i));
    check_softplus(kernels_at(i));
    check_products();
  }
  assert_null(kernels_choose("none of these"));
  assert_ptr_equal(kernels_choose(NULL), kernels_at(0));
}

/* ---- bits ---------------------------------------------------------------------------------------- */

enum { SAMPLES = 11, INPUTS = 7 };
static const mlp_shape SHAPE = {INPUTS, 3, 40};

/* A network's gradient and its derivative in single precision, as bytes: [SAMPLES][INPUTS] twice, then
 * parameters. */
static double *network_results(const double *parameters, const double *x, arena *memory) {
  const int count = SAMPLES * INPUTS;
  float *prepared = arena_bytes(memory, sizeof(float) * mlp_single_prepared_count(&SHAPE));
  void *record = arena_bytes(memory, mlp_single_record_bytes(&SHAPE, SAMPLES));
  double *results = arena_zeros(memory, 2 * count + mlp_parameter_count(&SHAPE));
  mlp_single_prepare(&SHAPE, parameters, prepared);
  mlp_single_gradient(&SHAPE, prepared, SAMPLES, x, results, record, memory);
  mlp_single_gradient_vjp(&SHAPE, prepared, SAMPLES, record, x, results + count,
                          results + 2 * count, memory);
  return results;
}

static void test_same_bits_from_fused_kernels(void **state) {
  (void)state;
  arena memory;
  arena_init(&memory);
  rng random;
  rng_seed(&random, 4, 0);
  double *parameters = arena_doubles(&memory, mlp_parameter_count(&SHAPE));
  assert_int_equal(mlp_initialise(&SHAPE, &random, parameters, NULL, NULL), CAROM_OK);
  double *x = random_numbers(&random, SAMPLES * INPUTS, &memory);
  const size_t numbers = 2 * SAMPLES * INPUTS + (size_t)mlp_parameter_count(&SHAPE);
  const double *first = NULL;
  int compared = 0;
  for (int i = 0; kernels_at(i) != NULL; i++) {
    // plain x86 has no fused multiply-add
    if (kernels_at(i + 1) == NULL) break;
    kernels_choose(kernels_at(i)->name);
    const double *results = network_results(parameters, x, &memory);
    if (first != NULL) assert_memory_equal(first, results, sizeof(double) * numbers);
    compared += first != NULL;
    first = results;
  }
  kernels_choose(NULL);
  arena_free(&memory);
  if (compared == 0) {
    print_message("SKIPPED: this processor has no two kernels with fused multiply-add\n");
    skip();
  }
}

int main(void) {
  gemm_begin();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_kernel),
      cmocka_unit_test(test_same_bits_from_fused_kernels),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  gemm_end();
  return failed;
}
