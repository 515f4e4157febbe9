/* The pseudo-inverse of a semidefinite matrix, dense and banded, against its defining equations. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/semidefinite.h"

static arena memory;

// H = G'G, G [rank][size] with entries in a band of the given width (rows spread over it)
static double *make_matrix(int size, int rank, int width, envelope *shape) {
  rng r;
  rng_seed(&r, 5, (uint64_t)(size * 1000 + rank));
  double *G = arena_zeros(&memory, rank * size);
  int *first = ARENA_ARRAY(&memory, int, size);
  for (int i = 0; i < size; i++) first[i] = i - 2 * width > 0 ? i - 2 * width : 0;
  for (int k = 0; k < rank; k++) {
    int centre = (int)((long)k * size / rank);
    for (int i = 0; i < size; i++)
      if (i >= centre - width && i <= centre + width) G[k * size + i] = rng_normal(&r);
  }
  *shape = envelope_make(size, first, &memory);
  double *H = arena_zeros(&memory, shape->start[size]);
  for (int i = 0; i < size; i++)
    for (int j = first[i]; j <= i; j++)
      for (int k = 0; k < rank; k++)
        H[envelope_at(shape, i, j)] += G[k * size + i] * G[k * size + j];
  return H;
}

static void assert_close(const double *a, const double *b, int count, double tolerance) {
  for (int i = 0; i < count; i++)
    if (!(fabs(a[i] - b[i]) <= tolerance)) fail_msg("entry %d: %g is not %g", i, a[i], b[i]);
}

static void check(int size, int rank, int width, int expected_rank, double tolerance) {
  envelope shape;
  double *H = make_matrix(size, rank, width, &shape);
  semidefinite h = semidefinite_make(&shape, H, 1e-11, &memory);
  assert_int_equal(h.rank, expected_rank);

  // x = H z is in the range: H H^+ x = x, and H^+ x has no part in the null space
  rng r;
  rng_seed(&r, 6, 0);
  double *z = arena_doubles(&memory, size), *x = arena_doubles(&memory, size);
  double *y = arena_doubles(&memory, size), *back = arena_doubles(&memory, size);
  double *zero = arena_zeros(&memory, size);
  for (int i = 0; i < size; i++) z[i] = rng_normal(&r);
  envelope_multiply(&shape, H, z, x);
  memcpy(y, x, sizeof(double) * (size_t)size);
  semidefinite_solve(&h, y);
  envelope_multiply(&shape, H, y, back);
  assert_close(back, x, size, tolerance);
  memcpy(back, y, sizeof(double) * (size_t)size);
  semidefinite_null(&h, back);
  assert_close(back, zero, size, tolerance);

  // z = H^+ H z + N z
  semidefinite_null(&h, z);
  envelope_multiply(&shape, H, z, back);
  assert_close(back, zero, size, tolerance);
}

static void test_dense(void **state) {
  (void)state;
  check(1, 1, 5, 1, 1e-12);
  check(12, 6, 12, 6, 1e-9);
  check(12, 12, 12, 12, 1e-6);
  check(40, 17, 40, 17, 1e-9);
  check(24, 0, 3, 0, 1e-12);
}

// too large for the dense way: banded, rank 3/4
static void test_banded(void **state) {
  (void)state;
  check(400, 300, 4, 399, 1e-4);
}

// large blocks-of-two matrix with eigenvalues 2 and 2e-6, every third block singular: small eigenvalues
// far above the threshold are inverted as they are
static void test_small_eigenvalues(void **state) {
  (void)state;
  enum { SIZE = 2 * SEMIDEFINITE_DENSE };
  int *first = ARENA_ARRAY(&memory, int, SIZE);
  for (int i = 0; i < SIZE; i++) first[i] = i / 2 * 2;
  envelope shape = envelope_make(SIZE, first, &memory);
  double *H = arena_zeros(&memory, shape.start[SIZE]), *x = arena_doubles(&memory, SIZE);
  for (int i = 0; i < SIZE; i++) {
    double small = i / 2 % 3 == 0 ? 0 : 1e-6;
    H[envelope_at(&shape, i, i)] = 1 + small;
    if (i % 2 == 1) H[envelope_at(&shape, i, i - 1)] = 1 - small;
    x[i] = small > 0 && i % 2 == 1 ? -1 : 1;
  }
  semidefinite h = semidefinite_make(&shape, H, 1e-11, &memory);
  assert_true(h.rank < SIZE);
  semidefinite_solve(&h, x);
  for (int i = 0; i < SIZE; i++) {
    double expected = i / 2 % 3 == 0 ? 0.5 : i % 2 == 0 ? 5e5 : -5e5;
    if (!(fabs(x[i] - expected) <= 1e-6 * fabs(expected)))
      fail_msg("entry %d: %g is not %g", i, x[i], expected);
  }
}

int main(void) {
  arena_init(&memory);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_dense), cmocka_unit_test(test_banded),
                                     cmocka_unit_test(test_small_eigenvalues)};
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  arena_free(&memory);
  return failures;
}
