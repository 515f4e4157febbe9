/* Unknowns without one piece.
 *
 * A piece in a wrong valley can pull the unknowns to where that valley fits, against all others,
 * and then costs least there: neither first states with the unknowns held nor descent lead out.
 * What the unknowns would be without it the derivatives tell: with the information S_i and the
 * gradient g_i of each piece, its first state eliminated, and S of all,
 *
 *   dq = (S - S_i)^-1 g_i
 *
 * Where that is more than the deviations of the estimates, unknowns go there, the piece finds its
 * first state anew, and all descend. */
#ifndef CAROM_FIT_OUTVOTE_H
#define CAROM_FIT_OUTVOTE_H

#include "fit/minimise.h"

/* From a minimum; `moved` tells whether the cost fell by more than m->gain. Only for pieces without
 * joins. */
carom_status outvote_search(minimiser *m, bool *moved, carom_error *error);

#endif
