#include "io/h5_file.h"

#include "base/error.h"
#include "io/atomic_file.h"

#include <errno.h>
#include <hdf5.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MEMORY_INCREMENT = 1 << 20 };

/* HDF5's error printing, switched off from quiet_begin to quiet_end. */
typedef struct quiet {
  H5E_auto2_t function;
  void *data;
} quiet;

static quiet quiet_begin(void) {
  quiet q = {0};
  H5Eget_auto2(H5E_DEFAULT, &q.function, &q.data);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  return q;
}

static void quiet_end(quiet q) { H5Eset_auto2(H5E_DEFAULT, q.function, q.data); }

size_t h5_element_count(int rank, const h5_axis *axes) {
  size_t count = 1;
  for (int k = 0; k < rank; k++) count *= (size_t)axes[k].size;
  return count;
}

/* ---- writing ---- */

struct h5_writer {
  hid_t file;
  atomic_file output;
};

// a file that lives in memory and has no time stamps
static hid_t create_in_memory(void) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  hid_t creation = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_fapl_core(access, MEMORY_INCREMENT, 0);
  H5Pset_obj_track_times(creation, 0);
  hid_t file = H5Fcreate("carom.h5", H5F_ACC_TRUNC, creation, access);
  H5Pclose(creation);
  H5Pclose(access);
  return file;
}

carom_status h5_writer_create(const char *path, h5_writer **writer, carom_error *error) {
  *writer = NULL;
  h5_writer *made = calloc(1, sizeof *made);
  if (made == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  // the name is tried first: an unwritable one is reported before any work
  carom_status status = atomic_file_open(path, &made->output, error);
  if (status != CAROM_OK) {
    free(made);
    return status;
  }
  quiet q = quiet_begin();
  made->file = create_in_memory();
  quiet_end(q);
  if (made->file < 0) {
    atomic_file_discard(&made->output);
    free(made);
    return error_set(error, CAROM_OUT_OF_MEMORY, "%s: HDF5 cannot make a file in memory", path);
  }
  *writer = made;
  return CAROM_OK;
}

carom_status h5_write_group(h5_writer *writer, const char *name, carom_error *error) {
  quiet q = quiet_begin();
  hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
  H5Pset_obj_track_times(creation, 0);
  hid_t group = H5Gcreate2(writer->file, name, H5P_DEFAULT, creation, H5P_DEFAULT);
  if (group >= 0) H5Gclose(group);
  H5Pclose(creation);
  quiet_end(q);
  if (group >= 0) return CAROM_OK;
  return error_set(error, CAROM_FILE_ERROR, "%s: group /%s cannot be written (out of memory?)",
                   writer->output.target, name);
}

static bool write_dataset(hid_t file, const char *name, int rank, const h5_axis *axes, hid_t stored,
                          hid_t given, const void *values) {
  hsize_t shape[H5_MAX_RANK];
  for (int k = 0; k < rank; k++) shape[k] = (hsize_t)axes[k].size;
  hid_t space = rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, shape, NULL);
  hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(creation, 0);
  hid_t dataset = H5Dcreate2(file, name, stored, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  bool written = dataset >= 0;
  // an array without elements has nothing to write
  if (written && h5_element_count(rank, axes) > 0) {
    written = H5Dwrite(dataset, given, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0;
  }
  if (dataset >= 0) H5Dclose(dataset);
  H5Pclose(creation);
  H5Sclose(space);
  return written;
}

static carom_status write_array(h5_writer *writer, const char *name, int rank, const h5_axis *axes,
                                hid_t stored, hid_t given, const void *values, carom_error *error) {
  quiet q = quiet_begin();
  bool written = write_dataset(writer->file, name, rank, axes, stored, given, values);
  quiet_end(q);
  if (written) return CAROM_OK;
  return error_set(error, CAROM_FILE_ERROR, "%s: dataset /%s cannot be written (out of memory?)",
                   writer->output.target, name);
}

carom_status h5_write_doubles(h5_writer *writer, const char *name, int rank, const h5_axis *axes,
                              const double *values, carom_error *error) {
  return write_array(writer, name, rank, axes, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values, error);
}

carom_status h5_write_bytes(h5_writer *writer, const char *name, int rank, const h5_axis *axes,
                            const uint8_t *values, carom_error *error) {
  return write_array(writer, name, rank, axes, H5T_STD_U8LE, H5T_NATIVE_UINT8, values, error);
}

static carom_status write_attribute(h5_writer *writer, const char *name, hid_t type,
                                    const void *value, carom_error *error) {
  quiet q = quiet_begin();
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t attribute = H5Acreate2(writer->file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  bool written = attribute >= 0 && H5Awrite(attribute, type, value) >= 0;
  if (attribute >= 0) H5Aclose(attribute);
  H5Sclose(space);
  quiet_end(q);
  if (written) return CAROM_OK;
  return error_set(error, CAROM_FILE_ERROR, "%s: attribute %s cannot be written",
                   writer->output.target, name);
}

carom_status h5_write_text_attribute(h5_writer *writer, const char *name, const char *text,
                                     carom_error *error) {
  // variable length: a scene may be longer than the 64 KB of an attribute in the object header
  hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  carom_status status = write_attribute(writer, name, type, &text, error);
  H5Tclose(type);
  return status;
}

carom_status h5_write_number_attribute(h5_writer *writer, const char *name, double value,
                                       carom_error *error) {
  return write_attribute(writer, name, H5T_NATIVE_DOUBLE, &value, error);
}

carom_status h5_write_origin(h5_writer *writer, const char *scene, double dt, carom_error *error) {
  carom_status status = h5_write_text_attribute(writer, "carom_version", CAROM_VERSION, error);
  if (status == CAROM_OK) status = h5_write_text_attribute(writer, "scene", scene, error);
  if (status == CAROM_OK) status = h5_write_number_attribute(writer, "dt", dt, error);
  return status;
}

// the bytes of the file in memory go to the output
static carom_status write_image(h5_writer *writer, carom_error *error) {
  quiet q = quiet_begin();
  ssize_t size = 0;
  void *handle = NULL;
  bool have = H5Fflush(writer->file, H5F_SCOPE_GLOBAL) >= 0 &&
              (size = H5Fget_file_image(writer->file, NULL, 0)) > 0 &&
              H5Fget_vfd_handle(writer->file, H5P_DEFAULT, &handle) >= 0;
  quiet_end(q);
  if (!have) {
    return error_set(error, CAROM_OUT_OF_MEMORY, "%s: HDF5 cannot complete the file",
                     writer->output.target);
  }
  // of a file in memory the handle is a pointer to the pointer to the bytes
  return atomic_file_write(&writer->output, *(void **)handle, (size_t)size, error);
}

carom_status h5_writer_finish(h5_writer *writer, carom_status status, carom_error *error) {
  if (status == CAROM_OK) status = write_image(writer, error);
  if (status == CAROM_OK) {
    status = atomic_file_commit(&writer->output, error);
  } else {
    atomic_file_discard(&writer->output);
  }
  quiet q = quiet_begin();
  H5Fclose(writer->file);
  quiet_end(q);
  free(writer);
  return status;
}

/* ---- reading ---- */

struct h5_reader {
  hid_t file;
  char *path;
};

// what HDF5 would not say well: missing, a folder, unreadable, not HDF5
static carom_status check_readable(const char *path, carom_error *error) {
  struct stat status;
  if (path == NULL || path[0] == '\0') {
    return error_set(error, CAROM_INVALID_ARGUMENT, "the name of the input file is empty");
  }
  if (stat(path, &status) != 0 || access(path, R_OK) != 0) {
    return error_set(error, CAROM_FILE_ERROR, "%s: cannot be read: %s", path, strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    return error_set(error, CAROM_FILE_ERROR, "%s: is not a regular file", path);
  }
  if (H5Fis_hdf5(path) <= 0) {
    return error_set(error, CAROM_INVALID_DATA, "%s: is not an HDF5 file", path);
  }
  return CAROM_OK;
}

carom_status h5_reader_open(const char *path, h5_reader **reader, carom_error *error) {
  *reader = NULL;
  quiet q = quiet_begin();
  carom_status status = check_readable(path, error);
  hid_t file = status == CAROM_OK ? H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
  quiet_end(q);
  if (status != CAROM_OK) return status;
  if (file < 0) {
    return error_set(error, CAROM_INVALID_DATA,
                     "%s: HDF5 cannot open it; it is damaged, cut short, or being written", path);
  }
  h5_reader *made = malloc(sizeof *made);
  char *copy = strdup(path);
  if (made == NULL || copy == NULL) {
    H5Fclose(file);
    free(made);
    free(copy);
    return error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  }
  *made = (h5_reader){.file = file, .path = copy};
  *reader = made;
  return CAROM_OK;
}

void h5_reader_close(h5_reader *reader) {
  if (reader == NULL) return;
  quiet q = quiet_begin();
  H5Fclose(reader->file);
  quiet_end(q);
  free(reader->path);
  free(reader);
}

// a dataset by its name, or -1; a group of that name is no dataset
static hid_t open_dataset(const h5_reader *reader, const char *name) {
  if (H5Lexists(reader->file, name, H5P_DEFAULT) <= 0) return -1;
  return H5Dopen2(reader->file, name, H5P_DEFAULT);
}

int h5_dataset_rank(const h5_reader *reader, const char *name) {
  quiet q = quiet_begin();
  int rank = -1;
  hid_t dataset = open_dataset(reader, name);
  if (dataset >= 0) {
    hid_t space = H5Dget_space(dataset);
    rank = H5Sget_simple_extent_ndims(space);
    H5Sclose(space);
    H5Dclose(dataset);
  }
  quiet_end(q);
  return rank;
}

bool h5_has_dataset(const h5_reader *reader, const char *name) {
  return h5_dataset_rank(reader, name) >= 0;
}

bool h5_has_group(const h5_reader *reader, const char *name) {
  quiet q = quiet_begin();
  bool linked = H5Lexists(reader->file, name, H5P_DEFAULT) > 0;
  hid_t group = linked ? H5Gopen2(reader->file, name, H5P_DEFAULT) : -1;
  if (group >= 0) H5Gclose(group);
  quiet_end(q);
  return group >= 0;
}

int h5_link_count(const h5_reader *reader) {
  quiet q = quiet_begin();
  H5G_info_t info;
  int count = H5Gget_info(reader->file, &info) >= 0 ? (int)info.nlinks : 0;
  quiet_end(q);
  return count;
}

bool h5_link_name(const h5_reader *reader, int index, char *name, size_t size) {
  quiet q = quiet_begin();
  ssize_t length = H5Lget_name_by_idx(reader->file, ".", H5_INDEX_NAME, H5_ITER_INC, (hsize_t)index,
                                      name, size, H5P_DEFAULT);
  quiet_end(q);
  return length >= 0 && (size_t)length < size;
}

// "[samples][points = 5][dimension = 2]"
static void describe_expected(int rank, const h5_axis *axes, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int k = 0; k < rank && used < size; k++) {
    int length = axes[k].size < 0
                     ? snprintf(text + used, size - used, "[%s]", axes[k].name)
                     : snprintf(text + used, size - used, "[%s = %d]", axes[k].name, axes[k].size);
    used += (size_t)length;
  }
  if (rank == 0) snprintf(text, size, "a single number");
}

// "[3][5][2]"
static void describe_found(int rank, const hsize_t *shape, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int k = 0; k < rank && used < size; k++) {
    used += (size_t)snprintf(text + used, size - used, "[%llu]", (unsigned long long)shape[k]);
  }
  if (rank == 0) snprintf(text, size, "of a single number");
}

static carom_status wrong_shape(const h5_reader *reader, const char *name, int rank,
                                const h5_axis *axes, int found_rank, const hsize_t *found,
                                carom_error *error) {
  char expected[256], got[256];
  describe_expected(rank, axes, expected, sizeof expected);
  describe_found(found_rank, found, got, sizeof got);
  return error_set(error, CAROM_INVALID_DATA, "%s: dataset /%s has the shape %s, expected %s",
                   reader->path, name, got, expected);
}

// compares the dataset's shape with `axes` and fills in the sizes that were left open
static carom_status check_shape(const h5_reader *reader, const char *name, hid_t dataset, int rank,
                                h5_axis *axes, carom_error *error) {
  hsize_t found[H5S_MAX_RANK];
  hid_t space = H5Dget_space(dataset);
  int found_rank = H5Sget_simple_extent_dims(space, found, NULL);
  bool null_space = H5Sget_simple_extent_type(space) == H5S_NULL;
  H5Sclose(space);
  if (found_rank < 0 || null_space) {
    return error_set(error, CAROM_INVALID_DATA, "%s: dataset /%s has no data", reader->path, name);
  }
  bool fits = found_rank == rank;
  for (int k = 0; fits && k < rank; k++) {
    fits = found[k] <= INT_MAX && (axes[k].size < 0 || found[k] == (hsize_t)axes[k].size);
  }
  if (!fits) return wrong_shape(reader, name, rank, axes, found_rank, found, error);
  for (int k = 0; k < rank; k++) axes[k].size = (int)found[k];
  return CAROM_OK;
}

static carom_status check_type(const h5_reader *reader, const char *name, hid_t dataset,
                               carom_error *error) {
  hid_t type = H5Dget_type(dataset);
  H5T_class_t kind = H5Tget_class(type);
  H5Tclose(type);
  if (kind == H5T_FLOAT || kind == H5T_INTEGER) return CAROM_OK;
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: dataset /%s does not hold numbers (expected float64, found %s)",
                   reader->path, name, kind == H5T_STRING ? "text" : "another type");
}

// reads an open dataset into new memory of `width` bytes an element
static carom_status read_open(const h5_reader *reader, const char *name, hid_t dataset, int rank,
                              h5_axis *axes, hid_t type, size_t width, void **values,
                              carom_error *error) {
  carom_status status = check_type(reader, name, dataset, error);
  if (status == CAROM_OK) status = check_shape(reader, name, dataset, rank, axes, error);
  if (status != CAROM_OK) return status;
  size_t bytes = width, count = h5_element_count(rank, axes);
  for (int k = 0; k < rank; k++) {
    if (__builtin_mul_overflow(bytes, (size_t)axes[k].size, &bytes)) bytes = SIZE_MAX;
  }
  *values = bytes < SIZE_MAX ? malloc(bytes + 1) : NULL;
  if (*values == NULL) {
    return error_set(error, CAROM_OUT_OF_MEMORY, "%s: dataset /%s does not fit into memory",
                     reader->path, name);
  }
  if (count == 0 || H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *values) >= 0) {
    return CAROM_OK;
  }
  free(*values);
  *values = NULL;
  return error_set(error, CAROM_INVALID_DATA, "%s: dataset /%s cannot be read; it is damaged",
                   reader->path, name);
}

static carom_status read_array(const h5_reader *reader, const char *name, int rank, h5_axis *axes,
                               hid_t type, size_t width, void **values, carom_error *error) {
  *values = NULL;
  quiet q = quiet_begin();
  hid_t dataset = open_dataset(reader, name);
  carom_status status = CAROM_OK;
  if (dataset >= 0) {
    status = read_open(reader, name, dataset, rank, axes, type, width, values, error);
    H5Dclose(dataset);
  }
  quiet_end(q);
  if (dataset >= 0) return status;
  char expected[256];
  describe_expected(rank, axes, expected, sizeof expected);
  return error_set(error, CAROM_INVALID_DATA, "%s: dataset /%s is missing, expected %s",
                   reader->path, name, expected);
}

static carom_status check_finite(const h5_reader *reader, const char *name, int rank,
                                 const h5_axis *axes, const double *values, carom_error *error) {
  size_t count = h5_element_count(rank, axes), at = 0;
  while (at < count && isfinite(values[at])) at++;
  if (at == count) return CAROM_OK;
  // the flat place as an index, last axis first
  hsize_t index[H5_MAX_RANK] = {0};
  size_t rest = at;
  for (int k = rank - 1; k >= 0; k--) {
    index[k] = rest % (size_t)axes[k].size;
    rest /= (size_t)axes[k].size;
  }
  char place[256] = "";
  if (rank > 0) describe_found(rank, index, place, sizeof place);
  return error_set(error, CAROM_INVALID_DATA, "%s: /%s%s is %s, expected a finite number",
                   reader->path, name, place, isnan(values[at]) ? "NaN" : "infinite");
}

carom_status h5_read_doubles(h5_reader *reader, const char *name, int rank, h5_axis *axes,
                             double **values, carom_error *error) {
  void *read = NULL;
  *values = NULL;
  carom_status status =
      read_array(reader, name, rank, axes, H5T_NATIVE_DOUBLE, sizeof(double), &read, error);
  if (status != CAROM_OK) return status;
  status = check_finite(reader, name, rank, axes, read, error);
  if (status == CAROM_OK) {
    *values = read;
  } else {
    free(read);
  }
  return status;
}

carom_status h5_read_bytes(h5_reader *reader, const char *name, int rank, h5_axis *axes,
                           uint8_t **values, carom_error *error) {
  void *read = NULL;
  carom_status status =
      read_array(reader, name, rank, axes, H5T_NATIVE_UINT8, sizeof(uint8_t), &read, error);
  *values = read;
  return status;
}

// opens a root attribute that holds one value, or gives -1
static hid_t open_attribute(const h5_reader *reader, const char *name) {
  if (H5Aexists(reader->file, name) <= 0) return -1;
  hid_t attribute = H5Aopen(reader->file, name, H5P_DEFAULT);
  if (attribute < 0) return -1;
  hid_t space = H5Aget_space(attribute);
  bool single = H5Sget_simple_extent_npoints(space) == 1;
  H5Sclose(space);
  if (single) return attribute;
  H5Aclose(attribute);
  return -1;
}

bool h5_read_number_attribute(const h5_reader *reader, const char *name, double *value) {
  quiet q = quiet_begin();
  bool have = false;
  hid_t attribute = open_attribute(reader, name);
  if (attribute >= 0) {
    have = H5Aread(attribute, H5T_NATIVE_DOUBLE, value) >= 0;
    H5Aclose(attribute);
  }
  quiet_end(q);
  return have;
}

// text is stored with a length of its own or with a fixed one
static char *read_text(hid_t attribute) {
  hid_t stored = H5Aget_type(attribute);
  char *text = NULL;
  if (H5Tget_class(stored) == H5T_STRING && H5Tis_variable_str(stored) > 0) {
    char *found = NULL;
    if (H5Aread(attribute, stored, &found) >= 0 && found != NULL) text = strdup(found);
    if (found != NULL) H5free_memory(found);
  } else if (H5Tget_class(stored) == H5T_STRING) {
    text = calloc(H5Tget_size(stored) + 1, 1);
    if (text != NULL && H5Aread(attribute, stored, text) < 0) {
      free(text);
      text = NULL;
    }
  }
  H5Tclose(stored);
  return text;
}

bool h5_read_text_attribute(const h5_reader *reader, const char *name, char **text) {
  quiet q = quiet_begin();
  *text = NULL;
  hid_t attribute = open_attribute(reader, name);
  if (attribute >= 0) {
    *text = read_text(attribute);
    H5Aclose(attribute);
  }
  quiet_end(q);
  return *text != NULL;
}
