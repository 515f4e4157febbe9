/* Whether the data determines a learned friction or restitution.
 *
 * A number comes out of every training, also for a contact that never occurs or that sticks whatever
 * its friction is. So each property is moved away from its value, all else as it is, and the loss of
 * the chunks that feel it (learn/touch.h) is looked at: values that explain these n chunks as well
 * are those whose loss is not above the learned one's by more than 2 / n of it. (Twice the logarithm
 * of a ratio of likelihoods, 4, is what chance reaches in one of twenty cases, if errors are
 * Laplace's and a chunk counts as one independent number: it has more, but they hang together.)
 *
 * A property is determined if a small move to either side, 0.05 or a tenth of a friction above 0.5,
 * is no longer among these; an end of its range bounds it as well. Other properties and the
 * potential stay where they are meanwhile: what only several together leave open is not found. */
#ifndef CAROM_LEARN_DETERMINATION_H
#define CAROM_LEARN_DETERMINATION_H

#include "carom.h"

/* ranges are [contact_count of the system]. Contacts that share a property share its range. */
carom_status determination_run(carom_model *model, const carom_chunks *chunks,
                               carom_range *friction, carom_range *restitution, carom_error *error);

#endif
