/* Bytes that grow, for files that are made in memory and written as a whole. */
#ifndef CAROM_CLI_BYTE_BUFFER_H
#define CAROM_CLI_BYTE_BUFFER_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct byte_buffer {
  unsigned char *bytes;
  size_t size, capacity;
} byte_buffer;

/* False if memory is short. */
static inline bool byte_buffer_add(byte_buffer *b, const void *bytes, size_t size) {
  if (b->size + size > b->capacity) {
    const size_t needed = b->size + size;
    const size_t capacity = 2 * b->capacity > needed ? 2 * b->capacity : needed;
    unsigned char *grown = realloc(b->bytes, capacity + 1);
    if (grown == NULL) return false;
    b->bytes = grown;
    b->capacity = capacity;
  }
  if (size > 0) memcpy(b->bytes + b->size, bytes, size);
  b->size += size;
  return true;
}

#endif
