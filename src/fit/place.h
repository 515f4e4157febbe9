/* Where a search stands, to go back to. */
#ifndef CAROM_FIT_PLACE_H
#define CAROM_FIT_PLACE_H

#include "fit/minimise.h"

typedef struct place {
  double *q, *starts;
  double cost;
} place;

/* False if memory is short; place_free is due in any case. */
bool place_make(place *at, const minimiser *m);
void place_free(place *at);

/* What is kept and where descents end are rivals of the least cost (minimise_remember). */
void place_keep(place *at, minimiser *m);
void place_restore(const place *at, minimiser *m);

/* A few iterations from where it stands; the cost is infinite if there is no motion there. */
carom_status place_descend(minimiser *m, int iterations, carom_error *error);

#endif
