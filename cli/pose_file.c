#include "cli/pose_file.h"

#include "cli/csv_table.h"
#include "cli/npz_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One number of a body at all states, wherever it stands: values[k * stride]. NULL: there is none. */
typedef struct column {
  const double *values;
  size_t stride;
} column;

/* What a file says of one body in one trajectory. */
typedef struct track {
  column position[3], angle, quaternion[4]; /* w, x, y, z */
  column velocity[3], rate, turning[3];
  bool turning_in_body;
} track;

typedef struct maker {
  const carom_system *system;
  carom_system_info info;
  const pose_units *units;
  const char *path;
  carom_trajectories *data;
  int room, capacity; /* trajectories, and states of each, that there is room for */
  bool has_velocity;  /* of all trajectories so far */
  bool uneven;        /* steps are not all of one length */
  bool timeless;      /* a trajectory does not say its times */
  /* of the trajectory to come: */
  double step;   /* its time step, or the median of those; 0: it does not say */
  double *clock; /* times of its states where they are not steps; NULL: they are */
  int *rows;     /* of each state, -1: it is missing; NULL: one after the other */
  carom_error *error;
} maker;

static double at(const column *c, int k) { return c->values[(size_t)k * c->stride]; }

/* ---- one pose -------------------------------------------------------------------------------- */

// columns of the rotation matrix: the body axes. NaN where the quaternion is none
static void axes_of_quaternion(const double *given, double axes[3][3]) {
  double q[4], size = 0;
  for (int i = 0; i < 4; i++) size += given[i] * given[i];
  for (int i = 0; i < 4; i++) q[i] = given[i] / sqrt(size);
  double w = q[0], x = q[1], y = q[2], z = q[3];
  const double columns[3][3] = {
      {1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)},
      {2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)},
      {2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)}};
  memcpy(axes, columns, sizeof columns);
}

static void axes_at(const maker *m, const track *t, int k, double axes[3][3]) {
  if (m->info.dimension == 2) {
    double angle = m->units->angle * at(&t->angle, k);
    axes[0][0] = axes[1][1] = cos(angle);
    axes[0][1] = sin(angle);
    axes[1][0] = -sin(angle);
    return;
  }
  double q[4];
  for (int i = 0; i < 4; i++) q[i] = at(&t->quaternion[i], k);
  axes_of_quaternion(q, axes);
}

// the angular velocity about axes of the world
static void turning_at(const maker *m, const track *t, int k, double axes[3][3], double *omega) {
  double factor = m->units->angle / m->units->time, given[3];
  if (m->info.dimension == 2) {
    omega[0] = factor * at(&t->rate, k);
    return;
  }
  for (int i = 0; i < 3; i++) given[i] = factor * at(&t->turning[i], k);
  for (int i = 0; i < 3; i++)
    omega[i] = t->turning_in_body
                   ? given[0] * axes[0][i] + given[1] * axes[1][i] + given[2] * axes[2][i]
                   : given[i];
}

static void cross(int d, const double *omega, const double *a, double *out) {
  if (d == 2) {
    out[0] = -omega[0] * a[1];
    out[1] = omega[0] * a[0];
    return;
  }
  out[0] = omega[1] * a[2] - omega[2] * a[1];
  out[1] = omega[2] * a[0] - omega[0] * a[2];
  out[2] = omega[0] * a[1] - omega[1] * a[0];
}

// points of a body at state k; v may be NULL
static void put_pose(const maker *m, const track *t, int body, int k, double *x, double *v) {
  int d = m->info.dimension;
  double axes[3][3] = {{0}}, omega[3] = {0, 0, 0}, turned[3];
  for (int i = 0; i < d; i++) {
    x[i] = m->units->length * at(&t->position[i], k);
    if (v != NULL) v[i] = m->units->length / m->units->time * at(&t->velocity[i], k);
  }
  if (!carom_system_body_is_rigid(m->system, body)) return;
  axes_at(m, t, k, axes);
  if (v != NULL) turning_at(m, t, k, axes, omega);
  for (int p = 0; p < d; p++) {
    cross(d, omega, axes[p], turned);
    for (int i = 0; i < d; i++) {
      x[(p + 1) * d + i] = x[i] + axes[p][i];
      if (v != NULL) v[(p + 1) * d + i] = v[i] + turned[i];
    }
  }
}

/* ---- growing --------------------------------------------------------------------------------- */

// `size` numbers of each state with room for more: what is there stays, the rest is missing
static bool widen(const maker *m, double **values, size_t size, int batch, int capacity) {
  double *wide = malloc(sizeof(double) * ((size_t)batch * (size_t)capacity * size + 1));
  if (wide == NULL) return false;
  for (size_t i = 0; i < (size_t)batch * (size_t)capacity * size; i++) wide[i] = NAN;
  for (int k = 0; k < m->data->batch; k++)
    memcpy(wide + (size_t)k * (size_t)capacity * size,
           *values + (size_t)k * (size_t)m->capacity * size,
           sizeof(double) * (size_t)m->capacity * size);
  free(*values);
  *values = wide;
  return true;
}

// room for one more trajectory of so many states
static bool reserve(maker *m, int states) {
  carom_trajectories *data = m->data;
  int capacity = states > m->capacity ? states : m->capacity;
  int room = data->batch < m->room ? m->room : 2 * m->room + 4;
  if (capacity == m->capacity && room == m->room) return true;
  int *lengths = realloc(data->lengths, sizeof(int) * (size_t)room);
  if (lengths == NULL) return false;
  data->lengths = lengths;
  const size_t size = (size_t)data->point_count * (size_t)data->dimension;
  if (!widen(m, &data->x, size, room, capacity) || !widen(m, &data->v, size, room, capacity) ||
      !widen(m, &data->times, 1, room, capacity))
    return false;
  m->room = room;
  data->state_count = m->capacity = capacity;
  return true;
}

// times of the trajectory that is added, and whether its step is that of the others
static void add_times(maker *m, int states) {
  carom_trajectories *data = m->data;
  double *times = data->times + (size_t)data->batch * (size_t)m->capacity;
  for (int k = 0; k < states; k++) times[k] = m->clock != NULL ? m->clock[k] : k * m->step;
  if (m->clock != NULL) m->uneven = true;
  if (!(m->step > 0)) {
    m->timeless = m->timeless || states > 1;
    return;
  }
  if (data->dt == 0) data->dt = m->step;
  if (fabs(m->step / data->dt - 1) > 1e-3) m->uneven = true;
}

static carom_status add_trajectory(maker *m, const track *tracks, int states) {
  carom_trajectories *data = m->data;
  int first = 0;
  if (!reserve(m, states))
    return carom_error_set(m->error, CAROM_OUT_OF_MEMORY, "no memory for %d trajectories",
                           data->batch + 1);
  size_t size = (size_t)data->point_count * (size_t)data->dimension;
  size_t start = (size_t)data->batch * (size_t)m->capacity * size;
  bool velocities = true;
  for (int b = 0; b < m->info.body_count; b++) {
    const track *t = &tracks[b];
    bool turns = carom_system_body_is_rigid(m->system, b);
    bool moves = t->velocity[0].values != NULL;
    bool turning = m->info.dimension == 2 ? t->rate.values != NULL : t->turning[0].values != NULL;
    velocities = velocities && moves && (!turns || turning);
  }
  m->has_velocity = m->has_velocity && velocities;
  for (int b = 0; b < m->info.body_count; b++) {
    for (int k = 0; k < states; k++) {
      size_t place = start + (size_t)k * size + (size_t)first;
      int row = m->rows != NULL ? m->rows[k] : k;
      if (row < 0) continue; // not a number, as all that there is room for
      put_pose(m, &tracks[b], b, row, data->x + place, velocities ? data->v + place : NULL);
    }
    first += data->dimension * (carom_system_body_is_rigid(m->system, b) ? data->dimension + 1 : 1);
  }
  add_times(m, states);
  data->lengths[data->batch++] = states;
  return CAROM_OK;
}

// all that a body needs is there
static carom_status check_track(const maker *m, const track *t, int body, const char *where) {
  int d = m->info.dimension;
  const char *missing = NULL;
  for (int i = 0; i < d; i++)
    if (t->position[i].values == NULL) missing = "position";
  if (missing == NULL && carom_system_body_is_rigid(m->system, body)) {
    if (d == 2 && t->angle.values == NULL) missing = "angle";
    for (int i = 0; i < 4 && d == 3; i++)
      if (t->quaternion[i].values == NULL) missing = "quaternion";
  }
  if (missing == NULL) return CAROM_OK;
  return carom_error_set(
      m->error, CAROM_INVALID_DATA,
      "%s%s%s: there is no %s of body '%s'; `carom import --help` says how columns "
      "and datasets are called",
      m->path, where[0] != '\0' ? ": " : "", where, missing, carom_system_body_id(m->system, body));
}

// the time step of what comes, in units of the file; 0: it does not say
static void set_step(maker *m, double dt) {
  m->step = (m->units->dt > 0 ? m->units->dt : dt) * m->units->time;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static column csv_at(const maker *m, const csv_table *table, int body, const char *name, int row) {
  char full[128];
  snprintf(full, sizeof full, "%s.%s", carom_system_body_id(m->system, body), name);
  int place = csv_column(table, full);
  if (place < 0 && m->info.body_count == 1) place = csv_column(table, name);
  if (place < 0) return (column){0};
  return (column){table->values + (size_t)row * (size_t)table->column_count + place,
                  (size_t)table->column_count};
}

static track csv_track(const maker *m, const csv_table *table, int body, int row) {
  static const char *const positions[] = {"x", "y", "z"}, *const velocities[] = {"vx", "vy", "vz"};
  static const char *const quaternion[] = {"qw", "qx", "qy", "qz"}, *const turning[] = {"wx", "wy",
                                                                                        "wz"};
  track t = {0};
  for (int i = 0; i < m->info.dimension; i++) {
    t.position[i] = csv_at(m, table, body, positions[i], row);
    t.velocity[i] = csv_at(m, table, body, velocities[i], row);
  }
  for (int i = 0; i < 4; i++) t.quaternion[i] = csv_at(m, table, body, quaternion[i], row);
  for (int i = 0; i < 3; i++) t.turning[i] = csv_at(m, table, body, turning[i], row);
  t.angle = csv_at(m, table, body, "angle", row);
  t.rate = csv_at(m, table, body, "rate", row);
  return t;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// the median of `count` time steps, which are sorted
static double median_step(double *steps, size_t count) {
  qsort(steps, count, sizeof(double), by_size);
  return steps[(count - 1) / 2];
}

// that of the times of at least two states; 0 if memory is short
static double usual_step(const column *t, int states) {
  double *steps = malloc(sizeof(double) * (size_t)states), usual = 0;
  if (steps == NULL) return 0;
  for (int k = 1; k < states; k++) steps[k - 1] = at(t, k) - at(t, k - 1);
  usual = median_step(steps, (size_t)states - 1);
  free(steps);
  return usual;
}

static carom_status no_memory_for(const maker *m, int states) {
  return carom_error_set(m->error, CAROM_OUT_OF_MEMORY, "no memory for %d states", states);
}

/* How many states there are with those that are missing, where times are multiples of dt; 0: they are not. */
static int count_multiples(const column *t, int given, double dt) {
  enum { MOST_MISSING = 1000000 };
  int now = 0;
  for (int k = 1; k < given; k++) {
    const double times = (at(t, k) - at(t, k - 1)) / dt;
    if (!(times > 0.5) || !(fabs(times - round(times)) <= 0.02) || now + times > MOST_MISSING)
      return 0;
    now += (int)lround(times);
  }
  return now + 1;
}

/* Times that are multiples of dt: m->rows says which are missing. */
static carom_status take_multiples(maker *m, const column *t, int given, double dt, int states) {
  if (states > given) {
    m->rows = malloc(sizeof(int) * (size_t)states);
    if (m->rows == NULL) return no_memory_for(m, states);
    for (int k = 0; k < states; k++) m->rows[k] = -1;
    for (int k = 0; k < given; k++) m->rows[lround((at(t, k) - at(t, 0)) / dt * (1 - 1e-12))] = k;
  }
  set_step(m, (at(t, given - 1) - at(t, 0)) / (states - 1));
  return CAROM_OK;
}

/* Times as they stand: in the middle of a gap of many steps a state is missing, so that nothing is predicted across it. */
static carom_status take_clock(maker *m, const column *t, int given, double dt, int *states) {
  const double GAP = 4.5; // steps
  *states = 0;
  m->clock = malloc(sizeof(double) * 2 * (size_t)given);
  m->rows = malloc(sizeof(int) * 2 * (size_t)given);
  if (m->clock == NULL || m->rows == NULL) return no_memory_for(m, given);
  for (int k = 0; k < given; k++) {
    if (k > 0 && at(t, k) - at(t, k - 1) > GAP * dt) {
      m->rows[*states] = -1;
      m->clock[(*states)++] = m->units->time * 0.5 * (at(t, k - 1) + at(t, k));
    }
    m->rows[*states] = k;
    m->clock[(*states)++] = m->units->time * at(t, k);
  }
  set_step(m, dt);
  return CAROM_OK;
}

/* Times of `given` states, the first of which is number `place` of `what`. *states becomes how many there are with those
 * that are missing. */
static carom_status check_times(maker *m, const column *t, const char *what, int place,
                                int *states) {
  const double TINY = 1e-3; // of the usual step: two states at one time
  const int given = *states;
  set_step(m, 0);
  if (given < 2 || m->units->dt > 0) return CAROM_OK;
  const double dt = usual_step(t, given);
  for (int k = 1; k < given; k++)
    if (!(at(t, k) - at(t, k - 1) > TINY * fmax(dt, 0)) || !isfinite(at(t, k)))
      return carom_error_set(m->error, CAROM_INVALID_DATA,
                             "%s: %s %d: times do not rise, %g comes after %g; sort the states, "
                             "leave out those that are there twice, or give --dt H if the times "
                             "are wrong",
                             m->path, what, place + k, at(t, k), at(t, k - 1));
  const int even = count_multiples(t, given, dt);
  if (even == 0) return take_clock(m, t, given, dt, states);
  *states = even;
  return take_multiples(m, t, given, dt, even);
}

static carom_status csv_times(maker *m, const csv_table *table, int row, int *states) {
  int place = csv_column(table, "t");
  set_step(m, 0);
  if (place < 0) return CAROM_OK;
  size_t stride = (size_t)table->column_count;
  const column t = {table->values + (size_t)row * stride + place, stride};
  return check_times(m, &t, "row", row + 2, states);
}

static void forget_times(maker *m) {
  free(m->rows);
  free(m->clock);
  m->rows = NULL;
  m->clock = NULL;
}

static carom_status read_csv(maker *m, track *tracks) {
  csv_table table;
  carom_status status = csv_read(m->path, &table, m->error);
  if (status != CAROM_OK) return status;
  int which = csv_column(&table, "trajectory");
  for (int row = 0; row < table.row_count && status == CAROM_OK;) {
    int end = row + 1;
    while (
        end < table.row_count &&
        (which < 0 || table.values[(size_t)end * (size_t)table.column_count + (size_t)which] ==
                          table.values[(size_t)row * (size_t)table.column_count + (size_t)which]))
      end++;
    for (int b = 0; b < m->info.body_count && status == CAROM_OK; b++) {
      tracks[b] = csv_track(m, &table, b, row);
      status = check_track(m, &tracks[b], b, "");
    }
    int states = end - row;
    if (status == CAROM_OK) status = csv_times(m, &table, row, &states);
    if (status == CAROM_OK) status = add_trajectory(m, tracks, states);
    forget_times(m);
    row = end;
  }
  csv_free(&table);
  return status;
}

/* ---- arrays of HDF5 and npz files ------------------------------------------------------------ */

/* Trajectories of one group of arrays: a single one [states][...], or `batch` of them [batch][states][...]. */
typedef struct array_group {
  const carom_arrays *arrays;
  char name[96];
  int batch; /* 0: a single one */
  int which; /* the one that is read */
  int states;
} array_group;

// "group/body.name", without what there is none of
static const carom_array *find_array(const maker *m, const array_group *g, int body,
                                     const char *name) {
  char full[256];
  const bool several = m->info.body_count > 1;
  snprintf(full, sizeof full, "%s%s%s%s%s", g->name, g->name[0] != '\0' ? "/" : "",
           several ? carom_system_body_id(m->system, body) : "", several ? "." : "", name);
  return carom_arrays_find(g->arrays, full);
}

/* `count` columns of an array [states][count], [states] where count is 1. */
static bool array_columns(const maker *m, array_group *g, int body, const char *name, int count,
                          column *columns) {
  const carom_array *a = find_array(m, g, body, name);
  const int first = g->batch > 0; // axis of the states
  if (a == NULL || (first && (a->rank < 1 || a->shape[0] != g->batch))) return false;
  const bool wide = a->rank == first + 2 && a->shape[first + 1] == count;
  if (!wide && !(a->rank == first + 1 && count == 1)) return false;
  const size_t start = (size_t)g->which * (size_t)a->shape[first] * (size_t)count;
  for (int i = 0; i < count; i++) columns[i] = (column){a->values + start + i, (size_t)count};
  if (g->states < 0 || a->shape[first] < g->states) g->states = a->shape[first];
  return true;
}

static track array_track(const maker *m, array_group *g, int body) {
  int d = m->info.dimension;
  track t = {0};
  column xyzw[4];
  array_columns(m, g, body, "position", d, t.position);
  array_columns(m, g, body, "velocity", d, t.velocity);
  array_columns(m, g, body, "angle", 1, &t.angle);
  array_columns(m, g, body, "rate", 1, &t.rate);
  array_columns(m, g, body, "quaternion_wxyz", 4, t.quaternion);
  if (array_columns(m, g, body, "quaternion_xyzw", 4, xyzw))
    for (int i = 0; i < 4; i++) t.quaternion[i] = xyzw[(i + 3) % 4];
  array_columns(m, g, body, "angular_velocity", 3, t.turning);
  t.turning_in_body = array_columns(m, g, body, "angular_velocity_body", 3, t.turning);
  return t;
}

// the group of an array that is the position of the first body; false if it is none
static bool is_group(const maker *m, const carom_arrays *arrays, const carom_array *a,
                     array_group *g) {
  const char *tail = strrchr(a->name, '/');
  *g = (array_group){.arrays = arrays};
  snprintf(g->name, sizeof g->name, "%.*s", tail != NULL ? (int)(tail - a->name) : 0, a->name);
  g->batch = a->rank == 3 ? a->shape[0] : 0;
  return find_array(m, g, 0, "position") == a;
}

/* The array t of a group, or of the file: [states], or [batch][states]. */
static bool array_times(const array_group *g, column *times) {
  char full[128];
  snprintf(full, sizeof full, "%s/t", g->name);
  const carom_array *t = g->name[0] != '\0' ? carom_arrays_find(g->arrays, full) : NULL;
  if (t == NULL) t = carom_arrays_find(g->arrays, "t");
  if (t == NULL || t->rank < 1 || t->rank > 2 || t->shape[t->rank - 1] < g->states) return false;
  if (t->rank == 2 && (g->batch == 0 || t->shape[0] != g->batch)) return false;
  const size_t row = t->rank == 2 ? (size_t)g->which * (size_t)t->shape[1] : 0;
  *times = (column){t->values + row, 1};
  return true;
}

static carom_status read_group(maker *m, array_group *g, track *tracks) {
  carom_status status = CAROM_OK;
  for (g->which = 0; g->which < (g->batch > 0 ? g->batch : 1) && status == CAROM_OK; g->which++) {
    g->states = -1;
    for (int b = 0; b < m->info.body_count && status == CAROM_OK; b++) {
      tracks[b] = array_track(m, g, b);
      status = check_track(m, &tracks[b], b, g->name);
    }
    column t;
    set_step(m, g->arrays->dt);
    if (status == CAROM_OK && g->arrays->dt == 0 && array_times(g, &t))
      status = check_times(m, &t, "state", 0, &g->states);
    if (status == CAROM_OK) status = add_trajectory(m, tracks, g->states);
    forget_times(m);
  }
  return status;
}

static carom_status read_arrays(maker *m, const carom_arrays *arrays, track *tracks) {
  carom_status status = CAROM_OK;
  int found = 0;
  for (int k = 0; k < arrays->count && status == CAROM_OK; k++) {
    array_group g;
    if (!is_group(m, arrays, &arrays->items[k], &g)) continue;
    status = read_group(m, &g, tracks);
    found++;
  }
  if (status == CAROM_OK && found == 0)
    return carom_error_set(m->error, CAROM_INVALID_DATA,
                           "%s: there is no array `%s%sposition`, in the file or in a group of it",
                           m->path,
                           m->info.body_count > 1 ? carom_system_body_id(m->system, 0) : "",
                           m->info.body_count > 1 ? "." : "");
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool ends_with(const char *path, const char *end) {
  size_t length = strlen(path), tail = strlen(end);
  return length >= tail && strcmp(path + length - tail, end) == 0;
}

static carom_status read_file(maker *m, track *tracks) {
  carom_arrays arrays;
  const bool numpy = ends_with(m->path, ".npz") || ends_with(m->path, ".npy");
  carom_status status =
      numpy ? npz_read(m->path, &arrays, m->error) : carom_arrays_read(m->path, &arrays, m->error);
  if (status != CAROM_OK) return status;
  status = read_arrays(m, &arrays, tracks);
  carom_arrays_free(&arrays);
  return status;
}

// dt is about what steps of all trajectories are; false if memory is short
static bool set_median_step(carom_trajectories *data) {
  const size_t states = (size_t)data->state_count;
  double *steps = malloc(sizeof(double) * ((size_t)data->batch * states + 1));
  size_t count = 0;
  if (steps == NULL) return false;
  for (int i = 0; i < data->batch; i++)
    for (int k = 1; k < data->lengths[i]; k++)
      steps[count++] = data->times[(size_t)i * states + (size_t)k] -
                       data->times[(size_t)i * states + (size_t)k - 1];
  if (count > 0) data->dt = median_step(steps, count);
  free(steps);
  return true;
}

static carom_status finish(maker *m) {
  carom_trajectories *data = m->data;
  if (data->batch == 0)
    return carom_error_set(m->error, CAROM_INVALID_DATA, "%s: there is no state", m->path);
  if (data->dt == 0)
    return carom_error_set(
        m->error, CAROM_INVALID_DATA,
        "%s: does not say its time step (a column t, an attribute dt); give --dt H", m->path);
  if (m->uneven && m->timeless)
    return carom_error_set(m->error, CAROM_INVALID_DATA,
                           "time steps are not all of one length, and some trajectories do not say "
                           "their times: each needs a column t");
  data->dt_from = CAROM_DT_OF_ATTRIBUTE;
  if (m->uneven && !set_median_step(data)) return no_memory_for(m, data->state_count);
  if (!m->uneven) {
    free(data->times);
    data->times = NULL;
  }
  if (m->has_velocity) return CAROM_OK;
  free(data->v);
  data->v = NULL;
  return CAROM_OK;
}

carom_status poses_read(const carom_system *system, const char *const *files, int file_count,
                        const pose_units *units, carom_trajectories *data, carom_error *error) {
  maker m = {.system = system,
             .info = carom_system_describe(system),
             .units = units,
             .data = data,
             .has_velocity = true,
             .error = error};
  *data = (carom_trajectories){.point_count = m.info.point_count, .dimension = m.info.dimension};
  track *tracks = calloc((size_t)m.info.body_count, sizeof *tracks);
  carom_status status = tracks != NULL
                            ? CAROM_OK
                            : carom_error_set(error, CAROM_OUT_OF_MEMORY, "no memory to import");
  for (int k = 0; k < file_count && status == CAROM_OK; k++) {
    m.path = files[k];
    status = ends_with(m.path, ".csv") ? read_csv(&m, tracks) : read_file(&m, tracks);
  }
  free(tracks);
  return status == CAROM_OK ? finish(&m) : status;
}
