/* The state at a moment of a motion, and its derivative.
 *
 *   a time step           the state there
 *   the n-th contact      where and how fast just before or just after it. Contacts that act at the end of
 *                         time steps (CAROM_CONTACT_TIME_STEP) in steps one after the other are one contact
 *   the next apex         where the velocity along gravity changes its sign: between two states the velocity
 *                         is taken as linear and the position as the cubic that has both states' positions
 *                         and velocities, which is exact under constant acceleration */
#ifndef CAROM_PLAN_MOMENT_H
#define CAROM_PLAN_MOMENT_H

#include "plan/attempt.h"

typedef enum moment_source { SOURCE_STATE, SOURCE_IMPACT, SOURCE_BETWEEN } moment_source;

/* A moment as it was found. */
typedef struct found_moment {
  moment_source source;
  bool missing;   /* it did not come: the last state */
  bool after;     /* SOURCE_IMPACT */
  int state;      /* SOURCE_STATE; SOURCE_BETWEEN: the later state */
  int impact;     /* SOURCE_IMPACT; SOURCE_BETWEEN: it begins after this impact, -1: at state - 1 */
  int coordinate; /* SOURCE_BETWEEN: the velocity along gravity is sum_k up[k] v[coordinate + k] */
  double up[MAX_DIMENSION];
} found_moment;

/* Finds a moment of the motion of e, and its x, v [D]. */
found_moment moment_find(const attempt *e, const moment *m, double *x, double *v);

/* Adds cotangents of these to those of the motion. */
void moment_vjp(attempt *e, const found_moment *found, const double *x_bar, const double *v_bar);

#endif
