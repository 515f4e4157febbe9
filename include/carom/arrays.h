/* Every number in an HDF5 file of carom by its name, whatever kind of file it is: for programs that show
 * files, and for other languages. */
#ifndef CAROM_PUBLIC_ARRAYS_H
#define CAROM_PUBLIC_ARRAYS_H

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A dataset of the file; one number has rank 0. */
typedef struct carom_array {
  char name[96]; /* "x", "train/x" */
  int rank;      /* at most 4 */
  int shape[4];
  double *values;
} carom_array;

/* A root attribute of the file: a text, or a number as text. */
typedef struct carom_note {
  char name[64];
  char *text;
} carom_note;

typedef struct carom_arrays {
  char *scene; /* JSON text of the attribute, NULL if there is none */
  double dt;   /* of the attribute, 0 if there is none */
  int count;
  carom_array *items; /* by name, those of groups behind those of the root */
  int note_count;
  carom_note *notes; /* the other attributes, which carom_arrays_write leaves out */
} carom_arrays;

/* Reads the datasets of numbers of the file and of its groups, one level deep; NaN and infinities as they
 * are. What is no number, or of more than 4 axes, is left out. A damaged file is an error. */
CAROM_API carom_status carom_arrays_read(const char *path, carom_arrays *arrays,
                                         carom_error *error);
/* Writes arrays under their names, with scene and dt where there are. "GROUP/NAME" goes into a group; those of
 * one group stand one behind the other. */
CAROM_API carom_status carom_arrays_write(const carom_arrays *arrays, const char *path,
                                          carom_error *error);
/* NULL: there is none of this name. */
CAROM_API const carom_array *carom_arrays_find(const carom_arrays *arrays, const char *name);
/* The text of an attribute; NULL: there is none of this name. */
CAROM_API const char *carom_arrays_note(const carom_arrays *arrays, const char *name);
CAROM_API void carom_arrays_free(carom_arrays *arrays);

#ifdef __cplusplus
}
#endif
#endif
