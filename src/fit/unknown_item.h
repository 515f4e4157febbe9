/* One item of the list of unknowns, as text:
 *
 *   NAME, NAME[OF], NAME[OF][AXIS], mass[b]/mass[a]
 *
 * and behind it what is said of its value, as in :start=0.3:low=0:prior=0.3/0.05:shared. What the
 * name stands for is unknowns_parse's. */
#ifndef CAROM_FIT_UNKNOWN_ITEM_H
#define CAROM_FIT_UNKNOWN_ITEM_H

#include "carom.h"

enum { SHARING_SCENE, SHARING_SHARED, SHARING_EACH };

/* An item, taken apart. */
typedef struct unknown_item {
  char text[160]; /* as it was written */
  char name[32], at[3][80], divisor[112];
  int at_count;
  int sharing;
  double start, low, high, prior, prior_deviation; /* NaN: not given */
} unknown_item;

/* Takes the `length` characters from `begin` apart. */
carom_status unknown_item_read(const char *begin, size_t length, unknown_item *it,
                               carom_error *error);

/* The error that says what is wrong with an item. */
carom_status unknown_item_bad(const unknown_item *it, carom_error *error, const char *why);

#endif
