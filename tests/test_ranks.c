/* What ranks exchange, and that sharing work changes no bit. Runs as one rank, and
 * test_cli_ranks.sh starts it as several. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/ranks.h"
#include "base/rng.h"
#include "support/messages.h"

static int begin(void **state) {
  (void)state;
  carom_error error;
  return carom_ranks_begin(&error) == CAROM_OK ? 0 : -1;
}

// numbers of all sizes, so that the order of a sum shows
static double *random_numbers(size_t count) {
  rng r;
  rng_seed(&r, 5, 0);
  double *numbers = malloc(sizeof(double) * count);
  assert_non_null(numbers);
  for (size_t i = 0; i < count; i++) numbers[i] = exp(rng_uniform(&r, 0, 20)) * rng_normal(&r);
  return numbers;
}

static void sums_have_the_bits_of_one_rank(void **state) {
  (void)state;
  enum { PARTS = 11, COUNT = 40001 /* three pieces */ };
  double *parts = random_numbers((size_t)PARTS * COUNT), *sum = random_numbers(COUNT);
  const rank_range own = ranks_own(PARTS);
  ranks_add_up(COUNT, parts + (size_t)own.first * COUNT, own.end - own.first, sum);
  for (int i = 0; i < COUNT; i++) {
    double expected = 0;
    for (int k = 0; k < PARTS; k++) expected += parts[k * COUNT + i];
    assert_memory_equal(&sum[i], &expected, sizeof expected);
  }
  free(parts);
  free(sum);
}

static void parts_are_dealt_out_and_collected(void **state) {
  (void)state;
  // 1 part for many ranks, none for some, a last part that is shorter
  enum { EACH = 3, WIDTH = 2 };
  for (int items = 1; items < 40; items++) {
    const int parts = (items + EACH - 1) / EACH;
    const rank_range own = ranks_own(parts);
    int numbers[40][WIDTH];
    memset(numbers, 0, sizeof numbers);
    for (int i = own.first * EACH; i < own.end * EACH && i < items; i++)
      for (int k = 0; k < WIDTH; k++) numbers[i][k] = 10 * i + k;
    ranks_collect(numbers, sizeof numbers[0], parts, EACH, items);
    for (int i = 0; i < items; i++)
      for (int k = 0; k < WIDTH; k++) assert_int_equal(numbers[i][k], 10 * i + k);
    int64_t all = own.end - own.first;
    assert_int_equal(carom_ranks_sum(1, &all, NULL), CAROM_OK);
    assert_int_equal(all, parts);
  }
}

static void failures_are_everybodys(void **state) {
  (void)state;
  carom_error error = {0};
  const int last = carom_ranks_count() - 1;
  assert_int_equal(carom_ranks_agree(CAROM_OK, &error), CAROM_OK);
  carom_status status = CAROM_OK;
  if (carom_ranks_index() == last) status = carom_error_set(&error, CAROM_FILE_ERROR, "no disk");
  assert_int_equal(carom_ranks_agree(status, &error), CAROM_FILE_ERROR);
  assert_message(&error, CAROM_FILE_ERROR, last > 0 ? ": no disk" : "no disk");
  assert_false(ranks_all(carom_ranks_index() != last));
  assert_true(ranks_all(true));
}

static void what_differs_is_noticed(void **state) {
  (void)state;
  double numbers[3] = {1, 2, 3};
  assert_true(ranks_same(numbers, sizeof numbers));
  numbers[2] += carom_ranks_index() == carom_ranks_count() - 1 ? 1e-15 : 0;
  assert_int_equal(ranks_same(numbers, sizeof numbers), carom_ranks_count() == 1);
}

enum { TASKS = 57 };
typedef struct tally {
  int64_t begun[TASKS];
  int stop_at; /* -1: never */
} tally;

static bool count_task(void *user, int index) {
  tally *t = user;
  assert_int_equal(carom_ranks_count(), 1);
  assert_int_equal(carom_ranks_index(), 0);
  t->begun[index]++;
  return index != t->stop_at;
}

static void every_task_is_done_once(void **state) {
  (void)state;
  const int ranks = carom_ranks_count();
  for (int round = 0; round < 3; round++) {
    tally t = {.stop_at = round == 2 ? 20 : -1};
    int done;
    assert_int_equal(carom_ranks_share_out(round == 1 ? 1 : TASKS, count_task, &t, &done, NULL),
                     CAROM_OK);
    int64_t own = 0, all[TASKS];
    for (int k = 0; k < TASKS; k++) own += t.begun[k];
    assert_int_equal(own, done);
    memcpy(all, t.begun, sizeof all);
    assert_int_equal(carom_ranks_sum(TASKS, all, NULL), CAROM_OK);
    // what another rank had begun when one ended them is done too
    for (int k = 0; k < TASKS; k++)
      if (round == 2 && k > 20)
        assert_true(all[k] <= (ranks > 1));
      else
        assert_int_equal(all[k], round == 1 ? k == 0 : 1);
    assert_int_equal(carom_ranks_count(), ranks);
  }
}

/* ---- work ------------------------------------------------------------------------------------ */

// a simulation, shared and by this rank alone
static void a_simulation_has_the_bits_of_one_rank(void **state) {
  (void)state;
  enum { BATCH = 21, STEPS = 40 };
  carom_system *system;
  assert_int_equal(carom_system_load("cp3", &system, NULL), CAROM_OK);
  const size_t size = (size_t)carom_system_describe(system).point_count * 2;
  const size_t states = BATCH * (STEPS + 1);
  double *start = calloc(2 * BATCH * size, sizeof(double));
  double *runs[2] = {calloc(2 * states * size, sizeof(double)),
                     calloc(2 * states * size, sizeof(double))};
  uint8_t contacts[2][BATCH * (STEPS + 1)];
  carom_report reports[2];
  assert_int_equal(carom_system_sample(system, 3, BATCH, start, start + BATCH * size, NULL),
                   CAROM_OK);
  carom_rollout_options options = carom_rollout_default_options(system);
  options.steps = STEPS;
  for (int alone = 0; alone < 2; alone++) {
    if (alone) ranks_alone_begin();
    memset(&reports[alone], 0, sizeof reports[alone]);
    assert_int_equal(carom_system_simulate(
                         system, &options, NULL, BATCH, start, start + BATCH * size, runs[alone],
                         runs[alone] + states * size, contacts[alone], &reports[alone], NULL),
                     CAROM_OK);
    if (alone) ranks_alone_end();
  }
  assert_memory_equal(runs[0], runs[1], 2 * sizeof(double) * states * size);
  assert_memory_equal(contacts[0], contacts[1], states);
  assert_int_equal(reports[0].programs, reports[1].programs);
  assert_true(reports[0].programs > 0);
  // a state that leaves the finite numbers is a failure on every rank, with the same words
  start[(BATCH - 1) * size] = 1e300;
  start[BATCH * size + (BATCH - 1) * size] = 1e308;
  carom_error errors[2];
  for (int alone = 0; alone < 2; alone++) {
    if (alone) ranks_alone_begin();
    carom_system_simulate(system, &options, NULL, BATCH, start, start + BATCH * size, runs[alone],
                          runs[alone] + states * size, NULL, NULL, &errors[alone]);
    if (alone) ranks_alone_end();
  }
  assert_int_not_equal(errors[0].status, CAROM_OK);
  assert_string_equal(errors[0].message, errors[1].message);
  free(start);
  free(runs[0]);
  free(runs[1]);
  carom_system_destroy(system);
}

// data, loss and gradient, a search, an epoch: shared and alone
static void a_training_has_the_bits_of_one_rank(void **state) {
  (void)state;
  carom_system *system;
  assert_int_equal(carom_system_load("bp5-e", &system, NULL), CAROM_OK);
  double *parameters[2];
  double losses[2];
  carom_report reports[2];
  int count = 0;
  for (int alone = 0; alone < 2; alone++) {
    if (alone) ranks_alone_begin();
    carom_dataset_options data = carom_dataset_default_options(system);
    data.train = 230;
    data.validation = 70;
    data.test = 0;
    data.steps = 20;
    carom_dataset *dataset;
    carom_model *model;
    carom_trainer *trainer;
    assert_int_equal(carom_dataset_generate(system, NULL, &data, &dataset, NULL), CAROM_OK);
    reports[alone] = dataset->report;
    carom_model_options options = carom_model_default_options(system);
    options.hidden_size = 8;
    options.hidden_layers = 2;
    assert_int_equal(carom_model_create(system, &options, &model, NULL), CAROM_OK);
    carom_trainer_options training = carom_trainer_default_options();
    training.batch = 160;
    training.search_every = 1;
    assert_int_equal(carom_trainer_create(model, dataset, &training, &trainer, NULL), CAROM_OK);
    for (int k = 0; k < 2; k++) {
      carom_epoch result;
      assert_int_equal(carom_trainer_epoch(trainer, &result, NULL), CAROM_OK);
      losses[alone] = result.validation_loss;
    }
    count = carom_model_describe(model).parameter_count;
    parameters[alone] = calloc((size_t)count, sizeof(double));
    memcpy(parameters[alone], carom_model_parameters(model), sizeof(double) * (size_t)count);
    carom_trainer_destroy(trainer);
    carom_model_destroy(model);
    carom_dataset_destroy(dataset);
    if (alone) ranks_alone_end();
  }
  assert_memory_equal(parameters[0], parameters[1], sizeof(double) * (size_t)count);
  assert_memory_equal(&losses[0], &losses[1], sizeof losses[0]);
  assert_memory_equal(&reports[0], &reports[1], sizeof reports[0]);
  free(parameters[0]);
  free(parameters[1]);
  carom_system_destroy(system);
}

static int end(void **state) {
  (void)state;
  return carom_ranks_end(10) ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_have_the_bits_of_one_rank),
      cmocka_unit_test(parts_are_dealt_out_and_collected),
      cmocka_unit_test(failures_are_everybodys),
      cmocka_unit_test(what_differs_is_noticed),
      cmocka_unit_test(every_task_is_done_once),
      cmocka_unit_test(a_simulation_has_the_bits_of_one_rank),
      cmocka_unit_test(a_training_has_the_bits_of_one_rank),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
