/* make_controls SCENE SAMPLES STEPS SIZE DT FILE: controls of a scene, waves of this size that differ from
 * sample to sample. */
#include "carom.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  if (argc != 7) {
    fprintf(stderr, "usage: make_controls SCENE SAMPLES STEPS SIZE DT FILE\n");
    return 2;
  }
  carom_system *system;
  carom_error error = {0};
  carom_controls controls = {.batch = atoi(argv[2]), .steps = atoi(argv[3]), .dt = atof(argv[5])};
  if (carom_system_load(argv[1], &system, &error) != CAROM_OK) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  const size_t count = (size_t)controls.batch * (size_t)controls.steps *
                       (size_t)carom_system_describe(system).control_size;
  controls.u = calloc(count + 1, sizeof(double));
  if (controls.u == NULL) return 1;
  for (size_t i = 0; i < count; i++) controls.u[i] = atof(argv[4]) * sin(1 + 0.1 * (double)i);
  carom_status status = carom_controls_write(&controls, system, argv[6], &error);
  if (status != CAROM_OK) fprintf(stderr, "%s\n", error.message);
  carom_controls_free(&controls);
  carom_system_destroy(system);
  return status == CAROM_OK ? 0 : 1;
}
