/* The search of an identification, from where the unknowns begin to the least cost: which pieces,
 * how many of their states, what is tried when (docs/fitting.md, "What descent alone does not
 * find"). */
#ifndef CAROM_FIT_SEARCH_H
#define CAROM_FIT_SEARCH_H

#include "fit/fit.h"

/* States of pieces that begin where they were measured; of the shortest that a search cuts. */
int search_length(const carom_fit *fit);
int search_shortest(const carom_fit *fit);

/* Leaves unknowns, first states and pieces where the cost is least, with the noise of the channels
 * that are to be estimated. */
carom_status search_run(carom_fit *fit, const bool *estimate, carom_error *error);

/* ---- parts of it, for whoever looks elsewhere (fit/look_along.h) ---- */

/* Pieces of about `length` states: their first states, with the unknowns held where they are, then
 * all together. Unknowns that moved while impacts come in another order than they did would be
 * drawn to wherever that hurts least. */
carom_status search_pieces(carom_fit *fit, const bool *estimate, int length, int rounds,
                           carom_error *error);

/* First states of whole pieces free; they are found with the unknowns held, or with all that grows
 * where `growth` is not 0. */
carom_status search_whole(carom_fit *fit, const bool *estimate, int growth, carom_error *error);

/* Other valleys close by: along edges, and behind them. */
carom_status search_close(minimiser *m, carom_error *error);

#endif
