/* Files: what is written is what is read, every kind of bad file is refused with a message that
 * names it, and nothing half-written is left. */
#include "io/atomic_file.h"
#include "io/cone_file.h"
#include "io/gradient_file.h"
#include "io/h5_file.h"
#include "io/parameter_file.h"
#include "io/state_file.h"
#include "io/trajectory_file.h"

#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/file_fixture.h"
#include "support/foreign.h"
#include "support/messages.h"
#include "support/systems.h"

/* Beside cp3 there is gyro, one rigid body in 3D. */
static int set_up(void **state) { return file_fixture_make("files", "gyro", state); }

static bool exists(const char *path) { return access(path, F_OK) == 0; }

/* Writes one dataset /name, or adds to an open writer. */
static void write_one(h5_writer *writer, const char *name, int rank, const h5_axis *axes) {
  double *values = calloc(h5_element_count(rank, axes) + 1, sizeof(double));
  assert_int_equal(h5_write_doubles(writer, name, rank, axes, values, NULL), CAROM_OK);
  free(values);
}

/* ---- atomic files ---- */

static void atomic_replaces(void **state) {
  (void)state;
  write_bytes("old", "old", 3);
  chmod("old", 0640);
  atomic_file file;
  assert_int_equal(atomic_file_open("old", &file, NULL), CAROM_OK);
  assert_int_equal(atomic_file_write(&file, "longer", 6, NULL), CAROM_OK);
  // until the end the old one stands
  struct stat status;
  stat("old", &status);
  assert_int_equal(status.st_size, 3);
  assert_int_equal(atomic_file_commit(&file, NULL), CAROM_OK);
  stat("old", &status);
  assert_int_equal(status.st_size, 6);
  assert_int_equal(status.st_mode & 0777, 0640);
  assert_no_leftover();
}

static void atomic_discard_keeps(void **state) {
  (void)state;
  write_bytes("kept", "old", 3);
  atomic_file file;
  assert_int_equal(atomic_file_open("kept", &file, NULL), CAROM_OK);
  atomic_file_write(&file, "longer", 6, NULL);
  atomic_file_discard(&file);
  struct stat status;
  stat("kept", &status);
  assert_int_equal(status.st_size, 3);
  assert_no_leftover();
}

static void atomic_refuses(void **state) {
  (void)state;
  carom_error error;
  atomic_file file;
  assert_int_equal(atomic_file_open("no-folder/x", &file, &error), CAROM_FILE_ERROR);
  assert_message(&error, CAROM_FILE_ERROR, "No such file");
  assert_int_equal(atomic_file_open(".", &file, &error), CAROM_FILE_ERROR);
  assert_message(&error, CAROM_FILE_ERROR, "directory");
  assert_int_equal(atomic_file_open("", &file, &error), CAROM_INVALID_ARGUMENT);
}

static void full_disk_is_reported(void **state) {
  file_fixture *f = *state;
  if (!exists("/dev/full")) skip();
  carom_error error;
  double x[6] = {0}, v[6] = {0};
  const carom_states data = {.batch = 1, .point_count = 3, .dimension = 2, .x = x, .v = v};
  assert_int_equal(carom_states_write(&data, f->cp3, "/dev/full", &error), CAROM_FILE_ERROR);
  assert_message(&error, CAROM_FILE_ERROR, "No space left");
  struct stat status;
  stat("/dev/full", &status);
  assert_true(S_ISCHR(status.st_mode));
}

/* ---- trajectories and states ---- */

enum { BATCH = 3, STATES = 4, POINTS = 3, DIMENSION = 2, STATE = POINTS * DIMENSION };

static carom_trajectories make_trajectory(double *x, double *v, uint8_t *contact) {
  for (int k = 0; k < BATCH * STATES * STATE; k++) {
    x[k] = sin(k) / 3.0;
    v[k] = cos(k) * 1e-7;
  }
  for (int k = 0; k < BATCH * STATES; k++) contact[k] = (uint8_t)(k % 2);
  return (carom_trajectories){.batch = BATCH,
                              .state_count = STATES,
                              .point_count = POINTS,
                              .dimension = DIMENSION,
                              .dt = 0.01,
                              .x = x,
                              .v = v,
                              .contact = contact};
}

static void trajectory_round_trip(void **state) {
  file_fixture *f = *state;
  double x[BATCH * STATES * STATE], v[BATCH * STATES * STATE];
  uint8_t contact[BATCH * STATES];
  const carom_trajectories written = make_trajectory(x, v, contact);
  carom_error error;
  assert_int_equal(carom_trajectories_write(&written, f->cp3, "t.h5", &error), CAROM_OK);
  carom_trajectories read;
  assert_int_equal(carom_trajectories_read(f->cp3, "t.h5", &read, &error), CAROM_OK);
  assert_int_equal(read.batch, BATCH);
  assert_int_equal(read.state_count, STATES);
  assert_memory_equal(read.x, x, sizeof x);
  assert_memory_equal(read.v, v, sizeof v);
  assert_memory_equal(read.contact, contact, sizeof contact);
  assert_true(read.dt == 0.01);
  for (int k = 0; k < STATES; k++) assert_true(read.t[k] == k * 0.01);
  carom_trajectories_free(&read);
  assert_no_leftover();
}

/* /u there and back, as controls too; not into data sets, unless it is zero; of no meaning to a scene without
 * controls. */
static void controls_round_trip(void **state) {
  file_fixture *f = *state;
  carom_system *s = load_system(CAROM_SOURCE_DIR "/examples/scenes/pushed.json");
  enum { SIZE = 12, ALL = BATCH * (STATES - 1) * 3 };
  double x[BATCH * STATES * SIZE] = {0}, u[ALL];
  for (int k = 0; k < ALL; k++) u[k] = 1 + k;
  const carom_trajectories written = {.batch = BATCH,
                                      .state_count = STATES,
                                      .point_count = 6,
                                      .dimension = 2,
                                      .dt = 0.01,
                                      .x = x,
                                      .v = x,
                                      .u = u};
  carom_error error;
  assert_int_equal(carom_trajectories_write(&written, s, "t.h5", &error), CAROM_OK);
  carom_trajectories read;
  assert_int_equal(carom_trajectories_read(s, "t.h5", &read, &error), CAROM_OK);
  assert_memory_equal(read.u, u, sizeof u);
  carom_trajectories_free(&read);
  carom_controls found;
  assert_int_equal(carom_controls_read(s, "t.h5", &found, &error), CAROM_OK);
  assert_int_equal(found.batch, BATCH);
  assert_int_equal(found.steps, STATES - 1);
  assert_true(found.dt == 0.01);
  assert_memory_equal(found.u, u, sizeof u);
  assert_int_equal(carom_controls_write(&found, s, "u.h5", &error), CAROM_OK);
  carom_controls_free(&found);
  assert_int_equal(carom_controls_read(s, "u.h5", &found, &error), CAROM_OK);
  assert_memory_equal(found.u, u, sizeof u);
  carom_controls_free(&found);

  carom_dataset *data;
  const carom_dataset_options options = carom_dataset_default_options(s);
  carom_dataset_read(s, "t.h5", &options, &data, &error);
  assert_message(&error, CAROM_INVALID_DATA, "has motion under controls (/u)");
  carom_trajectories_write(&written, f->cp3, "t.h5", &error);
  carom_controls_read(f->cp3, "t.h5", &found, &error);
  assert_message(&error, CAROM_INVALID_ARGUMENT, "cp3 has no controls");
  carom_system_destroy(s);
  assert_no_leftover();
}

/* Controls of another shape, or none. */
static void controls_refused(void **state) {
  (void)state;
  carom_system *s = load_system(CAROM_SOURCE_DIR "/examples/scenes/pushed.json");
  carom_error error;
  carom_controls read;
  const double u[2 * 5 * 4] = {0};
  const struct {
    int samples, steps, size;
    const char *message;
  } bad[] = {
      {2, 5, 4, "/u"}, {2, 0, 3, "/u has 2 samples of 0 steps"}, {0, 5, 3, "/u has 0 samples"}};
  for (int k = 0; k < 3; k++) {
    const h5_axis axes[] = {
        {"samples", bad[k].samples}, {"steps", bad[k].steps}, {"controls", bad[k].size}};
    h5_writer *writer;
    assert_int_equal(h5_writer_create("u.h5", &writer, NULL), CAROM_OK);
    assert_int_equal(h5_write_doubles(writer, "u", 3, axes, u, NULL), CAROM_OK);
    assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
    carom_controls_read(s, "u.h5", &read, &error);
    assert_message(&error, CAROM_INVALID_DATA, bad[k].message);
    assert_null(read.u);
  }
  carom_system_destroy(s);
}

static void origin_is_written(void **state) {
  file_fixture *f = *state;
  double x[STATE] = {0}, v[STATE] = {0};
  const carom_states data = {.batch = 1, .point_count = 3, .dimension = 2, .x = x, .v = v};
  assert_int_equal(carom_states_write(&data, f->cp3, "s.h5", NULL), CAROM_OK);
  h5_reader *reader;
  assert_int_equal(h5_reader_open("s.h5", &reader, NULL), CAROM_OK);
  char *scene, *version, *none;
  double dt;
  assert_true(h5_read_text_attribute(reader, "scene", &scene));
  assert_string_equal(scene, carom_system_describe(f->cp3).json);
  assert_true(h5_read_text_attribute(reader, "carom_version", &version));
  assert_string_equal(version, CAROM_VERSION);
  assert_true(h5_read_number_attribute(reader, "dt", &dt));
  assert_false(h5_read_number_attribute(reader, "scene", &dt));
  assert_false(h5_read_text_attribute(reader, "dt", &none));
  assert_false(h5_read_text_attribute(reader, "nothing", &none));
  free(scene);
  free(version);
  h5_reader_close(reader);
}

static void same_content_same_bytes(void **state) {
  file_fixture *f = *state;
  double x[STATE] = {1.0}, v[STATE] = {2.0};
  const carom_states data = {.batch = 1, .point_count = 3, .dimension = 2, .x = x, .v = v};
  char *bytes[2];
  size_t size[2];
  for (int k = 0; k < 2; k++) {
    assert_int_equal(carom_states_write(&data, f->cp3, "s.h5", NULL), CAROM_OK);
    bytes[k] = read_bytes("s.h5", &size[k]);
    // a time stamp would show after a second
    if (k == 0) sleep(1);
  }
  assert_int_equal(size[0], size[1]);
  assert_memory_equal(bytes[0], bytes[1], size[0]);
  free(bytes[0]);
  free(bytes[1]);
}

static void states_round_trip(void **state) {
  file_fixture *f = *state;
  double x[2 * STATE], v[2 * STATE];
  for (int k = 0; k < 2 * STATE; k++) x[k] = 1.0 / (k + 3), v[k] = -k;
  const carom_states data = {.batch = 2, .point_count = 3, .dimension = 2, .x = x, .v = v};
  carom_states read;
  assert_int_equal(carom_states_write(&data, f->cp3, "s.h5", NULL), CAROM_OK);
  assert_int_equal(carom_states_read(f->cp3, "s.h5", &read, NULL), CAROM_OK);
  assert_int_equal(read.batch, 2);
  assert_memory_equal(read.x, x, sizeof x);
  assert_memory_equal(read.v, v, sizeof v);
  carom_states_free(&read);
}

static void states_from_trajectory(void **state) {
  file_fixture *f = *state;
  double x[BATCH * STATES * STATE], v[BATCH * STATES * STATE];
  uint8_t contact[BATCH * STATES];
  const carom_trajectories written = make_trajectory(x, v, contact);
  assert_int_equal(carom_trajectories_write(&written, f->cp3, "t.h5", NULL), CAROM_OK);
  carom_states read;
  assert_int_equal(carom_states_read(f->cp3, "t.h5", &read, NULL), CAROM_OK);
  assert_int_equal(read.batch, BATCH);
  for (int k = 0; k < BATCH; k++) {
    assert_memory_equal(read.x + k * STATE, x + k * STATES * STATE, STATE * sizeof(double));
    assert_memory_equal(read.v + k * STATE, v + k * STATES * STATE, STATE * sizeof(double));
  }
  carom_states_free(&read);
}

/* ---- bad files ---- */

static void refuse_state(const carom_system *system, const char *path, carom_status status,
                         const char *piece) {
  carom_states read;
  carom_error error = {0};
  assert_int_equal(carom_states_read(system, path, &read, &error), status);
  assert_message(&error, status, piece);
  assert_message(&error, status, path);
  assert_null(read.x);
}

static void no_hdf5_file(void **state) {
  file_fixture *f = *state;
  refuse_state(f->cp3, "missing.h5", CAROM_FILE_ERROR, "No such file");
  refuse_state(f->cp3, ".", CAROM_FILE_ERROR, "not a regular file");
  write_bytes("empty.h5", "", 0);
  refuse_state(f->cp3, "empty.h5", CAROM_INVALID_DATA, "not an HDF5 file");
  write_bytes("text.h5", "hello", 5);
  refuse_state(f->cp3, "text.h5", CAROM_INVALID_DATA, "not an HDF5 file");
  write_bytes("magic.h5", "\211HDF\r\n\032\n garbage", 16);
  refuse_state(f->cp3, "magic.h5", CAROM_INVALID_DATA, "damaged");
}

// every shorter version of a good file is refused or read, without a crash
static void cut_short(void **state) {
  file_fixture *f = *state;
  double x[STATE] = {0}, v[STATE] = {0};
  const carom_states data = {.batch = 1, .point_count = 3, .dimension = 2, .x = x, .v = v};
  assert_int_equal(carom_states_write(&data, f->cp3, "s.h5", NULL), CAROM_OK);
  size_t size;
  char *bytes = read_bytes("s.h5", &size);
  for (size_t length = 0; length < size; length += 97) {
    write_bytes("cut.h5", bytes, length);
    carom_states read;
    carom_error error = {0};
    carom_status status = carom_states_read(f->cp3, "cut.h5", &read, &error);
    assert_int_not_equal(status, CAROM_OK);
    assert_message(&error, status, "cut.h5");
  }
  free(bytes);
}

static void wrong_shapes(void **state) {
  file_fixture *f = *state;
  h5_writer *writer;
  const h5_axis two_points[] = {{"", 1}, {"", 2}, {"", 2}};
  assert_int_equal(h5_writer_create("points.h5", &writer, NULL), CAROM_OK);
  write_one(writer, "x", 3, two_points);
  write_one(writer, "v", 3, two_points);
  assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
  refuse_state(f->cp3, "points.h5", CAROM_INVALID_DATA,
               "/x has the shape [1][2][2], expected [samples][points = 3][dimension = 2]");
  refuse_state(f->other, "points.h5", CAROM_INVALID_DATA, "[points = 4][dimension = 3]");

  const h5_axis x_axes[] = {{"", 2}, {"", 3}, {"", 2}}, v_axes[] = {{"", 1}, {"", 3}, {"", 2}};
  assert_int_equal(h5_writer_create("batch.h5", &writer, NULL), CAROM_OK);
  write_one(writer, "x", 3, x_axes);
  write_one(writer, "v", 3, v_axes);
  assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
  refuse_state(f->cp3, "batch.h5", CAROM_INVALID_DATA,
               "/v has the shape [1][3][2], expected [samples = 2]");

  assert_int_equal(h5_writer_create("rank.h5", &writer, NULL), CAROM_OK);
  write_one(writer, "x", 2, x_axes + 1);
  assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
  refuse_state(f->cp3, "rank.h5", CAROM_INVALID_DATA, "has the shape [3][2]");

  const h5_axis none[] = {{"", 0}, {"", 3}, {"", 2}};
  assert_int_equal(h5_writer_create("none.h5", &writer, NULL), CAROM_OK);
  write_one(writer, "x", 3, none);
  write_one(writer, "v", 3, none);
  assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
  refuse_state(f->cp3, "none.h5", CAROM_INVALID_DATA, "no samples");
}

static void missing_dataset(void **state) {
  file_fixture *f = *state;
  h5_writer *writer;
  const h5_axis axes[] = {{"", 1}, {"", 3}, {"", 2}};
  assert_int_equal(h5_writer_create("x-only.h5", &writer, NULL), CAROM_OK);
  write_one(writer, "x", 3, axes);
  assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
  refuse_state(f->cp3, "x-only.h5", CAROM_INVALID_DATA, "dataset /v is missing");
  // a group in place of a dataset is none
  hid_t file = H5Fcreate("group.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Gclose(H5Gcreate2(file, "x", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Fclose(file);
  refuse_state(f->cp3, "group.h5", CAROM_INVALID_DATA, "dataset /x is missing");
}

static void not_finite(void **state) {
  file_fixture *f = *state;
  double x[2 * STATE] = {0}, v[2 * STATE] = {0};
  const carom_states data = {.batch = 2, .point_count = 3, .dimension = 2, .x = x, .v = v};
  v[STATE + 5] = NAN;
  assert_int_equal(carom_states_write(&data, f->cp3, "nan.h5", NULL), CAROM_OK);
  refuse_state(f->cp3, "nan.h5", CAROM_INVALID_DATA, "/v[1][2][1] is NaN");
  x[2] = -INFINITY;
  assert_int_equal(carom_states_write(&data, f->cp3, "inf.h5", NULL), CAROM_OK);
  refuse_state(f->cp3, "inf.h5", CAROM_INVALID_DATA, "/x[0][1][0] is infinite");
}

// makes a file with /x and /v of a given HDF5 type
static void write_typed(const char *path, hid_t type) {
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hsize_t shape[] = {1, 3, 2};
  const char zeros[6 * 8] = {0};
  add_dataset(file, "x", 3, shape, type, zeros);
  add_dataset(file, "v", 3, shape, type, zeros);
  H5Fclose(file);
}

static void types(void **state) {
  file_fixture *f = *state;
  hid_t text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, 8);
  write_typed("letters.h5", text);
  H5Tclose(text);
  refuse_state(f->cp3, "letters.h5", CAROM_INVALID_DATA, "does not hold numbers");
  // other widths are converted
  write_typed("float.h5", H5T_IEEE_F32BE);
  carom_states read;
  assert_int_equal(carom_states_read(f->cp3, "float.h5", &read, NULL), CAROM_OK);
  carom_states_free(&read);
  write_typed("int.h5", H5T_STD_I32LE);
  assert_int_equal(carom_states_read(f->cp3, "int.h5", &read, NULL), CAROM_OK);
  carom_states_free(&read);
}

// a shape that no memory holds is an error, not a crash
static void giant_shape(void **state) {
  file_fixture *f = *state;
  hid_t file = H5Fcreate("giant.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hsize_t shape[] = {2000000000, 2000000000, 3, 2}, chunk[] = {1, 1, 3, 2};
  hid_t space = H5Screate_simple(4, shape, NULL);
  hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 4, chunk);
  H5Dclose(H5Dcreate2(file, "x", H5T_IEEE_F64LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  H5Pclose(creation);
  H5Sclose(space);
  H5Fclose(file);
  refuse_state(f->cp3, "giant.h5", CAROM_INVALID_DATA, "nothing was written to it");
}

static void trajectory_refused(void **state) {
  file_fixture *f = *state;
  double x[STATE] = {0}, v[STATE] = {0};
  const carom_states data = {.batch = 1, .point_count = 3, .dimension = 2, .x = x, .v = v};
  assert_int_equal(carom_states_write(&data, f->cp3, "s.h5", NULL), CAROM_OK);
  carom_trajectories read;
  carom_error error;
  assert_int_equal(carom_trajectories_read(f->cp3, "s.h5", &read, &error), CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, "expected [samples][states][points = 3]");
  // /t of another length than the states
  h5_writer *writer;
  const h5_axis axes[] = {{"", 1}, {"", 2}, {"", 3}, {"", 2}}, times = {"", 5};
  assert_int_equal(h5_writer_create("t.h5", &writer, NULL), CAROM_OK);
  write_one(writer, "x", 4, axes);
  write_one(writer, "v", 4, axes);
  write_one(writer, "t", 1, &times);
  assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
  assert_int_equal(carom_trajectories_read(f->cp3, "t.h5", &read, &error), CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, "/t has the shape [5], expected [states = 2]");
}

static void infinities_where_allowed(void **state) {
  (void)state;
  h5_writer *writer;
  const double values[3] = {1.0, NAN, -INFINITY};
  h5_axis axis = {"entries", 3};
  assert_int_equal(h5_writer_create("any.h5", &writer, NULL), CAROM_OK);
  assert_int_equal(h5_write_doubles(writer, "a", 1, &axis, values, NULL), CAROM_OK);
  assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
  h5_reader *reader;
  double *read;
  assert_int_equal(h5_reader_open("any.h5", &reader, NULL), CAROM_OK);
  assert_int_equal(h5_read_any_doubles(reader, "a", 1, &axis, &read, NULL), CAROM_OK);
  assert_true(read[0] == 1.0 && isnan(read[1]) && read[2] == -INFINITY);
  free(read);
  assert_int_equal(h5_read_doubles(reader, "a", 1, &axis, &read, NULL), CAROM_INVALID_DATA);
  assert_null(read);
  h5_reader_close(reader);
}

static void writer_discards(void **state) {
  (void)state;
  h5_writer *writer;
  assert_int_equal(h5_writer_create("never.h5", &writer, NULL), CAROM_OK);
  const h5_axis axis = {"", 3};
  write_one(writer, "x", 1, &axis);
  assert_int_equal(h5_writer_finish(writer, CAROM_INVALID_DATA, NULL), CAROM_INVALID_DATA);
  assert_false(exists("never.h5"));
  assert_no_leftover();
}

/* ---- parameters and gradients ---- */

static void parameters_round_trip(void **state) {
  file_fixture *f = *state;
  const carom_system *systems[] = {f->cp3, f->other};
  for (int k = 0; k < 2; k++) {
    int count = carom_parameters_count(systems[k]);
    double *theta = calloc((size_t)count, sizeof(double));
    double *read = calloc((size_t)count, sizeof(double));
    carom_parameters_default(systems[k], theta);
    carom_parameters_default(systems[k], read);
    theta[carom_parameters_segment(systems[k], CAROM_LOG_MASS).offset] = 0.7;
    theta[carom_parameters_segment(systems[k], CAROM_FRICTION).offset] = 0.3;
    theta[carom_parameters_segment(systems[k], CAROM_GRAVITY).offset] = 0.25;
    assert_int_equal(carom_parameters_write(systems[k], theta, "p.h5", NULL), CAROM_OK);
    assert_int_equal(carom_parameters_read(systems[k], "p.h5", read, NULL), CAROM_OK);
    // log(exp(p)) rounds
    for (int i = 0; i < count; i++) assert_true(fabs(read[i] - theta[i]) <= 1e-15);
    free(theta);
    free(read);
  }
}

// writes a parameter file with one dataset of `count` entries, the second being `value`
static void write_parameter(const char *name, int count, double value) {
  h5_writer *writer;
  const double values[4] = {0.5, value, 0.5, 0.5};
  const h5_axis axis = {"", count};
  assert_int_equal(h5_writer_create("p.h5", &writer, NULL), CAROM_OK);
  assert_int_equal(h5_write_doubles(writer, name, 1, &axis, values, NULL), CAROM_OK);
  assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
}

static void bad_parameters(void **state) {
  file_fixture *f = *state;
  static const struct {
    const char *name;
    int count;
    double value;
    const char *piece;
  } cases[] = {
      {"mass", 3, -1.0, "/mass of body 'b' is -1, expected > 0"},
      {"mass", 4, 1.0, "shape [4], expected [bodies = 3]"},
      {"mass", 3, NAN, "/mass[1] is NaN"},
      {"moment", 3, 1.0, "expected [bodies = 3][dimension = 2]"},
      {"friction", 2, 1.0, "expected [possible contacts = 3]"},
      {"friction", 3, -0.5, "friction"},
      {"restitution", 3, 1.5, "restitution"},
      {"masses", 3, 1.0, "/masses is not a parameter"},
  };
  double theta[64], before[64];
  carom_parameters_default(f->cp3, theta);
  memcpy(before, theta, sizeof theta);
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    write_parameter(cases[k].name, cases[k].count, cases[k].value);
    carom_error error = {0};
    assert_int_not_equal(carom_parameters_read(f->cp3, "p.h5", theta, &error), CAROM_OK);
    assert_message(&error, error.status, cases[k].piece);
    assert_message(&error, error.status, "p.h5");
    size_t size = sizeof(double) * (size_t)carom_parameters_count(f->cp3);
    assert_memory_equal(theta, before, size);
  }
}

static void empty_parameters(void **state) {
  file_fixture *f = *state;
  double theta[64];
  carom_error error;
  h5_writer *writer;
  assert_int_equal(h5_writer_create("p.h5", &writer, NULL), CAROM_OK);
  assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
  assert_int_equal(carom_parameters_read(f->cp3, "p.h5", theta, &error), CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, "has no parameters");
}

static void gradient_written(void **state) {
  file_fixture *f = *state;
  double each[2] = {1.0, 3.0}, x0[2 * STATE], v0[2 * STATE], theta[64];
  for (int k = 0; k < 2 * STATE; k++) x0[k] = k, v0[k] = -k;
  for (int k = 0; k < 64; k++) theta[k] = 100 + k;
  const carom_gradient data = {.batch = 2,
                               .dt = 0.01,
                               .loss = 2.0,
                               .loss_each = each,
                               .x0_bar = x0,
                               .v0_bar = v0,
                               .theta_bar = theta};
  assert_int_equal(carom_gradient_write(&data, f->cp3, "g.h5", NULL), CAROM_OK);
  h5_reader *reader;
  assert_int_equal(h5_reader_open("g.h5", &reader, NULL), CAROM_OK);
  double *values;
  assert_int_equal(h5_read_doubles(reader, "loss", 0, NULL, &values, NULL), CAROM_OK);
  assert_true(values[0] == 2.0);
  free(values);
  h5_axis axes[] = {{"samples", 2}, {"points", 3}, {"dimension", 2}};
  assert_int_equal(h5_read_doubles(reader, "d_v0", 3, axes, &values, NULL), CAROM_OK);
  assert_memory_equal(values, v0, sizeof v0);
  free(values);
  h5_axis contacts = {"possible contacts", 3};
  assert_int_equal(h5_read_doubles(reader, "d_friction", 1, &contacts, &values, NULL), CAROM_OK);
  assert_true(values[0] == 100 + carom_parameters_segment(f->cp3, CAROM_FRICTION).offset);
  free(values);
  h5_axis moments[] = {{"bodies", 3}, {"dimension", 2}};
  assert_int_equal(h5_read_doubles(reader, "d_moment", 2, moments, &values, NULL), CAROM_OK);
  free(values);
  const char *const others[] = {"loss_each",     "d_x0",      "d_mass",      "d_restitution",
                                "d_regularizer", "d_gravity", "d_stiffness", "d_radius",
                                "d_offset",      "d_corner",  "d_drag",      "d_angular_drag"};
  for (int k = 0; k < 12; k++) assert_true(h5_has_dataset(reader, others[k]));
  h5_reader_close(reader);
}

/* ---- cone programs ---- */

static void cone_round_trip(void **state) {
  (void)state;
  // the last ones are hard to print: a denormal, and what JSON has no number for
  double A[16] = {1.0 / 3.0, 0.1, 1e-300, -2.0, 0.1, 7.0}, b[4] = {-0.1, 5e-324, NAN, -INFINITY};
  double mu[2] = {0.5, INFINITY}, lower[2] = {0.0, 0.2};
  const carom_cone_program written = {2, 2, A, b, mu, lower};
  assert_int_equal(carom_cone_program_write(&written, "c.json", NULL), CAROM_OK);
  carom_cone_program read;
  carom_error error;
  assert_int_equal(carom_cone_program_read("c.json", &read, &error), CAROM_OK);
  assert_int_equal(read.contact_count, 2);
  assert_int_equal(read.dimension, 2);
  assert_memory_equal(read.A, A, sizeof A);
  assert_memory_equal(read.b, b, 2 * sizeof(double));
  assert_true(isnan(read.b[2]) && read.b[3] == -INFINITY);
  assert_memory_equal(read.mu, mu, sizeof mu);
  assert_memory_equal(read.lower, lower, sizeof lower);
  carom_cone_program_free(&read);
  assert_no_leftover();
}

static void bad_cone_files(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"", "not a JSON file"},
      {"[1]", "carom_cone_program is missing"},
      {"{\"carom_cone_program\": 2}", "carom_cone_program is out of range"},
      {"{\"carom_cone_program\": 1, \"dimension\": 2.5}", "dimension is out of range"},
      {"{\"carom_cone_program\": 1, \"dimension\": 2}", "contact_count is missing"},
      {"{\"carom_cone_program\": 1, \"dimension\": 2, \"contact_count\": 999999999}",
       "contact_count is out of range"},
      {"{\"carom_cone_program\": 1, \"dimension\": 1, \"contact_count\": 1}", "A is missing"},
      {"{\"carom_cone_program\": 1, \"dimension\": 1, \"contact_count\": 1, \"A\": [[1, 2]]}",
       "A[0] has 2 entries, expected 1"},
      {"{\"carom_cone_program\": 1, \"dimension\": 1, \"contact_count\": 1, \"A\": [[1]], "
       "\"b\": [null]}",
       "b[0] is not a number"},
      {"{\"carom_cone_program\": 1, \"dimension\": 1, \"contact_count\": 1, \"A\": [[1]], "
       "\"b\": [1], \"mu\": [-1]}",
       "mu[0] is -1, expected >= 0"},
      {"{\"carom_cone_program\": 1, \"dimension\": 1, \"contact_count\": 1, \"A\": [[1]], "
       "\"b\": [1], \"mu\": [1], \"lower\": 3}",
       "lower is not an array"},
      {"{\"dimension\": 1, \"dimension\": 1}", "duplicate"},
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    write_bytes("c.json", cases[k][0], strlen(cases[k][0]));
    carom_cone_program read;
    carom_error error = {0};
    assert_int_equal(carom_cone_program_read("c.json", &read, &error), CAROM_INVALID_DATA);
    assert_message(&error, CAROM_INVALID_DATA, cases[k][1]);
    assert_message(&error, CAROM_INVALID_DATA, "c.json");
    assert_null(read.A);
  }
  carom_cone_program read;
  carom_error error;
  assert_int_equal(carom_cone_program_read("missing.json", &read, &error), CAROM_FILE_ERROR);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(atomic_replaces),
      cmocka_unit_test(atomic_discard_keeps),
      cmocka_unit_test(atomic_refuses),
      cmocka_unit_test(full_disk_is_reported),
      cmocka_unit_test(trajectory_round_trip),
      cmocka_unit_test(controls_round_trip),
      cmocka_unit_test(controls_refused),
      cmocka_unit_test(origin_is_written),
      cmocka_unit_test(same_content_same_bytes),
      cmocka_unit_test(states_round_trip),
      cmocka_unit_test(states_from_trajectory),
      cmocka_unit_test(no_hdf5_file),
      cmocka_unit_test(cut_short),
      cmocka_unit_test(wrong_shapes),
      cmocka_unit_test(missing_dataset),
      cmocka_unit_test(not_finite),
      cmocka_unit_test(types),
      cmocka_unit_test(giant_shape),
      cmocka_unit_test(trajectory_refused),
      cmocka_unit_test(infinities_where_allowed),
      cmocka_unit_test(writer_discards),
      cmocka_unit_test(parameters_round_trip),
      cmocka_unit_test(bad_parameters),
      cmocka_unit_test(empty_parameters),
      cmocka_unit_test(gradient_written),
      cmocka_unit_test(cone_round_trip),
      cmocka_unit_test(bad_cone_files),
  };
  return cmocka_run_group_tests(tests, set_up, file_fixture_free);
}
