/* The pseudo-inverse of general matrices: Moore's and Penrose's conditions for every rank. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/general_inverse.h"
#include "base/rng.h"
#include "support/systems.h"

/* |x - y| of two vectors, for Moore's and Penrose's conditions */
static double distance(const double *x, const double *y, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sqrt(sum);
}

static void multiply(int n, const double *G, bool transposed, const double *x, double *y) {
  for (int i = 0; i < n; i++) {
    y[i] = 0;
    for (int j = 0; j < n; j++) y[i] += (transposed ? G[j * n + i] : G[i * n + j]) * x[j];
  }
}

/* For every rank: G G^+ G x = G x, G^+ G x = x - (its part in the null space), G times that part is 0, and
 * x'(G^+ y) = ((G')^+ x)'y. */
static void test_pseudo_inverse(void **state) {
  (void)state;
  enum { MOST = 7 };
  for (int n = 1; n <= MOST; n++)
    for (int rank = 0; rank <= n; rank++) {
      arena memory;
      arena_init(&memory);
      rng r;
      rng_seed(&r, 40, (uint64_t)(n * 100 + rank));
      double G[MOST * MOST] = {0}, a[MOST] = {0}, b[MOST] = {0};
      double x[MOST] = {0}, y[MOST] = {0}, u[MOST], w[MOST];
      for (int k = 0; k < rank; k++) {
        for (int i = 0; i < n; i++) a[i] = rng_normal(&r);
        for (int i = 0; i < n; i++) b[i] = rng_normal(&r);
        for (int i = 0; i < n * n; i++) G[i] += a[i / n] * b[i % n];
      }
      general_inverse g = general_inverse_make(n, G, &memory);
      assert_int_equal(g.rank, rank);
      for (int i = 0; i < n; i++) x[i] = rng_normal(&r);
      multiply(n, G, false, x, y);
      memcpy(u, y, sizeof u);
      general_solve(&g, u);
      multiply(n, G, false, u, w);
      assert_near(distance(w, y, n), 0, 1e-10);
      memcpy(a, x, sizeof a);
      general_null(&g, a);
      for (int i = 0; i < n; i++) b[i] = x[i] - a[i];
      assert_near(distance(u, b, n), 0, 1e-9);
      multiply(n, G, false, a, w);
      for (int i = 0; i < n; i++) assert_near(w[i], 0, 1e-10);
      double left = 0, right = 0;
      for (int i = 0; i < n; i++) y[i] = rng_normal(&r);
      memcpy(u, y, sizeof u);
      memcpy(w, x, sizeof w);
      general_solve(&g, u);
      general_solve_transposed(&g, w);
      for (int i = 0; i < n; i++) left += x[i] * u[i], right += w[i] * y[i];
      assert_near(left, right, 1e-8 * (1 + fabs(left)));
      arena_free(&memory);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_pseudo_inverse)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
