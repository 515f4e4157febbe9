/* What the kinds of models learn. */
#ifndef CAROM_LEARN_BASELINE_H
#define CAROM_LEARN_BASELINE_H

#include "carom.h"

/* Masses and a potential; in-cp-sp is given the scene's. */
static inline bool baseline_learns_potential(carom_baseline kind) {
  return kind != CAROM_BASELINE_IN;
}

/* Friction and restitution; the interaction networks are given the scene's, the perceptron none. */
static inline bool baseline_learns_contacts(carom_baseline kind) {
  return kind == CAROM_BASELINE_NONE;
}

#endif
