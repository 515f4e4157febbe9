#include "io/cone_file.h"

#include "base/error.h"
#include "base/size.h"
#include "io/atomic_file.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_VERSION = 1, MAX_UNKNOWNS = 20000 };

/* ---- writing ---- */

static void put_number(FILE *out, double value) {
  if (isfinite(value)) {
    fprintf(out, "%.17g", value);
  } else {
    fputs(isnan(value) ? "\"nan\"" : value > 0.0 ? "\"inf\"" : "\"-inf\"", out);
  }
}

static void put_array(FILE *out, const double *values, int count) {
  fputc('[', out);
  for (int k = 0; k < count; k++) {
    if (k > 0) fputs(", ", out);
    put_number(out, values != NULL ? values[k] : 0.0);
  }
  fputc(']', out);
}

static void put_program(FILE *out, const carom_cone_program *p) {
  int size = p->contact_count * p->dimension;
  fprintf(out, "{\n  \"carom_cone_program\": %d,\n", FORMAT_VERSION);
  fprintf(out, "  \"contact_count\": %d,\n  \"dimension\": %d,\n", p->contact_count, p->dimension);
  fputs("  \"A\": [", out);
  for (int row = 0; row < size; row++) {
    fputs(row > 0 ? ",\n    " : "\n    ", out);
    put_array(out, p->A + (size_t)row * (size_t)size, size);
  }
  fputs("],\n  \"b\": ", out);
  put_array(out, p->b, size);
  fputs(",\n  \"mu\": ", out);
  put_array(out, p->mu, p->contact_count);
  fputs(",\n  \"lower\": ", out);
  put_array(out, p->lower, p->contact_count);
  fputs("\n}\n", out);
}

static carom_status check_program(const carom_cone_program *p, const char *path,
                                  carom_error *error) {
  const bool possible = p->dimension >= 1 && p->dimension <= 3 && p->contact_count >= 0 &&
                        p->contact_count <= MAX_UNKNOWNS / p->dimension;
  if (!possible)
    return error_set(
        error, CAROM_INVALID_ARGUMENT,
        "%s: contact_count is %d and dimension is %d; expected 1 to 3 dimensions and at "
        "most %d unknowns",
        path, p->contact_count, p->dimension, MAX_UNKNOWNS);
  if (p->contact_count == 0 || (p->A != NULL && p->b != NULL && p->mu != NULL)) return CAROM_OK;
  return error_set(error, CAROM_INVALID_ARGUMENT, "%s: A, b or mu of the program is NULL", path);
}

carom_status carom_cone_program_write(const carom_cone_program *program, const char *path,
                                      carom_error *error) {
  REQUIRE(program, error);
  REQUIRE(path, error);
  carom_status status = check_program(program, path, error);
  if (status != CAROM_OK) return status;
  // the text is made in memory, so that a full disk shows in one place
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (out == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  put_program(out, program);
  bool complete = ferror(out) == 0;
  complete = fclose(out) == 0 && complete;
  atomic_file file;
  status = complete ? atomic_file_open(path, &file, error)
                    : error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  if (status == CAROM_OK) {
    status = atomic_file_write(&file, text, length, error);
    if (status == CAROM_OK) {
      status = atomic_file_commit(&file, error);
    } else {
      atomic_file_discard(&file);
    }
  }
  free(text);
  return status;
}

/* ---- reading ---- */

// a number, or the text of one that is not finite
static bool take_number(const json_t *value, double *number) {
  if (json_is_number(value)) {
    *number = json_number_value(value);
    return true;
  }
  const char *text = json_string_value(value);
  if (text == NULL) return false;
  if (strcmp(text, "nan") == 0) {
    *number = NAN;
  } else if (strcmp(text, "inf") == 0) {
    *number = INFINITY;
  } else if (strcmp(text, "-inf") == 0) {
    *number = -INFINITY;
  } else {
    return false;
  }
  return true;
}

static carom_status take_array(const char *path, const char *name, const json_t *array, int count,
                               double *values, carom_error *error) {
  if (!json_is_array(array)) {
    return error_set(error, CAROM_INVALID_DATA, "%s: %s %s, expected an array of %d numbers", path,
                     name, array == NULL ? "is missing" : "is not an array", count);
  }
  if (json_array_size(array) != (size_t)count) {
    return error_set(error, CAROM_INVALID_DATA, "%s: %s has %zu entries, expected %d", path, name,
                     json_array_size(array), count);
  }
  for (int k = 0; k < count; k++) {
    if (!take_number(json_array_get(array, (size_t)k), &values[k])) {
      return error_set(error, CAROM_INVALID_DATA, "%s: %s[%d] is not a number", path, name, k);
    }
  }
  return CAROM_OK;
}

static carom_status take_integer(const char *path, const json_t *root, const char *name, int low,
                                 int high, int *value, carom_error *error) {
  const json_t *found = json_object_get(root, name);
  json_int_t integer = json_integer_value(found);
  if (!json_is_integer(found) || integer < low || integer > high) {
    return error_set(error, CAROM_INVALID_DATA, "%s: %s %s, expected an integer from %d to %d",
                     path, name, found == NULL ? "is missing" : "is out of range or not an integer",
                     low, high);
  }
  *value = (int)integer;
  return CAROM_OK;
}

static carom_status take_matrix(const char *path, const json_t *rows, int size, double *A,
                                carom_error *error) {
  if (!json_is_array(rows) || json_array_size(rows) != (size_t)size) {
    return error_set(error, CAROM_INVALID_DATA, "%s: A %s, expected an array of %d rows", path,
                     rows == NULL ? "is missing" : "has the wrong number of rows", size);
  }
  carom_status status = CAROM_OK;
  for (int row = 0; status == CAROM_OK && row < size; row++) {
    char name[32];
    snprintf(name, sizeof name, "A[%d]", row);
    status = take_array(path, name, json_array_get(rows, (size_t)row), size,
                        A + (size_t)row * (size_t)size, error);
  }
  return status;
}

static carom_status check_signs(const char *path, const char *name, const double *values, int count,
                                carom_error *error) {
  for (int k = 0; k < count; k++) {
    if (values[k] < 0.0) {
      return error_set(error, CAROM_INVALID_DATA, "%s: %s[%d] is %g, expected >= 0", path, name, k,
                       values[k]);
    }
  }
  return CAROM_OK;
}

// fills arrays that have been allocated for the sizes in `p`
static carom_status take_arrays(const char *path, const json_t *root, const carom_cone_program *p,
                                double *A, double *b, double *mu, double *lower,
                                carom_error *error) {
  int count = p->contact_count, size = count * p->dimension;
  carom_status status = take_matrix(path, json_object_get(root, "A"), size, A, error);
  if (status == CAROM_OK) {
    status = take_array(path, "b", json_object_get(root, "b"), size, b, error);
  }
  if (status == CAROM_OK) {
    status = take_array(path, "mu", json_object_get(root, "mu"), count, mu, error);
  }
  const json_t *bounds = json_object_get(root, "lower");
  if (status == CAROM_OK && bounds != NULL) {
    status = take_array(path, "lower", bounds, count, lower, error);
  }
  if (status == CAROM_OK) status = check_signs(path, "mu", mu, count, error);
  if (status == CAROM_OK) status = check_signs(path, "lower", lower, count, error);
  return status;
}

static carom_status take_program(const char *path, const json_t *root, carom_cone_program *p,
                                 carom_error *error) {
  int version;
  carom_status status = take_integer(path, root, "carom_cone_program", FORMAT_VERSION,
                                     FORMAT_VERSION, &version, error);
  if (status == CAROM_OK) {
    status = take_integer(path, root, "dimension", 1, 3, &p->dimension, error);
  }
  if (status == CAROM_OK) {
    status = take_integer(path, root, "contact_count", 0, MAX_UNKNOWNS / p->dimension,
                          &p->contact_count, error);
  }
  if (status != CAROM_OK) return status;
  size_t count = (size_t)p->contact_count, size = count * (size_t)p->dimension;
  double *A = size_allocate_zero(size * size, sizeof(double));
  double *b = size_allocate_zero(size, sizeof(double));
  double *mu = size_allocate_zero(count, sizeof(double));
  double *lower = size_allocate_zero(count, sizeof(double));
  p->A = A, p->b = b, p->mu = mu, p->lower = lower;
  if (A == NULL || b == NULL || mu == NULL || lower == NULL) {
    return error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  }
  return take_arrays(path, root, p, A, b, mu, lower, error);
}

carom_status carom_cone_program_read(const char *path, carom_cone_program *program,
                                     carom_error *error) {
  if (program != NULL) *program = (carom_cone_program){0};
  REQUIRE(path, error);
  REQUIRE(program, error);
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    return error_set(error, CAROM_FILE_ERROR, "%s: cannot be read: %s", path, strerror(errno));
  }
  json_error_t where;
  json_t *root = json_loadf(file, JSON_REJECT_DUPLICATES, &where);
  fclose(file);
  if (root == NULL) {
    return error_set(error, CAROM_INVALID_DATA, "%s:%d: not a JSON file: %s", path, where.line,
                     where.text);
  }
  carom_status status = take_program(path, root, program, error);
  json_decref(root);
  if (status != CAROM_OK) carom_cone_program_free(program);
  return status;
}

void carom_cone_program_free(carom_cone_program *program) {
  if (program == NULL) return;
  free((void *)program->A);
  free((void *)program->b);
  free((void *)program->mu);
  free((void *)program->lower);
  *program = (carom_cone_program){0};
}
