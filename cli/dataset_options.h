/* How a data set is made, on the command line: options that `carom dataset` and commands that make
 * their own data share. */
#ifndef CAROM_CLI_DATASET_OPTIONS_H
#define CAROM_CLI_DATASET_OPTIONS_H

#include "carom.h"

#include <argp.h>

/* As given; what was not given is taken from the scene by dataset_options_apply. */
typedef struct dataset_arguments {
  int train, validation, test; /* -1: the default */
  int chunk;                   /* 0: the default */
  int steps;                   /* 0: the scene's */
  double noise;                /* -1: the default */
  double share;                /* -1: the default */
  int contact;                 /* -1: the default */
} dataset_arguments;

dataset_arguments dataset_arguments_default(void);

/* To be used as an argp child; its input is a dataset_arguments. */
extern const struct argp dataset_argp;

carom_dataset_options dataset_options_apply(const dataset_arguments *given,
                                            const carom_system *system);
carom_options dataset_simulation_apply(const dataset_arguments *given, const carom_system *system);

#endif
