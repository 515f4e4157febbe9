#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/fit.h"
#include "learn/recording.h"
#include "system/system.h"

static int64_t state_total(const recording *r) {
  int64_t total = 0;
  for (int i = 0; i < r->run_count; i++) total += r->runs[i].states;
  return total;
}

/* How far states are off the constraints, and how much that changes from one to the next. */
typedef struct offsets {
  double square, change;
} offsets;

/* A simulation drifts off its constraints slowly, a measurement is off by something else in each
 * state. */
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

/* What is compared is the measured state; what motion begins with holds the constraints, but for
 * the drift of a simulation, which goes on. The axes of a rigid body have to be axes in both. */
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
  if (given->times != NULL) fit->times = size_allocate(total, sizeof(double));
  if (fit->data == NULL || fit->clean == NULL || fit->run_first == NULL ||
      (given->times != NULL && fit->times == NULL) || fit->run_states == NULL ||
      fit->run_trajectory == NULL || fit->run_flight == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the data of a fit");
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
      size_t state = (size_t)from->trajectory * (size_t)r->states + (size_t)(from->first + k),
             source = state * D;
      if (fit->times != NULL) fit->times[at] = given->times[state];
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

void fit_measure_scales(carom_fit *fit) {
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

/* Loading under a guard against short memory. */
typedef struct loading {
  carom_fit *fit;
  const carom_trajectories *given;
  recording recording;
  carom_status status;
  carom_error *error;
} loading;

static void load(void *user) {
  loading *t = user;
  carom_fit *fit = t->fit;
  carom_dataset_options options = carom_dataset_default_options(fit->system);
  options.chunk = 2;
  options.velocity = fit->options.velocity;
  options.project = fit->system->row_count > 0;
  t->status = recording_make(fit->system, t->given, &options, &t->recording, &fit->found, t->error);
  if (t->status == CAROM_OK) t->status = copy_states(fit, t->given, &t->recording, t->error);
}

static carom_status check_times(const carom_trajectories *t, carom_error *error) {
  for (int i = 0; t->times != NULL && i < t->batch; i++) {
    const double *at = t->times + (size_t)i * (size_t)t->state_count;
    const int length = t->lengths != NULL ? t->lengths[i] : t->state_count;
    for (int k = 1; k < length && k < t->state_count; k++)
      if (!(isfinite(at[k - 1]) && isfinite(at[k]) && at[k] > at[k - 1]))
        return error_set(error, CAROM_INVALID_DATA,
                         "times of trajectory %d do not rise: that of state %d is %.9g, of state "
                         "%d %.9g",
                         i, k - 1, at[k - 1], k, at[k]);
  }
  return CAROM_OK;
}

carom_status fit_load_data(carom_fit *fit, const carom_trajectories *given, carom_error *error) {
  const carom_status status = check_times(given, error);
  if (status != CAROM_OK) return status;
  loading t = {.fit = fit, .given = given, .error = error};
  bool done = arena_guard(load, &t);
  recording_free(&t.recording);
  return done ? t.status : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the data of a fit");
}
