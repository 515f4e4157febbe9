#include "cli/metrics_file.h"

#include "cli/tensorboard.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIXED_SCALARS = 6 };

struct metrics_file {
  const carom_properties *properties;
  char path[PATH_MAX];
  char aside[PATH_MAX]; /* where a file with other columns is now; "" */
  FILE *file;
  tensorboard *board;
  tensorboard_scalar *scalars; /* [FIXED_SCALARS + properties->count] */
};

/* ---- lines ----------------------------------------------------------------------------------- */

// a field in quotes where it needs them
static void print_name(FILE *out, const char *name) {
  if (strpbrk(name, ",\"\r\n") == NULL) {
    fputs(name, out);
    return;
  }
  fputc('"', out);
  for (; *name != '\0'; name++) {
    if (*name == '"') fputc('"', out);
    fputc(*name, out);
  }
  fputc('"', out);
}

// the shortest of 15 to 17 digits that reads back as the same number
static void print_number(FILE *out, double value) {
  if (!isfinite(value)) return;
  char text[32];
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  fputs(text, out);
}

static void print_header(FILE *out, const carom_properties *properties) {
  fputs("epoch,loss,validation_loss,best,learning_rate,gradient_norm,moves,", out);
  fputs("search_loss_before,search_loss_after,seconds", out);
  for (int k = 0; k < properties->count; k++) {
    fputc(',', out);
    print_name(out, properties->items[k].name);
  }
  fputs(
      ",time_steps,events,contacts,programs,degenerate_programs,failed_programs,"
      "worst_residual\n",
      out);
}

static void print_epoch(FILE *out, const carom_properties *properties, const carom_epoch *e,
                        const double *theta) {
  fprintf(out, "%d,", e->epoch);
  print_number(out, e->loss);
  fputc(',', out);
  print_number(out, e->validation_loss);
  fprintf(out, ",%d,", (int)e->best);
  print_number(out, e->learning_rate);
  fputc(',', out);
  print_number(out, e->gradient_norm);
  fprintf(out, ",%d,", e->moves);
  print_number(out, e->search_loss_before);
  fputc(',', out);
  print_number(out, e->search_loss_after);
  fprintf(out, ",%.6g", e->seconds);
  for (int k = 0; k < properties->count; k++) {
    fputc(',', out);
    print_number(out, carom_property_value(&properties->items[k], theta));
  }
  const carom_report *r = &e->report;
  fprintf(out, ",%lld,%lld,%lld,%lld,%lld,%lld,", (long long)r->time_steps, (long long)r->events,
          (long long)r->contacts, (long long)r->programs, (long long)r->degenerate_programs,
          (long long)r->failed_programs);
  print_number(out, r->worst_residual);
  fputc('\n', out);
}

/* ---- beginning and going on ------------------------------------------------------------------ */

// the header line as text, for the caller to free
static char *header_text(const carom_properties *properties) {
  char *text = NULL;
  size_t size;
  FILE *stream = open_memstream(&text, &size);
  if (stream == NULL) return NULL;
  print_header(stream, properties);
  fclose(stream);
  return text;
}

// the epoch of a whole line, or -1
static long line_epoch(const char *line) {
  char *end;
  const long epoch = strtol(line, &end, 10);
  const bool whole = line[0] != '\0' && line[strlen(line) - 1] == '\n';
  return whole && end != line && *end == ',' ? epoch : -1;
}

/* ---- columns of another version ---- */

/* The fields of a line, without its end, each as it stands there. */
typedef struct field {
  const char *start;
  int length;
} field;

typedef struct fields {
  int count, capacity;
  field *items;
} fields;

// the fields of a line, which must outlive them; false if there is no memory
static bool split(const char *line, fields *f) {
  int most = 1;
  for (const char *at = line; *at != '\0'; at++) most += *at == ',';
  if (most > f->capacity) {
    free(f->items);
    f->items = malloc(sizeof *f->items * (size_t)most);
    f->capacity = f->items != NULL ? most : 0;
  }
  f->count = 0;
  bool quoted = false;
  for (const char *at = line, *start = line; f->items != NULL; at++) {
    if (*at == '"') quoted = !quoted;
    const bool over = *at == '\0' || *at == '\n' || *at == '\r';
    if (!over && (*at != ',' || quoted)) continue;
    f->items[f->count++] = (field){start, (int)(at - start)};
    if (over) return true;
    start = at + 1;
  }
  return false;
}

static int find_field(const fields *f, const field *name) {
  for (int k = 0; k < f->count; k++)
    if (f->items[k].length == name->length &&
        strncmp(f->items[k].start, name->start, (size_t)name->length) == 0)
      return k;
  return -1;
}

/* Lines of a file of another version: columns by their names. */
typedef struct column_map {
  fields wanted, line;
  int *from; /* [wanted.count] the old column, or -1: it was not there */
} column_map;

static bool map_columns(column_map *map, const char *header, const char *old) {
  if (!split(header, &map->wanted) || !split(old, &map->line)) return false;
  map->from = malloc(sizeof *map->from * (size_t)map->wanted.count);
  for (int k = 0; map->from != NULL && k < map->wanted.count; k++)
    map->from[k] = find_field(&map->line, &map->wanted.items[k]);
  return map->from != NULL;
}

static void free_map(column_map *map) {
  free(map->wanted.items);
  free(map->line.items);
  free(map->from);
}

static bool put_mapped(FILE *out, column_map *map, const char *line) {
  if (!split(line, &map->line)) return false;
  for (int k = 0; k < map->wanted.count; k++) {
    const int from = map->from[k];
    if (k > 0) fputc(',', out);
    if (from < 0 || from >= map->line.count) continue;
    fprintf(out, "%.*s", map->line.items[from].length, map->line.items[from].start);
  }
  fputc('\n', out);
  return true;
}

// copies the lines of the old file that the run still stands for; false if there is no memory
static bool keep_lines(FILE *old, const char *header, int epochs_done, FILE *kept,
                       bool *other_columns) {
  char *line = NULL;
  size_t capacity = 0;
  column_map map = {0};
  const bool any = getline(&line, &capacity, old) >= 0;
  *other_columns = any && strcmp(line, header) != 0;
  bool enough = !*other_columns || map_columns(&map, header, line);
  while (any && enough && getline(&line, &capacity, old) >= 0) {
    const long epoch = line_epoch(line);
    if (epoch < 1 || epoch > epochs_done) continue;
    if (*other_columns)
      enough = put_mapped(kept, &map, line);
    else
      fputs(line, kept);
  }
  free_map(&map);
  free(line);
  return enough;
}

// puts a file aside under a name that is free
static carom_status put_aside(const char *path, char aside[PATH_MAX], carom_error *error) {
  const size_t stem = strlen(path) - strlen(".csv");
  for (int k = 1;; k++) {
    const int length = snprintf(aside, PATH_MAX, "%.*s-before-%d.csv", (int)stem, path, k);
    if (length < 0 || length >= PATH_MAX)
      return carom_error_set(error, CAROM_FILE_ERROR, "%.200s...: the name is too long", path);
    if (link(path, aside) == 0) return CAROM_OK;
    if (errno != EEXIST)
      return carom_error_set(error, CAROM_FILE_ERROR, "%s: cannot be written: %s", aside,
                             strerror(errno));
  }
}

// writes the file anew: the header, and what is kept; one with other columns is put aside
static carom_status rewrite(metrics_file *m, const char *header, int epochs_done,
                            carom_error *error) {
  char *text = NULL;
  size_t size;
  FILE *kept = open_memstream(&text, &size);
  if (kept == NULL)
    return carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", m->path);
  fputs(header, kept);
  bool enough = true, other_columns = false;
  FILE *old = epochs_done > 0 ? fopen(m->path, "r") : NULL;
  if (old != NULL) {
    enough = keep_lines(old, header, epochs_done, kept, &other_columns);
    fclose(old);
  }
  carom_status status = CAROM_OK;
  if (fclose(kept) != 0 || !enough)
    status = carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", m->path);
  if (status == CAROM_OK && other_columns) status = put_aside(m->path, m->aside, error);
  if (status == CAROM_OK) status = carom_file_write(m->path, text, size, error);
  free(text);
  return status;
}

static carom_status open_files(metrics_file *m, const char *folder, int epochs_done,
                               carom_error *error) {
  const int length = snprintf(m->path, sizeof m->path, "%s/metrics.csv", folder);
  if (length < 0 || (size_t)length >= sizeof m->path)
    return carom_error_set(error, CAROM_FILE_ERROR, "%.200s...: the name is too long", folder);
  char *header = header_text(m->properties);
  if (header == NULL)
    return carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", m->path);
  carom_status status = rewrite(m, header, epochs_done, error);
  free(header);
  if (status != CAROM_OK) return status;
  m->file = fopen(m->path, "a");
  if (m->file == NULL) {
    return carom_error_set(error, CAROM_FILE_ERROR, "%s: cannot be written: %s", m->path,
                           strerror(errno));
  }
  return tensorboard_open(folder, &m->board, error);
}

carom_status metrics_open(const char *folder, const carom_properties *properties, int epochs_done,
                          metrics_file **metrics, carom_error *error) {
  *metrics = NULL;
  metrics_file *m = calloc(1, sizeof *m);
  if (m == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", folder);
  m->properties = properties;
  m->scalars = calloc((size_t)(FIXED_SCALARS + properties->count), sizeof *m->scalars);
  carom_status status =
      m->scalars != NULL ? open_files(m, folder, epochs_done, error)
                         : carom_error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", folder);
  if (status == CAROM_OK) {
    *metrics = m;
  } else {
    metrics_close(m);
  }
  return status;
}

const char *metrics_aside(const metrics_file *m) { return m->aside; }

carom_status metrics_add(metrics_file *m, const carom_epoch *e, const double *theta,
                         carom_error *error) {
  print_epoch(m->file, m->properties, e, theta);
  if (fflush(m->file) != 0 || ferror(m->file) != 0) {
    return carom_error_set(error, CAROM_FILE_ERROR, "%s: cannot be written: %s", m->path,
                           strerror(errno));
  }
  tensorboard_scalar *s = m->scalars;
  s[0] = (tensorboard_scalar){"loss/train", e->loss};
  s[1] = (tensorboard_scalar){"loss/validation", e->validation_loss};
  s[2] = (tensorboard_scalar){"rate", e->learning_rate};
  s[3] = (tensorboard_scalar){"gradient_norm", e->gradient_norm};
  s[4] = (tensorboard_scalar){"failed_programs", (double)e->report.failed_programs};
  s[5] = (tensorboard_scalar){"moves", e->moves};
  for (int k = 0; k < m->properties->count; k++) {
    const carom_property *p = &m->properties->items[k];
    s[FIXED_SCALARS + k] = (tensorboard_scalar){p->name, carom_property_value(p, theta)};
  }
  return tensorboard_add(m->board, e->epoch, FIXED_SCALARS + m->properties->count, s, error);
}

void metrics_close(metrics_file *m) {
  if (m == NULL) return;
  if (m->file != NULL) fclose(m->file);
  tensorboard_close(m->board);
  free(m->scalars);
  free(m);
}
