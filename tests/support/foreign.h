/* Files as other programs write them, with HDF5 itself. */
#ifndef CAROM_TESTS_FOREIGN_H
#define CAROM_TESTS_FOREIGN_H

#include <hdf5.h>

void add_dataset(hid_t file, const char *name, int rank, const hsize_t *shape, hid_t type,
                 const void *values);

/* An attribute of the file: a single value, or a list. */
void add_attribute(hid_t file, const char *name, hid_t type, hsize_t count, const void *values);

#endif
