/* Sizes of arrays without overflow: what cannot be represented becomes SIZE_MAX, which no allocation
 * satisfies, so that an absurd size ends where short memory does. */
#ifndef CAROM_BASE_SIZE_H
#define CAROM_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline size_t size_multiply(size_t a, size_t b) {
  size_t product;
  return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

static inline size_t size_add(size_t a, size_t b) {
  size_t sum;
  return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

/* malloc for `count` elements: NULL means short memory and nothing else, for no element too (an
 * allocator may answer 0 bytes with NULL). */
static inline void *size_allocate(size_t count, size_t element) {
  size_t bytes = size_add(size_multiply(count, element), element);
  return bytes <= PTRDIFF_MAX ? malloc(bytes) : NULL;
}

/* The same, every byte zero. */
static inline void *size_allocate_zero(size_t count, size_t element) {
  size_t bytes = size_add(size_multiply(count, element), element);
  return bytes <= PTRDIFF_MAX ? calloc(bytes, 1) : NULL;
}

/* The same, aligned as an arena's memory is. */
static inline void *size_allocate_aligned(size_t count, size_t element) {
  enum { ALIGNED_TO = 64 };
  size_t bytes = size_add(size_multiply(count, element), ALIGNED_TO) / ALIGNED_TO * ALIGNED_TO;
  void *memory = bytes <= PTRDIFF_MAX ? aligned_alloc(ALIGNED_TO, bytes) : NULL;
  return memory != NULL ? memset(memory, 0, bytes) : NULL;
}

/* Whether the system would give so much at once: asked before work whose memory comes in pieces. */
static inline bool size_available(size_t bytes) {
  void *probe = bytes <= PTRDIFF_MAX ? malloc(bytes) : NULL;
  free(probe);
  return probe != NULL || bytes == 0;
}

/* For messages. */
static inline double size_gigabytes(size_t bytes) { return (double)bytes / 1e9; }

#endif
