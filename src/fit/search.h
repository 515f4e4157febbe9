/* The search of an identification, from where the unknowns begin to the least cost: which pieces, how many of their
 * states, what is tried when (docs/fitting.md, "What descent alone does not find"). */
#ifndef CAROM_FIT_SEARCH_H
#define CAROM_FIT_SEARCH_H

#include "fit/fit.h"

/* States of pieces that begin where they were measured; of the shortest that a search cuts. */
int search_length(const carom_fit *fit);
int search_shortest(const carom_fit *fit);

/* Leaves unknowns, first states and pieces where the cost is least, with the noise of the channels that are to be
 * estimated. */
carom_status search_run(carom_fit *fit, const bool *estimate, carom_error *error);

#endif
