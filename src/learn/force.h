/* What a potential does to bodies: the acceleration of their centres from rest, constraints held.
 *
 * Where constraints hold, the force of a learned potential across them is arbitrary: the constraints
 * take it up whatever it is. The acceleration that they leave is what data can tell, and for a free
 * body it is the force per unit mass. */
#ifndef CAROM_LEARN_FORCE_H
#define CAROM_LEARN_FORCE_H

#include "carom.h"

/* acceleration [count][body_count][dimension] at x [count][D]: with the model's masses and potential,
 * and with the scene's. */
carom_status model_accelerations(carom_model *model, int count, const double *x,
                                 double *acceleration, carom_error *error);
carom_status scene_accelerations(const carom_system *system, int count, const double *x,
                                 double *acceleration, carom_error *error);

#endif
