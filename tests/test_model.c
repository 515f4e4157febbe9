/* Models: the potential network, its derivatives, and the reference's training steps. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "learn/model.h"
#include "nn/gemm.h"
#include "nn/orthogonal.h"
#include "support/differences.h"
#include "support/golden.h"
#include "support/messages.h"
#include "support/systems.h"

/* ---- the network beside differences ------------------------------------------------------------ */

typedef struct network_case {
  mlp_shape shape;
  int count, parameter_count;
  double *parameters, *x, *weight; /* weight [count][inputs]: a functional of the gradient */
  double *parameters_bar, *x_bar;
  arena memory;
} network_case;

static void network_case_open(network_case *c, mlp_shape shape, int count, rng *random) {
  arena_init(&c->memory);
  c->shape = shape;
  c->count = count;
  c->parameter_count = mlp_parameter_count(&shape);
  int inputs = count * shape.input_size;
  c->parameters = arena_zeros(&c->memory, c->parameter_count);
  c->parameters_bar = arena_zeros(&c->memory, c->parameter_count);
  c->x = arena_zeros(&c->memory, inputs);
  c->x_bar = arena_zeros(&c->memory, inputs);
  c->weight = arena_zeros(&c->memory, inputs);
  assert_int_equal(mlp_initialise(&shape, random, c->parameters, NULL, NULL), CAROM_OK);
  for (int i = 0; i < inputs; i++) c->x[i] = rng_normal(random);
  for (int i = 0; i < inputs; i++) c->weight[i] = rng_normal(random);
}

/* its parameters as they are now, as the gradient takes them */
static const double *prepared(network_case *c) {
  double *numbers = arena_bytes(&c->memory, sizeof(double) * mlp_double_prepared_count(&c->shape));
  mlp_double_prepare(&c->shape, c->parameters, numbers);
  return numbers;
}

static double gradient_functional(void *user) {
  network_case *c = user;
  int inputs = c->count * c->shape.input_size;
  arena_mark mark = arena_save(&c->memory);
  double *gradient = arena_doubles(&c->memory, inputs);
  void *record = arena_bytes(&c->memory, mlp_double_record_bytes(&c->shape, c->count));
  mlp_double_gradient(&c->shape, prepared(c), c->count, c->x, gradient, record, &c->memory);
  double sum = 0;
  for (int i = 0; i < inputs; i++) sum += c->weight[i] * gradient[i];
  arena_restore(&c->memory, mark);
  return sum;
}

static double value_sum(void *user) {
  network_case *c = user;
  double value[64], sum = 0;
  mlp_double_value(&c->shape, c->parameters, c->count, c->x, value, &c->memory);
  for (int i = 0; i < c->count; i++) sum += value[i];
  return sum;
}

static void test_network_derivatives(void **state) {
  (void)state;
  const mlp_shape shapes[] = {{6, 3, 16}, {10, 1, 8}, {4, 2, 33}, {20, 5, 12}, {7, 3, 64}};
  rng random;
  rng_seed(&random, 9, 0);
  for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
    network_case c;
    network_case_open(&c, shapes[k], 7, &random);
    int inputs = c.count * c.shape.input_size;
    void *record = arena_bytes(&c.memory, mlp_double_record_bytes(&c.shape, c.count));
    double *gradient = arena_zeros(&c.memory, inputs);
    mlp_double_gradient(&c.shape, prepared(&c), c.count, c.x, gradient, record, &c.memory);
    assert_true(gradient_error(value_sum, &c, c.x, gradient, inputs, &random) < 1e-8);
    mlp_double_gradient_vjp(&c.shape, prepared(&c), c.count, record, c.weight, c.x_bar,
                            c.parameters_bar, &c.memory);
    assert_true(gradient_error(gradient_functional, &c, c.x, c.x_bar, inputs, &random) < 1e-8);
    for (int l = 0; l <= c.shape.hidden_layers; l++) {
      int weight = mlp_weight_offset(&c.shape, l), bias = mlp_bias_offset(&c.shape, l);
      int end = mlp_weight_offset(&c.shape, l + 1);
      assert_true(gradient_error(gradient_functional, &c, c.parameters + weight,
                                 c.parameters_bar + weight, bias - weight, &random) < 1e-8);
      assert_true(gradient_error(gradient_functional, &c, c.parameters + bias,
                                 c.parameters_bar + bias, end - bias, &random) < 1e-8);
    }

    // single precision gives the same to its own accuracy
    float *rounded = arena_bytes(&c.memory, sizeof(float) * mlp_single_prepared_count(&c.shape));
    mlp_single_prepare(&c.shape, c.parameters, rounded);
    void *single = arena_bytes(&c.memory, mlp_single_record_bytes(&c.shape, c.count));
    double *gradient_s = arena_zeros(&c.memory, inputs), *x_bar = arena_zeros(&c.memory, inputs);
    double *bar = arena_zeros(&c.memory, c.parameter_count);
    mlp_single_gradient(&c.shape, rounded, c.count, c.x, gradient_s, single, &c.memory);
    mlp_single_gradient_vjp(&c.shape, rounded, c.count, single, c.weight, x_bar, bar, &c.memory);
    for (int i = 0; i < inputs; i++) assert_true(fabs(gradient_s[i] - gradient[i]) < 1e-5);
    for (int i = 0; i < inputs; i++) assert_true(fabs(x_bar[i] - c.x_bar[i]) < 1e-5);
    for (int i = 0; i < c.parameter_count; i++)
      assert_true(fabs(bar[i] - c.parameters_bar[i]) < 1e-4);
    arena_free(&c.memory);
  }
}

// the largest deviation of the products of rows (columns, if they are fewer) from those of unit vectors
static double off_orthogonal(const double *w, int rows, int columns) {
  const int vectors = rows < columns ? rows : columns, length = rows + columns - vectors;
  double most = 0;
  for (int i = 0; i < vectors; i++)
    for (int j = 0; j <= i; j++) {
      double dot = 0;
      for (int k = 0; k < length; k++)
        dot += rows < columns ? w[i * columns + k] * w[j * columns + k]
                              : w[k * columns + i] * w[k * columns + j];
      most = fmax(most, fabs(dot - (i == j)));
    }
  return most;
}

/* Beyond ORTHOGONAL_SINGLE vectors matrices are made in blocks, the last one not full. Uniformly
 * distributed: the trace of a square one has variance 1, its entries 1 / n. */
static void test_large_orthogonal_matrices(void **state) {
  (void)state;
  enum { N = ORTHOGONAL_SINGLE + 50, LONG = 2 * N + 7 };
  static const int shapes[][2] = {{N, N}, {N, LONG}, {LONG, N}};
  double *w = malloc(sizeof(double) * N * LONG);
  rng random;
  rng_seed(&random, 5, 0);
  for (int k = 0; k < 3; k++) {
    orthogonal_watch watch = {0};
    assert_int_equal(orthogonal_matrix(&random, shapes[k][0], shapes[k][1], w, &watch), CAROM_OK);
    assert_true(off_orthogonal(w, shapes[k][0], shapes[k][1]) < 1e-13);
    assert_int_equal(watch.done, N);
    double trace = 0, most = 0;
    for (int i = 0; i < N; i++) trace += w[i * shapes[k][1] + i];
    for (int i = 0; i < shapes[k][0] * shapes[k][1]; i++) most = fmax(most, fabs(w[i]));
    assert_true(fabs(trace) < 4);
    assert_true(most < 6 / sqrt(N));
  }
  free(w);
}

static bool stop_at_once(void *user, int64_t done, int64_t total) {
  assert_true(done > 0 && done < total);
  ++*(int *)user;
  return false;
}

static void test_large_network_can_be_stopped(void **state) {
  (void)state;
  carom_system *system = load_system("cp3");
  carom_model_options options = carom_model_default_options(system);
  int calls = 0;
  options.hidden_size = 2 * ORTHOGONAL_SINGLE;
  options.progress = stop_at_once;
  options.progress_user = &calls;
  carom_model *model;
  carom_error error;
  assert_int_equal(carom_model_create(system, &options, &model, &error), CAROM_INTERRUPTED);
  assert_message(&error, CAROM_INTERRUPTED, "stopped by the progress callback");
  assert_null(model);
  assert_int_equal(calls, 1);
  carom_system_destroy(system);
}

static void test_initial_weights_are_orthogonal(void **state) {
  (void)state;
  mlp_shape shape = {6, 3, 24};
  rng random;
  rng_seed(&random, 4, 0);
  double *p = malloc(sizeof(double) * (size_t)mlp_parameter_count(&shape));
  assert_int_equal(mlp_initialise(&shape, &random, p, NULL, NULL), CAROM_OK);
  for (int l = 0; l <= shape.hidden_layers; l++) {
    int rows = mlp_layer_outputs(&shape, l), columns = mlp_layer_inputs(&shape, l);
    assert_true(off_orthogonal(p + mlp_weight_offset(&shape, l), rows, columns) < 1e-12);
    const double *bias = p + mlp_bias_offset(&shape, l);
    for (int i = 0; i < rows; i++) assert_true(fabs(bias[i]) <= 1 / sqrt(columns));
  }
  free(p);
}

/* ---- the reference's training steps ------------------------------------------------------------ */

/* Name of a segment in the golden files. */
static void golden_segment_name(const char *ours, char *theirs, size_t size) {
  int layer;
  if (strcmp(ours, "mass") == 0)
    snprintf(theirs, size, "m_params.0");
  else if (strcmp(ours, "friction") == 0)
    snprintf(theirs, size, "mu_params");
  else if (strcmp(ours, "restitution") == 0)
    snprintf(theirs, size, "cor_params");
  else if (sscanf(ours, "weight%d", &layer) == 1)
    snprintf(theirs, size, "V_net.0.%d.weight", 2 * layer);
  else if (sscanf(ours, "bias%d", &layer) == 1)
    snprintf(theirs, size, "V_net.0.%d.bias", 2 * layer);
  else
    fail_msg("no segment %s in the files", ours);
}

static void take_parameters(carom_model *m, const json_t *values) {
  for (int i = 0; i < carom_model_describe(m).array_count; i++) {
    carom_array_info segment = carom_model_array(m, i);
    char name[48];
    int count;
    golden_segment_name(segment.name, name, sizeof name);
    double *numbers = golden_numbers(json_object_get(values, name), &count);
    assert_int_equal(count, segment.rows * segment.columns);
    memcpy(carom_model_parameters(m) + segment.offset, numbers, sizeof(double) * (size_t)count);
    free(numbers);
  }
}

/* Worst relative difference of a vector over all segments, each relative to its largest entry. */
static double compare_segments(const carom_model *m, const json_t *values, const double *ours) {
  double worst = 0;
  for (int i = 0; i < carom_model_describe(m).array_count; i++) {
    carom_array_info segment = carom_model_array(m, i);
    char name[48];
    int count;
    golden_segment_name(segment.name, name, sizeof name);
    double *numbers = golden_numbers(json_object_get(values, name), &count);
    if (numbers == NULL) continue;
    double largest = 1e-12, off = 0;
    for (int k = 0; k < count; k++) {
      largest = fmax(largest, fabs(numbers[k]));
      off = fmax(off, fabs(numbers[k] - ours[segment.offset + k]));
    }
    free(numbers);
    worst = fmax(worst, off / largest);
  }
  return worst;
}

/* Marks parameters whose gradient is zero but for the reference's solver error (below 1e-12): Adam
 * divides by its size, so that it moves them visibly. */
static void mark_noise(const carom_model *m, const json_t *gradients, bool *noise) {
  for (int i = 0; i < carom_model_describe(m).array_count; i++) {
    carom_array_info segment = carom_model_array(m, i);
    char name[48];
    int count;
    golden_segment_name(segment.name, name, sizeof name);
    double *numbers = golden_numbers(json_object_get(gradients, name), &count);
    for (int k = 0; k < count; k++)
      if (numbers[k] != 0 && fabs(numbers[k]) < 1e-12) noise[segment.offset + k] = true;
    free(numbers);
  }
}

static double compare_parameters(carom_model *m, const json_t *values, const bool *noise) {
  double worst = 0;
  for (int i = 0; i < carom_model_describe(m).array_count; i++) {
    carom_array_info segment = carom_model_array(m, i);
    char name[48];
    int count;
    golden_segment_name(segment.name, name, sizeof name);
    double *after = golden_numbers(json_object_get(values, name), &count);
    const double *ours = carom_model_parameters(m) + segment.offset;
    for (int k = 0; k < count; k++)
      if (!noise[segment.offset + k]) worst = fmax(worst, fabs(after[k] - ours[k]));
    free(after);
  }
  return worst;
}

typedef struct golden_training {
  json_t *root;
  carom_system *system;
  carom_model *model;
  carom_dataset dataset;
} golden_training;

static void golden_training_open(golden_training *g, const char *task, const char *scene) {
  char name[64];
  carom_error error;
  memset(g, 0, sizeof *g);
  snprintf(name, sizeof name, "trainstep_%s.json", task);
  g->root = golden_load(name);
  if (carom_system_load(scene, &g->system, &error) != CAROM_OK) fail_msg("%s", error.message);
  carom_model_options options = carom_model_default_options(g->system);
  options.integrator = CAROM_RK4;
  options.elastic_term = false;
  options.single_precision = false;
  options.hidden_size = (int)golden_number(g->root, "hidden_size");
  options.hidden_layers = (int)golden_number(g->root, "num_layers");
  if (carom_model_create(g->system, &options, &g->model, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  take_parameters(g->model, golden_get(g->root, "params_before"));

  // targets are [chunks][states][2][n][d]
  int count, size = g->system->coordinate_count;
  double *target = golden_numbers(golden_get(g->root, "target"), &count);
  carom_chunks *chunks = &g->dataset.train;
  *chunks = (carom_chunks){.count = (int)json_array_size(golden_get(g->root, "target"))};
  chunks->states = count / (chunks->count * 2 * size);
  chunks->x = malloc(sizeof(double) * (size_t)count / 2);
  chunks->v = malloc(sizeof(double) * (size_t)count / 2);
  for (int i = 0; i < chunks->count * chunks->states; i++) {
    memcpy(chunks->x + i * size, target + 2 * i * size, sizeof(double) * (size_t)size);
    memcpy(chunks->v + i * size, target + (2 * i + 1) * size, sizeof(double) * (size_t)size);
  }
  free(target);
}

static void golden_training_close(golden_training *g) {
  free(g->dataset.train.x);
  free(g->dataset.train.v);
  carom_model_destroy(g->model);
  carom_system_destroy(g->system);
  json_decref(g->root);
}

static void test_golden_steps(void **state) {
  (void)state;
  const char *const tasks[][2] = {
      {"BP5-e", "bp5-e"}, {"BP5", "bp5"}, {"CP3-e", "cp3-e"}, {"CP3", "cp3"}, {"Rope", "rope"}};
  for (int k = 0; k < 5; k++) {
    golden_training g;
    carom_error error;
    golden_training_open(&g, tasks[k][0], tasks[k][1]);
    carom_chunks *chunks = &g.dataset.train;
    g.dataset.dt = carom_system_describe(g.system).dt;
    int parameters = carom_model_describe(g.model).parameter_count;
    double *gradient = malloc(sizeof(double) * (size_t)parameters);
    bool *noise = calloc((size_t)parameters, sizeof(bool));
    carom_trainer_options options = carom_trainer_paper_options();
    carom_trainer *trainer;
    if (carom_trainer_create(g.model, &g.dataset, &options, &trainer, &error) != CAROM_OK)
      fail_msg("%s", error.message);
    json_t *steps = golden_get(g.root, "steps");
    double worst_loss = 0, worst_gradient = 0, worst_parameter = 0;
    int indices[16];
    for (int i = 0; i < chunks->count; i++) indices[i] = i;
    for (size_t step = 0; step < json_array_size(steps); step++) {
      const json_t *truth = json_array_get(steps, step);
      double loss;
      carom_report report;
      assert_int_equal(
          carom_model_loss(g.model, chunks, chunks->count, NULL, &loss, gradient, &report, &error),
          CAROM_OK);
      assert_true(report.events > 0);
      worst_loss = fmax(worst_loss, fabs(loss - golden_number(truth, "loss")));
      worst_gradient =
          fmax(worst_gradient, compare_segments(g.model, golden_get(truth, "grad"), gradient));
      assert_int_equal(carom_trainer_step(trainer, chunks->count, indices, &loss, &error),
                       CAROM_OK);
      mark_noise(g.model, golden_get(truth, "grad"), noise);
      worst_parameter = fmax(worst_parameter,
                             compare_parameters(g.model, golden_get(truth, "params_after"), noise));
    }
    print_message("%-6s loss %.1e, gradients %.1e relative, parameters %.1e\n", tasks[k][0],
                  worst_loss, worst_gradient, worst_parameter);
    assert_true(worst_loss < 1e-8);
    assert_true(worst_gradient < 1e-6);
    assert_true(worst_parameter < 1e-9);
    carom_trainer_destroy(trainer);
    free(gradient);
    free(noise);
    golden_training_close(&g);
  }
}

/* ---- the loss beside differences ---------------------------------------------------------------- */

typedef struct loss_case {
  carom_model *model;
  carom_chunks chunks;
} loss_case;

static double loss_value(void *user) {
  loss_case *c = user;
  double loss;
  carom_error error;
  if (carom_model_loss(c->model, &c->chunks, c->chunks.count, NULL, &loss, NULL, NULL, &error) !=
      CAROM_OK)
    fail_msg("%s", error.message);
  return loss;
}

/* Chunks with contacts, simulated with the scene's own parameters. */
static void simulate_chunks(const carom_system *s, int count, carom_chunks *chunks) {
  carom_error error;
  int size = s->coordinate_count, states = 5, steps = s->steps, placed = 0;
  size_t numbers = (size_t)count * (size_t)states * (size_t)size;
  *chunks = (carom_chunks){.count = count, .states = states};
  chunks->x = malloc(sizeof(double) * numbers);
  chunks->v = malloc(sizeof(double) * numbers);
  double *x0 = malloc(sizeof(double) * (size_t)size), *v0 = malloc(sizeof(double) * (size_t)size);
  double *x = malloc(sizeof(double) * (size_t)((steps + 1) * size));
  double *v = malloc(sizeof(double) * (size_t)((steps + 1) * size));
  uint8_t *flags = malloc((size_t)steps + 1);
  carom_rollout_options options = carom_rollout_default_options(s);
  for (uint64_t seed = 0; placed < count; seed++) {
    assert_int_equal(carom_system_sample(s, seed, 1, x0, v0, &error), CAROM_OK);
    assert_int_equal(carom_system_simulate(s, &options, NULL, 1, x0, v0, x, v, flags, NULL, &error),
                     CAROM_OK);
    for (int t = 0; t + states <= steps + 1; t++) {
      if (flags[t] || !flags[t + 2]) continue;
      size_t bytes = sizeof(double) * (size_t)(states * size);
      memcpy(chunks->x + placed * states * size, x + t * size, bytes);
      memcpy(chunks->v + placed * states * size, v + t * size, bytes);
      placed++;
      break;
    }
  }
  free(x0);
  free(v0);
  free(x);
  free(v);
  free(flags);
}

static void test_loss_derivatives(void **state) {
  (void)state;
  const char *const scenes[] = {"bp5", "bd5", "cp3", "gyro", "rope"};
  const char *const models[] = {"cm-cd-clnn",  "cm-cd-chnn",  "cmr-cd-clnn",
                                "cmr-cd-chnn", "lcp-cd-clnn", "lcp-cd-chnn"};
  for (int k = 0; k < 5; k++) {
    for (int kind = 0; kind < 6; kind++) {
      carom_system *s;
      carom_error error;
      assert_int_equal(carom_system_load(scenes[k], &s, &error), CAROM_OK);
      s->stabilize = kind == 1 || kind == 2;
      carom_model_options options = carom_model_default_options(s);
      options.hidden_size = 12;
      options.hidden_layers = 2;
      options.learn_regularizer = true;
      options.single_precision = false;
      options.integrator = (k + kind) % 2 == 0 ? CAROM_RK4 : CAROM_RK4_SECANT;
      options.seed = (uint64_t)(kind + 1);
      assert_int_equal(carom_model_options_by_name(&options, models[kind], &error), CAROM_OK);
      loss_case c;
      assert_int_equal(carom_model_create(s, &options, &c.model, &error), CAROM_OK);
      simulate_chunks(s, 3, &c.chunks);
      int count = carom_model_describe(c.model).parameter_count;
      // a potential that is flat at first meets the truth of bp5 and bd5, where the loss has a kink
      rng other;
      rng_seed(&other, 4, (uint64_t)(10 * k + kind));
      for (int i = c.model->network; i < count; i++)
        carom_model_parameters(c.model)[i] += 0.2 * rng_normal(&other);
      double *gradient = malloc(sizeof(double) * (size_t)count), loss;
      assert_int_equal(carom_model_loss(c.model, &c.chunks, 3, NULL, &loss, gradient, NULL, &error),
                       CAROM_OK);
      rng random;
      rng_seed(&random, 2, (uint64_t)(10 * k + kind));
      double worst = 0;
      for (int i = 0; i < carom_model_describe(c.model).array_count; i++) {
        carom_array_info segment = carom_model_array(c.model, i);
        double error_here =
            gradient_error(loss_value, &c, carom_model_parameters(c.model) + segment.offset,
                           gradient + segment.offset, segment.rows * segment.columns, &random);
        if (error_here > 1e-6)
          print_message("  %s %s %s: %.1e\n", scenes[k], models[kind], segment.name, error_here);
        worst = fmax(worst, error_here);
      }
      print_message("%-5s %-12s %.1e\n", scenes[k], models[kind], worst);
      assert_true(worst < 1e-5);
      free(gradient);
      free(c.chunks.x);
      free(c.chunks.v);
      carom_model_destroy(c.model);
      carom_system_destroy(s);
    }
  }
}

/* ---- behaviour ---------------------------------------------------------------------------------- */

/* The same bits from any number of threads, in double and in single precision. */
static void test_same_bits_from_any_threads(void **state) {
  (void)state;
  carom_system *s;
  carom_error error;
  assert_int_equal(carom_system_load("cp3", &s, &error), CAROM_OK);
  carom_chunks chunks;
  simulate_chunks(s, 170, &chunks);
  double *first[2] = {NULL, NULL};
  for (int run = 0; run < 6; run++) {
    const int threads = 1 << run / 2, single = run % 2;
    carom_model_options options = carom_model_default_options(s);
    options.hidden_size = 64;
    options.threads = threads;
    options.single_precision = single;
    carom_model *m;
    assert_int_equal(carom_model_create(s, &options, &m, &error), CAROM_OK);
    int count = carom_model_describe(m).parameter_count;
    double *result = malloc(sizeof(double) * (size_t)(count + 1));
    assert_int_equal(
        carom_model_loss(m, &chunks, chunks.count, NULL, result + count, result, NULL, &error),
        CAROM_OK);
    if (first[single] == NULL) {
      first[single] = result;
    } else {
      assert_memory_equal(first[single], result, sizeof(double) * (size_t)(count + 1));
      free(result);
    }
    carom_model_destroy(m);
  }
  assert_true(first[0][0] != first[1][0]);
  free(first[0]);
  free(first[1]);
  free(chunks.x);
  free(chunks.v);
  carom_system_destroy(s);
}

/* Prediction agrees with what the loss sees, and bad calls are told. */
static void test_prediction_and_errors(void **state) {
  (void)state;
  carom_system *s;
  carom_error error;
  assert_int_equal(carom_system_load("gyro", &s, &error), CAROM_OK);
  carom_chunks chunks;
  simulate_chunks(s, 2, &chunks);
  carom_model_options options = carom_model_default_options(s);
  options.hidden_size = 8;
  carom_model *m;
  assert_int_equal(carom_model_create(s, &options, &m, &error), CAROM_OK);
  int size = s->coordinate_count;
  double loss, sum = 0, x0[24], v0[24], x[2 * 5 * 12], v[2 * 5 * 12];
  for (int i = 0; i < 2; i++) {
    memcpy(x0 + i * size, chunks.x + i * 5 * size, sizeof(double) * (size_t)size);
    memcpy(v0 + i * size, chunks.v + i * 5 * size, sizeof(double) * (size_t)size);
  }
  assert_int_equal(carom_model_loss(m, &chunks, 2, NULL, &loss, NULL, NULL, &error), CAROM_OK);
  assert_int_equal(carom_model_predict(m, 2, 4, x0, v0, x, v, NULL, NULL, &error), CAROM_OK);
  for (int i = 0; i < 120; i++) sum += fabs(x[i] - chunks.x[i]) + fabs(v[i] - chunks.v[i]);
  assert_true(fabs(sum / 240 - loss) < 1e-15);

  int wrong[1] = {7};
  assert_int_equal(carom_model_loss(m, &chunks, 1, wrong, &loss, NULL, NULL, &error),
                   CAROM_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "no chunk 7 of 2"));
  carom_model_parameters(m)[0] = NAN;
  assert_int_not_equal(carom_model_loss(m, &chunks, 1, NULL, &loss, NULL, NULL, &error), CAROM_OK);
  options.hidden_layers = 0;
  carom_model *none;
  assert_int_equal(carom_model_create(s, &options, &none, &error), CAROM_INVALID_ARGUMENT);
  assert_int_equal(carom_model_options_by_name(&options, "clnn", &error), CAROM_INVALID_ARGUMENT);
  carom_model_destroy(m);
  free(chunks.x);
  free(chunks.v);
  carom_system_destroy(s);
}

/* ---- the host program's BLAS ------------------------------------------------------------------- */

extern void openblas_set_num_threads(int count) __attribute__((weak));
extern int openblas_get_num_threads(void) __attribute__((weak));

/* Losses, predictions and potentials of a model of its own, those that fail included. */
static void *use_model(void *system) {
  carom_model_options options = carom_model_default_options(system);
  carom_error error;
  carom_model *m;
  options.hidden_size = 64;
  if (carom_model_create(system, &options, &m, &error) != CAROM_OK) return NULL;
  size_t size = (size_t)m->system->coordinate_count;
  double *x = malloc(sizeof(double) * 60 * size), *v = malloc(sizeof(double) * 60 * size), loss;
  carom_system_sample(system, 5, 60, x, v, &error);
  carom_chunks chunks = {.count = 30, .states = 2, .x = x, .v = v};
  for (int k = 0; k < 20; k++) {
    if (carom_model_loss(m, &chunks, 30, NULL, &loss, NULL, NULL, &error) != CAROM_OK) abort();
    if (carom_model_potential(m, 60, x, v, &error) != CAROM_OK) abort();
    double mass = m->parameters[m->mass], weight = m->parameters[m->network];
    m->parameters[m->mass] = NAN;
    if (carom_model_loss(m, &chunks, 30, NULL, &loss, NULL, NULL, &error) == CAROM_OK) abort();
    m->parameters[m->mass] = mass;
    m->parameters[m->network] = INFINITY;
    if (carom_model_loss(m, &chunks, 30, NULL, &loss, NULL, NULL, &error) == CAROM_OK) abort();
    m->parameters[m->network] = weight;
    carom_system_sample(system, 5, 60, x, v, &error);
  }
  carom_model_destroy(m);
  free(x);
  free(v);
  return system;
}

/* Calls leave BLAS with the threads that it had, from several threads of the program too. */
/* A point hits the ground obliquely, mu = 0.3, e = 0: by the convex law it parts at mu times its speed, by Coulomb's it
 * does not. The law is the scene's unless the options have another. */
static void test_friction_law(void **state) {
  (void)state;
  static const char scene[] =
      "{\"carom\": 1, \"name\": \"point\", \"dimension\": 2, \"dt\": 0.01, \"steps\": 1,"
      " \"bodies\": [{\"id\": \"a\", \"type\": \"point\", \"mass\": 1, \"radius\": 0.1}],"
      " \"planes\": [{\"id\": \"ground\", \"normal\": [0, 1], \"offset\": 0}],"
      " \"contacts\": {\"law\": \"%s\"},"
      " \"initial\": {\"sampler\": \"state\", \"bodies\": [{\"body\": \"a\", \"position\": [0, "
      "1]}]}}";
  const struct {
    const char *scene;
    carom_model_law law;
    bool convex;
  } cases[] = {{"convex", CAROM_LAW_OF_SCENE, true},
               {"coulomb", CAROM_LAW_OF_SCENE, false},
               {"convex", CAROM_LAW_COULOMB, false},
               {"coulomb", CAROM_LAW_CONVEX, true},
               {"coulomb", CAROM_LAW_COULOMB, false}};
  const double mu = 0.3, along = (2 + mu * 8) / (1 + mu * mu);
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    char text[1024];
    snprintf(text, sizeof text, scene, cases[k].scene);
    carom_system *s = parse_system(text);
    carom_model_options o = carom_model_default_options(s);
    carom_model *m;
    carom_error error;
    o.law = cases[k].law;
    o.hidden_size = 4;
    if (carom_model_create(s, &o, &m, &error) != CAROM_OK) fail_msg("%s", error.message);
    // no force; friction is relu, restitution the hard sigmoid of its parameter
    memset(carom_model_parameters(m) + m->network, 0,
           sizeof(double) * (size_t)(m->parameter_count - m->network));
    carom_model_parameters(m)[m->friction] = mu;
    carom_model_parameters(m)[m->restitution] = -3;
    const double x0[] = {0, 0.11}, v0[] = {8, -2};
    double x[4], v[4];
    assert_int_equal(carom_model_predict(m, 1, 1, x0, v0, x, v, NULL, NULL, &error), CAROM_OK);
    assert_near(v[2], 8 - mu * (cases[k].convex ? along : 2), 1e-12);
    assert_near(v[3], cases[k].convex ? along - 2 : 0, 1e-12);
    carom_model_destroy(m);
    carom_system_destroy(s);
  }
}

static void test_blas_threads_are_given_back(void **state) {
  (void)state;
  if (openblas_set_num_threads == 0) skip();
  int before = openblas_get_num_threads();
  carom_system *system = NULL;
  carom_error error;
  assert_int_equal(carom_system_load("cp3", &system, &error), CAROM_OK);
  openblas_set_num_threads(2);
  if (openblas_get_num_threads() == 2) {
    pthread_t threads[2];
    for (int k = 0; k < 2; k++)
      assert_int_equal(pthread_create(&threads[k], NULL, use_model, system), 0);
    for (int k = 0; k < 2; k++) {
      void *used;
      assert_int_equal(pthread_join(threads[k], &used), 0);
      assert_non_null(used);
    }
    assert_int_equal(openblas_get_num_threads(), 2);

    // nested: held until the outermost is done
    gemm_begin();
    assert_non_null(use_model(system));
    assert_int_equal(openblas_get_num_threads(), 1);
    gemm_end();
    assert_int_equal(openblas_get_num_threads(), 2);
  }
  openblas_set_num_threads(before);
  carom_system_destroy(system);
}

int main(void) {
  const struct CMUnitTest outside[] = {cmocka_unit_test(test_blas_threads_are_given_back)};
  int wrong = cmocka_run_group_tests(outside, NULL, NULL);
  gemm_begin();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_network_derivatives),
      cmocka_unit_test(test_initial_weights_are_orthogonal),
      cmocka_unit_test(test_large_orthogonal_matrices),
      cmocka_unit_test(test_large_network_can_be_stopped),
      cmocka_unit_test(test_golden_steps),
      cmocka_unit_test(test_loss_derivatives),
      cmocka_unit_test(test_same_bits_from_any_threads),
      cmocka_unit_test(test_prediction_and_errors),
      cmocka_unit_test(test_friction_law),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  gemm_end();
  return failed + wrong;
}
