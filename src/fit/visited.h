/* Places that a search has come to an end at.
 *
 * Where impacts may come in several orders, whole trajectories found anew from unknowns elsewhere
 * (fit/look_along.h) often end at other unknowns with nearly the same cost. Which of these places
 * the data speaks for, that cost does not tell: it lets states choose between the sides of an
 * impact (fit/branch.h). So they are kept, for whoever samples the likelihood itself
 * (fit/sample_search.h). */
#ifndef CAROM_FIT_VISITED_H
#define CAROM_FIT_VISITED_H

#include "fit/place.h"

enum { MOST_VISITED = 8 };

/* A place with the noise that was found there, and the logarithm of its likelihood by the cost of
 * the search. */
typedef struct outcome {
  place at;
  double noise[CAROM_CHANNEL_COUNT], likelihood;
} outcome;

/* Where a fit stands, to an outcome whose place was made; derivatives are those of there. */
carom_status outcome_keep(outcome *o, carom_fit *fit, carom_error *error);

/* Back to it; what is remembered of other noise has other costs, and is forgotten. */
void outcome_restore(const outcome *o, carom_fit *fit);

typedef struct visited {
  outcome all[MOST_VISITED];
  int count;
} visited;

/* Adds where a fit stands, as long as there is room. */
carom_status visited_add(visited *v, carom_fit *fit, carom_error *error);
void visited_free(visited *v);

#endif
