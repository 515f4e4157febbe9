/* Lengths and speeds that make learning independent of the units of its data.
 *
 * A loss over raw numbers adds metres, metres per second and tips of body axes, which are at unit
 * distance whatever the unit: the same data in centimetres is another problem. With a length L and a
 * speed S of the data and a length l_b of each rigid body,
 *   the loss sees   x / L, v / S, with c + l_b (tip - c) in the place of each tip,
 *   the potential   is S^2 N(x / 3 L) (nn/network_potential.h),
 *   second moments  start at l_b^2,
 * and every number that is learned is free of units. */
#ifndef CAROM_LEARN_UNITS_H
#define CAROM_LEARN_UNITS_H

#include "carom.h"

/* A length of a rigid body: twice how far its shape and what is fastened to it reach from its centre;
 * 0 if the scene says nothing of either. Half of it would weigh turning so little that the gyroscope's
 * error doubles (docs/results/foundations.md). */
double body_extent(const carom_system *system, int body_index);

#endif
