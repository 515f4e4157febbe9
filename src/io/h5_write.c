#include "io/h5_file.h"

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/h5_session.h"
#include "io/seal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_INCREMENT = 1 << 20 };

/* What a dataset holds. */
typedef enum element { ELEMENT_DOUBLE, ELEMENT_BYTE, ELEMENT_INT } element;

struct h5_writer {
  hid_t file;
  atomic_file output;
};

size_t h5_element_count(int rank, const h5_axis *axes) {
  size_t count = 1;
  for (int k = 0; k < rank; k++) count *= (size_t)axes[k].size;
  return count;
}

// a file that lives in memory, has room for a seal in front and no time stamps
static hid_t create_in_memory(const h5_writer *writer) {
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  hid_t creation = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_fapl_core(access, MEMORY_INCREMENT, 0);
  H5Pset_userblock(creation, SEAL_SIZE);
  H5Pset_obj_track_times(creation, 0);
  // HDF5 knows files in memory by their names: each has its own
  char name[64];
  snprintf(name, sizeof name, "carom-%p.h5", (const void *)writer);
  hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, creation, access);
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
  const h5_session session = h5_session_begin();
  made->file = create_in_memory(made);
  h5_session_end(session);
  if (made->file < 0) {
    atomic_file_discard(&made->output);
    free(made);
    return error_set(error, CAROM_OUT_OF_MEMORY, "%s: HDF5 cannot make a file in memory", path);
  }
  *writer = made;
  return CAROM_OK;
}

carom_status h5_write_group(h5_writer *writer, const char *name, carom_error *error) {
  const h5_session session = h5_session_begin();
  hid_t creation = H5Pcreate(H5P_GROUP_CREATE);
  H5Pset_obj_track_times(creation, 0);
  hid_t group = H5Gcreate2(writer->file, name, H5P_DEFAULT, creation, H5P_DEFAULT);
  if (group >= 0) H5Gclose(group);
  H5Pclose(creation);
  h5_session_end(session);
  if (group >= 0) return CAROM_OK;
  return error_set(error, CAROM_FILE_ERROR, "%s: group /%s cannot be written (out of memory?)",
                   writer->output.target, name);
}

static bool write_dataset(hid_t file, const char *name, int rank, const h5_axis *axes, element kind,
                          const void *values) {
  const hid_t stored_types[] = {H5T_IEEE_F64LE, H5T_STD_U8LE, H5T_STD_I32LE};
  const hid_t given_types[] = {H5T_NATIVE_DOUBLE, H5T_NATIVE_UINT8, H5T_NATIVE_INT};
  hid_t stored = stored_types[kind], given = given_types[kind];
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

// sizes that cannot be, and arrays that are not there
static carom_status check_array(const h5_writer *writer, const char *name, int rank,
                                const h5_axis *axes, const void *values, carom_error *error) {
  for (int k = 0; k < rank; k++)
    if (axes[k].size < 0)
      return error_set(error, CAROM_INVALID_ARGUMENT, "%s: the number of %s of /%s is %d",
                       writer->output.target, axes[k].name, name, axes[k].size);
  if (values != NULL || h5_element_count(rank, axes) == 0) return CAROM_OK;
  return error_set(error, CAROM_INVALID_ARGUMENT, "%s: the array of /%s is NULL",
                   writer->output.target, name);
}

static carom_status write_array(h5_writer *writer, const char *name, int rank, const h5_axis *axes,
                                element kind, const void *values, carom_error *error) {
  const carom_status status = check_array(writer, name, rank, axes, values, error);
  if (status != CAROM_OK) return status;
  const h5_session session = h5_session_begin();
  bool written = write_dataset(writer->file, name, rank, axes, kind, values);
  h5_session_end(session);
  if (written) return CAROM_OK;
  return error_set(error, CAROM_FILE_ERROR, "%s: dataset /%s cannot be written (out of memory?)",
                   writer->output.target, name);
}

carom_status h5_write_doubles(h5_writer *writer, const char *name, int rank, const h5_axis *axes,
                              const double *values, carom_error *error) {
  return write_array(writer, name, rank, axes, ELEMENT_DOUBLE, values, error);
}

carom_status h5_write_bytes(h5_writer *writer, const char *name, int rank, const h5_axis *axes,
                            const uint8_t *values, carom_error *error) {
  return write_array(writer, name, rank, axes, ELEMENT_BYTE, values, error);
}

carom_status h5_write_ints(h5_writer *writer, const char *name, int rank, const h5_axis *axes,
                           const int *values, carom_error *error) {
  return write_array(writer, name, rank, axes, ELEMENT_INT, values, error);
}

static bool write_attribute(hid_t file, const char *name, hid_t type, const void *value) {
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  bool written = attribute >= 0 && H5Awrite(attribute, type, value) >= 0;
  if (attribute >= 0) H5Aclose(attribute);
  H5Sclose(space);
  return written;
}

static carom_status attribute_failed(const h5_writer *writer, const char *name,
                                     carom_error *error) {
  return error_set(error, CAROM_FILE_ERROR, "%s: attribute %s cannot be written",
                   writer->output.target, name);
}

carom_status h5_write_text_attribute(h5_writer *writer, const char *name, const char *text,
                                     carom_error *error) {
  const h5_session session = h5_session_begin();
  // variable length: a scene may be longer than the 64 KB of an attribute in the object header
  hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  bool written = write_attribute(writer->file, name, type, &text);
  H5Tclose(type);
  h5_session_end(session);
  return written ? CAROM_OK : attribute_failed(writer, name, error);
}

carom_status h5_write_number_attribute(h5_writer *writer, const char *name, double value,
                                       carom_error *error) {
  const h5_session session = h5_session_begin();
  bool written = write_attribute(writer->file, name, H5T_NATIVE_DOUBLE, &value);
  h5_session_end(session);
  return written ? CAROM_OK : attribute_failed(writer, name, error);
}

carom_status h5_write_origin(h5_writer *writer, const char *scene, double dt, carom_error *error) {
  if (!(dt >= 0 && isfinite(dt)))
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "%s: the time step is %g, must be positive, or 0 if it is not known",
                     writer->output.target, dt);
  carom_status status = h5_write_text_attribute(writer, "carom_version", CAROM_VERSION, error);
  if (status == CAROM_OK) status = h5_write_text_attribute(writer, "scene", scene, error);
  if (status == CAROM_OK && dt != 0.0) status = h5_write_number_attribute(writer, "dt", dt, error);
  return status;
}

// the seal, then the bytes of the file in memory behind it
static carom_status write_image(h5_writer *writer, carom_error *error) {
  const h5_session session = h5_session_begin();
  ssize_t size = 0;
  void *handle = NULL;
  bool have = H5Fflush(writer->file, H5F_SCOPE_GLOBAL) >= 0 &&
              (size = H5Fget_file_image(writer->file, NULL, 0)) > 0 &&
              H5Fget_vfd_handle(writer->file, H5P_DEFAULT, &handle) >= 0;
  h5_session_end(session);
  if (!have) {
    return error_set(error, CAROM_OUT_OF_MEMORY, "%s: HDF5 cannot complete the file",
                     writer->output.target);
  }
  // of a file in memory the handle is a pointer to the pointer to the bytes; the size is without
  // the block in front
  const char *bytes = *(char **)handle + SEAL_SIZE;
  char block[SEAL_SIZE];
  seal_make(bytes, (size_t)size, block);
  carom_status status = atomic_file_write(&writer->output, block, sizeof block, error);
  return status == CAROM_OK ? atomic_file_write(&writer->output, bytes, (size_t)size, error)
                            : status;
}

carom_status h5_writer_finish(h5_writer *writer, carom_status status, carom_error *error) {
  if (status == CAROM_OK) status = write_image(writer, error);
  if (status == CAROM_OK) {
    status = atomic_file_commit(&writer->output, error);
  } else {
    atomic_file_discard(&writer->output);
  }
  const h5_session session = h5_session_begin();
  H5Fclose(writer->file);
  h5_session_end(session);
  free(writer);
  return status;
}
