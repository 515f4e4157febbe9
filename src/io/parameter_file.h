/* Parameter files (HDF5): values that take the place of the scene's.
 *
 *   /mass         float64 [bodies]             > 0
 *   /moment       float64 [bodies][d]          > 0, second moments per unit mass; the rows of point
 *                                              masses are not used
 *   /friction     float64 [possible contacts]  >= 0
 *   /restitution  float64 [possible contacts]  in [0, 1]
 *   /regularizer  float64 [1]                  >= 0, epsilon of CMr
 *   /gravity      float64 [d]
 *   /stiffness    float64 [springs]
 *
 * Any of them, at least one. Another name in the root group is an error: a misspelt one would be
 * passed over in silence otherwise. */
#ifndef CAROM_IO_PARAMETER_FILE_H
#define CAROM_IO_PARAMETER_FILE_H

#include "carom.h"

#endif
