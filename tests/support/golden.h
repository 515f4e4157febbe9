/* Reading the golden files (JSON) of tests/data/golden. */
#ifndef CAROM_TESTS_GOLDEN_H
#define CAROM_TESTS_GOLDEN_H

#include <jansson.h>

/* Loads tests/data/golden/<name>; ends the test program with a message if it cannot. */
json_t *golden_load(const char *name);

/* All numbers of a (nested) array in order, `*count` of them; booleans are 0 and 1. The caller
 * frees. NULL with count 0 where `value` is absent or null. */
double *golden_numbers(const json_t *value, int *count);

/* A member by a path of names separated by '/', e.g. "fd/mus/agrees". */
json_t *golden_get(const json_t *object, const char *path);
double golden_number(const json_t *object, const char *path);

#endif
