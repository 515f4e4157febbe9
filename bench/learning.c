/* Time to accuracy: seconds until a training with its defaults has learned as much as the paper reports.
 *
 * Clocks stand still while the model is judged: after the warm start, then after every epoch. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/bench.h"

/* The paper's error of predicted trajectories (appendix K, L), and how far its frictions and restitutions
 * (table 2) are from the truth, or 0.0005, half of its last digit, if that is more. Tasks without a
 * published error have that of the nearest: bp5 and bd5 that of bp5-e, gyro-e that of gyro, the rope of
 * 10 points that of 50. */
static const struct {
  const char *scene;
  double error, friction, restitution;
  bool published; /* the error */
} tasks[] = {{"bp5-e", 2.83e-3, 5e-4, 5e-4, true}, {"bp5", 2.83e-3, 5e-4, 5e-4, false},
             {"cp3-e", 3.85e-3, 5e-4, 5e-4, true}, {"cp3", 2.34e-5, 5e-4, 5e-3, true},
             {"bd5", 2.83e-3, 5e-4, 5e-4, false},  {"gyro-e", 2.39e-3, 5e-4, 5e-4, false},
             {"gyro", 2.39e-3, 5e-4, 5e-4, true},  {"rope", 1.97e-3, 2.6e-2, 5e-4, false}};
enum { TASKS = sizeof tasks / sizeof tasks[0] };

typedef struct reading {
  double elapsed, processor;
} reading;

static double clock_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static reading read_clocks(void) {
  return (reading){clock_of(CLOCK_MONOTONIC), clock_of(CLOCK_PROCESS_CPUTIME_ID)};
}

/* One training under way. */
typedef struct learning {
  size_t task;
  const carom_system *system;
  const carom_dataset *data;
  const carom_contact_count *counts; /* of contacts in the training chunks */
  carom_model *model;
  const bench_options *how;
  double *x0, *v0, *x, *v, *theta, *truth;
  reading begun;             /* without the time of judging */
  reading properties, error; /* when they were reached; NaN before */
  double best_error;
  int epoch;
  carom_error failure;
} learning;

/* Mean over test trajectories of sum |predicted - true| / sum |true|, as carom evaluate has it. */
static carom_status test_error(learning *l, double *error_of, carom_error *error) {
  const carom_chunks *c = &l->data->test;
  const carom_system_info info = carom_system_describe(l->system);
  const size_t width = (size_t)info.point_count * (size_t)info.dimension;
  const size_t chunk = width * (size_t)c->states;
  for (size_t i = 0; i < (size_t)c->count; i++) {
    memcpy(l->x0 + i * width, c->x + i * chunk, sizeof(double) * width);
    memcpy(l->v0 + i * width, c->v + i * chunk, sizeof(double) * width);
  }
  carom_status status = carom_model_predict(l->model, c->count, c->states - 1, l->x0, l->v0, l->x,
                                            l->v, NULL, NULL, error);
  if (status != CAROM_OK) return status;
  *error_of = 0;
  for (size_t i = 0; i < (size_t)c->count; i++) {
    double off = 0, all = 0;
    for (size_t k = i * chunk; k < (i + 1) * chunk; k++) {
      off += fabs(l->x[k] - c->x[k]) + fabs(l->v[k] - c->v[k]);
      all += fabs(c->x[k]) + fabs(c->v[k]);
    }
    *error_of += off / all / c->count;
  }
  return CAROM_OK;
}

// whether every friction and restitution that the training data shows is as near as the paper's
static bool properties_reached(const learning *l) {
  const carom_segment_info mu = carom_parameters_segment(l->system, CAROM_FRICTION);
  const carom_segment_info e = carom_parameters_segment(l->system, CAROM_RESTITUTION);
  carom_model_theta(l->model, l->theta);
  for (int i = 0; i < mu.size; i++) {
    if (l->counts[i].chunks == 0) continue;
    const double friction = fabs(l->theta[mu.offset + i] - l->truth[mu.offset + i]);
    const double restitution = fabs(l->theta[e.offset + i] - l->truth[e.offset + i]);
    if (!(friction <= tasks[l->task].friction) || !(restitution <= tasks[l->task].restitution))
      return false;
  }
  return true;
}

static void note(reading *reached, bool now, reading spent) {
  if (now && isnan(reached->elapsed)) *reached = spent;
}

// judges the model; false where it failed
static bool judge(learning *l) {
  const reading now = read_clocks();
  const reading spent = {now.elapsed - l->begun.elapsed, now.processor - l->begun.processor};
  double error_of = INFINITY;
  if (test_error(l, &error_of, &l->failure) != CAROM_OK) return false;
  l->best_error = fmin(l->best_error, error_of);
  note(&l->properties, properties_reached(l), spent);
  note(&l->error, error_of <= tasks[l->task].error, spent);
  const reading later = read_clocks();
  l->begun.elapsed += later.elapsed - now.elapsed;
  l->begun.processor += later.processor - now.processor;
  return true;
}

static bool on_epoch(void *user, const carom_epoch *epoch) {
  learning *l = user;
  l->epoch = epoch->epoch;
  if (!judge(l)) return false;
  const bool done = !isnan(l->properties.elapsed) && !isnan(l->error.elapsed);
  return !done && (l->how->go_on == NULL || l->how->go_on());
}

static bool allocate(learning *l) {
  const carom_system_info info = carom_system_describe(l->system);
  const carom_chunks *c = &l->data->test;
  const size_t state = (size_t)c->count * (size_t)info.point_count * (size_t)info.dimension;
  const size_t parameters = (size_t)carom_parameters_count(l->system);
  l->x0 = malloc(sizeof(double) * state);
  l->v0 = malloc(sizeof(double) * state);
  l->x = malloc(sizeof(double) * state * (size_t)c->states);
  l->v = malloc(sizeof(double) * state * (size_t)c->states);
  l->theta = calloc(parameters, sizeof(double));
  l->truth = calloc(parameters, sizeof(double));
  return l->x0 != NULL && l->v0 != NULL && l->x != NULL && l->v != NULL && l->theta != NULL &&
         l->truth != NULL;
}

static void release(learning *l) {
  double *arrays[] = {l->x0, l->v0, l->x, l->v, l->theta, l->truth};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) free(arrays[i]);
  carom_model_destroy(l->model);
}

static carom_status train(learning *l, int seed, carom_error *error) {
  carom_model_options model = carom_model_default_options(l->system);
  model.seed = (uint64_t)seed;
  carom_trainer_options options = carom_trainer_default_options();
  options.seed = (uint64_t)seed;
  options.warm_start = !l->how->descent;
  carom_trainer *trainer = NULL;
  carom_status status = carom_model_options_by_data(&model, l->system, l->data, error);
  l->begun = read_clocks();
  if (status == CAROM_OK) status = carom_model_create(l->system, &model, &l->model, error);
  if (status == CAROM_OK)
    status = carom_trainer_create(l->model, l->data, &options, &trainer, error);
  if (status == CAROM_OK && options.warm_start)
    status = carom_trainer_warm_start(trainer, NULL, error);
  if (status == CAROM_OK && !judge(l)) status = l->failure.status;
  const bool done = !isnan(l->properties.elapsed) && !isnan(l->error.elapsed);
  if (status == CAROM_OK && !done) {
    status = carom_trainer_run(trainer, on_epoch, l, error);
    if (status == CAROM_INTERRUPTED) status = CAROM_OK; // there is no more to learn
  }
  if (l->failure.status != CAROM_OK) {
    *error = l->failure;
    status = error->status;
  }
  carom_trainer_destroy(trainer);
  return status;
}

static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static void add_row(const learning *l, int seed, json_t *rows) {
  json_t *row = json_object();
  json_object_set_new(row, "scene", json_string(tasks[l->task].scene));
  json_object_set_new(row, "seed", json_integer(seed));
  json_object_set_new(row, "target", json_real(tasks[l->task].error));
  json_object_set_new(row, "published", json_string(tasks[l->task].published ? "yes" : "nearest"));
  json_object_set_new(row, "properties_s", number(l->properties.elapsed));
  json_object_set_new(row, "properties_cpu_s", number(l->properties.processor));
  json_object_set_new(row, "error_s", number(l->error.elapsed));
  json_object_set_new(row, "error_cpu_s", number(l->error.processor));
  json_object_set_new(row, "epochs", json_integer(l->epoch));
  json_object_set_new(row, "test_error", number(l->best_error));
  json_array_append_new(rows, row);
}

static carom_status measure_seed(size_t task, const carom_system *system, int seed,
                                 const bench_options *how, json_t *rows, carom_error *error) {
  carom_dataset *data = NULL;
  carom_dataset_options options = carom_dataset_default_options(system);
  options.seed = (uint64_t)seed;
  carom_contact_count *counts =
      calloc((size_t)carom_system_describe(system).contact_count + 1, sizeof *counts);
  carom_status status = counts != NULL
                            ? carom_dataset_generate(system, NULL, &options, &data, error)
                            : carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  if (status == CAROM_OK) status = carom_chunks_count_contacts(&data->train, system, counts, error);
  if (status == CAROM_OK) {
    learning l = {.task = task,
                  .system = system,
                  .data = data,
                  .counts = counts,
                  .how = how,
                  .properties = {NAN, NAN},
                  .error = {NAN, NAN},
                  .best_error = INFINITY};
    status = allocate(&l) ? CAROM_OK : carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
    if (status == CAROM_OK) carom_parameters_default(system, l.truth);
    if (status == CAROM_OK) status = train(&l, seed, error);
    if (status == CAROM_OK) add_row(&l, seed, rows);
    release(&l);
  }
  carom_dataset_destroy(data);
  free(counts);
  return status;
}

// whether a name is in a list with commas; every name is in no list
static bool chosen(const char *list, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = list; at != NULL; at = strchr(at, ',')) {
    if (*at == ',') at++;
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) return true;
  }
  return list == NULL;
}

static carom_status check_tasks(const char *list, carom_error *error) {
  size_t found = 0, wanted = list != NULL;
  for (const char *at = list; at != NULL && *at != '\0'; at++) wanted += *at == ',';
  for (size_t k = 0; list != NULL && k < TASKS; k++) found += chosen(list, tasks[k].scene);
  if (list == NULL || found == wanted) return CAROM_OK;
  return carom_error_set(
      error, CAROM_INVALID_ARGUMENT,
      "--tasks %s: expected a list like cp3,gyro of bp5-e, bp5, cp3-e, cp3, bd5, "
      "gyro-e, gyro, rope",
      list);
}

carom_status bench_learning(const bench_options *options, json_t *rows, carom_error *error) {
  carom_status status = check_tasks(options->tasks, error);
  for (size_t k = 0; status == CAROM_OK && k < TASKS; k++) {
    if (!chosen(options->tasks, tasks[k].scene)) continue;
    carom_system *system = NULL;
    status = carom_system_load(tasks[k].scene, &system, error);
    for (int seed = 0; status == CAROM_OK && seed < options->seeds; seed++) {
      if (options->go_on != NULL && !options->go_on()) break;
      status = measure_seed(k, system, seed, options, rows, error);
    }
    carom_system_destroy(system);
  }
  return status;
}
