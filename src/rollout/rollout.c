#include "rollout/rollout.h"

#include "base/error.h"
#include "rollout/report.h"
#include "rollout/shard.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct carom_rollout {
  const carom_system *system;
  carom_rollout_options options;
  int batch;
  int shard_count;
  int thread_count;
  mechanics mechanics;
  batch_job job;
  bool keeps_tape;
  bool has_run;
  worker *workers;       /* [thread_count] */
  tape *tapes;           /* [shard_count] or NULL */
  shard_result *results; /* [shard_count] */
  double *theta_bars;    /* [shard_count][parameter_count] */
  double *owned_x, *owned_v;
  uint8_t *owned_contacts;
  carom_report report;
};

carom_rollout_options carom_rollout_default_options(const carom_system *system) {
  return (carom_rollout_options){
      .steps = system->steps,
      .dt = system->dt,
      .substeps = 1,
      .integrator = system->integrator,
      .dynamics = CAROM_LAGRANGIAN,
      .contact = CAROM_CM,
      .penetration_compensation = true,
      .compensation_steps = 8,
      .cone = carom_cone_default_options(),
      .shard_size = 8,
  };
}

static carom_status check_options(const carom_rollout_options *o, carom_error *error) {
  if (o->steps < 0)
    return error_set(error, CAROM_INVALID_ARGUMENT, "options.steps is %d, must be at least 0",
                     o->steps);
  if (!(o->dt > 0) || !isfinite(o->dt))
    return error_set(error, CAROM_INVALID_ARGUMENT, "options.dt is %g, must be positive", o->dt);
  if (o->substeps < 1)
    return error_set(error, CAROM_INVALID_ARGUMENT, "options.substeps is %d, must be at least 1",
                     o->substeps);
  if (!(o->compensation_steps > 0))
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "options.compensation_steps is %g, must be positive", o->compensation_steps);
  if (!(o->cone.tolerance > 0) || o->cone.max_iterations < 1 || !(o->cone.smoothing >= 0))
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "options.cone needs a positive tolerance, at least one iteration and a "
                     "smoothing of at least 0; start from carom_rollout_default_options");
  if (o->shard_size < 1)
    return error_set(error, CAROM_INVALID_ARGUMENT, "options.shard_size is %d, must be at least 1",
                     o->shard_size);
  if (o->threads < 0)
    return error_set(error, CAROM_INVALID_ARGUMENT, "options.threads is %d, must be at least 0",
                     o->threads);
  return CAROM_OK;
}

/* Everything but the trajectory arrays. */
static carom_status rollout_make(const carom_system *system, const carom_rollout_options *options,
                                 int batch, bool keeps_tape, carom_rollout **rollout,
                                 carom_error *error) {
  *rollout = NULL;
  carom_status status = check_options(options, error);
  if (status != CAROM_OK) return status;
  if (batch < 1)
    return error_set(error, CAROM_INVALID_ARGUMENT, "batch is %d, must be at least 1", batch);
  carom_rollout *r = calloc(1, sizeof *r);
  if (r == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a rollout");
  r->system = system;
  r->options = *options;
  r->batch = batch;
  r->keeps_tape = keeps_tape;
  r->shard_count = (batch + options->shard_size - 1) / options->shard_size;
  int threads = options->threads > 0 ? options->threads : omp_get_max_threads();
  r->thread_count = threads < r->shard_count ? threads : r->shard_count;
  mechanics_init(&r->mechanics, system);
  r->job = (batch_job){.options = &r->options,
                       .integrator = {.mechanics = &r->mechanics,
                                      .potential = &scene_potential,
                                      .method = options->integrator,
                                      .dynamics = options->dynamics,
                                      .dt = options->dt,
                                      .substeps = options->substeps},
                       .batch = batch};
  size_t shards = (size_t)r->shard_count;
  r->workers = calloc((size_t)r->thread_count, sizeof(worker));
  r->results = calloc(shards, sizeof(shard_result));
  r->tapes = calloc(shards, sizeof(tape));
  if (keeps_tape)
    r->theta_bars = calloc(shards * (size_t)system->parameter_count + 1, sizeof(double));
  if (r->workers == NULL || r->results == NULL || r->tapes == NULL ||
      (keeps_tape && r->theta_bars == NULL)) {
    carom_rollout_destroy(r);
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a rollout of %d samples", batch);
  }
  for (int i = 0; i < r->thread_count; i++) worker_init(&r->workers[i], &r->job);
  *rollout = r;
  return error_clear(error);
}

carom_status carom_rollout_create(const carom_system *system, const carom_rollout_options *options,
                                  int batch, carom_rollout **rollout, carom_error *error) {
  if (rollout != NULL) *rollout = NULL;
  if (system == NULL || options == NULL || rollout == NULL)
    return error_set(error, CAROM_INVALID_ARGUMENT, "carom_rollout_create: a pointer is NULL");
  carom_status status = rollout_make(system, options, batch, true, rollout, error);
  if (status != CAROM_OK) return status;
  carom_rollout *r = *rollout;
  size_t states = (size_t)batch * ((size_t)options->steps + 1);
  size_t numbers = states * (size_t)system->coordinate_count;
  r->owned_x = malloc(sizeof(double) * numbers);
  r->owned_v = malloc(sizeof(double) * numbers);
  r->owned_contacts = calloc(states, 1);
  if (r->owned_x == NULL || r->owned_v == NULL || r->owned_contacts == NULL) {
    carom_rollout_destroy(r);
    *rollout = NULL;
    return error_set(error, CAROM_OUT_OF_MEMORY,
                     "no memory for a trajectory of %d samples x %d steps", batch, options->steps);
  }
  r->job.x = r->owned_x;
  r->job.v = r->owned_v;
  r->job.contacts = r->owned_contacts;
  return CAROM_OK;
}

void carom_rollout_destroy(carom_rollout *r) {
  if (r == NULL) return;
  for (int i = 0; r->workers != NULL && i < r->thread_count; i++) worker_free(&r->workers[i]);
  for (int i = 0; i < r->shard_count; i++) {
    if (r->tapes != NULL) tape_free(&r->tapes[i]);
    if (r->results != NULL) program_log_clear(&r->results[i].failures);
  }
  mechanics_free(&r->mechanics);
  free(r->workers);
  free(r->tapes);
  free(r->results);
  free(r->theta_bars);
  free(r->owned_x);
  free(r->owned_v);
  free(r->owned_contacts);
  free(r);
}

void rollout_set_potential(carom_rollout *rollout, const potential *other) {
  rollout->job.integrator.potential = other;
}

/* ---- running --------------------------------------------------------------------------------- */

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

static carom_status check_inputs(const carom_rollout *r, const double *theta, const double *x0,
                                 const double *v0, carom_error *error) {
  if (x0 == NULL || v0 == NULL)
    return error_set(error, CAROM_INVALID_ARGUMENT, "the initial state is NULL");
  carom_status status = carom_parameters_check(r->system, theta, error);
  if (status != CAROM_OK) return status;
  size_t size = (size_t)r->system->coordinate_count;
  for (size_t i = 0; i < (size_t)r->batch * size; i++)
    if (!isfinite(x0[i]) || !isfinite(v0[i]))
      return error_set(error, CAROM_INVALID_DATA,
                       "initial state of sample %zu is not finite at coordinate %zu", i / size,
                       i % size);
  return CAROM_OK;
}

static carom_status rollout_execute(carom_rollout *r, const double *theta, const double *x0,
                                    const double *v0, carom_error *error) {
  double *scene_theta = NULL;
  r->has_run = false;
  if (theta == NULL) {
    scene_theta = malloc(sizeof(double) * (size_t)(r->system->parameter_count + 1));
    if (scene_theta == NULL)
      return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for parameters");
    carom_parameters_default(r->system, scene_theta);
    theta = scene_theta;
  }
  carom_status status = check_inputs(r, theta, x0, v0, error);
  if (status == CAROM_OK) mechanics_set_parameters(&r->mechanics, theta);
  free(scene_theta);
  if (status != CAROM_OK) return status;

  r->job.x0 = x0;
  r->job.v0 = v0;
  progress_state progress = {.options = &r->options, .total = (int64_t)r->batch * r->options.steps};
  shard_progress callback = r->options.progress != NULL ? report_progress : NULL;
#pragma omp parallel for schedule(dynamic, 1) num_threads(r->thread_count)
  for (int shard = 0; shard < r->shard_count; shard++) {
    int first = shard * r->options.shard_size;
    int count = r->batch - first < r->options.shard_size ? r->batch - first : r->options.shard_size;
    shard_run(&r->job, first, count, &r->workers[omp_get_thread_num()],
              r->keeps_tape ? &r->tapes[shard] : NULL, &r->results[shard], callback, &progress);
  }
  r->report = (carom_report){0};
  for (int shard = 0; shard < r->shard_count; shard++) {
    report_merge(&r->report, &r->results[shard].report);
    if (status == CAROM_OK) status = shard_error(&r->results[shard], r->options.dt, error);
  }
  if (status != CAROM_OK) return status;
  r->has_run = true;
  return error_clear(error);
}

carom_status carom_rollout_run(carom_rollout *rollout, const double *theta, const double *x0,
                               const double *v0, carom_error *error) {
  if (rollout == NULL) return error_set(error, CAROM_INVALID_ARGUMENT, "the rollout is NULL");
  return rollout_execute(rollout, theta, x0, v0, error);
}

const double *carom_rollout_positions(const carom_rollout *rollout) { return rollout->job.x; }
const double *carom_rollout_velocities(const carom_rollout *rollout) { return rollout->job.v; }
const uint8_t *carom_rollout_contacts(const carom_rollout *rollout) {
  return rollout->job.contacts;
}
carom_report carom_rollout_report(const carom_rollout *rollout) { return rollout->report; }

/* ---- the derivative -------------------------------------------------------------------------- */

carom_status carom_rollout_vjp(carom_rollout *r, const double *x_bar, const double *v_bar,
                               double *x0_bar, double *v0_bar, double *theta_bar,
                               carom_error *error) {
  if (r == NULL) return error_set(error, CAROM_INVALID_ARGUMENT, "the rollout is NULL");
  if (!r->has_run)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "the rollout has no finished run to differentiate; call carom_rollout_run");
  size_t parameters = (size_t)r->system->parameter_count;
  memset(r->theta_bars, 0, sizeof(double) * (size_t)r->shard_count * parameters);
#pragma omp parallel for schedule(dynamic, 1) num_threads(r->thread_count)
  for (int shard = 0; shard < r->shard_count; shard++) {
    int first = shard * r->options.shard_size;
    int count = r->batch - first < r->options.shard_size ? r->batch - first : r->options.shard_size;
    double *bar = r->theta_bars + (size_t)shard * parameters;
    shard_vjp(&r->job, first, count, &r->workers[omp_get_thread_num()], &r->tapes[shard], x_bar,
              v_bar, x0_bar, v0_bar, bar, bar);
  }

  // in shard order: the same bits from any number of threads
  if (theta_bar != NULL) {
    memset(theta_bar, 0, sizeof(double) * parameters);
    for (int shard = 0; shard < r->shard_count; shard++)
      for (size_t i = 0; i < parameters; i++)
        theta_bar[i] += r->theta_bars[(size_t)shard * parameters + i];
  }
  return error_clear(error);
}

/* ---- failures, allocations ------------------------------------------------------------------- */

int carom_rollout_failure_count(const carom_rollout *rollout) {
  int count = 0;
  for (int shard = 0; shard < rollout->shard_count; shard++)
    count += rollout->results[shard].failures.count;
  return count < PROGRAM_LOG_MOST ? count : PROGRAM_LOG_MOST;
}

carom_cone_program carom_rollout_failure(const carom_rollout *rollout, int index) {
  for (int shard = 0; shard < rollout->shard_count; shard++) {
    const program_log *log = &rollout->results[shard].failures;
    if (index < log->count) return log->programs[index];
    index -= log->count;
  }
  return (carom_cone_program){0};
}

long rollout_allocations(const carom_rollout *rollout) {
  long total = 0;
  for (int i = 0; i < rollout->thread_count; i++)
    total += rollout->workers[i].scratch.block_allocations +
             rollout->workers[i].memory.block_allocations + rollout->workers[i].active.capacity;
  for (int i = 0; i < rollout->shard_count; i++) total += rollout->tapes[i].allocations;
  return total;
}

carom_status carom_system_simulate(const carom_system *system, const carom_rollout_options *options,
                                   const double *theta, int batch, const double *x0,
                                   const double *v0, double *x, double *v, uint8_t *contacts,
                                   carom_report *report, carom_error *error) {
  if (system == NULL || options == NULL || x == NULL || v == NULL)
    return error_set(error, CAROM_INVALID_ARGUMENT, "carom_system_simulate: a pointer is NULL");
  carom_rollout *r;
  carom_status status = rollout_make(system, options, batch, false, &r, error);
  if (status != CAROM_OK) return status;
  r->job.x = x;
  r->job.v = v;
  r->job.contacts = contacts;
  status = rollout_execute(r, theta, x0, v0, error);
  if (report != NULL) *report = r->report;
  carom_rollout_destroy(r);
  return status;
}
