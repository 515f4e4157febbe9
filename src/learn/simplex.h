/* The least value of a function of two numbers without its derivative: the simplex method of Nelder
 * and Mead. It follows narrow valleys with a kink at their bottom, where neither steps along the
 * axes nor gradients get ahead. */
#ifndef CAROM_LEARN_SIMPLEX_H
#define CAROM_LEARN_SIMPLEX_H

#include "carom.h"

/* value = f(at); anything but CAROM_OK ends the search. */
typedef carom_status (*plane_function)(void *user, const double at[2], double *value,
                                       carom_error *error);

/* Goes down from `at`, where f is *value, with a first simplex of these steps and about `evaluations`
 * calls of f; at and value get the least that was found. Values may be infinite. */
carom_status simplex_minimise(plane_function f, void *user, const double step[2], int evaluations,
                              double at[2], double *value, carom_error *error);

#endif
