#include "learn/trainer.h"

#include "base/error.h"
#include "base/ranks.h"
#include "base/rng.h"
#include "base/size.h"
#include "learn/model.h"
#include "learn/options.h"
#include "learn/warm_start.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Streams of the seed that order the chunks; apart from those that draw data and parameters. */
static const uint64_t SHUFFLE_STREAM = (uint64_t)1 << 40;

/* ---- what a training needs ------------------------------------------------------------------- */

// the first number of x or v that is not finite, named by its place
static carom_status check_finite(const char *split, char array, const carom_chunks *chunks,
                                 const double *values, int width, carom_error *error) {
  const size_t count = (size_t)chunks->count * (size_t)chunks->states * (size_t)width;
  size_t at = 0;
  while (at < count && isfinite(values[at])) at++;
  if (at == count) return CAROM_OK;
  const size_t state = at / (size_t)width;
  return error_set(
      error, CAROM_INVALID_DATA,
      "%s chunk %zu, state %zu: coordinate %zu of %c is %s; training needs finite data", split,
      state / (size_t)chunks->states, state % (size_t)chunks->states, at % (size_t)width, array,
      isnan(values[at]) ? "NaN" : "infinite");
}

static carom_status check_chunks(const char *split, const carom_chunks *chunks, int width,
                                 carom_error *error) {
  if (chunks->count == 0) return CAROM_OK;
  if (chunks->count < 0 || chunks->states < 2 || chunks->x == NULL || chunks->v == NULL) {
    return error_set(
        error, CAROM_INVALID_DATA,
        "the %s chunks (%d of %d states) cannot be learned from: a chunk needs x and v of at least "
        "2 states",
        split, chunks->count, chunks->states);
  }
  carom_status status = check_finite(split, 'x', chunks, chunks->x, width, error);
  if (status == CAROM_OK) status = check_finite(split, 'v', chunks, chunks->v, width, error);
  return status;
}

static carom_status check_dataset(const carom_model *model, const carom_dataset *dataset,
                                  carom_error *error) {
  const double dt = model->options.dt;
  const int width = model->system->coordinate_count;
  if (dataset->train.count < 1)
    return error_set(error, CAROM_INVALID_DATA, "the data has no training chunks");
  if (!(dataset->dt > 0) || !isfinite(dataset->dt))
    return error_set(error, CAROM_INVALID_DATA, "the time step of the data is %g, must be positive",
                     dataset->dt);
  if (!(fabs(dataset->dt - dt) <= 1e-9 * dt)) {
    return error_set(error, CAROM_INVALID_DATA,
                     "the data has the time step %.9g, the model %.9g; make the model with "
                     "options.dt = %.17g",
                     dataset->dt, dt, dataset->dt);
  }
  carom_status status = check_chunks("training", &dataset->train, width, error);
  if (status == CAROM_OK && model_sample_count(model, &dataset->train) > INT_MAX)
    status = error_set(error, CAROM_INVALID_DATA, "the training chunks have more than %d pairs",
                       INT_MAX);
  if (status == CAROM_OK) status = check_chunks("validation", &dataset->validation, width, error);
  return status;
}

// FNV-1a over whole words
static uint64_t hash_doubles(uint64_t hash, const double *values, size_t count) {
  for (size_t k = 0; k < count; k++) {
    uint64_t word;
    memcpy(&word, &values[k], sizeof word);
    hash = (hash ^ word) * 0x100000001B3u;
    hash ^= hash >> 32;
  }
  return hash;
}

static uint64_t hash_chunks(uint64_t hash, const carom_chunks *chunks, int width) {
  const double shape[] = {chunks->count, chunks->states, width};
  hash = hash_doubles(hash, shape, 3);
  if (chunks->count == 0) return hash;
  const size_t count = (size_t)chunks->count * (size_t)chunks->states * (size_t)width;
  return hash_doubles(hash_doubles(hash, chunks->x, count), chunks->v, count);
}

static uint64_t hash_dataset(const carom_model *model, const carom_dataset *dataset) {
  const int width = model->system->coordinate_count;
  uint64_t hash = hash_doubles(0xCBF29CE484222325u, &dataset->dt, 1);
  return hash_chunks(hash_chunks(hash, &dataset->train, width), &dataset->validation, width);
}

/* Memory that grows with the network: its parameters, the optimiser's moments and the gradient, copies
 * that a search keeps, a gradient for each shard of a batch. */
static carom_status check_memory(const carom_trainer_options *o, const carom_model_options *model,
                                 const carom_system *system, int chunks, bool made,
                                 carom_error *error) {
  const model_size size = model_size_of(model, system);
  // of a baseline's pairs there are more than chunks
  const bool whole = model->baseline == CAROM_BASELINE_NONE && chunks < o->batch;
  const int batch = whole ? chunks : o->batch;
  // each rank keeps those of its shards
  const int shards = ((batch - 1) / LEARN_SHARD) / carom_ranks_count() + 1;
  const size_t each = size_multiply(size.count, sizeof(double));
  const size_t optimizer = size_multiply(each, o->search_every > 0 ? 4 : 3);
  const size_t gradients = size_multiply(each, (size_t)shards);
  const size_t bytes = size_add(made ? 0 : size.bytes, size_add(optimizer, gradients));
  if (size_available(bytes)) return CAROM_OK;
  return error_set(error, CAROM_OUT_OF_MEMORY,
                   "training a network of %zu parameters needs %.3g GB: %.3g for the parameters, "
                   "%.3g for the optimiser, %.3g for the gradients of %d shards of a batch of %d; "
                   "take fewer units or layers, or a smaller batch",
                   size.count, size_gigabytes(bytes), size_gigabytes(size.bytes),
                   size_gigabytes(optimizer), size_gigabytes(gradients), shards, batch);
}

carom_status carom_trainer_options_check(const carom_trainer_options *options,
                                         const carom_model_options *model,
                                         const carom_system *system, int chunks,
                                         carom_error *error) {
  REQUIRE(options, error);
  REQUIRE(model, error);
  REQUIRE(system, error);
  if (chunks < 1)
    return error_set(error, CAROM_INVALID_ARGUMENT, "carom_trainer_options_check: %d chunks",
                     chunks);
  carom_status status = options_check(&trainer_option_table, options, error);
  if (status == CAROM_OK) status = carom_model_options_check(model, system, error);
  if (status == CAROM_OK) status = check_memory(options, model, system, chunks, false, error);
  return status == CAROM_OK ? error_clear(error) : status;
}

carom_status carom_trainer_create(carom_model *model, const carom_dataset *dataset,
                                  const carom_trainer_options *options, carom_trainer **trainer,
                                  carom_error *error) {
  if (trainer != NULL) *trainer = NULL;
  REQUIRE(model, error);
  REQUIRE(dataset, error);
  REQUIRE(options, error);
  REQUIRE(trainer, error);
  carom_status status = options_check(&trainer_option_table, options, error);
  if (status == CAROM_OK) status = check_dataset(model, dataset, error);
  if (status == CAROM_OK)
    status =
        check_memory(options, &model->options, model->system, dataset->train.count, true, error);
  if (status != CAROM_OK) return status;
  const int size = model->parameter_count;
  carom_trainer *t = calloc(1, sizeof *t);
  if (t != NULL) {
    *t = (carom_trainer){.model = model, .dataset = dataset, .options = *options};
    t->state.best_loss = INFINITY;
    t->data_hash = hash_dataset(model, dataset);
    t->samples = (int)model_sample_count(model, &dataset->train);
    t->order = malloc(sizeof(int) * (size_t)t->samples);
    t->gradient = size_allocate((size_t)size, sizeof(double));
  }
  if (t == NULL || t->order == NULL || t->gradient == NULL || !adamw_init(&t->optimizer, size)) {
    carom_trainer_destroy(t);
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory to train %d parameters", size);
  }
  if (options->estimate_states) {
    status =
        model_takes_pairs(model)
            ? error_set(error, CAROM_INVALID_ARGUMENT,
                        "estimate_states: %s is trained on pairs of states and has no first "
                        "states of chunks to estimate",
                        carom_model_options_name(&model->options))
            : states_begin(&t->estimated, model->system, dataset, options->noise_deviation, error);
    if (status != CAROM_OK) {
      carom_trainer_destroy(t);
      return status;
    }
  }
  *trainer = t;
  return error_clear(error);
}

void carom_trainer_destroy(carom_trainer *trainer) {
  if (trainer == NULL) return;
  adamw_free(&trainer->optimizer);
  states_free(&trainer->estimated);
  free(trainer->search.moves);
  free(trainer->order);
  free(trainer->gradient);
  free(trainer);
}

/* ---- order and rate -------------------------------------------------------------------------- */

int trainer_batch_count(const carom_trainer *t) { return (t->samples - 1) / t->options.batch + 1; }

/* rate_k = rate (f + (1 - f) (1 + cos(pi (k - 1) / (K - 1))) / 2), f = final_rate, k = 1 .. K */
double trainer_rate(const carom_trainer_options *o, int epoch) {
  if (o->schedule == CAROM_CONSTANT || o->epochs < 2) return o->learning_rate;
  // an epoch beyond the planned ones keeps the last rate
  const int last = o->epochs - 1, at = epoch - 1 < last ? epoch - 1 : last;
  const double fall = 0.5 * (1.0 + cos(M_PI * at / last));
  return o->learning_rate * (o->final_rate + (1.0 - o->final_rate) * fall);
}

/* A training that AdamW's full rate has brought to this loss goes on at the full rate; one that begins
 * below it with steps as much smaller. */
static const double USUAL_LOSS = 1e-2;

double trainer_slowing(const carom_trainer *t) {
  const carom_warm_start *w = &t->state.warm;
  if (!w->kept) return 1;
  const double loss = t->dataset->validation.count > 0 ? w->validation_after : w->loss_after;
  return loss < USUAL_LOSS ? loss / USUAL_LOSS : 1;
}

// the rate of the epoch under way
static double rate_now(const carom_trainer *t) {
  return trainer_slowing(t) * trainer_rate(&t->options, t->state.epochs_done + 1);
}

void trainer_shuffle(uint64_t seed, int epoch, int count, int *order) {
  rng r;
  rng_seed(&r, seed, SHUFFLE_STREAM + (uint64_t)epoch);
  // Fisher and Yates, inside out
  for (int i = 0; i < count; i++) {
    const int j = rng_below(&r, i + 1);
    order[i] = order[j];
    order[j] = i;
  }
}

/* ---- one step -------------------------------------------------------------------------------- */

// the array that an entry of the gradient belongs to
static carom_array_info array_at(const carom_model *model, int entry) {
  for (int k = 0; k < model->array_count; k++) {
    const carom_array_info s = model->arrays[k];
    if (entry >= s.offset && entry < s.offset + s.rows * s.columns) return s;
  }
  return (carom_array_info){.name = "parameter"};
}

static carom_status check_gradient(const carom_trainer *t, double loss, carom_error *error) {
  if (!isfinite(loss)) {
    return error_set(error, CAROM_NUMERICAL_FAILURE, "the loss is %g", loss);
  }
  for (int i = 0; i < t->optimizer.size; i++) {
    if (isfinite(t->gradient[i])) continue;
    const carom_array_info s = array_at(t->model, i);
    return error_set(error, CAROM_NUMERICAL_FAILURE,
                     "the gradient by %s[%d] is %g (the loss is %g)", s.name, i - s.offset,
                     t->gradient[i], loss);
  }
  return CAROM_OK;
}

static double norm(const double *values, int count) {
  double sum = 0.0;
  for (int i = 0; i < count; i++) sum += values[i] * values[i];
  return sqrt(sum);
}

// the chunks of a split, predicted from estimated states where there are such
static observations training_chunks(const carom_trainer *t) {
  return t->estimated.on ? states_observe(&t->estimated, &t->estimated.train)
                         : observations_of(&t->dataset->train);
}
static observations validation_chunks(const carom_trainer *t) {
  return t->estimated.on ? states_observe(&t->estimated, &t->estimated.validation)
                         : observations_of(&t->dataset->validation);
}

// whether chunks with a contact are weighed
static bool weighs_contacts(const carom_trainer *t) {
  const carom_balance how = t->options.balance;
  return !t->estimated.on && !model_takes_pairs(t->model) && t->dataset->train.contact != NULL &&
         (how == CAROM_BALANCE_ALWAYS || (how == CAROM_BALANCE_MEASURED && !t->dataset->simulated));
}

// loss, gradient and update; nothing has changed unless it returns CAROM_OK
static carom_status take_step(carom_trainer *t, int count, const int *indices, double rate,
                              double *loss, carom_report *report, carom_error *error) {
  *report = (carom_report){0};
  observations observed = training_chunks(t);
  observed.contact_weight = t->state.contact_weight;
  carom_status status =
      observations_loss(t->model, &observed, count, indices, loss, t->gradient, report, error);
  if (status == CAROM_OK) status = check_gradient(t, *loss, error);
  if (status != CAROM_OK) return status;
  const carom_trainer_options *o = &t->options;
  const carom_model *m = t->model;
  const int elastic = m->constant >= 0 ? 2 * m->potential.elastic_count : 0;
  // a step is as long as the rate, however large the parameter: what the potential is proportional to would
  // be shaken where a search has made masses and potential small
  const potential_parts scaled = model_potential_parts(m);
  const double scale = model_mass_scale(m);
  const adamw_part parts[2] = {{scaled.starts[0], scaled.counts[0], scale},
                               {scaled.starts[1], scaled.counts[1], scale}};
  // masses, contact properties and the elasticity stand before the weights
  const adamw_options how = {.rate = rate,
                             .first_count = m->network + elastic,
                             .first_rate = rate * o->property_rate,
                             .part_count = scale < 1 ? 2 : 0,
                             .parts = parts,
                             .beta1 = o->beta1,
                             .beta2 = o->beta2,
                             .epsilon = o->epsilon,
                             .weight_decay = o->weight_decay,
                             .threads = m->training.batch.thread_count};
  // the bias of the potential's output layer adds a constant to it: there is nothing to learn about it,
  // and it does not decay
  const double kept = m->constant >= 0 ? m->parameters[m->constant] : 0;
  adamw_step(&t->optimizer, &how, t->gradient, m->parameters);
  if (m->constant >= 0) m->parameters[m->constant] = kept;
  return CAROM_OK;
}

static carom_status check_indices(const carom_trainer *t, int count, const int *indices,
                                  carom_error *error) {
  const int most = t->samples;
  if (count < 1 || (indices == NULL && count > most)) {
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_trainer_step: count is %d, must be from 1 to %d", count, most);
  }
  for (int k = 0; indices != NULL && k < count; k++) {
    if (indices[k] >= 0 && indices[k] < most) continue;
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_trainer_step: indices[%d] is %d, there are %d training %s", k,
                     indices[k], most, model_takes_pairs(t->model) ? "pairs" : "chunks");
  }
  return CAROM_OK;
}

carom_status carom_trainer_step(carom_trainer *trainer, int count, const int *indices, double *loss,
                                carom_error *error) {
  REQUIRE(trainer, error);
  carom_status status = check_indices(trainer, count, indices, error);
  if (status != CAROM_OK) return status;
  const double rate = rate_now(trainer);
  double value;
  carom_report report;
  status = take_step(trainer, count, indices, rate, &value, &report, error);
  if (status != CAROM_OK) return status;
  if (loss != NULL) *loss = value;
  return error_clear(error);
}

/* ---- epochs ---------------------------------------------------------------------------------- */

// what to do about numbers that are not finite, behind the message
static carom_status advise(carom_status status, carom_error *error) {
  if (status != CAROM_NUMERICAL_FAILURE || error == NULL) return status;
  const size_t used = strlen(error->message);
  snprintf(error->message + used, sizeof error->message - used,
           "; the training diverges: try a smaller learning rate");
  return status;
}

// tells how many batches of the whole training are done; false: stop
static bool report_progress(const carom_trainer *t) {
  if (t->options.progress == NULL) return true;
  const int64_t each = trainer_batch_count(t);
  const bool go_on = t->options.progress(t->options.progress_user,
                                         each * t->state.epochs_done + t->state.batches_done,
                                         each * t->options.epochs);
  return ranks_all(go_on);
}

// the next batch of the epoch under way
static carom_status epoch_batch(carom_trainer *t, double rate, carom_error *error) {
  training_state *s = &t->state;
  const int first = s->batches_done * t->options.batch, left = t->samples - first;
  const int count = left < t->options.batch ? left : t->options.batch;
  double loss;
  carom_report report;
  carom_status status = take_step(t, count, t->order + first, rate, &loss, &report, error);
  if (status != CAROM_OK) {
    error_prefix(error, "epoch %d, batch %d of %d", s->epochs_done + 1, s->batches_done + 1,
                 trainer_batch_count(t));
    return advise(status, error);
  }
  s->loss_sum += loss * count;
  if (weighs_contacts(t))
    kind_losses_add(&s->kinds, &t->dataset->train, count, t->order + first,
                    t->model->training.losses, count);
  s->gradient_norm = norm(t->gradient, t->optimizer.size);
  carom_report_add(&s->report, &report);
  s->batches_done++;
  return CAROM_OK;
}

// the search that stands before an epoch, once
static carom_status epoch_search(carom_trainer *t, carom_error *error) {
  training_state *s = &t->state;
  const int every = t->options.search_every;
  const bool nothing = t->model->friction < 0;
  if (nothing || every == 0 || s->batches_done > 0 || s->epochs_done == 0 ||
      s->epochs_done % every != 0)
    return CAROM_OK;
  free(t->search.moves);
  const observations observed = training_chunks(t);
  carom_status status = property_search_run(t->model, &observed, &t->optimizer, &t->search, error);
  if (status != CAROM_OK) {
    error_prefix(error, "search before epoch %d", s->epochs_done + 1);
    return advise(status, error);
  }
  s->moves = t->search.count;
  if (s->moves == 0) return CAROM_OK;
  s->search_loss_before = t->search.loss_before;
  s->search_loss_after = t->search.loss_after;
  return CAROM_OK;
}

// the pass over first states that stands before an epoch, once
static carom_status epoch_states(carom_trainer *t, carom_error *error) {
  const training_state *s = &t->state;
  if (!t->estimated.on || s->batches_done > 0 || s->epochs_done % t->options.states_every != 0)
    return CAROM_OK;
  carom_status status =
      states_improve(&t->estimated, t->model, t->options.seed, s->epochs_done, error);
  if (status != CAROM_OK) error_prefix(error, "states before epoch %d", s->epochs_done + 1);
  return status;
}

static carom_status epoch_batches(carom_trainer *t, double rate, carom_error *error) {
  training_state *s = &t->state;
  carom_status status = epoch_states(t, error);
  if (status == CAROM_OK) status = epoch_search(t, error);
  if (status != CAROM_OK) return status;
  trainer_shuffle(t->options.seed, s->epochs_done + 1, t->samples, t->order);
  while (s->batches_done < trainer_batch_count(t)) {
    status = epoch_batch(t, rate, error);
    if (status != CAROM_OK) return status;
    if (report_progress(t)) continue;
    return error_set(error, CAROM_INTERRUPTED, "stopped by the progress callback in epoch %d",
                     s->epochs_done + 1);
  }
  return CAROM_OK;
}

// mean loss of the validation chunks, taken in batches; NaN if there are none
static carom_status validate(carom_trainer *t, double *loss, carom_report *report,
                             carom_error *error) {
  const observations all = validation_chunks(t);
  const int chunks = all.chunks.count;
  double sum = 0.0;
  for (int first = 0, count; first < chunks; first += count) {
    count = chunks - first < t->options.batch ? chunks - first : t->options.batch;
    observations part = observations_from(&all, t->model->system->coordinate_count, first);
    part.chunks.count = count;
    double value = NAN;
    carom_report one = {0};
    const int samples = (int)model_sample_count(t->model, &part.chunks);
    carom_status status =
        observations_loss(t->model, &part, samples, NULL, &value, NULL, &one, error);
    if (status == CAROM_OK && !isfinite(value)) {
      status = error_set(error, CAROM_NUMERICAL_FAILURE, "the loss is %g", value);
    }
    if (status != CAROM_OK) {
      error_prefix(error, "epoch %d, validation", t->state.epochs_done + 1);
      return advise(status, error);
    }
    sum += value * count;
    carom_report_add(report, &one);
  }
  *loss = chunks > 0 ? sum / chunks : NAN;
  return CAROM_OK;
}

// the same steps on every rank have led to the same parameters, or something is wrong with one
static carom_status compare_ranks(const carom_trainer *t, carom_error *error) {
  const carom_model *m = t->model;
  if (ranks_same(m->parameters, sizeof(double) * (size_t)m->parameter_count)) return CAROM_OK;
  return error_set(error, CAROM_NUMERICAL_FAILURE,
                   "after epoch %d the ranks do not have the same parameters: their processors "
                   "compute differently; use machines of one kind",
                   t->state.epochs_done + 1);
}

/* By how much the loss of an epoch may be above the lowest and still be as good. Without noise nothing is. With
 * noise the loss of so many numbers, a mean of squares of normal ones, has a standard error, and the lowest of
 * hundreds of epochs is low by luck, while later epochs, at lower rates, are nearer to the minimum: the rule of
 * one standard error (Breiman and others). */
static double best_margin(const carom_trainer *t) {
  if (!t->estimated.on) return 0;
  const carom_chunks *chunks =
      t->dataset->validation.count > 0 ? &t->dataset->validation : &t->dataset->train;
  return sqrt(2.0 / ((double)chunks->count * chunks->states * t->estimated.shape.size));
}

// closes the epoch under way: the state is that of the next one's beginning
static void finish_epoch(carom_trainer *t, carom_epoch *result) {
  training_state *s = &t->state;
  result->epoch = s->epochs_done + 1;
  result->loss = s->loss_sum / t->samples;
  result->gradient_norm = s->gradient_norm;
  result->moves = s->moves;
  result->search_loss_before = s->moves > 0 ? s->search_loss_before : NAN;
  result->search_loss_after = s->moves > 0 ? s->search_loss_after : NAN;
  carom_report_add(&result->report, &s->report);
  const bool validated = t->dataset->validation.count > 0;
  const double judged = validated ? result->validation_loss : result->loss;
  const double lowest = s->lowest_epoch > 0 ? s->lowest_loss : s->best_loss;
  const bool lower = judged < lowest;
  result->best = lower || judged < lowest + best_margin(t);
  *s = (training_state){.epochs_done = result->epoch,
                        .warm = s->warm,
                        .contact_weight = weighs_contacts(t) ? contact_weight(&s->kinds) : 0,
                        .best_loss = result->best ? judged : s->best_loss,
                        .best_epoch = result->best ? result->epoch : s->best_epoch,
                        .lowest_loss = lower ? judged : lowest,
                        .lowest_epoch = lower                 ? result->epoch
                                        : s->lowest_epoch > 0 ? s->lowest_epoch
                                                              : s->best_epoch};
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

carom_status carom_trainer_epoch(carom_trainer *trainer, carom_epoch *result, carom_error *error) {
  REQUIRE(trainer, error);
  const double start = seconds_now();
  carom_epoch made = {.learning_rate = rate_now(trainer)};
  carom_status status = epoch_batches(trainer, made.learning_rate, error);
  if (status == CAROM_OK) status = validate(trainer, &made.validation_loss, &made.report, error);
  if (status == CAROM_OK) status = compare_ranks(trainer, error);
  if (status != CAROM_OK) return status;
  finish_epoch(trainer, &made);
  made.seconds = seconds_now() - start;
  if (result != NULL) *result = made;
  return error_clear(error);
}

/* ---- the warm start -------------------------------------------------------------------------- */

/* Before anything was trained. Estimated states are the trainer's to move, not data. */
static bool warm_start_due(const carom_trainer *t) {
  const training_state *s = &t->state;
  return !s->warm.done && s->epochs_done == 0 && s->batches_done == 0 && t->optimizer.steps == 0 &&
         !t->estimated.on && warm_start_possible(t->model);
}

carom_status carom_trainer_warm_start(carom_trainer *trainer, carom_warm_start *result,
                                      carom_error *error) {
  REQUIRE(trainer, error);
  training_state *s = &trainer->state;
  if (warm_start_due(trainer)) {
    const double start = seconds_now();
    const warm_work work = {
        .progress = trainer->options.progress,
        .user = trainer->options.progress_user,
        .batches = (int64_t)trainer_batch_count(trainer) * trainer->options.epochs};
    carom_warm_start made;
    carom_status status =
        warm_start_run(trainer->model, trainer->dataset, &trainer->optimizer, &work, &made, error);
    if (status != CAROM_OK) {
      error_prefix(error, "warm start");
      return status;
    }
    made.done = true;
    made.seconds = seconds_now() - start;
    s->warm = made;
    const bool validated = trainer->dataset->validation.count > 0;
    if (made.kept) s->best_loss = validated ? made.validation_after : made.loss_after;
  }
  if (result != NULL) *result = s->warm;
  return error_clear(error);
}

/* ---- all epochs ------------------------------------------------------------------------------ */

static bool within_tolerance(const carom_trainer *t) {
  return t->options.tolerance > 0 && t->state.best_loss <= t->options.tolerance;
}

/* Whether as many epochs as the training has patience for have passed since the lowest loss. */
static bool stands_still(const carom_trainer *t) {
  const training_state *s = &t->state;
  const int last = s->lowest_epoch > 0 ? s->lowest_epoch : s->best_epoch;
  return t->options.patience > 0 && s->epochs_done - last >= t->options.patience;
}

carom_status carom_trainer_run(carom_trainer *trainer, carom_epoch_callback callback, void *user,
                               carom_error *error) {
  REQUIRE(trainer, error);
  if (trainer->options.warm_start) {
    carom_status status = carom_trainer_warm_start(trainer, NULL, error);
    if (status != CAROM_OK) return status;
  }
  while (trainer->state.epochs_done < trainer->options.epochs && !stands_still(trainer) &&
         !within_tolerance(trainer)) {
    carom_epoch result;
    carom_status status = carom_trainer_epoch(trainer, &result, error);
    if (status != CAROM_OK) return status;
    if (callback != NULL && !ranks_all(callback(user, &result))) {
      return error_set(error, CAROM_INTERRUPTED, "stopped by the callback after epoch %d",
                       result.epoch);
    }
  }
  return error_clear(error);
}

carom_trainer_info carom_trainer_describe(const carom_trainer *trainer) {
  if (trainer == NULL) return (carom_trainer_info){.best_loss = INFINITY};
  const training_state *s = &trainer->state;
  return (carom_trainer_info){.epochs_done = s->epochs_done,
                              .batches_done = s->batches_done,
                              .batches = trainer_batch_count(trainer),
                              .best_epoch = s->best_epoch,
                              .best_loss = s->best_loss,
                              .warm_start = s->warm,
                              .within_tolerance = within_tolerance(trainer),
                              .position_noise = trainer->estimated.noise.position,
                              .velocity_noise = trainer->estimated.noise.velocity,
                              .noise_scale = trainer->estimated.noise.scale,
                              .contact_weight = s->contact_weight,
                              .stands_still = stands_still(trainer)};
}

const carom_move *carom_trainer_moves(const carom_trainer *trainer, int *count) {
  const bool any = trainer != NULL && trainer->search.count > 0;
  if (count != NULL) *count = any ? trainer->search.count : 0;
  return any ? trainer->search.moves : NULL;
}

carom_status carom_trainer_states(const carom_trainer *trainer, carom_split split, const double **x,
                                  const double **v, carom_error *error) {
  if (x != NULL) *x = NULL;
  if (v != NULL) *v = NULL;
  REQUIRE(trainer, error);
  REQUIRE(x, error);
  REQUIRE(v, error);
  if (split != CAROM_TRAIN && split != CAROM_VALIDATION)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_trainer_states: the chunks of split %d are not trained or validated on",
                     (int)split);
  const state_estimates *estimates =
      split == CAROM_TRAIN ? &trainer->estimated.train : &trainer->estimated.validation;
  *x = estimates->x;
  *v = estimates->v;
  return error_clear(error);
}
