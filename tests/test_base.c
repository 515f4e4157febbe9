/* The base layer: arena, checksum, envelope matrices, random numbers, errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/checksum.h"
#include "base/envelope.h"
#include "base/error.h"
#include "base/rng.h"

static void test_arena(void **state) {
  (void)state;
  arena a;
  arena_init(&a);
  // a mark taken before anything was allocated goes back to the very start
  arena_mark start = arena_save(&a);
  double *first = arena_doubles(&a, 3);
  assert_int_equal((uintptr_t)first % 64, 0);
  arena_mark mark = arena_save(&a);
  double *second = arena_zeros(&a, 100);
  assert_true(second >= first + 3);
  for (int i = 0; i < 100; i++) assert_true(second[i] == 0);
  arena_restore(&a, mark);
  assert_ptr_equal(arena_doubles(&a, 100), second);
  arena_restore(&a, start);
  assert_ptr_equal(arena_doubles(&a, 3), first);

  // large pieces make new blocks once, and find them again
  for (int pass = 0; pass < 3; pass++) {
    arena_restore(&a, start);
    long before = a.block_allocations;
    for (int i = 0; i < 5; i++) memset(arena_doubles(&a, 100000), 1, 800000);
    if (pass > 0) assert_int_equal(a.block_allocations, before);
  }
  arena_free(&a);
}

// the reference's numbers, for every length of rest behind the stripes of 32 bytes
static void test_checksum(void **state) {
  (void)state;
  static const struct {
    const char *text;
    uint64_t checksum;
  } known[] = {
      {"", 0xef46db3751d8e999},
      {"a", 0xd24ec4f1a98c6e5b},
      {"abc", 0x44bc2cf5ad770999},
      {"Nobody inspects the spammish repetition", 0xfbcea83c8a378bf1},
  };
  for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
    assert_true(checksum64(known[k].text, strlen(known[k].text)) == known[k].checksum);
  uint8_t bytes[200];
  uint64_t all = 0;
  for (int k = 0; k < 200; k++) bytes[k] = (uint8_t)(7 * k + 3);
  for (size_t length = 0; length <= 200; length++) all = 31 * all + checksum64(bytes, length);
  assert_true(all == 0xa92c646cf714b211);
}

/* A random positive definite matrix of a given envelope, and a dense copy of it. */
static void random_matrix(const envelope *shape, double *values, double *dense, rng *random) {
  int n = shape->size;
  memset(dense, 0, sizeof(double) * (size_t)(n * n));
  for (int i = 0; i < n; i++)
    for (int j = shape->first[i]; j <= i; j++) {
      double value = rng_normal(random) + (i == j ? 2.0 * n : 0);
      values[envelope_at(shape, i, j)] = value;
      dense[i * n + j] = dense[j * n + i] = value;
    }
}

static void test_envelope(void **state) {
  (void)state;
  enum { SIZE = 23 };
  rng random;
  rng_seed(&random, 1, 0);
  arena a;
  arena_init(&a);
  // dense, diagonal, banded, block diagonal, ragged
  for (int kind = 0; kind < 5; kind++) {
    int first[SIZE];
    for (int i = 0; i < SIZE; i++) {
      int choices[] = {0, i, i > 3 ? i - 3 : 0, i / 5 * 5, i - rng_below(&random, i + 1)};
      first[i] = choices[kind];
    }
    envelope shape = envelope_make(SIZE, first, &a);
    double *values = arena_doubles(&a, shape.start[SIZE]);
    double dense[SIZE * SIZE], x[SIZE], y[SIZE], expected[SIZE];
    random_matrix(&shape, values, dense, &random);
    for (int i = 0; i < SIZE; i++) x[i] = rng_normal(&random);
    envelope_multiply(&shape, values, x, y);
    for (int i = 0; i < SIZE; i++) {
      expected[i] = 0;
      for (int j = 0; j < SIZE; j++) expected[i] += dense[i * SIZE + j] * x[j];
      assert_true(fabs(y[i] - expected[i]) < 1e-12 * SIZE);
    }
    assert_true(envelope_factor(&shape, values, 0) > 0.5);
    envelope_solve(&shape, values, y);
    for (int i = 0; i < SIZE; i++) assert_true(fabs(y[i] - x[i]) < 1e-13);
  }
  arena_free(&a);
}

/* The pivot ratio tells a singular matrix. */
static void test_envelope_singular(void **state) {
  (void)state;
  arena a;
  arena_init(&a);
  int first[3] = {0, 0, 0};
  envelope shape = envelope_make(3, first, &a);
  double values[6] = {4, 2, 1, 2, 1, 5}; // second row is half the first
  assert_true(envelope_factor(&shape, values, 1e-13) < 1e-12);
  double z[3] = {1, 1, 1};
  envelope_solve(&shape, values, z);
  for (int i = 0; i < 3; i++) assert_true(isfinite(z[i]));
  arena_free(&a);
}

static void test_random_numbers(void **state) {
  (void)state;
  rng r, same, other;
  rng_seed(&r, 7, 3);
  rng_seed(&same, 7, 3);
  rng_seed(&other, 7, 4);
  assert_true(rng_next(&r) == rng_next(&same));
  assert_true(rng_next(&r) != rng_next(&other));
  enum { COUNT = 200000 };
  double sum = 0, square = 0, low = 1, high = 0, fourth = 0;
  int below[5] = {0};
  for (int i = 0; i < COUNT; i++) {
    double normal = rng_normal(&r), uniform = rng_uniform(&r, 0, 1);
    sum += normal;
    square += normal * normal;
    fourth += normal * normal * normal * normal;
    low = fmin(low, uniform);
    high = fmax(high, uniform);
    below[rng_below(&r, 5)]++;
  }
  assert_true(fabs(sum / COUNT) < 0.01);
  assert_true(fabs(square / COUNT - 1) < 0.02);
  assert_true(fabs(fourth / COUNT - 3) < 0.15);
  assert_true(low >= 0 && low < 1e-4 && high < 1 && high > 1 - 1e-4);
  for (int i = 0; i < 5; i++) assert_true(abs(below[i] - COUNT / 5) < COUNT / 100);
}

static void test_errors(void **state) {
  (void)state;
  carom_error error;
  assert_int_equal(error_set(&error, CAROM_FILE_ERROR, "cannot open %s", "a.h5"), CAROM_FILE_ERROR);
  assert_int_equal(error_prefix(&error, "reading %d", 3), CAROM_FILE_ERROR);
  assert_string_equal(error.message, "reading 3: cannot open a.h5");
  assert_int_equal(error_clear(&error), CAROM_OK);
  assert_string_equal(error.message, "");
  // a caller who does not want the message
  assert_int_equal(error_set(NULL, CAROM_INVALID_DATA, "x"), CAROM_INVALID_DATA);
  // messages that are too long are cut, not overrun
  char text[4000];
  memset(text, 'a', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  error_set(&error, CAROM_INVALID_DATA, "%s", text);
  error_prefix(&error, "%s", text);
  assert_true(strlen(error.message) < sizeof error.message);
}

// the header that programs are compiled with and the library that they run with tell their versions
static void test_version(void **state) {
  (void)state;
  char text[32];
  const int number = carom_version_number();
  snprintf(text, sizeof text, "%d.%d.%d", number / 10000, number / 100 % 100, number % 100);
  assert_string_equal(text, carom_version());
  assert_string_equal(text, CAROM_VERSION);
  assert_int_equal(number, CAROM_VERSION_NUMBER);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arena),          cmocka_unit_test(test_checksum),
      cmocka_unit_test(test_envelope),       cmocka_unit_test(test_envelope_singular),
      cmocka_unit_test(test_random_numbers), cmocka_unit_test(test_errors),
      cmocka_unit_test(test_version),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
