/* Hypotheses about one set of data side by side: what explains it better, and what predicts better. */
#ifndef CAROM_CLI_FIT_COMPARE_H
#define CAROM_CLI_FIT_COMPARE_H

#include "carom.h"

#include <jansson.h>

/* A fit that has been run, with its prediction of trajectories that were held out, if there were any. */
typedef struct hypothesis {
  const char *unknown; /* its list */
  carom_fit *fit;
  carom_fit_prediction prediction;
  bool predicted;
} hypothesis;

/* Text on the terminal, and the same as JSON: BIC by that of the best, and held-out errors by those of the first with
 * the standard error of the difference over trajectories. */
void hypotheses_print(const hypothesis *all, int count);
json_t *hypotheses_json(const hypothesis *all, int count);

void hypothesis_free(hypothesis *h);

#endif
