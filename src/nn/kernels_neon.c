/* Kernels for arm64: 32 registers of 16 bytes, fused multiply-add always there. A tile of 6 rows and 4 vectors
 * leaves eight for b and a. */
#define KERNELS kernels_neon
#define KERNELS_NAME "neon"
#define VECTOR_BYTES 16
enum { TILE_ROWS = 6, TILE_VECTORS = 4 };
#include "nn/kernels_target.inc"
