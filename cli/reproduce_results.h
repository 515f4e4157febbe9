/* Evaluated runs under one folder: FOLDER/<task>/<model>/seed<k>/ with evaluation.json, config.json
 * and metrics.csv, as `carom train` and `carom evaluate` write them. */
#ifndef CAROM_CLI_REPRODUCE_RESULTS_H
#define CAROM_CLI_REPRODUCE_RESULTS_H

#include "carom.h"

#include <jansson.h>

typedef struct result {
  char *task, *model; /* the names of the folders */
  int seed;
  char *folder;       /* below the folder of all: "cp3/cm-cd-clnn/seed0" */
  json_t *evaluation; /* evaluation.json */
  bool shared_properties;
  char *version; /* that trained it */
  char *command; /* that trains it again */
  int epochs;    /* done */
  int best_epoch;
  double best_loss;           /* of validation, of that epoch */
  double seconds;             /* of all epochs */
  int batches;                /* of an epoch */
  double iteration_seconds;   /* of one of them, validation included */
  int64_t programs, unsolved; /* cone programs of the training */
} result;

/* Sorted by task (those of the paper first, in its order), model (in the order of
 * carom_model_name) and seed. */
typedef struct result_list {
  int count;
  result *items;
} result_list;

/* A run without evaluation.json is left out; one whose files cannot be read is an error. */
carom_status results_collect(const char *folder, result_list *list, carom_error *error);
void results_free(result_list *list);
void result_free(result *r);

/* Where the runs of the same task and model end that begin at `first`. */
int results_group_end(const result_list *list, int first);

#endif
