#include "rollout/tape.h"

#include <stdlib.h>

#include "base/size.h"

void tape_free(tape *t) {
  growing_free(&t->memory);
  impact_log_free(&t->impacts);
  free(t->offset);
  *t = (tape){0};
}

long tape_allocations(const tape *t) {
  return t->memory.allocations + impact_log_allocations(&t->impacts);
}

bool tape_begin(tape *t, int samples, int steps) {
  t->memory.used = 0;
  impact_log_begin(&t->impacts);
  if (t->offset == NULL && steps > 0)
    t->offset = size_allocate(size_multiply((size_t)samples, (size_t)steps), sizeof(int64_t));
  return t->offset != NULL || steps == 0;
}
