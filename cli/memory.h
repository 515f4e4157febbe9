/* Memory of the program. */
#ifndef CAROM_CLI_MEMORY_H
#define CAROM_CLI_MEMORY_H

#include <stdlib.h>

/* Zeroed memory for `count` elements: NULL means short memory and nothing else, for no element too. */
static inline void *allocate(size_t count, size_t element) {
  return calloc(count > 0 ? count : 1, element);
}

#endif
