/* How functions tell what went wrong: a carom_status, and a carom_error with the message. */
#ifndef CAROM_PUBLIC_STATUS_H
#define CAROM_PUBLIC_STATUS_H

#include "version.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum carom_status {
  CAROM_OK = 0,
  CAROM_INVALID_ARGUMENT, /* a call with a wrong size, NULL, or a value out of range */
  CAROM_INVALID_SCENE,    /* a scene that is not well-formed or not a possible system */
  CAROM_INVALID_DATA,     /* a data file of the wrong shape, with NaN, with a part missing */
  CAROM_FILE_ERROR,       /* a file that cannot be opened, read or written */
  CAROM_OUT_OF_MEMORY,
  CAROM_NUMERICAL_FAILURE, /* a state that became non-finite, a constraint matrix that is singular */
  CAROM_INTERRUPTED,       /* the progress callback asked to stop */
  CAROM_INVALID_PLAN       /* a plan that is not well-formed or asks for what the scene has not */
} carom_status;

typedef struct carom_error {
  carom_status status;
  char message[1024];
} carom_error;

/* A status in a word or two: "invalid argument", "out of memory". */
CAROM_API const char *carom_status_text(carom_status status);

/* For programs that report errors of their own as the library does. Fills `error` (may be NULL) and
 * returns `status`. */
CAROM_API carom_status carom_error_set(carom_error *error, carom_status status, const char *format,
                                       ...) CAROM_FORMAT(3, 4);

/* The one of `names` (ended by NULL) that `text` may be a misspelling of, or NULL: for "did you mean". */
CAROM_API const char *carom_name_nearest(const char *text, const char *const *names);

#ifdef __cplusplus
}
#endif
#endif
