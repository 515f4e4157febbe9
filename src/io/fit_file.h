/* Files of identifications (HDF5).
 *
 *   /value, /deviation, /low, /high  float64 [N]     estimates, their standard errors, 95 % intervals
 *   /start, /scene                   float64 [N]     where the search began; the scene's values
 *   /determined                      float64 [N]     1 where the data determines it
 *   /profiled                        float64 [N]     1 where the interval is that of the profile likelihood
 *   /correlation                     float64 [p][p]  of the first p estimates; the others follow from them
 *   /noise                           float64 [4]     deviations of positions, velocities, angles, rates
 *   root attributes: carom_version, scene, dt, names (of the estimates, one a line)
 *
 * Infinities are as they are: an interval without an end. */
#ifndef CAROM_IO_FIT_FILE_H
#define CAROM_IO_FIT_FILE_H

#include "carom.h"

#endif
