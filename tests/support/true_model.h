/* A model that knows the truth: the scene's own masses, moments, friction and restitution, and gravity as its
 * potential. A network has no linear units, but softplus far out on its straight arm is one to rounding:
 *
 *   V = sum over coordinates of w_i softplus(x_i + 50) = w . x + constant
 *
 * Features beside these, with weights at random and an output of 0, stand for what else a potential might be. */
#ifndef CAROM_TESTS_TRUE_MODEL_H
#define CAROM_TESTS_TRUE_MODEL_H

#include "learn/model.h"

/* Of a scene whose only potential is gravity, contacts of which share their properties. NULL: no memory. The
 * output weights of the coordinates stand first in the model's array "weight1", then those of the features.
 * regularizer 0: the scene's. */
carom_model *true_model_make(const carom_system *system, carom_contact_model kind,
                             double regularizer, int features);

/* Where an array of the model's begins; -1: there is none. */
int true_model_offset(const carom_model *m, const char *name);

#endif
