/* What is measured of a state, beside a measured state: positions and velocities of points and of
 * one point of each rigid body, turns and rates of rigid bodies, as numbers of four channels.
 *
 *   position  (x - R c - shift) / scale - y       velocity  (v - R' c) / scale - y'
 *   angle     log(R R_y') (3D), its angle (2D)    rate      omega - omega_y
 *
 * x is the centre of mass, which stands at c in the body as seen from the point that is measured; 0
 * unless said. The state y is as it was measured, in the units and about the origin of the data. */
#ifndef CAROM_FIT_MEASURE_H
#define CAROM_FIT_MEASURE_H

#include "carom.h"

typedef struct measure {
  const carom_system *system;
  int count;              /* numbers of one state */
  const uint8_t *channel; /* [count] of each number */
  const int *group;       /* [count] numbers of one body and channel have one group */
  int group_count;
  double scale, shift[3];
  double *centre; /* [body_count][dimension] c of each body; NULL: 0 */
  uint8_t *owned_channel;
  int *owned_group;
} measure;

bool measure_init(measure *m, const carom_system *system);
void measure_free(measure *m);

/* Scale, shift and centres as another one of the same system has them. */
void measure_as(measure *m, const measure *other);

/* r [count] = prediction at s minus what was measured, y; both (x, v) [2 D]. */
void measure_residual(const measure *m, const double *s, const double *y, double *r);

/* dr [count] of a change ds [2 D] of s. */
void measure_change(const measure *m, const double *s, const double *y, const double *ds,
                    double *dr);

/* dr by log scale, and by the shift along an axis. */
void measure_by_scale(const measure *m, const double *s, double *dr);
void measure_by_shift(const measure *m, int axis, double *dr);

/* dr by c of a body along one of its axes. */
void measure_by_centre(const measure *m, int body_index, int axis, const double *s, double *dr);

/* The state of the scene that would be measured as y. */
void measure_invert(const measure *m, const double *y, double *s);

#endif
