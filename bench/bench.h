/* Measurements of speed. Each fills a table: a JSON array of rows, objects with the same keys in
 * the same order. Times are minima over repeats on one thread, in processor time of that thread, so
 * that other programs on the machine disturb little; ratios compare numbers of one run. */
#ifndef CAROM_BENCH_BENCH_H
#define CAROM_BENCH_BENCH_H

#include "carom.h"

#include <jansson.h>

typedef struct bench_options {
  double seconds;      /* to spend on each number */
  bool (*go_on)(void); /* asked between measurements; false ends them */
  const char *kernels; /* of the network (nn/kernels.h); NULL: the processor's best */
  const char *tasks;   /* that are learned, with commas; NULL: all */
  int seeds;           /* of each */
  bool descent;        /* they are learned without a warm start */
  const char *scene;   /* of trainings: this task alone, or NULL */
  const char *model;   /* of trainings: this model alone, or NULL */
} bench_options;

typedef struct bench {
  const char *name;
  const char *summary;
  const char *reading; /* how to read the columns */
  bool long_one;       /* takes minutes: only if it is named */
  carom_status (*run)(const bench_options *options, json_t *rows, carom_error *error);
} bench;

/* The registry, ended by a NULL name. */
extern const bench benches[];

carom_status bench_events(const bench_options *options, json_t *rows, carom_error *error);
carom_status bench_scenes(const bench_options *options, json_t *rows, carom_error *error);
carom_status bench_rope(const bench_options *options, json_t *rows, carom_error *error);
carom_status bench_groups(const bench_options *options, json_t *rows, carom_error *error);

carom_status bench_ranks(const bench_options *options, json_t *rows, carom_error *error);
carom_status bench_learning(const bench_options *options, json_t *rows, carom_error *error);
carom_status bench_training(const bench_options *options, json_t *rows, carom_error *error);

/* Least processor time in seconds of one call of `work(user)`, which must stay in its thread.
 * Repeated until `seconds` have passed, at least three times. */
double bench_least_time(void (*work)(void *user), void *user, double seconds);

#endif
