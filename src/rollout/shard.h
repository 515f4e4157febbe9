/* Algorithm 1 over one shard of a batch, and its reverse. A shard is a fixed run of consecutive
 * samples that one worker takes through all time steps; what comes out of it does not depend on
 * which worker took it. */
#ifndef CAROM_ROLLOUT_SHARD_H
#define CAROM_ROLLOUT_SHARD_H

#include "physics/integrator.h"
#include "rollout/tape.h"
#include "rollout/velocity_change.h"

/* Scratch of one thread. */
typedef struct worker {
  arena memory; /* lasting: the step records */
  arena scratch;
  step_record *records; /* one, or one for each time step where the job keeps them */
  step_record single;   /* of one sample, where contacts act when their gaps close */
  void **changes;       /* records of the job's velocity change, as many as step records */
  bool *acts;           /* [shard_size] samples on which it acts */
  contact_list active;
  double *x, *v;         /* [shard_size][D] */
  double *x_bar, *v_bar; /* [shard_size][D] */
  int *impacts_left;     /* [shard_size] impacts of a sample that the reverse has not come to */
  const double *weights; /* [shard_size] of samples in the reverse (step_record.weights) */
  stopwatch *watch;      /* NULL; worker_time sets it */
} worker;

/* Initial states [batch][D] and controls [batch][steps][control_size] (NULL: none) of a run, where its
 * trajectories [batch][steps + 1][D] go, and where a contact acted [batch][steps + 1] (may be NULL). The
 * reverse reads trajectories and controls again. */
typedef struct batch_states {
  const double *x0, *v0;
  const double *u;
  double *x, *v;
  uint8_t *contacts;
} batch_states;

/* Cotangents of the trajectories, how much each sample counts in those of what moves it between contacts
 * (step_record.weights), and where those of the initial states and controls go; each may be NULL. */
typedef struct batch_cotangents {
  const double *x, *v;
  const double *weights; /* [batch] */
  double *x0, *v0;
  double *u;
} batch_cotangents;

/* Called after each time step of a shard with the number of samples it advanced; false to stop. */
typedef bool (*shard_progress)(void *user, int samples);

/* What all shards of a batch share. */
typedef struct batch_job {
  const carom_rollout_options *options;
  const carom_rollout_options *impact, *resting; /* of contacts that act when their gaps close */
  integrator integrator;
  const velocity_change *change; /* in the place of contact events; NULL: none */
  int batch;                     /* samples */
  const double *lengths; /* [batch][steps] of time steps, instead of options->dt; NULL: that.
                                    Shards are of one sample then */
  batch_states states;
  bool keeps_records; /* a worker keeps the records of all time steps: the reverse of the shard that
                         it has just run need not evaluate anything again */
  shard_progress progress; /* NULL */
  void *progress_user;
} batch_job;

/* Samples [first, first + count). */
typedef struct shard_range {
  int first, count;
} shard_range;

/* What a shard reports. */
typedef struct shard_result {
  carom_report report;
  program_log failures;
  carom_status status;
  int bad_sample, bad_step; /* where a state became non-finite */
} shard_result;

/* The part of it that goes from rank to rank. */
typedef struct shard_outcome {
  carom_report report;
  carom_status status;
  int bad_sample, bad_step;
} shard_outcome;

/* False if memory is short; worker_free is due in any case. */
bool worker_init(worker *w, const batch_job *job);
void worker_free(worker *w);

/* Bytes that worker_init takes. */
size_t worker_bytes(const batch_job *job);

/* Lets a worker add up where its time goes. */
void worker_time(worker *w, const batch_job *job, stopwatch *watch);

/* `t` may be NULL if no reverse is wanted. Memory that runs short is in the result. */
void shard_run(const batch_job *job, shard_range s, worker *w, tape *t, shard_result *result);

/* Cotangents of the trajectories to those of the initial states, theta_bar (+=) and the potential's
 * parameters (+=; theta_bar again for the scene's own). False if memory is short. */
bool shard_vjp(const batch_job *job, shard_range s, worker *w, tape *t,
               const batch_cotangents *bars, double *theta_bar, double *potential_bar);

/* What kept a shard from finishing, in words; CAROM_OK if nothing did. */
carom_status shard_error(const shard_result *result, double dt, carom_error *error);

#endif
