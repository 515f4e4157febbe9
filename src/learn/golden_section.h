/* The least value of a function of one number without its derivative: the best of some values, then the golden
 * section between that one's neighbours. */
#ifndef CAROM_LEARN_GOLDEN_SECTION_H
#define CAROM_LEARN_GOLDEN_SECTION_H

#include "carom.h"

/* value = f(at); anything but CAROM_OK ends the search. */
typedef carom_status (*line_function)(void *user, double at, double *value, carom_error *error);

/* The place of the best one of at[count], and its value, which may be infinite. */
carom_status best_of(line_function f, void *user, int count, const double *at, int *best,
                     double *value, carom_error *error);

/* Around at[best], where f is *value: place and value get the least that was found. */
carom_status golden_section(line_function f, void *user, int count, const double *at, int best,
                            double *place, double *value, carom_error *error);

#endif
