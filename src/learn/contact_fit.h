/* Masses, frictions and restitutions from the chunks that have a contact: Gauss and Newton's method over
 * whole predictions.
 *
 * The unknowns are few: logarithms of masses and moments, the friction and the restitution of each contact,
 * or one of both for all. Their columns are differences of predictions, those of a contact's properties over the
 * chunks alone in which the prediction meets the contact (learn/touch.h). The step of a difference is small:
 * over a larger one some prediction meets a contact that it missed, and one such jump looks like a slope
 * steeper than all others. When a mass moves, the potential follows so that free motion stays as it was fitted
 * (learn/force_fit.h), and what free motion tells of the masses is added to the normal matrix.
 *
 * Residuals are weighed so that their absolute values are minimised, as in the loss, down to a part of
 * their mean: a contact that is met a step too late is far off and says nothing about slopes. Properties stay
 * in their range: those that would leave it are held at its end, and the step is solved again for the rest.
 * A step is taken if it lowers the mean absolute residual. */
#ifndef CAROM_LEARN_CONTACT_FIT_H
#define CAROM_LEARN_CONTACT_FIT_H

#include "learn/force_fit.h"
#include "learn/observations.h"

typedef struct contact_fit {
  int chunks; /* that were looked at; 0: none has a contact */
  int unknowns;
  double before, after; /* mean absolute residual over their states */
} contact_fit;

/* Bytes that contact_fit_run asks for. */
size_t contact_fit_bytes(const carom_model *model, const carom_chunks *train);

/* Fits; the parameters are better than before or as they were. */
carom_status contact_fit_run(contact_fit *result, carom_model *model, const carom_chunks *train,
                             const force_fit *forces, const warm_work *work, carom_error *error);

#endif
