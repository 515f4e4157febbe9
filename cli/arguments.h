/* The command line: what every command shares. Numbers, names, --threads, --quiet, --help; wrong usage
 * ends the program with exit code 2. */
#ifndef CAROM_CLI_ARGUMENTS_H
#define CAROM_CLI_ARGUMENTS_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

enum { EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

/* Headings of helps (groups of argp), in the order in which they stand; what is under none stands before them. */
enum {
  UNDER_INITIAL_STATES = 1,
  UNDER_OPTIMISER,
  UNDER_FIT,
  UNDER_DATA,
  UNDER_NOISE,
  UNDER_MODEL,
  UNDER_TRAINING,
  UNDER_SIMULATION,
  UNDER_CONTACTS,
  UNDER_GENERAL
};

/* Options of every command that computes for long. */
typedef struct general_options {
  int threads; /* 0: as many as the machine has */
  bool quiet;
} general_options;

/* To be used as an argp child; its input is a general_options. */
extern const struct argp general_argp;

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

#endif
