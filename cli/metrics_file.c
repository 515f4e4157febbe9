#include "cli/metrics_file.h"

#include "cli/failure.h"
#include "cli/tensorboard.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIXED_SCALARS = 6 };

struct metrics_file {
  const carom_properties *properties;
  char path[PATH_MAX];
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

// copies the lines of the old file that the run still stands for
static carom_status keep_lines(FILE *old, const char *path, const char *header, int epochs_done,
                               FILE *kept, carom_error *error) {
  char *line = NULL;
  size_t capacity = 0;
  carom_status status = CAROM_OK;
  if (getline(&line, &capacity, old) >= 0 && strcmp(line, header) != 0) {
    status = fail(error, CAROM_INVALID_DATA,
                  "%s: has other columns than this run writes; move it away", path);
  }
  while (status == CAROM_OK && getline(&line, &capacity, old) >= 0) {
    const long epoch = line_epoch(line);
    if (epoch >= 1 && epoch <= epochs_done) fputs(line, kept);
  }
  free(line);
  return status;
}

// writes the file anew: the header, and what is kept
static carom_status rewrite(const char *path, const char *header, int epochs_done,
                            carom_error *error) {
  char *text = NULL;
  size_t size;
  FILE *kept = open_memstream(&text, &size);
  if (kept == NULL) return fail(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  fputs(header, kept);
  carom_status status = CAROM_OK;
  FILE *old = epochs_done > 0 ? fopen(path, "r") : NULL;
  if (old != NULL) {
    status = keep_lines(old, path, header, epochs_done, kept, error);
    fclose(old);
  }
  if (fclose(kept) != 0) status = fail(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  if (status == CAROM_OK) status = carom_file_write(path, text, size, error);
  free(text);
  return status;
}

static carom_status open_files(metrics_file *m, const char *folder, int epochs_done,
                               carom_error *error) {
  const int length = snprintf(m->path, sizeof m->path, "%s/metrics.csv", folder);
  if (length < 0 || (size_t)length >= sizeof m->path)
    return fail(error, CAROM_FILE_ERROR, "%.200s...: the name is too long", folder);
  char *header = header_text(m->properties);
  if (header == NULL) return fail(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", m->path);
  carom_status status = rewrite(m->path, header, epochs_done, error);
  free(header);
  if (status != CAROM_OK) return status;
  m->file = fopen(m->path, "a");
  if (m->file == NULL) {
    return fail(error, CAROM_FILE_ERROR, "%s: cannot be written: %s", m->path, strerror(errno));
  }
  return tensorboard_open(folder, &m->board, error);
}

carom_status metrics_open(const char *folder, const carom_properties *properties, int epochs_done,
                          metrics_file **metrics, carom_error *error) {
  *metrics = NULL;
  metrics_file *m = calloc(1, sizeof *m);
  if (m == NULL) return fail(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", folder);
  m->properties = properties;
  m->scalars = calloc((size_t)(FIXED_SCALARS + properties->count), sizeof *m->scalars);
  carom_status status = m->scalars != NULL
                            ? open_files(m, folder, epochs_done, error)
                            : fail(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", folder);
  if (status == CAROM_OK) {
    *metrics = m;
  } else {
    metrics_close(m);
  }
  return status;
}

carom_status metrics_add(metrics_file *m, const carom_epoch *e, const double *theta,
                         carom_error *error) {
  print_epoch(m->file, m->properties, e, theta);
  if (fflush(m->file) != 0 || ferror(m->file) != 0) {
    return fail(error, CAROM_FILE_ERROR, "%s: cannot be written: %s", m->path, strerror(errno));
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
