#include "rollout/rollout.h"

#include "base/error.h"
#include "base/size.h"
#include "physics/given_potential.h"
#include "rollout/batch.h"
#include "rollout/rollout_options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct carom_rollout {
  const carom_system *system;
  mechanics mechanics;
  batch_executor batch;
  batch_states states; /* of the last run; the trajectories are owned unless carom_simulate runs */
  bool has_run;
  int64_t run_count;
  double *owned_x, *owned_v;
  uint8_t *owned_contacts;
  bool controlled;         /* u is to be used */
  double *owned_u, *u_bar; /* [batch][steps][control_size]; NULL until controls are set */
  given_potential given;   /* the caller's potential; unused without one */
  carom_error failure;     /* of it */
  double *potential_bar;   /* [potential_count of the batch]; NULL without one */
};

/* The potential of a rollout: one of the engine's, or the caller's. */
typedef struct energy_choice {
  const potential *engine;
  const carom_potential *given; /* NULL: the engine's */
} energy_choice;

/* Lets a rollout ask the caller's potential: on his thread alone and for all samples at once, unless he says
 * otherwise. False if memory is short. */
static bool take_given(carom_rollout *r, const carom_potential *given, int samples,
                       carom_rollout_options *options) {
  r->given = given_potential_make(given, &r->failure);
  const int own = given_potential_count(&r->given, r->system);
  r->potential_bar = size_allocate_zero((size_t)own, sizeof(double));
  if (!given->concurrent) {
    options->threads = 1;
    options->shard_size = samples;
  }
  return r->potential_bar != NULL;
}

/* Everything but the trajectory arrays. */
static carom_status rollout_make(const carom_system *system, const carom_rollout_options *options,
                                 energy_choice energy, int samples, batch_use use,
                                 carom_rollout **rollout, carom_error *error) {
  *rollout = NULL;
  carom_status status = rollout_options_check(system, options, error);
  if (status != CAROM_OK) return status;
  if (samples < 1)
    return error_set(error, CAROM_INVALID_ARGUMENT, "batch is %d, must be at least 1", samples);
  carom_rollout *r = calloc(1, sizeof *r);
  if (r == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a rollout");
  r->system = system;
  bool ready = mechanics_init(&r->mechanics, system);
  carom_rollout_options chosen = *options;
  if (chosen.shard_size > samples) chosen.shard_size = samples;
  const bool is_given = energy.given != NULL;
  if (is_given) ready = take_given(r, energy.given, samples, &chosen) && ready;
  const potential *used = is_given ? &r->given.base : energy.engine;
  batch_init(&r->batch, &r->mechanics, used,
             is_given ? given_potential_count(&r->given, system) : 0, &chosen, use);
  r->batch.fixed_potential = used != &scene_potential;
  status = ready ? batch_reserve(&r->batch, samples, use != BATCH_FORWARD, error)
                 : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a rollout");
  if (status != CAROM_OK) {
    carom_rollout_destroy(r);
    return status;
  }
  *rollout = r;
  return error_clear(error);
}

carom_status carom_rollout_create(const carom_system *system, const carom_rollout_options *options,
                                  int batch, carom_rollout **rollout, carom_error *error) {
  if (rollout != NULL) *rollout = NULL;
  REQUIRE(system, error);
  REQUIRE(options, error);
  REQUIRE(rollout, error);
  return rollout_create_with(system, options, &scene_potential, batch, rollout, error);
}

/* A rollout with trajectories of its own. */
static carom_status rollout_create_of(const carom_system *system,
                                      const carom_rollout_options *options, energy_choice energy,
                                      int batch, carom_rollout **rollout, carom_error *error) {
  carom_status status =
      rollout_make(system, options, energy, batch, BATCH_REVERSE_LATER, rollout, error);
  if (status != CAROM_OK) return status;
  carom_rollout *r = *rollout;
  size_t states = size_multiply((size_t)batch, (size_t)options->steps + 1);
  size_t numbers = size_multiply(states, (size_t)system->coordinate_count);
  r->owned_x = size_allocate(numbers, sizeof(double));
  r->owned_v = size_allocate(numbers, sizeof(double));
  r->owned_contacts = size_allocate_zero(states, 1);
  if (r->owned_x == NULL || r->owned_v == NULL || r->owned_contacts == NULL) {
    carom_rollout_destroy(r);
    *rollout = NULL;
    return error_set(error, CAROM_OUT_OF_MEMORY,
                     "no memory for a trajectory of %d samples x %d steps, %.3g GB", batch,
                     options->steps, size_gigabytes(size_multiply(numbers, 2 * sizeof(double))));
  }
  r->states = (batch_states){.x = r->owned_x, .v = r->owned_v, .contacts = r->owned_contacts};
  return CAROM_OK;
}

void carom_rollout_destroy(carom_rollout *r) {
  if (r == NULL) return;
  batch_free(&r->batch);
  mechanics_free(&r->mechanics);
  free(r->owned_x);
  free(r->owned_v);
  free(r->owned_contacts);
  free(r->owned_u);
  free(r->u_bar);
  free(r->potential_bar);
  free(r);
}

carom_status rollout_create_with(const carom_system *system, const carom_rollout_options *options,
                                 const potential *energy, int batch, carom_rollout **rollout,
                                 carom_error *error) {
  return rollout_create_of(system, options, (energy_choice){.engine = energy}, batch, rollout,
                           error);
}

carom_status carom_rollout_create_with_potential(const carom_system *system,
                                                 const carom_rollout_options *options,
                                                 const carom_potential *energy, int batch,
                                                 carom_rollout **rollout, carom_error *error) {
  if (rollout != NULL) *rollout = NULL;
  REQUIRE(system, error);
  REQUIRE(options, error);
  REQUIRE(energy, error);
  REQUIRE(rollout, error);
  carom_status status = given_potential_check(energy, error);
  if (status != CAROM_OK) return status;
  return rollout_create_of(system, options, (energy_choice){.given = energy}, batch, rollout,
                           error);
}

/* ---- running --------------------------------------------------------------------------------- */

static carom_status check_inputs(const carom_rollout *r, const double *theta, const double *x0,
                                 const double *v0, carom_error *error) {
  carom_status status = carom_parameters_check(r->system, theta, error);
  if (status != CAROM_OK) return status;
  return batch_check_states(&r->batch, x0, v0, error);
}

/* What the caller's potential failed with is told before what became of the shards. */
static carom_status status_of(carom_rollout *r, carom_status status, carom_error *error) {
  const carom_status failed = r->failure.status;
  if (status == CAROM_OK || failed == CAROM_OK) return status;
  if (error != NULL) *error = r->failure;
  r->failure = (carom_error){0};
  return failed;
}

static carom_status rollout_execute(carom_rollout *r, const double *theta, const double *x0,
                                    const double *v0, carom_error *error) {
  double *scene_theta = NULL;
  r->has_run = false;
  if (theta == NULL) {
    scene_theta = size_allocate((size_t)r->system->parameter_count, sizeof(double));
    if (scene_theta == NULL)
      return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for parameters");
    carom_parameters_default(r->system, scene_theta);
    theta = scene_theta;
  }
  carom_status status = check_inputs(r, theta, x0, v0, error);
  if (status == CAROM_OK) mechanics_set_parameters(&r->mechanics, theta);
  free(scene_theta);
  if (status != CAROM_OK) return status;

  batch_states states = r->states;
  states.x0 = x0;
  states.v0 = v0;
  states.u = r->controlled ? r->owned_u : NULL;
  status = status_of(r, batch_run(&r->batch, &states, error), error);
  if (status != CAROM_OK) return status;
  r->has_run = true;
  r->run_count++;
  return error_clear(error);
}

carom_status carom_rollout_run(carom_rollout *rollout, const double *theta, const double *x0,
                               const double *v0, carom_error *error) {
  REQUIRE(rollout, error);
  REQUIRE(x0, error);
  REQUIRE(v0, error);
  return rollout_execute(rollout, theta, x0, v0, error);
}

const double *carom_rollout_positions(const carom_rollout *rollout) {
  return rollout != NULL ? rollout->states.x : NULL;
}
const double *carom_rollout_velocities(const carom_rollout *rollout) {
  return rollout != NULL ? rollout->states.v : NULL;
}
const uint8_t *carom_rollout_contacts(const carom_rollout *rollout) {
  return rollout != NULL ? rollout->states.contacts : NULL;
}
carom_report carom_rollout_report(const carom_rollout *rollout) {
  return rollout != NULL ? rollout->batch.report : (carom_report){0};
}
int64_t carom_rollout_run_count(const carom_rollout *rollout) {
  return rollout != NULL ? rollout->run_count : 0;
}

/* ---- controls -------------------------------------------------------------------------------- */

/* Numbers in u. */
static size_t control_numbers(const carom_rollout *r) {
  size_t steps = size_multiply((size_t)r->batch.job.batch, (size_t)r->batch.options.steps);
  return size_multiply(steps, (size_t)r->system->control_size);
}

static carom_status check_controls(const carom_rollout *r, const double *u, carom_error *error) {
  size_t size = (size_t)r->system->control_size, steps = (size_t)r->batch.options.steps;
  if (size == 0)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "%s has no controls; list them in the scene's field \"controls\"",
                     r->system->name);
  for (size_t i = 0; i < control_numbers(r); i++)
    if (!isfinite(u[i]))
      return error_set(error, CAROM_INVALID_DATA,
                       "controls of sample %zu at step %zu: number %zu is not finite",
                       i / size / steps, i / size % steps, i % size);
  return CAROM_OK;
}

/* Room for controls and their cotangents, once for all runs. */
static carom_status reserve_controls(carom_rollout *r, carom_error *error) {
  size_t numbers = control_numbers(r);
  if (r->owned_u == NULL) r->owned_u = size_allocate_zero(numbers, sizeof(double));
  if (r->u_bar == NULL) r->u_bar = size_allocate_zero(numbers, sizeof(double));
  if (r->owned_u != NULL && r->u_bar != NULL) return CAROM_OK;
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for controls, %.3g GB",
                   size_gigabytes(size_multiply(numbers, 2 * sizeof(double))));
}

carom_status carom_rollout_set_controls(carom_rollout *rollout, const double *u,
                                        carom_error *error) {
  REQUIRE(rollout, error);
  carom_rollout *r = rollout;
  carom_status status = u != NULL ? check_controls(r, u, error) : CAROM_OK;
  if (status == CAROM_OK && u != NULL) status = reserve_controls(r, error);
  if (status != CAROM_OK) return status;
  if (u != NULL) memcpy(r->owned_u, u, sizeof(double) * control_numbers(r));
  r->controlled = u != NULL;
  r->has_run = false;
  return error_clear(error);
}

const double *carom_rollout_controls(const carom_rollout *rollout) {
  return rollout != NULL && rollout->controlled ? rollout->owned_u : NULL;
}
const double *carom_rollout_controls_bar(const carom_rollout *rollout) {
  return rollout != NULL && rollout->controlled ? rollout->u_bar : NULL;
}

/* ---- impacts --------------------------------------------------------------------------------- */

/* The log of a sample's shard, and its place there; NULL: there is no such sample, or no finished run. */
static const impact_log *log_of(const carom_rollout *r, int sample, int *place) {
  if (r == NULL || !r->has_run || sample < 0 || sample >= r->batch.job.batch) return NULL;
  *place = sample % r->batch.options.shard_size;
  return &r->batch.tapes[sample / r->batch.options.shard_size].impacts;
}

/* NULL: there is no such impact. */
static impact_entry *find_impact(const carom_rollout *r, int sample, int index,
                                 const impact_log **log) {
  int place = 0;
  *log = log_of(r, sample, &place);
  bool there = *log != NULL && index >= 0 && index < impact_log_count(*log, place);
  return there ? impact_log_at(*log, place, index) : NULL;
}

int carom_rollout_impact_count(const carom_rollout *rollout, int sample) {
  int place = 0;
  const impact_log *log = log_of(rollout, sample, &place);
  return log != NULL ? impact_log_count(log, place) : 0;
}

carom_impact carom_rollout_impact(const carom_rollout *rollout, int sample, int index) {
  const impact_log *log;
  const impact_entry *entry = find_impact(rollout, sample, index, &log);
  if (entry == NULL) return (carom_impact){.step = -1};
  int size = rollout->system->coordinate_count;
  return (carom_impact){.step = entry->step,
                        .time = entry->time,
                        .contact_count = entry->contact_count,
                        .contacts = impact_log_contacts(log, entry),
                        .impulses = impact_log_part(log, entry, size, IMPACT_PARTS),
                        .x = impact_log_part(log, entry, size, IMPACT_X),
                        .v_before = impact_log_part(log, entry, size, IMPACT_BEFORE),
                        .v_after = impact_log_part(log, entry, size, IMPACT_AFTER)};
}

carom_impact_bars carom_rollout_impact_bars(carom_rollout *rollout, int sample, int index) {
  const impact_log *log;
  impact_entry *entry = find_impact(rollout, sample, index, &log);
  if (entry == NULL) return (carom_impact_bars){0};
  int size = rollout->system->coordinate_count;
  return (carom_impact_bars){.time = &entry->time_bar,
                             .x = impact_log_part(log, entry, size, IMPACT_X_BAR),
                             .v_before = impact_log_part(log, entry, size, IMPACT_BEFORE_BAR),
                             .v_after = impact_log_part(log, entry, size, IMPACT_AFTER_BAR)};
}

/* ---- the derivative -------------------------------------------------------------------------- */

/* theta_bar += what the scene's potential beside the caller's adds to it */
static void add_scene_bar(const carom_rollout *r, double *theta_bar) {
  if (!r->given.given.beside_scene) return;
  const double *of_scene = r->potential_bar + r->given.given.parameter_count;
  for (int i = 0; i < r->system->parameter_count; i++) theta_bar[i] += of_scene[i];
}

carom_status carom_rollout_vjp(carom_rollout *rollout, const double *x_bar, const double *v_bar,
                               double *x0_bar, double *v0_bar, double *theta_bar,
                               carom_error *error) {
  REQUIRE(rollout, error);
  carom_rollout *r = rollout;
  if (!r->has_run)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "the rollout has no finished run to differentiate; call carom_rollout_run");
  const batch_cotangents bars = {
      .x = x_bar, .v = v_bar, .x0 = x0_bar, .v0 = v0_bar, .u = r->controlled ? r->u_bar : NULL};
  carom_status status = status_of(r, batch_vjp(&r->batch, &bars, error), error);
  if (status != CAROM_OK) return status;
  if (r->potential_bar != NULL) batch_sum_potential(&r->batch, r->potential_bar);
  if (theta_bar != NULL) {
    batch_sum_theta(&r->batch, theta_bar);
    add_scene_bar(r, theta_bar);
  }
  return error_clear(error);
}

const double *carom_rollout_potential_bar(const carom_rollout *rollout) {
  return rollout != NULL && rollout->given.given.parameter_count > 0 ? rollout->potential_bar
                                                                     : NULL;
}

void rollout_use_first(carom_rollout *rollout, int samples) {
  batch_use_first(&rollout->batch, samples);
  rollout->has_run = false;
}

void rollout_use_lengths(carom_rollout *rollout, const double *lengths) {
  rollout->batch.job.lengths = lengths;
  rollout->has_run = false;
}

const double *rollout_theta_bar(const carom_rollout *rollout, int sample) {
  return rollout->batch.theta_bars + (size_t)sample * (size_t)rollout->batch.parameter_count;
}

/* ---- failures, allocations ------------------------------------------------------------------- */

int carom_rollout_failure_count(const carom_rollout *rollout) {
  int count = 0;
  for (int shard = 0; rollout != NULL && shard < rollout->batch.shard_count; shard++)
    count += rollout->batch.results[shard].failures.count;
  return count < PROGRAM_LOG_MOST ? count : PROGRAM_LOG_MOST;
}

carom_cone_program carom_rollout_failure(const carom_rollout *rollout, int index) {
  for (int shard = 0; rollout != NULL && index >= 0 && shard < rollout->batch.shard_count;
       shard++) {
    const program_log *log = &rollout->batch.results[shard].failures;
    if (index < log->count) return log->programs[index];
    index -= log->count;
  }
  return (carom_cone_program){0};
}

long rollout_allocations(const carom_rollout *rollout) {
  return batch_allocations(&rollout->batch);
}

carom_status carom_system_simulate(const carom_system *system, const carom_rollout_options *options,
                                   const double *theta, int batch, const double *x0,
                                   const double *v0, double *x, double *v, uint8_t *contacts,
                                   carom_report *report, carom_error *error) {
  REQUIRE(system, error);
  REQUIRE(options, error);
  REQUIRE(x0, error);
  REQUIRE(v0, error);
  REQUIRE(x, error);
  REQUIRE(v, error);
  return rollout_simulate(system, options, NULL, theta, batch, x0, v0, x, v, contacts, report,
                          error);
}

carom_status rollout_simulate(const carom_system *system, const carom_rollout_options *options,
                              const double *lengths, const double *theta, int batch,
                              const double *x0, const double *v0, double *x, double *v,
                              uint8_t *contacts, carom_report *report, carom_error *error) {
  carom_rollout *r;
  carom_status status = rollout_make(system, options, (energy_choice){.engine = &scene_potential},
                                     batch, BATCH_FORWARD, &r, error);
  if (status != CAROM_OK) return status;
  r->states = (batch_states){.x = x, .v = v, .contacts = contacts};
  rollout_use_lengths(r, lengths);
  status = rollout_execute(r, theta, x0, v0, error);
  if (report != NULL) *report = r->batch.report;
  carom_rollout_destroy(r);
  return status;
}
