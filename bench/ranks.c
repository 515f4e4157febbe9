/* What sharing a training costs and brings: the parts of an iteration on each rank, and the iterations per
 * second that follow from them. Numbers of repeats are fixed: all ranks make the same calls. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ranks.h"
#include "bench/bench.h"
#include "learn/adamw.h"
#include "learn/model.h"

enum { REPEATS = 5, EXCHANGES = 200 };

static const struct {
  const char *scene;
  int batch, states;
} cases[] = {
    {"cp3", 200, 5}, {"cp3", 2000, 5}, {"gyro", 200, 5}, {"rope", 200, 5}, {"rope100", 200, 5}};

static double seconds_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of the parts of an iteration, the least over repeats. */
typedef struct parts {
  double work;     /* processor time of this rank's shards, over its threads */
  double update;   /* of the optimiser, the same on every rank */
  double exchange; /* elapsed */
  double whole;    /* elapsed */
} parts;

static carom_status time_work(carom_model *m, const carom_chunks *chunks, double *gradient,
                              parts *p, carom_error *error) {
  const int shards = (chunks->count - 1) / LEARN_SHARD + 1;
  const rank_range own = ranks_own(shards);
  const int first = own.first * LEARN_SHARD;
  const int end = own.end * LEARN_SHARD < chunks->count ? own.end * LEARN_SHARD : chunks->count;
  carom_status status = CAROM_OK;
  p->work = own.end > own.first ? INFINITY : 0;
  int *indices = malloc(sizeof(int) * (size_t)chunks->count);
  if (indices == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "no memory for indices");
  for (int i = first; i < end; i++) indices[i - first] = i;
  ranks_alone_begin();
  for (int k = 0; k < REPEATS && status == CAROM_OK && end > first; k++) {
    const double start = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    status = carom_model_loss(m, chunks, end - first, indices, NULL, gradient, NULL, error);
    const double busy = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - start;
    p->work = fmin(p->work, busy / m->training.batch.thread_count);
  }
  ranks_alone_end();
  free(indices);
  return status;
}

static void time_update(const carom_model *m, const double *gradient, adamw *optimizer,
                        double *copy, parts *p) {
  const adamw_options how = {.rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
  p->update = INFINITY;
  memcpy(copy, m->parameters, sizeof(double) * (size_t)m->parameter_count);
  for (int k = 0; k < REPEATS; k++) {
    const double start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    adamw_step(optimizer, &how, gradient, copy);
    p->update = fmin(p->update, seconds_of(CLOCK_THREAD_CPUTIME_ID) - start);
  }
}

// what the ranks tell each other in an iteration, without the work between
static void time_exchange(const carom_model *m, int batch, double *numbers, double *sum, parts *p) {
  const int shards = (batch - 1) / LEARN_SHARD + 1;
  const rank_range own = ranks_own(shards);
  const size_t theta = sizeof(double) * (size_t)m->training.batch.parameter_count;
  p->exchange = INFINITY;
  for (int k = 0; k < EXCHANGES; k++) {
    const double start = seconds_of(CLOCK_MONOTONIC);
    // shards are added by the work itself; here one stands for all
    ranks_add_up(m->parameter_count, numbers, own.end > own.first, sum);
    ranks_collect(m->training.batch.theta_bars, theta, shards, 1, shards);
    ranks_collect(m->training.losses, sizeof(double), shards, LEARN_SHARD, batch);
    ranks_all(true);
    p->exchange = fmin(p->exchange, seconds_of(CLOCK_MONOTONIC) - start);
  }
}

static carom_status time_whole(carom_model *m, const carom_chunks *chunks, double *gradient,
                               parts *p, carom_error *error) {
  carom_status status = CAROM_OK;
  p->whole = INFINITY;
  for (int k = 0; k < REPEATS && status == CAROM_OK; k++) {
    const double start = seconds_of(CLOCK_MONOTONIC);
    status = carom_model_loss(m, chunks, chunks->count, NULL, NULL, gradient, NULL, error);
    p->whole = fmin(p->whole, seconds_of(CLOCK_MONOTONIC) - start);
  }
  return status;
}

// the slowest rank's, of each part
static void slowest(parts *p) {
  double *const times[] = {&p->work, &p->update, &p->exchange, &p->whole};
  for (size_t k = 0; k < sizeof times / sizeof times[0]; k++) {
    double most = 0;
    for (int from = 0; from < carom_ranks_count(); from++) {
      double theirs = *times[k];
      ranks_tell(&theirs, sizeof theirs, from);
      most = fmax(most, theirs);
    }
    *times[k] = most;
  }
}

static carom_status measure(carom_model *m, const carom_chunks *chunks, parts *p,
                            carom_error *error) {
  const size_t size = (size_t)m->parameter_count;
  double *gradient = calloc(3 * size, sizeof(double));
  adamw optimizer = {0};
  carom_status status = CAROM_OK;
  if (gradient == NULL || !adamw_init(&optimizer, m->parameter_count))
    status = carom_error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %zu parameters", size);
  if (status == CAROM_OK) status = time_work(m, chunks, gradient, p, error);
  if (status == CAROM_OK) status = time_whole(m, chunks, gradient, p, error);
  if (status == CAROM_OK) {
    time_update(m, gradient, &optimizer, gradient + size, p);
    time_exchange(m, chunks->count, gradient, gradient + 2 * size, p);
    slowest(p);
  }
  adamw_free(&optimizer);
  free(gradient);
  return status;
}

static json_t *row_of(size_t k, const carom_model *m, const parts *p) {
  const int shards = (cases[k].batch - 1) / LEARN_SHARD + 1, ranks = carom_ranks_count();
  return json_pack("{ss si si si si si sf sf sf sf sf}", "scene", cases[k].scene, "batch",
                   cases[k].batch, "ranks", ranks, "threads", m->training.batch.thread_count,
                   "shards", shards, "numbers", m->parameter_count, "work_ms", 1e3 * p->work,
                   "update_ms", 1e3 * p->update, "exchange_ms", 1e3 * p->exchange, "sum_ms",
                   1e3 * (p->work + p->update + p->exchange), "elapsed_ms",
                   1e3 * (p->whole + p->update));
}

static carom_status measure_case(size_t k, json_t *rows, carom_error *error) {
  carom_system *system = NULL;
  carom_dataset *dataset = NULL;
  carom_model *m = NULL;
  parts p;
  carom_status status = carom_system_load(cases[k].scene, &system, error);
  if (status == CAROM_OK) {
    carom_dataset_options data = carom_dataset_default_options(system);
    data.train = cases[k].batch;
    data.chunk = cases[k].states;
    data.validation = data.test = 1;
    status = carom_dataset_generate(system, NULL, &data, &dataset, error);
  }
  if (status == CAROM_OK) {
    const carom_model_options options = carom_model_default_options(system);
    status = carom_model_create(system, &options, &m, error);
  }
  if (status == CAROM_OK) status = measure(m, &dataset->train, &p, error);
  if (status == CAROM_OK) json_array_append_new(rows, row_of(k, m, &p));
  carom_model_destroy(m);
  carom_dataset_destroy(dataset);
  carom_system_destroy(system);
  return status;
}

carom_status bench_ranks(const bench_options *options, json_t *rows, carom_error *error) {
  carom_status status = CAROM_OK;
  for (size_t k = 0; status == CAROM_OK && k < sizeof cases / sizeof cases[0]; k++) {
    if (!ranks_all(options->go_on()))
      return carom_error_set(error, CAROM_INTERRUPTED, "stopped between measurements");
    status = measure_case(k, rows, error);
  }
  return status;
}
