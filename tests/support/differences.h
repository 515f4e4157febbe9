/* Central differences along a random direction, to compare vector-Jacobian products with. */
#ifndef CAROM_TESTS_DIFFERENCES_H
#define CAROM_TESTS_DIFFERENCES_H

#include <stdbool.h>

#include "base/rng.h"

/* A scalar function of `count` numbers, the values being changed in place around the call. */
typedef double (*scalar_function)(void *user);

/* Directional derivative of f along `direction` by central differences of steps h and h/2, with the
 * error term of order h^2 eliminated. */
double directional_difference(scalar_function f, void *user, double *values,
                              const double *direction, int count, double h);

/* Relative error of a gradient along a random direction: |gradient.direction - difference| over the
 * larger of the two, but at least a tenth of the gradient's norm and 1e-4 of the function's value
 * (or of 1), below which differences are rounding errors. The smallest over steps from 1e-3 to
 * 1e-6: truncation spoils the large ones, rounding the small ones, a wrong gradient all. The first step with less than
 * 1e-9, which is the least that a test asks for, is the last; or with less than `near`. */
double gradient_error(scalar_function f, void *user, double *values, const double *gradient,
                      int count, rng *random);
double gradient_error_within(double near, scalar_function f, void *user, double *values,
                             const double *gradient, int count, rng *random);

/* The same for functions with kinks: false, with nothing compared, where the values themselves do not
 * show a derivative (cli/stencil.h). Of four steps from 1e-3 to 1e-6 at least two must be free of kinks,
 * and those must agree. A wrong gradient has no part in it. The error is the smallest over these steps, as above; with two
 * that agree and less than 1e-7 the others are left out. */
bool smooth_gradient_error(scalar_function f, void *user, double *values, const double *gradient,
                           int count, rng *random, double *error);

#endif
