#include "base/option_table.h"

#include "base/error.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(carom_integrator) == sizeof(int), "a choice is read as an int");

/* ---- values ---------------------------------------------------------------------------------- */

double option_number(const option_field *f, const void *options) {
  const void *at = (const char *)options + f->offset;
  switch (f->kind) {
    case CAROM_OPTION_COUNT: return (double)*(const int64_t *)at;
    case CAROM_OPTION_SEED: return (double)*(const uint64_t *)at;
    case CAROM_OPTION_NUMBER: return *(const double *)at;
    case CAROM_OPTION_SWITCH: return *(const bool *)at;
    case CAROM_OPTION_INTEGER:
    case CAROM_OPTION_CHOICE: break;
  }
  int value;
  memcpy(&value, at, sizeof value);
  return value;
}

void option_set_number(const option_field *f, void *options, double value) {
  void *at = (char *)options + f->offset;
  switch (f->kind) {
    case CAROM_OPTION_COUNT: *(int64_t *)at = (int64_t)value; return;
    case CAROM_OPTION_SEED: *(uint64_t *)at = (uint64_t)value; return;
    case CAROM_OPTION_NUMBER: *(double *)at = value; return;
    case CAROM_OPTION_SWITCH: *(bool *)at = value != 0; return;
    case CAROM_OPTION_INTEGER:
    case CAROM_OPTION_CHOICE: break;
  }
  const int integer = (int)value;
  memcpy(at, &integer, sizeof integer);
}

static int name_count(const option_field *f) {
  int count = 0;
  while (f->names[count] != NULL) count++;
  return count;
}

bool option_fits(const option_field *f, double value) {
  const bool whole = value == floor(value);
  switch (f->kind) {
    case CAROM_OPTION_SEED: return true;
    case CAROM_OPTION_SWITCH: return value == 0 || value == 1;
    case CAROM_OPTION_CHOICE: return whole && value >= 0 && value < name_count(f);
    case CAROM_OPTION_INTEGER:
    case CAROM_OPTION_COUNT: return whole && value >= f->low && value <= f->high;
    case CAROM_OPTION_NUMBER: break;
  }
  return (f->low_open ? value > f->low : value >= f->low) &&
         (f->high_open ? value < f->high : value <= f->high);
}

// a double does not hold all of them
static uint64_t seed_of(const option_field *f, const void *options) {
  const void *at = (const char *)options + f->offset;
  return *(const uint64_t *)at;
}

bool option_equal(const option_field *f, const void *a, const void *b) {
  if (f->kind != CAROM_OPTION_SEED) return option_number(f, a) == option_number(f, b);
  return seed_of(f, a) == seed_of(f, b);
}

void options_set_defaults(const option_table *table, void *options) {
  for (int k = 0; k < table->count; k++)
    option_set_number(&table->fields[k], options, table->fields[k].value);
}

void options_set_paper(const option_table *table, void *options) {
  for (int k = 0; k < table->count; k++) {
    const option_field *f = &table->fields[k];
    if (f->role & OPTION_PAPER) option_set_number(f, options, f->paper);
  }
}

const option_field *option_find(const option_table *table, const char *name) {
  const bool dashes = strncmp(name, "--", 2) == 0;
  for (int k = 0; k < table->count; k++) {
    const option_field *f = &table->fields[k];
    const char *here = dashes ? f->flag : f->name;
    if (here != NULL && strcmp(here, name + (dashes ? 2 : 0)) == 0) return f;
  }
  return NULL;
}

const char *option_file_name(const option_field *f) { return f->file != NULL ? f->file : f->name; }

/* ---- text ------------------------------------------------------------------------------------ */

/* The locale of C, as long as text is made or read: a host program may write 0,5. */
typedef struct plain_numbers {
  locale_t plain, before;
} plain_numbers;

static plain_numbers plain_begin(void) {
  plain_numbers p = {.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
  if (p.plain != (locale_t)0) p.before = uselocale(p.plain);
  return p;
}

static void plain_end(plain_numbers p) {
  if (p.plain == (locale_t)0) return;
  uselocale(p.before);
  freelocale(p.plain);
}

// the shortest of two texts that give the same bits
static void number_text(double value, char text[OPTION_TEXT]) {
  const plain_numbers p = plain_begin();
  snprintf(text, OPTION_TEXT, "%.15g", value);
  if (strtod(text, NULL) != value) snprintf(text, OPTION_TEXT, "%.17g", value);
  plain_end(p);
}

void option_text(const option_field *f, const void *options, char text[OPTION_TEXT]) {
  const double value = option_number(f, options);
  switch (f->kind) {
    case CAROM_OPTION_SEED: snprintf(text, OPTION_TEXT, "%" PRIu64, seed_of(f, options)); return;
    case CAROM_OPTION_SWITCH:
      snprintf(text, OPTION_TEXT, "%s", value != 0 ? "true" : "false");
      return;
    case CAROM_OPTION_CHOICE:
      if (option_fits(f, value)) {
        snprintf(text, OPTION_TEXT, "%s", f->names[(int)value]);
        return;
      }
      break;
    case CAROM_OPTION_INTEGER:
    case CAROM_OPTION_COUNT:
    case CAROM_OPTION_NUMBER: break;
  }
  number_text(value, text);
}

static void names_text(const option_field *f, char text[OPTION_RANGE_TEXT]) {
  size_t length = (size_t)snprintf(text, OPTION_RANGE_TEXT, "one of ");
  for (int k = 0; f->names[k] != NULL && length < OPTION_RANGE_TEXT; k++)
    length += (size_t)snprintf(text + length, OPTION_RANGE_TEXT - length, "%s%s", k > 0 ? ", " : "",
                               f->names[k]);
}

static void interval_text(const option_field *f, char text[OPTION_RANGE_TEXT]) {
  char low[OPTION_TEXT], high[OPTION_TEXT];
  number_text(f->low, low);
  number_text(f->high, high);
  const char *from = f->low_open ? "above" : "of at least";
  if (f->low <= -DBL_MAX)
    snprintf(text, OPTION_RANGE_TEXT, "a number");
  else if (f->high < DBL_MAX && !f->low_open && !f->high_open)
    snprintf(text, OPTION_RANGE_TEXT, "a number from %s to %s", low, high);
  else if (f->high < DBL_MAX)
    snprintf(text, OPTION_RANGE_TEXT, "a number %s %s and %s %s", from, low,
             f->high_open ? "below" : "at most", high);
  else if (f->low_open && f->low == 0)
    snprintf(text, OPTION_RANGE_TEXT, "a positive number");
  else
    snprintf(text, OPTION_RANGE_TEXT, "a number %s %s", from, low);
}

void option_range_text(const option_field *f, char text[OPTION_RANGE_TEXT]) {
  switch (f->kind) {
    case CAROM_OPTION_CHOICE: names_text(f, text); return;
    case CAROM_OPTION_NUMBER: interval_text(f, text); return;
    case CAROM_OPTION_SWITCH: snprintf(text, OPTION_RANGE_TEXT, "true or false"); return;
    case CAROM_OPTION_SEED:
      snprintf(text, OPTION_RANGE_TEXT, "an integer from 0 to %" PRIu64, UINT64_MAX);
      return;
    case CAROM_OPTION_INTEGER:
    case CAROM_OPTION_COUNT:
      snprintf(text, OPTION_RANGE_TEXT, "an integer from %.0f to %.0f", f->low, f->high);
  }
}

carom_status options_check(const option_table *table, const void *options, carom_error *error) {
  for (int k = 0; k < table->count; k++) {
    const option_field *f = &table->fields[k];
    if (option_fits(f, option_number(f, options))) continue;
    char value[OPTION_TEXT], range[OPTION_RANGE_TEXT];
    option_text(f, options, value);
    option_range_text(f, range);
    return error_set(error, CAROM_INVALID_ARGUMENT, "options.%s is %s, must be %s", f->name, value,
                     range);
  }
  return CAROM_OK;
}

/* ---- from text ------------------------------------------------------------------------------- */

// the whole text is a number; integers have no point and no exponent
static bool read_number(const option_field *f, const char *text, double *value) {
  char *end;
  const plain_numbers p = plain_begin();
  errno = 0;
  const bool whole = f->kind != CAROM_OPTION_NUMBER;
  *value = whole ? (double)strtoll(text, &end, 10) : strtod(text, &end);
  const bool overflow = whole && errno != 0;
  plain_end(p);
  return !overflow && end != text && *end == '\0';
}

static bool read_name(const char *const *names, const char *text, double *value) {
  for (int k = 0; names[k] != NULL; k++) {
    if (strcmp(text, names[k]) != 0) continue;
    *value = k;
    return true;
  }
  return false;
}

static bool read_seed(const option_field *f, void *options, const char *text) {
  char *end;
  errno = 0;
  const uint64_t value = strtoull(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || strchr(text, '-') != NULL) return false;
  void *at = (char *)options + f->offset;
  *(uint64_t *)at = value;
  return true;
}

static bool read_text(const option_field *f, void *options, const char *text) {
  static const char *const switch_names[] = {"false", "true", NULL};
  double value;
  bool have;
  switch (f->kind) {
    case CAROM_OPTION_SEED: return read_seed(f, options, text);
    case CAROM_OPTION_SWITCH: have = read_name(switch_names, text, &value); break;
    case CAROM_OPTION_CHOICE: have = read_name(f->names, text, &value); break;
    default: have = read_number(f, text, &value);
  }
  if (!have || !option_fits(f, value)) return false;
  option_set_number(f, options, value);
  return true;
}

carom_status option_set_text(const option_field *f, void *options, const char *label,
                             const char *text, carom_error *error) {
  if (read_text(f, options, text)) return CAROM_OK;
  char range[OPTION_RANGE_TEXT];
  option_range_text(f, range);
  return error_set(error, CAROM_INVALID_ARGUMENT, "%s %s: expected %s", label, text, range);
}
