/* Mutated files: whatever happens to the bytes of a file, reading it ends, in what was written or in
 * an error. Each mutant is read in a process of its own, so that one that crashes or never ends is
 * counted. Files of carom have a checksum and may not be read as anything else; of files without one
 * the content may change, but nothing may crash.
 *
 * CAROM_MUTANTS says how many mutants of each file (150; `CAROM_MUTANTS=4000 ./test_file_mutants`
 * takes minutes). */
#include "base/rng.h"
#include "carom.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/files.h"
#include "support/quick.h"
#include "support/systems.h"

enum { POINTS = 3, DIMENSION = 2, STATE = POINTS * DIMENSION, SECONDS = 120 };

/* What came of a mutant. */
typedef enum fate { SAME, REFUSED, DIFFERENT, CRASHED, ENDLESS, FATE_COUNT } fate;

/* A system, a little data, a training and a folder. */
typedef struct fixture {
  test_folder folder;
  carom_system *system;
  carom_dataset *data;
  carom_model *model;
  carom_trainer *trainer;
} fixture;

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof *f);
  *state = f;
  if (folder_enter(&f->folder, "mutants") != 0) return -1;
  f->system = load_system("cp3");
  carom_dataset_options data = carom_dataset_default_options(f->system);
  data.train = 4, data.validation = data.test = 1, data.steps = 30, data.threads = 1;
  carom_model_options model = carom_model_default_options(f->system);
  model.hidden_layers = 1, model.hidden_size = 3, model.threads = 1;
  const carom_trainer_options train = carom_trainer_default_options();
  if (carom_dataset_generate(f->system, NULL, &data, &f->data, NULL) != CAROM_OK ||
      carom_model_create(f->system, &model, &f->model, NULL) != CAROM_OK)
    return -1;
  return carom_trainer_create(f->model, f->data, &train, &f->trainer, NULL) == CAROM_OK ? 0 : -1;
}

static int tear_down(void **state) {
  fixture *f = *state;
  const int removed = folder_leave(&f->folder);
  carom_trainer_destroy(f->trainer);
  carom_model_destroy(f->model);
  carom_dataset_destroy(f->data);
  carom_system_destroy(f->system);
  free(f);
  return removed;
}

/* ---- kinds of files: how one is written, and how it is written again after reading ---- */

typedef carom_status file_function(const fixture *f, const char *path);

static carom_status write_trajectory(const fixture *f, const char *path) {
  const carom_trajectories data = {.batch = f->data->train.count,
                                   .state_count = f->data->train.states,
                                   .point_count = POINTS,
                                   .dimension = DIMENSION,
                                   .dt = f->data->dt,
                                   .x = f->data->train.x,
                                   .v = f->data->train.v,
                                   .contact = f->data->train.contact};
  return carom_trajectories_write(&data, f->system, path, NULL);
}

static carom_status copy_trajectory(const fixture *f, const char *path) {
  carom_trajectories read;
  carom_status status = carom_trajectories_read(f->system, path, &read, NULL);
  return status == CAROM_OK ? carom_trajectories_write(&read, f->system, "again.h5", NULL) : status;
}

static carom_status write_dataset(const fixture *f, const char *path) {
  return carom_dataset_write(f->data, f->system, path, NULL);
}

static carom_status copy_dataset(const fixture *f, const char *path) {
  carom_dataset *read;
  carom_status status = carom_dataset_read(f->system, path, NULL, &read, NULL);
  return status == CAROM_OK ? carom_dataset_write(read, f->system, "again.h5", NULL) : status;
}

static carom_status write_training(const fixture *f, const char *path) {
  return carom_trainer_save(f->trainer, path, NULL);
}

static carom_status copy_training(const fixture *f, const char *path) {
  carom_status status = carom_trainer_restore(f->trainer, path, NULL);
  return status == CAROM_OK ? carom_trainer_save(f->trainer, "again.h5", NULL) : status;
}

/* ---- mutants ---- */

static size_t below(rng *random, size_t n) { return (size_t)rng_below(random, (int)n); }

// a copy that is wrong in one place or in a few
static void mutate(rng *random, const char *good, size_t size, const char *path) {
  enum { FLIP, BYTE, NOISE, ZEROS, SWAP, CUT, ADD, KINDS };
  char *bytes = malloc(size + 64);
  memcpy(bytes, good, size);
  const size_t times = 1 + below(random, 3);
  for (size_t k = 0; k < times; k++) {
    // half of the places are near the beginning, where HDF5 keeps its structure
    const size_t range = below(random, 2) == 0 && size > 4096 ? 4096 : size;
    const size_t at = below(random, range),
                 length = 1 + below(random, size - at < 16 ? size - at : 16);
    switch (below(random, k == 0 ? KINDS : CUT)) {
      case FLIP: bytes[at] ^= (char)(1 << below(random, 8)); break;
      case BYTE: bytes[at] = (char)below(random, 256); break;
      case NOISE:
        for (size_t i = 0; i < length; i++) bytes[at + i] = (char)below(random, 256);
        break;
      case ZEROS: memset(bytes + at, 0, length); break;
      case SWAP: memmove(bytes + at, bytes + below(random, size - length), length); break;
      case CUT: size -= below(random, size); break;
      case ADD:
        memset(bytes + size, 7, 64);
        size += 1 + below(random, 63);
        break;
    }
  }
  write_bytes(path, bytes, size);
  free(bytes);
}

// reads a mutant in a process of its own
static fate fate_of(const fixture *f, file_function *copy) {
  const pid_t process = fork();
  assert_true(process >= 0);
  if (process == 0) {
    // not as cmocka handles them
    static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
    for (int k = 0; k < 5; k++) signal(signals[k], SIG_DFL);
    alarm(SECONDS);
    _exit(copy(f, "mutant.h5") == CAROM_OK ? SAME : REFUSED);
  }
  int status;
  assert_int_equal(waitpid(process, &status, 0), process);
  if (WIFEXITED(status)) return WEXITSTATUS(status) == SAME ? SAME : REFUSED;
  return WTERMSIG(status) == SIGALRM ? ENDLESS : CRASHED;
}

static bool same_bytes(const char *path, const char *good, size_t size) {
  size_t read_size;
  char *read = read_bytes(path, &read_size);
  const bool same = read_size == size && memcmp(read, good, size) == 0;
  free(read);
  return same;
}

static int mutant_count(void) {
  const char *text = getenv("CAROM_MUTANTS");
  return text != NULL ? atoi(text) : repeats(150);
}

static void count_fates(const fixture *f, const char *name, file_function *write,
                        file_function *copy, bool sealed, int counts[FATE_COUNT]) {
  assert_int_equal(write(f, "good.h5"), CAROM_OK);
  size_t size, again_size;
  char *again = read_bytes("good.h5", &again_size);
  if (!sealed) unseal("good.h5");
  char *good = read_bytes("good.h5", &size);
  rng random;
  rng_seed(&random, 20211, 7);
  for (int k = 0; k < mutant_count(); k++) {
    mutate(&random, good, size, "mutant.h5");
    fate found = fate_of(f, copy);
    if (found == SAME && !same_bytes("again.h5", again, again_size)) found = DIFFERENT;
    counts[found]++;
  }
  printf("%s %s checksum: %d mutants, %d same, %d refused, %d different, %d crashes, %d endless\n",
         name, sealed ? "with" : "without", mutant_count(), counts[SAME], counts[REFUSED],
         counts[DIFFERENT], counts[CRASHED], counts[ENDLESS]);
  free(good);
  free(again);
}

static const struct {
  const char *name;
  file_function *write, *copy;
} kinds[] = {{"trajectories", write_trajectory, copy_trajectory},
             {"data set", write_dataset, copy_dataset},
             {"training", write_training, copy_training}};

static void own_files(void **state) {
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    int counts[FATE_COUNT] = {0};
    count_fates(*state, kinds[k].name, kinds[k].write, kinds[k].copy, true, counts);
    assert_int_equal(counts[DIFFERENT], 0);
    assert_int_equal(counts[CRASHED], 0);
    assert_int_equal(counts[ENDLESS], 0);
  }
}

static void files_without_checksum(void **state) {
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    int counts[FATE_COUNT] = {0};
    count_fates(*state, kinds[k].name, kinds[k].write, kinds[k].copy, false, counts);
    assert_int_equal(counts[CRASHED], 0);
    assert_int_equal(counts[ENDLESS], 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(own_files),
      cmocka_unit_test(files_without_checksum),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
