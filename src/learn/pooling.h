/* Frictions and restitutions of contacts that no chunk shows.
 *
 * A table of thirty contacts is rarely shown whole by a few dozen chunks. What no prediction of a training chunk
 * meets has no gradient, and would keep the random number that training began with. The best guess is what the
 * others say: it takes the median of the contacts of its kind (pairs of bodies, bodies with planes, limits) that
 * are met, and keeps what it has where none is. No loss of a training chunk changes by that. */
#ifndef CAROM_LEARN_POOLING_H
#define CAROM_LEARN_POOLING_H

#include "learn/touch.h"

/* Fills in what no chunk of the lists feels; after an error nothing has changed. */
carom_status pool_unfelt(carom_model *model, const touch_lists *touches, carom_error *error);

/* The same with lists of all chunks. */
carom_status pool_unfelt_chunks(carom_model *model, const observations *observed,
                                carom_error *error);

#endif
