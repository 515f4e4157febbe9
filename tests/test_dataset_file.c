/* Data set files: what is written is what is read, the same content gives the same bytes, a
 * trajectory file will do, and bad files are refused with a message that names the place. */
#include "io/dataset_file.h"

#include "io/h5_file.h"
#include "io/trajectory_file.h"
#include "learn/dataset.h"

#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/files.h"
#include "support/foreign.h"
#include "support/messages.h"
#include "support/systems.h"

enum { STATE = 6 /* coordinates of cp3 */ };

typedef struct fixture {
  test_folder folder;
  carom_system *cp3;
  carom_dataset *data;
} fixture;

static int set_up(void **state) {
  fixture *f = calloc(1, sizeof *f);
  if (folder_enter(&f->folder, "dataset") != 0) return -1;
  f->cp3 = load_system("cp3");
  carom_dataset_options o = carom_dataset_default_options(f->cp3);
  o.train = 12, o.validation = 4, o.test = 0;
  if (carom_dataset_generate(f->cp3, NULL, &o, &f->data, NULL) != CAROM_OK) return -1;
  *state = f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  const int removed = folder_leave(&f->folder);
  carom_dataset_destroy(f->data);
  carom_system_destroy(f->cp3);
  free(f);
  return removed;
}

static void assert_refused(const fixture *f, const char *path, carom_status status,
                           const char *piece) {
  carom_dataset *data;
  carom_error error = {0};
  assert_int_equal(carom_dataset_read(f->cp3, path, NULL, &data, &error), status);
  assert_null(data);
  assert_message(&error, status, piece);
  assert_message(&error, status, path);
  // the path is named once
  assert_null(strstr(strstr(error.message, path) + 1, path));
}

static void round_trip(void **state) {
  fixture *f = *state;
  carom_dataset *read;
  carom_error error = {0};
  assert_int_equal(carom_dataset_write(f->data, f->cp3, "d.h5", &error), CAROM_OK);
  if (carom_dataset_read(f->cp3, "d.h5", NULL, &read, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  assert_true(read->dt == f->data->dt);
  for (int split = 0; split < SPLIT_COUNT; split++) {
    const carom_chunks *a = dataset_split(f->data, split), *b = dataset_split(read, split);
    size_t states = (size_t)a->count * (size_t)a->states;
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->states, b->states);
    assert_memory_equal(a->x, b->x, sizeof(double) * states * STATE);
    assert_memory_equal(a->v, b->v, sizeof(double) * states * STATE);
    assert_memory_equal(a->contact, b->contact, states);
  }
  carom_dataset_destroy(read);
}

static void content_is_as_documented(void **state) {
  fixture *f = *state;
  assert_int_equal(carom_dataset_write(f->data, f->cp3, "d.h5", NULL), CAROM_OK);
  h5_reader *reader;
  assert_int_equal(h5_reader_open("d.h5", &reader, NULL), CAROM_OK);
  static const char *const names[] = {"train/x", "val/v", "test/x", "train/contact", "val/t"};
  for (int k = 0; k < 5; k++) assert_true(h5_has_dataset(reader, names[k]));
  assert_true(h5_has_group(reader, "train"));
  assert_false(h5_has_group(reader, "training"));
  assert_false(h5_has_group(reader, "train/x"));
  h5_axis axis = {"states", 5};
  double *t, dt;
  char *scene;
  assert_int_equal(h5_read_doubles(reader, "train/t", 1, &axis, &t, NULL), CAROM_OK);
  for (int k = 0; k < 5; k++) assert_true(t[k] == k * f->data->dt);
  assert_true(h5_read_number_attribute(reader, "dt", &dt) && dt == f->data->dt);
  assert_true(h5_read_text_attribute(reader, "scene", &scene));
  assert_string_equal(scene, carom_system_describe(f->cp3).json);
  free(t);
  free(scene);
  h5_reader_close(reader);
}

// groups carry no time either
static void same_bytes(void **state) {
  fixture *f = *state;
  assert_int_equal(carom_dataset_write(f->data, f->cp3, "a.h5", NULL), CAROM_OK);
  sleep(1);
  assert_int_equal(carom_dataset_write(f->data, f->cp3, "b.h5", NULL), CAROM_OK);
  assert_same_files("a.h5", "b.h5");
}

/* ---- bad files ---- */

// a copy of the data set in which `edit` has been
static void write_edited(const fixture *f, const char *path, void (*edit)(carom_dataset *)) {
  assert_int_equal(carom_dataset_write(f->data, f->cp3, "copy.h5", NULL), CAROM_OK);
  carom_dataset *data;
  assert_int_equal(carom_dataset_read(f->cp3, "copy.h5", NULL, &data, NULL), CAROM_OK);
  edit(data);
  assert_int_equal(carom_dataset_write(data, f->cp3, path, NULL), CAROM_OK);
  carom_dataset_destroy(data);
}

static void put_nan(carom_dataset *d) { d->train.x[((3 * 5 + 2) * 3 + 1) * 2] = NAN; }
static void put_infinity(carom_dataset *d) { d->validation.v[0] = -INFINITY; }
static void move_body(carom_dataset *d) { d->train.x[(7 * 5 + 4) * STATE] += 1; }
static void empty_train(carom_dataset *d) { d->train.count = 0; }

static void bad_numbers_are_placed(void **state) {
  fixture *f = *state;
  write_edited(f, "nan.h5", put_nan);
  assert_refused(f, "nan.h5", CAROM_INVALID_DATA, "/train/x[3][2][1][0] is NaN");
  write_edited(f, "infinity.h5", put_infinity);
  assert_refused(f, "infinity.h5", CAROM_INVALID_DATA, "/val/v[0][0][0][0] is infinite");
  write_edited(f, "off.h5", move_body);
  assert_refused(f, "off.h5", CAROM_INVALID_DATA, "/train, chunk 7, step 4: position violates");
  write_edited(f, "empty.h5", empty_train);
  assert_refused(f, "empty.h5", CAROM_INVALID_DATA, "/train has no chunks");
}

// removes one thing from a good file
static void write_without(const fixture *f, const char *path, const char *name) {
  assert_int_equal(carom_dataset_write(f->data, f->cp3, path, NULL), CAROM_OK);
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  herr_t removed =
      strcmp(name, "dt") == 0 ? H5Adelete(file, name) : H5Ldelete(file, name, H5P_DEFAULT);
  assert_true(removed >= 0);
  H5Fclose(file);
  unseal(path);
}

// as other programs might write it
static void a_time_step_below_zero(void **state) {
  fixture *f = *state;
  const double dt = -0.5;
  assert_int_equal(carom_dataset_write(f->data, f->cp3, "dt.h5", NULL), CAROM_OK);
  hid_t file = H5Fopen("dt.h5", H5F_ACC_RDWR, H5P_DEFAULT);
  assert_true(H5Adelete(file, "dt") >= 0);
  add_attribute(file, "dt", H5T_NATIVE_DOUBLE, 1, &dt);
  H5Fclose(file);
  unseal("dt.h5");
  assert_refused(f, "dt.h5", CAROM_INVALID_DATA, "dt is -0.5");
}

static void missing_parts_are_named(void **state) {
  fixture *f = *state;
  static const char *const cases[][2] = {
      {"train", "groups /train, /val and /test; there is /test, /val"},
      {"val", "group /val is missing"},
      {"test", "group /test is missing"},
      {"train/x", "dataset /train/x is missing"},
      {"val/v", "dataset /val/v is missing"},
      {"dt", "attribute dt"}};
  for (int k = 0; k < 6; k++) {
    write_without(f, "part.h5", cases[k][0]);
    assert_refused(f, "part.h5", CAROM_INVALID_DATA, cases[k][1]);
  }
}

static void missing_flags_are_detected(void **state) {
  fixture *f = *state;
  write_without(f, "flags.h5", "train/contact");
  carom_dataset *read;
  assert_int_equal(carom_dataset_read(f->cp3, "flags.h5", NULL, &read, NULL), CAROM_OK);
  assert_memory_equal(read->train.contact, f->data->train.contact, 12 * 5);
  carom_dataset_destroy(read);
}

static void other_files_are_refused(void **state) {
  fixture *f = *state;
  carom_system *gyro = load_system("gyro");
  carom_error error = {0};
  carom_dataset *data;
  assert_int_equal(carom_dataset_write(f->data, f->cp3, "d.h5", NULL), CAROM_OK);
  assert_int_equal(carom_dataset_read(gyro, "d.h5", NULL, &data, &error), CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, "shape [12][5][3][2], expected [chunks][states]");
  carom_system_destroy(gyro);
  assert_refused(f, "none.h5", CAROM_FILE_ERROR, "No such file");
  write_bytes("text.h5", "not a data set", 14);
  assert_refused(f, "text.h5", CAROM_INVALID_DATA, "is not an HDF5 file");
  assert_int_equal(truncate("d.h5", 3000), 0);
  carom_status status = carom_dataset_read(f->cp3, "d.h5", NULL, &data, &error);
  assert_int_equal(status, CAROM_INVALID_DATA);
}

/* ---- trajectory files ---- */

// 20 trajectories of the scene; with `times`, /t says the time step and no attribute does
static void write_trajectories(const fixture *f, const char *path, int states, bool flags,
                               bool times) {
  size_t all = 20 * (size_t)states;
  double x0[20 * STATE], v0[20 * STATE], t[64];
  carom_trajectories data = {.batch = 20, .state_count = states, .point_count = 3, .dimension = 2};
  data.dt = times ? 0 : 0.01;
  data.x = calloc(all * STATE, sizeof(double));
  data.v = calloc(all * STATE, sizeof(double));
  data.contact = calloc(all, 1);
  carom_rollout_options o = carom_rollout_default_options(f->cp3);
  o.steps = states - 1;
  assert_int_equal(carom_system_sample(f->cp3, 1, 20, x0, v0, NULL), CAROM_OK);
  assert_int_equal(
      carom_system_simulate(f->cp3, &o, NULL, 20, x0, v0, data.x, data.v, data.contact, NULL, NULL),
      CAROM_OK);
  carom_trajectories written = data;
  for (int k = 0; k < states; k++) t[k] = 3 + 0.01 * k;
  written.t = times ? t : NULL;
  if (!flags) written.contact = NULL;
  assert_int_equal(carom_trajectories_write(&written, f->cp3, path, NULL), CAROM_OK);
  carom_trajectories_free(&data);
}

static void trajectories_are_cut(void **state) {
  fixture *f = *state;
  write_trajectories(f, "flags.h5", 60, true, false);
  write_trajectories(f, "plain.h5", 60, false, true);
  carom_dataset_options o = carom_dataset_default_options(f->cp3);
  o.train = 30, o.validation = 6, o.test = 6;
  carom_dataset *flags, *plain;
  assert_int_equal(carom_dataset_read(f->cp3, "flags.h5", &o, &flags, NULL), CAROM_OK);
  assert_int_equal(carom_dataset_read(f->cp3, "plain.h5", &o, &plain, NULL), CAROM_OK);
  assert_int_equal(flags->train.count, 30);
  assert_int_equal(flags->test.count, 6);
  assert_memory_equal(flags->train.x, plain->train.x, sizeof(double) * 30 * 5 * STATE);
  assert_memory_equal(flags->train.contact, plain->train.contact, 30 * 5);
  assert_true(fabs(flags->dt - 0.01) < 1e-15 && fabs(plain->dt - 0.01) < 1e-12);
  carom_dataset_destroy(flags);
  carom_dataset_destroy(plain);
  write_trajectories(f, "short.h5", 4, true, false);
  assert_refused(f, "short.h5", CAROM_INVALID_DATA, "shorter than a chunk");
}

static void full_disk_is_reported(void **state) {
  fixture *f = *state;
  carom_error error = {0};
  if (access("/dev/full", F_OK) != 0) skip();
  assert_int_equal(carom_dataset_write(f->data, f->cp3, "/dev/full", &error), CAROM_FILE_ERROR);
  assert_message(&error, CAROM_FILE_ERROR, "No space left");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(round_trip, set_up, tear_down),
      cmocka_unit_test_setup_teardown(content_is_as_documented, set_up, tear_down),
      cmocka_unit_test_setup_teardown(same_bytes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(bad_numbers_are_placed, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_time_step_below_zero, set_up, tear_down),
      cmocka_unit_test_setup_teardown(missing_parts_are_named, set_up, tear_down),
      cmocka_unit_test_setup_teardown(missing_flags_are_detected, set_up, tear_down),
      cmocka_unit_test_setup_teardown(other_files_are_refused, set_up, tear_down),
      cmocka_unit_test_setup_teardown(trajectories_are_cut, set_up, tear_down),
      cmocka_unit_test_setup_teardown(full_disk_is_reported, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
