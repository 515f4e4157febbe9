/* First states from the flight that follows them.
 *
 * A measured first state is as good as one measurement, and often the worst of all: a hand lets go,
 * a filter begins. The states up to the first contact say the same thing better. With the motion
 * from the present first state, the residuals of its places and turns in the n states of the flight
 * are nearly
 *
 *   r_t = a + b t,   in space for turns   a + t J(omega t) b,   t = 0, dt, ... (n - 1) dt,
 *
 * with J the derivative of the exponential: what is off in the rate of a body that turns at omega
 * turns too. Their least squares a and b are what the first place and turn, and velocity and rate,
 * are off. They are taken off, and again from there: the motion is the scene's own, whatever its
 * values are at present. */
#ifndef CAROM_FIT_FLIGHT_H
#define CAROM_FIT_FLIGHT_H

#include "fit/measure.h"

enum {
  FLIGHT_PASSES = 4, /* the forms above hold but for drag and unequal moments */
  LEAST_FLIGHT = 4   /* states: fewer tell a first state no better than its own measurement */
};

/* Takes off the first state (x0, v0) of all bodies what the residuals [count][numbers] of a flight,
 * `time` [count] after it, ask for: of each body its place and, if it is rigid, its turn, as
 * forecast_run has them. */
void flight_correct(const measure *m, const double *time, int count, int numbers,
                    const double *residuals, double *x0, double *v0);

/* CAROM_INVALID_ARGUMENT where bodies are held by joints or springs: they do not fly. */
carom_status flight_check(const carom_system *system, carom_error *error);

#endif
