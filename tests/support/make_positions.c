/* make_positions SCENE FILE: prints the positions of all trajectories of a file as JSON, [sample][state][number]:
 * what the browser tests compare pages with. */
#include "carom.h"

#include <stdio.h>

static void print_state(const double *x, int size) {
  putchar('[');
  for (int k = 0; k < size; k++) printf("%s%.17g", k > 0 ? "," : "", x[k]);
  putchar(']');
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: make_positions SCENE FILE\n");
    return 2;
  }
  carom_system *system;
  carom_error error = {0};
  carom_trajectories t = {0};
  carom_status status = carom_system_load(argv[1], &system, &error);
  if (status == CAROM_OK) status = carom_trajectories_read(system, argv[2], &t, &error);
  if (status != CAROM_OK) fprintf(stderr, "%s\n", error.message);
  const int size = t.point_count * t.dimension;
  putchar('[');
  for (int i = 0; i < t.batch; i++)
    for (int k = 0; k < t.state_count; k++) {
      if (k == 0) printf(i > 0 ? ",[" : "[");
      if (k > 0) putchar(',');
      print_state(t.x + ((size_t)i * (size_t)t.state_count + (size_t)k) * (size_t)size, size);
      if (k + 1 == t.state_count) putchar(']');
    }
  puts("]");
  carom_trajectories_free(&t);
  if (status == CAROM_OK) carom_system_destroy(system);
  return status == CAROM_OK ? 0 : 1;
}
