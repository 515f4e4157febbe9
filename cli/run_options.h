/* Options of commands that simulate a scene: what, from where, and how. */
#ifndef CAROM_CLI_RUN_OPTIONS_H
#define CAROM_CLI_RUN_OPTIONS_H

#include "carom.h"
#include "cli/arguments.h"

/* Options as given on the command line; what was not given has the value that run_options_default
 * puts there and is taken from the scene. */
typedef struct run_options {
  const char *scene;
  const char *init;
  const char *parameters;
  const char *dump_failures;
  int sample; /* 0: the command's default */
  uint64_t seed;
  int steps;                 /* -1: the scene's */
  int substeps;              /* 0: one */
  double dt;                 /* 0: the scene's */
  double epsilon;            /* -1: the scene's */
  double compensation_steps; /* 0: the default */
  double smoothing;
  double tolerance;                  /* of the constraints at initial states */
  double cone_tolerance;             /* 0: the default */
  int contact, integrator, dynamics; /* -1: the default; `carom check`: all */
  bool no_compensation;
  bool stop_target_gradient;
  bool json;
  general_options general;
} run_options;

run_options run_options_default(void);

/* The argp children of a command that simulates a scene, with the options that all of these have: the
 * first one's input, which the command sets at ARGP_KEY_INIT, is a run_options. */
extern const struct argp_child run_children[];

/* Options that some of these commands have, or that mean something else in each: a command lists its
 * own under these keys and leaves them to parse_run_option. */
enum run_option_key {
  RUN_SAMPLE = 16384, /* apart from the keys of other parsers */
  RUN_SEED,
  RUN_STEPS,
  RUN_CONTACT,
  RUN_DYNAMICS,
  RUN_STOP_TARGET_GRADIENT,
  RUN_DUMP_FAILURES
};

/* Whether the key was one of them. */
bool parse_run_option(run_options *o, int key, char *text, struct argp_state *state);

/* Names of values on the command line, in their order; each ends with NULL. */
extern const char *const integrator_names[];
extern const char *const dynamics_names[];
extern const char *const contact_names[];

#endif
