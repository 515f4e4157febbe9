/* Some of the trajectories of a file, as in --use 0-399. */
#ifndef CAROM_CLI_TRAJECTORY_RANGE_H
#define CAROM_CLI_TRAJECTORY_RANGE_H

#include "carom.h"

#include <argp.h>

/* Trajectories first to last of the data. */
typedef struct range {
  int first, last; /* last -1: none */
} range;

/* A-B; anything else ends the program with exit code 2. */
range parse_range(struct argp_state *state, const char *option, const char *text);

/* Trajectories of a range, in the memory of all. */
carom_status range_part(const carom_trajectories *all, const char *option, range r,
                        carom_trajectories *part, carom_error *error);

#endif
