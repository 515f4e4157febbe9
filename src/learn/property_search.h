/* Trials of friction and restitution far from where they stand.
 *
 * The loss of a chunk is no convex function of its contacts' properties: a contact that sticks gives
 * no gradient by its friction, and between sticking and sliding, or where a contact after the
 * bounce is met or missed, there are minima that descent does not leave. One property is one number
 * with a short range, though, and few chunks feel it. So a search tries values from the whole range
 * of one property after the other, on the training chunks in which its contact occurs, and moves it
 * where the loss falls clearly; descent goes on from there.
 *
 * Friction and restitution of one contact trade off against each other in a valley with a kink at its
 * bottom, which neither leads along: where each contact has its own, both are then tried together.
 *
 * CMr has one more such number. Motion alone does not tell masses from the scale of the potential,
 * but epsilon in A + epsilon I weighs the less the smaller the masses are: their common scale is
 * searched too, where epsilon is not learned itself.
 *
 * A search depends on the model's parameters and the chunks alone: it keeps no state. */
#ifndef CAROM_LEARN_PROPERTY_SEARCH_H
#define CAROM_LEARN_PROPERTY_SEARCH_H

#include "carom.h"

#include "learn/adamw.h"

/* The chunks that each property is tried on. */
typedef struct property_search {
  int property_count;
  int *counts;  /* [property_count + 1]; the last one is of chunks with any contact */
  int *indices; /* [property_count + 1][SEARCH_CHUNKS], the first `counts` of each are used */
} property_search;

/* Finds the chunks of each property; the search needs no more than these afterwards. */
carom_status property_search_make(property_search *search, const carom_model *model,
                                  const carom_chunks *chunks, carom_error *error);
void property_search_free(property_search *search);

/* Tries the scale of mass (CMr), every restitution, every friction, then
 * pairs of them. A property that moves takes up descent without its
 * old momentum; `moved` gets their number. Contact programs of trials count in no report: what is
 * kept is met again by the training. After an error no property stands at a trial's value. */
carom_status property_search_run(const property_search *search, carom_model *model,
                                 const carom_chunks *chunks, adamw *optimizer, int *moved,
                                 carom_error *error);

#endif
