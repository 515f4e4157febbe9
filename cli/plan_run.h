/* A plan that is solved, perhaps with what a run has learned; its result as JSON. */
#ifndef CAROM_CLI_PLAN_RUN_H
#define CAROM_CLI_PLAN_RUN_H

#include "carom.h"

#include <jansson.h>

/* What was loaded and found. Begins as zeros. */
typedef struct plan_run {
  carom_plan *plan;
  carom_system *learned_system; /* of the run, */
  carom_model *model;           /* and its best model; NULL: the scene's own properties */
  carom_plan_options options;
  carom_plan_result *result;
} plan_run;

/* Plans with what the run in `folder` (`carom train`) has learned. */
carom_status plan_run_properties(plan_run *w, const char *folder, carom_error *error);

/* Everything that was found, as `carom plan --json` prints it; for the caller to release. */
json_t *plan_run_json(const plan_run *w);

void plan_run_free(plan_run *w);

#endif
