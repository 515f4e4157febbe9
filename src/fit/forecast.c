#include "fit/forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "base/vector.h"
#include "fit/flight.h"
#include "rollout/rollout.h"
#include "system/system.h"

enum { BATCH = 16 /* trajectories that are simulated together */ };

static int turns_of(const carom_system *s) { return s->dimension == 2 ? 1 : 3; }

// longer ones first, so that those of a batch have about the same length
static void sort_by_length(forecast *f) {
  for (int i = 0; i < f->count; i++) {
    int k = i;
    for (; k > 0 && f->states[f->order[k - 1]] < f->states[i]; k--) f->order[k] = f->order[k - 1];
    f->order[k] = i;
  }
}

static bool reserve(forecast *f, int count, int longest) {
  size_t D = (size_t)f->system->coordinate_count;
  size_t motion = size_multiply(size_multiply(BATCH, (size_t)longest), D);
  f->first = size_allocate_zero(6 * (size_t)count + 1, sizeof(int));
  f->place = size_allocate_zero((size_t)count + 1, sizeof(size_t));
  f->x0 = size_allocate(2 * BATCH * D + 4 * D + (size_t)f->measure.count, sizeof(double));
  f->x = size_allocate(size_multiply(2, motion), sizeof(double));
  if (f->first == NULL || f->place == NULL || f->x0 == NULL || f->x == NULL) return false;
  f->states = f->first + count;
  f->source = f->states + count;
  f->order = f->source + count;
  f->flight = f->order + count;
  f->known = f->flight + count;
  f->v0 = f->x0 + BATCH * D;
  f->state = f->v0 + BATCH * D;
  f->y = f->state + 2 * D;
  f->r = f->y + 2 * D;
  f->v = f->x + motion;
  return true;
}

carom_status forecast_init(forecast *f, const carom_system *system,
                           const carom_rollout_options *simulation, const double *data,
                           const double *clean, const double *times, int count, const int *first,
                           const int *states, const int *flight, int horizon, carom_error *error) {
  *f = (forecast){
      .system = system, .simulation = *simulation, .data = data, .clean = clean, .times = times};
  int longest = 2;
  for (int i = 0; i < count; i++) {
    int length = horizon > 0 && states[i] > horizon ? horizon : states[i];
    longest = length > longest ? length : longest;
    if (flight != NULL && flight[i] > longest) longest = flight[i];
  }
  if (!measure_init(&f->measure, system) || !reserve(f, count, longest))
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for predictions");
  for (int b = 0; b < system->body_count; b++)
    f->numbers += system->dimension + (system->bodies[b].rigid ? turns_of(system) : 0);
  for (int i = 0; i < count; i++) {
    if (states[i] < 2) continue;
    f->first[f->count] = first[i];
    f->states[f->count] = horizon > 0 && states[i] > horizon ? horizon : states[i];
    f->known[f->count] = states[i];
    f->source[f->count] = i;
    f->flight[f->count] = flight != NULL && flight[i] >= LEAST_FLIGHT ? flight[i] : 0;
    f->place[f->count + 1] =
        f->place[f->count] + (size_t)(f->states[f->count] - 1) * (size_t)f->numbers;
    f->count++;
  }
  if (f->count == 0)
    return error_set(error, CAROM_INVALID_DATA, "no trajectory to predict has two states");
  sort_by_length(f);
  f->flown = size_allocate((size_t)longest * (size_t)(f->numbers + 1), sizeof(double));
  f->touched = size_allocate(size_multiply(BATCH, (size_t)longest), 1);
  if (times != NULL)
    f->lengths = size_allocate(size_multiply(BATCH, (size_t)longest), sizeof(double));
  f->since = f->flown != NULL ? f->flown + (size_t)longest * (size_t)f->numbers : NULL;
  if (f->flown == NULL || f->touched == NULL || (times != NULL && f->lengths == NULL))
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for predictions");
  return CAROM_OK;
}

void forecast_free(forecast *f) {
  measure_free(&f->measure);
  free(f->first);
  free(f->place);
  free(f->x0);
  free(f->x);
  free(f->flown);
  free(f->touched);
  free(f->lengths);
}

/* Places and turns of a state beside the measured one. */
static void compare(forecast *f, const double *x, const double *y, double *residual) {
  const carom_system *s = f->system;
  size_t D = (size_t)s->coordinate_count;
  int d = s->dimension, turns = turns_of(s);
  memcpy(f->state, x, sizeof(double) * D);
  memset(f->state + D, 0, sizeof(double) * D);
  memcpy(f->y, y, sizeof(double) * D);
  memset(f->y + D, 0, sizeof(double) * D);
  measure_residual(&f->measure, f->state, f->y, f->r);
  const double *r = f->r;
  for (int b = 0; b < s->body_count; b++) {
    for (int i = 0; i < d; i++) *residual++ = r[i];
    r += 2 * d;
    if (!s->bodies[b].rigid) continue;
    for (int i = 0; i < turns; i++) *residual++ = r[i];
    r += 2 * turns;
  }
}

/* Trajectories begin, begin + 1, ... of the order, all as long as the longest: what goes beyond the
 * measured times of one is not looked at. */
static carom_status simulate(forecast *f, const double *theta, int begin, int count, int states,
                             carom_error *error) {
  for (int k = 0; f->times != NULL && k < count; k++) {
    const int i = f->order[begin + k], own = f->known[i];
    const double *t = f->times + f->first[i];
    for (int step = 0; step < states - 1; step++)
      f->lengths[(size_t)k * (size_t)(states - 1) + (size_t)step] =
          step + 1 < own ? t[step + 1] - t[step] : f->simulation.dt;
  }
  f->simulation.steps = states - 1;
  f->simulation.shard_size = 1;
  return rollout_simulate(f->system, &f->simulation, f->lengths, theta, count, f->x0, f->v0, f->x,
                          f->v, f->touched, NULL, error);
}

/* Corrects the first states of a batch by their flights. */
static carom_status follow_flight(forecast *f, const double *theta, int begin, int count,
                                  carom_error *error) {
  size_t D = (size_t)f->system->coordinate_count;
  int states = 0;
  for (int k = 0; k < count; k++)
    if (f->flight[f->order[begin + k]] > states) states = f->flight[f->order[begin + k]];
  if (states == 0) return CAROM_OK;
  carom_status status = simulate(f, theta, begin, count, states, error);
  for (int k = 0; k < count && status == CAROM_OK; k++) {
    // what flew, and is predicted to
    int i = f->order[begin + k], n = 0;
    while (n < f->flight[i] && !f->touched[(size_t)k * (size_t)states + (size_t)n]) n++;
    if (n < LEAST_FLIGHT) continue;
    for (int t = 0; t < n; t++)
      compare(f, f->x + ((size_t)k * (size_t)states + (size_t)t) * D,
              f->data + ((size_t)f->first[i] + (size_t)t) * 2 * D,
              f->flown + (size_t)t * (size_t)f->numbers);
    for (int t = 0; t < n; t++)
      f->since[t] = f->times != NULL ? f->times[f->first[i] + t] - f->times[f->first[i]]
                                     : t * f->simulation.dt;
    flight_correct(&f->measure, f->since, n, f->numbers, f->flown, f->x0 + (size_t)k * D,
                   f->v0 + (size_t)k * D);
  }
  return status;
}

static carom_status run_batch(forecast *f, const double *theta, int begin, int count,
                              double *residuals, carom_error *error) {
  size_t D = (size_t)f->system->coordinate_count;
  int states = f->states[f->order[begin]]; // the first is the longest
  carom_status status = CAROM_OK;
  for (int k = 0; k < count; k++) {
    const double *clean = f->clean + (size_t)f->first[f->order[begin + k]] * 2 * D;
    measure_invert(&f->measure, clean, f->state);
    memcpy(f->x0 + (size_t)k * D, f->state, sizeof(double) * D);
    memcpy(f->v0 + (size_t)k * D, f->state + D, sizeof(double) * D);
  }
  for (int pass = 0; pass < FLIGHT_PASSES && status == CAROM_OK; pass++)
    status = follow_flight(f, theta, begin, count, error);
  if (status != CAROM_OK) return status;
  status = simulate(f, theta, begin, count, states, error);
  for (int k = 0; k < count && status == CAROM_OK; k++) {
    int i = f->order[begin + k];
    for (int t = 1; t < f->states[i]; t++)
      compare(f, f->x + ((size_t)k * (size_t)states + (size_t)t) * D,
              f->data + ((size_t)f->first[i] + (size_t)t) * 2 * D,
              residuals + f->place[i] + (size_t)(t - 1) * (size_t)f->numbers);
  }
  return status;
}

carom_status forecast_run(forecast *f, const double *theta, double *residuals, carom_error *error) {
  carom_status status = CAROM_OK;
  for (int at = 0; at < f->count && status == CAROM_OK; at += BATCH) {
    int count = f->count - at < BATCH ? f->count - at : BATCH;
    status = run_batch(f, theta, at, count, residuals, error);
  }
  return status;
}

void forecast_errors(const forecast *f, const double *residuals, int i, double *position,
                     double *angle) {
  const carom_system *s = f->system;
  int d = s->dimension, turns = turns_of(s), rigid = 0;
  double distance = 0, turned = 0;
  for (int b = 0; b < s->body_count; b++) rigid += s->bodies[b].rigid;
  for (const double *r = residuals + f->place[i]; r < residuals + f->place[i + 1];)
    for (int b = 0; b < s->body_count; b++) {
      distance += sqrt(vector_dot_small(r, r, d)) / s->body_count;
      r += d;
      if (!s->bodies[b].rigid) continue;
      turned += sqrt(vector_dot_small(r, r, turns)) / rigid;
      r += turns;
    }
  *position = distance / (f->states[i] - 1);
  *angle = turned / (f->states[i] - 1);
}
