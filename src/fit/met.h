/* First states that the search has met elsewhere.
 *
 * The same trajectories are looked at from several places of the unknowns, and each may have found
 * the right order of its impacts at another of them. So what was found there is tried here:
 * descents of single pieces from all that was met, the unknowns held. */
#ifndef CAROM_FIT_MET_H
#define CAROM_FIT_MET_H

#include "fit/minimise.h"

enum { MOST_MET = 8 };

typedef struct met {
  size_t size;    /* numbers of the first states of all pieces */
  double *starts; /* [MOST_MET][piece_count][2 D] */
  int count;
} met;

/* False if memory is short; met_free is due in any case. */
bool met_make(met *all, const minimiser *m);
void met_free(met *all);

/* Keeps where m stands; the last one makes room. */
void met_add(met *all, const minimiser *m);

/* Pieces that cost less by more than m->gain behind a descent from a state that was met take it;
 * `moved` tells whether one does. Only for pieces without joins. */
carom_status met_search(const met *all, minimiser *m, bool *moved, carom_error *error);

#endif
