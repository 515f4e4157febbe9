/* make_partial_h5 KIND FROM FILE: trajectories of the scene cp3 from a whole file, with less: "no-v"
 * without velocities; "lengths" with an index of lengths, sample k 7 (k % 4) states short and rubbish
 * there; "long" with an index that says one state more than there is. */
#include "io/trajectory_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// the states that the index leaves out lie outside of everything
static void shorten(carom_trajectories *t) {
  const size_t state = (size_t)(t->point_count * t->dimension);
  for (int k = 0; k < t->batch; k++) {
    t->lengths[k] = t->state_count - 7 * (k % 4);
    for (int i = t->lengths[k]; i < t->state_count; i++)
      for (size_t j = 0; j < state; j++)
        t->x[((size_t)k * (size_t)t->state_count + (size_t)i) * state + j] = 1e6;
  }
}

// what the library does not write
static carom_status write_long(const carom_trajectories *t, const char *path, carom_error *error) {
  h5_writer *writer;
  carom_status status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  const h5_axis axes[] = {
      {"samples", t->batch}, {"states", t->state_count}, {"points", 3}, {"dimension", 2}};
  t->lengths[1] = t->state_count + 1;
  status = h5_write_doubles(writer, "x", 4, axes, t->x, error);
  if (status == CAROM_OK) status = h5_write_ints(writer, "length", 1, axes, t->lengths, error);
  return h5_writer_finish(writer, status, error);
}

static carom_status make(const char *kind, const carom_system *system, carom_trajectories *t,
                         const char *path, carom_error *error) {
  if (strcmp(kind, "no-v") == 0) {
    free(t->v);
    t->v = NULL;
  } else {
    t->lengths = calloc((size_t)t->batch, sizeof(int));
    if (t->lengths == NULL) return CAROM_OUT_OF_MEMORY;
    shorten(t);
  }
  return strcmp(kind, "long") == 0 ? write_long(t, path, error)
                                   : carom_trajectories_write(t, system, path, error);
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: make_partial_h5 KIND FROM FILE\n");
    return 2;
  }
  carom_system *system;
  carom_error error = {0};
  carom_status status = carom_system_load("cp3", &system, &error);
  if (status == CAROM_OK) {
    carom_trajectories t;
    status = carom_trajectories_read(system, argv[2], &t, &error);
    if (status == CAROM_OK) status = make(argv[1], system, &t, argv[3], &error);
    carom_trajectories_free(&t);
    carom_system_destroy(system);
  }
  if (status != CAROM_OK) fprintf(stderr, "make_partial_h5: %s\n", error.message);
  return status == CAROM_OK ? 0 : 1;
}
