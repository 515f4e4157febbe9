/* Matrix products, the only thing the network asks of BLAS. Row-major; every call runs on the calling
 * thread alone, so that the bits of a result do not depend on the number of threads. */
#ifndef CAROM_NN_GEMM_H
#define CAROM_NN_GEMM_H

/* c [m][n] = a [m][k] b' , b [n][k]      (+ c where accumulate) */
void gemm_nt_double(int m, int n, int k, const double *a, const double *b, double *c,
                    int accumulate);
void gemm_nt_single(int m, int n, int k, const float *a, const float *b, float *c, int accumulate);

/* c [m][n] = a [m][k] b , b [k][n] */
void gemm_nn_double(int m, int n, int k, const double *a, const double *b, double *c,
                    int accumulate);
void gemm_nn_single(int m, int n, int k, const float *a, const float *b, float *c, int accumulate);

/* c [m][n] = a' b , a [k][m], b [k][n] */
void gemm_tn_double(int m, int n, int k, const double *a, const double *b, double *c,
                    int accumulate);
void gemm_tn_single(int m, int n, int k, const float *a, const float *b, float *c, int accumulate);

/* Holds BLAS to one thread of its own while workers call it; `gemm_end` gives back what was there.
 * Calls may be nested. */
void gemm_begin(void);
void gemm_end(void);

#endif
