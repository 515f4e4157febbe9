/* Inside view of carom/ranks.h: how parts of a work are dealt out, and how their results come together.
 *
 * Parts are numbered, and a rank has a run of consecutive ones. What is computed from a part does not
 * depend on the rank, and sums over parts are made in the order of parts. All functions but those that
 * count are collective: every rank calls them, in the same order. With one rank they do nothing. */
#ifndef CAROM_BASE_RANKS_H
#define CAROM_BASE_RANKS_H

#include <stddef.h>

#include "carom.h"

/* [first, end) */
typedef struct rank_range {
  int first, end;
} rank_range;

/* Which of so many parts are this rank's. */
rank_range ranks_own(int parts);

/* data: `items` elements of so many bytes, `each` of them to a part (the last may have fewer), of which
 * this rank has computed its own; afterwards it has all. */
void ranks_collect(void *data, size_t bytes, int parts, int each, int items);

/* data becomes that of one rank on all. */
void ranks_tell(void *data, size_t bytes, int from);

/* sum [count] = the sums over the parts of all ranks in their order; `own` [own_count][count]: this rank's.
 *
 * A rank takes the sum so far from the rank before, adds its parts and hands it on; the last one has it
 * all and tells everybody. Each rank receives the vector twice, however many parts there are; it goes in
 * pieces, so that all ranks add at the same time. */
void ranks_add_up(int count, const double *own, int own_count, double *sum);

/* Whether it is true on all ranks. */
bool ranks_all(bool mine);

/* Whether `bytes` bytes are the same on all ranks. */
bool ranks_same(const void *data, size_t bytes);

/* Between these a rank works by itself: it is the only one. */
void ranks_alone_begin(void);
void ranks_alone_end(void);

#endif
