#include "support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *golden_load(const char *name) {
  char path[1024];
  snprintf(path, sizeof path, "%s/golden/%s", CAROM_TEST_DATA, name);
  json_error_t error;
  json_t *root = json_load_file(path, 0, &error);
  if (root == NULL) {
    fprintf(stderr, "%s:%d: %s\n", path, error.line, error.text);
    exit(1);
  }
  return root;
}

static int count_numbers(const json_t *value) {
  if (!json_is_array(value)) return 1;
  int total = 0;
  for (size_t i = 0; i < json_array_size(value); i++)
    total += count_numbers(json_array_get(value, i));
  return total;
}

static double *copy_numbers(const json_t *value, double *out) {
  if (!json_is_array(value)) {
    *out = json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
    return out + 1;
  }
  for (size_t i = 0; i < json_array_size(value); i++)
    out = copy_numbers(json_array_get(value, i), out);
  return out;
}

double *golden_numbers(const json_t *value, int *count) {
  *count = 0;
  if (value == NULL || json_is_null(value)) return NULL;
  *count = count_numbers(value);
  double *numbers = malloc(sizeof(double) * (size_t)(*count + 1));
  if (numbers == NULL) exit(1);
  copy_numbers(value, numbers);
  return numbers;
}

json_t *golden_get(const json_t *object, const char *path) {
  char copy[256];
  snprintf(copy, sizeof copy, "%s", path);
  char *rest = NULL;
  for (char *name = strtok_r(copy, "/", &rest); name != NULL; name = strtok_r(NULL, "/", &rest))
    object = json_object_get(object, name);
  return (json_t *)object;
}

double golden_number(const json_t *object, const char *path) {
  return json_number_value(golden_get(object, path));
}
