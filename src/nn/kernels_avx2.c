/* Kernels for x86 with AVX2 and fused multiply-add: 16 registers of 32 bytes. */
#define KERNELS kernels_avx2
#define KERNELS_NAME "avx2"
#define VECTOR_BYTES 32
enum { TILE_ROWS = 6, TILE_VECTORS = 2 };
#include "nn/kernels_target.inc"
