/* Other valleys close by.
 *
 * Beside the minimum of a valley the cost of each piece should be the parabola that its derivatives
 * tell. Where a contact begins to slide there, or another side of an impact fits better, it is
 * something else: descent ends at the edge between both, and does not know what is beyond. So
 * unknowns and first states are drawn from what the parabola says of them, normal with the inverse
 * of the information, and each piece is asked whether it costs less there than it should. A drawing
 * costs a twentieth of a derivative. What is promising is descended from. */
#ifndef CAROM_FIT_DRAWS_H
#define CAROM_FIT_DRAWS_H

#include "fit/minimise.h"

/* Looks about a minimum; `moved` tells whether a descent has led lower by more than m->gain. Only
 * for pieces without joins. Every round draws other numbers. */
carom_status draws_search(minimiser *m, int round, bool *moved, carom_error *error);

/* Of drawings from the normal distribution of unknowns and first states, the share that costs a
 * piece more than its parabola says by much: 0 where the likelihood is normal, near 1 where edges
 * of the cost are closer than its curvature reaches. `rough` tells whether that is most of them. 0
 * for pieces with joins. */
carom_status draws_roughness(minimiser *m, double *share, bool *rough, carom_error *error);

#endif
