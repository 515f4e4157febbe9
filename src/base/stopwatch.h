/* Where the time of a rollout goes, for benchmarks: seconds added up by a worker that is given a
 * stopwatch; a worker without one reads no clock. */
#ifndef CAROM_BASE_STOPWATCH_H
#define CAROM_BASE_STOPWATCH_H

#include <stddef.h>
#include <time.h>

typedef struct stopwatch {
  double potential; /* the potential's gradient and its derivative */
  double dynamics;  /* constraints, accelerations, and their derivative */
  double contacts;  /* detection, events, and their derivative */
} stopwatch;

/* Processor seconds of this thread; 0 without a stopwatch. */
static inline double stopwatch_read(const stopwatch *watch) {
  if (watch == NULL) return 0;
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
