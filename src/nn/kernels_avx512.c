/* Kernels for x86 with AVX-512 (F, DQ, BW, VL): 32 registers of 64 bytes. */
#define KERNELS kernels_avx512
#define KERNELS_NAME "avx512"
#define VECTOR_BYTES 64
enum { TILE_ROWS = 6, TILE_VECTORS = 4 };
#include "nn/kernels_target.inc"
