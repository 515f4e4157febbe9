/* The command line of `carom train`, and what it makes of a run's configuration. */
#ifndef CAROM_CLI_TRAIN_OPTIONS_H
#define CAROM_CLI_TRAIN_OPTIONS_H

#include "cli/arguments.h"
#include "cli/dataset_options.h"
#include "cli/progress.h"

/* As given; what was not given has the value in the comment. */
typedef struct train_arguments {
  const char *scene;  /* NULL: that of the run, with --resume */
  const char *data;   /* NULL */
  const char *output; /* the run folder */
  const char *model;  /* NULL */
  bool paper;
  bool has_seed;
  uint64_t seed;
  given_options network, training; /* of the model and of the trainer */
  dataset_arguments dataset;
  bool resume;
  bool json;
  general_options general;
  progress_whole whole; /* of `carom reproduce`, whose run this is one of */
} train_arguments;

train_arguments train_arguments_default(void);

/* The options that say how to train, not what: to be used as an argp child, whose input is a
 * train_arguments. */
const struct argp *training_argp(void);

/* Parses; wrong usage ends the program with exit code 2. */
train_arguments train_arguments_parse(int argc, char **argv);

/* A configuration for a new run of the system. carom_run_config_free releases it. */
carom_status train_config_make(const train_arguments *given, const carom_system *system,
                               carom_run_config *config, carom_error *error);

/* Whether what was given agrees with the run that is taken up: the message names what does not. More
 * epochs may be asked for where the schedule does not depend on them; they are put into `config`. */
carom_status train_config_resume(const train_arguments *given, const carom_system *system,
                                 carom_run_config *config, carom_error *error);

#endif
