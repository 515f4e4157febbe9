/* make_bad_training KIND FILE: writes trajectories of the scene cp3 (two of 12 states at rest) to
 * train on: "good", or with a number that is none in the second one, "nan". */
#include "io/trajectory_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BATCH = 2, STATES = 12, STATE = 6 };

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: make_bad_training KIND FILE\n");
    return 2;
  }
  // the chain points straight to the right
  static const double straight[STATE] = {0.35, 0.0, 0.75, 0.0, 1.1, 0.0};
  double x[BATCH * STATES * STATE], v[BATCH * STATES * STATE] = {0};
  for (int k = 0; k < BATCH * STATES; k++) memcpy(x + k * STATE, straight, sizeof straight);
  if (strcmp(argv[1], "nan") == 0) v[(STATES + 4) * STATE + 3] = NAN;
  const carom_trajectories data = {.batch = BATCH,
                                   .state_count = STATES,
                                   .point_count = 3,
                                   .dimension = 2,
                                   .dt = 0.01,
                                   .x = x,
                                   .v = v};
  carom_system *system;
  carom_error error;
  carom_status status = carom_system_load("cp3", &system, &error);
  if (status == CAROM_OK) {
    status = carom_trajectories_write(&data, system, argv[2], &error);
    carom_system_destroy(system);
  }
  if (status != CAROM_OK) fprintf(stderr, "make_bad_training: %s\n", error.message);
  return status == CAROM_OK ? 0 : 1;
}
