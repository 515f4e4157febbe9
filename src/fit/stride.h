/* Steps over edges: each piece its own share of a step.
 *
 * The cost jumps where two impacts change their order, and where one is more than a time step from
 * where it was measured. One piece that is at such an edge would forbid every step of all others
 * and of the unknowns. Without joins a step has two parts for each piece,
 *
 *   dz = -K^-1 g  -  K^-1 B dq
 *
 * the way to its own minimum, and how it follows the unknowns, with which its prediction stays
 * about what it is. Where a piece costs more behind the step, it takes a share of the first part
 * alone: a shorter one, none, or a little back from the edge. The slope of the cost by the unknowns
 * is the same for all shares, so that these go on their way. */
#ifndef CAROM_FIT_STRIDE_H
#define CAROM_FIT_STRIDE_H

#include "fit/minimise.h"

/* After a trial of the whole step, that of m->dq and m->dz, which costs `cost`: pieces that cost
 * more than m->piece_costs take other shares in m->trial_starts. `cost` and how much the quadratic
 * model falls become those of what was taken. */
carom_status stride_shorten(minimiser *m, double *cost, double *predicted, carom_error *error);

#endif
