#include "cli/common.h"

#include "cli/failure.h"
#include "cli/progress.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char *const integrator_names[] = {"rk4", "euler", "symplectic-euler", NULL};
const char *const dynamics_names[] = {"lagrangian", "hamiltonian", NULL};
const char *const contact_names[] = {"cm", "cmr", NULL};

/* ---- the command line ---- */

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

int parse_integer(struct argp_state *state, const char *option, const char *text, int low,
                  int high) {
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (errno != 0 || end == text || *end != '\0' || value < low || value > high) {
    if (high == INT_MAX) {
      argp_error(state, "%s %s: expected an integer of at least %d", option, text, low);
    } else {
      argp_error(state, "%s %s: expected an integer from %d to %d", option, text, low, high);
    }
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
    argp_error(state, "--seed %s: expected an integer of at least 0", text);
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
    {NULL, 0, NULL, 0, "General", 4},
    {"threads", KEY_THREADS, "N", 0,
     "threads (0, the default: as many as the machine has); any number gives the same result", 4},
    {"quiet", 'q', NULL, 0, "show no progress", 4},
    {0}};

static error_t parse_general(int key, char *text, struct argp_state *state) {
  general_options *o = state->input;
  switch (key) {
    case KEY_THREADS: o->threads = parse_integer(state, "--threads", text, 0, 1024); return 0;
    case 'q': o->quiet = true; return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

const struct argp general_argp = {.options = general_argp_options, .parser = parse_general};

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

/* ---- what the options name ---- */

static void apply_options(const run_options *given, setup *s) {
  carom_rollout_options *o = &s->options;
  if (given->steps >= 0) o->steps = given->steps;
  if (given->dt > 0.0) o->dt = given->dt;
  if (given->substeps > 0) o->substeps = given->substeps;
  if (given->integrator >= 0) o->integrator = (carom_integrator)given->integrator;
  if (given->dynamics >= 0) o->dynamics = (carom_dynamics)given->dynamics;
  if (given->contact >= 0) o->contact = (carom_contact_model)given->contact;
  if (given->no_compensation) o->penetration_compensation = false;
  if (given->compensation_steps > 0.0) o->compensation_steps = given->compensation_steps;
  if (given->stop_target_gradient) o->stop_target_gradient = true;
  if (given->smoothing > 0.0) o->cone.smoothing = given->smoothing;
  if (given->cone_tolerance > 0.0) o->cone.tolerance = given->cone_tolerance;
  o->threads = given->general.threads;
}

static carom_status load_parameters(const run_options *given, setup *s, carom_error *error) {
  s->theta = malloc(sizeof(double) * (size_t)(carom_parameters_count(s->system) + 1));
  if (s->theta == NULL) return fail(error, CAROM_OUT_OF_MEMORY, "out of memory");
  carom_parameters_default(s->system, s->theta);
  if (given->parameters != NULL) {
    carom_status status = carom_parameters_read(s->system, given->parameters, s->theta, error);
    if (status != CAROM_OK) return status;
  }
  if (given->epsilon >= 0.0) {
    s->theta[carom_parameters_segment(s->system, CAROM_REGULARIZER).offset] = given->epsilon;
  }
  return CAROM_OK;
}

carom_status setup_load(const run_options *given, setup *s, carom_error *error) {
  *s = (setup){0};
  carom_status status = carom_system_load(given->scene, &s->system, error);
  if (status != CAROM_OK) return status;
  s->info = carom_system_describe(s->system);
  s->options = carom_rollout_default_options(s->system);
  apply_options(given, s);
  status = load_parameters(given, s, error);
  if (status != CAROM_OK) setup_close(s);
  return status;
}

size_t state_size(const setup *s) {
  return (size_t)s->info.point_count * (size_t)s->info.dimension;
}

static carom_status read_states(const run_options *given, setup *s, carom_error *error) {
  carom_states read;
  carom_status status = carom_states_read(s->system, given->init, &read, error);
  if (status != CAROM_OK) return status;
  s->batch = read.batch;
  s->x0 = read.x;
  s->v0 = read.v;
  status = carom_system_check_states(s->system, s->batch, s->x0, s->v0, given->tolerance, error);
  return status == CAROM_OK ? CAROM_OK : fail_at(error, given->init);
}

int drawn_states(const run_options *given) { return given->sample > 0 ? given->sample : 1; }

carom_status setup_states(const run_options *given, setup *s, carom_error *error) {
  if (given->init != NULL) return read_states(given, s, error);
  s->batch = drawn_states(given);
  size_t bytes = sizeof(double) * state_size(s) * (size_t)s->batch;
  s->x0 = malloc(bytes);
  s->v0 = malloc(bytes);
  if (s->x0 == NULL || s->v0 == NULL) {
    return fail(error, CAROM_OUT_OF_MEMORY, "no memory for %d initial states", s->batch);
  }
  return carom_system_sample(s->system, given->seed, s->batch, s->x0, s->v0, error);
}

void setup_close(setup *s) {
  carom_system_destroy(s->system);
  free(s->theta);
  free(s->x0);
  free(s->v0);
  *s = (setup){0};
}

const char *scene_file(const char *scene) {
  for (int k = 0; k < carom_scene_count(); k++) {
    if (strcmp(scene, carom_scene_name(k)) == 0) return NULL;
  }
  return scene;
}

// one file under two names: links of either kind included
static bool same_file(const char *a, const char *b) {
  struct stat first, second;
  return stat(a, &first) == 0 && stat(b, &second) == 0 && S_ISREG(first.st_mode) &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

carom_status check_output(const char *path, int input_count, const char *const *inputs,
                          carom_error *error) {
  if (path == NULL) return CAROM_OK;
  for (int k = 0; k < input_count; k++) {
    if (inputs[k] == NULL || !same_file(path, inputs[k])) continue;
    return fail(error, CAROM_INVALID_ARGUMENT,
                "-o %s: is the input %s, which would be lost; take another name", path, inputs[k]);
  }
  return carom_file_check(path, error);
}

carom_status check_run_output(const char *path, const run_options *given, const char *other,
                              carom_error *error) {
  const char *const inputs[] = {scene_file(given->scene), given->init, given->parameters, other};
  return check_output(path, sizeof inputs / sizeof inputs[0], inputs, error);
}

carom_status dump_failures(const carom_rollout *rollout, const char *folder, int *written,
                           carom_error *error) {
  *written = carom_rollout_failure_count(rollout);
  if (*written == 0) return CAROM_OK;
  if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
    return fail(error, CAROM_FILE_ERROR, "%s: cannot be made: %s", folder, strerror(errno));
  }
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && k < *written; k++) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/cone-%03d.json", folder, k);
    const carom_cone_program program = carom_rollout_failure(rollout, k);
    status = carom_cone_program_write(&program, path, error);
  }
  return status;
}

/* ---- messages and results ---- */

int report_failure(const char *command, const carom_error *error) {
  if (error->status == CAROM_INTERRUPTED || interrupted()) {
    fprintf(stderr, "carom %s: interrupted, nothing was written\n", command);
    return EXIT_INTERRUPTED;
  }
  fprintf(stderr, "carom %s: %s\n", command, error->message);
  return EXIT_FAILURE;
}

void report_unsolved_with(const char *command, const carom_report *report, const char *more) {
  if (report->failed_programs == 0) return;
  fprintf(stderr,
          "carom %s: WARNING: %lld of %lld cone programs were NOT solved (worst residual %.2g); "
          "the best impulses found were used.%s\n",
          command, (long long)report->failed_programs, (long long)report->programs,
          report->worst_residual, more);
}

void report_unsolved(const char *command, const carom_report *report) {
  report_unsolved_with(command, report, "");
}

void report_trouble(const char *command, const carom_report *report, const char *dump_folder) {
  if (report->failed_programs == 0) return;
  report_unsolved(command, report);
  if (dump_folder == NULL) {
    fputs("  --dump-failures DIR writes them to files that `carom solve FILE` replays.\n", stderr);
  } else {
    fprintf(stderr, "  The first ones are in %s: replay with `carom solve %s/cone-000.json`.\n",
            dump_folder, dump_folder);
  }
}

void describe_time_step(carom_dt_source from, const char *path, char *text, size_t size) {
  switch (from) {
    case CAROM_DT_OF_ATTRIBUTE: snprintf(text, size, "attribute dt of %s", path); return;
    case CAROM_DT_OF_TIMES: snprintf(text, size, "times /t of %s", path); return;
    case CAROM_DT_OF_SCENE: break;
  }
  snprintf(text, size, "the scene's%s%s%s", path != NULL ? ": " : "", path != NULL ? path : "",
           path != NULL ? " has neither dt nor /t" : "");
}

void report_time_step(const char *command, carom_dt_source from, double dt, const char *path) {
  if (from != CAROM_DT_OF_SCENE) return;
  fprintf(stderr,
          "carom %s: %s has neither the attribute dt nor times /t: the time step of the scene, %g, "
          "is taken\n",
          command, path, dt);
}

json_t *json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

json_t *json_report(const carom_report *r) {
  return json_pack("{sI sI sI sI sI sI sI sI so}", "time_steps", (json_int_t)r->time_steps,
                   "events", (json_int_t)r->events, "contacts", (json_int_t)r->contacts, "programs",
                   (json_int_t)r->programs, "interior_programs", (json_int_t)r->interior_programs,
                   "singular_programs", (json_int_t)r->singular_programs, "degenerate_programs",
                   (json_int_t)r->degenerate_programs, "failed_programs",
                   (json_int_t)r->failed_programs, "worst_residual",
                   json_number(r->worst_residual));
}

carom_status write_json(const char *path, const json_t *value, carom_error *error) {
  char *text = value != NULL ? json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) : NULL;
  char *line = NULL;
  const int size = text != NULL ? asprintf(&line, "%s\n", text) : -1;
  free(text);
  if (size < 0) return fail(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  const carom_status status = carom_file_write(path, line, (size_t)size, error);
  free(line);
  return status;
}

void print_json(json_t *value) {
  json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
  fputc('\n', stdout);
  json_decref(value);
}
