#include "fit/normal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/error.h"
#include "base/size.h"
#include "base/vector.h"

/* ---- memory ---------------------------------------------------------------------------------- */

// rows of K: a piece reaches back to the one before it
static size_t make_shape(normal_equations *n) {
  int f = n->f;
  n->start[0] = 0;
  for (int i = 0; i < n->most; i++) {
    int block = i / f;
    n->first[i] = block > 0 ? (block - 1) * f : 0;
    n->start[i + 1] = n->start[i] + i - n->first[i] + 1;
  }
  return (size_t)n->start[n->most];
}

carom_status normal_init(normal_equations *n, shooting *sh, carom_error *error) {
  *n = (normal_equations){.sh = sh, .f = sh->f, .p = sh->p};
  for (int r = 0; r < sh->run_count; r++) {
    int size = (sh->run_piece[r + 1] - sh->run_piece[r]) * sh->f;
    n->most = size > n->most ? size : n->most;
  }
  size_t p = (size_t)sh->p, all = (size_t)sh->piece_count * (size_t)sh->f,
         m = (size_t)sh->measure.count;
  n->first = size_allocate((size_t)n->most, sizeof(int));
  n->start = size_allocate((size_t)n->most + 1, sizeof(int));
  if (n->first != NULL && n->start != NULL) n->K = size_allocate(make_shape(n), sizeof(double));
  n->X = size_allocate(all * (p + 1), sizeof(double));
  n->gz = size_allocate(all, sizeof(double));
  n->damping = size_allocate(all, sizeof(double));
  n->S = size_allocate(p * p, sizeof(double));
  n->gq = size_allocate(p, sizeof(double));
  n->work = size_allocate((2 * (size_t)sh->f + p) * m + 2 * m + (size_t)n->most + 2 * p * p + 4 * p,
                          sizeof(double));
  if (n->K == NULL || n->X == NULL || n->gz == NULL || n->damping == NULL || n->S == NULL ||
      n->gq == NULL || n->work == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the normal equations of %d pieces",
                     sh->piece_count);
  return CAROM_OK;
}

void normal_free(normal_equations *n) {
  free(n->first);
  free(n->start);
  free(n->K);
  free(n->X);
  free(n->gz);
  free(n->damping);
  free(n->S);
  free(n->gq);
  free(n->work);
}

/* ---- assembling ------------------------------------------------------------------------------ */

static envelope shape_of(const normal_equations *n, int size) {
  return (envelope){size, n->first, n->start};
}

static double *entry(const normal_equations *n, int row, int column) {
  return &n->K[n->start[row] + column - n->first[row]];
}

/* A join between pieces i and i + 1: residual e with derivatives by z_i, q (end_by) and z_{i+1}.
 * Rows of `by` in this order. Adds to the normals in K, B (in X), gz, S, gq. */
static void add_join(normal_equations *n, int i, int local, const double *starts) {
  const shooting *sh = n->sh;
  const piece_normal *now = &sh->normals[i], *next = &sh->normals[i + 1];
  int m = sh->measure.count, f = n->f, p = n->p, columns = 2 * f + p;
  size_t row = 2 * (size_t)sh->D;
  const double *begin = starts + (size_t)(i + 1) * row;
  double *by = n->work, *e = by + (size_t)columns * (size_t)m, *w = e + m;
  measure_residual(&sh->plain, now->end, begin, e);
  for (int k = 0; k < m; k++) {
    double deviation = sh->join * sh->noise[sh->measure.channel[k]];
    w[k] = 1 / deviation;
    e[k] *= w[k];
  }
  for (int c = 0; c < f + p; c++)
    measure_change(&sh->plain, now->end, begin, now->end_by + (size_t)c * row,
                   by + (size_t)c * (size_t)m);
  for (int c = 0; c < f; c++) {
    double *to = by + (size_t)(f + p + c) * (size_t)m;
    measure_change(&sh->plain, begin, now->end, next->start_by + (size_t)c * row, to);
    for (int k = 0; k < m; k++) to[k] = -to[k];
  }
  for (int c = 0; c < columns; c++)
    for (int k = 0; k < m; k++) by[(size_t)c * (size_t)m + (size_t)k] *= w[k];
  for (int a = 0; a < columns; a++) {
    const double *Ja = by + (size_t)a * (size_t)m;
    bool a_is_q = a >= f && a < f + p;
    int za = a < f ? a : a - p; // place among (z_i, z_{i+1})
    double g = vector_dot(Ja, e, m);
    if (a_is_q)
      n->gq[a - f] += g;
    else
      n->gz[(size_t)i * (size_t)f + (size_t)za] += g;
    for (int b = 0; b < columns; b++) {
      bool b_is_q = b >= f && b < f + p;
      if (a_is_q && !b_is_q) continue;
      int zb = b < f ? b : b - p;
      if (!a_is_q && !b_is_q && zb > za) continue;
      double sum = vector_dot(Ja, by + (size_t)b * (size_t)m, m);
      if (a_is_q)
        n->S[(a - f) * p + b - f] += sum;
      else if (b_is_q)
        n->X[((size_t)i * (size_t)f + (size_t)za) * (size_t)(p + 1) + (size_t)(b - f)] += sum;
      else
        *entry(n, local * f + za, local * f + zb) += sum;
    }
  }
}

static void add_piece(normal_equations *n, int i, int local) {
  const piece_normal *now = &n->sh->normals[i];
  int f = n->f, p = n->p;
  for (int a = 0; a < f; a++) {
    size_t at = (size_t)i * (size_t)f + (size_t)a;
    for (int b = 0; b <= a; b++) *entry(n, local * f + a, local * f + b) += now->ss[a * f + b];
    for (int b = 0; b < p; b++) n->X[at * (size_t)(p + 1) + (size_t)b] += now->sq[a * p + b];
    n->gz[at] += now->gs[a];
  }
}

/* tr(K^-1 C) over the blocks of each channel's part C of the diagonal of K */
static void add_leverages(normal_equations *n, int begin, int size) {
  envelope shape = shape_of(n, size);
  double *z = n->work;
  int f = n->f;
  for (int i = 0; i < size; i++) {
    memset(z, 0, sizeof(double) * (size_t)size);
    z[i] = 1;
    envelope_solve(&shape, n->K, z);
    const piece_normal *now = &n->sh->normals[begin + i / f];
    int a = i % f, local = i / f * f;
    for (int c = 0; c < CAROM_CHANNEL_COUNT; c++)
      for (int b = 0; b < f; b++) {
        int high = a > b ? a : b, low = a > b ? b : a;
        n->leverage[c] += z[local + b] * now->by_channel[(c * f + high) * f + low];
      }
  }
}

/* K of one run: assembled, damped, factorised, eliminated. */
static void reduce_run(normal_equations *n, int run, const double *starts, double damping,
                       bool leverages) {
  const shooting *sh = n->sh;
  int begin = sh->run_piece[run], end = sh->run_piece[run + 1], f = n->f, p = n->p;
  int size = (end - begin) * f;
  envelope shape = shape_of(n, size);
  memset(n->K, 0, sizeof(double) * (size_t)n->start[size]);
  for (int i = begin; i < end; i++) {
    add_piece(n, i, i - begin);
    if (i + 1 < end && sh->join > 0) add_join(n, i, i - begin, starts);
  }
  double floor = 1e-14 * envelope_largest_diagonal(&shape, n->K) + 1e-300;
  for (int i = 0; i < size; i++) {
    double *at = entry(n, i, i);
    n->damping[(size_t)begin * (size_t)f + (size_t)i] = damping * *at + floor;
    *at += n->damping[(size_t)begin * (size_t)f + (size_t)i];
  }
  envelope_factor(&shape, n->K, 1e-14);
  if (leverages) add_leverages(n, begin, size);
  // X = K^-1 (B, g), S -= B' X, column by column
  double *column = n->work;
  size_t stride = (size_t)p + 1;
  double *X = n->X + (size_t)begin * (size_t)f * stride;
  const double *gz = n->gz + (size_t)begin * (size_t)f;
  for (int i = 0; i < size; i++) X[(size_t)i * stride + (size_t)p] = gz[i];
  // the right sides stay in X until all columns are solved: S needs both
  for (int c = p; c >= 0; c--) {
    for (int i = 0; i < size; i++) column[i] = X[(size_t)i * stride + (size_t)c];
    envelope_solve(&shape, n->K, column);
    // rows of B that are not solved yet: columns 0 .. c of X still hold B
    for (int a = 0; a < (c == p ? p : c + 1); a++) {
      double sum = 0;
      for (int i = 0; i < size; i++) sum += X[(size_t)i * stride + (size_t)a] * column[i];
      if (c == p) {
        n->gq[a] -= sum;
      } else {
        n->S[a * p + c] -= sum;
        if (a != c) n->S[c * p + a] -= sum;
      }
    }
    for (int i = 0; i < size; i++) X[(size_t)i * stride + (size_t)c] = column[i];
  }
}

static void add_priors(normal_equations *n, const double *q) {
  for (int j = 0; j < n->p; j++) {
    double slope, curvature;
    unknown_prior(&n->sh->unknowns->items[j], q[j], &slope, &curvature);
    n->S[j * n->p + j] += curvature;
    n->gq[j] += slope;
  }
}

void normal_reduce(normal_equations *n, const double *q, const double *starts, double damping,
                   bool leverages) {
  const shooting *sh = n->sh;
  int p = n->p;
  size_t all = (size_t)sh->piece_count * (size_t)n->f;
  memset(n->S, 0, sizeof(double) * (size_t)(p * p));
  memset(n->gq, 0, sizeof(double) * (size_t)p);
  memset(n->X, 0, sizeof(double) * all * (size_t)(p + 1));
  memset(n->gz, 0, sizeof(double) * all);
  memset(n->leverage, 0, sizeof n->leverage);
  add_priors(n, q);
  for (int i = 0; i < sh->piece_count; i++) {
    for (int k = 0; k < p * p; k++) n->S[k] += sh->normals[i].qq[k];
    for (int k = 0; k < p; k++) n->gq[k] += sh->normals[i].gq[k];
  }
  for (int r = 0; r < sh->run_count && sh->free_states; r++)
    reduce_run(n, r, starts, damping, leverages);
}

/* ---- solving --------------------------------------------------------------------------------- */

static double damping_of(const normal_equations *n, int j, double damping) {
  double natural = n->sh->unknowns->items[j].natural;
  return damping * (fmax(n->S[j * n->p + j], 0) + 1 / (natural * natural));
}

/* Active set: what leaves its range is put on the border, and the others are solved again. */
bool normal_solve(const normal_equations *n, const double *q, const double *low, const double *high,
                  double damping, double *dq) {
  int p = n->p;
  double *a = n->work, *rhs = a + p * p, *fixed = rhs + p;
  for (int j = 0; j < p; j++) fixed[j] = 0;
  for (int pass = 0; pass <= p; pass++) {
    for (int i = 0; i < p; i++) {
      rhs[i] = -n->gq[i];
      for (int j = 0; j < p; j++) {
        a[i * p + j] = n->S[i * p + j];
        if (fixed[j] != 0) rhs[i] -= n->S[i * p + j] * dq[j];
      }
      a[i * p + i] += damping_of(n, i, damping);
    }
    for (int i = 0; i < p; i++) {
      if (fixed[i] == 0) continue;
      for (int j = 0; j < p; j++) a[i * p + j] = a[j * p + i] = i == j;
      rhs[i] = dq[i];
    }
    if (!dense_factor(p, a)) return false;
    dense_solve(p, a, rhs);
    bool inside = true;
    for (int i = 0; i < p; i++) {
      if (fixed[i] != 0) continue;
      double to = q[i] + rhs[i];
      if (to < low[i] || to > high[i]) {
        dq[i] = to < low[i] ? low[i] - q[i] : high[i] - q[i];
        fixed[i] = 1;
        inside = false;
      }
    }
    if (inside) {
      memcpy(dq, rhs, sizeof(double) * (size_t)p);
      return true;
    }
  }
  return true;
}

bool normal_softest(const normal_equations *n, double *way) {
  const int p = n->p;
  const unknown *items = n->sh->unknowns->items;
  double *information = n->work, *vectors = information + p * p, *values = vectors + p * p;
  for (int i = 0; i < p; i++)
    for (int j = 0; j < p; j++)
      information[i * p + j] = items[i].natural * n->S[i * p + j] * items[j].natural;
  dense_eigen(p, information, values, vectors);
  int softest = 0; // values ascend
  while (softest < p && !(values[softest] >= 1)) softest++;
  for (int j = 0; j < p && softest < p; j++)
    way[j] = items[j].natural * vectors[softest * p + j] / sqrt(values[softest]);
  return softest < p;
}

void normal_states(const normal_equations *n, const double *dq, double *dz) {
  size_t all = (size_t)n->sh->piece_count * (size_t)n->f, stride = (size_t)n->p + 1;
  for (size_t i = 0; i < all; i++) {
    const double *X = n->X + i * stride;
    double sum = X[n->p];
    for (int j = 0; j < n->p; j++) sum += X[j] * dq[j];
    dz[i] = -sum;
  }
}

/* dz minimises the damped model at dq: what is left is the Schur complement's in dq, the fall
 * g'K^-1 g / 2 of the states alone, and what damping took from it. */
double normal_predicted(const normal_equations *n, const double *dq, const double *dz) {
  int p = n->p;
  size_t stride = (size_t)p + 1;
  double fall = 0;
  for (int i = 0; i < p; i++) {
    fall -= n->gq[i] * dq[i];
    for (int j = 0; j < p; j++) fall -= 0.5 * dq[i] * n->S[i * p + j] * dq[j];
  }
  if (!n->sh->free_states) return fall;
  size_t all = (size_t)n->sh->piece_count * (size_t)n->f;
  for (size_t i = 0; i < all; i++)
    fall += 0.5 * n->gz[i] * n->X[i * stride + (size_t)p] + 0.5 * n->damping[i] * dz[i] * dz[i];
  return fall;
}
