/* Trajectories of other programs: time steps, times, contact flags, compression, text. */
#include "carom.h"
#include "io/h5_file.h"

#include <hdf5.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/file_fixture.h"
#include "support/foreign.h"
#include "support/messages.h"
#include "support/systems.h"

enum { STATES = 4, POINTS = 3, DIMENSION = 2, STATE = POINTS * DIMENSION };

static int set_up(void **state) { return file_fixture_make("foreign", NULL, state); }

/* A trajectory file of another program: one trajectory of cp3 with STATES states at rest. */
static hid_t begin_foreign(const char *path) {
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t shape[] = {1, STATES, POINTS, DIMENSION};
  const double zeros[STATES * STATE] = {0};
  static const char *const names[] = {"x", "v"};
  for (int k = 0; k < 2; k++) add_dataset(file, names[k], 4, shape, H5T_NATIVE_DOUBLE, zeros);
  return file;
}

static void refuse_trajectory(const carom_system *system, const char *path, const char *piece) {
  carom_trajectories read;
  carom_error error = {0};
  assert_int_equal(carom_trajectories_read(system, path, &read, &error), CAROM_INVALID_DATA);
  assert_message(&error, CAROM_INVALID_DATA, piece);
  assert_message(&error, CAROM_INVALID_DATA, path);
  assert_null(read.x);
}

// the time step must be one positive number
static void bad_time_steps(void **state) {
  file_fixture *f = *state;
  static const struct {
    int count;
    double values[2];
    const char *piece;
  } cases[] = {{1, {-0.02}, "dt is -0.02"},
               {1, {0.0}, "dt is 0, expected a positive"},
               {1, {NAN}, "dt is nan"},
               {1, {INFINITY}, "dt is inf"},
               {2, {0.02, 0.02}, "dt is a list"}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    hid_t file = begin_foreign("dt.h5");
    const hsize_t count = (hsize_t)cases[k].count;
    add_attribute(file, "dt", H5T_NATIVE_DOUBLE, count, cases[k].values);
    H5Fclose(file);
    refuse_trajectory(f->cp3, "dt.h5", cases[k].piece);
  }
  hid_t file = begin_foreign("text.h5"), text = H5Tcopy(H5T_C_S1);
  H5Tset_size(text, 5);
  add_attribute(file, "dt", text, 1, "0.02");
  H5Tclose(text);
  H5Fclose(file);
  refuse_trajectory(f->cp3, "text.h5", "dt is text");
}

// what the times /t say: alone, with dt, and where they are no equal steps
static void times_are_checked(void **state) {
  file_fixture *f = *state;
  static const struct {
    double dt; /* 0: no attribute */
    double t[STATES];
    const char *piece; /* NULL: good */
  } cases[] = {{0.0, {3.0, 3.02, 3.04, 3.06}, NULL},
               {0.02, {0.0, 0.02, 0.04, 0.06}, NULL},
               {0.0, {0.0, 0.0201, 0.0401, 0.06}, NULL},
               {0.0, {0.0, 0.022, 0.036, 0.06}, "from /t[1] to /t[2] it is 0.014, on average 0.02"},
               {0.0, {0.0, 0.0203, 0.04, 0.06}, "not evenly spaced"},
               {0.0, {0.06, 0.04, 0.02, 0.0}, "do not rise: /t[0] is 0.06 and /t[1] is 0.04"},
               {0.0, {0.0, 0.02, 0.02, 0.04}, "do not rise: /t[1]"},
               {0.01, {0.0, 0.02, 0.04, 0.06}, "dt is 0.01, but the times /t are 0.02 apart"},
               {0.02005, {0.0, 0.02, 0.04, 0.06}, "apart"}};
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
    hid_t file = begin_foreign("t.h5");
    const hsize_t count = STATES;
    add_dataset(file, "t", 1, &count, H5T_NATIVE_DOUBLE, cases[k].t);
    if (cases[k].dt > 0.0) add_attribute(file, "dt", H5T_NATIVE_DOUBLE, 1, &cases[k].dt);
    H5Fclose(file);
    if (cases[k].piece != NULL) {
      refuse_trajectory(f->cp3, "t.h5", cases[k].piece);
      continue;
    }
    carom_trajectories read;
    assert_int_equal(carom_trajectories_read(f->cp3, "t.h5", &read, NULL), CAROM_OK);
    assert_true(fabs(read.dt - 0.02) < 1e-12);
    assert_int_equal(read.dt_from, cases[k].dt > 0.0 ? CAROM_DT_OF_ATTRIBUTE : CAROM_DT_OF_TIMES);
    carom_trajectories_free(&read);
  }
  H5Fclose(begin_foreign("none.h5"));
  carom_trajectories read;
  assert_int_equal(carom_trajectories_read(f->cp3, "none.h5", &read, NULL), CAROM_OK);
  assert_true(read.dt == 0.0 && read.dt_from == CAROM_DT_OF_SCENE);
  carom_trajectories_free(&read);
}

// 0 and 1 of any type, truth values of numpy included; nothing else
static void contact_flags(void **state) {
  file_fixture *f = *state;
  const hsize_t shape[] = {1, STATES};
  hid_t truth = H5Tenum_create(H5T_NATIVE_INT8);
  const int8_t no = 0, yes = 1, truths[STATES] = {0, 1, 1, 0};
  H5Tenum_insert(truth, "FALSE", &no);
  H5Tenum_insert(truth, "TRUE", &yes);
  const int64_t integers[STATES] = {0, 1, 1, 0};
  const double numbers[STATES] = {0, 1, 1, 0};
  const hid_t types[] = {truth, H5T_NATIVE_INT64, H5T_NATIVE_DOUBLE};
  const void *const values[] = {truths, integers, numbers};
  const uint8_t expected[STATES] = {0, 1, 1, 0};
  for (int k = 0; k < 3; k++) {
    hid_t file = begin_foreign("c.h5");
    add_dataset(file, "contact", 2, shape, types[k], values[k]);
    H5Fclose(file);
    carom_trajectories read;
    assert_int_equal(carom_trajectories_read(f->cp3, "c.h5", &read, NULL), CAROM_OK);
    assert_memory_equal(read.contact, expected, STATES);
    carom_trajectories_free(&read);
  }
  H5Tclose(truth);
  static const double bad[] = {0.5, NAN, 2.0, -1.0};
  static const char *const pieces[] = {"/contact[0][2] is 0.5, expected 0 (no) or 1 (yes)",
                                       "/contact[0][2] is nan", "is 2", "is -1"};
  for (int k = 0; k < 4; k++) {
    const double flags[STATES] = {0, 1, bad[k], 0};
    hid_t file = begin_foreign("c.h5");
    add_dataset(file, "contact", 2, shape, H5T_NATIVE_DOUBLE, flags);
    H5Fclose(file);
    refuse_trajectory(f->cp3, "c.h5", pieces[k]);
  }
}

// a filter that is not there is named
static void unknown_filter(void **state) {
  file_fixture *f = *state;
  if (H5Zfilter_avail(32000) > 0) skip();
  refuse_trajectory(f->cp3, CAROM_TEST_DATA "/lzf.h5", "filter LZF (id 32000)");
}

// text longer than an attribute in the object header may be, and text of fixed length
static void long_and_fixed_text(void **state) {
  (void)state;
  enum { LENGTH = 300000 };
  char *text = malloc(LENGTH + 1), *read;
  memset(text, 'x', LENGTH);
  text[LENGTH] = '\0';
  h5_writer *writer;
  assert_int_equal(h5_writer_create("long.h5", &writer, NULL), CAROM_OK);
  assert_int_equal(h5_write_text_attribute(writer, "scene", text, NULL), CAROM_OK);
  assert_int_equal(h5_writer_finish(writer, CAROM_OK, NULL), CAROM_OK);
  h5_reader *reader;
  assert_int_equal(h5_reader_open("long.h5", &reader, NULL), CAROM_OK);
  assert_true(h5_read_text_attribute(reader, "scene", &read));
  assert_string_equal(read, text);
  h5_reader_close(reader);
  free(read);
  free(text);
  hid_t file = begin_foreign("fixed.h5"), type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, 4);
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  add_attribute(file, "scene", type, 1, "cp3e");
  H5Tclose(type);
  H5Fclose(file);
  assert_int_equal(h5_reader_open("fixed.h5", &reader, NULL), CAROM_OK);
  assert_true(h5_read_text_attribute(reader, "scene", &read));
  assert_string_equal(read, "cp3e");
  h5_reader_close(reader);
  free(read);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bad_time_steps),      cmocka_unit_test(times_are_checked),
      cmocka_unit_test(contact_flags),       cmocka_unit_test(unknown_filter),
      cmocka_unit_test(long_and_fixed_text),
  };
  return cmocka_run_group_tests(tests, set_up, file_fixture_free);
}
