/* Ways out of a wrong valley of the cost, which has one for each order in which impacts may come
 * and for each contact that may slide or stick.
 *
 * First states: where a piece costs more than noise explains, it is found anew with the unknowns
 * held, from where it was measured, to fit two states, then four, ...: what is known by then
 * predicts the next two well enough that contacts happen as they did. Where it does not, first
 * states are drawn from what the states before leave open, and the best goes on. Pieces do not hang
 * on each other then, and each takes what it finds if that is better.
 *
 * Properties: frictions and restitutions are put elsewhere, everything else follows while they are
 * held, then they are let go: at a border that they are near, where something slides if everything
 * sticks, and further off where the fit is bad. Trials that hold everything else (minimise_search)
 * find a valley only if its floor is below where the others stand. */
#ifndef CAROM_FIT_VALLEY_H
#define CAROM_FIT_VALLEY_H

#include "fit/minimise.h"

/* `moved` tells whether a piece found a better first state; `all` pieces look for one. Only for
 * pieces without joins. */
carom_status valley_states(minimiser *m, bool all, bool *moved, carom_error *error);

/* The same of one piece. */
carom_status valley_piece(minimiser *m, int index, bool *moved, carom_error *error);

/* From which friction on nothing slides any more, all else as it is: where the cost no longer hangs
 * on unknown j. Its present value where it does. */
carom_status valley_sliding_edge(minimiser *m, int j, double *edge, carom_error *error);

/* `moved` tells whether the cost fell by more than m->gain. Nothing is tried where there are more
 * than six such properties: it is dear. */
carom_status valley_properties(minimiser *m, bool *moved, carom_error *error);

#endif
