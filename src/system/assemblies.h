/* Assemblies: bodies tied together by equality constraints, and the order of the constraints that
 * gives J_E M^-1 J_E' a narrow envelope. Two rows are coupled if they share a body, because M^-1
 * couples all points of a rigid body. */
#ifndef CAROM_SYSTEM_ASSEMBLIES_H
#define CAROM_SYSTEM_ASSEMBLIES_H

#include "system/system.h"

/* Fills assemblies, point_assembly, point_in_assembly and each constraint's assembly. Fails where
 * an assembly has more constraints than coordinates. */
carom_status assemblies_make(carom_system *system, carom_error *error);

/* Sorts the constraints by assembly, then along chains of bodies (reverse Cuthill-McKee order of
 * the bodies); sets rows and constraint_shape. Fails where the matrix would be too large. */
carom_status assemblies_order_rows(carom_system *system, carom_error *error);

#endif
