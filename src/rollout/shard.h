/* Algorithm 1 over one shard of a batch, and its reverse. A shard is a fixed run of consecutive
 * samples that one worker takes through all time steps; what comes out of it does not depend on
 * which worker took it. */
#ifndef CAROM_ROLLOUT_SHARD_H
#define CAROM_ROLLOUT_SHARD_H

#include "contact/contact_event.h"
#include "physics/integrator.h"

/* What is kept of a shard for its reverse: the impulses of every contact event, packed one after
 * the other. Everything else is recomputed from the states, which the trajectory holds. */
typedef struct tape {
  unsigned char *bytes;
  size_t used, capacity;
  int64_t *offset; /* [samples][steps] where an event's impulses begin, or -1 */
  long allocations;
} tape;

/* Scratch of one thread. */
typedef struct worker {
  arena memory; /* lasting: the step records */
  arena scratch;
  step_record *records; /* one, or one for each time step where the job keeps them */
  contact_list active;
  double *x, *v;         /* [shard_size][D] */
  double *x_bar, *v_bar; /* [shard_size][D] */
  stopwatch *watch;      /* NULL; worker_time sets it */
} worker;

/* One rollout of a batch: what all shards share. Trajectories are [batch][steps + 1][D]. */
typedef struct batch_job {
  const carom_rollout_options *options;
  integrator integrator;
  int batch;
  const double *x0, *v0;
  double *x, *v;
  uint8_t *contacts; /* may be NULL */
  bool
      keeps_records; /* a worker keeps the records of all time steps, so that the reverse of a shard
                          that it has just run need not evaluate anything again */
} batch_job;

/* What a shard reports. */
typedef struct shard_result {
  carom_report report;
  program_log failures;
  carom_status status;
  int bad_sample, bad_step; /* where a state became non-finite */
} shard_result;

void worker_init(worker *w, const batch_job *job);
void worker_free(worker *w);

/* Lets a worker add up where its time goes. */
void worker_time(worker *w, const batch_job *job, stopwatch *watch);
void tape_free(tape *t);

/* Called after each time step of a shard with the number of samples it advanced; false to stop. */
typedef bool (*shard_progress)(void *user, int samples);

/* Samples [first, first + count). `t` may be NULL if no reverse is wanted. */
void shard_run(const batch_job *job, int first, int count, worker *w, tape *t, shard_result *result,
               shard_progress progress, void *progress_user);

/* Cotangents of the trajectory (either may be NULL) to those of the initial states, theta_bar (+=)
 * and the potential's parameters (+=; theta_bar again for the scene's own). */
void shard_vjp(const batch_job *job, int first, int count, worker *w, const tape *t,
               const double *x_bar, const double *v_bar, double *x0_bar, double *v0_bar,
               double *theta_bar, double *potential_bar);

/* What kept a shard from finishing, in words; CAROM_OK if nothing did. */
carom_status shard_error(const shard_result *result, double dt, carom_error *error);

#endif
