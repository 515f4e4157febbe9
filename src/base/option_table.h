/* One table for each struct of options: a row says what a field is called, what it may be, what it is
 * unless it is set, and how it stands on the command line. Defaults, checks, files and command lines
 * are walks over these rows, so that a new option is a field in carom.h and a row here:
 *
 *   {OPTION(carom_trainer_options, learning_rate), OPTION_POSITIVE, .value = 4e-3, .paper = 1e-3,
 *    .role = OPTION_PAPER, .flag = "lr", .argument = "X", .heading = "Training",
 *    .help = "learning rate"},
 *
 * The kind of a row follows from the C type of its field. */
#ifndef CAROM_BASE_OPTION_TABLE_H
#define CAROM_BASE_OPTION_TABLE_H

#include "carom.h"

#include <float.h>
#include <stddef.h>

enum option_role {
  OPTION_SCENE = 1,     /* the default is the scene's, set after the table's */
  OPTION_PAPER = 2,     /* the paper's protocol has `paper` in place of `value` */
  OPTION_SPEED = 4,     /* decides how fast, never what: not part of any file */
  OPTION_ELSEWHERE = 8, /* has a place of its own in files: seeds, the name of a model */
  OPTION_LATER = 16     /* files of earlier versions lack it and mean `before` */
};

typedef struct option_field {
  const char *name; /* of the field, and of the option in files */
  const char *file; /* in files, where they call it something else; or NULL */
  size_t offset;
  carom_option_kind kind;
  double low, high; /* of integers and numbers; an end that is open does not belong to it */
  bool low_open, high_open;
  const char *const *names; /* of a choice, by value; ends with NULL */
  double value;             /* unless it is set; a choice's is its place in `names` */
  double paper, before;     /* OPTION_PAPER, OPTION_LATER */
  unsigned role;            /* of enum option_role */
  const char *flag;         /* long option without dashes, or NULL: it has none. That of a switch
                               sets it to what it is not by default */
  const char *argument;     /* the word for its value in a help */
  const char *heading;      /* in a help */
  const char *help;         /* the default is added */
} option_field;

typedef struct option_table {
  int count;
  const option_field *fields;
} option_table;

#define OPTION(type, member)                         \
  .name = #member, .offset = offsetof(type, member), \
  .kind = _Generic(((type *)0)->member, int          \
                   : CAROM_OPTION_INTEGER, int64_t   \
                   : CAROM_OPTION_COUNT, uint64_t    \
                   : CAROM_OPTION_SEED, double       \
                   : CAROM_OPTION_NUMBER, bool       \
                   : CAROM_OPTION_SWITCH, default    \
                   : CAROM_OPTION_CHOICE)
#define OPTION_RANGE(lowest, highest) .low = (lowest), .high = (highest)
#define OPTION_AT_LEAST(lowest) .low = (lowest), .high = DBL_MAX
#define OPTION_POSITIVE .low = 0, .low_open = true, .high = DBL_MAX
#define OPTION_TABLE(rows) \
  { sizeof(rows) / sizeof(rows)[0], rows }

/* Sets every field of the table, or those that the paper's protocol has otherwise. */
void options_set_defaults(const option_table *table, void *options);
void options_set_paper(const option_table *table, void *options);

/* Whether all are in their range; the message names the first that is not: "options.dt is 0, must be
 * a positive number". */
carom_status options_check(const option_table *table, const void *options, carom_error *error);

/* The row of a name: that of the field or, with dashes, the flag. NULL: there is none. */
const option_field *option_find(const option_table *table, const char *name);

/* What an option is called in files. */
const char *option_file_name(const option_field *field);

/* One value as a number; a choice's is its place, that of a seed is rounded. option_fits says whether
 * a number is in the range of the field (and an integer where it has to be). */
double option_number(const option_field *field, const void *options);
void option_set_number(const option_field *field, void *options, double value);
bool option_fits(const option_field *field, double value);
bool option_equal(const option_field *field, const void *a, const void *b);

/* One value as text that option_set_text reads back to the bit, in every locale. A text that cannot be
 * is an error which begins with `label`: "--lr 0: expected a positive number". */
enum { OPTION_TEXT = 48 };
void option_text(const option_field *field, const void *options, char text[OPTION_TEXT]);
carom_status option_set_text(const option_field *field, void *options, const char *label,
                             const char *text, carom_error *error);

/* What a value has to be: "an integer from 1 to 8", "one of constant, cosine". */
enum { OPTION_RANGE_TEXT = 160 };
void option_range_text(const option_field *field, char text[OPTION_RANGE_TEXT]);

#endif
