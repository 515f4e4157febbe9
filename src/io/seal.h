/* The seal of carom's HDF5 files: a checksum over everything that follows, in the 512 bytes in front
 * of the HDF5 data that the format leaves to the application (the "user block"; every HDF5 reader
 * skips it). The block is one line of text, repeated as often as it fits, then line feeds:
 *
 *   carom checksum 1 XXH64 44bc2cf5ad770999 of 53248 bytes
 *
 * Repeated, so that damage to the block is not taken for a file that never had one. Only a block that
 * is what seal_make makes of the bytes behind it is good. */
#ifndef CAROM_IO_SEAL_H
#define CAROM_IO_SEAL_H

#include <stdbool.h>
#include <stddef.h>

enum { SEAL_SIZE = 512 };

/* The block for the `size` bytes that stand behind it. */
void seal_make(const void *bytes, size_t size, char block[SEAL_SIZE]);

/* Whether a file that begins with these bytes has a seal, good or damaged. */
bool seal_is_there(const void *begin, size_t size);

/* Whether the seal of a whole file is good. */
bool seal_is_good(const void *file, size_t size);

#endif
