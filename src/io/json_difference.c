#include "io/json_difference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void describe(const json_t *value, char *text, size_t size) {
  char *dumped = value != NULL
                     ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(15))
                     : NULL;
  if (dumped == NULL) {
    snprintf(text, size, "nothing");
  } else if (strlen(dumped) < size) {
    snprintf(text, size, "%s", dumped);
  } else {
    snprintf(text, size, "%.*s...", (int)size - 4, dumped);
  }
  free(dumped);
}

static bool report(const json_t *a, const json_t *b, const char *path, carom_difference *found) {
  snprintf(found->path, sizeof found->path, "%s", path);
  describe(a, found->first, sizeof found->first);
  describe(b, found->second, sizeof found->second);
  return true;
}

static bool differ_at(const json_t *a, const json_t *b, const char *path, carom_difference *found);

// members of a, and then those that only b has
static bool objects_differ(const json_t *a, const json_t *b, const char *path,
                           carom_difference *found) {
  const char *separator = path[0] != '\0' ? "." : "";
  char inner[sizeof found->path];
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)a, key, value) {
    snprintf(inner, sizeof inner, "%s%s%s", path, separator, key);
    if (differ_at(value, json_object_get(b, key), inner, found)) return true;
  }
  json_object_foreach((json_t *)b, key, value) {
    snprintf(inner, sizeof inner, "%s%s%s", path, separator, key);
    if (json_object_get(a, key) == NULL) return report(NULL, value, inner, found);
  }
  return false;
}

static bool arrays_differ(const json_t *a, const json_t *b, const char *path,
                          carom_difference *found) {
  const size_t a_size = json_array_size(a), b_size = json_array_size(b);
  for (size_t k = 0; k < a_size || k < b_size; k++) {
    char inner[sizeof found->path];
    snprintf(inner, sizeof inner, "%s[%zu]", path, k);
    if (differ_at(json_array_get(a, k), json_array_get(b, k), inner, found)) return true;
  }
  return false;
}

static bool differ_at(const json_t *a, const json_t *b, const char *path, carom_difference *found) {
  if (a == NULL || b == NULL) return report(a, b, path, found);
  if (json_is_object(a) && json_is_object(b)) return objects_differ(a, b, path, found);
  if (json_is_array(a) && json_is_array(b)) return arrays_differ(a, b, path, found);
  const bool same = json_is_number(a) && json_is_number(b)
                        ? json_number_value(a) == json_number_value(b)
                        : json_equal(a, b) != 0;
  return same ? false : report(a, b, path, found);
}

bool json_find_difference(const json_t *first, const json_t *second, carom_difference *found) {
  *found = (carom_difference){0};
  return differ_at(first, second, "", found);
}

// a scene without what has no meaning for a model of it
static json_t *load_scene(const char *text) {
  json_t *scene = json_loads(text, 0, NULL);
  json_object_del(scene, "name");
  json_object_del(scene, "description");
  return scene;
}

bool scene_find_difference(const char *first, const char *second, carom_difference *found) {
  *found = (carom_difference){0};
  if (strcmp(first, second) == 0) return false;
  json_t *a = load_scene(first), *b = load_scene(second);
  const bool differ = json_find_difference(a, b, found);
  json_decref(a);
  json_decref(b);
  return differ;
}

bool carom_system_differs(const carom_system *first, const carom_system *second,
                          carom_difference *found) {
  if (first == NULL || second == NULL) return first != second;
  carom_difference ignored;
  return scene_find_difference(carom_system_describe(first).json,
                               carom_system_describe(second).json,
                               found != NULL ? found : &ignored);
}
