#include "io/control_file.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>

carom_status control_check_size(const carom_system *system, const char *path, carom_error *error) {
  const carom_system_info info = carom_system_describe(system);
  if (info.control_size > 0) return CAROM_OK;
  return error_set(error, CAROM_INVALID_ARGUMENT,
                   "%s: %s has no controls; list them in the scene's field \"controls\"", path,
                   info.name);
}

carom_status control_write(h5_writer *writer, const carom_system *system, int batch, int steps,
                           const double *u, carom_error *error) {
  const h5_axis axes[] = {{"samples", batch},
                          {"steps", steps},
                          {"controls", carom_system_describe(system).control_size}};
  return h5_write_doubles(writer, "u", 3, axes, u, error);
}

carom_status control_read(h5_reader *reader, const carom_system *system, int *batch, int *steps,
                          double **u, carom_error *error) {
  h5_axis axes[] = {{"samples", *batch},
                    {"steps", *steps},
                    {"controls", carom_system_describe(system).control_size}};
  carom_status status = h5_read_doubles(reader, "u", 3, axes, u, error);
  *batch = axes[0].size;
  *steps = axes[1].size;
  return status;
}

carom_status carom_controls_write(const carom_controls *controls, const carom_system *system,
                                  const char *path, carom_error *error) {
  REQUIRE(controls, error);
  REQUIRE(system, error);
  REQUIRE(path, error);
  carom_status status = control_check_size(system, path, error);
  if (status != CAROM_OK) return status;
  h5_writer *writer;
  status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  status = h5_write_origin(writer, carom_system_describe(system).json, controls->dt, error);
  if (status == CAROM_OK)
    status = control_write(writer, system, controls->batch, controls->steps, controls->u, error);
  return h5_writer_finish(writer, status, error);
}

/* What controls are read for, and into. */
typedef struct controls_target {
  const carom_system *system;
  carom_controls *data;
} controls_target;

static carom_status read_target(h5_reader *reader, void *user, carom_error *error) {
  const controls_target *target = user;
  carom_controls *data = target->data;
  *data = (carom_controls){.batch = -1, .steps = -1};
  carom_status status =
      control_read(reader, target->system, &data->batch, &data->steps, &data->u, error);
  if (status == CAROM_OK && (data->batch < 1 || data->steps < 1))
    status =
        error_set(error, CAROM_INVALID_DATA, "%s: /u has %d samples of %d steps, expected some",
                  h5_reader_path(reader), data->batch, data->steps);
  if (status != CAROM_OK) {
    carom_controls_free(data);
    return status;
  }
  if (!h5_read_number_attribute(reader, "dt", &data->dt) || !isfinite(data->dt)) data->dt = 0;
  return CAROM_OK;
}

carom_status carom_controls_read(const carom_system *system, const char *path,
                                 carom_controls *controls, carom_error *error) {
  if (controls != NULL) *controls = (carom_controls){0};
  REQUIRE(system, error);
  REQUIRE(path, error);
  REQUIRE(controls, error);
  carom_status status = control_check_size(system, path, error);
  if (status != CAROM_OK) return status;
  controls_target target = {system, controls};
  return h5_read_file(path, read_target, &target, error);
}

void carom_controls_free(carom_controls *controls) {
  if (controls == NULL) return;
  free(controls->u);
  *controls = (carom_controls){0};
}
