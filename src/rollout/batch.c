#include "rollout/batch.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "rollout/report.h"

/* ---- memory ---------------------------------------------------------------------------------- */

void batch_init(batch_executor *b, const mechanics *m, const potential *p, int potential_count,
                const carom_rollout_options *options, batch_use use) {
  *b = (batch_executor){
      .options = *options,
      .use = use,
      .parameter_count = m->system->parameter_count,
      .potential_count = potential_count,
      .thread_limit = options->threads > 0 ? options->threads : omp_get_max_threads()};
  b->job = (batch_job){.options = &b->options,
                       .integrator = {.mechanics = m,
                                      .potential = p,
                                      .method = options->integrator,
                                      .dynamics = options->dynamics,
                                      .dt = options->dt,
                                      .substeps = options->substeps},
                       .keeps_records = use == BATCH_REVERSE_AT_ONCE};
}

void batch_free(batch_executor *b) {
  for (int i = 0; i < b->worker_count; i++) worker_free(&b->workers[i]);
  for (int i = 0; i < b->tape_count; i++) tape_free(&b->tapes[i]);
  for (int i = 0; i < b->result_count; i++) program_log_clear(&b->results[i].failures);
  free(b->workers);
  free(b->tapes);
  free(b->results);
  free(b->theta_bars);
  free(b->potential_bars);
  *b = (batch_executor){0};
}

/* Makes an array longer, the new elements zero; false if memory is short. */
static bool lengthen(void *array, int *count, int wanted, size_t element) {
  if (wanted <= *count) return true;
  void **at = array;
  unsigned char *longer = realloc(*at, element * (size_t)wanted);
  if (longer == NULL) return false;
  memset(longer + element * (size_t)*count, 0, element * (size_t)(wanted - *count));
  *at = longer;
  *count = wanted;
  return true;
}

static bool reserve_workers(batch_executor *b, int wanted) {
  int ready = b->worker_count;
  if (!lengthen(&b->workers, &b->worker_count, wanted, sizeof(worker))) return false;
  for (int i = ready; i < wanted; i++) worker_init(&b->workers[i], &b->job);
  return true;
}

/* Cotangents need not be kept when their number grows. */
static bool reserve_bars(batch_executor *b, int wanted) {
  if (wanted <= b->bar_count) return true;
  free(b->theta_bars);
  free(b->potential_bars);
  b->bar_count = 0;
  b->theta_bars = malloc(sizeof(double) * ((size_t)wanted * (size_t)b->parameter_count + 1));
  b->potential_bars = malloc(sizeof(double) * ((size_t)wanted * (size_t)b->potential_count + 1));
  if (b->theta_bars == NULL || b->potential_bars == NULL) return false;
  b->bar_count = wanted;
  return true;
}

carom_status batch_reserve(batch_executor *b, int samples, bool gradients, carom_error *error) {
  int shards = (samples - 1) / b->options.shard_size + 1;
  int workers = b->thread_limit < shards ? b->thread_limit : shards;
  int tapes = b->use == BATCH_REVERSE_LATER ? shards : b->use == BATCH_FORWARD ? 0 : workers;
  b->job.batch = samples;
  b->shard_count = shards;
  if (!lengthen(&b->results, &b->result_count, shards, sizeof(shard_result)) ||
      !lengthen(&b->tapes, &b->tape_count, tapes, sizeof(tape)) ||
      (gradients && !reserve_bars(b, shards)) || !reserve_workers(b, workers))
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a batch of %d samples", samples);
  return CAROM_OK;
}

long batch_allocations(const batch_executor *b) {
  long total = 0;
  for (int i = 0; i < b->worker_count; i++)
    total += b->workers[i].scratch.block_allocations + b->workers[i].memory.block_allocations +
             b->workers[i].active.capacity;
  for (int i = 0; i < b->tape_count; i++) total += b->tapes[i].allocations;
  return total;
}

/* ---- shards ---------------------------------------------------------------------------------- */

static shard_range shard_at(const batch_executor *b, int index) {
  int first = index * b->options.shard_size, left = b->job.batch - first;
  return (shard_range){.first = first,
                       .count = left < b->options.shard_size ? left : b->options.shard_size};
}

/* Counters of all shards, and what kept the first that failed from finishing. */
static carom_status collect(batch_executor *b, carom_error *error) {
  carom_status status = CAROM_OK;
  b->report = (carom_report){0};
  for (int i = 0; i < b->shard_count; i++) {
    report_merge(&b->report, &b->results[i].report);
    if (status == CAROM_OK) status = shard_error(&b->results[i], b->options.dt, error);
  }
  return status;
}

typedef struct progress_state {
  const carom_rollout_options *options;
  int64_t done, total;
  bool stop;
} progress_state;

static bool report_progress(void *user, int samples) {
  progress_state *p = user;
  bool go_on;
#pragma omp critical(carom_progress)
  {
    p->done += samples;
    if (!p->stop && !p->options->progress(p->options->progress_user, p->done, p->total))
      p->stop = true;
    go_on = !p->stop;
  }
  return go_on;
}

carom_status batch_run(batch_executor *b, const batch_states *states, carom_error *error) {
  progress_state progress = {.options = &b->options,
                             .total = (int64_t)b->job.batch * b->options.steps};
  b->job.states = *states;
  b->job.progress = b->options.progress != NULL ? report_progress : NULL;
  b->job.progress_user = &progress;
#pragma omp parallel for schedule(dynamic, 1) num_threads(b->worker_count)
  for (int i = 0; i < b->shard_count; i++)
    shard_run(&b->job, shard_at(b, i), &b->workers[omp_get_thread_num()],
              b->use == BATCH_REVERSE_LATER ? &b->tapes[i] : NULL, &b->results[i]);
  return collect(b, error);
}

/* Reverses a shard into its own cotangents of parameters. */
static void reverse_shard(batch_executor *b, int index, worker *w, const tape *t,
                          const batch_cotangents *bars) {
  size_t parameters = (size_t)b->parameter_count, potential_count = (size_t)b->potential_count;
  double *theta_bar = b->theta_bars + (size_t)index * parameters;
  double *potential_bar = b->potential_bars + (size_t)index * potential_count;
  memset(theta_bar, 0, sizeof(double) * parameters);
  memset(potential_bar, 0, sizeof(double) * potential_count);
  shard_vjp(&b->job, shard_at(b, index), w, t, bars, theta_bar,
            potential_count > 0 ? potential_bar : theta_bar);
}

void batch_vjp(batch_executor *b, const batch_cotangents *bars) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(b->worker_count)
  for (int i = 0; i < b->shard_count; i++)
    reverse_shard(b, i, &b->workers[omp_get_thread_num()], &b->tapes[i], bars);
}

carom_status batch_run_loss(batch_executor *b, const batch_states *states, batch_compare compare,
                            void *user, const batch_cotangents *bars, bool gradients,
                            carom_error *error) {
  b->job.states = *states;
#pragma omp parallel for schedule(dynamic, 1) num_threads(b->worker_count)
  for (int i = 0; i < b->shard_count; i++) {
    worker *w = &b->workers[omp_get_thread_num()];
    tape *t = gradients ? &b->tapes[omp_get_thread_num()] : NULL;
    shard_run(&b->job, shard_at(b, i), w, t, &b->results[i]);
    if (b->results[i].status != CAROM_OK) continue;
    compare(user, shard_at(b, i));
    if (gradients) reverse_shard(b, i, w, t, bars);
  }
  return collect(b, error);
}

/* ---- sums ------------------------------------------------------------------------------------ */

void batch_sum_theta(const batch_executor *b, double *theta_bar) {
  size_t parameters = (size_t)b->parameter_count;
  memset(theta_bar, 0, sizeof(double) * parameters);
  for (int k = 0; k < b->shard_count; k++)
    for (size_t i = 0; i < parameters; i++)
      theta_bar[i] += b->theta_bars[(size_t)k * parameters + i];
}

void batch_sum_potential(const batch_executor *b, double *potential_bar) {
#pragma omp parallel for schedule(static) num_threads(b->worker_count)
  for (int i = 0; i < b->potential_count; i++) {
    double sum = 0;
    for (int k = 0; k < b->shard_count; k++)
      sum += b->potential_bars[(size_t)k * (size_t)b->potential_count + (size_t)i];
    potential_bar[i] = sum;
  }
}
