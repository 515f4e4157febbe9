#include "io/parameter_file.h"

#include "base/error.h"
#include "io/h5_file.h"
#include "system/system.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One dataset of the file and the segment of theta it stands for. */
typedef struct entry {
  const char *name;
  carom_segment segment;
  bool logarithm; /* the file has the value, theta its logarithm */
} entry;

static const entry entries[] = {
    {"mass", CAROM_LOG_MASS, true},
    {"moment", CAROM_LOG_MOMENT, true},
    {"friction", CAROM_FRICTION, false},
    {"restitution", CAROM_RESTITUTION, false},
    {"regularizer", CAROM_REGULARIZER, false},
    {"gravity", CAROM_GRAVITY, false},
    {"stiffness", CAROM_STIFFNESS, false},
    {"radius", CAROM_RADIUS, false},
    {"offset", CAROM_OFFSET, false},
    {"corner", CAROM_CORNER, false},
    {"drag", CAROM_DRAG, false},
    {"angular_drag", CAROM_ANGULAR_DRAG, false},
};
enum { ENTRY_COUNT = sizeof entries / sizeof entries[0] };

// the shape of a dataset; moments are a matrix, all others a row
static int entry_axes(const carom_system *system, const entry *e, h5_axis axes[2]) {
  static const char *const names[CAROM_SEGMENT_COUNT] = {[CAROM_LOG_MASS] = "bodies",
                                                         [CAROM_LOG_MOMENT] = "bodies",
                                                         [CAROM_FRICTION] = "possible contacts",
                                                         [CAROM_RESTITUTION] = "possible contacts",
                                                         [CAROM_REGULARIZER] = "epsilon",
                                                         [CAROM_GRAVITY] = "dimension",
                                                         [CAROM_STIFFNESS] = "springs",
                                                         [CAROM_RADIUS] = "bodies",
                                                         [CAROM_OFFSET] = "planes",
                                                         [CAROM_CORNER] = "corners",
                                                         [CAROM_DRAG] = "bodies",
                                                         [CAROM_ANGULAR_DRAG] = "bodies"};
  bool matrix = e->segment == CAROM_LOG_MOMENT || e->segment == CAROM_CORNER;
  int size = carom_parameters_segment(system, e->segment).size;
  axes[0] = (h5_axis){names[e->segment], matrix ? size / system->dimension : size};
  axes[1] = (h5_axis){"dimension", system->dimension};
  return matrix ? 2 : 1;
}

// entry k of a moment matrix is in use if its body is rigid
static bool is_used(const carom_system *system, const entry *e, int k) {
  return e->segment != CAROM_LOG_MOMENT || system->bodies[k / system->dimension].rigid;
}

static carom_status take_values(const char *path, const carom_system *system, const entry *e,
                                const double *values, double *theta, carom_error *error) {
  const carom_segment_info segment = carom_parameters_segment(system, e->segment);
  for (int k = 0; k < segment.size; k++) {
    if (!is_used(system, e, k)) continue;
    if (e->logarithm && values[k] <= 0.0) {
      return error_set(error, CAROM_INVALID_DATA, "%s: /%s of body '%s' is %g, expected > 0", path,
                       e->name, system->bodies[k / (segment.size / system->body_count)].id,
                       values[k]);
    }
    theta[segment.offset + k] = e->logarithm ? log(values[k]) : values[k];
  }
  return CAROM_OK;
}

static carom_status refuse_unknown(const h5_reader *reader, const char *path, carom_error *error) {
  char name[128] = "";
  int count = h5_link_count(reader);
  for (int k = 0; k < count; k++) {
    bool known = false;
    if (h5_link_name(reader, k, name, sizeof name)) {
      for (int e = 0; e < ENTRY_COUNT; e++) known = known || strcmp(name, entries[e].name) == 0;
    }
    if (!known) {
      return error_set(
          error, CAROM_INVALID_DATA,
          "%s: /%s is not a parameter; a parameter file has any of mass, moment, "
          "friction, restitution, regularizer, gravity, stiffness, radius, offset, corner, drag, "
          "angular_drag",
          path, name);
    }
  }
  if (count > 0) return CAROM_OK;
  return error_set(
      error, CAROM_INVALID_DATA,
      "%s: has no parameters; expected any of /mass, /moment, /friction, "
      "/restitution, /regularizer, /gravity, /stiffness, /radius, /offset, /corner, /drag, "
      "/angular_drag",
      path);
}

static carom_status read_entries(h5_reader *reader, const char *path, const carom_system *system,
                                 double *theta, carom_error *error) {
  carom_status status = refuse_unknown(reader, path, error);
  for (int k = 0; status == CAROM_OK && k < ENTRY_COUNT; k++) {
    h5_axis axes[2];
    int rank = entry_axes(system, &entries[k], axes);
    if (!h5_has_dataset(reader, entries[k].name)) continue;
    double *values;
    status = h5_read_doubles(reader, entries[k].name, rank, axes, &values, error);
    if (status != CAROM_OK) return status;
    status = take_values(path, system, &entries[k], values, theta, error);
    free(values);
  }
  if (status != CAROM_OK) return status;
  // ranges of friction, restitution and the rest are the library's to judge
  status = carom_parameters_check(system, theta, error);
  return status == CAROM_OK ? CAROM_OK : error_prefix(error, "%s", path);
}

/* What parameters are read for, and into. */
typedef struct parameter_target {
  const carom_system *system;
  double *theta;
} parameter_target;

static carom_status read_target(h5_reader *reader, void *user, carom_error *error) {
  const parameter_target *target = user;
  const char *path = h5_reader_path(reader);
  const size_t bytes = sizeof(double) * (size_t)carom_parameters_count(target->system);
  double *changed = malloc(bytes);
  if (changed == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  memcpy(changed, target->theta, bytes);
  carom_status status = read_entries(reader, path, target->system, changed, error);
  if (status == CAROM_OK) memcpy(target->theta, changed, bytes);
  free(changed);
  return status;
}

carom_status carom_parameters_read(const carom_system *system, const char *path, double *theta,
                                   carom_error *error) {
  REQUIRE(system, error);
  REQUIRE(path, error);
  REQUIRE(theta, error);
  parameter_target target = {system, theta};
  return h5_read_file(path, read_target, &target, error);
}

static carom_status write_entry(h5_writer *writer, const carom_system *system, const entry *e,
                                const double *theta, double *values, carom_error *error) {
  const carom_segment_info segment = carom_parameters_segment(system, e->segment);
  for (int k = 0; k < segment.size; k++) {
    double value = theta[segment.offset + k];
    values[k] = !e->logarithm ? value : is_used(system, e, k) ? exp(value) : 0.0;
  }
  h5_axis axes[2];
  int rank = entry_axes(system, e, axes);
  return h5_write_doubles(writer, e->name, rank, axes, values, error);
}

carom_status carom_parameters_write(const carom_system *system, const double *theta,
                                    const char *path, carom_error *error) {
  REQUIRE(system, error);
  REQUIRE(theta, error);
  REQUIRE(path, error);
  h5_writer *writer;
  carom_status status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  const carom_system_info info = carom_system_describe(system);
  status = h5_write_origin(writer, info.json, info.dt, error);
  double *values = malloc(sizeof(double) * (size_t)carom_parameters_count(system));
  if (values == NULL) status = error_set(error, CAROM_OUT_OF_MEMORY, "%s: out of memory", path);
  for (int k = 0; status == CAROM_OK && k < ENTRY_COUNT; k++) {
    status = write_entry(writer, system, &entries[k], theta, values, error);
  }
  free(values);
  return h5_writer_finish(writer, status, error);
}
