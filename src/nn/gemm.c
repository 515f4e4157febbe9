#include "nn/gemm.h"

#include "nn/kernels.h"

#include <cblas.h>
#include <omp.h>
#include <string.h>
#include <strings.h>

/* OpenBLAS' own; other libraries are taken to run on the calling thread. */
extern void openblas_set_num_threads(int count) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));

extern char *openblas_get_corename(void) __attribute__((weak));

bool gemm_blas_comparable(void) {
  static const char *const wide[] = {"SkylakeX", "Cooperlake", "Sapphirerapids", "Zen4", "Zen5"};
  if (openblas_get_corename == 0 || strcmp(kernels_in_use()->name, "avx512") == 0) return true;
  const char *core = openblas_get_corename();
  for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++)
    if (strcasecmp(core, wide[i]) == 0) return false;
  return true;
}

static int holders = 0;
static int threads_before = 1;

/* An OpenBLAS on OpenMP sets the caller's number of OpenMP threads too, which is not ours to change. */
static void set_blas_threads(int count) {
  int own = omp_get_max_threads();
  openblas_set_num_threads(count);
  if (omp_get_max_threads() != own) omp_set_num_threads(own);
}

void gemm_begin(void) {
#pragma omp critical(carom_gemm)
  {
    if (holders++ == 0 && openblas_set_num_threads != 0) {
      threads_before = openblas_get_num_threads();
      if (threads_before != 1) set_blas_threads(1);
    }
  }
}

void gemm_end(void) {
#pragma omp critical(carom_gemm)
  {
    if (--holders == 0 && openblas_set_num_threads != 0 && threads_before != 1)
      set_blas_threads(threads_before);
  }
}

/* ---- products in double and in single precision ---------------------------------------------- */

#define REAL double
#define NAME(stem) gemm_##stem##_double
#define KERNEL(stem) stem##_double
#define GEMM gemm_double
#define BLAS_GEMM cblas_dgemm
#include "nn/gemm_real.inc"

#define REAL float
#define NAME(stem) gemm_##stem##_single
#define KERNEL(stem) stem##_single
#define GEMM gemm_single
#define BLAS_GEMM cblas_sgemm
#include "nn/gemm_real.inc"
