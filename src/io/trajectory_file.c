#include "io/trajectory_file.h"

#include "base/error.h"
#include "base/size.h"
#include "io/control_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static carom_status write_times(h5_writer *writer, const carom_trajectories *data,
                                carom_error *error) {
  const h5_axis axes[] = {{"samples", data->batch}, {"states", data->state_count}}, axis = axes[1];
  if (data->times != NULL) return h5_write_doubles(writer, "t", 2, axes, data->times, error);
  if (data->t != NULL) return h5_write_doubles(writer, "t", 1, &axis, data->t, error);
  if (data->dt == 0) return CAROM_OK; // not known
  double *t = size_allocate((size_t)data->state_count, sizeof(double));
  if (t == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  for (int k = 0; k < data->state_count; k++) t[k] = k * data->dt;
  carom_status status = h5_write_doubles(writer, "t", 1, &axis, t, error);
  free(t);
  return status;
}

carom_status trajectory_check_shape(const carom_system *system, const char *path, int point_count,
                                    int dimension, carom_error *error) {
  const carom_system_info info = carom_system_describe(system);
  if (point_count == info.point_count && dimension == info.dimension) return CAROM_OK;
  return error_set(error, CAROM_INVALID_ARGUMENT,
                   "%s: states of %d points in %d dimensions are none of %s, which has %d in %d",
                   path, point_count, dimension, info.name, info.point_count, info.dimension);
}

static carom_status check_written(const carom_system *system, const carom_trajectories *data,
                                  const char *path, carom_error *error) {
  carom_status status =
      trajectory_check_shape(system, path, data->point_count, data->dimension, error);
  for (int k = 0; data->lengths != NULL && k < data->batch && status == CAROM_OK; k++)
    if (data->lengths[k] < 0 || data->lengths[k] > data->state_count)
      status = error_set(error, CAROM_INVALID_ARGUMENT,
                         "%s: lengths[%d] is %d, must be a number of states from 0 to %d", path, k,
                         data->lengths[k], data->state_count);
  if (status == CAROM_OK && data->u != NULL) status = control_check_size(system, path, error);
  return status;
}

carom_status carom_trajectories_write(const carom_trajectories *trajectories,
                                      const carom_system *system, const char *path,
                                      carom_error *error) {
  REQUIRE(trajectories, error);
  REQUIRE(system, error);
  REQUIRE(path, error);
  carom_status status = check_written(system, trajectories, path, error);
  if (status != CAROM_OK) return status;
  h5_writer *writer;
  status = h5_writer_create(path, &writer, error);
  if (status != CAROM_OK) return status;
  const h5_axis axes[] = {{"samples", trajectories->batch},
                          {"states", trajectories->state_count},
                          {"points", trajectories->point_count},
                          {"dimension", trajectories->dimension}};
  status = h5_write_origin(writer, carom_system_describe(system).json, trajectories->dt, error);
  if (status == CAROM_OK) status = h5_write_doubles(writer, "x", 4, axes, trajectories->x, error);
  if (status == CAROM_OK && trajectories->v != NULL)
    status = h5_write_doubles(writer, "v", 4, axes, trajectories->v, error);
  if (status == CAROM_OK && trajectories->lengths != NULL)
    status = h5_write_ints(writer, "length", 1, axes, trajectories->lengths, error);
  if (status == CAROM_OK) status = write_times(writer, trajectories, error);
  if (status == CAROM_OK && trajectories->contact != NULL) {
    status = h5_write_bytes(writer, "contact", 2, axes, trajectories->contact, error);
  }
  if (status == CAROM_OK && trajectories->u != NULL)
    status = control_write(writer, system, trajectories->batch, trajectories->state_count - 1,
                           trajectories->u, error);
  return h5_writer_finish(writer, status, error);
}

/* ---- the time step ---- */

static const char *kind_name(h5_attribute_kind kind) {
  return kind == H5_TEXT ? "text" : kind == H5_LIST ? "a list" : "something else";
}

// the attribute dt, where there is one: a positive number
static carom_status read_time_step(h5_reader *reader, carom_trajectories *data,
                                   carom_error *error) {
  const h5_attribute_kind kind = h5_attribute_kind_of(reader, "dt");
  if (kind == H5_ABSENT) return CAROM_OK;
  if (!h5_read_number_attribute(reader, "dt", &data->dt)) {
    return error_set(error, CAROM_INVALID_DATA,
                     "%s: the attribute dt is %s, expected one positive number (the time step)",
                     h5_reader_path(reader), kind_name(kind));
  }
  data->dt_from = CAROM_DT_OF_ATTRIBUTE;
  if (data->dt > 0.0 && isfinite(data->dt)) return CAROM_OK;
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: the attribute dt is %g, expected a positive number (the time step)",
                   h5_reader_path(reader), data->dt);
}

// the step of /t that is farthest from their mean
static int worst_step(const double *t, int state_count, double mean) {
  int worst = 0;
  for (int k = 1; k < state_count - 1; k++) {
    if (fabs(t[k + 1] - t[k] - mean) > fabs(t[worst + 1] - t[worst] - mean)) worst = k;
  }
  return worst;
}

static carom_status check_rising(const h5_reader *reader, const carom_trajectories *data,
                                 carom_error *error) {
  const double *t = data->t;
  for (int k = 0; k < data->state_count - 1; k++) {
    if (t[k + 1] > t[k]) continue;
    return error_set(error, CAROM_INVALID_DATA,
                     "%s: the times /t do not rise: /t[%d] is %.9g and /t[%d] is %.9g",
                     h5_reader_path(reader), k, t[k], k + 1, t[k + 1]);
  }
  return CAROM_OK;
}

// are the times, which rise, all of one step?
static bool is_even(const carom_trajectories *data, double mean, int *worst) {
  *worst = worst_step(data->t, data->state_count, mean);
  return fabs(data->t[*worst + 1] - data->t[*worst] - mean) <= TIME_JITTER * mean;
}

static carom_status refuse_uneven(const h5_reader *reader, const carom_trajectories *data,
                                  double mean, int worst, carom_error *error) {
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: the times /t are not evenly spaced: from /t[%d] to /t[%d] it is %.6g, on "
                   "average %.6g (%g %% more or less is taken); resample the trajectories to equal "
                   "time steps, or fit them (carom fit takes such)",
                   h5_reader_path(reader), worst, worst + 1, data->t[worst + 1] - data->t[worst],
                   mean, 100.0 * TIME_JITTER);
}

/* ---- steps of any length ---- */

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int length_of(const carom_trajectories *data, int sample) {
  return data->lengths != NULL ? data->lengths[sample] : data->state_count;
}

// data->times rise; the median of their steps becomes dt, which it has to be about where there is one
static carom_status check_own_times(const h5_reader *reader, carom_trajectories *data,
                                    carom_error *error) {
  const char *path = h5_reader_path(reader);
  const size_t states = (size_t)data->state_count;
  double *steps = size_allocate(size_multiply((size_t)data->batch, states), sizeof(double));
  if (steps == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  carom_status status = CAROM_OK;
  size_t count = 0;
  for (int i = 0; i < data->batch && status == CAROM_OK; i++) {
    const double *t = data->times + (size_t)i * states;
    for (int k = 1; k < length_of(data, i) && status == CAROM_OK; k++) {
      steps[count++] = t[k] - t[k - 1];
      if (!(isfinite(t[k - 1]) && isfinite(t[k]) && t[k] > t[k - 1]))
        status = error_set(error, CAROM_INVALID_DATA,
                           "%s: the times /t of trajectory %d do not rise: that of state %d is "
                           "%.9g, of state %d %.9g",
                           path, i, k - 1, t[k - 1], k, t[k]);
    }
  }
  if (status == CAROM_OK && count > 0) {
    qsort(steps, count, sizeof(double), by_size);
    const double median = steps[(count - 1) / 2];
    if (data->dt > 0 && !(fabs(data->dt - median) <= 0.5 * median))
      status = error_set(error, CAROM_INVALID_DATA,
                         "%s: the attribute dt is %.9g, but the times /t are %.9g apart (median); "
                         "correct one of them or leave it out",
                         path, data->dt, median);
    data->dt = median;
    data->dt_from = CAROM_DT_OF_TIMES;
  }
  free(steps);
  return status;
}

// the same uneven times for all trajectories
static carom_status share_times(const h5_reader *reader, carom_trajectories *data,
                                carom_error *error) {
  const size_t states = (size_t)data->state_count;
  data->times = size_allocate(size_multiply((size_t)data->batch, states), sizeof(double));
  if (data->times == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  for (int i = 0; i < data->batch; i++)
    memcpy(data->times + (size_t)i * states, data->t, sizeof(double) * states);
  free(data->t);
  data->t = NULL;
  return check_own_times(reader, data, error);
}

static carom_status read_own_times(h5_reader *reader, bool partial, carom_trajectories *data,
                                   carom_error *error) {
  h5_axis axes[] = {{"samples", data->batch}, {"states", data->state_count}};
  if (!partial)
    return error_set(error, CAROM_INVALID_DATA,
                     "%s: each trajectory has times of its own (/t), steps are unequal; resample "
                     "the trajectories to equal time steps, or fit them (carom fit takes such)",
                     h5_reader_path(reader));
  carom_status status = h5_read_any_doubles(reader, "t", 2, axes, &data->times, error);
  return status == CAROM_OK ? check_own_times(reader, data, error) : status;
}

// the step that the times /t have, which must be that of the attribute where there are both
static carom_status compare_times(const h5_reader *reader, bool partial, carom_trajectories *data,
                                  carom_error *error) {
  const int last = data->state_count - 1;
  int worst;
  if (data->t == NULL || last < 1) return CAROM_OK;
  const double mean = (data->t[last] - data->t[0]) / last;
  carom_status status = check_rising(reader, data, error);
  if (status != CAROM_OK) return status;
  if (!is_even(data, mean, &worst))
    return partial ? share_times(reader, data, error)
                   : refuse_uneven(reader, data, mean, worst, error);
  if (data->dt_from == CAROM_DT_OF_SCENE) {
    data->dt = mean;
    data->dt_from = CAROM_DT_OF_TIMES;
  }
  if (fabs(data->dt - mean) <= TIME_DRIFT * mean) return CAROM_OK;
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: the attribute dt is %.9g, but the times /t are %.9g apart; correct one of "
                   "them or leave it out",
                   h5_reader_path(reader), data->dt, mean);
}

/* ---- reading ---- */

// /t, /contact, /u and dt, where they are there
static carom_status read_optional(h5_reader *reader, const carom_system *system, bool partial,
                                  carom_trajectories *data, carom_error *error) {
  h5_axis axes[] = {{"samples", data->batch}, {"states", data->state_count}};
  carom_status status = read_time_step(reader, data, error);
  if (status == CAROM_OK && h5_dataset_rank(reader, "t") == 2) {
    status = read_own_times(reader, partial, data, error);
  } else if (status == CAROM_OK && h5_has_dataset(reader, "t")) {
    status = h5_read_doubles(reader, "t", 1, axes + 1, &data->t, error);
  }
  if (status == CAROM_OK) status = compare_times(reader, partial, data, error);
  if (status == CAROM_OK && h5_has_dataset(reader, "contact")) {
    status = h5_read_flags(reader, "contact", 2, axes, &data->contact, error);
  }
  int batch = data->batch, steps = data->state_count - 1;
  if (status == CAROM_OK && h5_has_dataset(reader, "u") &&
      carom_system_describe(system).control_size > 0)
    status = control_read(reader, system, &batch, &steps, &data->u, error);
  return status;
}

// /length: numbers of states, each from 0 to T
static carom_status read_lengths(h5_reader *reader, carom_trajectories *data, carom_error *error) {
  h5_axis axis = {"samples", data->batch};
  double *values;
  carom_status status = h5_read_doubles(reader, "length", 1, &axis, &values, error);
  if (status != CAROM_OK) return status;
  data->lengths = size_allocate_zero((size_t)data->batch, sizeof *data->lengths);
  if (data->lengths == NULL) status = error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  for (int k = 0; k < data->batch && status == CAROM_OK; k++) {
    if (values[k] >= 0 && values[k] <= data->state_count && values[k] == floor(values[k]))
      data->lengths[k] = (int)values[k];
    else
      status = error_set(error, CAROM_INVALID_DATA,
                         "%s: /length[%d] is %g, expected a number of states from 0 to %d",
                         h5_reader_path(reader), k, values[k], data->state_count);
  }
  free(values);
  return status;
}

// positions, velocities (which may be missing where the rest may be) and lengths
static carom_status read_states(h5_reader *reader, bool partial, carom_trajectories *data,
                                carom_error *error) {
  h5_axis axes[] = {{"samples", -1},
                    {"states", -1},
                    {"points", data->point_count},
                    {"dimension", data->dimension}};
  carom_status (*read)(h5_reader *, const char *, int, h5_axis *, double **, carom_error *) =
      partial ? h5_read_any_doubles : h5_read_doubles;
  carom_status status = read(reader, "x", 4, axes, &data->x, error);
  if (status == CAROM_OK && (!partial || h5_has_dataset(reader, "v")))
    status = read(reader, "v", 4, axes, &data->v, error);
  if (status != CAROM_OK) return status;
  data->batch = axes[0].size;
  data->state_count = axes[1].size;
  if (data->batch < 1 || data->state_count < 1) {
    return error_set(error, CAROM_INVALID_DATA, "%s: has %d samples of %d states, expected some",
                     h5_reader_path(reader), data->batch, data->state_count);
  }
  if (!h5_has_dataset(reader, "length")) return CAROM_OK;
  if (partial) return read_lengths(reader, data, error);
  return error_set(error, CAROM_INVALID_DATA,
                   "%s: has trajectories of several lengths (/length); only data sets are made of "
                   "such",
                   h5_reader_path(reader));
}

// models know of no controls: they would learn from what those did
static carom_status refuse_controls(const h5_reader *reader, const carom_system_info *info,
                                    const carom_trajectories *data, carom_error *error) {
  const size_t count =
      (size_t)data->batch * (size_t)(data->state_count - 1) * (size_t)info->control_size;
  for (size_t k = 0; data->u != NULL && k < count; k++)
    if (data->u[k] != 0)
      return error_set(error, CAROM_INVALID_DATA,
                       "%s: has motion under controls (/u), which models do not know of; data sets "
                       "are made of motion without",
                       h5_reader_path(reader));
  return CAROM_OK;
}

static carom_status read_all(h5_reader *reader, const carom_system *system, bool partial,
                             carom_trajectories *data, carom_error *error) {
  const carom_system_info info = carom_system_describe(system);
  *data = (carom_trajectories){.point_count = info.point_count, .dimension = info.dimension};
  carom_status status = read_states(reader, partial, data, error);
  if (status == CAROM_OK) status = read_optional(reader, system, partial, data, error);
  if (status == CAROM_OK && partial) status = refuse_controls(reader, &info, data, error);
  if (status != CAROM_OK) carom_trajectories_free(data);
  return status;
}

carom_status trajectory_read(h5_reader *reader, const carom_system *system,
                             carom_trajectories *data, carom_error *error) {
  return read_all(reader, system, false, data, error);
}

carom_status trajectory_read_partial(h5_reader *reader, const carom_system *system,
                                     carom_trajectories *data, carom_error *error) {
  return read_all(reader, system, true, data, error);
}

/* What a trajectory is read for, and into. */
typedef struct trajectory_target {
  const carom_system *system;
  carom_trajectories *data;
} trajectory_target;

static carom_status read_target(h5_reader *reader, void *user, carom_error *error) {
  const trajectory_target *target = user;
  return trajectory_read(reader, target->system, target->data, error);
}

carom_status carom_trajectories_read(const carom_system *system, const char *path,
                                     carom_trajectories *trajectories, carom_error *error) {
  if (trajectories != NULL) *trajectories = (carom_trajectories){0};
  REQUIRE(system, error);
  REQUIRE(path, error);
  REQUIRE(trajectories, error);
  trajectory_target target = {system, trajectories};
  return h5_read_file(path, read_target, &target, error);
}

static carom_status read_measured(h5_reader *reader, void *user, carom_error *error) {
  const trajectory_target *target = user;
  return trajectory_read_partial(reader, target->system, target->data, error);
}

carom_status carom_trajectories_read_measured(const carom_system *system, const char *path,
                                              carom_trajectories *trajectories,
                                              carom_error *error) {
  if (trajectories != NULL) *trajectories = (carom_trajectories){0};
  REQUIRE(system, error);
  REQUIRE(path, error);
  REQUIRE(trajectories, error);
  trajectory_target target = {system, trajectories};
  return h5_read_file(path, read_measured, &target, error);
}

void carom_trajectories_free(carom_trajectories *data) {
  if (data == NULL) return;
  free(data->x);
  free(data->v);
  free(data->t);
  free(data->times);
  free(data->lengths);
  free(data->contact);
  free(data->u);
  *data = (carom_trajectories){0};
}
