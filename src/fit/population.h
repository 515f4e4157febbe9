/* First states by a population.
 *
 * Noise that is a body's way of several time steps leaves many orders open in which the impacts of
 * a piece may come, and the cost has a valley for each. One first state that is found to fit two
 * states, then four, ... (fit/valley.h) ends in the valley that was lowest when few states were
 * looked at. So many go on at once: they are drawn from what the first state of the piece says, and
 * while the horizon grows they stay a sample of
 *
 *   exp(-cost of the states up to the horizon)
 *
 * by sequential Monte Carlo. The next states come in by degrees t from 0 to 1,
 *
 *   exp(-cost of the states before - t * cost of the next states)
 *
 * each so far that a third of the members still count; members live on by their weights, and move
 * by Metropolis' rule, along differences of two others (which know how wide the valley is between
 * its edges) and along the axes of the curvature. At the last horizon they become a sample of
 *
 *   exp(-power * cost)
 *
 * for powers that rise to 27, so that they gather where the cost is least, over edges that no
 * descent crosses; in the end the best descend. The unknowns are held. */
#ifndef CAROM_FIT_POPULATION_H
#define CAROM_FIT_POPULATION_H

#include "fit/minimise.h"

/* Pieces of one search, and freedoms of each, at most. */
enum { POPULATION_PIECES = 16, POPULATION_FREEDOMS = 64 };

/* First states of the pieces that cost more than `deviations` above what noise leaves of them, the
 * worst first and no more than POPULATION_PIECES: it is dear. `moved` tells whether one costs less
 * than it did by more than m->gain. Each `round` draws other numbers. Only for pieces without
 * joins, of at most POPULATION_FREEDOMS freedoms. */
carom_status population_search(minimiser *m, double deviations, int round, bool *moved,
                               carom_error *error);

/* `count` first states [count][2 D] of piece `index` that are a sample of its likelihood, the
 * unknowns held: no state takes another side of an impact than that which it is on. The horizon
 * grows while they pay for a part `first` of what they gain by that, then by degrees for all of it.
 * `cost` is their mean, infinite if there are none, or none below `most`. Only for pieces as
 * population_search has them. */
carom_status population_draw(minimiser *m, int index, int round, double first, double most,
                             int count, double *states, double *cost, carom_error *error);

#endif
