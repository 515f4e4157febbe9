/* Predictions of a model, the loss and its gradient. */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "learn/model.h"
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
  options.integrator = CAROM_RK4;
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
  double *arrays[] = {l->x0, l->v0, l->x, l->v, l->x_bar, l->v_bar, l->losses};
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
        !grow(&l->losses, (size_t)count))
      return error_set(
          error, CAROM_OUT_OF_MEMORY,
          "no memory for a batch of %d chunks of %d states, %.3g GB; use a smaller batch", count,
          states, size_gigabytes(size_multiply(4 * sizeof(double), trajectory)));
    l->capacity = count;
  }
  return batch_reserve(&l->batch, count, gradients, error);
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

/* Chunks beside which the batch's predictions are put. */
typedef struct comparison {
  const carom_model *model;
  loss_batch *batch;
  const carom_chunks *chunks;
  const int *indices; /* may be NULL */
} comparison;

/* Loss of the samples of a shard, each into losses[i], with cotangents:
 *   loss = 1 / (2 N B) sum |x - x_true| / L + |v - v_true| / S, N numbers of x in each of B samples. */
static void compare_shard(void *user, shard_range s) {
  const comparison *c = user;
  const carom_model *m = c->model;
  loss_batch *l = c->batch;
  int size = m->system->coordinate_count, states = sample_states(m, c->chunks);
  int numbers = states * size;
  double scale = 1 / (2.0 * numbers * l->batch.job.batch);
  for (int i = s.first; i < s.first + s.count; i++) {
    size_t truth = sample_at(m, c->chunks, c->indices, i);
    size_t at = (size_t)i * (size_t)numbers;
    double sum = absolute_difference(m, states, l->x + at, c->chunks->x + truth, m->length, scale,
                                     l->x_bar + at);
    sum += absolute_difference(m, states, l->v + at, c->chunks->v + truth, m->speed, scale,
                               l->v_bar + at);
    l->losses[i] = sum * scale;
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

carom_status carom_model_loss(carom_model *model, const carom_chunks *chunks, int count,
                              const int *indices, double *loss, double *gradient,
                              carom_report *report, carom_error *error) {
  REQUIRE(model, error);
  REQUIRE(chunks, error);
  carom_model *m = model;
  carom_status status = check_chunks(m, chunks, count, indices, error);
  if (status == CAROM_OK)
    status = reserve(m, count, sample_states(m, chunks), gradient != NULL, error);
  if (status == CAROM_OK) status = take_parameters(m, error);
  if (status != CAROM_OK) return status;

  // each sample is predicted from its first state
  loss_batch *l = &m->training;
  size_t size = (size_t)m->system->coordinate_count;
  for (int i = 0; i < count; i++) {
    size_t at = sample_at(m, chunks, indices, i);
    memcpy(l->x0 + (size_t)i * size, chunks->x + at, sizeof(double) * size);
    memcpy(l->v0 + (size_t)i * size, chunks->v + at, sizeof(double) * size);
  }
  comparison c = {m, l, chunks, indices};
  gemm_begin();
  status = batch_run_loss(
      &l->batch, &(batch_states){.x0 = l->x0, .v0 = l->v0, .x = l->x, .v = l->v}, compare_shard, &c,
      &(batch_cotangents){.x = l->x_bar, .v = l->v_bar}, gradient != NULL, error);
  gemm_end();
  if (report != NULL) *report = l->batch.report;
  if (status != CAROM_OK) return status;
  batch_collect(&l->batch, l->losses, sizeof(double));
  double sum = 0;
  for (int i = 0; i < count; i++) sum += l->losses[i];
  if (loss != NULL) *loss = sum;
  if (gradient != NULL) add_shards(m, gradient);
  return error_clear(error);
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
