#include "io/h5_image.h"

#include <stdio.h>

enum { MEMORY_INCREMENT = 1 << 20 };

/* HDF5 copies an image where it is set, where the property list is copied and where the file is
 * opened. These callbacks give the same bytes each time: nothing is copied, nothing is freed. */

static void *same_bytes(size_t size, H5FD_file_image_op_t operation, void *user) {
  (void)size;
  (void)operation;
  return user;
}

static void *copy_nothing(void *to, const void *from, size_t size, H5FD_file_image_op_t operation,
                          void *user) {
  (void)from;
  (void)size;
  (void)operation;
  (void)user;
  return to;
}

// a file that is only read does not grow
static void *refuse_growth(void *bytes, size_t size, H5FD_file_image_op_t operation, void *user) {
  (void)bytes;
  (void)size;
  (void)operation;
  (void)user;
  return NULL;
}

static herr_t free_nothing(void *bytes, H5FD_file_image_op_t operation, void *user) {
  (void)bytes;
  (void)operation;
  (void)user;
  return 0;
}

static void *same_user(void *user) { return user; }

static herr_t keep_user(void *user) {
  (void)user;
  return 0;
}

hid_t h5_image_open(void *bytes, size_t size) {
  H5FD_file_image_callbacks_t callbacks = {same_bytes, copy_nothing, refuse_growth, free_nothing,
                                           same_user,  keep_user,    bytes};
  // HDF5 knows files in memory by their names: each has its own
  char name[64];
  snprintf(name, sizeof name, "carom-%p.h5", bytes);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  hid_t file = -1;
  if (H5Pset_fapl_core(access, MEMORY_INCREMENT, 0) >= 0 &&
      H5Pset_file_image_callbacks(access, &callbacks) >= 0 &&
      H5Pset_file_image(access, bytes, size) >= 0) {
    file = H5Fopen(name, H5F_ACC_RDONLY, access);
  }
  H5Pclose(access);
  return file;
}
