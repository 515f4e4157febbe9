/* carom: the program. Finds the subcommand and hands over. */
#include "carom.h"
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/ranks.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *summary;
  bool shares; /* its work with other ranks */
} command;

static const command commands[] = {
    {"list", command_list, "the built-in scenes", false},
    {"simulate", command_simulate, "simulate a scene and write the trajectories", false},
    {"gradient", command_gradient, "a loss against target trajectories and its gradient", false},
    {"check", command_check, "compare every derivative with finite differences", false},
    {"dataset", command_dataset, "make chunks of trajectories to learn from", true},
    {"import", command_import, "trajectories as other programs have them: poses from CSV, HDF5",
     false},
    {"fit", command_fit, "numbers of a scene with their uncertainty, from trajectories", false},
    {"train", command_train, "learn masses, potential and contact properties from trajectories",
     true},
    {"evaluate", command_evaluate, "errors of a trained model, what it learned beside the truth",
     true},
    {"reproduce", command_reproduce, "the paper's experiments and tables", true},
    {"plan", command_plan, "starts, controls and parameters that reach something", false},
    {"view", command_view, "a page to look at: motion, contacts, energies, runs, tables", false},
    {"render", command_render, "pictures and animations of trajectories", false},
    {"solve", command_solve, "solve one cone program from a file", false},
    {"bench", command_bench, "measure the speed of the engine", true},
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static void print_help(FILE *out) {
  fputs(
      "Usage: carom COMMAND [OPTION...]\n"
      "A differentiable simulator of rigid bodies with contacts.\n\n"
      "Commands:\n",
      out);
  for (int k = 0; k < COMMAND_COUNT; k++) {
    fprintf(out, "  %-10s %s\n", commands[k].name, commands[k].summary);
  }
  fputs(
      "\n`carom help COMMAND`, `carom COMMAND --help` and `carom COMMAND -h` explain a\n"
      "command and give an example. `carom --version` prints the version.\n\n"
      "A scene is a built-in one, named as `carom list` does, or a JSON file;\n"
      "docs/scene-format.md describes the format.\n\n"
      "Results go to standard output, progress and messages to standard error.\n"
      "Exit status: 0 success, 1 failed, 2 wrong usage, 130 interrupted.\n\n"
      "Example:\n"
      "  carom simulate cp3 --sample 10 -o cp3.h5\n",
      out);
}

static const command *find_command(const char *name) {
  for (int k = 0; k < COMMAND_COUNT; k++) {
    if (strcmp(commands[k].name, name) == 0) return &commands[k];
  }
  return NULL;
}

// the nearest command, if it is near at all
static int unknown_command(const char *name) {
  const char *names[COMMAND_COUNT + 1] = {NULL};
  for (int k = 0; k < COMMAND_COUNT; k++) names[k] = commands[k].name;
  const char *nearest = carom_name_nearest(name, names);
  fprintf(stderr, "carom: there is no command '%s'", name);
  if (nearest != NULL) fprintf(stderr, "; did you mean '%s'?", nearest);
  fputs("\n`carom --help` lists the commands.\n", stderr);
  return EXIT_USAGE;
}

// a full disk behind standard output must not pass for success
static int end_with(int code) {
  if (fflush(stdout) == 0 && ferror(stdout) == 0) return code;
  fprintf(stderr, "carom: cannot write to standard output: %s\n", strerror(errno));
  return code == 0 ? EXIT_FAILURE : code;
}

int main(int argc, char **argv) {
  argp_program_version = "carom " CAROM_VERSION;
  argp_err_exit_status = EXIT_USAGE;
  const char *name = argc > 1 ? argv[1] : NULL;
  if (name == NULL) {
    print_help(stderr);
    return EXIT_USAGE;
  }
  if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
    printf("%s\n", argp_program_version);
    return end_with(EXIT_SUCCESS);
  }
  bool help = strcmp(name, "help") == 0;
  if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (help && argc < 3)) {
    print_help(stdout);
    return end_with(EXIT_SUCCESS);
  }
  // `carom help NAME` is `carom NAME --help`
  const command *found = find_command(help ? argv[2] : name);
  if (found == NULL) return unknown_command(help ? argv[2] : name);
  char title[64];
  snprintf(title, sizeof title, "carom %s", found->name);
  char help_option[] = "--help";
  char *help_arguments[] = {title, help_option, NULL};
  argv[1] = title;
  const int code = help ? EXIT_SUCCESS : ranks_join(found->name, found->shares);
  if (code != EXIT_SUCCESS) return end_with(code);
  return end_with(help ? found->run(2, help_arguments) : found->run(argc - 1, argv + 1));
}
