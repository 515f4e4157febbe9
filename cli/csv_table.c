#include "cli/csv_table.h"

#include "cli/memory.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

carom_status read_text_file(const char *path, char **text, carom_error *error) {
  *text = NULL;
  FILE *file = fopen(path, "rb");
  struct stat status;
  if (file == NULL || fstat(fileno(file), &status) != 0) {
    const int code = errno;
    if (file != NULL) fclose(file);
    return carom_error_set(error, CAROM_FILE_ERROR, "%s: cannot be read: %s", path, strerror(code));
  }
  const size_t size = S_ISREG(status.st_mode) ? (size_t)status.st_size : 0;
  *text = allocate(size + 1, 1);
  const size_t got = *text != NULL ? fread(*text, 1, size, file) : 0;
  fclose(file);
  if (*text == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  (*text)[got] = '\0';
  return CAROM_OK;
}

/* Takes the field at *at, in place, and moves on to the next. Whether it was the last of its line. */
static bool next_field(char **at, char **field) {
  char *from = *at, *to = from;
  *field = to;
  bool quoted = *from == '"';
  if (quoted) from++;
  for (; *from != '\0'; from++) {
    if (quoted && from[0] == '"' && from[1] == '"') {
      from++;
    } else if (quoted && *from == '"') {
      quoted = false;
      continue;
    } else if (!quoted && (*from == ',' || *from == '\n')) {
      break;
    }
    *to++ = *from;
  }
  const bool last = *from != ',';
  *at = *from != '\0' ? from + 1 : from;
  if (to > *field && to[-1] == '\r') to--;
  *to = '\0';
  return last;
}

static bool read_names(char **at, csv_table *t) {
  for (bool last = false; !last;) {
    char *field, **names = realloc(t->names, sizeof(char *) * (size_t)(t->column_count + 1));
    if (names == NULL) return false;
    t->names = names;
    last = next_field(at, &field);
    if ((names[t->column_count] = strdup(field)) == NULL) return false;
    t->column_count++;
  }
  return true;
}

static double number_of(const char *text) {
  char *end;
  const double value = strtod(text, &end);
  return end != text && *end == '\0' ? value : NAN;
}

// a row that has as many fields as there are names; false ends the table
static bool read_row(char **at, csv_table *t, double *row) {
  int count = 0;
  for (bool last = false; !last; count++) {
    char *field;
    last = next_field(at, &field);
    if (count < t->column_count) row[count] = number_of(field);
  }
  return count == t->column_count;
}

static bool read_rows(char *at, csv_table *t) {
  size_t lines = 1;
  for (const char *c = at; *c != '\0'; c++) lines += *c == '\n';
  t->values = allocate(lines * (size_t)t->column_count, sizeof(double));
  if (t->values == NULL) return false;
  while (*at != '\0' &&
         read_row(&at, t, t->values + (size_t)t->row_count * (size_t)t->column_count))
    t->row_count++;
  return true;
}

carom_status csv_read(const char *path, csv_table *table, carom_error *error) {
  *table = (csv_table){0};
  char *text;
  carom_status status = read_text_file(path, &text, error);
  if (status != CAROM_OK) return status;
  char *at = text;
  if (!read_names(&at, table) || !read_rows(at, table)) {
    csv_free(table);
    status = carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  }
  free(text);
  return status;
}

void csv_free(csv_table *table) {
  for (int k = 0; k < table->column_count; k++) free(table->names[k]);
  free(table->names);
  free(table->values);
  *table = (csv_table){0};
}

int csv_column(const csv_table *table, const char *name) {
  for (int k = 0; k < table->column_count; k++)
    if (strcmp(table->names[k], name) == 0) return k;
  return -1;
}
