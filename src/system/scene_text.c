/* Text for messages about a scene: where a node stands, and what a misspelt word may have been. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "system/scene_field.h"

// the text has been parsed before, so what follows may trust that it is well-formed JSON

static const char *skip_space(const char *p, const char *end) {
  while (p < end && strchr(" \t\r\n", *p) != NULL) p++;
  return p;
}

static const char *skip_string(const char *p, const char *end) {
  for (p++; p < end && *p != '"'; p++) {
    if (*p == '\\') p++;
  }
  return p < end ? p + 1 : end;
}

static const char *skip_value(const char *p, const char *end) {
  int depth = 0;
  do {
    if (*p == '"') {
      p = skip_string(p, end);
      continue;
    }
    if (*p == '{' || *p == '[') depth++;
    if (*p == '}' || *p == ']') depth--;
    p++;
  } while (p < end && (depth > 0 || strchr(",]} \t\r\n", *p) == NULL));
  return p;
}

// goes from the value before to the next element or member; NULL at the end of the container
static const char *next_item(const char *p, const char *end) {
  p = skip_space(p, end);
  return p < end && *p == ',' ? skip_space(p + 1, end) : NULL;
}

static const char *find_element(const char *array, const char *end, int index) {
  const char *p = skip_space(array + 1, end);
  for (int i = 0; p != NULL && p < end && *p != ']'; i++) {
    if (i == index) return p;
    p = next_item(skip_value(p, end), end);
  }
  return NULL;
}

static const char *find_member(const char *object, const char *end, const char *key) {
  size_t length = strlen(key);
  const char *p = skip_space(object + 1, end);
  while (p != NULL && p < end && *p == '"') {
    const char *name_end = skip_string(p, end);
    bool found = (size_t)(name_end - p) == length + 2 && memcmp(p + 1, key, length) == 0;
    if (found) return p;
    const char *value = skip_space(skip_space(name_end, end) + 1, end); // past the colon
    if (value >= end) return NULL;
    p = next_item(skip_value(value, end), end);
  }
  return NULL;
}

// where a node begins (a member: its name); the nearest ancestor that can be found otherwise
static const char *find_node(const scene_node *node) {
  const char *text = node->reader->text;
  const char *end = text + node->reader->length;
  if (node->parent == NULL) return skip_space(text, end);
  const char *parent = find_node(node->parent);
  const char *value = parent;

  // a member was found by its name: go on to its value
  if (node->parent->key != NULL && value < end && *value == '"')
    value = skip_space(skip_space(skip_string(value, end), end) + 1, end);
  if (value >= end) return parent;
  const char *found = NULL;
  if (node->key != NULL && *value == '{') found = find_member(value, end, node->key);
  if (node->key == NULL && *value == '[') found = find_element(value, end, node->index);
  return found != NULL ? found : parent;
}

int scene_line(const scene_node *node) {
  const char *place = find_node(node);
  int line = 1;
  for (const char *p = node->reader->text; p < place; p++) line += *p == '\n';
  return line;
}

const char *scene_value_text(const scene_node *node, size_t *length) {
  const char *begin = find_node(node), *end = node->reader->text + node->reader->length;
  if (node->key != NULL) begin = skip_space(skip_space(skip_string(begin, end), end) + 1, end);
  *length = (size_t)(skip_value(begin, end) - begin);
  return begin;
}

// writes "bodies[2].mass" and returns the length
static size_t write_path(const scene_node *node, char *buffer, size_t size) {
  if (node->parent == NULL) {
    buffer[0] = '\0';
    return 0;
  }
  size_t used = write_path(node->parent, buffer, size);
  if (node->key != NULL) {
    scene_quoted key = scene_quote(node->key);
    snprintf(buffer + used, size - used, "%s%s", used > 0 ? "." : "", key.text);
  } else {
    snprintf(buffer + used, size - used, "[%d]", node->index);
  }
  return used + strlen(buffer + used);
}

void scene_fail(const scene_node *node, const char *format, ...) {
  scene_reader *reader = node->reader;
  if (reader->status != CAROM_OK) return;
  char message[640];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  char path[256];
  size_t length = write_path(node, path, sizeof path);
  const carom_status failure = reader->failure != CAROM_OK ? reader->failure : CAROM_INVALID_SCENE;
  reader->status = error_set(reader->error, failure, "%.200s:%d: %s%s%s", reader->origin,
                             scene_line(node), path, length > 0 ? ": " : "", message);
}

scene_quoted scene_quote(const char *text) {
  enum { LONGEST = 40 };
  scene_quoted quoted;
  int used = 0;
  for (; text[used] != '\0' && used < LONGEST; used++) {
    unsigned char letter = (unsigned char)text[used];
    quoted.text[used] = letter < 0x20 || letter == 0x7f ? '?' : (char)letter;
  }
  // do not cut a UTF-8 sequence in two
  bool cut = text[used] != '\0';
  while (cut && used > 0 && ((unsigned char)text[used] & 0xc0) == 0x80) used--;
  snprintf(quoted.text + used, sizeof quoted.text - (size_t)used, "%s", cut ? "..." : "");
  return quoted;
}
