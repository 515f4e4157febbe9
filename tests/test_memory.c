/* Memory that runs short is CAROM_OUT_OF_MEMORY: the k-th allocation of the library fails, for every k
 * until a call succeeds. Nothing leaks, and what failed can be used again. The linker puts the
 * functions below in the place of malloc and its kin for all of the library's own code. */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "carom.h"
#include "support/noisy.h"
#include "support/quick.h"
#include "support/systems.h"

/* Absurd requests are tried too: the sanitizer is to answer NULL, as the system does. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

/* ---- an allocator that fails ----------------------------------------------------------------- */

static atomic_long until_failure = -1; /* allocations that succeed before one fails; -1: all do */
static atomic_bool failed;             /* one has */
static bool keeps_failing;             /* so do all after it */
static atomic_long live;               /* pieces of memory in use */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);

static bool refuse(void) {
  if (atomic_load(&until_failure) < 0 && !(keeps_failing && atomic_load(&failed))) return false;
  if (!atomic_load(&failed) && atomic_fetch_sub(&until_failure, 1) > 0) return false;
  if (atomic_load(&failed) && !keeps_failing) return false;
  atomic_store(&failed, true);
  errno = ENOMEM;
  return true;
}

static void *count(void *memory) {
  if (memory != NULL) atomic_fetch_add(&live, 1);
  return memory;
}

void *__wrap_malloc(size_t size) { return refuse() ? NULL : count(__real_malloc(size)); }
void *__wrap_calloc(size_t n, size_t size) {
  return refuse() ? NULL : count(__real_calloc(n, size));
}
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return refuse() ? NULL : count(__real_aligned_alloc(alignment, size));
}
void *__wrap_realloc(void *memory, size_t size) {
  if (refuse()) return NULL;
  void *moved = __real_realloc(memory, size);
  return memory == NULL ? count(moved) : moved;
}
void __wrap_free(void *memory) {
  if (memory != NULL) atomic_fetch_sub(&live, 1);
  __real_free(memory);
}

static void arm(long k, bool keeps) {
  atomic_store(&failed, false);
  keeps_failing = keeps;
  atomic_store(&until_failure, k);
}

static bool disarm(void) {
  bool fired = atomic_load(&failed);
  atomic_store(&until_failure, -1);
  atomic_store(&failed, false);
  return fired;
}

/* ---- what is tried --------------------------------------------------------------------------- */

enum { BATCH = 12, STATES = 5, CONTACTS = 4, SIZE = CONTACTS * 3 };

typedef struct fixture {
  const char *scene;
  carom_system *system;
  int numbers; /* of a state */
  carom_rollout_options options;
  double *x0, *v0, *x, *v, *bar, *theta_bar;
  carom_rollout *rollout;
  carom_model *model;
  carom_dataset *dataset;
  carom_trainer *trainer;
  carom_cone_solver *solver;
  double A[SIZE * SIZE], b[SIZE], mu[CONTACTS], f[SIZE];
} fixture;

static void ok(carom_status status, const carom_error *error) {
  if (status != CAROM_OK) fail_msg("%s", error->message);
}

static void open_system(fixture *f) {
  f->system = load_system(f->scene);
  carom_system_info info = carom_system_describe(f->system);
  f->numbers = info.point_count * info.dimension;
  f->options = carom_rollout_default_options(f->system);
  f->options.threads = 2;
  f->options.steps = f->options.steps < 60 ? f->options.steps : 60;
  size_t all = (size_t)(BATCH * f->numbers) * (size_t)(f->options.steps + 1);
  double **const arrays[] = {&f->x0, &f->v0, &f->x, &f->v, &f->bar};
  for (int k = 0; k < 5; k++) *arrays[k] = calloc(all, sizeof(double));
  f->theta_bar = calloc((size_t)carom_parameters_count(f->system), sizeof(double));
  carom_error error;
  ok(carom_system_sample(f->system, 3, BATCH, f->x0, f->v0, &error), &error);
}

static void open_rollout(fixture *f) {
  carom_error error;
  open_system(f);
  ok(carom_rollout_create(f->system, &f->options, BATCH, &f->rollout, &error), &error);
}

static void open_vjp(fixture *f) {
  carom_error error;
  open_rollout(f);
  ok(carom_rollout_run(f->rollout, NULL, f->x0, f->v0, &error), &error);
}

static carom_model_options model_options(const fixture *f) {
  carom_model_options options = carom_model_default_options(f->system);
  options.hidden_layers = 2;
  options.hidden_size = 8;
  options.threads = 2;
  return options;
}

static carom_dataset_options dataset_options(const fixture *f) {
  carom_dataset_options options = carom_dataset_default_options(f->system);
  options.train = 60;
  options.validation = 4;
  options.test = 4;
  options.chunk = STATES;
  options.steps = 30;
  options.threads = 2;
  return options;
}

static void open_model(fixture *f) {
  carom_error error;
  open_system(f);
  carom_model_options options = model_options(f);
  carom_dataset_options data = dataset_options(f);
  ok(carom_model_create(f->system, &options, &f->model, &error), &error);
  ok(carom_dataset_generate(f->system, NULL, &data, &f->dataset, &error), &error);
}

static carom_trainer_options trainer_options(void) {
  carom_trainer_options options = carom_trainer_default_options();
  options.epochs = 3;
  options.search_every = 1;
  return options;
}

static void open_trainer(fixture *f) {
  carom_error error;
  open_model(f);
  carom_trainer_options options = trainer_options();
  ok(carom_trainer_create(f->model, f->dataset, &options, &f->trainer, &error), &error);
}

static void open_solver(fixture *f) {
  carom_error error;
  ok(carom_cone_solver_create(&f->solver, &error), &error);
  for (int i = 0; i < SIZE; i++) {
    f->A[i * SIZE + i] = 2;
    f->b[i] = i % 3 == 0 ? -1 : 0.7;
    if (i > 0) f->A[i * SIZE + i - 1] = f->A[(i - 1) * SIZE + i] = 0.5;
  }
  for (int i = 0; i < CONTACTS; i++) f->mu[i] = 0.3;
}

static void close_all(fixture *f) {
  carom_trainer_destroy(f->trainer);
  carom_dataset_destroy(f->dataset);
  carom_model_destroy(f->model);
  carom_rollout_destroy(f->rollout);
  carom_cone_solver_destroy(f->solver);
  carom_system_destroy(f->system);
  double *arrays[] = {f->x0, f->v0, f->x, f->v, f->bar, f->theta_bar};
  for (int k = 0; k < 6; k++) free(arrays[k]);
}

static carom_status call_load(fixture *f, carom_error *error) {
  carom_system *made = NULL;
  carom_status status = carom_system_load(f->scene, &made, error);
  if (status != CAROM_OK) assert_null(made);
  carom_system_destroy(made);
  return status;
}

static carom_status call_sample(fixture *f, carom_error *error) {
  carom_status status = carom_system_sample(f->system, 7, BATCH, f->x, f->v, error);
  if (status != CAROM_OK) return status;
  return carom_system_check_states(f->system, BATCH, f->x0, f->v0, 1e-6, error);
}

static carom_status call_energy(fixture *f, carom_error *error) {
  double kinetic, potential;
  return carom_system_energy(f->system, NULL, f->x0, f->v0, &kinetic, &potential, error);
}

static carom_status call_simulate(fixture *f, carom_error *error) {
  return carom_system_simulate(f->system, &f->options, NULL, BATCH, f->x0, f->v0, f->x, f->v, NULL,
                               NULL, error);
}

static carom_status call_create(fixture *f, carom_error *error) {
  carom_rollout *made = NULL;
  carom_status status = carom_rollout_create(f->system, &f->options, BATCH, &made, error);
  if (status != CAROM_OK) assert_null(made);
  carom_rollout_destroy(made);
  return status;
}

static carom_status call_vjp(fixture *f, carom_error *error) {
  return carom_rollout_vjp(f->rollout, f->bar, NULL, NULL, NULL, f->theta_bar, error);
}

// a run that failed has nothing to differentiate
static carom_status call_run(fixture *f, carom_error *error) {
  carom_status status = carom_rollout_run(f->rollout, NULL, f->x0, f->v0, error);
  carom_error refused;
  if (status != CAROM_OK) assert_int_equal(call_vjp(f, &refused), CAROM_INVALID_ARGUMENT);
  return status;
}

static carom_status call_controls(fixture *f, carom_error *error) {
  return carom_rollout_set_controls(f->rollout, f->bar, error);
}

static carom_status call_model_create(fixture *f, carom_error *error) {
  carom_model_options options = model_options(f);
  carom_model *made = NULL;
  carom_status status = carom_model_create(f->system, &options, &made, error);
  if (status != CAROM_OK) assert_null(made);
  carom_model_destroy(made);
  return status;
}

static carom_status call_loss(fixture *f, carom_error *error) {
  double loss, *gradient = __real_calloc((size_t)carom_model_describe(f->model).parameter_count, 8);
  carom_status status = carom_model_loss(f->model, &f->dataset->train, f->dataset->train.count,
                                         NULL, &loss, gradient, NULL, error);
  __real_free(gradient);
  return status;
}

static carom_status call_predict(fixture *f, carom_error *error) {
  return carom_model_predict(f->model, BATCH, f->options.steps, f->x0, f->v0, f->x, f->v, NULL,
                             NULL, error);
}

static carom_status call_potential(fixture *f, carom_error *error) {
  return carom_model_potential(f->model, BATCH, f->x0, f->bar, error);
}

static carom_status call_force(fixture *f, carom_error *error) {
  return carom_model_force(f->model, BATCH, f->x0, f->bar, error);
}

static carom_status call_evaluate(fixture *f, carom_error *error) {
  carom_evaluation_options options = carom_evaluation_default_options();
  options.steps = 10;
  options.threads = 2;
  carom_evaluation *made = NULL;
  carom_status status =
      carom_model_evaluate(f->model, f->dataset, CAROM_TEST, &options, &made, error);
  if (status != CAROM_OK) assert_null(made);
  carom_evaluation_destroy(made);
  return status;
}

static carom_status call_generate(fixture *f, carom_error *error) {
  carom_dataset_options options = dataset_options(f);
  options.noise = 1e-3;
  carom_dataset *made = NULL;
  carom_status status = carom_dataset_generate(f->system, NULL, &options, &made, error);
  if (status != CAROM_OK) assert_null(made);
  carom_dataset_destroy(made);
  return status;
}

static carom_status call_trainer_create(fixture *f, carom_error *error) {
  carom_trainer_options options = trainer_options();
  carom_trainer *made = NULL;
  carom_status status = carom_trainer_create(f->model, f->dataset, &options, &made, error);
  if (status != CAROM_OK) assert_null(made);
  carom_trainer_destroy(made);
  return status;
}

static carom_status call_epochs(fixture *f, carom_error *error) {
  carom_status status = carom_trainer_epoch(f->trainer, NULL, error);
  return status == CAROM_OK ? carom_trainer_epoch(f->trainer, NULL, error) : status;
}

static carom_status call_solve(fixture *f, carom_error *error) {
  carom_cone_program program = {
      .contact_count = CONTACTS, .dimension = 3, .A = f->A, .b = f->b, .mu = f->mu};
  carom_status status = carom_cone_solver_solve(f->solver, &program, NULL, f->f, NULL, error);
  double A_bar[SIZE * SIZE];
  carom_error refused;
  if (status == CAROM_OK)
    return carom_cone_solver_vjp(f->solver, f->f, A_bar, NULL, NULL, NULL, error);
  assert_int_equal(carom_cone_solver_vjp(f->solver, f->f, A_bar, NULL, NULL, NULL, &refused),
                   CAROM_INVALID_ARGUMENT);
  return status;
}

static const struct {
  const char *name, *scene;
  void (*open)(fixture *f);
  carom_status (*call)(fixture *f, carom_error *error);
} trials[] = {
    {"load rope", "rope", NULL, call_load},
    {"load joints", CAROM_TEST_DATA "/rigid-chain3d.json", NULL, call_load},
    {"sample", "bp5", open_system, call_sample},
    {"energy", "gyro", open_system, call_energy},
    {"simulate", "bd5", open_system, call_simulate},
    {"rollout create", "gyro", open_system, call_create},
    {"rollout run", "cp3", open_rollout, call_run},
    {"rollout run", "rope", open_rollout, call_run},
    {"rollout vjp", "rope200", open_vjp, call_vjp},
    {"rollout controls", CAROM_SOURCE_DIR "/examples/scenes/pushed.json", open_rollout,
     call_controls},
    {"load controls", CAROM_SOURCE_DIR "/examples/scenes/pushed.json", NULL, call_load},
    {"model create", "rope", open_system, call_model_create},
    {"model loss", "bp5", open_model, call_loss},
    {"model predict", "cp3", open_model, call_predict},
    {"model potential", "cp3", open_model, call_potential},
    {"model force", "cp3", open_model, call_force},
    {"evaluate", "cp3", open_model, call_evaluate},
    {"dataset generate", "cp3", open_system, call_generate},
    {"trainer create", "cp3", open_model, call_trainer_create},
    {"trainer epochs", "cp3", open_trainer, call_epochs},
    {"cone solver", "", open_solver, call_solve},
};

/* The k-th allocation fails, once or for good. Returns whether it came to that. */
static bool try(size_t trial, long k, bool keeps) {
  carom_error error = {0};
  long before = atomic_load(&live);
  fixture f = {.scene = trials[trial].scene};
  if (trials[trial].open != NULL) trials[trial].open(&f);
  arm(k, keeps);
  carom_status status = trials[trial].call(&f, &error);
  bool fired = disarm();
  carom_status wanted = fired ? CAROM_OUT_OF_MEMORY : CAROM_OK;
  if (status != wanted)
    fail_msg("%s (%s), allocation %ld: status %d instead of %d: %s", trials[trial].name,
             trials[trial].scene, k, status, wanted, error.message);
  if (fired) assert_true(error.message[0] != '\0');

  // the same objects, with memory
  ok(trials[trial].call(&f, &error), &error);
  close_all(&f);
  if (atomic_load(&live) != before)
    fail_msg("%s (%s), allocation %ld: %ld pieces of memory leak", trials[trial].name,
             trials[trial].scene, k, atomic_load(&live) - before);
  return fired;
}

static void test_every_allocation_may_fail(void **state) {
  (void)state;
  for (size_t trial = 0; trial < sizeof trials / sizeof trials[0]; trial++) {
    long k = 0;
    while (try(trial, k, false) && try(trial, k, true)) k++;
    // what a reverse needs may be there from the run, on the threads that had the same shards
    assert_true(k > 0 || trials[trial].call == call_vjp);
    print_message("%s (%s): %ld allocations\n", trials[trial].name, trials[trial].scene, k);
  }
}

/* ---- fits ------------------------------------------------------------------------------------ */

static carom_status identify(const carom_system *system, const carom_rollout_options *how,
                             const carom_trajectories *data, double noise, carom_error *error) {
  carom_fit_options options = carom_fit_default_options();
  options.threads = 1;
  options.position_noise = options.velocity_noise = noise;
  carom_fit *fit;
  carom_status status =
      carom_fit_create(system, data, "mass[b]:start=4", how, &options, &fit, error);
  if (status == CAROM_OK) status = carom_fit_run(fit, error);
  if (status != CAROM_OK) assert_null(carom_fit_result_of(fit));
  carom_fit_destroy(fit);
  return status;
}

/* A fit whose likelihood has edges, so that it is searched by populations, from several places, and sampled. It allocates too often for all of them to be tried. */
static void test_fits_may_fail(void **state) {
  (void)state;
  const double NOISE = 0.05;
  const long MORE = 8, most = quick() ? 300 : LONG_MAX; // the next is one in so many further on
  noisy_setting s = noisy_make(load_system(CAROM_TEST_DATA "/two-balls-in-box.json"), 1, 8);
  carom_trajectories data = noisy_simulate(&s, 6);
  noisy_disturb(&s, &data, NOISE, 6);
  const long before = atomic_load(&live);
  bool fired = true;
  long k = 0, tried = 0;
  for (; fired && k < most; k += 1 + k / MORE, tried++) {
    carom_error error = {0};
    arm(k, tried % 2 == 1);
    const carom_status status = identify(s.system, &s.how, &data, NOISE, &error);
    fired = disarm();
    const carom_status wanted = fired ? CAROM_OUT_OF_MEMORY : CAROM_OK;
    if (status != wanted)
      fail_msg("allocation %ld of a fit: status %d instead of %d: %s", k, status, wanted,
               error.message);
    if (atomic_load(&live) != before)
      fail_msg("allocation %ld of a fit: %ld pieces of memory leak", k,
               atomic_load(&live) - before);
  }
  assert_true(tried > 4);
  print_message("fit: %ld tried, up to %ld allocations\n", tried, k);
  carom_trajectories_free(&data);
  carom_system_destroy(s.system);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static void expect(carom_status status, const carom_error *error, carom_status wanted,
                   const char *part) {
  if (status != wanted || strstr(error->message, part) == NULL)
    fail_msg("status %d instead of %d, '%s' in '%s'", status, wanted, part, error->message);
}

/* Sizes that overflow or that no machine has are told before anything is computed. */
static void test_absurd_sizes(void **state) {
  (void)state;
  fixture f = {.scene = "cp3"};
  open_system(&f);
  carom_error error;
  carom_rollout *rollout;
  carom_rollout_options o = f.options;
  expect(carom_rollout_create(f.system, &o, INT_MAX, &rollout, &error), &error, CAROM_OUT_OF_MEMORY,
         "2147483647 samples");
  o.steps = INT_MAX - 1;
  expect(carom_rollout_create(f.system, &o, INT_MAX, &rollout, &error), &error, CAROM_OUT_OF_MEMORY,
         "2147483647 samples");
  o = f.options, o.shard_size = 1 << 28;
  expect(carom_rollout_create(f.system, &o, 8, &rollout, &error), &error, CAROM_INVALID_ARGUMENT,
         "options.shard_size is 268435456");
  o = f.options, o.substeps = INT_MAX;
  expect(carom_rollout_create(f.system, &o, 1, &rollout, &error), &error, CAROM_INVALID_ARGUMENT,
         "options.substeps is 2147483647");
  o = f.options, o.substeps = 1000000, o.shard_size = 1 << 16;
  expect(carom_rollout_create(f.system, &o, 1 << 16, &rollout, &error), &error, CAROM_OUT_OF_MEMORY,
         "GB; use");

  // shards larger than the batch are as large as the batch
  o.substeps = 1;
  ok(carom_rollout_create(f.system, &o, BATCH, &rollout, &error), &error);
  ok(carom_rollout_run(rollout, NULL, f.x0, f.v0, &error), &error);
  carom_rollout_destroy(rollout);

  carom_model_options m = carom_model_default_options(f.system);
  m.hidden_size = 65536;
  expect(carom_model_create(f.system, &m, &f.model, &error), &error, CAROM_INVALID_ARGUMENT,
         "options.hidden_size is 65536");
  expect(carom_model_options_check(&m, f.system, &error), &error, CAROM_INVALID_ARGUMENT,
         "options.hidden_size is 65536");
  close_all(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_absurd_sizes),
      cmocka_unit_test(test_every_allocation_may_fail),
      cmocka_unit_test(test_fits_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
