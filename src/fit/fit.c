#include "fit/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/fit_options.h"
#include "fit/flight.h"
#include "fit/horizon.h"
#include "fit/overlap.h"
#include "fit/sample_search.h"
#include "fit/search.h"
#include "rollout/rollout_options.h"
#include "system/system.h"

const char *carom_channel_name(carom_channel channel) {
  static const char *const names[] = {"position", "velocity", "angle", "rate"};
  return (int)channel >= 0 && channel < CAROM_CHANNEL_COUNT ? names[channel] : "";
}

/* Work under a guard against short memory. */
typedef struct task {
  carom_fit *fit;
  carom_status status;
  carom_error *error;
} task;

static carom_status no_memory(carom_error *error) {
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a fit");
}

/* ---- making ---------------------------------------------------------------------------------- */

// two states in a row without a missing number
static bool has_pair(const carom_trajectories *t) {
  size_t row = (size_t)t->point_count * (size_t)t->dimension, states = (size_t)t->state_count;
  for (size_t i = 0; i < (size_t)t->batch; i++) {
    int in_a_row = 0;
    for (size_t k = 0; k < states; k++) {
      bool whole = true;
      for (size_t c = 0; c < row && whole; c++)
        whole = isfinite(t->x[(i * states + k) * row + c]) != 0;
      in_a_row = whole ? in_a_row + 1 : 0;
      if (in_a_row == 2) return true;
    }
  }
  return false;
}

static carom_status check_data(const carom_system *system, const carom_trajectories *t,
                               carom_error *error) {
  if (t->batch < 1 || t->state_count < 2 || t->x == NULL)
    return error_set(error, CAROM_INVALID_DATA,
                     "the data has %d trajectories of %d states; a fit needs at least one of two: "
                     "take a longer recording, or see that rows of one trajectory were not read "
                     "as many",
                     t->batch, t->x != NULL ? t->state_count : 0);
  if (t->point_count != system->point_count || t->dimension != system->dimension)
    return error_set(error, CAROM_INVALID_DATA,
                     "the data has %d points of %d coordinates, %s has %d of %d", t->point_count,
                     t->dimension, system->name, system->point_count, system->dimension);
  if (!has_pair(t))
    return error_set(error, CAROM_INVALID_DATA,
                     "no trajectory of the data has two states in a row without a missing number "
                     "(NaN, infinite): is a column of the file empty, or do numbers of one state "
                     "stand in several rows?");
  if (t->u != NULL && system->control_size > 0)
    return error_set(error, CAROM_INVALID_DATA,
                     "the data has controls, which a fit does not know yet");
  return CAROM_OK;
}

static carom_status begin(carom_fit *fit, const carom_trajectories *given, const char *unknowns,
                          carom_error *error) {
  carom_status status = unknowns_parse(fit->system, unknowns, &fit->unknowns, error);
  if (status != CAROM_OK) return status;
  carom_trajectories data = *given;
  if (data.dt <= 0) data.dt = fit->simulation.dt;
  fit->simulation.dt = data.dt;
  fit->simulation.threads = fit->options.threads;
  status = fit_load_data(fit, &data, error);
  if (status != CAROM_OK) return status;
  status = shooting_init(&fit->shooting, fit->system, &fit->unknowns, &fit->simulation, fit->data,
                         fit->clean, fit->run_count, fit->run_first, fit->run_states,
                         search_shortest(fit), error);
  if (status != CAROM_OK) return status;
  fit->shooting.times = fit->times;
  fit_measure_scales(fit);
  fit->shooting.huber = fit->options.huber;
  bool *measured = fit->shooting.measured;
  bool velocities = fit->options.use_velocities && given->v != NULL &&
                    fit->options.velocity < CAROM_VELOCITY_CENTRAL;
  measured[CAROM_CHANNEL_POSITION] = measured[CAROM_CHANNEL_ANGLE] = true;
  measured[CAROM_CHANNEL_VELOCITY] = measured[CAROM_CHANNEL_RATE] = velocities;
  return minimiser_init(&fit->minimiser, &fit->shooting, &fit->options, error);
}

carom_status carom_fit_create(const carom_system *system, const carom_trajectories *trajectories,
                              const char *unknowns, const carom_rollout_options *simulation,
                              const carom_fit_options *options, carom_fit **fit,
                              carom_error *error) {
  if (fit != NULL) *fit = NULL;
  REQUIRE(system, error);
  REQUIRE(trajectories, error);
  REQUIRE(unknowns, error);
  REQUIRE(options, error);
  REQUIRE(fit, error);
  carom_rollout_options how =
      simulation != NULL ? *simulation : carom_rollout_default_options(system);
  carom_status status = options_check(&fit_option_table, options, error);
  if (status == CAROM_OK) status = options_check(&rollout_option_table, &how, error);
  if (status == CAROM_OK) status = check_data(system, trajectories, error);
  if (status == CAROM_OK && options->first_state == CAROM_FIRST_STATE_FLIGHT)
    status = flight_check(system, error);
  if (status != CAROM_OK) return status;
  carom_fit *made = calloc(1, sizeof *made);
  if (made == NULL) return no_memory(error);
  made->system = system;
  made->options = *options;
  made->simulation = how;
  status = begin(made, trajectories, unknowns, error);
  if (status != CAROM_OK) {
    carom_fit_destroy(made);
    return status;
  }
  *fit = made;
  return error_clear(error);
}

void carom_fit_destroy(carom_fit *fit) {
  if (fit == NULL) return;
  minimiser_free(&fit->minimiser);
  if (fit->shooting.system != NULL) shooting_free(&fit->shooting);
  unknowns_free(&fit->unknowns);
  visited_free(&fit->visited);
  posterior_free(&fit->sample);
  verdict_free(&fit->verdict);
  free(fit->found.findings);
  free(fit->data);
  free(fit->clean);
  free(fit->times);
  free(fit->run_first);
  free(fit->run_states);
  free(fit->run_trajectory);
  free(fit->run_flight);
  free(fit->trajectories);
  free(fit->theta);
  free(fit);
}

const int *fit_flights(const carom_fit *fit) {
  return fit->options.first_state == CAROM_FIRST_STATE_FLIGHT ? fit->run_flight : NULL;
}

int carom_fit_finding_count(const carom_fit *fit) {
  return fit != NULL ? fit->found.finding_count : 0;
}
const carom_finding *carom_fit_finding(const carom_fit *fit, int index) {
  bool there = fit != NULL && index >= 0 && index < fit->found.finding_count;
  return there ? &fit->found.findings[index] : NULL;
}

/* ---- running --------------------------------------------------------------------------------- */

static void which_noise(const carom_fit *fit, bool *estimate) {
  const double given[CAROM_CHANNEL_COUNT] = {fit->options.position_noise,
                                             fit->options.velocity_noise, fit->options.angle_noise,
                                             fit->options.rate_noise};
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) estimate[c] = given[c] == 0;
}

int64_t fit_numbers(const carom_fit *fit) {
  int64_t all = 0;
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) all += fit->shooting.sums.count[c];
  return all;
}

double fit_log_likelihood(const carom_fit *fit) {
  const shooting *sh = &fit->shooting;
  double logs = 0;
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++)
    logs += (double)sh->sums.count[c] * (log(sh->noise[c]) + 0.5 * log(2 * 3.14159265358979323846));
  return -logs - fit->minimiser.cost;
}

bool fit_misfits(const carom_fit *fit) {
  const double MISFIT = 0.6; // cost of each number, 0.5 where only noise is left
  return fit->minimiser.cost > MISFIT * (double)fit_numbers(fit);
}

static int by_deviation(const void *a, const void *b) {
  double x = ((const carom_fit_trajectory *)a)->deviation;
  double y = ((const carom_fit_trajectory *)b)->deviation;
  return (x < y) - (x > y);
}

static carom_status list_trajectories(carom_fit *fit, carom_error *error) {
  const shooting *sh = &fit->shooting;
  free(fit->trajectories);
  fit->trajectories = size_allocate_zero((size_t)fit->run_count, sizeof *fit->trajectories);
  if (fit->trajectories == NULL) return no_memory(error);
  int measured = 0;
  for (int i = 0; i < sh->measure.count; i++) measured += sh->measured[sh->measure.channel[i]];
  for (int r = 0; r < fit->run_count; r++) {
    carom_fit_trajectory *t = &fit->trajectories[r];
    double square = 0;
    t->trajectory = fit->run_trajectory[r];
    for (int i = sh->run_piece[r]; i < sh->run_piece[r + 1]; i++) {
      square += sh->piece_square[i];
      t->outliers += sh->piece_outliers[i];
      t->count += (int64_t)sh->pieces[i].count * measured;
    }
    t->deviation = sqrt(square / (double)t->count);
  }
  qsort(fit->trajectories, (size_t)fit->run_count, sizeof *fit->trajectories, by_deviation);
  return CAROM_OK;
}

static void set_likelihood(carom_fit *fit) {
  carom_fit_result *r = &fit->result;
  const double numbers = (double)fit_numbers(fit);
  r->log_likelihood = fit_log_likelihood(fit);
  r->bic = fit->unknowns.count * log(fmax(numbers, 1)) - 2 * r->log_likelihood;
}

/* Trajectories, sorted with the worst first, that fit worse than noise explains while most others
 * do not. */
static carom_status note_misfits(carom_fit *fit, carom_error *error) {
  const double FAR = 5; // deviations of a mean of squares
  int count = 0;
  for (int k = 0; k < fit->run_count; k++) {
    const carom_fit_trajectory *t = &fit->trajectories[k];
    if (t->deviation * t->deviation - 1 > FAR * sqrt(2 / fmax((double)t->count, 1))) count++;
  }
  if (count == 0 || 3 * count > fit->run_count || !fit->shooting.free_states) return CAROM_OK;
  return verdict_note(&fit->verdict, true, error,
                      "%d of %d trajectories fit worse than noise explains, trajectory %d the "
                      "worst: where they begin, or in which "
                      "order they touch, may not have been found, and numbers be off; see what a "
                      "fit without them says (--use), or "
                      "one with shorter pieces (--piece)",
                      count, fit->run_count, fit->trajectories[0].trajectory);
}

static carom_status set_result(carom_fit *fit, const bool *estimate, carom_error *error) {
  shooting *sh = &fit->shooting;
  verdict *v = &fit->verdict;
  carom_fit_result *r = &fit->result;
  carom_status status = list_trajectories(fit, error);
  free(fit->theta);
  fit->theta = size_allocate((size_t)fit->system->parameter_count, sizeof(double));
  if (status != CAROM_OK || fit->theta == NULL) return no_memory(error);
  carom_parameters_default(fit->system, fit->theta);
  *r = (carom_fit_result){.estimate_count = v->count,
                          .estimates = v->estimates,
                          .unknown_count = fit->unknowns.count,
                          .correlation = v->correlation,
                          .trajectory_count = fit->run_count,
                          .trajectories = fit->trajectories,
                          .theta = fit->theta,
                          .scale = 1,
                          .pieces = sh->piece_count,
                          .iterations = fit->minimiser.iterations,
                          .report = sh->report};
  unknowns_put(&fit->unknowns, fit->sample.count > 0 ? fit->sample.mean : fit->minimiser.q,
               fit->theta, &sh->measure);
  r->scale = sh->measure.scale;
  memcpy(r->shift, sh->measure.shift, sizeof r->shift);
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) {
    int64_t count = sh->sums.count[c];
    r->channels[c] =
        (carom_fit_channel){.count = count,
                            .noise = count > 0 ? sh->noise[c] : 0,
                            .estimated = estimate[c],
                            .residual = count > 0 ? sqrt(sh->sums.square[c] / (double)count) : 0};
  }
  set_likelihood(fit);
  if (sh->report.failed_programs > 0)
    status = verdict_note(
        v, true, error, "%lld of %lld cone programs were not solved; what hangs on them may be off",
        (long long)sh->report.failed_programs, (long long)sh->report.programs);
  int64_t outliers = 0, states = 0;
  for (int k = 0; k < fit->run_count; k++) {
    outliers += fit->trajectories[k].outliers;
    states += fit->run_states[k];
  }
  if (status == CAROM_OK && outliers * 50 > states && fit->options.horizon == 0)
    status =
        verdict_note(v, true, error,
                     "%lld of %lld states are beyond %g deviations: noise is not normal, or the "
                     "model is missing something; intervals are too short then",
                     (long long)outliers, (long long)states, fit->options.huber);
  if (status == CAROM_OK && fit->options.horizon == 0) status = note_misfits(fit, error);
  if (status == CAROM_OK) status = overlap_note(sh, (int)states, v, error);
  r->note_count = v->note_count;
  r->notes = v->notes;
  return status;
}

/* Noise is that of residuals; so many pieces, from all over the data, tell it well enough. */
static carom_status estimate_noise(carom_fit *fit, const bool *estimate, carom_error *error) {
  enum { ENOUGH = 500 };
  shooting *sh = &fit->shooting;
  minimiser *m = &fit->minimiser;
  const int every = (sh->piece_count + ENOUGH - 1) / ENOUGH;
  int count = 0;
  for (int i = 0; i < sh->piece_count; i += every) m->subset[count++] = i;
  carom_status status =
      shooting_evaluate(sh, m->q, m->starts, m->subset, count, false, &m->cost, error);
  for (int c = 0; c < CAROM_CHANNEL_COUNT && status == CAROM_OK; c++)
    if (estimate[c] && sh->sums.count[c] > 0)
      sh->noise[c] = fmax(fit->floor[c], sqrt(sh->sums.square[c] / (double)sh->sums.count[c]));
  return status;
}

/* Unknowns by long predictions; residuals of pieces are those of states predicted from the measured
 * ones. */
static void run_horizon(task *t, const bool *estimate) {
  carom_fit *fit = t->fit;
  shooting *sh = &fit->shooting;
  minimiser *m = &fit->minimiser;
  sh->free_states = false;
  t->status = shooting_recut(sh, search_length(fit), t->error);
  if (t->status == CAROM_OK) t->status = horizon_fit(fit, t->error);
  if (t->status == CAROM_OK) t->status = estimate_noise(fit, estimate, t->error);
  if (t->status == CAROM_OK)
    t->status = shooting_evaluate(sh, m->q, m->starts, NULL, 0, false, &m->cost, t->error);
  if (t->status == CAROM_OK) t->status = set_result(fit, estimate, t->error);
}

static void run_fit(void *user) {
  task *t = user;
  carom_fit *fit = t->fit;
  bool estimate[CAROM_CHANNEL_COUNT];
  which_noise(fit, estimate);
  if (fit->options.horizon > 0) {
    run_horizon(t, estimate);
    return;
  }
  t->status = search_run(fit, estimate, t->error);
  if (t->status == CAROM_OK) t->status = sample_search(fit, estimate, t->error);
  double cost;
  fit->shooting.note_felt = true; // notes ask who feels what
  if (t->status == CAROM_OK)
    t->status = shooting_evaluate(&fit->shooting, fit->minimiser.q, fit->minimiser.starts, NULL, 0,
                                  true, &cost, t->error);
  fit->shooting.note_felt = false;
  if (t->status == CAROM_OK) {
    fit->minimiser.cost = cost;
    t->status = set_result(fit, estimate, t->error);
  }
  if (t->status == CAROM_OK)
    t->status = judge(&fit->minimiser, &fit->sample, &fit->verdict, t->error);
  fit->result.estimate_count = fit->verdict.count;
  fit->result.estimates = fit->verdict.estimates;
  fit->result.correlation = fit->verdict.correlation;
  fit->result.note_count = fit->verdict.note_count;
  fit->result.notes = fit->verdict.notes;
}

carom_status carom_fit_run(carom_fit *fit, carom_error *error) {
  REQUIRE(fit, error);
  task t = {.fit = fit, .error = error};
  verdict_free(&fit->verdict);
  fit->has_result = false;
  if (!arena_guard(run_fit, &t)) return no_memory(error);
  if (t.status != CAROM_OK) return t.status;
  fit->has_result = true;
  return error_clear(error);
}

const carom_fit_result *carom_fit_result_of(const carom_fit *fit) {
  return fit != NULL && fit->has_result ? &fit->result : NULL;
}
