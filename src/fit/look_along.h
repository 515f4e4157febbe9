/* Whole pieces anew from unknowns elsewhere: a search that has settled in orders of impacts which
 * fit wrong unknowns has no way out by itself. */
#ifndef CAROM_FIT_LOOK_ALONG_H
#define CAROM_FIT_LOOK_ALONG_H

#include "fit/fit.h"

/* Where orders of impacts are open, whole pieces may have settled in those that fit unknowns which
 * are some deviations off, and each would have to find another one at once for these to move. So
 * all are found anew, from unknowns a bit off on either side. Where that ends is kept in
 * fit->visited. Only of pieces that are whole trajectories: others would be cut elsewhere. */
carom_status look_along(carom_fit *fit, const bool *estimate, carom_error *error);

#endif
