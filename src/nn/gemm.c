#include "nn/gemm.h"

#include <cblas.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>

/* OpenBLAS' own; other libraries are taken to run on the calling thread. */
extern void openblas_set_num_threads(int count) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));

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

/* A tile of the result is held in registers: 6 rows of 4 vectors in 32 registers of AVX-512, of 2 in
 * 16 of AVX2. */
enum { TILE_ROWS = 6 };
/* Factors b that a second-level cache does not hold are left to BLAS. */
#define TILED_BYTES ((size_t)1 << 20)
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector) && defined(__AVX512F__)
#define HAS_TILES 1
#define DOUBLE_LANES 8
#define SINGLE_LANES 16
enum { TILE_VECTORS = 4 };
#elif __has_builtin(__builtin_shufflevector) && defined(__AVX2__) && defined(__FMA__)
#define HAS_TILES 1
#define DOUBLE_LANES 4
#define SINGLE_LANES 8
enum { TILE_VECTORS = 2 };
#endif
#endif

/* Which lanes of two vectors, one behind the other, their lower and upper halves make by turns. */
#define LOWER_4 0, 4, 1, 5
#define UPPER_4 2, 6, 3, 7
#define LOWER_8 0, 8, 1, 9, 2, 10, 3, 11
#define UPPER_8 4, 12, 5, 13, 6, 14, 7, 15
#define LOWER_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define UPPER_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define LOWER(lanes) LOWER_OF(lanes)
#define UPPER(lanes) UPPER_OF(lanes)
#define LOWER_OF(lanes) LOWER_##lanes
#define UPPER_OF(lanes) UPPER_##lanes

#define REAL double
#define LANES DOUBLE_LANES
#define NAME(stem) gemm_##stem##_double
#define BLAS_GEMM cblas_dgemm
#include "nn/gemm_kernel.inc"
#undef REAL
#undef LANES
#undef NAME
#undef BLAS_GEMM

#define REAL float
#define LANES SINGLE_LANES
#define NAME(stem) gemm_##stem##_single
#define BLAS_GEMM cblas_sgemm
#include "nn/gemm_kernel.inc"
#undef REAL
#undef LANES
#undef NAME
#undef BLAS_GEMM
