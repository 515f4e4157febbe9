/* Minima at the edge of a jump.
 *
 * The cost of a piece jumps where two impacts change their order, and where one is more than a time
 * step from where it was measured: what data there is forbids the other side. The least cost is
 * often at such an edge, and descent ends where it meets it, not where the edge is lowest. So in
 * coordinates w of the first state in which the cost is a sphere about its minimum w*, the normal n
 * of the edge is measured, from a point a bit before it, by how far it is along rays to w* and
 * beside it,
 *
 *   t (n e + s n_k) = t_0 n e      e = w* / |w*|, a ray e + s e_k
 *
 * and the piece goes to w* - n (n w*), along the edge. Where that meets another edge, both are kept
 * to. */
#ifndef CAROM_FIT_EDGE_H
#define CAROM_FIT_EDGE_H

#include "fit/minimise.h"

/* `moved` tells whether the first state of a piece has found a lower place on its edge. Only for
 * pieces without joins. */
carom_status edge_search(minimiser *m, bool *moved, carom_error *error);

#endif
