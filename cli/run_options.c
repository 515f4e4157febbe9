#include "cli/run_options.h"

#include <limits.h>
#include <string.h>

enum option_key { KEY_INIT = 256, KEY_EPSILON, KEY_PARAMETERS, KEY_TOLERANCE, KEY_JSON };

static const struct argp_option run_argp_options[] = {
    {NULL, 0, NULL, 0, "Initial states", UNDER_INITIAL_STATES},
    {"init", KEY_INIT, "FILE", 0,
     "initial states: a state file, or the first states of a trajectory file",
     UNDER_INITIAL_STATES},
    {"tolerance", KEY_TOLERANCE, "X", 0,
     "how far initial states from a file may violate the constraints, relative (1e-6)",
     UNDER_INITIAL_STATES},
    {"parameters", KEY_PARAMETERS, "FILE", 0,
     "parameter file (HDF5) with masses, friction and others in place of the scene's",
     UNDER_SIMULATION},
    {"epsilon", KEY_EPSILON, "X", 0, "epsilon of cmr (the scene's)", UNDER_CONTACTS},
    {"json", KEY_JSON, NULL, 0, "results as JSON", UNDER_GENERAL},
    {0}};

run_options run_options_default(void) {
  return (run_options){
      .rollout = {.of = CAROM_ROLLOUT_OPTIONS}, .epsilon = -1.0, .tolerance = 1e-6};
}

bool parse_run_option(run_options *o, int key, char *text, struct argp_state *state) {
  switch (key) {
    case RUN_SAMPLE: o->sample = parse_integer(state, "--sample", text, 1, INT_MAX); return true;
    case RUN_SEED: o->seed = parse_seed(state, text); return true;
    case RUN_CONTROLS: o->controls = text; return true;
    case RUN_DUMP_FAILURES: o->dump_failures = text; return true;
    default: return false;
  }
}

// options that say what is simulated, from where
static bool parse_input(run_options *o, int key, char *text, struct argp_state *state) {
  switch (key) {
    case KEY_INIT: o->init = text; return true;
    case KEY_TOLERANCE:
      o->tolerance = parse_number(state, "--tolerance", text, 0.0, 1e300);
      return true;
    case KEY_EPSILON: o->epsilon = parse_number(state, "--epsilon", text, 0.0, 1e300); return true;
    case KEY_PARAMETERS: o->parameters = text; return true;
    case KEY_JSON: o->json = true; return true;
    default: return false;
  }
}

// epsilon belongs to cmr, which may be there without being asked for
static bool has_cmr(const run_options *o) {
  const char *contact = given_text(&o->rollout, "contact");
  return contact != NULL ? strcmp(contact, "cmr") == 0 : o->every_model;
}

static error_t parse_run(int key, char *text, struct argp_state *state) {
  run_options *o = state->input;
  if (parse_input(o, key, text, state)) return 0;
  switch (key) {
    case ARGP_KEY_INIT:
      state->child_inputs[0] = &o->rollout;
      state->child_inputs[1] = &o->general;
      return 0;
    case ARGP_KEY_ARG: parse_argument(state, "scene", text, &o->scene); return 0;
    case ARGP_KEY_END:
      require_scene(state, o->scene);
      if (o->init != NULL && o->sample > 0)
        argp_error(state, "--init and --sample exclude each other");
      if (o->epsilon >= 0.0 && !has_cmr(o))
        argp_error(state,
                   "--epsilon is the epsilon of cmr, and other contact models have none: give "
                   "--contact cmr too");
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

const struct argp_child *run_children(const option_words *words) {
  static struct argp_child children[3], child[2];
  static struct argp run_argp;
  children[0].argp = given_options_argp(CAROM_ROLLOUT_OPTIONS, words);
  children[1].argp = &general_argp;
  run_argp = (struct argp){.options = run_argp_options, .parser = parse_run, .children = children};
  child[0].argp = &run_argp;
  return child;
}
