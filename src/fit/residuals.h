/* Residuals of the states of an evaluation: compared, weighed by the robust loss, added to cost and
 * normal equations. */
#ifndef CAROM_FIT_RESIDUALS_H
#define CAROM_FIT_RESIDUALS_H

#include "fit/evaluation.h"

/* State `at` of a sample's piece beside its prediction: its residuals wait in e->r, e->J for what
 * sides of an impact have to say, until they are settled. */
void residuals_compare(evaluation *e, int sample, int at);

/* What was kept of a state goes into cost and normal equations. */
void residuals_settle(evaluation *e, int sample);

/* J [columns][count] of the residuals at the state s, compared with y, whose derivative is Y. */
void residuals_rows(const evaluation *e, const double *s, const double *y, const double *Y,
                    double *J);

/* What the numbers of one unit cost. */
double residuals_unit_cost(const shooting *sh, const double *r, int unit);

#endif
