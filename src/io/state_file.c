#include "io/state_file.h"

#include "base/error.h"
#include "io/h5_file.h"
#include "io/trajectory_file.h"

#include <stdlib.h>
#include <string.h>

carom_status carom_states_write(const carom_states *states, const carom_system *system,
                                const char *path, carom_error *error) {
  REQUIRE(states, error);
  REQUIRE(system, error);
  REQUIRE(path, error);
  carom_status status =
      trajectory_check_shape(system, path, states->point_count, states->dimension, error);
  if (status != CAROM_OK) return status;
  h5_writer *writer;
  status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  const carom_system_info info = carom_system_describe(system);
  const h5_axis axes[] = {{"samples", states->batch},
                          {"points", states->point_count},
                          {"dimension", states->dimension}};
  status = h5_write_origin(writer, info.json, info.dt, error);
  if (status == CAROM_OK) status = h5_write_doubles(writer, "x", 3, axes, states->x, error);
  if (status == CAROM_OK) status = h5_write_doubles(writer, "v", 3, axes, states->v, error);
  return h5_writer_finish(writer, status, error);
}

static carom_status read_states(h5_reader *reader, carom_states *data, carom_error *error) {
  h5_axis axes[] = {{"samples", -1}, {"points", data->point_count}, {"dimension", data->dimension}};
  carom_status status = h5_read_doubles(reader, "x", 3, axes, &data->x, error);
  if (status == CAROM_OK) status = h5_read_doubles(reader, "v", 3, axes, &data->v, error);
  if (status != CAROM_OK) return status;
  data->batch = axes[0].size;
  if (data->batch >= 1) return CAROM_OK;
  return error_set(error, CAROM_INVALID_DATA, "%s: has no samples", h5_reader_path(reader));
}

// moves the first states of every carom_trajectories to the front and keeps them
static void take_first_states(carom_trajectories *source, carom_states *data) {
  size_t state = (size_t)source->point_count * (size_t)source->dimension;
  for (int k = 0; k < source->batch; k++) {
    size_t from = (size_t)k * (size_t)source->state_count * state, to = (size_t)k * state;
    memmove(source->x + to, source->x + from, state * sizeof(double));
    memmove(source->v + to, source->v + from, state * sizeof(double));
  }
  data->batch = source->batch;
  data->x = source->x;
  data->v = source->v;
  source->x = source->v = NULL;
  carom_trajectories_free(source);
}

/* What states are read for, and into. */
typedef struct states_target {
  const carom_system *system;
  carom_states *data;
} states_target;

static carom_status read_target(h5_reader *reader, void *user, carom_error *error) {
  const states_target *target = user;
  carom_states *data = target->data;
  const carom_system_info info = carom_system_describe(target->system);
  *data = (carom_states){.point_count = info.point_count, .dimension = info.dimension};
  carom_status status;
  if (h5_dataset_rank(reader, "x") == 4) {
    carom_trajectories source;
    status = trajectory_read(reader, target->system, &source, error);
    if (status == CAROM_OK) take_first_states(&source, data);
  } else {
    status = read_states(reader, data, error);
  }
  if (status != CAROM_OK) carom_states_free(data);
  return status;
}

carom_status carom_states_read(const carom_system *system, const char *path, carom_states *states,
                               carom_error *error) {
  if (states != NULL) *states = (carom_states){0};
  REQUIRE(system, error);
  REQUIRE(path, error);
  REQUIRE(states, error);
  states_target target = {system, states};
  return h5_read_file(path, read_target, &target, error);
}

void carom_states_free(carom_states *data) {
  if (data == NULL) return;
  free(data->x);
  free(data->v);
  *data = (carom_states){0};
}
