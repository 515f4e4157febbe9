#include "cli/template.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where paths are looked up: a row, then what is around it. */
typedef struct scope {
  const json_t *value;
  const struct scope *outer;
} scope;

const json_t *json_find(const json_t *value, const char *path) {
  while (value != NULL && path[0] != '\0') {
    char key[64];
    const size_t length = strcspn(path, ".");
    snprintf(key, sizeof key, "%.*s", (int)length, path);
    value = json_is_array(value) ? json_array_get(value, (size_t)atoi(key))
                                 : json_object_get(value, key);
    path += length + (path[length] == '.');
  }
  return value;
}

double json_at(const json_t *value, const char *path) {
  const json_t *found = json_find(value, path);
  return json_is_number(found) ? json_number_value(found) : NAN;
}

static const json_t *look_up(const scope *s, const char *path) {
  const json_t *found = NULL;
  for (; s != NULL && found == NULL; s = s->outer) found = json_find(s->value, path);
  return found;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void put_plain(FILE *out, const json_t *value) {
  if (json_is_number(value)) fprintf(out, "%.0f", json_number_value(value));
  for (const char *c = json_string_value(value); c != NULL && *c != '\0'; c++)
    fprintf(out, *c == '|' ? "\\%c" : "%c", *c);
}

static void put_number(FILE *out, double value, int digits, char kind) {
  if (isnan(value))
    fputc('-', out);
  else if (kind == 'e')
    fprintf(out, "%.*e", digits, value);
  else
    fprintf(out, "%.*f", digits, value);
}

static void put_spread(FILE *out, const json_t *value, bool several) {
  put_number(out, json_at(value, "mean"), 5, 'f');
  if (several) fprintf(out, " (%.5f .. %.5f)", json_at(value, "min"), json_at(value, "max"));
}

static void put_range(FILE *out, const json_t *value, bool several) {
  if (several)
    fprintf(out, "%.1e .. %.1e", json_at(value, "min"), json_at(value, "max"));
  else
    fputc('-', out);
}

static void put_estimate(FILE *out, const json_t *value) {
  const double half_width = json_at(value, "half_width_95");
  put_number(out, json_at(value, "mean"), 2, 'e');
  if (!isnan(half_width)) fprintf(out, " (%.1e)", half_width);
}

static void put_value(FILE *out, const scope *s, const char *path, const char *format) {
  const json_t *value = look_up(s, path);
  const bool several = json_array_size(look_up(s, "seeds")) > 1;
  if (format[0] == '\0')
    put_plain(out, value);
  else if (format[0] == '.')
    put_number(out, json_at(value, ""), format[1] - '0', format[2]);
  else if (strcmp(format, "size") == 0)
    fprintf(out, "%zu", json_array_size(value));
  else if (strcmp(format, "verdict") == 0)
    fputs(json_is_true(value) ? "yes" : json_is_false(value) ? "**no**" : "-", out);
  else if (strcmp(format, "spread") == 0)
    put_spread(out, value, several);
  else if (strcmp(format, "range") == 0)
    put_range(out, value, several);
  else if (strcmp(format, "estimate") == 0)
    put_estimate(out, value);
  else if (strcmp(format, "percent") == 0)
    fprintf(out, "%.4f %%", 100.0 * json_at(value, "off") / json_at(value, "true"));
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* {what:format}, or one of the signs that begin and end a part. */
typedef struct tag {
  const char *begin, *end; /* in the template, with the rest of a line of its own */
  char sign;               /* '#', '?', '/' or 0 */
  char what[64], format[16];
} tag;

// the first tag at or behind `text`; begin is NULL where there is none
static tag next_tag(const char *text, const char *line) {
  tag t = {.begin = strchr(text, '{')};
  if (t.begin == NULL) return t;
  const char *inside = t.begin + 1;
  if (*inside != '\0' && strchr("#?/", *inside) != NULL) t.sign = *inside++;
  const size_t length = strcspn(inside, ":}"), more = strcspn(inside + length, "}");
  snprintf(t.what, sizeof t.what, "%.*s", (int)length, inside);
  if (more > 0) snprintf(t.format, sizeof t.format, "%.*s", (int)more - 1, inside + length + 1);
  t.end = inside + length + more + (inside[length + more] == '}');
  const bool alone = *t.end == '\n' && (t.begin == line || t.begin[-1] == '\n');
  if (t.sign != 0 && alone) t.end++;
  return t;
}

// where the part ends that a tag begins: its {/}
static tag closing_tag(const char *text, const char *line) {
  tag t = next_tag(text, line);
  for (int depth = 0; t.begin != NULL; t = next_tag(t.end, line)) {
    if (t.sign == '/' && depth-- == 0) break;
    depth += t.sign == '#' || t.sign == '?';
  }
  return t;
}

static void fill(FILE *out, const char *text, const char *end, const char *whole, const scope *s);

static void fill_part(FILE *out, const tag *open, const char *end, const char *whole,
                      const scope *s) {
  const json_t *value = look_up(s, open->what), *row;
  size_t k;
  if (open->sign == '#') {
    json_array_foreach(value, k, row) {
      const scope inner = {row, s};
      fill(out, open->end, end, whole, &inner);
    }
  } else if (json_array_size(value) > 0 || json_at(value, "") > 0) {
    fill(out, open->end, end, whole, s);
  }
}

static void fill(FILE *out, const char *text, const char *end, const char *whole, const scope *s) {
  while (text < end) {
    const tag t = next_tag(text, whole);
    const char *plain_end = t.begin != NULL && t.begin < end ? t.begin : end;
    fwrite(text, 1, (size_t)(plain_end - text), out);
    if (plain_end == end) return;
    text = t.end;
    if (t.sign == 0) {
      put_value(out, s, t.what, t.format);
    } else {
      const tag close = closing_tag(t.end, whole);
      fill_part(out, &t, close.begin != NULL ? close.begin : end, whole, s);
      text = close.begin != NULL ? close.end : end;
    }
  }
}

char *template_fill(const char *text, const json_t *document) {
  char *filled = NULL;
  size_t size;
  FILE *out = open_memstream(&filled, &size);
  if (out == NULL) return NULL;
  const scope all = {document, NULL};
  fill(out, text, text + strlen(text), text, &all);
  if (fclose(out) == 0) return filled;
  free(filled);
  return NULL;
}
