#include "support/header_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/files.h"

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// the last word of text [begin, end)
static void last_word(const char *begin, const char *end, char *word, size_t size) {
  while (end > begin && !is_word(end[-1])) end--;
  const char *start = end;
  while (start > begin && is_word(start[-1])) start--;
  assert_true((size_t)(end - start) < size);
  snprintf(word, size, "%.*s", (int)(end - start), start);
}

static bool contains(const char *begin, const char *end, const char *piece) {
  const char *at = strstr(begin, piece);
  return at != NULL && at + strlen(piece) <= end;
}

static argument read_argument(const char *begin, const char *end) {
  argument a = {.kind = OTHER};
  while (begin < end && (*begin == ' ' || *begin == '\n')) begin++;
  last_word(begin, end, a.name, sizeof a.name);
  const char *name = end - strlen(a.name);
  while (name > begin && strncmp(name, a.name, strlen(a.name)) != 0) name--;
  last_word(begin, name, a.type, sizeof a.type);
  if (contains(begin, end, "**"))
    a.kind = OUT_POINTER;
  else if (contains(begin, end, "*") || contains(begin, end, "_callback "))
    a.kind = POINTER;
  else if (strncmp(begin, "int ", 4) == 0)
    a.kind = INTEGER;
  else if (strncmp(begin, "double ", 7) == 0)
    a.kind = NUMBER;
  else if (strncmp(begin, "carom_", 6) == 0)
    a.kind = ENUMERATION;
  return a;
}

static void read_function(function_list *list, const char *begin, const char *end) {
  assert_true(list->count < MOST_FUNCTIONS);
  function *f = &list->functions[list->count++];
  const char *open = strchr(begin, '('), *close = strchr(open, ')');
  assert_true(close < end);
  last_word(begin, open, f->name, sizeof f->name);
  f->returns_status = strncmp(begin, "carom_status ", 13) == 0;
  for (const char *at = open + 1; at < close;) {
    const char *comma = memchr(at, ',', (size_t)(close - at));
    const char *stop = comma != NULL ? comma : close;
    assert_true(f->count < MOST_ARGUMENTS);
    f->arguments[f->count] = read_argument(at, stop);
    if (strcmp(f->arguments[f->count].name, "void") != 0) f->count++;
    at = stop + 1;
  }
}

// the functions of include/`name`
static void read_header(function_list *list, const char *name) {
  char path[512];
  size_t size;
  snprintf(path, sizeof path, "%s/include/%s", CAROM_SOURCE_DIR, name);
  char *text = read_bytes(path, &size);
  static const char mark[] = "\nCAROM_API ";
  for (const char *at = strstr(text, mark); at != NULL; at = strstr(at + 1, mark)) {
    const char *begin = at + strlen(mark), *end = strchr(begin, ';');
    read_function(list, begin, end);
  }
  free(text);
}

void header_functions(function_list *list) {
  list->count = 0;
  size_t size;
  char *text = read_bytes(CAROM_SOURCE_DIR "/include/carom.h", &size);
  static const char mark[] = "\n#include \"";
  for (const char *at = strstr(text, mark); at != NULL; at = strstr(at + 1, mark)) {
    const char *begin = at + strlen(mark);
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(begin, "\""), begin);
    read_header(list, name);
  }
  free(text);
}
