/* Evaluating the run in a folder: what `carom evaluate` does but for the printing. */
#ifndef CAROM_CLI_EVALUATE_RUN_H
#define CAROM_CLI_EVALUATE_RUN_H

#include "carom.h"

#include <jansson.h>

extern const char *const checkpoint_names[]; /* "best", "last" */
extern const char *const split_names[];      /* "train", "val", "test" */

typedef struct evaluate_request {
  const char *run;    /* the folder */
  const char *data;   /* NULL: the run's */
  const char *whole;  /* trajectories to predict over their whole length; NULL: none */
  const char *output; /* files are OUTPUT.json and OUTPUT.h5; NULL: evaluation in the folder, with
                         the name of other data behind it */
  int checkpoint;
  carom_split split;
  carom_evaluation_options options; /* `contact` and `train` are filled in from the run */
} evaluate_request;

/* The best checkpoint on the test chunks. */
evaluate_request evaluate_request_default(void);

/* A run with what was found out about it. */
typedef struct evaluate_outcome {
  carom_run_config config;
  carom_system *system;
  carom_model *model;
  carom_dataset *data;
  carom_dataset *training; /* the run's own, where `data` is another; NULL if it cannot be read */
  char output[4096];       /* of the files, without their endings */
  carom_evaluation *result;
  carom_fit_prediction prediction; /* of `whole` */
} evaluate_outcome;

/* Evaluates and writes OUTPUT.h5, then OUTPUT.json. `o` is zeroed by the
 * caller, and to be released after a failure too. */
carom_status evaluate_run(const evaluate_request *a, evaluate_outcome *o, carom_error *error);
void evaluate_outcome_free(evaluate_outcome *o);

/* Every number, and what was evaluated: the content of evaluation.json. NULL if there is no memory. */
json_t *evaluate_describe(const evaluate_request *a, const evaluate_outcome *o);

#endif
