#include "cli/arguments.h"

#include "cli/given_options.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int parse_integer(struct argp_state *state, const char *option, const char *text, int low,
                  int high) {
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || value < low || value > high) {
    argp_error(state, "%s %s: expected an integer from %d to %d", option, text, low, high);
  }
  return (int)value;
}

double parse_number(struct argp_state *state, const char *option, const char *text, double low,
                    double high) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end != '\0' || !isfinite(value) || value < low || value > high) {
    argp_error(state, "%s %s: expected a number from %g to %g", option, text, low, high);
  }
  return value;
}

uint64_t parse_seed(struct argp_state *state, const char *text) {
  char *end;
  errno = 0;
  uint64_t value = strtoull(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || text[0] == '-') {
    argp_error(state, "--seed %s: expected an integer from 0 to %" PRIu64, text, UINT64_MAX);
  }
  return value;
}

int parse_name(struct argp_state *state, const char *option, const char *text,
               const char *const *names) {
  char known[128] = "";
  for (int k = 0; names[k] != NULL; k++) {
    if (strcmp(text, names[k]) == 0) return k;
    strcat(strcat(known, k > 0 ? ", " : ""), names[k]);
  }
  argp_error(state, "%s %s: expected one of %s", option, text, known);
  return -1;
}

void parse_argument(struct argp_state *state, const char *what, char *text, const char **argument) {
  if (*argument != NULL) argp_error(state, "one %s is expected, '%s' is one more", what, text);
  *argument = text;
}

void require_scene(struct argp_state *state, const char *scene) {
  if (scene == NULL)
    argp_error(state, "a scene is missing: the name of a built-in one (`carom list`) or a file");
}

enum { KEY_THREADS = 8192 /* apart from the keys of other parsers */, KEY_USAGE };

static const struct argp_option general_argp_options[] = {
    {NULL, 0, NULL, 0, "General", UNDER_GENERAL},
    {"threads", KEY_THREADS, "N", 0,
     "threads (0, the default: as many as the machine has); any number gives the same result",
     UNDER_GENERAL},
    {"quiet", 'q', NULL, 0, "show no progress", UNDER_GENERAL},
    {0}};

static int parse_threads(struct argp_state *state, const char *text) {
  const carom_option_info info = option_info(CAROM_ROLLOUT_OPTIONS, "threads");
  return parse_integer(state, "--threads", text, (int)info.low, (int)info.high);
}

static error_t parse_general(int key, char *text, struct argp_state *state) {
  general_options *o = state->input;
  switch (key) {
    case KEY_THREADS: o->threads = parse_threads(state, text); return 0;
    case 'q': o->quiet = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

const struct argp general_argp = {.options = general_argp_options, .parser = parse_general};

// argp's own options have no -h
static const struct argp_option help_options[] = {
    {"help", 'h', NULL, 0, "print this help", -1},
    {NULL, '?', NULL, OPTION_ALIAS | OPTION_HIDDEN, NULL, -1},
    {"usage", KEY_USAGE, NULL, 0, "print the options in short", -1},
    {"version", 'V', NULL, 0, "print the version", -1},
    {0}};

static error_t parse_help(int key, char *text, struct argp_state *state) {
  (void)text;
  switch (key) {
    case '?':
    case 'h': argp_state_help(state, stdout, ARGP_HELP_STD_HELP); return 0;
    case KEY_USAGE: argp_state_help(state, stdout, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK); return 0;
    case 'V': printf("%s\n", argp_program_version); exit(EXIT_SUCCESS);
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp help_argp = {.options = help_options, .parser = parse_help};

void parse_command_line(const struct argp *argp, int argc, char **argv, void *input) {
  // without a parser of its own it hands the input to its first child
  const struct argp_child children[] = {{argp, 0, NULL, 0}, {&help_argp, 0, NULL, 0}, {0}};
  const struct argp whole = {.children = children};
  argp_parse(&whole, argc, argv, ARGP_NO_HELP, NULL, input);
}
