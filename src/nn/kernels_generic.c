/* Kernels for any processor, in vectors of 16 bytes: those of SSE2, and of NEON with its 32 registers. */
#define KERNELS kernels_generic
#define KERNELS_NAME "generic"
#define VECTOR_BYTES 16
#ifdef __aarch64__
enum { TILE_ROWS = 6, TILE_VECTORS = 4 };
#else
enum { TILE_ROWS = 6, TILE_VECTORS = 2 };
#endif
#include "nn/kernels_target.inc"
