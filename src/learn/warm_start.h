/* The warm start of a training: what can be solved for is solved for, before descent.
 *
 * Descent by gradients needs hundreds of epochs because everything is learned through one number, the loss
 * of whole chunks. Much of it is nearly linear, though, once it is looked at in the right order:
 *
 *   1  potential, masses and moments from steps without a contact (learn/force_fit.h)
 *   2  masses, frictions and restitutions from the chunks with one (learn/contact_fit.h)
 *   3  where these are not yet predicted as well as the others, trials of frictions and restitutions far
 *      from where they stand (learn/property_search.h), then 2 again, a few times
 *   4  contacts that no chunk shows take what the others of their kind have (learn/pooling.h)
 *
 * On data without noise this takes seconds and ends at the precision of the arithmetic wherever the
 * network's random hidden layers can express the potential. Noise, or a potential that they cannot
 * express, leave more to descent.
 *
 * It goes on with 2 only if the forces explain the steps without a contact, and is kept if it lowers the loss of the
 * training chunks and of the validation chunks; if not, everything is as it was. The hidden layers are not touched. It depends on the model's parameters and the chunks
 * alone, gives the same bits from any number of threads and ranks, and leaves nothing behind if it is
 * interrupted. */
#ifndef CAROM_LEARN_WARM_START_H
#define CAROM_LEARN_WARM_START_H

#include "learn/adamw.h"
#include "learn/contact_fit.h"

/* Whether there is one for a model: baselines learn their contacts by a network. */
bool warm_start_possible(const carom_model *model);

/* Bytes that it asks for. */
size_t warm_start_bytes(const carom_model *model, const carom_dataset *data);

/* Runs it on parameters that have not been trained; fills all but `done` and `seconds` of the result. */
carom_status warm_start_run(carom_model *model, const carom_dataset *data, adamw *optimizer,
                            const warm_work *work, carom_warm_start *result, carom_error *error);

#endif
