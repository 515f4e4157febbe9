/* Predictions of a model, the loss and its gradient. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "learn/chunks.h"
#include "learn/measurement.h"
#include "learn/model.h"
#include "learn/observations.h"
#include "learn/state_response.h"
#include "nn/gemm.h"

/* ---- memory ---------------------------------------------------------------------------------- */

/* A batch of predictions of so many time steps. */
static void prediction_batch(batch_executor *b, const carom_model *m, int steps, int shard_size,
                             batch_use use) {
  carom_rollout_options options = carom_rollout_default_options(m->system);
  options.steps = steps;
  options.dt = m->options.dt;
  options.dynamics = m->options.dynamics;
  options.contact = m->options.contact;
  options.compensation = m->options.compensation;
  options.contact_time = m->options.contact_time;
  options.integrator = m->options.integrator;
  options.friction = carom_model_friction_law(&m->options, m->system);
  options.shard_size = shard_size;
  options.threads = m->options.threads;
  const velocity_network *change = &m->change;
  const bool baseline = m->options.baseline != CAROM_BASELINE_NONE;
  // a baseline's network acts at the end of a time step, however contacts of the data act
  if (baseline) options.contact_time = CAROM_CONTACT_TIME_STEP;
  const potential *energy =
      baseline_learns_potential(m->options.baseline) ? &m->potential.base : &scene_potential;
  batch_init(b, &m->mechanics, energy, m->parameter_count - m->network, &options, use);
  if (baseline) b->job.change = &change->base;
}

void loss_batch_free(loss_batch *l) {
  batch_free(&l->batch);
  double *arrays[] = {l->x0,    l->v0,     l->x,       l->v,        l->x_bar,
                      l->v_bar, l->losses, l->weights, l->residuals};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) free(arrays[i]);
  *l = (loss_batch){0};
}

static bool grow(double **array, size_t count) {
  free(*array);
  *array = size_allocate(count, sizeof(double));
  return *array != NULL;
}

/* Room for `count` chunks of so many states; cotangents only where they are wanted. */
static carom_status reserve(carom_model *m, int count, int states, bool gradients,
                            carom_error *error) {
  loss_batch *l = &m->training;
  if (l->batch.worker_count == 0 || l->batch.options.steps != states - 1) {
    loss_batch_free(l);
    prediction_batch(&l->batch, m, states - 1, model_shard_size(m), BATCH_REVERSE_AT_ONCE);
  }
  batch_set_threads(&l->batch, m->options.threads);
  size_t state = size_multiply((size_t)count, (size_t)m->system->coordinate_count);
  size_t trajectory = size_multiply(state, (size_t)states);
  if (count > l->capacity) {
    l->capacity = 0;
    if (!grow(&l->x0, state) || !grow(&l->v0, state) || !grow(&l->x, trajectory) ||
        !grow(&l->v, trajectory) || !grow(&l->x_bar, trajectory) || !grow(&l->v_bar, trajectory) ||
        !grow(&l->losses, (size_t)count) || !grow(&l->weights, (size_t)count) ||
        !grow(&l->residuals, trajectory * 2))
      return error_set(
          error, CAROM_OUT_OF_MEMORY,
          "no memory for a batch of %d chunks of %d states, %.3g GB; use a smaller batch", count,
          states, size_gigabytes(size_multiply(6 * sizeof(double), trajectory)));
    l->capacity = count;
  }
  return batch_reserve(&l->batch, count, gradients, error);
}

/* ---- observations ---------------------------------------------------------------------------- */

observations observations_from(const observations *all, int width, int first) {
  const carom_chunks *c = &all->chunks;
  const size_t states = (size_t)first * (size_t)c->states, row = (size_t)width;
  observations part = *all;
  part.chunks.count -= first;
  part.chunks.x += states * row;
  part.chunks.v += states * row;
  if (c->contact != NULL) part.chunks.contact += states;
  if (all->x0 != NULL) part.x0 += (size_t)first * row;
  if (all->v0 != NULL) part.v0 += (size_t)first * row;
  part.response_first += first;
  return part;
}

static size_t first_state(const observations *o, int width, int chunk) {
  return (size_t)chunk * (size_t)o->chunks.states * (size_t)width;
}
const double *observed_x0(const observations *o, int width, int chunk) {
  if (o->x0 != NULL) return o->x0 + (size_t)chunk * (size_t)width;
  return o->chunks.x + first_state(o, width, chunk);
}
const double *observed_v0(const observations *o, int width, int chunk) {
  if (o->v0 != NULL) return o->v0 + (size_t)chunk * (size_t)width;
  return o->chunks.v + first_state(o, width, chunk);
}

/* ---- loss ------------------------------------------------------------------------------------ */

/* Sum |difference| / unit of one body in one state, a tip seen at the body's length l: its difference
 * is (1 - l) dc + l dt. bar = scale times the derivative. */
static double body_difference(int points, int dimension, double length, const double *predicted,
                              const double *truth, double scale, double *bar) {
  double sum = 0;
  for (int i = 0; i < dimension; i++) {
    const double centre = predicted[i] - truth[i];
    sum += fabs(centre);
    bar[i] = centre > 0 ? scale : centre < 0 ? -scale : 0;
    for (int k = i + dimension; k < points * dimension; k += dimension) {
      const double seen = (1 - length) * centre + length * (predicted[k] - truth[k]);
      const double slope = seen > 0 ? scale : seen < 0 ? -scale : 0;
      sum += fabs(seen);
      bar[i] += (1 - length) * slope;
      bar[k] = length * slope;
    }
  }
  return sum;
}

/* Sum |pred - true| / unit of one sample, and its derivative times scale. */
static double absolute_difference(const carom_model *m, int states, const double *predicted,
                                  const double *truth, double unit, double scale, double *bar) {
  const carom_system *s = m->system;
  double sum = 0;
  for (int k = 0; k < states; k++)
    for (int b = 0; b < s->body_count; b++) {
      const int points = s->bodies[b].point_count, size = points * s->dimension;
      sum += body_difference(points, s->dimension, m->body_lengths[b], predicted, truth,
                             scale / unit, bar);
      predicted += size;
      truth += size;
      bar += size;
    }
  return sum / unit;
}

/* States of a sample: of a chunk, or of a pair. */
static int sample_states(const carom_model *m, const carom_chunks *chunks) {
  return model_takes_pairs(m) ? 2 : chunks->states;
}

/* Where sample i of the batch begins in the chunks: a chunk, or pair k = p mod (states - 1) of one. */
static size_t sample_at(const carom_model *m, const carom_chunks *chunks, const int *indices,
                        int i) {
  const size_t sample = (size_t)(indices != NULL ? indices[i] : i);
  const size_t states = (size_t)chunks->states, size = (size_t)m->system->coordinate_count;
  if (!model_takes_pairs(m)) return sample * states * size;
  return (sample / (states - 1) * states + sample % (states - 1)) * size;
}

/* The chunk that sample i of a model that takes whole ones is. */
static int chunk_at(const int *indices, int i) { return indices != NULL ? indices[i] : i; }

/* Chunks beside which the batch's predictions are put. */
typedef struct comparison {
  const carom_model *model;
  loss_batch *batch;
  const observations *observed;
  const int *indices;    /* may be NULL */
  const double *weights; /* of samples, may be NULL */
} comparison;

/* A sample of a batch: its prediction, what was measured, cotangents. */
typedef struct compared {
  int states;
  const double *x, *v, *measured_x, *measured_v;
  double *x_bar, *v_bar, *residuals; /* residuals [states][2 M] */
} compared;

static compared sample_of(const comparison *c, int i) {
  const carom_chunks *chunks = &c->observed->chunks;
  const loss_batch *l = c->batch;
  const carom_system *s = c->model->system;
  const int states = sample_states(c->model, chunks);
  const size_t at = (size_t)i * (size_t)states * (size_t)s->coordinate_count;
  const size_t truth = sample_at(c->model, chunks, c->indices, i);
  const size_t residuals = (size_t)i * (size_t)states * 2 * (size_t)measurement_count(s);
  return (compared){states,
                    l->x + at,
                    l->v + at,
                    chunks->x + truth,
                    chunks->v + truth,
                    l->x_bar + at,
                    l->v_bar + at,
                    l->residuals + residuals};
}

/* Loss of the samples of a shard, each into losses[i], with cotangents:
 *   loss = 1 / (2 N B) sum |x - x_true| / L + |v - v_true| / S, N numbers of x in each of B samples. */
static void compare_shard(void *user, shard_range s) {
  const comparison *c = user;
  const carom_model *m = c->model;
  loss_batch *l = c->batch;
  const int numbers = sample_states(m, &c->observed->chunks) * m->system->coordinate_count;
  const double scale = 1 / (2.0 * numbers * l->batch.job.batch);
  for (int i = s.first; i < s.first + s.count; i++) {
    const compared k = sample_of(c, i);
    double sum = absolute_difference(m, k.states, k.x, k.measured_x, m->length, scale, k.x_bar) +
                 absolute_difference(m, k.states, k.v, k.measured_v, m->speed, scale, k.v_bar);
    l->losses[i] = sum * scale;
  }
}

// residuals of a sample, each by its deviation
static void noise_residuals(const carom_system *s, const noise_level *noise, const compared *k) {
  const int count = measurement_count(s);
  const double units[2] = {1 / (noise->scale * noise->position),
                           1 / (noise->scale * noise->velocity)};
  for (int state = 0; state < k->states; state++) {
    const size_t at = (size_t)state * (size_t)s->coordinate_count;
    double *z = k->residuals + state * 2 * count;
    measurement_residual(s, k->x + at, k->v + at, k->measured_x + at, k->measured_v + at, z);
    for (int j = 0; j < 2 * count; j++) z[j] *= units[j >= count];
  }
}

/* The loss of observations.h, 2 log(scale) + 1 / (R B) sum student_loss(z), R numbers in each of B
 * samples; the residuals become their cotangents. States that follow the model leave a part of z. */
static double noise_loss(const carom_system *s, const observations *o, int chunk, const compared *k,
                         int batch) {
  const noise_level *noise = o->noise;
  const int count = measurement_count(s), numbers = k->states * 2 * count;
  const double scale = 1.0 / numbers / batch;
  const double units[2] = {scale / (noise->scale * noise->position),
                           scale / (noise->scale * noise->velocity)};
  double *z = k->residuals, sum = 0;
  if (o->response != NULL) response_follow(o->response, o->response_first + chunk, z);
  for (int i = 0; i < numbers; i++) {
    sum += student_loss(z[i]);
    z[i] = student_slope(z[i]);
  }
  if (o->response != NULL) response_follow_vjp(o->response, o->response_first + chunk, z);
  for (int state = 0; state < k->states; state++, z += 2 * count) {
    const size_t at = (size_t)state * (size_t)s->coordinate_count;
    for (int j = 0; j < 2 * count; j++) z[j] *= units[j >= count];
    measurement_residual_vjp(s, k->x + at, k->v + at, k->measured_x + at, z, k->x_bar + at,
                             k->v_bar + at);
  }
  return sum * scale + 2 * log(noise->scale) / batch;
}

static void compare_residuals(void *user, shard_range s) {
  const comparison *c = user;
  for (int i = s.first; i < s.first + s.count; i++) {
    const compared k = sample_of(c, i);
    noise_residuals(c->model->system, c->observed->noise, &k);
  }
}

static void compare_noisy_shard(void *user, shard_range s) {
  const comparison *c = user;
  compare_residuals(user, s);
  for (int i = s.first; i < s.first + s.count; i++) {
    const compared k = sample_of(c, i);
    c->batch->losses[i] = noise_loss(c->model->system, c->observed, chunk_at(c->indices, i), &k,
                                     c->batch->batch.job.batch);
  }
}

/* gradient = sum over shards, in their order */
static void add_shards(const carom_model *m, double *gradient) {
  const batch_executor *b = &m->training.batch;
  memset(gradient, 0, sizeof(double) * (size_t)m->parameter_count);
  batch_sum_potential(b, gradient + m->network);
  for (int i = 0; i < b->shard_count; i++)
    model_expand_vjp(m, b->theta_bars + (size_t)i * (size_t)b->parameter_count, gradient);
}

static carom_status check_chunks(const carom_model *m, const carom_chunks *chunks, int count,
                                 const int *indices, carom_error *error) {
  if (chunks->x == NULL || chunks->v == NULL)
    return error_set(error, CAROM_INVALID_ARGUMENT, "carom_model_loss: chunks->%c is NULL",
                     chunks->x == NULL ? 'x' : 'v');
  if (count < 1 || chunks->states < 2)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_model_loss: %d chunks of %d states; at least one chunk of two states "
                     "is needed",
                     count, chunks->states);
  const int64_t samples = model_sample_count(m, chunks);
  for (int i = 0; i < count; i++) {
    int sample = indices != NULL ? indices[i] : i;
    if (sample < 0 || sample >= samples)
      return error_set(error, CAROM_INVALID_ARGUMENT, "carom_model_loss: no %s %d of %lld",
                       model_takes_pairs(m) ? "pair" : "chunk", sample, (long long)samples);
  }
  return CAROM_OK;
}

/* Parameters, as the engine takes them. */
static carom_status take_parameters(carom_model *m, carom_error *error) {
  model_expand(m, m->theta);
  carom_status status = carom_parameters_check(m->system, m->theta, error);
  if (status != CAROM_OK) {
    error_prefix(error, "the model's parameters are out of range");
    return status;
  }
  mechanics_set_parameters(&m->mechanics, m->theta);
  if (baseline_learns_potential(m->options.baseline)) network_potential_refresh(&m->potential);
  if (m->options.baseline != CAROM_BASELINE_NONE) velocity_network_refresh(&m->change);
  return CAROM_OK;
}

/* Weights of chunks (learn/balance.h); NULL: all are alike. */
static const double *weigh(const observations *o, int count, const int *indices, double *weights) {
  if (o->contact_weight == 0) return NULL;
  const int states = o->chunks.states;
  for (int i = 0; i < count; i++) {
    const uint8_t *touched = o->chunks.contact + (size_t)chunk_at(indices, i) * (size_t)states;
    weights[i] = chunk_touches(touched, states) ? o->contact_weight : 1;
  }
  return weights;
}

/* Runs `count` chunks from x0, v0 of the batch and compares; reverses if `gradients`. */
static carom_status run_and_compare(const comparison *c, batch_compare compare, bool gradients,
                                    carom_error *error) {
  loss_batch *l = c->batch;
  gemm_begin();
  carom_status status = batch_run_loss(
      &l->batch, &(batch_states){.x0 = l->x0, .v0 = l->v0, .x = l->x, .v = l->v}, compare,
      (void *)c, &(batch_cotangents){.x = l->x_bar, .v = l->v_bar, .weights = c->weights},
      gradients, error);
  gemm_end();
  return status;
}

carom_status observations_loss(carom_model *m, const observations *o, int count, const int *indices,
                               double *loss, double *gradient, carom_report *report,
                               carom_error *error) {
  carom_status status = reserve(m, count, sample_states(m, &o->chunks), gradient != NULL, error);
  if (status == CAROM_OK) status = take_parameters(m, error);
  if (status != CAROM_OK) return status;
  loss_batch *l = &m->training;
  const int width = m->system->coordinate_count;
  for (int i = 0; i < count; i++) {
    const size_t bytes = sizeof(double) * (size_t)width, at = (size_t)i * (size_t)width;
    const size_t from = sample_at(m, &o->chunks, indices, i);
    const size_t start = (size_t)chunk_at(indices, i) * (size_t)width;
    memcpy(l->x0 + at, o->x0 != NULL ? o->x0 + start : o->chunks.x + from, bytes);
    memcpy(l->v0 + at, o->v0 != NULL ? o->v0 + start : o->chunks.v + from, bytes);
  }
  const comparison c = {m, l, o, indices, weigh(o, count, indices, l->weights)};
  status = run_and_compare(&c, o->noise != NULL ? compare_noisy_shard : compare_shard,
                           gradient != NULL, error);
  if (report != NULL) *report = l->batch.report;
  if (status != CAROM_OK) return status;
  batch_collect(&l->batch, l->losses, sizeof(double));
  double sum = 0;
  for (int i = 0; i < count; i++) sum += l->losses[i];
  if (loss != NULL) *loss = sum;
  if (gradient != NULL) add_shards(m, gradient);
  return error_clear(error);
}

carom_status observations_residuals(carom_model *m, const observations *o, int count,
                                    const int *indices, const double *x0, const double *v0,
                                    const double **residuals, carom_error *error) {
  *residuals = NULL;
  carom_status status = reserve(m, count, o->chunks.states, false, error);
  if (status == CAROM_OK) status = take_parameters(m, error);
  if (status != CAROM_OK) return status;
  loss_batch *l = &m->training;
  const size_t bytes = sizeof(double) * (size_t)count * (size_t)m->system->coordinate_count;
  memcpy(l->x0, x0, bytes);
  memcpy(l->v0, v0, bytes);
  const comparison c = {m, l, o, indices, NULL};
  status = run_and_compare(&c, compare_residuals, false, error);
  if (status != CAROM_OK) return status;
  const int numbers = o->chunks.states * 2 * measurement_count(m->system);
  batch_collect(&l->batch, l->residuals, sizeof(double) * (size_t)numbers);
  *residuals = l->residuals;
  return CAROM_OK;
}

carom_status carom_model_loss(carom_model *model, const carom_chunks *chunks, int count,
                              const int *indices, double *loss, double *gradient,
                              carom_report *report, carom_error *error) {
  REQUIRE(model, error);
  REQUIRE(chunks, error);
  carom_status status = check_chunks(model, chunks, count, indices, error);
  if (status != CAROM_OK) return status;
  const observations o = observations_of(chunks);
  return observations_loss(model, &o, count, indices, loss, gradient, report, error);
}

/* ---- prediction ------------------------------------------------------------------------------ */

carom_status carom_model_predict(carom_model *model, int batch, int steps, const double *x0,
                                 const double *v0, double *x, double *v, uint8_t *contacts,
                                 carom_report *report, carom_error *error) {
  REQUIRE(model, error);
  REQUIRE(x0, error);
  REQUIRE(v0, error);
  REQUIRE(x, error);
  REQUIRE(v, error);
  if (batch < 1 || steps < 0 || steps == INT_MAX)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_model_predict: batch is %d and steps is %d; they must be at least 1 "
                     "and from 0 to %d",
                     batch, steps, INT_MAX - 1);
  carom_model *m = model;
  batch_executor b;
  const int shard = model_shard_size(m);
  prediction_batch(&b, m, steps, batch < shard ? batch : shard, BATCH_FORWARD);
  carom_status status = batch_reserve(&b, batch, false, error);
  if (status == CAROM_OK) status = batch_check_states(&b, x0, v0, error);
  if (status == CAROM_OK) status = take_parameters(m, error);
  if (status == CAROM_OK) {
    gemm_begin();
    status = batch_run(
        &b, &(batch_states){.x0 = x0, .v0 = v0, .x = x, .v = v, .contacts = contacts}, error);
    gemm_end();
  }
  if (report != NULL) *report = b.report;
  batch_free(&b);
  return status == CAROM_OK ? error_clear(error) : status;
}

enum { POTENTIAL_BLOCK = 1024 /* states that the network sees at once */ };

/* States whose potential is asked for, as a guard takes them. */
typedef struct potential_work {
  const carom_model *model;
  int count;
  const double *x;
  double *value;
  arena scratch;
} potential_work;

// in pieces: scratch grows with the states that the network sees at once
static void potential_values(void *user) {
  potential_work *w = user;
  const potential *p = &w->model->potential.base;
  size_t size = (size_t)w->model->system->coordinate_count;
  for (int first = 0, count; first < w->count; first += count) {
    count = w->count - first < POTENTIAL_BLOCK ? w->count - first : POTENTIAL_BLOCK;
    p->value(p, &w->model->mechanics, count, w->x + (size_t)first * size, w->value + first,
             &w->scratch);
  }
}

carom_status carom_model_potential(carom_model *model, int count, const double *x, double *value,
                                   carom_error *error) {
  REQUIRE(model, error);
  REQUIRE(x, error);
  REQUIRE(value, error);
  if (count < 0)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_model_potential: count is %d, must be at least 0", count);
  if (!baseline_learns_potential(model->options.baseline))
    return error_set(error, CAROM_INVALID_ARGUMENT, "%s learns no potential",
                     carom_model_options_name(&model->options));
  potential_work work = {.model = model, .count = count, .x = x, .value = value};
  arena_init(&work.scratch);
  gemm_begin();
  bool done = arena_guard(potential_values, &work);
  gemm_end();
  arena_free(&work.scratch);
  if (done) return error_clear(error);
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the potential of %d states", count);
}
