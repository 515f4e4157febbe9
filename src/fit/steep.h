/* First states beyond the next ridge.
 *
 * A body that hops along the ground hits it at times that the first state shifts: the cost has a
 * valley for each hop that may be mistaken for the next one, and for each impact that may slide or
 * stick. Such valleys stand side by side, far apart by what the valley's own curvature says, so
 * that neither descent nor small moves lead from one to the next. The cost of a piece is therefore
 * looked at along the principal axes of its first state, far out, and wherever it has a dip, a
 * descent begins. */
#ifndef CAROM_FIT_STEEP_H
#define CAROM_FIT_STEEP_H

#include "fit/minimise.h"

/* `moved` tells whether a piece has found a better first state. Only for pieces without joins. */
carom_status steep_search(minimiser *m, bool *moved, carom_error *error);

#endif
