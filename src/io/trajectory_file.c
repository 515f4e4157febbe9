#include "io/trajectory_file.h"

#include "base/error.h"
#include "io/h5_file.h"

#include <stdlib.h>

static carom_status write_times(h5_writer *writer, const carom_trajectories *data,
                                carom_error *error) {
  const h5_axis axis = {"states", data->state_count};
  if (data->t != NULL) return h5_write_doubles(writer, "t", 1, &axis, data->t, error);
  double *t = malloc(sizeof(double) * (size_t)(data->state_count + 1));
  if (t == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  for (int k = 0; k < data->state_count; k++) t[k] = k * data->dt;
  carom_status status = h5_write_doubles(writer, "t", 1, &axis, t, error);
  free(t);
  return status;
}

carom_status carom_trajectories_write(const carom_trajectories *data, const carom_system *system,
                                      const char *path, carom_error *error) {
  h5_writer *writer;
  carom_status status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  const h5_axis axes[] = {{"samples", data->batch},
                          {"states", data->state_count},
                          {"points", data->point_count},
                          {"dimension", data->dimension}};
  status = h5_write_origin(writer, carom_system_describe(system).json, data->dt, error);
  if (status == CAROM_OK) status = h5_write_doubles(writer, "x", 4, axes, data->x, error);
  if (status == CAROM_OK) status = h5_write_doubles(writer, "v", 4, axes, data->v, error);
  if (status == CAROM_OK) status = write_times(writer, data, error);
  if (status == CAROM_OK && data->contact != NULL) {
    status = h5_write_bytes(writer, "contact", 2, axes, data->contact, error);
  }
  return h5_writer_finish(writer, status, error);
}

// /t and /contact, where they are there
static carom_status read_optional(h5_reader *reader, carom_trajectories *data, carom_error *error) {
  h5_axis axes[] = {{"samples", data->batch}, {"states", data->state_count}};
  carom_status status = CAROM_OK;
  if (h5_has_dataset(reader, "t")) {
    status = h5_read_doubles(reader, "t", 1, axes + 1, &data->t, error);
  }
  if (status == CAROM_OK && h5_has_dataset(reader, "contact")) {
    status = h5_read_bytes(reader, "contact", 2, axes, &data->contact, error);
  }
  if (!h5_read_number_attribute(reader, "dt", &data->dt)) data->dt = 0.0;
  return status;
}

static carom_status read_all(h5_reader *reader, const char *path, carom_trajectories *data,
                             carom_error *error) {
  h5_axis axes[] = {{"samples", -1},
                    {"states", -1},
                    {"points", data->point_count},
                    {"dimension", data->dimension}};
  carom_status status = h5_read_doubles(reader, "x", 4, axes, &data->x, error);
  if (status == CAROM_OK) status = h5_read_doubles(reader, "v", 4, axes, &data->v, error);
  if (status != CAROM_OK) return status;
  data->batch = axes[0].size;
  data->state_count = axes[1].size;
  if (data->batch < 1 || data->state_count < 1) {
    return error_set(error, CAROM_INVALID_DATA, "%s: has %d samples of %d states, expected some",
                     path, data->batch, data->state_count);
  }
  return read_optional(reader, data, error);
}

carom_status carom_trajectories_read(const carom_system *system, const char *path,
                                     carom_trajectories *data, carom_error *error) {
  const carom_system_info info = carom_system_describe(system);
  *data = (carom_trajectories){.point_count = info.point_count, .dimension = info.dimension};
  h5_reader *reader;
  carom_status status = h5_reader_open(path, &reader, error);
  if (status != CAROM_OK) return status;
  status = read_all(reader, path, data, error);
  h5_reader_close(reader);
  if (status != CAROM_OK) carom_trajectories_free(data);
  return status;
}

void carom_trajectories_free(carom_trajectories *data) {
  free(data->x);
  free(data->v);
  free(data->t);
  free(data->contact);
  *data = (carom_trajectories){0};
}
