/* Bytes in memory as an HDF5 file. */
#ifndef CAROM_IO_H5_IMAGE_H
#define CAROM_IO_H5_IMAGE_H

#include <hdf5.h>
#include <stddef.h>

/* Opens them for reading, or gives a negative number. They are not copied and must stay where they
 * are until the file is closed. To be called in a session (h5_session.h). */
hid_t h5_image_open(void *bytes, size_t size);

#endif
