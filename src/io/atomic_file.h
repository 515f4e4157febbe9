/* Writing a file so that a reader sees the old one or the new one, never half of one: the bytes go
 * to a temporary name in the same folder, are forced to the disk, and the name is changed. On any
 * failure (disk full included) the temporary file is removed and the old one is left as it was.
 * A target that is a device or a pipe ("/dev/stdout") is written to directly. */
#ifndef CAROM_IO_ATOMIC_FILE_H
#define CAROM_IO_ATOMIC_FILE_H

#include "carom.h"

typedef struct atomic_file {
  char *target;    /* where the file shall stand, symbolic links resolved */
  char *temporary; /* NULL where the target is written to directly */
  int descriptor;
} atomic_file;

carom_status atomic_file_open(const char *path, atomic_file *file, carom_error *error);
carom_status atomic_file_write(atomic_file *file, const void *bytes, size_t size,
                               carom_error *error);

/* Forces the bytes to the disk and puts the file in its place. Ends the use of `file`. */
carom_status atomic_file_commit(atomic_file *file, carom_error *error);

/* Gives up: removes the temporary file. Ends the use of `file`. */
void atomic_file_discard(atomic_file *file);

#endif
