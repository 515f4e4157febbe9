/* Options of commands that simulate a scene: what, from where, and how. */
#ifndef CAROM_CLI_RUN_OPTIONS_H
#define CAROM_CLI_RUN_OPTIONS_H

#include "carom.h"
#include "cli/arguments.h"
#include "cli/given_options.h"

/* Options as given on the command line; what was not given has the value that run_options_default
 * puts there and is taken from the scene. */
typedef struct run_options {
  const char *scene;
  const char *init;
  const char *parameters;
  const char *controls;
  const char *dump_failures;
  int sample; /* 0: the command's default */
  uint64_t seed;
  given_options rollout; /* how it is simulated */
  bool every_model;      /* without --contact, both contact models: `carom check` */
  double epsilon;        /* -1: the scene's */
  double tolerance;      /* of the constraints at initial states */
  bool json;
  general_options general;
} run_options;

run_options run_options_default(void);

/* The argp children of a command that simulates a scene, with the options that all of these have and
 * those of rollouts, some in `words` of the command's own (given_options.h). The first one's input, which
 * the command sets at ARGP_KEY_INIT, is a run_options. */
const struct argp_child *run_children(const option_words *words);

/* Options that some of these commands have, or that mean something else in each: a command lists its
 * own under these keys and leaves them to parse_run_option. */
enum run_option_key {
  RUN_SAMPLE = 16384, /* apart from the keys of other parsers */
  RUN_SEED,
  RUN_CONTROLS,
  RUN_DUMP_FAILURES
};

/* Whether the key was one of them. */
bool parse_run_option(run_options *o, int key, char *text, struct argp_state *state);

#endif
