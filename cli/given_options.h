/* Options of the library's structs on a command line: flags, arguments, help and ranges come from their
 * tables (carom_option_describe), what was given is kept as text until there is a struct to put it in. */
#ifndef CAROM_CLI_GIVEN_OPTIONS_H
#define CAROM_CLI_GIVEN_OPTIONS_H

#include "carom.h"

#include <argp.h>

enum { MOST_OPTIONS = 48 };

typedef struct given_options {
  carom_options of;
  const char *text[MOST_OPTIONS]; /* of each option; NULL: it was not given */
} given_options;

/* What a command says of an option in its own words; without help it does not have the option. */
typedef struct option_words {
  const char *name;
  const char *help;
} option_words;

/* The flags of a struct as an argp child, whose input is a given_options of the struct; a value that
 * cannot be ends the program. `words` (or NULL) ends with {0}. To be called once for a struct. */
const struct argp *given_options_argp(carom_options of, const option_words *words);

/* The text that was given for an option, by the name of its field; NULL: it was not given. */
const char *given_text(const given_options *given, const char *name);

/* Gives a value, which must be one that the option can have; it is kept, not copied. */
void given_options_set(given_options *given, const char *name, const char *value);

void given_options_apply(const given_options *given, void *options);

/* What the table says of an option, by the name of its field. */
carom_option_info option_info(carom_options of, const char *name);

/* The name of the value of a choice. */
const char *choice_name(carom_options of, const char *name, int value);

#endif
