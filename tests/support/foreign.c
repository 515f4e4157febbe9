#include "support/foreign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void add_dataset(hid_t file, const char *name, int rank, const hsize_t *shape, hid_t type,
                 const void *values) {
  hid_t space = H5Screate_simple(rank, shape, NULL);
  hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  H5Dclose(set);
  H5Sclose(space);
}

void add_attribute(hid_t file, const char *name, hid_t type, hsize_t count, const void *values) {
  hid_t space = count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &count, NULL);
  hid_t attribute = H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
  assert_true(H5Awrite(attribute, type, values) >= 0);
  H5Aclose(attribute);
  H5Sclose(space);
}
