/* Which chunks feel a contact: those in which the model's own prediction meets it. Until then the
 * motion does not depend on the contact's friction and restitution, so the loss of all other chunks
 * is the same whatever they are. */
#ifndef CAROM_LEARN_TOUCH_H
#define CAROM_LEARN_TOUCH_H

#include "learn/observations.h"

typedef struct chunk_list {
  int count, capacity;
  int *items; /* [count] indices of chunks */
} chunk_list;

typedef struct touch_lists {
  int property_count; /* of the model: one friction for all contacts, or one for each */
  chunk_list *lists;  /* [property_count + 1]; the last one is of chunks with any contact */
} touch_lists;

/* Predicts the chunks at `indices` (NULL: the first `count`) with the model as it stands. */
carom_status touch_lists_make(touch_lists *touches, carom_model *model,
                              const observations *observed, int count, const int *indices,
                              carom_error *error);
void touch_lists_free(touch_lists *touches);

/* observations_loss in pieces, so that memory does not grow with the number of chunks; infinite
 * where a prediction leaves the finite numbers. */
carom_status loss_of_chunks(carom_model *model, const observations *observed, int count,
                            const int *indices, double *loss, carom_error *error);

/* `count` of `most` indices, evenly spread: the k-th. */
static inline int spread_index(int k, int count, int most) {
  return (int)((int64_t)k * most / count);
}

#endif
