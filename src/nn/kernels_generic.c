/* Kernels for any processor, in vectors of 16 bytes. */
#define KERNELS kernels_generic
#define KERNELS_NAME "generic"
#define VECTOR_BYTES 16
enum { TILE_ROWS = 6, TILE_VECTORS = 2 };
#include "nn/kernels_target.inc"
