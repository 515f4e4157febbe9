#include "contact/lcp_lemke.h"

#include <math.h>
#include <string.h>

/* Entries of the tableau below this, beside the largest of their column, are rounding. */
static const double NO_PIVOT = 1e-11;

/* Ratios that differ by less than this are equal, and the next column decides. */
static const double TIE = 1e-12;

enum { PIVOTS_FOR_EACH = 20 };

/* Rows of w - Mz - 1 z0 = q in the present basis. Columns: w (n), z (n), z0, q. */
typedef struct tableau {
  int n, columns;
  double *rows; /* [n][columns] */
  int *basis;   /* [n] the column that stands in each row */
} tableau;

static double *row_of(const tableau *t, int i) { return t->rows + (size_t)i * (size_t)t->columns; }

static tableau tableau_make(int n, const double *M, const double *q, arena *memory) {
  tableau t = {.n = n, .columns = 2 * n + 2, .basis = ARENA_ARRAY(memory, int, n)};
  t.rows = arena_zeroed(memory, sizeof(double) * (size_t)n * (size_t)t.columns);
  for (int i = 0; i < n; i++) {
    double *row = row_of(&t, i);
    row[i] = 1;
    for (int j = 0; j < n; j++) row[n + j] = -M[i * n + j];
    row[2 * n] = -1;
    row[2 * n + 1] = q[i];
    t.basis[i] = i;
  }
  return t;
}

/* Is (q, w columns) / entry of row i less than that of row k, in lexicographic order? */
static bool comes_first(const tableau *t, int i, int k, int column) {
  const double *a = row_of(t, i), *b = row_of(t, k);
  double q_a = a[2 * t->n + 1] / a[column], q_b = b[2 * t->n + 1] / b[column];
  double size = fmax(fabs(q_a), fabs(q_b));
  if (fabs(q_a - q_b) > TIE * size) return q_a < q_b;

  // z0 leaves if it can
  if (t->basis[i] == 2 * t->n || t->basis[k] == 2 * t->n) return t->basis[i] == 2 * t->n;
  for (int j = 0; j < t->n; j++) {
    double x = a[j] / a[column], y = b[j] / b[column];
    if (fabs(x - y) > TIE * fmax(fabs(x), fabs(y))) return x < y;
  }
  return false;
}

/* The row that leaves when a column enters; -1: none, the column is a ray. */
static int leaving_row(const tableau *t, int column) {
  double largest = 0;
  int best = -1;
  for (int i = 0; i < t->n; i++) largest = fmax(largest, fabs(row_of(t, i)[column]));
  for (int i = 0; i < t->n; i++)
    if (row_of(t, i)[column] > NO_PIVOT * largest && (best < 0 || comes_first(t, i, best, column)))
      best = i;
  return best;
}

static void pivot(tableau *t, int row, int column) {
  double *p = row_of(t, row), inverse = 1 / p[column];
  for (int j = 0; j < t->columns; j++) p[j] *= inverse;
  p[column] = 1;
  for (int i = 0; i < t->n; i++) {
    double *a = row_of(t, i), factor = a[column];
    if (i == row || factor == 0) continue;
    for (int j = 0; j < t->columns; j++) a[j] -= factor * p[j];
    a[column] = 0;
  }
  t->basis[row] = column;
}

/* z0 enters at the row whose q is lowest */
static int first_row(const tableau *t, const double *q) {
  int least = 0;
  for (int i = 1; i < t->n; i++)
    if (q[i] < q[least]) least = i;
  return least;
}

bool lemke_solve(int n, const double *M, const double *q, double *z, int *pivots, arena *scratch) {
  memset(z, 0, sizeof(double) * (size_t)n);
  arena_mark mark = arena_save(scratch);
  tableau t = tableau_make(n, M, q, scratch);
  int row = first_row(&t, q), column = 2 * n, most = PIVOTS_FOR_EACH * (n + 5), done = 0;
  bool found = n == 0 || q[row] >= 0;
  while (!found && row >= 0 && done < most) {
    int left = t.basis[row];
    pivot(&t, row, column);
    done++;
    found = left == 2 * n;
    column = left < n ? left + n : left - n; // the complement of what left
    if (!found) row = leaving_row(&t, column);
  }
  for (int i = 0; i < n && found; i++)
    if (t.basis[i] >= n && t.basis[i] < 2 * n) z[t.basis[i] - n] = row_of(&t, i)[2 * n + 1];
  *pivots += done;
  arena_restore(scratch, mark);
  return found;
}

/* ---- contacts ---------------------------------------------------------------------------------- */

/* A is taken by its stiffness, b by its speed: powers of two, so that nothing is rounded.
 * Variables of a contact: f_n, then + and - of each tangent, then gamma. */
static int variables(int d) { return 1 + 2 * (d - 1) + 1; }

/* Axis and sign of a variable that is an impulse. */
static int axis_of(int k) { return (k + 1) / 2; }
static double sign_of(int k) { return k == 0 || k % 2 == 1 ? 1 : -1; }

/* The row of an impulse with those of another contact. */
static void place_impulses(const lcp_equations *e, int i, int j, int n, double *M) {
  int d = e->program->dimension, size = e->program->shape.size, each = variables(d);
  for (int k = 0; k < each - 1; k++)
    for (int l = 0; l < each - 1; l++) {
      int a = i * d + axis_of(k), c = j * d + axis_of(l);
      double entry = e->A[a * size + c] + (a == c ? e->delta : 0);
      M[(i * each + k) * n + j * each + l] = sign_of(k) * sign_of(l) * entry / e->scale.stiffness;
    }
}

bool lcp_lemke(const lcp_equations *e, double *f, int *pivots, arena *scratch) {
  int d = e->program->dimension, count = e->program->contact_count, each = variables(d);
  int n = count * each;
  arena_mark mark = arena_save(scratch);
  double *M = arena_zeros(scratch, n * n), *q = arena_zeros(scratch, n);
  double *z = arena_doubles(scratch, n);
  for (int i = 0; i < count; i++) {
    for (int j = 0; j < count; j++) place_impulses(e, i, j, n, M);
    int gamma = i * each + each - 1;
    M[gamma * n + i * each] = e->program->mu[i];
    for (int k = 0; k < each - 1; k++) {
      q[i * each + k] = sign_of(k) * e->b[i * d + axis_of(k)] / e->scale.speed;
      if (k == 0) continue;
      M[(i * each + k) * n + gamma] = 1;
      M[gamma * n + i * each + k] = -1;
      if (e->convex) M[i * each * n + gamma] = -e->program->mu[i];
    }
  }
  bool found = lemke_solve(n, M, q, z, pivots, scratch);
  memset(f, 0, sizeof(double) * (size_t)(count * d));
  double unit = e->scale.speed / e->scale.stiffness;
  for (int i = 0; i < count; i++)
    for (int k = 0; k < each - 1; k++) f[i * d + axis_of(k)] += sign_of(k) * unit * z[i * each + k];
  arena_restore(scratch, mark);
  return found;
}
