#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *carom_status_text(carom_status status) {
  switch (status) {
    case CAROM_OK: return "ok";
    case CAROM_INVALID_ARGUMENT: return "invalid argument";
    case CAROM_INVALID_SCENE: return "invalid scene";
    case CAROM_INVALID_DATA: return "invalid data";
    case CAROM_FILE_ERROR: return "file error";
    case CAROM_OUT_OF_MEMORY: return "out of memory";
    case CAROM_NUMERICAL_FAILURE: return "numerical failure";
    case CAROM_INTERRUPTED: return "interrupted";
    case CAROM_INVALID_PLAN: return "invalid plan";
  }
  return "unknown status";
}

carom_status carom_error_set(carom_error *error, carom_status status, const char *format, ...) {
  REQUIRE(format, error);
  if (error == NULL) return status;
  error->status = status;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error->message, sizeof error->message, format, arguments);
  va_end(arguments);
  return status;
}

carom_status error_prefix(carom_error *error, const char *format, ...) {
  if (error == NULL) return CAROM_INVALID_ARGUMENT;
  char context[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(context, sizeof context, format, arguments);
  va_end(arguments);
  char message[sizeof error->message];
  memcpy(message, error->message, sizeof message);
  snprintf(error->message, sizeof error->message, "%s: %.*s", context,
           (int)(sizeof message - sizeof context - 3), message);
  return error->status;
}

carom_status error_null(carom_error *error, const char *function, const char *argument) {
  return error_set(error, CAROM_INVALID_ARGUMENT, "%s: %s is NULL", function, argument);
}

carom_status error_clear(carom_error *error) {
  if (error != NULL) {
    error->status = CAROM_OK;
    error->message[0] = '\0';
  }
  return CAROM_OK;
}
