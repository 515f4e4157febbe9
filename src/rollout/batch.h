/* A batch of rollouts over threads: what its shards need, and the loops over them.
 *
 *   batch_run        forward
 *   batch_vjp        reverse of the last run, from cotangents of its trajectory
 *   batch_run_loss   forward, comparison and reverse of one shard after the other, while what the
 *                    reverse needs is still at hand
 *
 * Shards are cut by the number of samples alone. A shard is computed by one worker, its results go to
 * places of its own, and sums over shards are made afterwards in their order: the same bits from any
 * number of threads.
 *
 * Batches that are not reversed later are shared by all ranks (base/ranks.h): each computes a run of
 * consecutive shards, and what comes out of them goes to all. Every rank has the same batch. */
#ifndef CAROM_ROLLOUT_BATCH_H
#define CAROM_ROLLOUT_BATCH_H

#include "base/ranks.h"
#include "base/team.h"
#include "rollout/shard.h"

/* When a batch is reversed, which decides what is kept for it. */
typedef enum batch_use {
  BATCH_FORWARD,        /* never: nothing */
  BATCH_REVERSE_LATER,  /* batch_vjp after batch_run: a tape for each shard */
  BATCH_REVERSE_AT_ONCE /* batch_run_loss: a tape and all step records for each worker */
} batch_use;

typedef struct batch_executor {
  carom_rollout_options options;
  carom_rollout_options impact, resting; /* made of them */
  batch_job job;                         /* points to the options: a batch stays where it is */
  batch_use use;
  int parameter_count;  /* of the engine */
  int potential_count;  /* of a potential that has its own, or 0 */
  bool fixed_potential; /* it has none that anyone asks for */
  int thread_limit;
  int shard_count, thread_count; /* of the last batch_reserve */
  int awake;       /* threads that run and reverse it: all, or one where more are not worth it */
  bool short_runs; /* batch_use_first was called: runs are many and short, */
  team team;       /* and other threads are woken where that is worth it */
  rank_range own;  /* the shards of this rank */

  /* these grow to the largest batch seen */
  int worker_count;
  worker *workers; /* [worker_count] */
  int tape_count;
  tape *tapes; /* [tape_count] one for each shard, or for each worker */
  int result_count;
  shard_result *results; /* [result_count] one for each shard */
  int outcome_count;
  shard_outcome *outcomes; /* [outcome_count] what ranks tell each other of them */
  int bar_count;
  double *theta_bars;     /* [bar_count][parameter_count] one for each shard */
  double *potential_bars; /* [bar_count][potential_count] one for each of this rank's */

  carom_report report; /* of the last run */
} batch_executor;

/* A batch of a system with a potential (`potential_count` parameters of its own, 0: it has none or
 * theta's). Nothing is allocated yet. */
void batch_init(batch_executor *b, const mechanics *m, const potential *p, int potential_count,
                const carom_rollout_options *options, batch_use use);
void batch_free(batch_executor *b);

/* Threads from the next batch_reserve on; 0: as many as the machine has. */
void batch_set_threads(batch_executor *b, int threads);

/* Room for `samples` samples, and for cotangents of parameters if `gradients`. What is there already
 * is kept. */
carom_status batch_reserve(batch_executor *b, int samples, bool gradients, carom_error *error);

/* From the next run on, the first `samples` of those that are reserved. Only for a batch that is reversed later. */
void batch_use_first(batch_executor *b, int samples);

/* Whether the initial states of all samples are finite numbers. */
carom_status batch_check_states(const batch_executor *b, const double *x0, const double *v0,
                                carom_error *error);

/* Runs the reserved samples. Counters are in `report` also where it fails. */
carom_status batch_run(batch_executor *b, const batch_states *states, carom_error *error);

/* The reverse of the last run. Cotangents of parameters are left for the sums below. */
carom_status batch_vjp(batch_executor *b, const batch_cotangents *bars, carom_error *error);

/* Compares the samples of a shard with what they should be: cotangents of their trajectories go into
 * the arrays that batch_run_loss was given. Called by several threads at once. */
typedef void (*batch_compare)(void *user, shard_range s);

/* Runs, compares and, if `gradients`, reverses shard after shard. */
carom_status batch_run_loss(batch_executor *b, const batch_states *states, batch_compare compare,
                            void *user, const batch_cotangents *bars, bool gradients,
                            carom_error *error);

/* Numbers of samples, so many bytes each, that every rank has computed for its shards: afterwards it has
 * those of all. */
void batch_collect(const batch_executor *b, void *values, size_t bytes);

/* sums = those of all shards, in their order */
void batch_sum_theta(const batch_executor *b, double *theta_bar);
void batch_sum_potential(const batch_executor *b, double *potential_bar);

/* How often memory has been asked of the system by workers and tapes: constant once warm. */
long batch_allocations(const batch_executor *b);

#endif
