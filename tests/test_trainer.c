/* Training: the optimiser against numbers by hand, rates, the order of the chunks, epochs, stopping
 * and going on in memory, and what happens to numbers that are not finite. */
#include "learn/model.h"
#include "learn/trainer.h"
#include "support/data_fixture.h"
#include "support/messages.h"
#include "support/systems.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TRAIN = 11, VALIDATION = 5, BATCH = 4, BATCHES = 3, EPOCHS = 3 };

static int set_up(void **state) {
  carom_system *system = load_system("cp3");
  carom_dataset_options options = carom_dataset_default_options(system);
  options.train = TRAIN;
  options.validation = VALIDATION;
  options.test = 1;
  options.steps = 30;
  options.threads = 1;
  return data_fixture_make(system, options, state);
}

static carom_model_options model_options(const data_fixture *f) {
  carom_model_options options = carom_model_default_options(f->system);
  options.hidden_layers = 2;
  options.hidden_size = 8;
  options.single_precision = false; // sums in another order agree to the last bits
  options.threads = 1;
  options.seed = 3;
  return options;
}

static carom_model *make_model(const data_fixture *f) {
  const carom_model_options options = model_options(f);
  carom_model *model;
  assert_int_equal(carom_model_create(f->system, &options, &model, NULL), CAROM_OK);
  return model;
}

static int segment_offset(const carom_model *model, const char *name) {
  for (int k = 0; k < carom_model_describe(model).array_count; k++) {
    const carom_array_info s = carom_model_array(model, k);
    if (strcmp(s.name, name) == 0) return s.offset;
  }
  fail_msg("no segment %s", name);
  return -1;
}

static carom_trainer_options train_options(void) {
  carom_trainer_options options = carom_trainer_paper_options();
  options.epochs = EPOCHS;
  options.batch = BATCH;
  options.seed = 5;
  return options;
}

static carom_trainer *make_trainer(const data_fixture *f, carom_model *model,
                                   const carom_trainer_options *options) {
  carom_trainer *trainer;
  carom_error error = {0};
  if (carom_trainer_create(model, f->data, options, &trainer, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  return trainer;
}

static void assert_same_parameters(carom_model *a, carom_model *b) {
  const size_t count = (size_t)carom_model_describe(a).parameter_count;
  assert_memory_equal(carom_model_parameters(a), carom_model_parameters(b), count * sizeof(double));
}

/* ---- the optimiser --------------------------------------------------------------------------- */

// three steps worked out with 40 digits
static void adamw_by_hand(void **state) {
  (void)state;
  const adamw_options options = {
      .rate = 0.1, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.01};
  const double gradients[] = {0.5, -0.25, 0.125};
  const double expected[] = {0.89900000199999996, 0.87146729870584616, 0.83655291761594812};
  adamw a;
  assert_true(adamw_init(&a, 1));
  double p = 1.0;
  for (int k = 0; k < 3; k++) {
    adamw_step(&a, &options, &gradients[k], &p);
    assert_near(p, expected[k], 1e-15);
  }
  assert_int_equal(a.steps, 3);
  assert_near(a.m[0], 0.0305, 1e-17);
  assert_near(a.v[0], 0.00032756275, 1e-18);
  adamw_free(&a);
}

// the first step has the length of the rate whatever the gradient; none moves by decay alone
static void adamw_scales(void **state) {
  (void)state;
  const adamw_options options = {
      .rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.5};
  const double gradient[] = {1e6, -1e-3, 0.0};
  double p[] = {0.0, 0.0, 2.0};
  adamw a;
  assert_true(adamw_init(&a, 3));
  adamw_step(&a, &options, gradient, p);
  assert_near(p[0], -1e-3, 1e-12);
  assert_near(p[1], 1e-3, 2e-8);
  assert_near(p[2], 2.0 * (1.0 - 5e-4), 1e-15);
  adamw_free(&a);
}

// parts have their own rates, whatever stands before, between and behind them
static void adamw_parts(void **state) {
  (void)state;
  enum { COUNT = 8 };
  const adamw_part parts[] = {{1, 2, 0.5}, {5, 1, 0.01}};
  adamw_options options = {.rate = 1e-3,
                           .beta1 = 0.9,
                           .beta2 = 0.999,
                           .epsilon = 1e-12,
                           .first_count = 2,
                           .first_rate = 1e-2,
                           .part_count = 2,
                           .parts = parts};
  const double gradient[COUNT] = {1, 2, 3, 4, 5, 6, 7, 8};
  const double rates[COUNT] = {1e-2, 5e-3, 5e-4, 1e-3, 1e-3, 1e-5, 1e-3, 1e-3};
  double p[COUNT] = {0};
  adamw a;
  assert_true(adamw_init(&a, COUNT));
  adamw_step(&a, &options, gradient, p);
  for (int k = 0; k < COUNT; k++) assert_near(p[k], -rates[k], 1e-11);
  assert_int_equal(a.steps, 1);
  adamw_free(&a);
}

// what the first step changes, with properties that learn at `rate` times the learning rate
static double *first_step(const data_fixture *f, double rate, int *count, int *network) {
  carom_model *model = make_model(f);
  carom_trainer_options options = train_options();
  options.property_rate = rate;
  options.weight_decay = 0.0;
  carom_trainer *trainer = make_trainer(f, model, &options);
  *count = carom_model_describe(model).parameter_count;
  double *moved = calloc((size_t)*count, sizeof(double));
  for (int k = 0; k < *count; k++) moved[k] = -carom_model_parameters(model)[k];
  assert_int_equal(carom_trainer_step(trainer, TRAIN, NULL, NULL, NULL), CAROM_OK);
  for (int k = 0; k < *count; k++) moved[k] += carom_model_parameters(model)[k];
  *network = segment_offset(model, "weight0");
  carom_trainer_destroy(trainer);
  carom_model_destroy(model);
  return moved;
}

// properties move by their factor further, the network as ever
static void property_rate(void **state) {
  data_fixture *f = *state;
  const double factor = 7.0;
  int count, network = 0, moving = 0;
  double *plain = first_step(f, 1.0, &count, &network);
  double *fast = first_step(f, factor, &count, &network);
  for (int k = 0; k < count; k++) {
    if (k < network && plain[k] != 0.0) moving++;
    assert_near(fast[k], (k < network ? factor : 1.0) * plain[k], 1e-15);
  }
  // masses, friction and restitution have a gradient here
  assert_true(moving >= 5);
  free(plain);
  free(fast);
}

/* ---- rates and order ------------------------------------------------------------------------- */

static void rates(void **state) {
  (void)state;
  carom_trainer_options o = carom_trainer_paper_options();
  o.epochs = 5;
  for (int epoch = 1; epoch <= 5; epoch++) assert_true(trainer_rate(&o, epoch) == 1e-3);
  o.schedule = CAROM_COSINE;
  o.final_rate = 0.2;
  assert_near(trainer_rate(&o, 1), 1e-3, 1e-18);
  assert_near(trainer_rate(&o, 3), 0.6e-3, 1e-18);
  assert_near(trainer_rate(&o, 5), 0.2e-3, 1e-18);
  for (int epoch = 1; epoch < 5; epoch++)
    assert_true(trainer_rate(&o, epoch) > trainer_rate(&o, epoch + 1));
  // beyond the end, and in a training of one epoch
  assert_near(trainer_rate(&o, 9), 0.2e-3, 1e-18);
  o.epochs = 1;
  assert_true(trainer_rate(&o, 1) == 1e-3);
}

static void shuffles(void **state) {
  (void)state;
  enum { COUNT = 200 };
  int order[4][COUNT], seen[COUNT] = {0};
  trainer_shuffle(1, 1, COUNT, order[0]);
  trainer_shuffle(1, 1, COUNT, order[1]);
  trainer_shuffle(1, 2, COUNT, order[2]);
  trainer_shuffle(2, 1, COUNT, order[3]);
  assert_memory_equal(order[0], order[1], sizeof order[0]);
  assert_memory_not_equal(order[0], order[2], sizeof order[0]);
  assert_memory_not_equal(order[0], order[3], sizeof order[0]);
  // every chunk once
  for (int k = 0; k < COUNT; k++) seen[order[0][k]]++;
  for (int k = 0; k < COUNT; k++) assert_int_equal(seen[k], 1);
}

// each of the 6 orders of three chunks comes about equally often
static void shuffles_evenly(void **state) {
  (void)state;
  enum { TRIES = 6000 };
  int counts[27] = {0}, orders = 0;
  for (int epoch = 0; epoch < TRIES; epoch++) {
    int order[3];
    trainer_shuffle(7, epoch, 3, order);
    counts[order[0] * 9 + order[1] * 3 + order[2]]++;
  }
  for (int k = 0; k < 27; k++) {
    if (counts[k] == 0) continue;
    orders++;
    assert_in_range(counts[k], 850, 1150);
  }
  assert_int_equal(orders, 6);
}

/* ---- epochs ---------------------------------------------------------------------------------- */

// with a rate that changes nothing an epoch's losses are those of all chunks, each counted once
static void epoch_covers_the_data(void **state) {
  data_fixture *f = *state;
  carom_model *model = make_model(f);
  carom_trainer_options options = train_options();
  options.learning_rate = 1e-200;
  carom_trainer *trainer = make_trainer(f, model, &options);
  assert_int_equal(trainer_batch_count(trainer), BATCHES);
  carom_epoch epoch;
  assert_int_equal(carom_trainer_epoch(trainer, &epoch, NULL), CAROM_OK);
  double loss, validation;
  carom_report reports[2];
  carom_model_loss(model, &f->data->train, TRAIN, NULL, &loss, NULL, &reports[0], NULL);
  carom_model_loss(model, &f->data->validation, VALIDATION, NULL, &validation, NULL, &reports[1],
                   NULL);
  assert_near(epoch.loss, loss, 1e-13);
  assert_near(epoch.validation_loss, validation, 1e-13);
  assert_int_equal(epoch.epoch, 1);
  assert_true(epoch.best && epoch.gradient_norm > 0.0 && epoch.seconds >= 0.0);
  assert_int_equal(epoch.report.time_steps, reports[0].time_steps + reports[1].time_steps);
  assert_int_equal(epoch.report.events, reports[0].events + reports[1].events);
  assert_int_equal(epoch.report.failed_programs, 0);
  carom_trainer_destroy(trainer);
  carom_model_destroy(model);
}

// an epoch is its batches, in the order of (seed, epoch)
static void epoch_is_steps(void **state) {
  data_fixture *f = *state;
  carom_model *models[2] = {make_model(f), make_model(f)};
  const carom_trainer_options options = train_options();
  carom_trainer *whole = make_trainer(f, models[0], &options);
  carom_trainer *steps = make_trainer(f, models[1], &options);
  assert_int_equal(carom_trainer_epoch(whole, NULL, NULL), CAROM_OK);
  int order[TRAIN];
  trainer_shuffle(options.seed, 1, TRAIN, order);
  for (int first = 0; first < TRAIN; first += BATCH) {
    const int count = TRAIN - first < BATCH ? TRAIN - first : BATCH;
    double loss;
    assert_int_equal(carom_trainer_step(steps, count, order + first, &loss, NULL), CAROM_OK);
    assert_true(isfinite(loss));
  }
  assert_same_parameters(models[0], models[1]);
  assert_int_equal(steps->optimizer.steps, BATCHES);
  assert_int_equal(carom_trainer_describe(steps).epochs_done, 0);
  assert_int_equal(carom_trainer_describe(whole).epochs_done, 1);
  carom_trainer_destroy(whole);
  carom_trainer_destroy(steps);
  carom_model_destroy(models[0]);
  carom_model_destroy(models[1]);
}

/* What the callback saw. */
typedef struct history {
  int count;
  int stop_after; /* 0: never */
  carom_epoch epochs[64];
} history;

static bool remember(void *user, const carom_epoch *epoch) {
  history *h = user;
  h->epochs[h->count++] = *epoch;
  return h->count != h->stop_after;
}

static void run_learns_and_tracks_the_best(void **state) {
  data_fixture *f = *state;
  carom_model *model = make_model(f);
  carom_trainer_options options = train_options();
  options.epochs = 20;
  options.learning_rate = 0.02;
  options.schedule = CAROM_COSINE;
  carom_trainer *trainer = make_trainer(f, model, &options);
  history h = {0};
  assert_int_equal(carom_trainer_run(trainer, remember, &h, NULL), CAROM_OK);
  assert_int_equal(h.count, 20);
  double best = INFINITY;
  for (int k = 0; k < h.count; k++) {
    assert_int_equal(h.epochs[k].epoch, k + 1);
    assert_true(h.epochs[k].learning_rate == trainer_rate(&options, k + 1));
    assert_int_equal(h.epochs[k].best, h.epochs[k].validation_loss < best);
    best = fmin(best, h.epochs[k].validation_loss);
  }
  assert_true(trainer->state.best_loss == best);
  assert_true(h.epochs[19].loss < 0.7 * h.epochs[0].loss);
  // nothing is left to do
  assert_int_equal(carom_trainer_run(trainer, remember, &h, NULL), CAROM_OK);
  assert_int_equal(h.count, 20);
  carom_trainer_destroy(trainer);
  carom_model_destroy(model);
}

static void without_validation(void **state) {
  data_fixture *f = *state;
  carom_model *model = make_model(f);
  carom_dataset data = *f->data;
  data.validation = (carom_chunks){0};
  const carom_trainer_options options = train_options();
  carom_trainer *trainer;
  assert_int_equal(carom_trainer_create(model, &data, &options, &trainer, NULL), CAROM_OK);
  carom_epoch epoch;
  assert_int_equal(carom_trainer_epoch(trainer, &epoch, NULL), CAROM_OK);
  assert_true(isnan(epoch.validation_loss) && epoch.best);
  assert_true(trainer->state.best_loss == epoch.loss);
  carom_trainer_destroy(trainer);
  carom_model_destroy(model);
}

/* ---- chunks with a contact ------------------------------------------------------------------- */

// training chunks with a contact, or without; their number
static int of_kind(const data_fixture *f, bool touching, int *indices) {
  const carom_chunks *c = &f->data->train;
  int count = 0;
  for (int i = 0; i < c->count; i++) {
    bool touches = false;
    for (int k = 1; k < c->states; k++) touches = touches || c->contact[i * c->states + k];
    if (touches == touching) indices[count++] = i;
  }
  return count;
}

// weights of a chunk with a contact in the gradient by a parameter; 0: it depends
static double weight_of(const carom_model *model, int parameter) {
  for (int k = 0; k < carom_model_describe(model).array_count; k++) {
    const carom_array_info s = carom_model_array(model, k);
    if (parameter < s.offset || parameter >= s.offset + s.rows * s.columns) continue;
    if (strcmp(s.name, "friction") == 0 || strcmp(s.name, "restitution") == 0) return 1;
    return s.offset >= segment_offset(model, "weight0") ? 0.125 : 0;
  }
  return 0;
}

// of a gradient along a common factor of masses and potential, which no motion depends on
static double along_scale(const carom_model *model, const double *gradient) {
  const potential_parts parts = model_potential_parts(model);
  double sum = 0;
  for (int k = 0; k < 2; k++)
    for (int i = parts.starts[k]; i < parts.starts[k] + parts.counts[k]; i++)
      sum += gradient[i] * model->parameters[i];
  // masses are logarithms, and all that stand before the next array
  for (int i = segment_offset(model, "mass"); i < segment_offset(model, "friction"); i++)
    sum += gradient[i];
  return sum;
}

/* The gradient of both kinds is the sum of theirs, one of them weighed in what is the potential's and not in what contacts
 * alone tell; the loss is that of all alike. */
static void check_weights(const data_fixture *f, carom_contact_time when) {
  carom_model_options options = model_options(f);
  options.contact_time = when;
  carom_model *model;
  assert_int_equal(carom_model_create(f->system, &options, &model, NULL), CAROM_OK);
  const int size = carom_model_describe(model).parameter_count;
  double *g[3], loss[3], largest = 0, of_mass = 0;
  for (int k = 0; k < 3; k++) g[k] = calloc((size_t)size, sizeof(double));
  int indices[TRAIN], touching = of_kind(f, true, indices);
  assert_in_range(touching, 1, TRAIN - 1);
  observations o = observations_of(&f->data->train);
  for (int k = 0; k < 2; k++) {
    const int count = of_kind(f, k == 0, indices);
    assert_int_equal(observations_loss(model, &o, count, indices, &loss[k], g[k], NULL, NULL), 0);
  }
  o.contact_weight = 0.125;
  enum { SEVERAL_SHARDS = 30 * TRAIN };
  int all[SEVERAL_SHARDS];
  for (int i = 0; i < SEVERAL_SHARDS; i++) all[i] = i % TRAIN;
  assert_int_equal(observations_loss(model, &o, SEVERAL_SHARDS, all, &loss[2], g[2], NULL, NULL),
                   0);
  const double share = (double)touching / TRAIN;
  assert_near(loss[2], share * loss[0] + (1 - share) * loss[1], 1e-14);
  for (int i = 0; i < size; i++) {
    const double weight = weight_of(model, i);
    if (weight == 0)
      of_mass = fmax(of_mass, fabs(g[2][i]));
    else
      assert_near(g[2][i], weight * share * g[0][i] + (1 - share) * g[1][i], 1e-13);
    largest = fmax(largest, fabs(g[0][i]));
  }
  assert_true(largest > 1e-3 && of_mass > 1e-4);
  assert_near(along_scale(model, g[2]), 0, 1e-12);
  for (int k = 0; k < 3; k++) free(g[k]);
  carom_model_destroy(model);
}

static void contacts_weigh(void **state) {
  check_weights(*state, CAROM_CONTACT_TIME_STEP);
  check_weights(*state, CAROM_CONTACT_TIME_EVENT);
}

/* At a rate that changes nothing the weight behind an epoch is that of the losses of both kinds. Data that carom simulated is
 * not weighed unless asked for, measured data is. */
static void contacts_weigh_by_their_losses(void **state) {
  data_fixture *f = *state;
  carom_dataset measured = *f->data;
  measured.simulated = false;
  for (int k = 0; k < 4; k++) {
    carom_model *model = make_model(f);
    carom_trainer_options options = train_options();
    options.learning_rate = 1e-300;
    options.weight_decay = 0;
    options.balance = k < 2    ? CAROM_BALANCE_MEASURED
                      : k == 2 ? CAROM_BALANCE_ALWAYS
                               : CAROM_BALANCE_NEVER;
    double loss[2];
    for (int kind = 0; kind < 2; kind++) {
      int indices[TRAIN], count = of_kind(f, kind == 1, indices);
      assert_int_equal(
          carom_model_loss(model, &f->data->train, count, indices, &loss[kind], NULL, NULL, NULL),
          CAROM_OK);
    }
    assert_true(loss[0] < loss[1]);
    carom_trainer *trainer;
    assert_int_equal(
        carom_trainer_create(model, k == 1 ? &measured : f->data, &options, &trainer, NULL),
        CAROM_OK);
    assert_int_equal(carom_trainer_epoch(trainer, NULL, NULL), CAROM_OK);
    const double weight = carom_trainer_describe(trainer).contact_weight;
    assert_near(weight, k == 1 || k == 2 ? loss[0] / loss[1] : 0, 1e-12);
    carom_trainer_destroy(trainer);
    carom_model_destroy(model);
  }
}

/* ---- stopping and going on ------------------------------------------------------------------- */

typedef struct stopper {
  int calls, stop_at;
  int64_t done, total;
} stopper;

// a rate that changes nothing: the first epoch stays the best
static void patience_ends_it(void **state) {
  data_fixture *f = *state;
  for (int patience = 0; patience < 4; patience++) {
    carom_model *model = make_model(f);
    carom_trainer_options options = train_options();
    options.learning_rate = 1e-300;
    options.search_every = 0;
    options.weight_decay = 0;
    options.epochs = 6;
    options.patience = patience;
    carom_trainer *trainer = make_trainer(f, model, &options);
    assert_int_equal(carom_trainer_run(trainer, NULL, NULL, NULL), CAROM_OK);
    const carom_trainer_info info = carom_trainer_describe(trainer);
    assert_int_equal(info.best_epoch, 1);
    assert_int_equal(info.epochs_done, patience > 0 ? 1 + patience : 6);
    assert_int_equal(info.stands_still, patience > 0);
    // it goes on only by the epoch
    assert_int_equal(carom_trainer_run(trainer, NULL, NULL, NULL), CAROM_OK);
    assert_int_equal(carom_trainer_describe(trainer).epochs_done, info.epochs_done);
    carom_trainer_destroy(trainer);
    carom_model_destroy(model);
  }
}

static bool stop_at(void *user, int64_t done, int64_t total) {
  stopper *s = user;
  s->done = done;
  s->total = total;
  return ++s->calls != s->stop_at;
}

// stopped after any batch, or after any epoch, it ends at the same bits
static void stopping_changes_nothing(void **state) {
  data_fixture *f = *state;
  carom_trainer_options options = train_options();
  options.search_every = 1;
  carom_model *model = make_model(f);
  carom_trainer *trainer = make_trainer(f, model, &options);
  history h = {0};
  assert_int_equal(carom_trainer_run(trainer, remember, &h, NULL), CAROM_OK);
  assert_true(h.epochs[1].moves > 0);
  for (int at = 1; at <= EPOCHS * BATCHES; at++) {
    stopper stop = {.stop_at = at};
    options.progress = stop_at;
    options.progress_user = &stop;
    carom_model *other = make_model(f);
    carom_trainer *stopped = make_trainer(f, other, &options);
    history seen = {.stop_after = 1};
    carom_error error;
    int rounds = 0;
    while (carom_trainer_run(stopped, remember, &seen, &error) != CAROM_OK) {
      assert_int_equal(error.status, CAROM_INTERRUPTED);
      rounds++;
      assert_in_range(rounds, 1, 2);
    }
    assert_int_equal(stop.done, EPOCHS * BATCHES);
    assert_int_equal(stop.total, EPOCHS * BATCHES);
    assert_same_parameters(model, other);
    assert_int_equal(seen.count, EPOCHS);
    for (int k = 0; k < EPOCHS; k++) {
      assert_true(seen.epochs[k].loss == h.epochs[k].loss);
      assert_true(seen.epochs[k].validation_loss == h.epochs[k].validation_loss);
      assert_int_equal(seen.epochs[k].report.events, h.epochs[k].report.events);
      assert_int_equal(seen.epochs[k].moves, h.epochs[k].moves);
    }
    carom_trainer_destroy(stopped);
    carom_model_destroy(other);
  }
  carom_trainer_destroy(trainer);
  carom_model_destroy(model);
}

/* ---- trouble --------------------------------------------------------------------------------- */

// a weight that is not a number: named by epoch and batch, and nothing else is touched
static void not_finite(void **state) {
  data_fixture *f = *state;
  carom_model *model = make_model(f);
  const carom_trainer_options options = train_options();
  carom_trainer *trainer = make_trainer(f, model, &options);
  assert_int_equal(carom_trainer_epoch(trainer, NULL, NULL), CAROM_OK);
  const size_t bytes = sizeof(double) * (size_t)carom_model_describe(model).parameter_count;
  double *parameters = carom_model_parameters(model);
  double *kept = malloc(bytes), *moments = malloc(bytes);
  const int weight = segment_offset(model, "weight0");
  const double good = parameters[weight];
  parameters[weight] = NAN;
  memcpy(kept, parameters, bytes);
  memcpy(moments, trainer->optimizer.m, bytes);
  carom_error error;
  assert_int_equal(carom_trainer_epoch(trainer, NULL, &error), CAROM_NUMERICAL_FAILURE);
  assert_message(&error, CAROM_NUMERICAL_FAILURE, "epoch 2, batch 1 of 3");
  assert_message(&error, CAROM_NUMERICAL_FAILURE, "smaller learning rate");
  assert_memory_equal(parameters, kept, bytes);
  assert_memory_equal(trainer->optimizer.m, moments, bytes);
  assert_int_equal(trainer->optimizer.steps, BATCHES);
  assert_int_equal(trainer->state.batches_done, 0);
  // with the number put right it goes on
  parameters[weight] = good;
  assert_int_equal(carom_trainer_epoch(trainer, NULL, &error), CAROM_OK);
  assert_int_equal(carom_trainer_describe(trainer).epochs_done, 2);
  free(kept);
  free(moments);
  carom_trainer_destroy(trainer);
  carom_model_destroy(model);
}

static void refuse(carom_model *model, const carom_dataset *data,
                   const carom_trainer_options *options, carom_status status, const char *piece) {
  carom_error error = {0};
  carom_trainer *trainer;
  assert_int_equal(carom_trainer_create(model, data, options, &trainer, &error), status);
  assert_message(&error, status, piece);
  assert_null(trainer);
}

static void bad_data(void **state) {
  data_fixture *f = *state;
  carom_model *model = make_model(f);
  const carom_trainer_options options = train_options();
  carom_dataset data = *f->data;
  data.train.count = 0;
  refuse(model, &data, &options, CAROM_INVALID_DATA, "no training chunks");
  data = *f->data;
  data.dt = 0.02;
  refuse(model, &data, &options, CAROM_INVALID_DATA, "time step 0.02, the model 0.01");
  // chunk 2, state 3, coordinate 1 of three points in the plane
  double *x = f->data->validation.x + (2 * f->data->validation.states + 3) * 6 + 1, kept = *x;
  *x = NAN;
  refuse(model, f->data, &options, CAROM_INVALID_DATA,
         "validation chunk 2, state 3: coordinate 1 of x is NaN");
  *x = kept;
  double *v = f->data->train.v;
  kept = *v;
  *v = -INFINITY;
  refuse(model, f->data, &options, CAROM_INVALID_DATA,
         "training chunk 0, state 0: coordinate 0 of v is infinite");
  *v = kept;
  carom_model_destroy(model);
}

static void bad_options(void **state) {
  data_fixture *f = *state;
  carom_model *model = make_model(f);
  carom_trainer_options options = train_options();
#define REFUSE(field, value) \
  options = train_options(); \
  options.field = (value);   \
  refuse(model, f->data, &options, CAROM_INVALID_ARGUMENT, "options." #field " is ")
  REFUSE(epochs, -1);
  REFUSE(batch, 0);
  REFUSE(learning_rate, 0.0);
  REFUSE(learning_rate, NAN);
  REFUSE(learning_rate, INFINITY);
  REFUSE(beta1, 1.0);
  REFUSE(beta2, -0.1);
  REFUSE(epsilon, 0.0);
  REFUSE(weight_decay, -1.0);
  REFUSE(final_rate, 1.5);
  REFUSE(search_every, -1);
  REFUSE(schedule, (carom_schedule)7);
#undef REFUSE
  options = train_options();
  refuse(NULL, f->data, &options, CAROM_INVALID_ARGUMENT, "NULL");
  carom_trainer *trainer = make_trainer(f, model, &options);
  const int beyond[] = {0, TRAIN};
  carom_error error;
  assert_int_equal(carom_trainer_step(trainer, 2, beyond, NULL, &error), CAROM_INVALID_ARGUMENT);
  assert_message(&error, CAROM_INVALID_ARGUMENT, "indices[1] is 11");
  assert_int_equal(carom_trainer_step(trainer, TRAIN + 1, NULL, NULL, &error),
                   CAROM_INVALID_ARGUMENT);
  assert_int_equal(carom_trainer_step(trainer, TRAIN, NULL, NULL, &error), CAROM_OK);
  carom_trainer_destroy(trainer);
  carom_model_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(adamw_by_hand),
      cmocka_unit_test(adamw_scales),
      cmocka_unit_test(adamw_parts),
      cmocka_unit_test(property_rate),
      cmocka_unit_test(rates),
      cmocka_unit_test(shuffles),
      cmocka_unit_test(shuffles_evenly),
      cmocka_unit_test(epoch_covers_the_data),
      cmocka_unit_test(epoch_is_steps),
      cmocka_unit_test(run_learns_and_tracks_the_best),
      cmocka_unit_test(without_validation),
      cmocka_unit_test(contacts_weigh),
      cmocka_unit_test(contacts_weigh_by_their_losses),
      cmocka_unit_test(patience_ends_it),
      cmocka_unit_test(stopping_changes_nothing),
      cmocka_unit_test(not_finite),
      cmocka_unit_test(bad_data),
      cmocka_unit_test(bad_options),
  };
  return cmocka_run_group_tests(tests, set_up, data_fixture_free);
}
