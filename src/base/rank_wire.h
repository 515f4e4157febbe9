/* What ranks need of whatever connects them; MPI is the one there is (rank_wire_mpi.c). */
#ifndef CAROM_BASE_RANK_WIRE_H
#define CAROM_BASE_RANK_WIRE_H

#include <stddef.h>

#include "carom.h"

typedef struct rank_wire {
  carom_status (*begin)(int *index, int *count, carom_error *error);
  /* Rank r has elements [first[r], first[r + 1]) of data, then all have all. */
  void (*gather)(void *data, size_t bytes, const int *first);
  void (*broadcast)(void *data, size_t bytes, int from);
  void (*send)(const void *data, size_t bytes, int to);
  void (*receive)(void *data, size_t bytes, int from);
  /* A message that stands there from any rank; -1 if there is none yet. */
  int (*waiting)(void);
  void (*sum)(int64_t *values, int count);
  /* Waits for all to leave; false if that takes longer than so many seconds (negative: as long as it
   * takes). */
  bool (*end)(double seconds);
  void (*abort)(int code);
} rank_wire;

/* NULL: built without. */
const rank_wire *rank_wire_get(void);

#endif
