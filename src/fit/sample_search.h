/* Behind a search, a sample of the likelihood where that is not normal (fit/posterior.h).
 *
 * A sample knows the orders of impacts about the place that it begins at. So there is one for each
 * place that the search has visited (fit/visited.h), and how likely each of them is tells by how
 * much it counts: of a normal distribution about the place k, with as many freedoms for all,
 *
 *   log(weight of k) = -(mean cost of its draws) + 1/2 log(volume) + ...,
 *
 * where volumes are taken to be alike. Mean costs of two samples of one place differ by some units,
 * since single trajectories stay in orders of impacts that are rare; differences are divided by
 * four for that. */
#ifndef CAROM_FIT_SAMPLE_SEARCH_H
#define CAROM_FIT_SAMPLE_SEARCH_H

#include "fit/fit.h"

/* A sample to fit->sample, where the likelihood is not normal and the model fits. The fit goes to
 * the place that counts most. Where some impacts cannot be put where they were measured at any
 * place, whole pieces are found anew with the unknowns that a sample has led to, once. Derivatives
 * are those of somewhere else afterwards. */
carom_status sample_search(carom_fit *fit, const bool *estimate, carom_error *error);

#endif
