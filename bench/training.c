/* Training iterations: where their time goes, and how near the network is to the machine's own rate
 * of matrix products. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench.h"
#include "learn/model.h"
#include "nn/gemm.h"
#include "nn/kernels.h"

enum { CHUNKS = 200 };

static const struct {
  const char *scene;
  double
      reference; /* seconds of one iteration of the published implementation: on two cores with AVX2, its
                       optimisation layers cached; of the long ropes on another machine, as published */
} tasks[] = {{"bp5-e", 2.23},         {"bp5", 2.43},
             {"cp3-e", 1.94},         {"cp3", 2.48},
             {"bd5", 4.66},           {"gyro-e", 2.24},
             {"gyro", 3.38},          {"rope", 2.40},
             {"rope50", 0.090 * 200}, {"rope100", 0.365 * 200},
             {"rope200", 1.14 * 200}};
enum { TASK_COUNT = sizeof tasks / sizeof tasks[0] };

/* What is measured of each task: our own model as it is, with the paper's integrator, in double precision; then
 * the baselines. */
typedef struct variant {
  const char *model;
  carom_integrator integrator;
  bool single;
} variant;

static const variant variants[] = {
    {"cm-cd-clnn", CAROM_RK4_SECANT, true},  {"cm-cd-clnn", CAROM_RK4, true},
    {"cm-cd-clnn", CAROM_RK4_SECANT, false}, {"mlp-cd-clnn", CAROM_RK4_SECANT, true},
    {"in-cp-clnn", CAROM_RK4_SECANT, true},  {"in-cp-sp", CAROM_RK4_SECANT, true}};
enum { VARIANT_COUNT = sizeof variants / sizeof variants[0] };

static double wall_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Large products beside which the network is measured. */
typedef struct products {
  bool single;
  double *a, *c;  /* [PRODUCT_SIZE][PRODUCT_SIZE], of floats if single */
  double *packed; /* [PRODUCT_WIDTH][PRODUCT_WIDTH] */
  double rate;    /* most multiply-adds in a second of one thread so far, in billions */
} products;

enum { PRODUCT_SIZE = 768, PRODUCT_NUMBERS = PRODUCT_SIZE * PRODUCT_SIZE, PRODUCT_WIDTH = 256 };

static carom_status products_open(products *p, bool single, carom_error *error) {
  *p = (products){.single = single,
                  .a = malloc(sizeof(double) * PRODUCT_NUMBERS),
                  .c = malloc(sizeof(double) * PRODUCT_NUMBERS),
                  .packed = aligned_alloc(
                      64, sizeof(double) * gemm_packed_double(PRODUCT_WIDTH, PRODUCT_WIDTH))};
  if (p->a == NULL || p->c == NULL || p->packed == NULL)
    return carom_error_set(error, CAROM_OUT_OF_MEMORY, "no memory for products to compare with");
  for (int i = 0; i < PRODUCT_NUMBERS; i++) {
    double number = 1.0 / (i % 97 + 1);
    if (single)
      ((float *)(void *)p->a)[i] = (float)number;
    else
      p->a[i] = number;
  }
  if (single)
    gemm_pack_single(PRODUCT_WIDTH, PRODUCT_WIDTH, (const float *)(const void *)p->a, false,
                     (float *)(void *)p->packed);
  else
    gemm_pack_double(PRODUCT_WIDTH, PRODUCT_WIDTH, p->a, false, p->packed);
  return CAROM_OK;
}

static void products_close(products *p) {
  free(p->a);
  free(p->c);
  free(p->packed);
}

/* One product by BLAS, one by our own kernels with the network's weights, packed as they are there: the faster
 * of the two is what the machine can do. BLAS is left out where it uses wider registers than our kernels, which then
 * stand for a machine that has none. Processor time, as the network's. */
static void products_time(products *p) {
  enum { N = PRODUCT_SIZE, W = PRODUCT_WIDTH };
  const float *a = (const float *)(const void *)p->a;
  float *c = (float *)(void *)p->c;
  stopwatch running = {0};
  double start = stopwatch_read(&running);
  const bool comparable = gemm_blas_comparable();
  if (comparable && p->single)
    gemm_blas_single(N, N, N, a, a, c);
  else if (comparable)
    gemm_blas_double(N, N, N, p->a, p->a, p->c);
  double middle = stopwatch_read(&running);
  if (p->single)
    gemm_single(N, W, W, a, (const float *)(const void *)p->packed, NULL, c);
  else
    gemm_double(N, W, W, p->a, p->packed, NULL, p->c);
  double end = stopwatch_read(&running);
  if (comparable) p->rate = fmax(p->rate, 1e-9 * N * N * N / (middle - start));
  p->rate = fmax(p->rate, 1e-9 * N * W * W / (end - middle));
}

/* Multiply-adds of the network in one iteration: gradient 2 (L-1) h^2 + 2 D h, its derivative twice
 * that, for each sample, time step and evaluation in it. */
static double network_work(const mlp_shape *shape, carom_integrator method, int steps) {
  const double h = shape->hidden_size, d = shape->input_size, layers = shape->hidden_layers;
  const int evaluations = method == CAROM_RK4_SECANT ? 2 : 4;
  return 1e-9 * 3 * (2 * (layers - 1) * h * h + 2 * d * h) * CHUNKS * steps * evaluations;
}

typedef struct iteration {
  double wall;     /* least seconds of any */
  double busy;     /* least processor seconds of all threads */
  stopwatch watch; /* of that iteration, over all threads */
} iteration;

static carom_status time_iterations(carom_trainer *trainer, carom_model *m, const int *indices,
                                    double seconds, products *large, iteration *best,
                                    carom_error *error) {
  stopwatch watches[64];
  double loss;
  *best = (iteration){.wall = INFINITY, .busy = INFINITY};
  carom_status status = carom_trainer_step(trainer, CHUNKS, indices, &loss, error);
  batch_executor *b = &m->training.batch;
  int threads = b->worker_count < 64 ? b->worker_count : 64;
  for (int i = 0; status == CAROM_OK && i < threads; i++)
    worker_time(&b->workers[i], &b->job, &watches[i]);
  double begin = wall_seconds();
  for (int k = 0; status == CAROM_OK && (k < 5 || wall_seconds() - begin < seconds); k++) {
    memset(watches, 0, sizeof watches);
    struct timespec busy_start, busy_end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &busy_start);
    double start = wall_seconds();
    status = carom_trainer_step(trainer, CHUNKS, indices, &loss, error);
    best->wall = fmin(best->wall, wall_seconds() - start);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &busy_end);
    // the processor's clock changes from second to second: products by turns with iterations
    products_time(large);
    const double busy = (double)(busy_end.tv_sec - busy_start.tv_sec) +
                        1e-9 * (double)(busy_end.tv_nsec - busy_start.tv_nsec);
    if (busy >= best->busy) continue;
    best->busy = busy;
    best->watch = (stopwatch){0};
    for (int i = 0; i < threads; i++) {
      best->watch.potential += watches[i].potential;
      best->watch.dynamics += watches[i].dynamics;
      best->watch.contacts += watches[i].contacts;
    }
  }
  return status;
}

static void fill_row(const iteration *best, const products *large, double work, bool alone,
                     json_t *row) {
  const double total = best->busy, network = best->watch.potential;
  json_object_set_new(row, "ms", json_real(1e3 * best->wall));
  json_object_set_new(row, "busy_ms", json_real(1e3 * total));
  // of the potential's network alone
  json_object_set_new(row, "gflops", alone ? json_real(2 * work / network) : json_null());
  json_object_set_new(row, "gemm_share",
                      alone ? json_real(work / network / large->rate) : json_null());
  json_object_set_new(row, "network", json_real(network / total));
  json_object_set_new(row, "dynamics", json_real(best->watch.dynamics / total));
  json_object_set_new(row, "contacts", json_real(best->watch.contacts / total));
  const double other = total - network - best->watch.dynamics - best->watch.contacts;
  json_object_set_new(row, "rest", json_real(other / total));
}

static carom_status measure(const carom_system *system, const carom_dataset *dataset,
                            const variant *how, double seconds, json_t *row, carom_error *error) {
  carom_model_options options = carom_model_default_options(system);
  options.single_precision = how->single;
  options.integrator = how->integrator;
  carom_model *m = NULL;
  carom_trainer *trainer = NULL;
  carom_trainer_options training = carom_trainer_default_options();
  training.batch = CHUNKS;
  int indices[CHUNKS];
  for (int i = 0; i < CHUNKS; i++) indices[i] = i;
  iteration best = {0};
  products large;
  carom_status status = products_open(&large, how->single, error);
  if (status == CAROM_OK) status = carom_model_options_by_name(&options, how->model, error);
  if (status == CAROM_OK) status = carom_model_create(system, &options, &m, error);
  if (status == CAROM_OK) status = carom_trainer_create(m, dataset, &training, &trainer, error);
  if (status == CAROM_OK)
    status = time_iterations(trainer, m, indices, seconds, &large, &best, error);
  if (status == CAROM_OK)
    fill_row(&best, &large,
             network_work(&m->potential.shape, how->integrator, dataset->train.states - 1),
             options.baseline == CAROM_BASELINE_NONE, row);
  products_close(&large);
  carom_trainer_destroy(trainer);
  carom_model_destroy(m);
  return status;
}

static carom_status measure_variant(int task, const carom_system *system,
                                    const carom_dataset *dataset, const variant *how,
                                    const bench_options *options, json_t *rows,
                                    carom_error *error) {
  const bool ours = strcmp(how->model, variants[0].model) == 0;
  json_t *row = json_object();
  json_object_set_new(row, "scene", json_string(tasks[task].scene));
  json_object_set_new(row, "model", json_string(how->model));
  // an interaction network that stands alone has no equations of motion
  const bool moves = strcmp(how->model, "in-cp-sp") != 0;
  json_object_set_new(row, "integrator",
                      moves ? json_string(integrator_names[how->integrator]) : json_null());
  json_object_set_new(row, "precision", json_string(how->single ? "single" : "double"));
  json_object_set_new(row, "kernels", json_string(kernels_in_use()->name));
  carom_status status = measure(system, dataset, how, options->seconds, row, error);
  // of the published implementation there is a time for its contact model alone
  const double ms = json_real_value(json_object_get(row, "ms"));
  json_object_set_new(row, "reference_ratio",
                      ours ? json_real(1e3 * tasks[task].reference / ms) : json_null());
  json_array_append_new(rows, row);
  return status;
}

static bool wanted(const char *asked, const char *name) {
  return asked == NULL || strcmp(asked, name) == 0;
}

static carom_status measure_task(int task, const bench_options *options, json_t *rows,
                                 carom_error *error) {
  carom_system *system = NULL;
  carom_dataset *dataset = NULL;
  carom_status status = carom_system_load(tasks[task].scene, &system, error);
  if (status == CAROM_OK) {
    carom_dataset_options data = carom_dataset_default_options(system);
    data.train = CHUNKS;
    data.validation = 1;
    data.test = 1;
    status = carom_dataset_generate(system, NULL, &data, &dataset, error);
  }
  for (int k = 0; status == CAROM_OK && k < VARIANT_COUNT; k++) {
    if (!wanted(options->model, variants[k].model)) continue;
    if (options->go_on != NULL && !options->go_on()) break;
    status = measure_variant(task, system, dataset, &variants[k], options, rows, error);
  }
  carom_dataset_destroy(dataset);
  carom_system_destroy(system);
  return status;
}

/* Whether there is something to measure of that name. */
static carom_status check_names(const bench_options *options, carom_error *error) {
  bool task = false, model = false;
  for (int k = 0; k < TASK_COUNT; k++) task = task || wanted(options->scene, tasks[k].scene);
  for (int k = 0; k < VARIANT_COUNT; k++)
    model = model || wanted(options->model, variants[k].model);
  if (!task)
    return carom_error_set(
        error, CAROM_INVALID_ARGUMENT,
        "no training of '%s' is measured; the tasks are bp5-e, bp5, cp3-e, cp3, bd5, "
        "gyro-e, gyro, rope, rope50, rope100, rope200",
        options->scene);
  if (!model)
    return carom_error_set(
        error, CAROM_INVALID_ARGUMENT,
        "no training of '%s' is measured; the models are cm-cd-clnn, mlp-cd-clnn, "
        "in-cp-clnn, in-cp-sp",
        options->model);
  return CAROM_OK;
}

carom_status bench_training(const bench_options *options, json_t *rows, carom_error *error) {
  if (kernels_choose(options->kernels) == NULL)
    return carom_error_set(error, CAROM_INVALID_ARGUMENT,
                           "this processor cannot run the kernels '%s'; the best it can is '%s'",
                           options->kernels, kernels_choose(NULL)->name);
  carom_status status = check_names(options, error);
  gemm_begin();
  for (int k = 0; status == CAROM_OK && k < TASK_COUNT; k++) {
    if (!wanted(options->scene, tasks[k].scene)) continue;
    status = measure_task(k, options, rows, error);
  }
  gemm_end();
  kernels_choose(NULL);
  return status;
}
