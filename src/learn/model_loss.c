/* Predictions of a model, the loss and its gradient. A shard of the batch is run forward, compared
 * and reversed by one worker in one go, while what the reverse needs is still at hand; gradients of
 * the shards are added in their order. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "learn/model.h"
#include "nn/gemm.h"
#include "rollout/report.h"

/* ---- memory ---------------------------------------------------------------------------------- */

carom_status predictor_make(predictor *p, carom_model *m, int steps, bool keeps_records,
                            carom_error *error) {
  *p = (predictor){.options = carom_rollout_default_options(m->system)};
  p->options.steps = steps;
  p->options.dt = m->options.dt;
  p->options.dynamics = m->options.dynamics;
  p->options.contact = m->options.contact;
  p->options.integrator = CAROM_RK4;
  p->options.shard_size = LEARN_SHARD;
  p->thread_count = m->options.threads > 0 ? m->options.threads : omp_get_max_threads();
  p->job = (batch_job){.options = &p->options,
                       .integrator = {.mechanics = &m->mechanics,
                                      .potential = &m->potential.base,
                                      .method = CAROM_RK4,
                                      .dynamics = m->options.dynamics,
                                      .dt = m->options.dt,
                                      .substeps = 1},
                       .keeps_records = keeps_records};
  p->workers = calloc((size_t)p->thread_count, sizeof(worker));
  p->tapes = calloc((size_t)p->thread_count, sizeof(tape));
  if (p->workers == NULL || p->tapes == NULL) {
    predictor_free(p);
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d workers", p->thread_count);
  }
  for (int i = 0; i < p->thread_count; i++) worker_init(&p->workers[i], &p->job);
  return CAROM_OK;
}

void predictor_free(predictor *p) {
  for (int i = 0; i < p->thread_count; i++) {
    if (p->workers != NULL) worker_free(&p->workers[i]);
    if (p->tapes != NULL) tape_free(&p->tapes[i]);
  }
  for (int i = 0; i < p->shard_capacity; i++) program_log_clear(&p->results[i].failures);
  void *pieces[] = {p->workers, p->tapes, p->results, p->theta_bars, p->network_bars, p->x0,
                    p->v0,      p->x,     p->v,       p->x_bar,      p->v_bar,        p->losses};
  for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) free(pieces[i]);
  *p = (predictor){0};
}

static bool grow(double **array, size_t count) {
  free(*array);
  *array = malloc(sizeof(double) * (count + 1));
  return *array != NULL;
}

/* Room for `batch` samples; gradients only where they are wanted. */
static carom_status reserve(predictor *p, const carom_model *m, int batch, bool gradients,
                            carom_error *error) {
  int shards = (batch + LEARN_SHARD - 1) / LEARN_SHARD;
  size_t size = (size_t)m->system->coordinate_count;
  size_t states = (size_t)batch * (size_t)(p->options.steps + 1) * size;
  size_t network = (size_t)network_parameter_count(&m->potential);
  bool good = true;
  if (batch > p->batch_capacity) {
    good = grow(&p->x0, (size_t)batch * size) && grow(&p->v0, (size_t)batch * size) &&
           grow(&p->x, states) && grow(&p->v, states) && grow(&p->x_bar, states) &&
           grow(&p->v_bar, states) && grow(&p->losses, (size_t)batch);
    shard_result *results = realloc(p->results, sizeof(shard_result) * (size_t)shards);
    good = good && results != NULL;
    if (results != NULL) p->results = results;
    for (int i = p->shard_capacity; good && i < shards; i++) p->results[i] = (shard_result){0};
    if (good) p->shard_capacity = shards > p->shard_capacity ? shards : p->shard_capacity;
    if (good) p->batch_capacity = batch;
    free(p->theta_bars);
    free(p->network_bars);
    p->theta_bars = p->network_bars = NULL;
  }
  if (good && gradients && p->theta_bars == NULL)
    good = grow(&p->theta_bars, (size_t)p->shard_capacity * (size_t)m->system->parameter_count) &&
           grow(&p->network_bars, (size_t)p->shard_capacity * network);
  if (!good)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a batch of %d chunks", batch);
  p->job.batch = batch;
  p->job.x0 = p->x0;
  p->job.v0 = p->v0;
  p->job.x = p->x;
  p->job.v = p->v;
  return CAROM_OK;
}

/* ---- loss ------------------------------------------------------------------------------------ */

/* Sum |pred - true| of one sample, and the cotangent scale * sign(pred - true). */
static double absolute_difference(int count, const double *predicted, const double *truth,
                                  double scale, double *bar) {
  double sum = 0;
  for (int i = 0; i < count; i++) {
    double difference = predicted[i] - truth[i];
    sum += fabs(difference);
    bar[i] = difference > 0 ? scale : difference < 0 ? -scale : 0;
  }
  return sum;
}

/* The chunk that sample i of the batch is. */
static size_t chunk_at(const carom_chunks *chunks, const int *indices, int i, size_t size) {
  size_t chunk = (size_t)(indices != NULL ? indices[i] : i);
  return chunk * (size_t)chunks->states * size;
}

/* Loss of the samples of a shard, each into losses[i], with cotangents. */
static void compare_shard(predictor *p, const carom_chunks *chunks, const int *indices, int first,
                          int count, int size) {
  int numbers = (p->options.steps + 1) * size;
  double scale = 1 / (2.0 * numbers * p->job.batch);
  for (int i = first; i < first + count; i++) {
    size_t truth = chunk_at(chunks, indices, i, (size_t)size), at = (size_t)i * (size_t)numbers;
    double sum = absolute_difference(numbers, p->x + at, chunks->x + truth, scale, p->x_bar + at);
    sum += absolute_difference(numbers, p->v + at, chunks->v + truth, scale, p->v_bar + at);
    p->losses[i] = sum * scale;
  }
}

/* One shard: forward, compare, and back if gradients are wanted. */
static void run_shard(carom_model *m, predictor *p, const carom_chunks *chunks, const int *indices,
                      int shard, bool gradients) {
  int first = shard * LEARN_SHARD;
  int count = p->job.batch - first < LEARN_SHARD ? p->job.batch - first : LEARN_SHARD;
  int thread = omp_get_thread_num();
  shard_run(&p->job, first, count, &p->workers[thread], &p->tapes[thread], &p->results[shard], NULL,
            NULL);
  if (p->results[shard].status != CAROM_OK) return;
  compare_shard(p, chunks, indices, first, count, m->system->coordinate_count);
  if (!gradients) return;
  size_t parameters = (size_t)m->system->parameter_count;
  size_t network = (size_t)network_parameter_count(&m->potential);
  double *theta_bar = p->theta_bars + (size_t)shard * parameters;
  double *network_bar = p->network_bars + (size_t)shard * network;
  memset(theta_bar, 0, sizeof(double) * parameters);
  memset(network_bar, 0, sizeof(double) * network);
  shard_vjp(&p->job, first, count, &p->workers[thread], &p->tapes[thread], p->x_bar, p->v_bar, NULL,
            NULL, theta_bar, network_bar);
}

/* gradient = sum over shards, in their order */
static void add_shards(const carom_model *m, const predictor *p, int shards, double *gradient) {
  int parameters = m->system->parameter_count;
  int network = network_parameter_count(&m->potential);
  memset(gradient, 0, sizeof(double) * (size_t)m->parameter_count);
#pragma omp parallel for schedule(static) num_threads(p->thread_count)
  for (int i = 0; i < network; i++)
    for (int shard = 0; shard < shards; shard++)
      gradient[m->network + i] += p->network_bars[(size_t)shard * (size_t)network + (size_t)i];
  for (int shard = 0; shard < shards; shard++)
    model_expand_vjp(m, p->theta_bars + (size_t)shard * (size_t)parameters, gradient);
}

static carom_status check_chunks(const carom_model *m, const carom_chunks *chunks, int count,
                                 const int *indices, carom_error *error) {
  if (m == NULL || chunks == NULL || chunks->x == NULL || chunks->v == NULL)
    return error_set(error, CAROM_INVALID_ARGUMENT, "carom_model_loss: a pointer is NULL");
  if (count < 1 || chunks->states < 2)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_model_loss: %d chunks of %d states; at least one chunk of two states "
                     "is needed",
                     count, chunks->states);
  for (int i = 0; i < count; i++) {
    int chunk = indices != NULL ? indices[i] : i;
    if (chunk < 0 || chunk >= chunks->count)
      return error_set(error, CAROM_INVALID_ARGUMENT, "carom_model_loss: no chunk %d of %d", chunk,
                       chunks->count);
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
  network_potential_refresh(&m->potential);
  return CAROM_OK;
}

carom_status carom_model_loss(carom_model *m, const carom_chunks *chunks, int count,
                              const int *indices, double *loss, double *gradient,
                              carom_report *report, carom_error *error) {
  carom_status status = check_chunks(m, chunks, count, indices, error);
  if (status != CAROM_OK) return status;
  predictor *p = &m->training;
  if (p->workers == NULL || p->options.steps != chunks->states - 1) {
    predictor_free(p);
    status = predictor_make(p, m, chunks->states - 1, true, error);
    if (status != CAROM_OK) return status;
  }
  status = reserve(p, m, count, gradient != NULL, error);
  if (status == CAROM_OK) status = take_parameters(m, error);
  if (status != CAROM_OK) return status;

  // each chunk is predicted from its first state
  size_t size = (size_t)m->system->coordinate_count;
  for (int i = 0; i < count; i++) {
    size_t at = chunk_at(chunks, indices, i, size);
    memcpy(p->x0 + (size_t)i * size, chunks->x + at, sizeof(double) * size);
    memcpy(p->v0 + (size_t)i * size, chunks->v + at, sizeof(double) * size);
  }
  int shards = (count + LEARN_SHARD - 1) / LEARN_SHARD;
  gemm_begin();
#pragma omp parallel for schedule(dynamic, 1) num_threads(p->thread_count)
  for (int shard = 0; shard < shards; shard++)
    run_shard(m, p, chunks, indices, shard, gradient != NULL);
  gemm_end();

  carom_report total = {0};
  for (int shard = 0; shard < shards && status == CAROM_OK; shard++) {
    report_merge(&total, &p->results[shard].report);
    status = shard_error(&p->results[shard], p->options.dt, error);
  }
  if (report != NULL) *report = total;
  if (status != CAROM_OK) return status;
  double sum = 0;
  for (int i = 0; i < count; i++) sum += p->losses[i];
  if (loss != NULL) *loss = sum;
  if (gradient != NULL) add_shards(m, p, shards, gradient);
  return error_clear(error);
}

/* ---- prediction ------------------------------------------------------------------------------ */

carom_status carom_model_predict(carom_model *m, int batch, int steps, const double *x0,
                                 const double *v0, double *x, double *v, uint8_t *contacts,
                                 carom_report *report, carom_error *error) {
  if (m == NULL || x0 == NULL || v0 == NULL || x == NULL || v == NULL || batch < 1 || steps < 0)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_model_predict: a pointer is NULL, the batch empty or steps negative");
  predictor p;
  carom_status status = predictor_make(&p, m, steps, false, error);
  if (status != CAROM_OK) return status;
  status = take_parameters(m, error);
  int shards = (batch + LEARN_SHARD - 1) / LEARN_SHARD;
  p.results = calloc((size_t)shards, sizeof(shard_result));
  if (status == CAROM_OK && p.results == NULL)
    status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d predictions", batch);
  if (status != CAROM_OK) {
    predictor_free(&p);
    return status;
  }
  p.shard_capacity = shards;
  p.job.batch = batch;
  p.job.x0 = x0;
  p.job.v0 = v0;
  p.job.x = x;
  p.job.v = v;
  p.job.contacts = contacts;
  gemm_begin();
#pragma omp parallel for schedule(dynamic, 1) num_threads(p.thread_count)
  for (int shard = 0; shard < shards; shard++) {
    int first = shard * LEARN_SHARD;
    int count = batch - first < LEARN_SHARD ? batch - first : LEARN_SHARD;
    shard_run(&p.job, first, count, &p.workers[omp_get_thread_num()], NULL, &p.results[shard], NULL,
              NULL);
  }
  gemm_end();
  carom_report total = {0};
  for (int shard = 0; shard < shards; shard++) {
    report_merge(&total, &p.results[shard].report);
    if (status == CAROM_OK) status = shard_error(&p.results[shard], p.options.dt, error);
  }
  if (report != NULL) *report = total;
  predictor_free(&p);
  return status == CAROM_OK ? error_clear(error) : status;
}

carom_status carom_model_potential(carom_model *m, int count, const double *x, double *value,
                                   carom_error *error) {
  if (m == NULL || x == NULL || value == NULL || count < 0)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_model_potential: a pointer is NULL or the count negative");
  arena scratch;
  arena_init(&scratch);
  gemm_begin();
  m->potential.base.value(&m->potential.base, &m->mechanics, count, x, value, &scratch);
  gemm_end();
  arena_free(&scratch);
  return error_clear(error);
}
