/* Files that are damaged, foreign or claim too much, and threads that use files at once. */
#include "carom.h"
#include "io/h5_file.h"
#include "io/seal.h"
#include "io/trial.h"

#include <hdf5.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/file_fixture.h"
#include "support/messages.h"
#include "support/systems.h"

enum { STATE = 6 };

static int set_up(void **state) { return file_fixture_make("damage", NULL, state); }

static void write_state(const carom_system *system, const char *path, double first) {
  double x[STATE] = {first}, v[STATE] = {-first};
  const carom_states data = {.batch = 1, .point_count = 3, .dimension = 2, .x = x, .v = v};
  assert_int_equal(carom_states_write(&data, system, path, NULL), CAROM_OK);
}

static void assert_refused(const carom_system *system, const char *path, const char *piece) {
  carom_states read;
  carom_error error = {0};
  assert_int_equal(carom_states_read(system, path, &read, &error), CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, piece);
  assert_message(&error, CAROM_INVALID_DATA, path);
  assert_null(read.x);
}

/* ---- the checksum ---- */

static void seal_is_as_documented(void **state) {
  (void)state;
  char file[SEAL_SIZE + 3];
  memcpy(file + SEAL_SIZE, "abc", 3);
  seal_make(file + SEAL_SIZE, 3, file);
  static const char line[] = "carom checksum 1 XXH64 44bc2cf5ad770999 of 3 bytes\n";
  const size_t length = sizeof line - 1;
  assert_memory_equal(file, line, length);
  assert_memory_equal(file + length, line, length);
  assert_true(seal_is_good(file, sizeof file));
  assert_false(seal_is_good(file, sizeof file - 1));
  assert_true(seal_is_there(file, SEAL_SIZE));
  // without its first line it is still one
  memset(file, 'x', length);
  assert_true(seal_is_there(file, SEAL_SIZE));
  assert_false(seal_is_good(file, sizeof file));
  assert_false(seal_is_there("carom", 5));
}

// every byte counts, those of the seal too
static void any_flipped_bit_is_found(void **state) {
  file_fixture *f = *state;
  write_state(f->cp3, "s.h5", 0.5);
  size_t size;
  char *bytes = read_bytes("s.h5", &size);
  for (size_t k = 0; k < size; k += 3) {
    bytes[k] ^= (char)(1 << k % 8);
    write_bytes("flipped.h5", bytes, size);
    bytes[k] ^= (char)(1 << k % 8);
    assert_refused(f->cp3, "flipped.h5", "damaged (the checksum");
  }
  write_bytes("longer.h5", bytes, size + 1);
  assert_refused(f->cp3, "longer.h5", "damaged (the checksum");
  free(bytes);
}

// what is opened is what was checked: HDF5 sees memory, and the file may change meanwhile
static void verified_bytes_are_read(void **state) {
  file_fixture *f = *state;
  write_state(f->cp3, "s.h5", 0.5);
  h5_reader *reader;
  assert_int_equal(h5_reader_open("s.h5", &reader, NULL), CAROM_OK);
  assert_int_equal(truncate("s.h5", 100), 0);
  h5_axis axes[] = {{"samples", 1}, {"points", 3}, {"dimension", 2}};
  double *x;
  assert_int_equal(h5_read_doubles(reader, "x", 3, axes, &x, NULL), CAROM_OK);
  assert_true(x[0] == 0.5);
  free(x);
  h5_reader_close(reader);
}

static void without_checksum_is_read(void **state) {
  file_fixture *f = *state;
  write_state(f->cp3, "s.h5", 0.5);
  unseal("s.h5");
  carom_states read;
  assert_int_equal(carom_states_read(f->cp3, "s.h5", &read, NULL), CAROM_OK);
  assert_true(read.x[0] == 0.5);
  carom_states_free(&read);
}

/* ---- trials ---- */

static carom_status succeed(void *user, carom_error *error) {
  (void)error;
  *(int *)user = 7;
  return CAROM_OK;
}

static carom_status refuse(void *user, carom_error *error) {
  (void)user;
  strcpy(error->message, "no");
  return CAROM_INVALID_DATA;
}

static carom_status crash(void *user, carom_error *error) {
  (void)error;
  fprintf(stderr, "a child that is not silent\n");
  raise(*(int *)user);
  return CAROM_OK;
}

static carom_status loop(void *user, carom_error *error) {
  (void)error;
  while (*(volatile int *)user != 1) continue;
  return CAROM_OK;
}

static carom_status eat(void *user, carom_error *error) {
  (void)user;
  (void)error;
  // not malloc: that of a sanitizer ends the process
  void *memory = mmap(NULL, (size_t)1 << 32, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? CAROM_OUT_OF_MEMORY : CAROM_OK;
}

static void trial_outcomes(void **state) {
  (void)state;
  const trial_limits limits = {1, 1 << 28};
  carom_error error = {0};
  int value = 0;
  assert_int_equal(trial_run(succeed, &value, limits, &error), TRIAL_ENDED);
  assert_int_equal(error.status, CAROM_OK);
  // it was another process
  assert_int_equal(value, 0);
  assert_int_equal(trial_run(refuse, NULL, limits, &error), TRIAL_ENDED);
  assert_message(&error, CAROM_INVALID_DATA, "no");
  const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE};
  for (int k = 0; k < 4; k++) {
    value = signals[k];
    assert_int_equal(trial_run(crash, &value, limits, &error), TRIAL_CRASHED);
  }
  value = SIGINT;
  assert_int_equal(trial_run(crash, &value, limits, &error), TRIAL_INTERRUPT);
  value = 0;
  assert_int_equal(trial_run(loop, &value, limits, &error), TRIAL_TOO_LONG);
  assert_int_equal(trial_run(eat, NULL, limits, &error), TRIAL_ENDED);
  assert_int_equal(error.status, CAROM_OUT_OF_MEMORY);
}

// a program that ignores its children learns how a trial ended all the same
static void trial_without_waiting(void **state) {
  (void)state;
  const trial_limits limits = {1, 1 << 28};
  void (*before)(int) = signal(SIGCHLD, SIG_IGN);
  int value = 0;
  assert_int_equal(trial_run(succeed, &value, limits, NULL), TRIAL_ENDED);
  value = SIGSEGV;
  assert_int_equal(trial_run(crash, &value, limits, NULL), TRIAL_CRASHED);
  signal(SIGCHLD, before);
}

/* ---- claims ---- */

/* A dataset of doubles in parts, of which the first `written` are there. */
static void write_parts(hid_t file, const char *name, int rank, const hsize_t *shape,
                        const hsize_t *part, bool written) {
  hid_t space = H5Screate_simple(rank, shape, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, rank, part);
  hid_t set = H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  const hsize_t zero[4] = {0};
  const double values[64] = {0};
  if (written) {
    hid_t one = H5Screate_simple(rank, part, NULL);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, zero, NULL, part, NULL);
    assert_true(H5Dwrite(set, H5T_NATIVE_DOUBLE, one, space, H5P_DEFAULT, values) >= 0);
    H5Sclose(one);
  }
  H5Dclose(set);
  H5Pclose(creation);
  H5Sclose(space);
}

static void claims_are_compared_with_storage(void **state) {
  file_fixture *f = *state;
  // 14 million trajectories of one state in a small file
  const hsize_t many[] = {14000000, 1, 3, 2}, part[] = {1, 1, 3, 2};
  hid_t file = H5Fcreate("many.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  write_parts(file, "x", 4, many, part, true);
  H5Fclose(file);
  assert_refused(f->cp3, "many.h5", "/x claims 6.72e+08 bytes, but 48 are stored");
  file = H5Fcreate("none.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  write_parts(file, "x", 4, part, part, false);
  H5Fclose(file);
  assert_refused(f->cp3, "none.h5", "nothing was written to it");
}

static void data_elsewhere_are_refused(void **state) {
  file_fixture *f = *state;
  hsize_t shape[] = {1, 3, 2};
  hid_t file = H5Fcreate("outside.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(3, shape, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_external(creation, "/etc/passwd", 0, 48);
  H5Dclose(H5Dcreate2(file, "x", H5T_IEEE_F64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  H5Pclose(creation);
  H5Sclose(space);
  H5Fclose(file);
  assert_refused(f->cp3, "outside.h5", "stand in other files");
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 40 };

/* What a thread does over and over, and how often it went wrong. */
typedef struct job {
  const carom_system *system;
  int index;
  int failures;
} job;

// saves and loads a model, reads a foreign file, writes and reads a trajectory
static void *use_files(void *user) {
  job *j = user;
  char model_path[32], states_path[32];
  snprintf(model_path, sizeof model_path, "model-%d.h5", j->index);
  snprintf(states_path, sizeof states_path, "states-%d.h5", j->index);
  carom_model_options options = carom_model_default_options(j->system);
  options.hidden_layers = 1, options.hidden_size = 4, options.seed = (uint64_t)j->index;
  carom_model *model, *loaded;
  if (carom_model_create(j->system, &options, &model, NULL) != CAROM_OK) return NULL;
  const size_t bytes = sizeof(double) * (size_t)carom_model_describe(model).parameter_count;
  for (int k = 0; k < ROUNDS; k++) {
    const double x[STATE] = {j->index, k}, v[STATE] = {k};
    const carom_states data = {
        .batch = 1, .point_count = 3, .dimension = 2, .x = (double *)x, .v = (double *)v};
    carom_states read = {0}, foreign = {0};
    bool good = carom_model_save(model, model_path, NULL) == CAROM_OK &&
                carom_model_load(j->system, model_path, &loaded, NULL) == CAROM_OK;
    if (good) {
      good = memcmp(carom_model_parameters(model), carom_model_parameters(loaded), bytes) == 0;
      carom_model_destroy(loaded);
    }
    good = good && carom_states_write(&data, j->system, states_path, NULL) == CAROM_OK &&
           carom_states_read(j->system, states_path, &read, NULL) == CAROM_OK &&
           memcmp(read.x, x, sizeof x) == 0;
    if (k % 10 == 0)
      good = good && carom_states_read(j->system, "foreign.h5", &foreign, NULL) == CAROM_OK;
    if (!good) j->failures++;
    carom_states_free(&read);
    carom_states_free(&foreign);
  }
  carom_model_destroy(model);
  return NULL;
}

static void threads_use_files_at_once(void **state) {
  file_fixture *f = *state;
  write_state(f->cp3, "foreign.h5", 1.0);
  unseal("foreign.h5");
  pthread_t threads[THREADS];
  job jobs[THREADS];
  for (int k = 0; k < THREADS; k++) {
    jobs[k] = (job){.system = f->cp3, .index = k};
    assert_int_equal(pthread_create(&threads[k], NULL, use_files, &jobs[k]), 0);
  }
  for (int k = 0; k < THREADS; k++) pthread_join(threads[k], NULL);
  for (int k = 0; k < THREADS; k++) assert_int_equal(jobs[k].failures, 0);
}

// the program's own way of printing HDF5's errors is as it was
static herr_t count_errors(hid_t stack, void *user) {
  (void)stack;
  ++*(int *)user;
  return 0;
}

static void error_printing_is_restored(void **state) {
  file_fixture *f = *state;
  int errors = 0;
  assert_true(H5Eset_auto2(H5E_DEFAULT, count_errors, &errors) >= 0);
  write_bytes("magic.h5", "\211HDF\r\n\032\n garbage", 16);
  assert_refused(f->cp3, "magic.h5", "damaged");
  assert_int_equal(errors, 0);
  H5Dopen2(-1, "nothing", H5P_DEFAULT);
  assert_true(errors > 0);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

// two files in the making at once, in one thread
static void two_writers(void **state) {
  (void)state;
  h5_writer *a, *b;
  assert_int_equal(h5_writer_create("a.h5", &a, NULL), CAROM_OK);
  assert_int_equal(h5_writer_create("b.h5", &b, NULL), CAROM_OK);
  assert_int_equal(h5_write_number_attribute(a, "one", 1.0, NULL), CAROM_OK);
  assert_int_equal(h5_write_number_attribute(b, "two", 2.0, NULL), CAROM_OK);
  assert_int_equal(h5_writer_finish(a, CAROM_OK, NULL), CAROM_OK);
  assert_int_equal(h5_writer_finish(b, CAROM_OK, NULL), CAROM_OK);
  h5_reader *reader;
  double value;
  assert_int_equal(h5_reader_open("b.h5", &reader, NULL), CAROM_OK);
  assert_true(h5_read_number_attribute(reader, "two", &value) && value == 2.0);
  assert_int_equal(h5_attribute_kind_of(reader, "one"), H5_ABSENT);
  h5_reader_close(reader);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(seal_is_as_documented),
      cmocka_unit_test(any_flipped_bit_is_found),
      cmocka_unit_test(verified_bytes_are_read),
      cmocka_unit_test(without_checksum_is_read),
      cmocka_unit_test(trial_outcomes),
      cmocka_unit_test(trial_without_waiting),
      cmocka_unit_test(claims_are_compared_with_storage),
      cmocka_unit_test(data_elsewhere_are_refused),
      cmocka_unit_test(threads_use_files_at_once),
      cmocka_unit_test(error_printing_is_restored),
      cmocka_unit_test(two_writers),
  };
  return cmocka_run_group_tests(tests, set_up, file_fixture_free);
}
