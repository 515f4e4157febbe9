/* A scene by the name of a built-in one or by the path of a file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "carom.h"

enum { MAX_FILE = (64 << 20) + 1, FIRST_SIZE = 1 << 14 };

static const char *find_builtin(const char *name) {
  for (int i = 0; i < carom_scene_count(); i++) {
    if (strcmp(carom_scene_name(i), name) == 0) return carom_scene_text(i);
  }
  return NULL;
}

static void list_builtin(char *buffer, size_t size) {
  size_t used = 0;
  buffer[0] = '\0';
  for (int i = 0; i < carom_scene_count() && used + 1 < size; i++) {
    snprintf(buffer + used, size - used, "%s%s", i > 0 ? ", " : "", carom_scene_name(i));
    used += strlen(buffer + used);
  }
}

// reads up to MAX_FILE bytes, which is more than a scene may have; NULL with errno set on failure
static char *read_stream(FILE *file, size_t *length) {
  size_t capacity = FIRST_SIZE;
  char *text = malloc(capacity);
  *length = 0;
  while (text != NULL) {
    *length += fread(text + *length, 1, capacity - *length, file);
    if (ferror(file)) {
      int cause = errno;
      free(text);
      errno = cause;
      return NULL;
    }
    if (*length < capacity || *length >= MAX_FILE) break;
    capacity = capacity * 2 < MAX_FILE ? capacity * 2 : MAX_FILE;
    char *larger = realloc(text, capacity);
    if (larger == NULL) free(text);
    text = larger;
  }
  return text;
}

static carom_status fail_to_open(const char *path, int cause, carom_error *error) {
  char names[512];
  list_builtin(names, sizeof names);
  if (cause == ENOENT)
    return error_set(error, CAROM_FILE_ERROR,
                     "'%.200s' is neither a scene file nor a built-in scene (%s)", path, names);
  return error_set(error, cause == ENOMEM ? CAROM_OUT_OF_MEMORY : CAROM_FILE_ERROR,
                   "cannot read '%.200s': %s", path, strerror(cause));
}

carom_status carom_system_load(const char *name_or_path, carom_system **system,
                               carom_error *error) {
  if (system != NULL) *system = NULL;
  REQUIRE(name_or_path, error);
  REQUIRE(system, error);
  const char *builtin = find_builtin(name_or_path);
  if (builtin != NULL)
    return carom_system_parse(builtin, strlen(builtin), name_or_path, system, error);
  FILE *file = fopen(name_or_path, "rb");
  if (file == NULL) return fail_to_open(name_or_path, errno, error);
  size_t length;
  char *text = read_stream(file, &length);
  int cause = errno;
  fclose(file);
  if (text == NULL) return fail_to_open(name_or_path, cause, error);
  carom_status status = carom_system_parse(text, length, name_or_path, system, error);
  free(text);
  return status;
}
