#include "nn/orthogonal.h"

#include "base/size.h"
#include "nn/gemm.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* `vectors` of `length` numbers: entry k of vector i at matrix[i * step + k * stride]. */
typedef struct vector_set {
  int vectors, length;
  size_t step, stride;
  double *matrix;
} vector_set;

/* ---- one by one ------------------------------------------------------------------------------ */

// v -= (u . v) u
static void remove_along(const vector_set *q, const double *u, double *v) {
  double along = 0;
  for (size_t k = 0, at = 0; k < (size_t)q->length; k++, at += q->stride) along += u[at] * v[at];
  for (size_t k = 0, at = 0; k < (size_t)q->length; k++, at += q->stride) v[at] -= along * u[at];
}

/* Gram and Schmidt, done twice, on normal deviates. */
static void make_singly(rng *random, const vector_set *q) {
  const size_t count = (size_t)q->vectors * (size_t)q->length;
  for (size_t i = 0; i < count; i++) q->matrix[i] = rng_normal(random);
  for (int i = 0; i < q->vectors; i++) {
    double *v = q->matrix + (size_t)i * q->step;
    for (int pass = 0; pass < 2; pass++)
      for (int j = 0; j < i; j++) remove_along(q, q->matrix + (size_t)j * q->step, v);
    double norm = 0;
    for (int k = 0; k < q->length; k++) norm += v[k * q->stride] * v[k * q->stride];
    for (int k = 0; k < q->length; k++) v[k * q->stride] /= sqrt(norm);
  }
}

/* ---- in blocks ------------------------------------------------------------------------------- */

/* The QR factorisation of normal deviates without the deviates (Stewart 1980): what is left of a column
 * after the reflections of those before it is again normal, so each is drawn when it is needed,
 *   Q = H_1 ... H_n D,   H_j = I - tau_j u_j u_j',   u_j = w + sign(w_1) |w| e_1,
 * with w normal of length n - j + 1 and D = diag(-sign(w_1)), which makes the diagonal of R positive as
 * Gram and Schmidt do. Blocks of reflections are products I - U T U' (Schreiber and Van Loan). */
enum { BLOCK = 64 };

/* Reflections first .. first + count - 1, whose vectors begin at entry `first`. */
typedef struct reflections {
  int first, count, rows; /* rows = length - first */
  double *u;              /* [BLOCK][rows] each with zeros in front */
  double sign[BLOCK];
  double t[BLOCK * BLOCK]; /* upper triangle */
} reflections;

// draws H_{first + j}: u = w + sign(w_1) |w| e_1, tau = 2 / u'u
static double draw_reflection(rng *random, reflections *r, int j) {
  double *u = r->u + (size_t)j * (size_t)r->rows, square = 0;
  memset(u, 0, sizeof(double) * (size_t)j);
  for (int k = j; k < r->rows; k++) {
    u[k] = rng_normal(random);
    square += u[k] * u[k];
  }
  const double side = u[j] < 0 ? -1 : 1, first = u[j];
  u[j] += side * sqrt(square);
  r->sign[j] = -side;
  // u'u = 2 (|w|^2 + |w_1| |w|)
  return 1 / (square + fabs(first) * sqrt(square));
}

// T_{0..j, j} = tau_j [-T U' u_j ; 1]
static void draw_block(rng *random, reflections *r) {
  for (int j = 0; j < r->count; j++) {
    const double tau = draw_reflection(random, r, j);
    double *column = r->t + j;
    const double *u = r->u + (size_t)j * (size_t)r->rows;
    double along[BLOCK];
    for (int i = 0; i < j; i++)
      along[i] = cblas_ddot(r->rows, r->u + (size_t)i * (size_t)r->rows, 1, u, 1);
    for (int i = 0; i < j; i++) {
      double sum = 0;
      for (int k = i; k < j; k++) sum += r->t[i * BLOCK + k] * along[k];
      column[i * BLOCK] = -tau * sum;
    }
    column[j * BLOCK] = tau;
  }
}

// the rows and columns of Q behind those of the block: Q -= U T (U' Q), by W = U' Q [count][width]
static void apply_block(const vector_set *q, const reflections *r, double *w, double *tw) {
  const int width = q->vectors - r->first;
  const size_t at = (size_t)r->first * (q->step + q->stride);
  // vectors of Q are its columns: by rows of the matrix they are contiguous or a column apart
  const bool columns = q->stride == 1;
  const CBLAS_TRANSPOSE as_is = columns ? CblasTrans : CblasNoTrans;
  const int lead = (int)(columns ? q->step : q->stride);
  cblas_dgemm(CblasRowMajor, CblasNoTrans, as_is, r->count, width, r->rows, 1, r->u, r->rows,
              q->matrix + at, lead, 0, w, width);
  for (int i = 0; i < r->count; i++) {
    memset(tw + (size_t)i * (size_t)width, 0, sizeof(double) * (size_t)width);
    for (int k = i; k < r->count; k++)
      cblas_daxpy(width, r->t[i * BLOCK + k], w + (size_t)k * (size_t)width, 1,
                  tw + (size_t)i * (size_t)width, 1);
  }
  if (columns)
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, width, r->rows, r->count, -1, tw, width,
                r->u, r->rows, 1, q->matrix + at, lead);
  else
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, r->rows, width, r->count, -1, r->u,
                r->rows, tw, width, 1, q->matrix + at, lead);
}

/* From the last block to the first, so that each meets only what the later ones have filled. */
static carom_status make_in_blocks(rng *random, const vector_set *q, orthogonal_watch *watch) {
  const size_t width = (size_t)BLOCK * (size_t)q->vectors;
  reflections r = {.u = size_allocate((size_t)BLOCK * (size_t)q->length, sizeof(double))};
  double *w = size_allocate(2 * width, sizeof(double));
  carom_status status = r.u != NULL && w != NULL ? CAROM_OK : CAROM_OUT_OF_MEMORY;
  memset(q->matrix, 0, sizeof(double) * (size_t)q->vectors * (size_t)q->length);
  for (int end = q->vectors; end > 0 && status == CAROM_OK; end = r.first) {
    r.first = (end - 1) / BLOCK * BLOCK;
    r.count = end - r.first;
    r.rows = q->length - r.first;
    draw_block(random, &r);
    // these columns of D
    for (int j = 0; j < r.count; j++)
      q->matrix[(size_t)(r.first + j) * (q->step + q->stride)] = r.sign[j];
    apply_block(q, &r, w, w + width);
    if (watch->progress != NULL &&
        !watch->progress(watch->user, watch->done + q->vectors - r.first, watch->total))
      status = CAROM_INTERRUPTED;
  }
  free(r.u);
  free(w);
  return status;
}

carom_status orthogonal_matrix(rng *random, int rows, int columns, double *matrix,
                               orthogonal_watch *watch) {
  const bool wide = rows < columns;
  const vector_set q = {.vectors = wide ? rows : columns,
                        .length = wide ? columns : rows,
                        .step = wide ? (size_t)columns : 1,
                        .stride = wide ? 1 : (size_t)columns,
                        .matrix = matrix};
  carom_status status = CAROM_OK;
  if (q.vectors <= ORTHOGONAL_SINGLE) {
    make_singly(random, &q);
  } else {
    gemm_begin();
    status = make_in_blocks(random, &q, watch);
    gemm_end();
  }
  watch->done += q.vectors;
  return status;
}
