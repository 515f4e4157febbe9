/* make_bad_h5 KIND FILE: writes an HDF5 file for the scene cp3 (3 points, 2 coordinates) that is
 * wrong in one way, or right. */
#include "io/h5_file.h"

#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The chain hangs straight down, a little to the left of the ground: constraints hold. */
static const double HANGING[] = {0.0, -0.35, 0.0, -0.75, 0.35, -0.75};
static const double RESTING[] = {0.0, 0.0, 0.0, 0.0, 0.0, 0.0};

/* What distinguishes the kinds of state file. */
typedef struct kind {
  const char *name;
  int points;
  double first; /* takes the place of x[0][0][0] */
  bool has_v;
} kind;

static const kind kinds[] = {
    {"good", 3, 0.0, true},  {"nan", 3, NAN, true},    {"infinity", 3, INFINITY, true},
    {"no-v", 3, 0.0, false}, {"points", 2, 0.0, true}, {"off-constraint", 3, 0.1, true},
};

static carom_status write_state(const char *path, const kind *k, carom_error *error) {
  h5_writer *writer;
  carom_status status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  double x[6];
  memcpy(x, HANGING, sizeof x);
  if (k->first != 0.0) x[0] = k->first;
  const h5_axis axes[] = {{"samples", 1}, {"points", k->points}, {"dimension", 2}};
  status = h5_write_doubles(writer, "x", 3, axes, x, error);
  if (status == CAROM_OK && k->has_v) {
    status = h5_write_doubles(writer, "v", 3, axes, RESTING, error);
  }
  return h5_writer_finish(writer, status, error);
}

// /x is a matrix
static carom_status write_wrong_rank(const char *path, carom_error *error) {
  h5_writer *writer;
  carom_status status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  const h5_axis axes[] = {{"points", 3}, {"dimension", 2}};
  status = h5_write_doubles(writer, "x", 2, axes, HANGING, error);
  if (status == CAROM_OK) status = h5_write_doubles(writer, "v", 2, axes, RESTING, error);
  return h5_writer_finish(writer, status, error);
}

// a parameter file with one dataset
static carom_status write_parameters(const char *path, const char *name, double first, int count,
                                     carom_error *error) {
  h5_writer *writer;
  carom_status status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  const double values[] = {first, 0.2, 0.3, 0.4};
  const h5_axis axis = {"entries", count};
  status = h5_write_doubles(writer, name, 1, &axis, values, error);
  return h5_writer_finish(writer, status, error);
}

// /x holds text
static carom_status write_text(const char *path) {
  hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, 8);
  hsize_t shape[] = {1, 3, 2};
  hid_t space = H5Screate_simple(3, shape, NULL);
  hid_t dataset = H5Dcreate2(file, "x", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  bool made = dataset >= 0;
  H5Dclose(dataset);
  H5Sclose(space);
  H5Tclose(type);
  H5Fclose(file);
  return made ? CAROM_OK : CAROM_FILE_ERROR;
}

static carom_status write_kind(const char *name, const char *path, carom_error *error) {
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    if (strcmp(name, kinds[k].name) == 0) return write_state(path, &kinds[k], error);
  }
  if (strcmp(name, "rank") == 0) return write_wrong_rank(path, error);
  if (strcmp(name, "text") == 0) return write_text(path);
  if (strcmp(name, "mass") == 0) return write_parameters(path, "mass", 0.1, 3, error);
  if (strcmp(name, "mass-negative") == 0) return write_parameters(path, "mass", -1.0, 3, error);
  if (strcmp(name, "mass-count") == 0) return write_parameters(path, "mass", 0.1, 4, error);
  if (strcmp(name, "restitution") == 0) return write_parameters(path, "restitution", 2.0, 3, error);
  if (strcmp(name, "misspelt") == 0) return write_parameters(path, "masses", 0.1, 3, error);
  snprintf(error->message, sizeof error->message, "there is no kind '%s'", name);
  return CAROM_INVALID_ARGUMENT;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: make_bad_h5 KIND FILE\n");
    return 2;
  }
  carom_error error = {0};
  if (write_kind(argv[1], argv[2], &error) == CAROM_OK) return 0;
  fprintf(stderr, "make_bad_h5: %s\n", error.message);
  return 1;
}
