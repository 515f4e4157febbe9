#include "cli/run_options.h"

#include <limits.h>

const char *const integrator_names[] = {"rk4", "euler", "symplectic-euler", NULL};
const char *const dynamics_names[] = {"lagrangian", "hamiltonian", NULL};
const char *const contact_names[] = {"cm", "cmr", NULL};

enum option_key {
  KEY_INIT = 256,
  KEY_DT,
  KEY_SUBSTEPS,
  KEY_EPSILON,
  KEY_INTEGRATOR,
  KEY_PARAMETERS,
  KEY_NO_COMPENSATION,
  KEY_COMPENSATION_STEPS,
  KEY_SMOOTHING,
  KEY_CONE_TOLERANCE,
  KEY_TOLERANCE,
  KEY_JSON
};

static const struct argp_option run_argp_options[] = {
    {NULL, 0, NULL, 0, "Initial states", 1},
    {"init", KEY_INIT, "FILE", 0,
     "initial states: a state file, or the first states of a trajectory file", 1},
    {"tolerance", KEY_TOLERANCE, "X", 0,
     "how far initial states from a file may violate the constraints, relative (1e-6)", 1},
    {NULL, 0, NULL, 0, "Simulation", 2},
    {"dt", KEY_DT, "H", 0, "length of a time step (the scene's)", 2},
    {"substeps", KEY_SUBSTEPS, "N", 0, "integrator steps in a time step (1)", 2},
    {"integrator", KEY_INTEGRATOR, "NAME", 0, "rk4, euler or symplectic-euler (the scene's)", 2},
    {"parameters", KEY_PARAMETERS, "FILE", 0,
     "parameter file (HDF5) with masses, friction and others in place of the scene's", 2},
    {NULL, 0, NULL, 0, "Contacts", 3},
    {"epsilon", KEY_EPSILON, "X", 0, "epsilon of cmr (the scene's)", 3},
    {"no-compensation", KEY_NO_COMPENSATION, NULL, 0, "leave penetrations as they are", 3},
    {"compensation-steps", KEY_COMPENSATION_STEPS, "X", 0,
     "time steps in which a penetration is undone (8)", 3},
    {"smoothing", KEY_SMOOTHING, "KAPPA", 0,
     "complementarity at which cone programs are solved, for smoothed gradients (0)", 3},
    {"cone-tolerance", KEY_CONE_TOLERANCE, "X", 0,
     "largest scaled residual at which a cone program counts as solved (1e-10)", 3},
    {"json", KEY_JSON, NULL, 0, "results as JSON", 4},
    {0}};

run_options run_options_default(void) {
  return (run_options){.steps = -1,
                       .epsilon = -1.0,
                       .tolerance = 1e-6,
                       .contact = -1,
                       .integrator = -1,
                       .dynamics = -1};
}

bool parse_run_option(run_options *o, int key, char *text, struct argp_state *state) {
  switch (key) {
    case RUN_SAMPLE: o->sample = parse_integer(state, "--sample", text, 1, INT_MAX); return true;
    case RUN_SEED: o->seed = parse_seed(state, text); return true;
    case RUN_STEPS: o->steps = parse_integer(state, "--steps", text, 0, INT_MAX - 1); return true;
    case RUN_CONTACT: o->contact = parse_name(state, "--contact", text, contact_names); return true;
    case RUN_DYNAMICS:
      o->dynamics = parse_name(state, "--dynamics", text, dynamics_names);
      return true;
    case RUN_STOP_TARGET_GRADIENT: o->stop_target_gradient = true; return true;
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
    case KEY_PARAMETERS: o->parameters = text; return true;
    case KEY_JSON: o->json = true; return true;
    default: return false;
  }
}

// options that say how it is simulated
static bool parse_method(run_options *o, int key, char *text, struct argp_state *state) {
  switch (key) {
    case KEY_DT: o->dt = parse_number(state, "--dt", text, 1e-300, 1e300); return true;
    case KEY_SUBSTEPS:
      o->substeps = parse_integer(state, "--substeps", text, 1, 1000000);
      return true;
    case KEY_EPSILON: o->epsilon = parse_number(state, "--epsilon", text, 0.0, 1e300); return true;
    case KEY_INTEGRATOR:
      o->integrator = parse_name(state, "--integrator", text, integrator_names);
      return true;
    case KEY_NO_COMPENSATION: o->no_compensation = true; return true;
    case KEY_COMPENSATION_STEPS:
      o->compensation_steps = parse_number(state, "--compensation-steps", text, 1e-3, 1e9);
      return true;
    case KEY_SMOOTHING:
      o->smoothing = parse_number(state, "--smoothing", text, 0.0, 1e3);
      return true;
    case KEY_CONE_TOLERANCE:
      o->cone_tolerance = parse_number(state, "--cone-tolerance", text, 1e-300, 1.0);
      return true;
    default: return false;
  }
}

static error_t parse_run(int key, char *text, struct argp_state *state) {
  run_options *o = state->input;
  if (parse_input(o, key, text, state) || parse_method(o, key, text, state)) return 0;
  switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &o->general; return 0;
    case ARGP_KEY_ARG: parse_argument(state, "scene", text, &o->scene); return 0;
    case ARGP_KEY_END:
      require_scene(state, o->scene);
      if (o->init != NULL && o->sample > 0)
        argp_error(state, "--init and --sample exclude each other");
      if (o->epsilon >= 0.0 && o->contact == CAROM_CM)
        argp_error(state,
                   "--epsilon is the epsilon of cmr, and cm has none: give --contact cmr too");
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_child general_child[] = {{&general_argp, 0, NULL, 0}, {0}};
static const struct argp run_argp = {
    .options = run_argp_options, .parser = parse_run, .children = general_child};
const struct argp_child run_children[] = {{&run_argp, 0, NULL, 0}, {0}};
