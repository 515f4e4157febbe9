/* Matrix products, row-major, by the kernels of this processor (kernels.h). Every call runs on the
 * calling thread alone, so that the bits of a result do not depend on the number of threads.
 *
 * The network multiplies a few dozen rows by the same weights again and again. BLAS packs them anew in each
 * call; here they are packed once for an optimiser's step (gemm_*_pack) and used by all. */
#ifndef CAROM_NN_GEMM_H
#define CAROM_NN_GEMM_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/size.h"

/* So many numbers that what begins behind them is aligned if they are, for either type. */
static inline size_t gemm_aligned(size_t count) { return size_add(count, 15) / 16 * 16; }

/* Numbers of a packed [k][n] factor, and packing b [k][n] or, turned, b [n][k]. */
size_t gemm_packed_double(int n, int k);
size_t gemm_packed_single(int n, int k);
void gemm_pack_double(int n, int k, const double *b, bool turned, double *packed);
void gemm_pack_single(int n, int k, const float *b, bool turned, float *packed);

/* The same for `count` rows of b, which become rows `first` .. of the packed factor. */
void gemm_pack_rows_double(int n, int k, int first, int count, const double *b, double *packed);
void gemm_pack_rows_single(int n, int k, int first, int count, const float *b, float *packed);

/* c [m][n] = a [m][k] b + bias, b packed, bias [n] the same for every row or NULL */
void gemm_double(int m, int n, int k, const double *a, const double *packed, const double *bias,
                 double *c);
void gemm_single(int m, int n, int k, const float *a, const float *packed, const float *bias,
                 float *c);

/* c [m][n] = a [m][k] b' + bias, b [n][k] */
void gemm_nt_double(int m, int n, int k, const double *a, const double *b, const double *bias,
                    double *c, arena *scratch);
void gemm_nt_single(int m, int n, int k, const float *a, const float *b, const float *bias,
                    float *c, arena *scratch);

/* c [m][n] = a [m][k] b , b [k][n] */
void gemm_nn_double(int m, int n, int k, const double *a, const double *b, double *c,
                    arena *scratch);
void gemm_nn_single(int m, int n, int k, const float *a, const float *b, float *c, arena *scratch);

/* c [m][n] += a' b , a [k][m], b [k][n]; one product is summed in its own precision */
void gemm_tn_double(int m, int n, int k, const double *a, const double *b, double *c,
                    arena *scratch);
void gemm_tn_single(int m, int n, int k, const float *a, const float *b, double *c, arena *scratch);

/* The first with rows of a and c that many numbers apart, the last with such rows of a and a packed b. */
void gemm_apart_double(int m, int n, int k, const double *a, int a_row, const double *packed,
                       double *c, int c_row);
void gemm_apart_single(int m, int n, int k, const float *a, int a_row, const float *packed,
                       float *c, int c_row);
void gemm_tn_packed_double(int m, int n, int k, const double *a, int a_row, const double *packed,
                           double *c);
void gemm_tn_packed_single(int m, int n, int k, const float *a, int a_row, const float *packed,
                           double *c);

/* Has BLAS no wider registers than the kernels in use? Then their rates can be compared. */
bool gemm_blas_comparable(void);

/* c = a b by BLAS, to compare with */
void gemm_blas_double(int m, int n, int k, const double *a, const double *b, double *c);
void gemm_blas_single(int m, int n, int k, const float *a, const float *b, float *c);

/* Holds BLAS to one thread of its own while something calls it. Calls may be nested and come from several
 * threads of the program at once: the last `gemm_end` gives back what was there before the first
 * `gemm_begin`. */
void gemm_begin(void);
void gemm_end(void);

#endif
