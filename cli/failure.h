/* Errors that the program itself finds, told as the library tells its own: a function ends with
 *   return fail(error, CAROM_INVALID_DATA, "%s: ...", path);
 * A message says what is wrong, where, and what to do. */
#ifndef CAROM_CLI_FAILURE_H
#define CAROM_CLI_FAILURE_H

#include "carom.h"

/* Fills `error` (may be NULL) and returns `status`. */
carom_status fail(carom_error *error, carom_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "where: " in front of the message that is there and returns its status. */
carom_status fail_at(carom_error *error, const char *where);

#endif
