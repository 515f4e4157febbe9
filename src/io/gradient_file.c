#include "io/gradient_file.h"

#include "base/error.h"
#include "io/control_file.h"

static carom_status write_states(h5_writer *writer, const carom_system_info *info,
                                 const carom_gradient *data, carom_error *error) {
  const h5_axis axes[] = {
      {"samples", data->batch}, {"points", info->point_count}, {"dimension", info->dimension}};
  carom_status status = h5_write_doubles(writer, "loss", 0, NULL, &data->loss, error);
  if (status == CAROM_OK) {
    status = h5_write_doubles(writer, "loss_each", 1, axes, data->loss_each, error);
  }
  if (status == CAROM_OK) status = h5_write_doubles(writer, "d_x0", 3, axes, data->x0_bar, error);
  if (status == CAROM_OK) status = h5_write_doubles(writer, "d_v0", 3, axes, data->v0_bar, error);
  if (status != CAROM_OK || data->u_bar == NULL) return status;
  const h5_axis control_axes[] = {
      {"samples", data->batch}, {"steps", data->steps}, {"controls", info->control_size}};
  return h5_write_doubles(writer, "d_u", 3, control_axes, data->u_bar, error);
}

static carom_status write_parameters(h5_writer *writer, const carom_system *system,
                                     const carom_gradient *data, carom_error *error) {
  static const char *const names[CAROM_SEGMENT_COUNT] = {[CAROM_LOG_MASS] = "d_mass",
                                                         [CAROM_LOG_MOMENT] = "d_moment",
                                                         [CAROM_FRICTION] = "d_friction",
                                                         [CAROM_RESTITUTION] = "d_restitution",
                                                         [CAROM_REGULARIZER] = "d_regularizer",
                                                         [CAROM_GRAVITY] = "d_gravity",
                                                         [CAROM_STIFFNESS] = "d_stiffness",
                                                         [CAROM_RADIUS] = "d_radius",
                                                         [CAROM_OFFSET] = "d_offset",
                                                         [CAROM_CORNER] = "d_corner",
                                                         [CAROM_DRAG] = "d_drag",
                                                         [CAROM_ANGULAR_DRAG] = "d_angular_drag"};
  const carom_system_info info = carom_system_describe(system);
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && k < CAROM_SEGMENT_COUNT; k++) {
    const carom_segment_info segment = carom_parameters_segment(system, (carom_segment)k);
    bool matrix = k == CAROM_LOG_MOMENT || k == CAROM_CORNER;
    const h5_axis axes[] = {{segment.name, matrix ? segment.size / info.dimension : segment.size},
                            {"dimension", info.dimension}};
    status = h5_write_doubles(writer, names[k], matrix ? 2 : 1, axes,
                              data->theta_bar + segment.offset, error);
  }
  return status;
}

carom_status carom_gradient_write(const carom_gradient *gradient, const carom_system *system,
                                  const char *path, carom_error *error) {
  REQUIRE(gradient, error);
  REQUIRE(system, error);
  REQUIRE(path, error);
  const carom_system_info info = carom_system_describe(system);
  carom_status status =
      gradient->u_bar != NULL ? control_check_size(system, path, error) : CAROM_OK;
  if (status != CAROM_OK) return status;
  h5_writer *writer;
  status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  status = h5_write_origin(writer, info.json, gradient->dt, error);
  if (status == CAROM_OK) status = write_states(writer, &info, gradient, error);
  if (status == CAROM_OK) status = write_parameters(writer, system, gradient, error);
  return h5_writer_finish(writer, status, error);
}
