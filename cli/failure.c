#include "cli/failure.h"

#include <stdarg.h>
#include <stdio.h>

carom_status fail(carom_error *error, carom_status status, const char *format, ...) {
  if (error == NULL) return status;
  error->status = status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  return status;
}

carom_status fail_at(carom_error *error, const char *where) {
  if (error == NULL) return CAROM_INVALID_ARGUMENT;
  const carom_error found = *error;
  snprintf(error->message, sizeof error->message, "%.400s: %.600s", where, found.message);
  return found.status;
}
