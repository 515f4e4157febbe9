/* The commands that make a run and its data again, from its configuration. */
#ifndef CAROM_CLI_TRAIN_COMMAND_H
#define CAROM_CLI_TRAIN_COMMAND_H

#include "carom.h"

/* "carom train cp3 --model cm-cd-clnn --seed 0 --epochs 100 -o FOLDER": options that are not the
 * defaults are named. NULL if there is no memory; the caller frees it. */
char *train_command(const carom_run_config *config, const carom_system *system, const char *folder);

/* "carom dataset cp3 --seed 0 --train 40 -o PATH": the same for the data that a run made for itself. */
char *dataset_command(const carom_run_config *config, const carom_system *system, const char *path);

/* A command line as a shell would read it: words in quotes where they need them. */
char *command_line(int argc, char **argv);

#endif
