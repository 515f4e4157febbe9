/* How a data set is made, on the command line: what `carom dataset` and commands that make their own
 * data share. */
#ifndef CAROM_CLI_DATASET_OPTIONS_H
#define CAROM_CLI_DATASET_OPTIONS_H

#include "carom.h"
#include "cli/given_options.h"

#include <argp.h>

typedef struct dataset_arguments {
  given_options options;
  int contact; /* -1: it was not given */
} dataset_arguments;

dataset_arguments dataset_arguments_default(void);

/* To be used as an argp child; its input is a dataset_arguments. */
const struct argp *dataset_argp(void);

/* Puts what was given into the options of a data set, and into the contact model of the simulation
 * that makes it. */
void dataset_arguments_apply(const dataset_arguments *given, carom_dataset_options *options,
                             carom_contact_model *contact);

/* Data from a file: trajectories are cut as the options say, but a data set (io/dataset_file.h) is
 * taken as it is, and an option that would change nothing is an error (CAROM_INVALID_ARGUMENT). The
 * contact model is none of these: it is also that of the true motion in `carom evaluate`. */
carom_status dataset_arguments_check(const dataset_arguments *given, const char *path,
                                     carom_error *error);

/* Simulates a data set, with a bar of progress unless `quiet`. */
carom_status dataset_simulate(const carom_system *system, const carom_rollout_options *simulation,
                              carom_dataset_options options, bool quiet, carom_dataset **data,
                              carom_error *error);

/* Says on stderr if the contacts of a data set were simulated in another way than a model has them. */
void dataset_warn_simulation(const char *command, const carom_system *system,
                             const carom_dataset *data, const carom_model_options *model);

#endif
