/* Bytes that are appended to and kept from one run to the next: once warm nothing is allocated. What
 * stands in it is found by offset, since memory moves when it grows. */
#ifndef CAROM_BASE_GROWING_H
#define CAROM_BASE_GROWING_H

#include <stddef.h>

typedef struct growing {
  unsigned char *bytes;
  size_t used, capacity;
  long allocations; /* times memory was asked of the system */
} growing;

void growing_free(growing *g);

/* Room for `size` bytes at the end; NULL if memory is short. */
void *growing_append(growing *g, size_t size);

#endif
