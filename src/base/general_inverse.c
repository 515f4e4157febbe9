#include "base/general_inverse.h"

#include "base/vector.h"

#include <math.h>

/* A pivot below this share of its row's largest entry leaves the rank to the singular values. */
static const double SMALL_PIVOT = 1e-9;

/* Jacobi: columns are orthogonal when their cosine is below this; sweeps converge quadratically. */
static const double ORTHOGONAL = 1e-15;
enum { MOST_SWEEPS = 40 };

/* ---- elimination ------------------------------------------------------------------------------- */

static void exchange_rows(double *a, int n, int i, int j) {
  for (int k = 0; k < n && i != j; k++) {
    double other = a[i * n + k];
    a[i * n + k] = a[j * n + k];
    a[j * n + k] = other;
  }
}

/* P L U in place; false if a pivot is small beside what its row began with */
static bool eliminate(int n, double *a, int *pivot, double *size) {
  for (int i = 0; i < n; i++) {
    size[i] = 0;
    for (int j = 0; j < n; j++) size[i] = fmax(size[i], fabs(a[i * n + j]));
  }
  for (int k = 0; k < n; k++) {
    pivot[k] = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(a[i * n + k]) > fabs(a[pivot[k] * n + k])) pivot[k] = i;
    exchange_rows(a, n, k, pivot[k]);
    double other = size[k];
    size[k] = size[pivot[k]];
    size[pivot[k]] = other;
    if (!(fabs(a[k * n + k]) > SMALL_PIVOT * size[k])) return false;
    for (int i = k + 1; i < n; i++) {
      double factor = a[i * n + k] /= a[k * n + k];
      for (int j = k + 1; j < n; j++) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return true;
}

static void solve_eliminated(const general_inverse *g, double *x) {
  int n = g->size;
  const double *a = g->values;
  for (int k = 0; k < n; k++) {
    double other = x[k];
    x[k] = x[g->pivot[k]];
    x[g->pivot[k]] = other;
  }
  for (int i = 0; i < n; i++) x[i] -= vector_dot(a + i * n, x, i);
  for (int i = n - 1; i >= 0; i--)
    x[i] = (x[i] - vector_dot(a + i * n + i + 1, x + i + 1, n - i - 1)) / a[i * n + i];
}

/* U'L'P' x = x */
static void solve_eliminated_transposed(const general_inverse *g, double *x) {
  int n = g->size;
  const double *a = g->values;
  for (int i = 0; i < n; i++) {
    x[i] /= a[i * n + i];
    for (int j = i + 1; j < n; j++) x[j] -= a[i * n + j] * x[i];
  }
  for (int i = n - 1; i >= 0; i--)
    for (int j = 0; j < i; j++) x[j] -= a[i * n + j] * x[i];
  for (int k = n - 1; k >= 0; k--) {
    double other = x[k];
    x[k] = x[g->pivot[k]];
    x[g->pivot[k]] = other;
  }
}

/* ---- singular values --------------------------------------------------------------------------- */

/* Turns columns i and j, of length n, which stand as rows, so that their product vanishes. */
static void turn(double cosine, double sine, int n, double *i, double *j) {
  for (int k = 0; k < n; k++) {
    double a = i[k], b = j[k];
    i[k] = cosine * a - sine * b;
    j[k] = sine * a + cosine * b;
  }
}

/* Columns of G, as rows of `columns`, to those of U S; V likewise from the unit matrix. */
static void orthogonalise(int n, double *columns, double *V) {
  bool turned = true;
  for (int sweep = 0; sweep < MOST_SWEEPS && turned; sweep++) {
    turned = false;
    for (int i = 0; i < n; i++)
      for (int j = i + 1; j < n; j++) {
        double *a = columns + i * n, *b = columns + j * n;
        double aa = vector_dot(a, a, n), bb = vector_dot(b, b, n), ab = vector_dot(a, b, n);
        if (!(fabs(ab) > ORTHOGONAL * sqrt(aa * bb))) continue;
        double zeta = (bb - aa) / (2 * ab);
        double t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + sqrt(1 + zeta * zeta));
        double cosine = 1 / sqrt(1 + t * t);
        turn(cosine, cosine * t, n, a, b);
        turn(cosine, cosine * t, n, V + i * n, V + j * n);
        turned = true;
      }
  }
}

static void decompose(general_inverse *g, const double *G, arena *memory) {
  int n = g->size;
  double largest = 0;
  g->pivot = NULL;
  g->V = arena_zeros(memory, n * n);
  g->inverse = arena_doubles(memory, n);
  for (int i = 0; i < n; i++) {
    g->V[i * n + i] = 1;
    for (int j = 0; j < n; j++) g->values[j * n + i] = G[i * n + j];
  }
  orthogonalise(n, g->values, g->V);
  for (int i = 0; i < n; i++) {
    g->inverse[i] = vector_dot(g->values + i * n, g->values + i * n, n);
    largest = fmax(largest, g->inverse[i]);
  }
  g->rank = 0;
  for (int i = 0; i < n; i++) {
    bool counts = g->inverse[i] > GENERAL_RANK * GENERAL_RANK * largest;
    g->inverse[i] = counts ? 1 / g->inverse[i] : 0;
    g->rank += counts;
  }
}

/* x = sum over the rank of to_i (from_i x) / S_i^2, of vectors that stand as rows */
static void apply_decomposed(const general_inverse *g, const double *from, const double *to,
                             double *x) {
  int n = g->size;
  memset(g->work, 0, sizeof(double) * (size_t)n);
  for (int i = 0; i < n; i++) {
    if (g->inverse[i] == 0) continue;
    double share = vector_dot(from + i * n, x, n) * g->inverse[i];
    for (int k = 0; k < n; k++) g->work[k] += share * to[i * n + k];
  }
  vector_copy(x, g->work, n);
}

/* ---- both -------------------------------------------------------------------------------------- */

general_inverse general_inverse_make(int size, const double *G, arena *memory) {
  general_inverse g = {.size = size,
                       .rank = size,
                       .values = arena_doubles(memory, size * size),
                       .pivot = ARENA_ARRAY(memory, int, size),
                       .work = arena_doubles(memory, size)};
  vector_copy(g.values, G, size * size);
  if (!eliminate(size, g.values, g.pivot, g.work)) decompose(&g, G, memory);
  return g;
}

void general_solve(const general_inverse *g, double *x) {
  if (g->pivot != NULL)
    solve_eliminated(g, x);
  else
    apply_decomposed(g, g->values, g->V, x);
}

void general_solve_transposed(const general_inverse *g, double *x) {
  if (g->pivot != NULL)
    solve_eliminated_transposed(g, x);
  else
    apply_decomposed(g, g->V, g->values, x);
}

void general_null(const general_inverse *g, double *x) {
  int n = g->size;
  for (int i = 0; i < n; i++) {
    if (g->rank == n) x[i] = 0;
    if (g->rank == n || g->inverse[i] == 0) continue;
    double share = vector_dot(g->V + i * n, x, n);
    for (int k = 0; k < n; k++) x[k] -= share * g->V[i * n + k];
  }
}
