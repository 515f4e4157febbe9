/* What the subcommands share: options of a run, loading what they name, messages, JSON. */
#ifndef CAROM_CLI_COMMON_H
#define CAROM_CLI_COMMON_H

#include "carom.h"

#include <argp.h>
#include <jansson.h>

enum { EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

/* Options of every command that computes for long. */
typedef struct general_options {
  int threads; /* 0: as many as the machine has */
  bool quiet;
} general_options;

/* To be used as an argp child; its input is a general_options. */
extern const struct argp general_argp;

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

/* argp_parse with the options that every command has: --help, -h, --usage, --version. */
void parse_command_line(const struct argp *argp, int argc, char **argv, void *input);

/* Strict numbers on the command line; a bad one ends the program with exit code 2. */
int parse_integer(struct argp_state *state, const char *option, const char *text, int low,
                  int high);
double parse_number(struct argp_state *state, const char *option, const char *text, double low,
                    double high);
uint64_t parse_seed(struct argp_state *state, const char *text);

/* The place of a name in a list that ends with NULL. */
int parse_name(struct argp_state *state, const char *option, const char *text,
               const char *const *names);

/* The one argument of a command, `what` it is: a second one is an error. */
void parse_argument(struct argp_state *state, const char *what, char *text, const char **argument);

/* An error where the scene was not given. */
void require_scene(struct argp_state *state, const char *scene);

/* Everything that a run needs, loaded and checked. */
typedef struct setup {
  carom_system *system;
  carom_system_info info;
  carom_rollout_options options;
  double *theta;
  int batch;
  double *x0, *v0; /* [batch][point_count][dimension] */
} setup;

/* Loads the system and its parameters; no initial states yet. */
carom_status setup_load(const run_options *given, setup *s, carom_error *error);

/* How many states are drawn where none are given. */
int drawn_states(const run_options *given);

/* Initial states from --init, or `sample` drawn ones (at least one). */
carom_status setup_states(const run_options *given, setup *s, carom_error *error);
void setup_close(setup *s);

/* Doubles in one state of the system. */
size_t state_size(const setup *s);

/* Whether a file of this name (NULL: none) could be written and is none of the inputs, which may be
 * NULL: asked before long work. */
carom_status check_output(const char *path, int input_count, const char *const *inputs,
                          carom_error *error);

/* The file that a scene is read from; NULL for a built-in one. */
const char *scene_file(const char *scene);

/* The same for the inputs that `given` names, and one more of the command's own (or NULL). */
carom_status check_run_output(const char *path, const run_options *given, const char *other,
                              carom_error *error);

/* Where the time step of data comes from: "attribute dt of FILE", ... */
void describe_time_step(carom_dt_source from, const char *path, char *text, size_t size);

/* A line where data do not say their time step and the scene's is taken; nothing otherwise. */
void report_time_step(const char *command, carom_dt_source from, double dt, const char *path);

/* Writes the failed cone programs of a rollout into a folder, made if it is not there. */
carom_status dump_failures(const carom_rollout *rollout, const char *folder, int *written,
                           carom_error *error);

/* Prints the message and returns the exit code that belongs to it. */
int report_failure(const char *command, const carom_error *error);

/* A loud line where cone programs failed; nothing otherwise. report_trouble adds how to get hold of
 * them, for commands with --dump-failures; report_unsolved_with adds what the command gives it. */
void report_unsolved(const char *command, const carom_report *report);
void report_unsolved_with(const char *command, const carom_report *report, const char *more);
void report_trouble(const char *command, const carom_report *report, const char *dump_folder);

/* A JSON number, null if it is not finite. */
json_t *json_number(double value);
json_t *json_report(const carom_report *report);

/* Writes it to a file; NULL is what a lack of memory left. */
carom_status write_json(const char *path, const json_t *value, carom_error *error);

/* Prints and releases. */
void print_json(json_t *value);

extern const char *const integrator_names[];
extern const char *const dynamics_names[];
extern const char *const contact_names[];

#endif
