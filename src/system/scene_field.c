#include "system/scene_field.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/words.h"

enum { LONGEST_ID = 64 };

// beyond these, squares and reciprocals of a scene's numbers would overflow sooner or later
static const double LARGEST = 1e15;
static const double SMALLEST_POSITIVE = 1e-15;

scene_node scene_member(const scene_node *object, const char *key) {
  return (scene_node){.reader = object->reader,
                      .parent = object,
                      .key = key,
                      .index = 0,
                      .value = json_object_get(object->value, key)};
}

scene_node scene_element(const scene_node *array, int index) {
  return (scene_node){.reader = array->reader,
                      .parent = array,
                      .key = NULL,
                      .index = index,
                      .value = json_array_get(array->value, (size_t)index)};
}

int scene_size(const scene_node *array) { return (int)json_array_size(array->value); }

static const char *type_name(const json_t *value) {
  switch (json_typeof(value)) {
    case JSON_OBJECT: return "an object";
    case JSON_ARRAY: return "an array";
    case JSON_STRING: return "a string";
    case JSON_INTEGER:
    case JSON_REAL: return "a number";
    case JSON_TRUE:
    case JSON_FALSE: return "true or false";
    case JSON_NULL: break;
  }
  return "null";
}

static void fail_type(const scene_node *node, const char *expected) {
  if (node->value == NULL)
    scene_fail(node, "missing; %s is required", expected);
  else
    scene_fail(node, "expected %s, found %s", expected, type_name(node->value));
}

static bool listed(const char *text, const char *const *choices) {
  for (int i = 0; choices[i] != NULL; i++) {
    if (strcmp(text, choices[i]) == 0) return true;
  }
  return false;
}

// "a, b, c" for a message
static void join(const char *const *choices, char *buffer, size_t size) {
  size_t used = 0;
  buffer[0] = '\0';
  for (int i = 0; choices[i] != NULL && used + 1 < size; i++) {
    snprintf(buffer + used, size - used, "%s%s", i > 0 ? ", " : "", choices[i]);
    used += strlen(buffer + used);
  }
}

void scene_check_object(const scene_node *node, const char *const *known) {
  if (!json_is_object(node->value)) {
    fail_type(node, "an object");
    return;
  }
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)node->value, key, value) {
    if (listed(key, known)) continue;
    scene_node member = scene_member(node, key);
    const char *nearest = carom_name_nearest(key, known);
    char list[320];
    join(known, list, sizeof list);
    if (nearest != NULL)
      scene_fail(&member, "unknown field; did you mean '%s'?", nearest);
    else
      scene_fail(&member, "unknown field; the fields here are %s", list);
    return;
  }
}

scene_node scene_array(const scene_node *object, const char *key, bool required) {
  scene_node node = scene_member(object, key);
  if (node.value == NULL && !required) return node;
  if (!json_is_array(node.value)) fail_type(&node, "an array");
  return node;
}

static double read_number(const scene_node *node) {
  if (!json_is_number(node->value)) {
    fail_type(node, "a number");
    return 1;
  }
  double number = json_number_value(node->value);
  if (!(fabs(number) <= LARGEST)) {
    scene_fail(node, "%g is too large; numbers must stay within %g", number, LARGEST);
    return 1;
  }
  return number;
}

double scene_number(const scene_node *object, const char *key) {
  scene_node node = scene_member(object, key);
  return read_number(&node);
}

double scene_number_or(const scene_node *object, const char *key, double otherwise) {
  scene_node node = scene_member(object, key);
  return node.value != NULL ? read_number(&node) : otherwise;
}

double scene_positive(const scene_node *object, const char *key) {
  scene_node node = scene_member(object, key);
  double number = read_number(&node);
  if (number >= SMALLEST_POSITIVE) return number;
  if (number > 0)
    scene_fail(&node, "%g is too small; it must be at least %g", number, SMALLEST_POSITIVE);
  else
    scene_fail(&node, "must be above 0, is %g", number);
  return 1;
}

double scene_not_negative(const scene_node *object, const char *key, double otherwise) {
  scene_node node = scene_member(object, key);
  if (node.value == NULL) return otherwise;
  double number = read_number(&node);
  if (number >= 0) return number;
  scene_fail(&node, "must not be negative, is %g", number);
  return otherwise;
}

int scene_integer(const scene_node *object, const char *key, int least, int most) {
  scene_node node = scene_member(object, key);
  double number = read_number(&node);
  if (number >= least && number <= most && number == floor(number)) return (int)number;
  scene_fail(&node, "must be a whole number from %d to %d, is %g", least, most, number);
  return least;
}

bool scene_flag(const scene_node *object, const char *key, bool otherwise) {
  scene_node node = scene_member(object, key);
  if (node.value == NULL) return otherwise;
  if (!json_is_boolean(node.value)) fail_type(&node, "true or false");
  return json_is_true(node.value);
}

static const char *read_string(const scene_node *node) {
  if (!json_is_string(node->value)) {
    fail_type(node, "a string");
    return "";
  }
  return json_string_value(node->value);
}

const char *scene_string(const scene_node *object, const char *key) {
  scene_node node = scene_member(object, key);
  return read_string(&node);
}

int scene_choice(const scene_node *object, const char *key, const char *const *choices,
                 bool required) {
  scene_node node = scene_member(object, key);
  if (node.value == NULL && !required) return 0;
  const char *text = read_string(&node);
  for (int i = 0; choices[i] != NULL; i++) {
    if (strcmp(text, choices[i]) == 0) return i;
  }
  char list[160];
  join(choices, list, sizeof list);
  scene_fail(&node, "'%s' is not one of %s", scene_quote(text).text, list);
  return 0;
}

void scene_read_vector(const scene_node *node, int count, double *vector) {
  for (int k = 0; k < count; k++) vector[k] = 0;
  if (!json_is_array(node->value)) {
    char expected[48];
    snprintf(expected, sizeof expected, "an array of %d numbers", count);
    fail_type(node, expected);
    return;
  }
  if (json_array_size(node->value) != (size_t)count) {
    scene_fail(node, "expected %d numbers, found %zu", count, json_array_size(node->value));
    return;
  }
  for (int k = 0; k < count; k++) {
    scene_node element = scene_element(node, k);
    vector[k] = read_number(&element);
  }
}

void scene_vector(const scene_node *object, const char *key, int count, double *vector) {
  scene_node node = scene_member(object, key);
  scene_read_vector(&node, count, vector);
}

void scene_vector_or_zero(const scene_node *object, const char *key, int count, double *vector) {
  for (int k = 0; k < count; k++) vector[k] = 0;
  if (json_object_get(object->value, key) != NULL) scene_vector(object, key, count, vector);
}

void scene_range(const scene_node *object, const char *key, double *low, double *high) {
  scene_node node = scene_member(object, key);
  double range[2];
  scene_read_vector(&node, 2, range);
  if (range[0] > range[1])
    scene_fail(&node, "the low end %g is above the high end %g", range[0], range[1]);
  *low = range[0];
  *high = range[1];
}

char *scene_copy(scene_reader *reader, const char *text) {
  size_t size = strlen(text) + 1;
  return memcpy(arena_bytes(&reader->system->memory, size), text, size);
}

char *scene_format(scene_reader *reader, const char *format, ...) {
  char buffer[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return scene_copy(reader, buffer);
}

static bool is_id_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
         (letter >= '0' && letter <= '9') || letter == '_' || letter == '-' || letter == '.';
}

char *scene_id(const scene_node *object) {
  scene_node node = scene_member(object, "id");
  const char *text = read_string(&node);
  size_t length = strlen(text);
  bool valid = length > 0 && length <= LONGEST_ID;
  for (size_t i = 0; valid && i < length; i++) valid = is_id_letter(text[i]);
  if (!valid) {
    scene_fail(&node, "'%s' is not an id: 1 to %d letters, digits, '_', '-' or '.'",
               scene_quote(text).text, LONGEST_ID);
    return scene_copy(object->reader, "");
  }
  return scene_copy(object->reader, text);
}

static const char *const kind_names[] = {"body", "chain", "plane", "limit", "control"};

void scene_name(const scene_node *node, const char *id, name_kind kind, int index) {
  if (scene_failed(node)) return;
  json_t *names = node->reader->names;
  const json_t *taken = json_object_get(names, id);
  if (taken != NULL) {
    scene_fail(node, "id '%s' is already taken by a %s; every id must differ", id,
               kind_names[json_integer_value(taken) % NAME_KIND_COUNT]);
    return;
  }
  json_int_t entry = (json_int_t)kind + NAME_KIND_COUNT * (json_int_t)index;
  if (json_object_set_new(names, id, json_integer(entry)) != 0)
    node->reader->status =
        error_set(node->reader->error, CAROM_OUT_OF_MEMORY, "out of memory for the scene's ids");
}

// the name of a kind that is nearest to a misspelt one
static const char *nearest_name(const scene_reader *reader, const char *text, name_kind kind) {
  const char *nearest = NULL, *key;
  int least = 3;
  json_t *value;
  json_object_foreach(reader->names, key, value) {
    int distance = 0;
    if (json_integer_value(value) % NAME_KIND_COUNT != (json_int_t)kind) continue;
    if (!words_resemble(text, key, &distance) || distance >= least) continue;
    least = distance;
    nearest = key;
  }
  return nearest;
}

int scene_lookup(const scene_node *node, name_kind kind) {
  const char *text = read_string(node);
  if (scene_failed(node)) return -1;
  const json_t *found = json_object_get(node->reader->names, text);
  json_int_t entry = found != NULL ? json_integer_value(found) : -1;
  if (found != NULL && entry % NAME_KIND_COUNT == (json_int_t)kind)
    return (int)(entry / NAME_KIND_COUNT);

  // say what it may have been
  const char *nearest = nearest_name(node->reader, text, kind);
  if (found != NULL)
    scene_fail(node, "'%s' is a %s; the id of a %s is needed", text,
               kind_names[entry % NAME_KIND_COUNT], kind_names[kind]);
  else if (nearest != NULL)
    scene_fail(node, "there is no %s '%s'; did you mean '%s'?", kind_names[kind],
               scene_quote(text).text, nearest);
  else
    scene_fail(node, "there is no %s '%s'", kind_names[kind], scene_quote(text).text);
  return -1;
}
