#include "fit/fit.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/fit_options.h"
#include "fit/flight.h"
#include "fit/horizon.h"
#include "fit/overlap.h"
#include "fit/valley.h"
#include "learn/recording.h"
#include "rollout/rollout_options.h"
#include "system/system.h"

const char *carom_channel_name(carom_channel channel) {
  static const char *const names[] = {"position", "velocity", "angle", "rate"};
  return (int)channel >= 0 && channel < CAROM_CHANNEL_COUNT ? names[channel] : "";
}

// states of pieces that begin where they were measured
static int anchored_length(const carom_fit *fit) {
  enum { SHORT_PIECE = 10 };
  return fit->options.piece < SHORT_PIECE ? fit->options.piece : SHORT_PIECE;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Work under a guard against short memory. */
typedef struct task {
  carom_fit *fit;
  const carom_trajectories *given;
  recording recording;
  carom_status status;
  carom_error *error;
} task;

static carom_status no_memory(carom_error *error) {
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a fit");
}

static int64_t state_total(const recording *r) {
  int64_t total = 0;
  for (int i = 0; i < r->run_count; i++) total += r->runs[i].states;
  return total;
}

/* How far states are off the constraints, and how much that changes from one to the next. */
typedef struct offsets {
  double square, change;
} offsets;

/* A simulation drifts off its constraints slowly, a measurement is off by something else in each state. */
static bool is_drift(const offsets *o) { return o->change < 0.5 * o->square; }

static void add_offset(const carom_system *s, const double *y, const double *clean, bool follows,
                       offsets *o) {
  size_t D = (size_t)s->coordinate_count;
  for (size_t i = 0; i < D; i++) {
    double off = clean[i] - y[i];
    o->square += off * off;
    if (!follows) continue;
    off -= clean[i - 2 * D] - y[i - 2 * D];
    o->change += off * off;
  }
}

/* What is compared is the measured state; what motion begins with holds the constraints, but for the drift
 * of a simulation, which goes on. The axes of a rigid body have to be axes in both. */
static void choose_states(carom_fit *fit, size_t total, const offsets *o) {
  const carom_system *s = fit->system;
  size_t D = (size_t)s->coordinate_count;
  if (is_drift(o)) memcpy(fit->clean, fit->data, sizeof(double) * 2 * D * total);
  for (size_t k = 0; k < total && !is_drift(o); k++)
    for (int b = 0; b < s->body_count; b++) {
      if (!s->bodies[b].rigid) continue;
      size_t at = k * 2 * D + (size_t)(s->bodies[b].first_point * s->dimension);
      size_t bytes = sizeof(double) * (size_t)(s->bodies[b].point_count * s->dimension);
      memcpy(fit->data + at, fit->clean + at, bytes);
      memcpy(fit->data + at + D, fit->clean + at + D, bytes);
    }
}

// states of a run before a contact acts
static int flight_of(const recording *r, const run *from) {
  const uint8_t *contact = r->contact + (size_t)from->trajectory * (size_t)r->states + from->first;
  int count = 0;
  while (count < from->states && !contact[count]) count++;
  return count;
}

static carom_status copy_states(carom_fit *fit, const carom_trajectories *given, const recording *r,
                                carom_error *error) {
  // velocities that were moved or made are not as they were measured
  const double *v =
      fit->options.velocity == CAROM_VELOCITY_GIVEN && given->v != NULL ? given->v : r->v;
  size_t D = (size_t)fit->system->coordinate_count;
  size_t total = (size_t)state_total(r);
  fit->data = size_allocate(size_multiply(total, 2 * D), sizeof(double));
  fit->clean = size_allocate(size_multiply(total, 2 * D), sizeof(double));
  fit->run_first = size_allocate((size_t)r->run_count, sizeof(int));
  fit->run_states = size_allocate((size_t)r->run_count, sizeof(int));
  fit->run_trajectory = size_allocate((size_t)r->run_count, sizeof(int));
  fit->run_flight = size_allocate((size_t)r->run_count, sizeof(int));
  if (fit->data == NULL || fit->clean == NULL || fit->run_first == NULL ||
      fit->run_states == NULL || fit->run_trajectory == NULL || fit->run_flight == NULL)
    return no_memory(error);
  size_t at = 0;
  offsets off = {0, 0};
  for (int i = 0; i < r->run_count; i++) {
    const run *from = &r->runs[i];
    fit->run_first[i] = (int)at;
    fit->run_states[i] = from->states;
    fit->run_trajectory[i] = from->trajectory;
    fit->run_flight[i] = flight_of(r, from);
    fit->run_count = i + 1;
    for (int k = 0; k < from->states; k++, at++) {
      size_t source =
          ((size_t)from->trajectory * (size_t)r->states + (size_t)(from->first + k)) * D;
      double *y = fit->data + at * 2 * D, *clean = fit->clean + at * 2 * D;
      memcpy(y, given->x + source, sizeof(double) * D);
      memcpy(y + D, v + source, sizeof(double) * D);
      memcpy(clean, r->x + source, sizeof(double) * D);
      memcpy(clean + D, r->v + source, sizeof(double) * D);
      add_offset(fit->system, y, clean, k > 0, &off);
    }
  }
  double apart = sqrt(off.square / (double)(total * D));
  if (apart > 0.1 && !fit->options.project)
    return error_set(
        error, CAROM_INVALID_DATA,
        "the states are off the constraints of the scene by %.3g (root mean square of a "
        "coordinate): is it data of this scene, with its points in this order, in its "
        "units? If so, --project puts them there",
        apart);
  choose_states(fit, total, &off);
  return CAROM_OK;
}

/* Sizes of what is measured: root mean squares over the data, about the mean for positions. */
static void measure_scales(carom_fit *fit) {
  const carom_system *s = fit->system;
  size_t D = (size_t)s->coordinate_count, row = 2 * D;
  int states = fit->run_first[fit->run_count - 1] + fit->run_states[fit->run_count - 1];
  double length = 0, speed = 0;
  for (size_t c = 0; c < D; c++) {
    double mean = 0, square = 0, fast = 0;
    for (int k = 0; k < states; k++) mean += fit->data[(size_t)k * row + c] / states;
    for (int k = 0; k < states; k++) {
      double x = fit->data[(size_t)k * row + c] - mean, v = fit->data[(size_t)k * row + D + c];
      square += x * x / states;
      fast += v * v / states;
    }
    length = fmax(length, sqrt(square));
    speed = fmax(speed, sqrt(fast));
  }
  double scales[CAROM_CHANNEL_COUNT] = {fmax(length, 1e-12), fmax(speed, 1e-12), 1,
                                        fmax(speed / fmax(length, 1e-12), 1e-12)};
  const double given[CAROM_CHANNEL_COUNT] = {fit->options.position_noise,
                                             fit->options.velocity_noise, fit->options.angle_noise,
                                             fit->options.rate_noise};
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) {
    fit->floor[c] = 1e-11 * scales[c];
    fit->shooting.noise[c] = given[c] > 0 ? given[c] : 0.01 * scales[c];
  }
}

static void load(void *user) {
  task *t = user;
  carom_fit *fit = t->fit;
  carom_dataset_options options = carom_dataset_default_options(fit->system);
  options.chunk = 2;
  options.velocity = fit->options.velocity;
  options.project = fit->system->row_count > 0;
  t->status = recording_make(fit->system, t->given, &options, &t->recording, &fit->found, t->error);
  if (t->status == CAROM_OK) t->status = copy_states(fit, t->given, &t->recording, t->error);
}

carom_status fit_load_data(carom_fit *fit, const carom_trajectories *given, carom_error *error) {
  task t = {.fit = fit, .given = given, .error = error};
  bool done = arena_guard(load, &t);
  recording_free(&t.recording);
  return done ? t.status : no_memory(error);
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
                         anchored_length(fit), error);
  if (status != CAROM_OK) return status;
  measure_scales(fit);
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
  verdict_free(&fit->verdict);
  free(fit->found.findings);
  free(fit->data);
  free(fit->clean);
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

// whether a channel's noise is more than so many times what rounding leaves
static bool is_beyond(const carom_fit *fit, double times) {
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++)
    if (fit->shooting.measured[c] && fit->shooting.sums.count[c] > 0 &&
        fit->shooting.noise[c] > times * fit->floor[c])
      return true;
  return false;
}
static bool is_exact(const carom_fit *fit) { return !is_beyond(fit, 1e3); }
// so much that it is none of unknowns which are not found yet: 1e-4 of the size of what is measured
static bool is_noisy(const carom_fit *fit) { return is_beyond(fit, 1e7); }

/* Pieces begin where they were measured: near enough to the truth that contacts happen when they should,
 * whatever the unknowns are. Exact data ends here; of noisy data this is where the unknowns begin, and noise is
 * that of predictions from such states. */
static carom_status fit_anchored(carom_fit *fit, const bool *estimate, carom_error *error) {
  enum { ROUNDS = 6 };
  const double ROUGH =
      1e-2; // exact data falls by much more in every iteration until nothing is left
  minimiser *m = &fit->minimiser;
  fit->shooting.free_states = false;
  m->coarse = false;
  m->gain = 0;
  carom_status status = CAROM_OK;
  for (int round = 0; round < ROUNDS && status == CAROM_OK; round++) {
    bool moved = false;
    m->tolerance = round == 0 ? ROUGH : fit->options.tolerance;
    if (fit->options.search) status = minimise_search(m, &moved, error);
    if (status == CAROM_OK) status = minimise(m, error);
    if (status != CAROM_OK) break;
    double change = judge_noise(m, estimate, fit->floor);
    if (fit->options.free_states && is_noisy(fit)) break;
    if (fit->options.search && round > 0 && !moved)
      status = minimise_search_borders(m, &moved, error);
    if (!moved && round > 0 && change < 0.01) break;
  }
  m->tolerance = fit->options.tolerance;
  return status;
}

static int longest_piece(const shooting *sh) {
  int most = 0;
  for (int i = 0; i < sh->piece_count; i++)
    most = sh->pieces[i].count > most ? sh->pieces[i].count : most;
  return most;
}

static const double MISFIT = 0.6; // cost of each number, 0.5 where only noise is left

static int64_t numbers_of(const shooting *sh) {
  int64_t all = 0;
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) all += sh->sums.count[c];
  return all;
}

/* Minimises, and looks for what descent cannot find: first states on the other side of a contact, properties far
 * from where they stand. Until nothing moves any more, or `rounds` times. */
static carom_status settle(carom_fit *fit, const bool *estimate, int rounds, carom_error *error) {
  minimiser *m = &fit->minimiser;
  const shooting *sh = &fit->shooting;
  carom_status status = CAROM_OK;
  for (int round = 0; round < rounds && status == CAROM_OK; round++) {
    bool moved = false, states_moved = false;
    status = minimise(m, error);
    if (status != CAROM_OK) break;
    // dear, so while pieces grow only where something does not fit
    bool worth =
        (round == 0 && sh->horizon == INT_MAX) || m->cost > MISFIT * (double)numbers_of(sh);
    double change = judge_noise(m, estimate, fit->floor);
    if (fit->options.search) status = minimise_search_states(m, &states_moved, error);
    if (status == CAROM_OK && fit->options.search && worth)
      status = minimise_search(m, &moved, error);
    if (status == CAROM_OK && fit->options.search && worth && !moved && !states_moved)
      status = minimise_search_borders(m, &moved, error);
    if (!moved && !states_moved && change < 0.01) return status;
  }
  return status == CAROM_OK ? minimise(m, error) : status;
}

/* Looks for other valleys of the cost until there is none that is deeper. */
static carom_status leave_valley(carom_fit *fit, const bool *estimate, carom_error *error) {
  enum { ROUNDS = 4 };
  minimiser *m = &fit->minimiser;
  carom_status status = CAROM_OK;
  bool moved = true;
  for (int round = 0; round < ROUNDS && moved && status == CAROM_OK; round++) {
    bool states_moved = false;
    status = valley_states(m, &states_moved, error);
    if (status == CAROM_OK && states_moved) status = minimise(m, error);
    if (status == CAROM_OK) status = valley_properties(m, &moved, error);
    moved = moved || states_moved;
    if (status == CAROM_OK && moved) status = settle(fit, estimate, 2, error);
  }
  return status;
}

/* First states free. Pieces are fitted from their first states on to the next, and the next: what is known of a first
 * state by the states near it is good enough to predict a few more, and contacts happen as they should. */
static carom_status fit_free(carom_fit *fit, const bool *estimate, int growth, carom_error *error) {
  enum { ROUNDS = 6 };
  const double ROUGH = 1e-4, WORTH = 0.5; // of the cost, which is a logarithm of likelihood
  minimiser *m = &fit->minimiser;
  shooting *sh = &fit->shooting;
  double cost;
  sh->note_felt = true;
  carom_status status = shooting_evaluate(sh, m->q, m->starts, NULL, 0, false, &cost, error);
  sh->note_felt = false;
  if (status == CAROM_OK) status = shooting_recut(sh, fit->options.piece, error);
  sh->free_states = true;
  sh->join = 0;
  shooting_measured_starts(sh, m->q, m->starts);
  int most = longest_piece(sh);
  m->gain = WORTH;
  m->coarse = true;
  m->tolerance = ROUGH;
  for (int states = growth; status == CAROM_OK && states < most; states += growth) {
    sh->horizon = states;
    status = settle(fit, estimate, 2, error);
  }
  sh->horizon = INT_MAX;
  if (status == CAROM_OK) status = settle(fit, estimate, ROUNDS, error);
  if (status == CAROM_OK && fit->options.search) status = leave_valley(fit, estimate, error);
  // joins from soft to what was asked for
  double join =
      fit->options.join > 0 && sh->piece_count > fit->run_count ? fmax(1, fit->options.join) : 0;
  while (status == CAROM_OK && join > 0) {
    sh->join = join;
    status = settle(fit, estimate, ROUNDS, error);
    if (join <= fit->options.join) break;
    join = fmax(fit->options.join, 0.1 * join);
  }
  m->tolerance = fit->options.tolerance;
  m->gain = 0;
  return status == CAROM_OK ? minimise(m, error) : status;
}

static double log_likelihood(const carom_fit *fit) {
  const shooting *sh = &fit->shooting;
  double logs = 0;
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++)
    logs += (double)sh->sums.count[c] * (log(sh->noise[c]) + 0.5 * log(2 * 3.14159265358979323846));
  return -logs - fit->minimiser.cost;
}

/* First states free; where what is left is not noise, again with shorter steps, from there. */
static carom_status fit_states(carom_fit *fit, const bool *estimate, carom_error *error) {
  enum { LONG = 10, SHORT = 4 };
  minimiser *m = &fit->minimiser;
  shooting *sh = &fit->shooting;
  carom_status status = fit_free(fit, estimate, LONG, error);
  if (status != CAROM_OK || m->cost <= MISFIT * (double)numbers_of(sh)) return status;
  double before = log_likelihood(fit), noise[CAROM_CHANNEL_COUNT];
  size_t p = (size_t)sh->p, states = (size_t)sh->piece_count * 2 * (size_t)sh->D;
  double *kept = size_allocate(p + states, sizeof(double));
  if (kept == NULL) return no_memory(error);
  memcpy(kept, m->q, sizeof(double) * p);
  memcpy(kept + p, m->starts, sizeof(double) * states);
  memcpy(noise, sh->noise, sizeof noise);
  status = fit_free(fit, estimate, SHORT, error);
  if (status == CAROM_OK && log_likelihood(fit) < before) {
    memcpy(m->q, kept, sizeof(double) * p);
    memcpy(m->starts, kept + p, sizeof(double) * states);
    memcpy(sh->noise, noise, sizeof noise);
  }
  free(kept);
  return status;
}

/* Pieces from their measured states once more, with the unknowns that free first states led to: where data is exact
 * and the start was too far for contacts to happen when they should, this ends with nothing left, which the free
 * ones approach slowly, over a kink for each impact beside a measured time. If something is left, it is noise, and
 * all stays as it was. */
static carom_status fit_again(carom_fit *fit, const bool *estimate, carom_error *error) {
  minimiser *m = &fit->minimiser;
  shooting *sh = &fit->shooting;
  size_t p = (size_t)sh->p, states = (size_t)sh->piece_count * 2 * (size_t)sh->D;
  size_t all = (size_t)(fit->run_first[fit->run_count - 1] + fit->run_states[fit->run_count - 1]);
  double *kept = size_allocate(p + states, sizeof(double)), noise[CAROM_CHANNEL_COUNT];
  uint8_t *struck = size_allocate(all, 1);
  carom_status status = kept == NULL || struck == NULL ? no_memory(error) : CAROM_OK;
  if (status == CAROM_OK) {
    memcpy(kept, m->q, sizeof(double) * p);
    memcpy(kept + p, m->starts, sizeof(double) * states);
    memcpy(noise, sh->noise, sizeof noise);
    memcpy(struck, sh->struck, all);
    status = shooting_recut(sh, anchored_length(fit), error);
  }
  if (status == CAROM_OK) status = fit_anchored(fit, estimate, error);
  if (status == CAROM_OK && !is_exact(fit)) {
    memcpy(sh->struck, struck, all); // for the same cuts
    status = shooting_recut(sh, fit->options.piece, error);
    memcpy(m->q, kept, sizeof(double) * p);
    memcpy(m->starts, kept + p, sizeof(double) * states);
    memcpy(sh->noise, noise, sizeof noise);
    sh->free_states = true;
  }
  free(kept);
  free(struck);
  return status;
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
  const double numbers = (double)numbers_of(&fit->shooting);
  r->log_likelihood = log_likelihood(fit);
  r->bic = fit->unknowns.count * log(fmax(numbers, 1)) - 2 * r->log_likelihood;
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
  unknowns_put(&fit->unknowns, fit->minimiser.q, fit->theta, &sh->measure);
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
  if (status == CAROM_OK) status = overlap_note(sh, (int)states, v, error);
  r->note_count = v->note_count;
  r->notes = v->notes;
  return status;
}

/* Unknowns by long predictions; residuals of pieces are those of states predicted from the measured ones. */
static void run_horizon(task *t, const bool *estimate) {
  carom_fit *fit = t->fit;
  shooting *sh = &fit->shooting;
  sh->free_states = false;
  t->status = horizon_fit(fit, t->error);
  for (int pass = 0; pass < 2 && t->status == CAROM_OK; pass++) {
    double *cost = &fit->minimiser.cost;
    t->status = shooting_evaluate(sh, fit->minimiser.q, fit->minimiser.starts, NULL, 0, false, cost,
                                  t->error);
    for (int c = 0; c < CAROM_CHANNEL_COUNT && pass == 0; c++)
      if (estimate[c] && sh->sums.count[c] > 0)
        sh->noise[c] = fmax(fit->floor[c], sqrt(sh->sums.square[c] / (double)sh->sums.count[c]));
  }
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
  t->status = shooting_recut(&fit->shooting, anchored_length(fit), t->error);
  if (t->status == CAROM_OK) t->status = fit_anchored(fit, estimate, t->error);
  if (t->status == CAROM_OK && fit->options.free_states && !is_exact(fit))
    t->status = fit_states(fit, estimate, t->error);
  const double LITTLE = 3e8; // 3e-3 of the size of what is measured
  if (t->status == CAROM_OK && fit->shooting.free_states && !is_beyond(fit, LITTLE))
    t->status = fit_again(fit, estimate, t->error);
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
  if (t->status == CAROM_OK) t->status = judge(&fit->minimiser, &fit->verdict, t->error);
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
