#include "nn/gemm.h"

#include <cblas.h>

/* OpenBLAS' own; other libraries are taken to run on the calling thread. */
extern void openblas_set_num_threads(int count) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));

static int nesting = 0;
static int threads_before = 1;

void gemm_begin(void) {
#pragma omp critical(carom_gemm)
  {
    if (nesting++ == 0 && openblas_set_num_threads != 0) {
      threads_before = openblas_get_num_threads();
      if (threads_before != 1) openblas_set_num_threads(1);
    }
  }
}

void gemm_end(void) {
#pragma omp critical(carom_gemm)
  {
    if (--nesting == 0 && openblas_set_num_threads != 0 && threads_before != 1)
      openblas_set_num_threads(threads_before);
  }
}

void gemm_nt_double(int m, int n, int k, const double *a, const double *b, double *c,
                    int accumulate) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, a, k, b, k, accumulate ? 1 : 0,
              c, n);
}

void gemm_nn_double(int m, int n, int k, const double *a, const double *b, double *c,
                    int accumulate) {
  cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, accumulate ? 1 : 0,
              c, n);
}

void gemm_tn_double(int m, int n, int k, const double *a, const double *b, double *c,
                    int accumulate) {
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, n, k, 1, a, m, b, n, accumulate ? 1 : 0,
              c, n);
}

void gemm_nt_single(int m, int n, int k, const float *a, const float *b, float *c, int accumulate) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, a, k, b, k, accumulate ? 1 : 0,
              c, n);
}

void gemm_nn_single(int m, int n, int k, const float *a, const float *b, float *c, int accumulate) {
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k, b, n, accumulate ? 1 : 0,
              c, n);
}

void gemm_tn_single(int m, int n, int k, const float *a, const float *b, float *c, int accumulate) {
  cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, n, k, 1, a, m, b, n, accumulate ? 1 : 0,
              c, n);
}
