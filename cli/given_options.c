#include "cli/given_options.h"

#include <stdio.h>
#include <string.h>

#include "cli/arguments.h"

enum {
  MOST_HEADINGS = 4,
  FIRST_KEY = 1 << 16 /* apart from the keys of other parsers */
};

/* The place of a heading of the tables; all of them are listed. */
static int group_of(const char *heading) {
  static const struct {
    const char *heading;
    int group;
  } groups[] = {
      {"Optimiser", UNDER_OPTIMISER},   {"Fit", UNDER_FIT},          {"Data", UNDER_DATA},
      {"Noise", UNDER_NOISE},           {"Model", UNDER_MODEL},      {"Training", UNDER_TRAINING},
      {"Simulation", UNDER_SIMULATION}, {"Contacts", UNDER_CONTACTS}};
  for (size_t k = 0; heading != NULL && k < sizeof groups / sizeof groups[0]; k++)
    if (strcmp(groups[k].heading, heading) == 0) return groups[k].group;
  return 0;
}

static const option_words *words_for(const option_words *words, const char *name) {
  for (; words != NULL && words->name != NULL; words++)
    if (strcmp(words->name, name) == 0) return words;
  return NULL;
}

// the help of the table, with the default behind it
static const char *help_text(const carom_option_info *info) {
  char *text;
  if (info->kind == CAROM_OPTION_SWITCH) return info->help;
  const char *usual = info->from_scene ? "the scene's" : info->value;
  return asprintf(&text, "%s (%s)", info->help, usual) >= 0 ? text : info->help;
}

/* Checks a value without a struct to put it in. */
static carom_status try_value(carom_options of, const char *name, const char *text,
                              carom_error *error) {
  carom_any_options any = {0};
  return carom_option_set(of, &any, name, text, error);
}

static error_t parse(int key, char *text, struct argp_state *state) {
  given_options *given = state->input;
  const int index = key - FIRST_KEY - (int)given->of * MOST_OPTIONS;
  if (key < FIRST_KEY || index < 0 || index >= MOST_OPTIONS) return ARGP_ERR_UNKNOWN;
  const carom_option_info info = carom_option_describe(given->of, index);
  // the flag of a switch turns it from its default
  if (info.kind == CAROM_OPTION_SWITCH) {
    given->text[index] = strcmp(info.value, "true") == 0 ? "false" : "true";
    return 0;
  }
  char flag[64];
  carom_error error;
  snprintf(flag, sizeof flag, "--%s", info.flag);
  if (try_value(given->of, flag, text, &error) != CAROM_OK) argp_error(state, "%s", error.message);
  given->text[index] = text;
  return 0;
}

const struct argp *given_options_argp(carom_options of, const option_words *words) {
  static struct argp_option rows[CAROM_OPTIONS_COUNT][MOST_OPTIONS + MOST_HEADINGS + 1];
  static struct argp made[CAROM_OPTIONS_COUNT];
  struct argp_option *row = rows[of];
  const char *heading = NULL;
  for (int k = 0; k < carom_option_count(of) && k < MOST_OPTIONS; k++) {
    const carom_option_info info = carom_option_describe(of, k);
    const option_words *own = words_for(words, info.name);
    if (info.flag == NULL || (own != NULL && own->help == NULL)) continue;
    const int group = group_of(info.heading);
    if (info.heading != NULL && (heading == NULL || strcmp(heading, info.heading) != 0)) {
      heading = info.heading;
      *row++ = (struct argp_option){.doc = heading, .group = group};
    }
    *row++ = (struct argp_option){.name = info.flag,
                                  .key = FIRST_KEY + (int)of * MOST_OPTIONS + k,
                                  .arg = info.argument,
                                  .doc = own != NULL ? own->help : help_text(&info),
                                  .group = group};
  }
  *row = (struct argp_option){0};
  made[of] = (struct argp){.options = rows[of], .parser = parse};
  return &made[of];
}

static int index_of(carom_options of, const char *name) {
  int k = 0;
  while (k < carom_option_count(of) && strcmp(carom_option_describe(of, k).name, name) != 0) k++;
  return k;
}

carom_option_info option_info(carom_options of, const char *name) {
  return carom_option_describe(of, index_of(of, name));
}

const char *choice_name(carom_options of, const char *name, int value) {
  return option_info(of, name).names[value];
}

const char *given_text(const given_options *given, const char *name) {
  return given->text[index_of(given->of, name)];
}

void given_options_set(given_options *given, const char *name, const char *value) {
  given->text[index_of(given->of, name)] = value;
}

void given_options_apply(const given_options *given, void *options) {
  for (int k = 0; k < carom_option_count(given->of) && k < MOST_OPTIONS; k++) {
    if (given->text[k] == NULL) continue;
    // it was checked when it was parsed
    carom_option_set(given->of, options, carom_option_describe(given->of, k).name, given->text[k],
                     NULL);
  }
}
