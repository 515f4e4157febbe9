/* The terms of an objective, each with its derivative. */
#ifndef CAROM_PLAN_TERM_H
#define CAROM_PLAN_TERM_H

#include "plan/attempt.h"

/* The weighted value of a term at the motion of e; where `reverse`, its cotangents are added to e's:
 * x_bar, v_bar, u_bar, and those of impacts. *missing counts moments that did not come. */
double term_value(attempt *e, const term *t, bool reverse, int *missing);

#endif
