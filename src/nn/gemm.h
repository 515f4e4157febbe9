/* Matrix products, row-major. Every call runs on the calling thread alone, so that the bits of a
 * result do not depend on the number of threads.
 *
 * The network multiplies a few dozen rows by the same square weights again and again. BLAS packs the
 * weights anew in each call, which costs it a quarter of its speed there; the products here read them
 * where they stand. They are for compilers that know of wide vectors, for results whose width is a
 * multiple of a tile's and for factors that a cache holds; everything else goes to BLAS. */
#ifndef CAROM_NN_GEMM_H
#define CAROM_NN_GEMM_H

#include "base/arena.h"

/* c [m][n] = a [m][k] b' + bias, b [n][k], bias [n] the same for every row or NULL */
void gemm_nt_double(int m, int n, int k, const double *a, const double *b, const double *bias,
                    double *c, arena *scratch);
void gemm_nt_single(int m, int n, int k, const float *a, const float *b, const float *bias,
                    float *c, arena *scratch);

/* c [m][n] = a [m][k] b , b [k][n] */
void gemm_nn_double(int m, int n, int k, const double *a, const double *b, double *c);
void gemm_nn_single(int m, int n, int k, const float *a, const float *b, float *c);

/* c [m][n] += a' b , a [k][m], b [k][n]; one product is summed in its own precision */
void gemm_tn_double(int m, int n, int k, const double *a, const double *b, double *c,
                    arena *scratch);
void gemm_tn_single(int m, int n, int k, const float *a, const float *b, double *c, arena *scratch);

/* c = a b by BLAS alone, to compare with */
void gemm_blas_double(int m, int n, int k, const double *a, const double *b, double *c);
void gemm_blas_single(int m, int n, int k, const float *a, const float *b, float *c);

/* Holds BLAS to one thread of its own while workers call it. Calls may be nested and come from several
 * threads of the program at once: the last `gemm_end` gives back what was there before the first
 * `gemm_begin`. */
void gemm_begin(void);
void gemm_end(void);

#endif
