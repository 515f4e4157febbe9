/* Any file, written as the library writes its own. */
#ifndef CAROM_PUBLIC_FILE_H
#define CAROM_PUBLIC_FILE_H

#include <stddef.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes any bytes the way all files here are written: whole, or not at all. */
CAROM_API carom_status carom_file_write(const char *path, const void *bytes, size_t size,
                                        carom_error *error);
/* Whether a file of this name could be written: to be asked before long work. */
CAROM_API carom_status carom_file_check(const char *path, carom_error *error);

#ifdef __cplusplus
}
#endif
#endif
