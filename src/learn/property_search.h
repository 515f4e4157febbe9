/* Trials of friction and restitution far from where they stand.
 *
 * The loss of a chunk is no convex function of its contacts' properties: a contact that sticks gives
 * no gradient by its friction, and between sticking and sliding, or where a contact after the
 * bounce is met or missed, there are minima that descent does not leave. One property is one number
 * with a short range, though, and few chunks feel it. So a search tries values from the whole range
 * of one property after the other and moves it where the loss falls clearly; descent goes on from
 * there.
 *
 * Which chunks feel a property is for the model to say, not for the data: until its prediction first
 * meets the contact, the motion does not depend on the contact's properties, so the loss of the
 * chunks in which it never does is the same whatever they are, and that of all others counts. Data
 * in which a contact is seen once would otherwise decide by one chunk about a property that acts in
 * many.
 *
 * No search raises the training loss. Values are tried on a sample of the chunks that feel them, a
 * move is made if it lowers the loss of all these, and the moves of a search together are kept if
 * they lower the loss of the whole training data; if not, they are undone from the last one on.
 * "The whole" is MOST_JUDGED chunks, evenly spread, where there are more.
 *
 * Friction and restitution of one contact trade off against each other in a valley with a kink at its
 * bottom, which neither leads along: where each contact has its own, both are then tried together.
 *
 * CMr has one more such number. Motion alone does not tell masses from the scale of the potential,
 * but epsilon in A + epsilon I weighs the less the smaller the masses are. Restitutions make up for it: at
 * one scale the best ones are not those at another, and either alone stands at the bottom of a valley. So
 * the common scale of masses and potential, or epsilon where that is learned itself, is searched together
 * with a factor on 1 + e of all restitutions.
 *
 * Contacts that no chunk shows follow the others in the end (learn/pooling.h).
 *
 * A search depends on the model's parameters and the chunks alone: it keeps no state. */
#ifndef CAROM_LEARN_PROPERTY_SEARCH_H
#define CAROM_LEARN_PROPERTY_SEARCH_H

#include "carom.h"

#include "learn/adamw.h"
#include "learn/observations.h"

enum { MOST_JUDGED = 4000 };

/* What a search did. */
typedef struct search_result {
  int count;
  carom_move *moves;              /* [count] in their order; released by the caller */
  double loss_before, loss_after; /* of the training data; NaN where nothing was to be moved */
} search_result;

/* Tries the scale of mass or epsilon (CMr) with restitutions, every restitution, every friction, then pairs of them. A property
 * that moves takes up descent without its old momentum. Contact programs of trials count in no
 * report: what is kept is met again by the training. After an error everything is as it was. */
carom_status property_search_run(carom_model *model, const observations *observed, adamw *optimizer,
                                 search_result *result, carom_error *error);

#endif
