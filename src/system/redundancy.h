/* Whether constraints follow from each other.
 *
 * Where they do, J_E has dependent rows at every state the system can reach, and the forces of the
 * constraints are not determined. Dependent rows at one state say less: a mechanism can pass through
 * a dead point, or be drawn there. So states around a suspicious one are tried. */
#ifndef CAROM_SYSTEM_REDUNDANCY_H
#define CAROM_SYSTEM_REDUNDANCY_H

#include "system/system.h"

/* Place of a joint that follows, wholly or in part, from other constraints, at x and at states near
 * it that hold all constraints; -1 if there is none, or if no such states were found. */
int redundant_joint(const carom_system *system, const double *x, arena *scratch);

#endif
