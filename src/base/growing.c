#include "base/growing.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/size.h"

void growing_free(growing *g) {
  free(g->bytes);
  *g = (growing){0};
}

void *growing_append(growing *g, size_t size) {
  if (g->bytes == NULL || size > g->capacity - g->used) {
    size_t needed = size_add(g->used, size);
    size_t capacity = 2 * g->capacity > needed ? 2 * g->capacity : size_add(needed, 4096);
    if (capacity > PTRDIFF_MAX) return NULL;
    unsigned char *bytes = realloc(g->bytes, capacity);
    if (bytes == NULL) return NULL;
    g->bytes = bytes;
    g->capacity = capacity;
    g->allocations++;
  }
  void *at = g->bytes + g->used;
  g->used += size;
  return at;
}
