/* Whole trajectories predicted by a model from their first states. */
#include "learn/whole_length.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rotation.h"
#include "base/size.h"
#include "base/vector.h"
#include "learn/model.h"
#include "learn/recording.h"
#include "system/system.h"

enum { BATCH = 16 /* trajectories that are predicted together */ };

typedef struct whole {
  carom_model *model;
  const carom_system *system;
  const recording *recording;
  int *first; /* [count] runs that trajectories begin with */
  int count;
  double *x0, *v0, *x, *v; /* scratch of a batch */
} whole;

/* Mean distance and angle of all bodies in one state. */
static void compare(const carom_system *s, const double *x, const double *y, double *position,
                    double *angle) {
  int d = s->dimension, rigid = 0;
  double turned = 0;
  for (int b = 0; b < s->body_count; b++) {
    int at = s->bodies[b].first_point * d;
    double square = 0;
    for (int i = 0; i < d; i++) square += (x[at + i] - y[at + i]) * (x[at + i] - y[at + i]);
    *position += sqrt(square) / s->body_count;
    if (!s->bodies[b].rigid) continue;
    rigid++;
    double phi[3] = {0, 0, 0};
    rotation_between(d, x + at, y + at, phi);
    turned += sqrt(vector_dot_small(phi, phi, 3));
  }
  if (rigid > 0) *angle += turned / rigid;
}

static const run *run_of(const whole *w, int k) { return &w->recording->runs[w->first[k]]; }

static size_t place_of(const whole *w, const run *r, int state) {
  return ((size_t)r->trajectory * (size_t)w->recording->states + (size_t)(r->first + state)) *
         (size_t)w->system->coordinate_count;
}

static carom_status predict_batch(whole *w, int begin, int count, carom_fit_prediction *p,
                                  carom_error *error) {
  size_t D = (size_t)w->system->coordinate_count;
  int steps = 1;
  for (int k = 0; k < count; k++) {
    const run *r = run_of(w, begin + k);
    memcpy(w->x0 + (size_t)k * D, w->recording->x + place_of(w, r, 0), sizeof(double) * D);
    memcpy(w->v0 + (size_t)k * D, w->recording->v + place_of(w, r, 0), sizeof(double) * D);
    steps = r->states - 1 > steps ? r->states - 1 : steps;
  }
  carom_status status =
      carom_model_predict(w->model, count, steps, w->x0, w->v0, w->x, w->v, NULL, NULL, error);
  for (int k = 0; k < count && status == CAROM_OK; k++) {
    const run *r = run_of(w, begin + k);
    double position = 0, angle = 0;
    for (int t = 1; t < r->states; t++)
      compare(w->system, w->x + ((size_t)k * (size_t)(steps + 1) + (size_t)t) * D,
              w->recording->x + place_of(w, r, t), &position, &angle);
    p->position[begin + k] = position / (r->states - 1);
    p->angle[begin + k] = angle / (r->states - 1);
  }
  return status;
}

static void summarise(const double *values, int count, double *mean, double *deviation) {
  double sum = 0, square = 0;
  for (int i = 0; i < count; i++) sum += values[i] / count;
  for (int i = 0; i < count; i++) square += (values[i] - sum) * (values[i] - sum);
  *mean = sum;
  *deviation = count > 1 ? sqrt(square / (count - 1)) : 0;
}

void prediction_summarise(carom_fit_prediction *p) {
  summarise(p->position, p->count, &p->position_mean, &p->position_deviation);
  summarise(p->angle, p->count, &p->angle_mean, &p->angle_deviation);
}

static carom_status predict_all(whole *w, carom_fit_prediction *p, carom_error *error) {
  const recording *r = w->recording;
  size_t D = (size_t)w->system->coordinate_count, longest = 2;
  w->first = size_allocate((size_t)r->run_count + 1, sizeof(int));
  for (int k = 0; k < r->run_count && w->first != NULL; k++) {
    if (k > 0 && r->runs[k].trajectory == r->runs[k - 1].trajectory) continue;
    w->first[w->count++] = k;
    longest = (size_t)r->runs[k].states > longest ? (size_t)r->runs[k].states : longest;
  }
  size_t motion = size_multiply(size_multiply(BATCH, longest), D);
  w->x0 = size_allocate(2 * BATCH * D, sizeof(double));
  w->x = size_allocate(size_multiply(2, motion), sizeof(double));
  p->position = size_allocate_zero((size_t)w->count + 1, sizeof(double));
  p->angle = size_allocate_zero((size_t)w->count + 1, sizeof(double));
  if (w->first == NULL || w->x0 == NULL || w->x == NULL || p->position == NULL || p->angle == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for predictions");
  w->v0 = w->x0 + BATCH * D;
  w->v = w->x + motion;
  carom_status status = CAROM_OK;
  for (int at = 0; at < w->count && status == CAROM_OK; at += BATCH)
    status = predict_batch(w, at, w->count - at < BATCH ? w->count - at : BATCH, p, error);
  if (status != CAROM_OK) return status;
  p->count = w->count;
  prediction_summarise(p);
  return CAROM_OK;
}

/* Work under a guard against short memory. */
typedef struct task {
  whole *whole;
  const carom_trajectories *given;
  const carom_dataset_options *options;
  recording recording;
  carom_dataset found; /* findings, which nobody reads */
  carom_fit_prediction *prediction;
  carom_status status;
  carom_error *error;
} task;

/* States as they are hold the constraints to a tolerance, or are those of another system; then they are put on them. */
static carom_status load(task *t) {
  carom_dataset_options options = *t->options;
  const bool passes[2] = {false, t->whole->system->row_count > 0};
  carom_status status = CAROM_OK;
  for (int k = 0; k < 1 + passes[1] && status == CAROM_OK; k++) {
    recording_free(&t->recording);
    free(t->found.findings);
    t->recording = (recording){0};
    t->found = (carom_dataset){0};
    options.project = passes[k];
    status =
        recording_make(t->whole->system, t->given, &options, &t->recording, &t->found, t->error);
  }
  return status;
}

static void work(void *user) {
  task *t = user;
  t->status = load(t);
  t->whole->recording = &t->recording;
  if (t->status == CAROM_OK) t->status = predict_all(t->whole, t->prediction, t->error);
}

static carom_status check(const carom_system *s, const carom_trajectories *t, double dt,
                          carom_velocity velocity, carom_error *error) {
  if (t->batch < 1 || t->state_count < 2 || t->x == NULL || t->point_count != s->point_count ||
      t->dimension != s->dimension)
    return error_set(error, CAROM_INVALID_DATA,
                     "trajectories to predict need the scene's points, in two states at least");
  if (!(fabs(t->dt - dt) <= 1e-9 * dt))
    return error_set(error, CAROM_INVALID_DATA,
                     "the time step of the trajectories is %.12g, the model was trained with %.12g",
                     t->dt, dt);
  if (t->times != NULL)
    return error_set(error, CAROM_INVALID_DATA,
                     "time steps of the trajectories are unequal, those of the model are %.12g",
                     dt);
  if ((int)velocity < CAROM_VELOCITY_GIVEN || velocity > CAROM_VELOCITY_ESTIMATE)
    return error_set(error, CAROM_INVALID_ARGUMENT, "velocity: %d is none of its values",
                     (int)velocity);
  return CAROM_OK;
}

carom_status carom_model_predict_whole(carom_model *model, const carom_trajectories *trajectories,
                                       carom_velocity velocity, carom_fit_prediction *prediction,
                                       carom_error *error) {
  if (prediction != NULL) *prediction = (carom_fit_prediction){0};
  REQUIRE(model, error);
  REQUIRE(trajectories, error);
  REQUIRE(prediction, error);
  whole w = {.model = model, .system = model->system};
  carom_status status =
      check(w.system, trajectories, carom_model_describe(model).options.dt, velocity, error);
  if (status != CAROM_OK) return status;
  carom_dataset_options options = carom_dataset_default_options(w.system);
  options.chunk = 2;
  options.velocity = velocity;
  task t = {.whole = &w,
            .given = trajectories,
            .options = &options,
            .prediction = prediction,
            .error = error};
  if (!arena_guard(work, &t))
    t.status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for predictions");
  recording_free(&t.recording);
  free(t.found.findings);
  free(w.first);
  free(w.x0);
  free(w.x);
  if (t.status == CAROM_OK) return error_clear(error);
  free(prediction->position);
  free(prediction->angle);
  *prediction = (carom_fit_prediction){0};
  return error_prefix(error, "prediction");
}
