/* The warm start: features beside the network's own gradient and differences, forces and contacts recovered
 * from data whose truth is known, never worse than before, same bits from any threads, stopping. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/trainer.h"
#include "learn/warm_start.h"
#include "nn/features.h"
#include "nn/gemm.h"
#include "support/quick.h"

/* ---- features -------------------------------------------------------------------------------- */

/* sum_j c_j rows_j is the gradient of V along the direction, and rows_j what changes when c_j does */
static void features_are_the_linear_part(void **state) {
  (void)state;
  static const char *const scenes[] = {"gyro", "rope"}; // tips of axes; an elasticity
  for (size_t scene = 0; scene < 2; scene++) {
    enum { COUNT = 3, DIRECTIONS = 2 };
    carom_system *system;
    carom_model *m;
    assert_int_equal(carom_system_load(scenes[scene], &system, NULL), CAROM_OK);
    carom_model_options options = carom_model_default_options(system);
    options.hidden_size = 12;
    options.hidden_layers = 3;
    options.single_precision = false;
    options.length_scale = 0.3;
    options.speed_scale = 1.7;
    assert_int_equal(carom_model_create(system, &options, &m, NULL), CAROM_OK);
    network_potential *n = &m->potential;
    const int size = system->coordinate_count, features = network_feature_count(n);
    const int stride = features + 2;
    double *c = m->parameters + m->network;
    for (int j = 0; j < 2 * n->elastic_count; j++) c[j] = 0.1 * (j + 1);
    double *x = malloc(sizeof(double) * (size_t)(COUNT * size)),
           *v = malloc(sizeof(double) * (size_t)(COUNT * size));
    assert_int_equal(carom_system_sample(system, 3, COUNT, x, v, NULL), CAROM_OK);
    double *along = malloc(sizeof(double) * (size_t)(COUNT * DIRECTIONS * size));
    for (int i = 0; i < COUNT * DIRECTIONS * size; i++) along[i] = sin(1.0 + 1.7 * i);
    double *rows = malloc(sizeof(double) * (size_t)(COUNT * DIRECTIONS * stride));
    double *force = malloc(sizeof(double) * (size_t)(COUNT * size)),
           *other = malloc(sizeof(double) * (size_t)(COUNT * size));
    arena scratch;
    arena_init(&scratch);
    network_features_along(n, COUNT, x, DIRECTIONS, along, stride, rows, &scratch);
    assert_int_equal(carom_model_force(m, COUNT, x, force, NULL), CAROM_OK);
    for (int row = 0; row < COUNT * DIRECTIONS; row++) {
      double whole = 0, sum = 0, scale = 0;
      for (int i = 0; i < size; i++)
        whole -= along[row * size + i] * force[row / DIRECTIONS * size + i];
      for (int j = 0; j < features; j++) {
        sum += c[network_feature_entry(n, j)] * rows[row * stride + j];
        scale += fabs(c[network_feature_entry(n, j)] * rows[row * stride + j]);
      }
      assert_true(fabs(whole - sum) <= 1e-12 * scale);
    }
    // one coefficient after the other: the force is linear in it, so a difference is exact
    for (int j = 0; j < features; j++) {
      c[network_feature_entry(n, j)] += 0.5;
      assert_int_equal(carom_model_force(m, COUNT, x, other, NULL), CAROM_OK);
      c[network_feature_entry(n, j)] -= 0.5;
      for (int row = 0; row < COUNT * DIRECTIONS; row++) {
        double difference = 0, scale = 0;
        for (int i = 0; i < size; i++) {
          const int at = row / DIRECTIONS * size + i;
          difference -= along[row * size + i] * (other[at] - force[at]) / 0.5;
          scale += fabs(along[row * size + i]) * (fabs(force[at]) + fabs(other[at]));
        }
        assert_true(fabs(difference - rows[row * stride + j]) <= 1e-12 * (1 + scale));
      }
    }
    arena_free(&scratch);
    free(x), free(v), free(along), free(rows), free(force), free(other);
    carom_model_destroy(m);
    carom_system_destroy(system);
  }
}

// <P d, s> = <d, P' s>
static void seen_has_its_transpose(void **state) {
  (void)state;
  carom_system *system;
  carom_model *m;
  assert_int_equal(carom_system_load("gyro", &system, NULL), CAROM_OK);
  carom_model_options options = carom_model_default_options(system);
  options.hidden_size = 4;
  options.length_scale = 0.3;
  options.speed_scale = 1.7;
  assert_int_equal(carom_model_create(system, &options, &m, NULL), CAROM_OK);
  double d[12], s[12], seen[12], back[12], left = 0, right = 0;
  for (int i = 0; i < 12; i++) d[i] = sin(i + 1.0), s[i] = cos(3.0 * i);
  state_seen(m, d, 0.7, seen);
  state_seen_vjp(m, s, 0.7, back);
  for (int i = 0; i < 12; i++) left += seen[i] * s[i], right += d[i] * back[i];
  assert_true(fabs(left - right) <= 1e-14 * (fabs(left) + 10));
  carom_model_destroy(m);
  carom_system_destroy(system);
}

/* ---- trainings ------------------------------------------------------------------------------- */

typedef struct training {
  carom_system *system;
  carom_dataset *data;
  carom_model *model;
  carom_trainer *trainer;
} training;

typedef struct setting {
  const char *scene, *model;
  double noise;
  int threads, hidden;
  carom_progress progress;
  void *user;
  int chunks; /* 0: as many as the tests usually have */
} setting;

static training open_training(const setting *s) {
  training t = {0};
  carom_error error;
  assert_int_equal(carom_system_load(s->scene, &t.system, NULL), CAROM_OK);
  carom_dataset_options data = carom_dataset_default_options(t.system);
  data.train = s->chunks > 0 ? s->chunks : quick() ? 60 : 200;
  data.validation = quick() ? 10 : 40;
  data.test = 1;
  data.noise = s->noise;
  assert_int_equal(carom_dataset_generate(t.system, NULL, &data, &t.data, NULL), CAROM_OK);
  carom_model_options model = carom_model_default_options(t.system);
  model.threads = s->threads;
  model.hidden_size = s->hidden;
  model.hidden_layers = 2;
  assert_int_equal(carom_model_options_by_name(&model, s->model, NULL), CAROM_OK);
  assert_int_equal(carom_model_options_by_data(&model, t.system, t.data, NULL), CAROM_OK);
  if (carom_model_create(t.system, &model, &t.model, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  carom_trainer_options options = carom_trainer_default_options();
  options.epochs = 2;
  options.progress = s->progress;
  options.progress_user = s->user;
  if (carom_trainer_create(t.model, t.data, &options, &t.trainer, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  return t;
}

static void close_training(training *t) {
  carom_trainer_destroy(t->trainer);
  carom_model_destroy(t->model);
  carom_dataset_destroy(t->data);
  carom_system_destroy(t->system);
}

// every friction and restitution of contacts in the data, and mass ratios
static void check_truth(const training *t, double tolerance) {
  const size_t size = (size_t)carom_parameters_count(t->system);
  double *learned = calloc(size, sizeof(double)), *truth = calloc(size, sizeof(double));
  carom_contact_count *counts = calloc((size_t)t->system->contact_count, sizeof *counts);
  carom_model_theta(t->model, learned);
  carom_parameters_default(t->system, truth);
  assert_int_equal(carom_chunks_count_contacts(&t->data->train, t->system, counts, NULL), CAROM_OK);
  const carom_segment_info mu = carom_parameters_segment(t->system, CAROM_FRICTION);
  const carom_segment_info e = carom_parameters_segment(t->system, CAROM_RESTITUTION);
  const carom_segment_info mass = carom_parameters_segment(t->system, CAROM_LOG_MASS);
  for (int i = 0; i < mu.size; i++) {
    if (counts[i].chunks == 0) continue;
    assert_true(fabs(learned[mu.offset + i] - truth[mu.offset + i]) <= tolerance);
    assert_true(fabs(learned[e.offset + i] - truth[e.offset + i]) <= tolerance);
  }
  for (int i = 1; i < mass.size; i++)
    assert_true(fabs(learned[mass.offset + i] - learned[mass.offset] - truth[mass.offset + i] +
                     truth[mass.offset]) <= tolerance);
  free(learned), free(truth), free(counts);
}

/* Forces, masses, friction and restitution from nothing but data, in no epoch at all. */
static void it_finds_the_truth(void **state) {
  (void)state;
  static const setting settings[] = {{"cp3-e", "cm-cd-clnn", 0, 2, 128, NULL, NULL, 0},
                                     {"cp3", "cm-cd-clnn", 0, 2, 128, NULL, NULL, 0},
                                     {"gyro", "cm-cd-clnn", 0, 2, 128, NULL, NULL, 0},
                                     {"bp5-e", "lcp-cd-clnn", 0, 2, 16, NULL, NULL, 0}};
  for (size_t k = quick() ? 3 : 0; k < sizeof settings / sizeof settings[0]; k++) {
    training t = open_training(&settings[k]);
    carom_warm_start w;
    assert_int_equal(carom_trainer_warm_start(t.trainer, &w, NULL), CAROM_OK);
    assert_true(w.done && w.kept);
    assert_true(w.loss_after < 1e-5 && w.validation_after < 1e-5 && w.loss_before > 1e-3);
    assert_true(w.pairs > 100 && w.chunks > (quick() ? 20 : 50) && w.unknowns > w.properties);
    check_truth(&t, 1e-4);
    // e = 0 has no slope in most chunks: exactly what it is, or it is not found
    const carom_segment_info e = carom_parameters_segment(t.system, CAROM_RESTITUTION);
    double learned[256];
    assert_true(carom_parameters_count(t.system) <= 256);
    carom_model_theta(t.model, learned);
    if (strcmp(settings[k].scene, "cp3") == 0) assert_true(learned[e.offset] == 0);
    assert_true(carom_trainer_describe(t.trainer).best_loss == w.validation_after);
    close_training(&t);
  }
}

/* Noise and few units: whatever it does, both losses fall or nothing has changed. */
static void it_is_never_worse(void **state) {
  (void)state;
  static const setting settings[] = {{"cp3", "cmr-cd-chnn", 0.05, 1, 8, NULL, NULL, 0},
                                     {"cp3", "cm-cd-clnn", 0.01, 1, 64, NULL, NULL, 0},
                                     {"rope", "cm-cd-chnn", 0.01, 1, 8, NULL, NULL, 0}};
  for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++) {
    training t = open_training(&settings[k]);
    const size_t bytes = sizeof(double) * (size_t)t.model->parameter_count;
    double *before = malloc(bytes);
    memcpy(before, t.model->parameters, bytes);
    carom_warm_start w;
    assert_int_equal(carom_trainer_warm_start(t.trainer, &w, NULL), CAROM_OK);
    assert_true(w.done);
    // what noise leaves is more than a hundredth: everything is as it was, and descent at its full rate
    assert_true(w.loss_after > 0.01 * w.loss_before);
    assert_false(w.kept);
    assert_memory_equal(before, t.model->parameters, bytes);
    assert_true(trainer_slowing(t.trainer) == 1);
    free(before);
    close_training(&t);
  }
}

static void same_bits_from_any_threads(void **state) {
  (void)state;
  training one = open_training(&(setting){"gyro", "cm-cd-chnn", 0, 1, 24, NULL, NULL, 0});
  training many = open_training(&(setting){"gyro", "cm-cd-chnn", 0, 3, 24, NULL, NULL, 0});
  assert_int_equal(carom_trainer_warm_start(one.trainer, NULL, NULL), CAROM_OK);
  assert_int_equal(carom_trainer_warm_start(many.trainer, NULL, NULL), CAROM_OK);
  assert_memory_equal(one.model->parameters, many.model->parameters,
                      sizeof(double) * (size_t)one.model->parameter_count);
  close_training(&one);
  close_training(&many);
}

static bool count_down(void *user, int64_t done, int64_t total) {
  (void)done, (void)total;
  return (*(int *)user)-- > 0;
}

/* Stopped anywhere it leaves nothing behind, and done again it ends at the same bits. */
static void stopping_leaves_nothing_behind(void **state) {
  (void)state;
  int left = 1000000;
  training whole = open_training(&(setting){"bp5-e", "cm-cd-clnn", 0, 1, 8, count_down, &left, 0});
  assert_int_equal(carom_trainer_warm_start(whole.trainer, NULL, NULL), CAROM_OK);
  const int calls = 1000000 - left;
  assert_true(calls > 3);
  training t = open_training(&(setting){"bp5-e", "cm-cd-clnn", 0, 1, 8, count_down, &left, 0});
  const size_t bytes = sizeof(double) * (size_t)t.model->parameter_count;
  double *before = malloc(bytes);
  memcpy(before, t.model->parameters, bytes);
  for (int stop = 0; stop < calls; stop += 2) {
    left = stop;
    assert_int_equal(carom_trainer_warm_start(t.trainer, NULL, NULL), CAROM_INTERRUPTED);
    assert_false(carom_trainer_describe(t.trainer).warm_start.done);
    assert_memory_equal(before, t.model->parameters, bytes);
  }
  left = 1000000;
  assert_int_equal(carom_trainer_warm_start(t.trainer, NULL, NULL), CAROM_OK);
  assert_memory_equal(whole.model->parameters, t.model->parameters, bytes);
  // it is made once
  left = 0;
  assert_int_equal(carom_trainer_warm_start(t.trainer, NULL, NULL), CAROM_OK);
  free(before);
  close_training(&t);
  close_training(&whole);
}

/* Thirty chunks do not show all twenty contacts with walls, which are alike in truth: those that are not seen follow the
 * others. */
static void what_is_not_seen_follows_the_rest(void **state) {
  (void)state;
  training t = open_training(&(setting){"bp5", "cm-cd-clnn", 0, 1, 8, NULL, NULL, 30});
  assert_int_equal(carom_trainer_warm_start(t.trainer, NULL, NULL), CAROM_OK);
  assert_true(carom_trainer_describe(t.trainer).warm_start.kept);
  double learned[256];
  assert_true(carom_parameters_count(t.system) <= 256);
  carom_model_theta(t.model, learned);
  carom_contact_count counts[30];
  assert_int_equal(t.system->contact_count, 30);
  assert_int_equal(carom_chunks_count_contacts(&t.data->train, t.system, counts, NULL), CAROM_OK);
  const int mu = carom_parameters_segment(t.system, CAROM_FRICTION).offset,
            e = carom_parameters_segment(t.system, CAROM_RESTITUTION).offset;
  double seen[20], last = 0;
  int count = 0;
  for (int wall = t.system->plane_property_first; wall < 30; wall++) {
    if (counts[wall].chunks > 0)
      seen[count++] = learned[e + wall];
    else
      last = learned[e + wall];
  }
  assert_in_range(count, 5, 17);
  // as many above it as below
  int above = 0, below = 0;
  for (int k = 0; k < count; k++) above += seen[k] > last, below += seen[k] < last;
  assert_int_equal(above, below);
  for (int wall = t.system->plane_property_first; wall < 30; wall++)
    if (counts[wall].chunks == 0)
      assert_true(learned[e + wall] == last && fabs(last - 0.8) < 0.01 &&
                  fabs(learned[mu + wall] - 0.1) < 0.01);
  close_training(&t);
}

/* A run begins with it and ends where nothing is left to learn; after the first step it is not made. */
static void a_run_begins_with_it(void **state) {
  (void)state;
  const setting how = {"bp5-e", "cm-cd-clnn", 0, 1, 8, NULL, NULL, 0};
  training t = open_training(&how);
  assert_int_equal(carom_trainer_run(t.trainer, NULL, NULL, NULL), CAROM_OK);
  carom_trainer_info info = carom_trainer_describe(t.trainer);
  assert_true(info.warm_start.kept && info.within_tolerance);
  assert_int_equal(info.epochs_done, 0);
  close_training(&t);
  t = open_training(&how);
  t.trainer->options.tolerance = 0;
  assert_int_equal(carom_trainer_run(t.trainer, NULL, NULL, NULL), CAROM_OK);
  info = carom_trainer_describe(t.trainer);
  assert_int_equal(info.epochs_done, 2);
  assert_true(trainer_slowing(t.trainer) < 1e-3);
  // the epochs have not undone it
  double loss;
  assert_int_equal(
      carom_model_loss(t.model, &t.data->train, t.data->train.count, NULL, &loss, NULL, NULL, NULL),
      CAROM_OK);
  assert_true(loss < 1e-4);
  close_training(&t);
  t = open_training(&how);
  assert_int_equal(carom_trainer_epoch(t.trainer, NULL, NULL), CAROM_OK);
  assert_int_equal(carom_trainer_warm_start(t.trainer, NULL, NULL), CAROM_OK);
  assert_false(carom_trainer_describe(t.trainer).warm_start.done);
  close_training(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(features_are_the_linear_part),
      cmocka_unit_test(seen_has_its_transpose),
      cmocka_unit_test(it_finds_the_truth),
      cmocka_unit_test(it_is_never_worse),
      cmocka_unit_test(what_is_not_seen_follows_the_rest),
      cmocka_unit_test(same_bits_from_any_threads),
      cmocka_unit_test(stopping_leaves_nothing_behind),
      cmocka_unit_test(a_run_begins_with_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
