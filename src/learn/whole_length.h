/* Predictions over the whole length of trajectories, of a model (whole_length.c) and of a fit (fit/predict.c). */
#ifndef CAROM_LEARN_WHOLE_LENGTH_H
#define CAROM_LEARN_WHOLE_LENGTH_H

#include "carom.h"

/* Means and deviations over trajectories, from the numbers of each. */
void prediction_summarise(carom_fit_prediction *prediction);

#endif
