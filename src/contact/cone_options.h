/* Options of the cone solver, alone and as a part of other options. */
#ifndef CAROM_CONTACT_CONE_OPTIONS_H
#define CAROM_CONTACT_CONE_OPTIONS_H

#include "base/option_table.h"

extern const option_table cone_option_table;

/* The values of each, for every table that has them. */
#define CONE_TOLERANCE                                                    \
  .low = 0, .low_open = true, .high = 1, .value = 1e-10, .argument = "X", \
  .help = "largest scaled residual at which a cone program counts as solved"
#define CONE_MAX_ITERATIONS                              \
  OPTION_RANGE(1, 100000), .value = 60, .argument = "N", \
                           .help = "largest number of steps of the interior-point method"
#define CONE_SMOOTHING     \
  OPTION_RANGE(0, 1e3),    \
      .argument = "KAPPA", \
      .help = "complementarity at which cone programs are solved, for smoothed gradients"

#endif
