/* Whole trajectories predicted from their first states. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/fit.h"
#include "system/system.h"

/* One prediction beside its trajectory. */
typedef struct comparison {
  const carom_fit *fit;
  const carom_trajectories *given;
  measure measure;
  double *first; /* [2 D] */
  double *x, *v; /* [states][D] */
  double *y, *r;
} comparison;

static int length_of(const carom_trajectories *t, int trajectory) {
  int length = t->lengths != NULL ? t->lengths[trajectory] : t->state_count;
  size_t size = (size_t)t->point_count * (size_t)t->dimension;
  for (int k = 0; k < length; k++) {
    const double *x = t->x + ((size_t)trajectory * (size_t)t->state_count + (size_t)k) * size;
    for (size_t i = 0; i < size; i++)
      if (isnan(x[i])) return k;
  }
  return length;
}

/* Mean distance of bodies and mean angle over the states behind the first one. */
static void compare(comparison *c, int trajectory, int states, double *position, double *angle) {
  const carom_system *s = c->fit->system;
  size_t D = (size_t)s->coordinate_count;
  int d = s->dimension, turns = d == 2 ? 1 : 3, rigid = 0;
  double distance = 0, turned = 0;
  for (int b = 0; b < s->body_count; b++) rigid += s->bodies[b].rigid;
  for (int k = 1; k < states; k++) {
    size_t at = ((size_t)trajectory * (size_t)c->given->state_count + (size_t)k) * D;
    memcpy(c->y, c->given->x + at, sizeof(double) * D);
    memset(c->y + D, 0, sizeof(double) * D);
    memcpy(c->first, c->x + (size_t)k * D, sizeof(double) * D);
    memset(c->first + D, 0, sizeof(double) * D);
    measure_residual(&c->measure, c->first, c->y, c->r);
    const double *r = c->r;
    for (int b = 0; b < s->body_count; b++) {
      double square = 0;
      for (int i = 0; i < d; i++) square += r[i] * r[i];
      distance += sqrt(square) / s->body_count;
      r += 2 * d;
      if (!s->bodies[b].rigid) continue;
      square = 0;
      for (int i = 0; i < turns; i++) square += r[i] * r[i];
      turned += sqrt(square) / rigid;
      r += 2 * turns;
    }
  }
  *position = distance / (states - 1);
  *angle = turned / (states - 1);
}

static carom_status predict_one(comparison *c, int trajectory, int states, carom_error *error) {
  const carom_fit *fit = c->fit;
  size_t D = (size_t)fit->system->coordinate_count;
  size_t at = (size_t)trajectory * (size_t)c->given->state_count * D;
  carom_rollout_options options = fit->simulation;
  options.steps = states - 1;
  memcpy(c->y, c->given->x + at, sizeof(double) * D);
  memcpy(c->y + D, c->given->v + at, sizeof(double) * D);
  measure_invert(&c->measure, c->y, c->first);
  return carom_system_simulate(fit->system, &options, fit->theta, 1, c->first, c->first + D, c->x,
                               c->v, NULL, NULL, error);
}

static void summarise(const double *values, int count, double *mean, double *deviation) {
  double sum = 0, square = 0;
  for (int i = 0; i < count; i++) sum += values[i] / count;
  for (int i = 0; i < count; i++) square += (values[i] - sum) * (values[i] - sum);
  *mean = sum;
  *deviation = count > 1 ? sqrt(square / (count - 1)) : 0;
}

static carom_status predict_all(comparison *c, carom_fit_prediction *p, carom_error *error) {
  carom_status status = CAROM_OK;
  for (int i = 0; i < c->given->batch && status == CAROM_OK; i++) {
    int states = length_of(c->given, i);
    if (states < 2) continue;
    status = predict_one(c, i, states, error);
    if (status != CAROM_OK) {
      error_prefix(error, "prediction of trajectory %d", i);
      break;
    }
    compare(c, i, states, &p->position[p->count], &p->angle[p->count]);
    p->count++;
  }
  if (status == CAROM_OK && p->count == 0)
    return error_set(error, CAROM_INVALID_DATA, "no trajectory to predict has two states");
  summarise(p->position, p->count, &p->position_mean, &p->position_deviation);
  summarise(p->angle, p->count, &p->angle_mean, &p->angle_deviation);
  return status;
}

carom_status carom_fit_predict(const carom_fit *fit, const carom_trajectories *trajectories,
                               carom_fit_prediction *prediction, carom_error *error) {
  if (prediction != NULL) *prediction = (carom_fit_prediction){0};
  REQUIRE(fit, error);
  REQUIRE(trajectories, error);
  REQUIRE(prediction, error);
  const carom_trajectories *t = trajectories;
  const carom_system *s = fit->system;
  if (!fit->has_result)
    return error_set(error, CAROM_INVALID_ARGUMENT, "the fit has not been run; call carom_fit_run");
  if (t->batch < 1 || t->state_count < 2 || t->x == NULL || t->v == NULL ||
      t->point_count != s->point_count || t->dimension != s->dimension)
    return error_set(error, CAROM_INVALID_DATA,
                     "trajectories to predict need positions and velocities of the scene's points, "
                     "in two states at least");
  size_t D = (size_t)s->coordinate_count, states = (size_t)t->state_count;
  comparison c = {.fit = fit, .given = t};
  bool ready = measure_init(&c.measure, s);
  c.measure.scale = fit->result.scale;
  memcpy(c.measure.shift, fit->result.shift, sizeof c.measure.shift);
  c.first = size_allocate(4 * D + size_multiply(2 * states, D), sizeof(double));
  c.r = size_allocate((size_t)c.measure.count, sizeof(double));
  prediction->position = size_allocate_zero((size_t)t->batch, sizeof(double));
  prediction->angle = size_allocate_zero((size_t)t->batch, sizeof(double));
  carom_status status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for predictions");
  if (ready && c.first != NULL && c.r != NULL && prediction->position != NULL &&
      prediction->angle != NULL) {
    c.y = c.first + 2 * D;
    c.x = c.y + 2 * D;
    c.v = c.x + states * D;
    status = predict_all(&c, prediction, error);
  }
  measure_free(&c.measure);
  free(c.first);
  free(c.r);
  if (status != CAROM_OK) {
    carom_fit_prediction_free(prediction);
    return status;
  }
  return error_clear(error);
}

void carom_fit_prediction_free(carom_fit_prediction *prediction) {
  if (prediction == NULL) return;
  free(prediction->position);
  free(prediction->angle);
  *prediction = (carom_fit_prediction){0};
}
