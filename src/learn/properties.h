/* What a training learns about the bodies and their contacts, as a list of named numbers: the
 * columns of metrics.csv, the scalars of TensorBoard, the rows of the table at the end.
 *
 *   friction, restitution             one for all contacts, or
 *   friction/LABEL, restitution/LABEL one for each possible contact ("friction/a|ground")
 *   mass_ratio/BODY                   mass by that of the first body, for the others
 *   moment/BODY/AXIS                  second moments per unit mass of rigid bodies
 *   regularizer                       epsilon of CMr, if it is learned
 *
 * Masses come as ratios because motion alone does not tell them from the scale of the potential. */
#ifndef CAROM_LEARN_PROPERTIES_H
#define CAROM_LEARN_PROPERTIES_H

#include "carom.h"

/* The properties of a system that a model with these options learns (carom_model_properties). */
carom_status properties_make(const carom_system *system, const carom_model_options *options,
                             carom_properties *list, carom_error *error);

/* Writes the name of a contact's friction or restitution: "friction/LABEL", or "friction" alone where
 * all contacts share it. */
void contact_property_name(const carom_system *system, carom_segment which, int contact,
                           bool shared, char *name, size_t size);

#endif
