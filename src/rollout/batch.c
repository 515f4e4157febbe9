#include "rollout/batch.h"

#include <limits.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "base/threads.h"
#include "rollout/impact_step.h"

/* ---- memory ---------------------------------------------------------------------------------- */

void batch_init(batch_executor *b, const mechanics *m, const potential *p, int potential_count,
                const carom_rollout_options *options, batch_use use) {
  *b = (batch_executor){
      .options = *options,
      .impact = impact_options(options),
      .resting = resting_options(options),
      .use = use,
      .parameter_count = m->system->parameter_count,
      .potential_count = potential_count,
      .thread_limit = options->threads > 0 ? options->threads : omp_get_max_threads()};
  b->job = (batch_job){.options = &b->options,
                       .impact = &b->impact,
                       .resting = &b->resting,
                       .integrator = {.mechanics = m,
                                      .potential = p,
                                      .method = options->integrator,
                                      .dynamics = options->dynamics,
                                      .dt = options->dt,
                                      .substeps = options->substeps},
                       .keeps_records = use == BATCH_REVERSE_AT_ONCE};
}

void batch_set_threads(batch_executor *b, int threads) {
  b->thread_limit = threads > 0 ? threads : omp_get_max_threads();
}

void batch_free(batch_executor *b) {
  for (int i = 0; i < b->worker_count; i++) worker_free(&b->workers[i]);
  for (int i = 0; i < b->tape_count; i++) tape_free(&b->tapes[i]);
  for (int i = 0; i < b->result_count; i++) program_log_clear(&b->results[i].failures);
  free(b->workers);
  free(b->tapes);
  free(b->results);
  free(b->outcomes);
  free(b->theta_bars);
  free(b->potential_bars);
  *b = (batch_executor){0};
}

/* Makes an array longer, the new elements zero; false if memory is short. */
static bool lengthen(void *array, int *count, int wanted, size_t element) {
  if (wanted <= *count) return true;
  void **at = array;
  size_t bytes = size_multiply(element, (size_t)wanted);
  unsigned char *longer = bytes <= PTRDIFF_MAX ? realloc(*at, bytes) : NULL;
  if (longer == NULL) return false;
  memset(longer + element * (size_t)*count, 0, element * (size_t)(wanted - *count));
  *at = longer;
  *count = wanted;
  return true;
}

/* Asks for all at once before it takes them piece by piece. */
static bool reserve_workers(batch_executor *b, int wanted) {
  int ready = b->worker_count;
  if (wanted <= ready) return true;
  if (!size_available(size_multiply((size_t)(wanted - ready), worker_bytes(&b->job))) ||
      !lengthen(&b->workers, &b->worker_count, wanted, sizeof(worker)))
    return false;
  b->worker_count = ready;
  while (b->worker_count < wanted) {
    if (!worker_init(&b->workers[b->worker_count], &b->job)) {
      worker_free(&b->workers[b->worker_count]);
      return false;
    }
    b->worker_count++;
  }
  return true;
}

/* Whether the ranks share its shards: tapes and impacts of a batch that is reversed later stay where they
 * are. */
static bool is_shared(const batch_executor *b) { return b->use != BATCH_REVERSE_LATER; }

static int own_count(const batch_executor *b) { return b->own.end - b->own.first; }

/* The most of so many shards that fall to a rank. */
static int most_own(const batch_executor *b, int shards) {
  return is_shared(b) ? (shards - 1) / carom_ranks_count() + 1 : shards;
}

/* Cotangents need not be kept when their number grows. */
static bool reserve_bars(batch_executor *b, int wanted) {
  if (wanted <= b->bar_count) return true;
  free(b->theta_bars);
  free(b->potential_bars);
  b->bar_count = 0;
  b->theta_bars =
      size_allocate(size_multiply((size_t)wanted, (size_t)b->parameter_count), sizeof(double));
  b->potential_bars = size_allocate(
      size_multiply((size_t)most_own(b, wanted), (size_t)b->potential_count), sizeof(double));
  if (b->theta_bars == NULL || b->potential_bars == NULL) return false;
  b->bar_count = wanted;
  return true;
}

/* What a batch needs beside its trajectories, in bytes. */
static size_t needed_bytes(const batch_executor *b, int shards, int workers, bool gradients) {
  size_t own = (size_t)most_own(b, shards), bars = 0;
  if (gradients)
    bars = size_add(size_multiply((size_t)shards, (size_t)b->parameter_count),
                    size_multiply(own, (size_t)b->potential_count));
  return size_add(size_add(size_multiply((size_t)shards, sizeof(shard_result) + sizeof(tape)),
                           size_multiply(bars, sizeof(double))),
                  size_multiply((size_t)workers, worker_bytes(&b->job)));
}

/* Indices inside a shard are int. */
static carom_status check_shard(const batch_executor *b, carom_error *error) {
  int size = b->job.integrator.mechanics->system->coordinate_count, most = INT_MAX / 4 / size;
  if (b->options.shard_size <= most) return CAROM_OK;
  return error_set(error, CAROM_INVALID_ARGUMENT,
                   "options.shard_size is %d; with %d coordinates of a state at most %d samples go "
                   "into a shard",
                   b->options.shard_size, size, most);
}

carom_status batch_reserve(batch_executor *b, int samples, bool gradients, carom_error *error) {
  carom_status status = check_shard(b, error);
  if (status != CAROM_OK) return status;
  int shards = (samples - 1) / b->options.shard_size + 1, most = most_own(b, shards);
  int workers = b->thread_limit < most ? b->thread_limit : most;
  int tapes = b->use == BATCH_REVERSE_LATER ? shards : b->use == BATCH_FORWARD ? 0 : workers;
  b->shard_count = 0; // nothing to run unless all is there
  if (!lengthen(&b->results, &b->result_count, shards, sizeof(shard_result)) ||
      (is_shared(b) && !lengthen(&b->outcomes, &b->outcome_count, shards, sizeof(shard_outcome))) ||
      !lengthen(&b->tapes, &b->tape_count, tapes, sizeof(tape)) ||
      (gradients && !reserve_bars(b, shards)) || !reserve_workers(b, workers))
    return error_set(
        error, CAROM_OUT_OF_MEMORY,
        "no memory for a batch of %d samples: %d threads with %d samples x %d substeps "
        "each need %.3g GB; use a smaller shard_size, fewer substeps or threads",
        samples, workers, b->options.shard_size, b->options.substeps,
        size_gigabytes(needed_bytes(b, shards, workers, gradients)));
  b->job.batch = samples;
  b->shard_count = shards;
  b->own = is_shared(b) ? ranks_own(shards) : (rank_range){0, shards};
  b->awake = b->thread_count = threads_startable(workers);
  return CAROM_OK;
}

void batch_use_first(batch_executor *b, int samples) {
  b->job.batch = samples;
  b->shard_count = (samples - 1) / b->options.shard_size + 1;
  b->own = (rank_range){0, b->shard_count};
  b->short_runs = true;
}

long batch_allocations(const batch_executor *b) {
  long total = 0;
  for (int i = 0; i < b->worker_count; i++)
    total += b->workers[i].scratch.block_allocations + b->workers[i].memory.block_allocations +
             b->workers[i].active.capacity;
  for (int i = 0; i < b->tape_count; i++) total += tape_allocations(&b->tapes[i]);
  return total;
}

/* ---- shards ---------------------------------------------------------------------------------- */

static shard_range shard_at(const batch_executor *b, int index) {
  int first = index * b->options.shard_size, left = b->job.batch - first;
  return (shard_range){.first = first,
                       .count = left < b->options.shard_size ? left : b->options.shard_size};
}

void batch_collect(const batch_executor *b, void *values, size_t bytes) {
  if (is_shared(b))
    ranks_collect(values, bytes, b->shard_count, b->options.shard_size, b->job.batch);
}

/* What the shards of other ranks report. */
static void collect_outcomes(batch_executor *b) {
  for (int i = b->own.first; i < b->own.end; i++) {
    const shard_result *r = &b->results[i];
    b->outcomes[i] = (shard_outcome){r->report, r->status, r->bad_sample, r->bad_step};
  }
  ranks_collect(b->outcomes, sizeof(shard_outcome), b->shard_count, 1, b->shard_count);
  for (int i = 0; i < b->shard_count; i++) {
    shard_result *r = &b->results[i];
    const shard_outcome *told = &b->outcomes[i];
    r->report = told->report;
    r->status = told->status;
    r->bad_sample = told->bad_sample;
    r->bad_step = told->bad_step;
  }
}

/* Counters of all shards, and what kept the first that failed from finishing. The initial states are
 * the caller's and are not looked at again: the reverse finds them in the trajectories. */
static carom_status collect(batch_executor *b, carom_error *error) {
  carom_status status = CAROM_OK;
  b->job.states.x0 = b->job.states.v0 = NULL;
  b->report = (carom_report){0};
  if (is_shared(b)) collect_outcomes(b);
  for (int i = 0; i < b->shard_count; i++) {
    carom_report_add(&b->report, &b->results[i].report);
    if (status == CAROM_OK) status = shard_error(&b->results[i], b->options.dt, error);
  }
  return status;
}

carom_status batch_check_states(const batch_executor *b, const double *x0, const double *v0,
                                carom_error *error) {
  const size_t size = (size_t)b->job.integrator.mechanics->system->coordinate_count;
  for (size_t i = 0; i < (size_t)b->job.batch * size; i++)
    if (!isfinite(x0[i]) || !isfinite(v0[i]))
      return error_set(error, CAROM_INVALID_DATA,
                       "initial state of sample %zu is not finite at coordinate %zu", i / size,
                       i % size);
  return CAROM_OK;
}

typedef struct progress_state {
  const carom_rollout_options *options;
  int64_t done, own, total; /* of this rank, of all */
  bool stop;
} progress_state;

static bool report_progress(void *user, int samples) {
  progress_state *p = user;
  bool go_on;
#pragma omp critical(carom_progress)
  {
    p->done += samples;
    // the others are taken to be as far
    const int64_t all = p->own == p->total ? p->done : p->done * p->total / p->own;
    if (!p->stop && !p->options->progress(p->options->progress_user, all, p->total)) p->stop = true;
    go_on = !p->stop;
  }
  return go_on;
}

/* Samples of this rank. */
static int own_samples(const batch_executor *b) {
  if (own_count(b) == 0) return 0;
  const shard_range last = shard_at(b, b->own.end - 1);
  return last.first + last.count - shard_at(b, b->own.first).first;
}

/* Calls work(user, i, w) for the shards from `first` to `end` - 1, w the worker that does it. One thread wakes no team: that takes as long as a short step. */
static void for_shards(int first, int end, int threads, void (*work)(void *user, int i, int w),
                       void *user) {
  if (threads == 1) {
    for (int i = first; i < end; i++) work(user, i, 0);
    return;
  }
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int i = first; i < end; i++) work(user, i, omp_get_thread_num());
}

static void run_shard(void *user, int i, int w) {
  batch_executor *b = user;
  shard_run(&b->job, shard_at(b, i), &b->workers[w],
            b->use == BATCH_REVERSE_LATER ? &b->tapes[i] : NULL, &b->results[i]);
}

carom_status batch_run(batch_executor *b, const batch_states *states, carom_error *error) {
  progress_state progress = {.options = &b->options,
                             .own = (int64_t)own_samples(b) * b->options.steps,
                             .total = (int64_t)b->job.batch * b->options.steps};
  b->job.states = *states;
  b->job.progress = b->options.progress != NULL ? report_progress : NULL;
  b->job.progress_user = &progress;
  const bool asks = b->short_runs && b->thread_count > 1;
  if (asks) b->awake = team_begin(&b->team, own_count(b)) ? b->thread_count : 1;
  for_shards(b->own.first, b->own.end, b->awake, run_shard, b);
  if (asks) team_end(&b->team);
  carom_status status = collect(b, error);
  if (status != CAROM_OK || !is_shared(b)) return status;
  const size_t kept = (size_t)b->options.steps + 1;
  const int size = b->job.integrator.mechanics->system->coordinate_count;
  batch_collect(b, states->x, sizeof(double) * kept * (size_t)size);
  batch_collect(b, states->v, sizeof(double) * kept * (size_t)size);
  if (states->contacts != NULL) batch_collect(b, states->contacts, kept);
  return CAROM_OK;
}

/* Reverses a shard into its own cotangents of parameters. */
static bool reverse_shard(batch_executor *b, int index, worker *w, tape *t,
                          const batch_cotangents *bars) {
  size_t parameters = (size_t)b->parameter_count, potential_count = (size_t)b->potential_count;
  double *theta_bar = b->theta_bars + (size_t)index * parameters;
  double *potential_bar = b->potential_bars + (size_t)(index - b->own.first) * potential_count;
  memset(theta_bar, 0, sizeof(double) * parameters);
  memset(potential_bar, 0, sizeof(double) * potential_count);
  double *of_potential = potential_count > 0  ? potential_bar
                         : b->fixed_potential ? NULL
                                              : theta_bar;
  return shard_vjp(&b->job, shard_at(b, index), w, t, bars, theta_bar, of_potential);
}

typedef struct reverse_task {
  batch_executor *b;
  const batch_cotangents *bars;
  bool failed;
} reverse_task;

static void reverse_one(void *user, int i, int w) {
  reverse_task *t = user;
  if (reverse_shard(t->b, i, &t->b->workers[w], &t->b->tapes[i], t->bars)) return;
#pragma omp atomic write
  t->failed = true;
}

carom_status batch_vjp(batch_executor *b, const batch_cotangents *bars, carom_error *error) {
  reverse_task task = {.b = b, .bars = bars};
  for_shards(0, b->shard_count, b->awake, reverse_one, &task);
  if (!task.failed) return CAROM_OK;
  return error_set(error, CAROM_OUT_OF_MEMORY,
                   "no memory for the derivative of a shard; free some, or use a smaller "
                   "shard_size or fewer threads");
}

typedef struct loss_task {
  batch_executor *b;
  batch_compare compare;
  void *user;
  const batch_cotangents *bars;
  bool gradients;
} loss_task;

static void run_loss(void *user, int i, int w) {
  const loss_task *l = user;
  batch_executor *b = l->b;
  tape *t = l->gradients ? &b->tapes[w] : NULL;
  shard_run(&b->job, shard_at(b, i), &b->workers[w], t, &b->results[i]);
  if (b->results[i].status != CAROM_OK) return;
  l->compare(l->user, shard_at(b, i));
  if (l->gradients && !reverse_shard(b, i, &b->workers[w], t, l->bars))
    b->results[i].status = CAROM_OUT_OF_MEMORY;
}

carom_status batch_run_loss(batch_executor *b, const batch_states *states, batch_compare compare,
                            void *user, const batch_cotangents *bars, bool gradients,
                            carom_error *error) {
  loss_task task = {.b = b, .compare = compare, .user = user, .bars = bars, .gradients = gradients};
  b->job.states = *states;
  for_shards(b->own.first, b->own.end, b->thread_count, run_loss, &task);
  carom_status status = collect(b, error);
  if (status == CAROM_OK && gradients)
    ranks_collect(b->theta_bars, sizeof(double) * (size_t)b->parameter_count, b->shard_count, 1,
                  b->shard_count);
  return status;
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
  if (carom_ranks_count() > 1 && is_shared(b)) {
    ranks_add_up(b->potential_count, b->potential_bars, own_count(b), potential_bar);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(b->thread_count)
  for (int i = 0; i < b->potential_count; i++) {
    double sum = 0;
    for (int k = 0; k < b->shard_count; k++)
      sum += b->potential_bars[(size_t)k * (size_t)b->potential_count + (size_t)i];
    potential_bar[i] = sum;
  }
}
