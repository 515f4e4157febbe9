/* Training iterations: where their time goes, and how near the network is to the machine's own rate
 * of matrix products. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "bench/bench.h"
#include "learn/model.h"
#include "nn/gemm.h"

enum { CHUNKS = 200 };

static const struct {
  const char *scene;
  double reference; /* seconds of one iteration of the published implementation, or 0 */
} tasks[] = {{"bp5-e", 5.8},
             {"bp5", 4.9},
             {"cp3-e", 4.1},
             {"cp3", 3.1},
             {"bd5", 7.0},
             {"gyro-e", 3.8},
             {"gyro", 4.3},
             {"rope", 4.9},
             {"rope50", 0.090 * 200},
             {"rope100", 0.365 * 200},
             {"rope200", 1.14 * 200}};

static double wall_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Billions of multiply-adds a second of one thread on large products, the machine's own rate. */
static double gemm_rate(bool single) {
  enum { ROWS = 512, WIDTH = 256 };
  double *a = calloc(ROWS * WIDTH, sizeof(double)), *b = calloc(WIDTH * WIDTH, sizeof(double));
  double *c = calloc(ROWS * WIDTH, sizeof(double)), best = 0;
  for (int k = 0; a != NULL && b != NULL && c != NULL && k < 60; k++) {
    double start = wall_seconds();
    if (single)
      gemm_nt_single(ROWS, WIDTH, WIDTH, (float *)(void *)a, (float *)(void *)b, (float *)(void *)c,
                     0);
    else
      gemm_nt_double(ROWS, WIDTH, WIDTH, a, b, c, 0);
    best = fmax(best, 1e-9 * ROWS * WIDTH * WIDTH / (wall_seconds() - start));
  }
  free(a);
  free(b);
  free(c);
  return best;
}

/* Multiply-adds of the network in one iteration: gradient 2 (L-1) h^2 + 2 D h, its derivative twice
 * that, for each sample, time step and stage. */
static double network_work(const mlp_shape *shape, int steps) {
  double h = shape->hidden_size, d = shape->input_size, layers = shape->hidden_layers;
  return 1e-9 * 3 * (2 * (layers - 1) * h * h + 2 * d * h) * CHUNKS * steps * 4;
}

typedef struct iteration {
  double wall;     /* least seconds */
  stopwatch watch; /* of that iteration, over all threads */
  double busy;     /* processor seconds of all threads in it */
} iteration;

static carom_status time_iterations(carom_trainer *trainer, carom_model *m, const int *indices,
                                    double seconds, iteration *best, carom_error *error) {
  stopwatch watches[64];
  double loss;
  best->wall = INFINITY;
  carom_status status = carom_trainer_step(trainer, CHUNKS, indices, &loss, error);
  predictor *p = &m->training;
  int threads = p->thread_count < 64 ? p->thread_count : 64;
  for (int i = 0; status == CAROM_OK && i < threads; i++)
    worker_time(&p->workers[i], &p->job, &watches[i]);
  double begin = wall_seconds();
  for (int k = 0; status == CAROM_OK && (k < 5 || wall_seconds() - begin < seconds); k++) {
    memset(watches, 0, sizeof watches);
    struct timespec busy_start, busy_end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &busy_start);
    double start = wall_seconds();
    status = carom_trainer_step(trainer, CHUNKS, indices, &loss, error);
    double wall = wall_seconds() - start;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &busy_end);
    if (wall >= best->wall) continue;
    *best = (iteration){.wall = wall,
                        .busy = (double)(busy_end.tv_sec - busy_start.tv_sec) +
                                1e-9 * (double)(busy_end.tv_nsec - busy_start.tv_nsec)};
    for (int i = 0; i < threads; i++) {
      best->watch.potential += watches[i].potential;
      best->watch.dynamics += watches[i].dynamics;
      best->watch.contacts += watches[i].contacts;
    }
  }
  return status;
}

static carom_status measure(const carom_system *system, const carom_dataset *dataset, bool single,
                            double seconds, json_t *row, double rate, carom_error *error) {
  carom_model_options options = carom_default_model_options(system);
  options.single_precision = single;
  carom_model *m = NULL;
  carom_trainer *trainer = NULL;
  carom_train_options how = carom_default_train_options();
  how.batch = CHUNKS;
  int indices[CHUNKS];
  for (int i = 0; i < CHUNKS; i++) indices[i] = i;
  iteration best;
  carom_status status = carom_model_create(system, &options, &m, error);
  if (status == CAROM_OK) status = carom_trainer_create(m, dataset, &how, &trainer, error);
  if (status == CAROM_OK) status = time_iterations(trainer, m, indices, seconds, &best, error);
  if (status == CAROM_OK) {
    double total = best.busy, work = network_work(&m->potential.shape, dataset->train.states - 1);
    double other = total - best.watch.potential - best.watch.dynamics - best.watch.contacts;
    json_object_set_new(row, "ms", json_real(1e3 * best.wall));
    json_object_set_new(row, "network", json_real(best.watch.potential / total));
    json_object_set_new(row, "dynamics", json_real(best.watch.dynamics / total));
    json_object_set_new(row, "contacts", json_real(best.watch.contacts / total));
    json_object_set_new(row, "rest", json_real(other / total));
    json_object_set_new(row, "gemm_share", json_real(work / best.watch.potential / rate));
  }
  carom_trainer_destroy(trainer);
  carom_model_destroy(m);
  return status;
}

static carom_status measure_task(size_t k, const bench_options *options, const double rate[2],
                                 json_t *rows, carom_error *error) {
  carom_system *system = NULL;
  carom_dataset *dataset = NULL;
  carom_status status = carom_system_load(tasks[k].scene, &system, error);
  if (status == CAROM_OK) {
    carom_dataset_options data = carom_default_dataset_options(system);
    data.train = CHUNKS;
    data.validation = 1;
    data.test = 1;
    status = carom_dataset_generate(system, NULL, &data, &dataset, error);
  }
  for (int single = 0; status == CAROM_OK && single < 2; single++) {
    json_t *row = json_object();
    json_object_set_new(row, "scene", json_string(tasks[k].scene));
    json_object_set_new(row, "precision", json_string(single ? "single" : "double"));
    status = measure(system, dataset, single, options->seconds, row, rate[single], error);
    if (status == CAROM_OK)
      json_object_set_new(
          row, "reference_ratio",
          json_real(1e3 * tasks[k].reference / json_real_value(json_object_get(row, "ms"))));
    json_array_append_new(rows, row);
  }
  carom_dataset_destroy(dataset);
  carom_system_destroy(system);
  return status;
}

carom_status bench_training(const bench_options *options, json_t *rows, carom_error *error) {
  gemm_begin();
  double rate[2] = {gemm_rate(false), gemm_rate(true)};
  carom_status status = CAROM_OK;
  for (size_t k = 0; status == CAROM_OK && k < sizeof tasks / sizeof tasks[0]; k++) {
    if (options->go_on != NULL && !options->go_on()) break;
    status = measure_task(k, options, rate, rows, error);
  }
  gemm_end();
  return status;
}
