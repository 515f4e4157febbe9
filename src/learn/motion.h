/* Consecutive states of one trajectory, and what can be said of them without knowing any force:
 * velocities on either side of a state, and how much free motion scatters. */
#ifndef CAROM_LEARN_MOTION_H
#define CAROM_LEARN_MOTION_H

#include <stdbool.h>
#include <stddef.h>

/* Standard deviation of a normal distribution by its median absolute deviation. */
static const double DEVIATION_OF_MEDIAN = 1.4826;

typedef struct motion {
  int states;
  int size; /* coordinates of a state */
  double dt;
  const double *x; /* [states][size] */
  const double *v; /* the same; NULL if there are none */
  const double *t; /* [states] times where they are not dt apart; NULL: they are */
} motion;

/* Time from state k to state `to`; negative if that is before. */
double motion_time(const motion *m, int k, int to);

/* Velocity at state k coming from the states before it, and going to those after it: the given one,
 * or one-sided differences of positions (second order where there are two neighbours on that side). */
double motion_velocity_before(const motion *m, int k, int coordinate);
double motion_velocity_after(const motion *m, int k, int coordinate);

/* Change of velocity in the step before state k - 1, in that from k - 1 to k, in that after k, the outer two for a step
 * as long as the one within. What does not exist is NaN. */
typedef struct velocity_changes {
  double before, within, after;
} velocity_changes;
velocity_changes motion_changes(const motion *m, int k, int coordinate);

/* What free motion does in a step, judged by its neighbours: the smaller of two changes of one sign,
 * the only one there is, else 0. An impact in a neighbour does not get in. */
double free_change(const velocity_changes *changes);

/* Scatter of one coordinate over all motions, as a standard deviation: 1.4826 times the median of
 * |change within a step - free change|, and of the position after a step beside that of the mean
 * velocity. `samples` is room for `most` numbers; so many steps at most, evenly spread, are looked at.
 */
typedef struct scatter {
  double velocity, position;
} scatter;
scatter motion_scatter(int count, const motion *motions, int coordinate, double *samples, int most);

/* Middle of `count` numbers, which are put into another order; NaN of none. */
double median(double *values, int count);

/* Every how many steps to look at one, so that not more than `most` are looked at. */
size_t motion_stride(int count, const motion *motions, int most);

#endif
