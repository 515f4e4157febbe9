/* Errors: filling the caller's carom_error. The library's functions end with
 *   return error_set(error, CAROM_INVALID_DATA, "%s: ...", path);
 * A message says what is wrong, where, and what to do. */
#ifndef CAROM_BASE_ERROR_H
#define CAROM_BASE_ERROR_H

#include "carom.h"

/* The public function by the name that the sources use. */
#define error_set carom_error_set

/* Puts "context: " in front of the message that is there and returns its status. */
carom_status error_prefix(carom_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "carom_system_load: system is NULL": the bad call of a public function, and its status. */
carom_status error_null(carom_error *error, const char *function, const char *argument);

/* Returns that from the public function that was given NULL. What it makes it sets to NULL before. */
#define REQUIRE(pointer, error)                                          \
  do {                                                                   \
    if ((pointer) == NULL) return error_null(error, __func__, #pointer); \
  } while (0)

/* Clears `error` (may be NULL) and returns CAROM_OK. */
carom_status error_clear(carom_error *error);

#endif
