/* carom import: trajectories as other programs have them, poses of bodies, as a trajectory file. */
#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/messages.h"
#include "cli/output.h"
#include "cli/pose_file.h"
#include "cli/trajectory_range.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  KEY_DT = 512,
  KEY_LENGTH,
  KEY_TIME,
  KEY_DEGREES,
  KEY_USE,
  KEY_CENTRE,
  MOST_FILES = 1000,
  MOST_CENTRES = 64
};

/* BODY=X,Y,Z: where its centre of mass is, as seen from the point that was measured. */
typedef struct centre {
  char body[80];
  double at[3];
  int count;
} centre;

typedef struct arguments {
  const char *scene, *output;
  const char *files[MOST_FILES];
  int file_count;
  pose_units units;
  range use;
  centre centres[MOST_CENTRES];
  int centre_count;
  general_options general;
} arguments;

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "write the trajectories to FILE (HDF5)", 0},
    {"dt", KEY_DT, "H", 0, "time between two states, where the files do not say (or say otherwise)",
     0},
    {"length-factor", KEY_LENGTH, "X", 0,
     "scene's units of length in one of the files: 0.01 for cm (1)", 0},
    {"time-factor", KEY_TIME, "X", 0, "scene's units of time in one of the files: 0.001 for ms (1)",
     0},
    {"degrees", KEY_DEGREES, NULL, 0, "angles and rates are in degrees", 0},
    {"use", KEY_USE, "A-B", 0, "write trajectories A to B of the files alone", 0},
    {"centre", KEY_CENTRE, "BODY=X,Y,Z", 0,
     "the centre of mass of BODY stands there in its coordinates, seen from the point that was "
     "measured, in the scene's units: states are moved to it. May be given for several bodies",
     0},
    {0}};

static void parse_centre(struct argp_state *state, arguments *a, const char *text) {
  if (a->centre_count == MOST_CENTRES)
    argp_error(state, "--centre: at most %d times", MOST_CENTRES);
  centre *c = &a->centres[a->centre_count++];
  const char *equals = strchr(text, '=');
  size_t length = equals != NULL ? (size_t)(equals - text) : 0;
  bool good = length > 0 && length < sizeof c->body;
  if (good) snprintf(c->body, sizeof c->body, "%.*s", (int)length, text);
  for (const char *at = equals; good && at != NULL && c->count <= 3;) {
    char *end;
    double x = strtod(at + 1, &end);
    good = c->count < 3 && end != at + 1 && isfinite(x) && (*end == ',' || *end == '\0');
    if (good) c->at[c->count++] = x;
    at = good && *end == ',' ? end : NULL;
  }
  if (!good) argp_error(state, "--centre %s: expected BODY=X,Y,Z, as in cube=0,0,0.005", text);
}

static error_t parse(int key, char *text, struct argp_state *state) {
  arguments *a = state->input;
  switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->general; return 0;
    case 'o': a->output = text; return 0;
    case KEY_DT: a->units.dt = parse_number(state, "--dt", text, 1e-12, 1e12); return 0;
    case KEY_LENGTH:
      a->units.length = parse_number(state, "--length-factor", text, 1e-12, 1e12);
      return 0;
    case KEY_TIME:
      a->units.time = parse_number(state, "--time-factor", text, 1e-12, 1e12);
      return 0;
    case KEY_USE: a->use = parse_range(state, "--use", text); return 0;
    case KEY_CENTRE: parse_centre(state, a, text); return 0;
    case KEY_DEGREES: a->units.angle = 3.14159265358979323846 / 180; return 0;
    case ARGP_KEY_ARG:
      if (a->scene == NULL)
        a->scene = text;
      else if (a->file_count < MOST_FILES)
        a->files[a->file_count++] = text;
      else
        argp_error(state, "at most %d files", MOST_FILES);
      return 0;
    case ARGP_KEY_END:
      require_scene(state, a->scene);
      if (a->file_count == 0) argp_error(state, "there is no file to import");
      if (a->output == NULL) argp_error(state, "-o FILE is missing: where the trajectories go");
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const char help[] =
    "Reads what was measured of the bodies of SCENE and writes a trajectory file for carom fit, "
    "dataset "
    "and train. A CSV file has a column for each number and a row for each state: x, y, z, angle "
    "(2D) or qw, qx, qy, qz, and where they are known t, vx, vy, vz, rate (2D) or wx, wy, wz, "
    "those of several bodies as in ball.x; a column `trajectory` tells trajectories apart. HDF5 "
    "and npz files have arrays position, angle, quaternion_wxyz or quaternion_xyzw, velocity, "
    "rate, angular_velocity or angular_velocity_body, t or dt, those of several bodies as in "
    "ball.position: [states][...] of one trajectory (in a group of HDF5 for each), or "
    "[trajectories][states][...]. Lengths may differ; empty fields, NaN and times that are left "
    "out are missing states; times that are no multiples of one step are kept as they are. "
    "Velocities are compared with positions: to which time they belong is "
    "said."
    "\vExample: a ball that was tracked at 100 frames a second, in centimetres\n"
    "  carom import ball.json track.csv --dt 0.01 --length-factor 0.01 -o track.h5";
static struct argp argp = {
    .options = options, .parser = parse, .args_doc = "SCENE FILE... -o FILE", .doc = help};

/* ---- centres of mass ------------------------------------------------------------------------- */

// x_p += sum_k c_k (x_k - x_0) for all points of a body, positions or velocities of one state
static void move_body(const carom_body_info *b, int dimension, const double *c, double *x) {
  double off[3] = {0, 0, 0}, *first = x + b->first_point * dimension;
  for (int k = 0; k < dimension; k++)
    for (int i = 0; i < dimension; i++)
      off[i] += c[k] * (first[(k + 1) * dimension + i] - first[i]);
  for (int p = 0; p < b->point_count; p++)
    for (int i = 0; i < dimension; i++) first[p * dimension + i] += off[i];
}

static carom_status move_to_centre(const carom_system *system, const centre *c,
                                   carom_trajectories *t, carom_error *error) {
  const int count = carom_system_describe(system).body_count;
  int index = 0;
  while (index < count && strcmp(carom_system_body(system, index).id, c->body) != 0) index++;
  const carom_body_info b = carom_system_body(system, index);
  if (index == count || !b.rigid || c->count != t->dimension)
    return carom_error_set(error, CAROM_INVALID_ARGUMENT, "--centre %s: %s", c->body,
                           index == count ? "the scene has no such body"
                           : !b.rigid     ? "a point mass is its own centre"
                                          : "it needs as many coordinates as the scene has");
  size_t size = (size_t)t->point_count * (size_t)t->dimension;
  for (size_t k = 0; k < (size_t)t->batch * (size_t)t->state_count; k++) {
    move_body(&b, t->dimension, c->at, t->x + k * size);
    if (t->v != NULL) move_body(&b, t->dimension, c->at, t->v + k * size);
  }
  return CAROM_OK;
}

/* ---- to which time velocities belong --------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// length of the step that leads to a state
static double step_to(const carom_trajectories *t, int trajectory, int state) {
  if (t->times == NULL) return t->dt;
  const double *at = t->times + (size_t)trajectory * (size_t)t->state_count + state;
  return at[0] - at[-1];
}

/* Medians of |v - (x_k - x_{k-1}) / dt|, of the central difference and of the next one, over the centres. */
static void describe_velocities(const carom_trajectories *t) {
  size_t size = (size_t)t->point_count * (size_t)t->dimension, used = 0;
  size_t most = (size_t)t->batch * (size_t)t->state_count;
  double *off[3] = {malloc(sizeof(double) * (most + 1)), malloc(sizeof(double) * (most + 1)),
                    malloc(sizeof(double) * (most + 1))};
  for (int i = 0; i < t->batch && off[0] != NULL && off[1] != NULL && off[2] != NULL; i++)
    for (int k = 1; k + 1 < t->lengths[i]; k++) {
      const double *x = t->x + ((size_t)i * (size_t)t->state_count + (size_t)k) * size;
      const double *v = t->v + (x - t->x);
      const double come = step_to(t, i, k), go = step_to(t, i, k + 1);
      double square[3] = {0, 0, 0};
      for (int c = 0; c < t->dimension; c++) {
        double before = (x[c] - x[c - (int)size]) / come, after = (x[c + (int)size] - x[c]) / go;
        const double differences[3] = {before, (go * before + come * after) / (come + go), after};
        for (int way = 0; way < 3; way++)
          square[way] += (v[c] - differences[way]) * (v[c] - differences[way]);
      }
      if (isnan(square[0] + square[2])) continue;
      for (int way = 0; way < 3; way++) off[way][used] = sqrt(square[way]);
      used++;
    }
  double middle[3] = {0, 0, 0};
  for (int way = 0; way < 3 && used > 0; way++) {
    qsort(off[way], used, sizeof(double), by_size);
    middle[way] = off[way][used / 2];
  }
  static const char *const texts[] = {
      "v_k is that of the step before each state, (x_k - x_{k-1}) / dt: take --velocity next",
      "v_k belongs to x_k: nothing is to be done",
      "v_k is that of the step after each state, (x_{k+1} - x_k) / dt: take --velocity previous"};
  int best = middle[0] < middle[1] ? 0 : 1;
  if (middle[2] < middle[best]) best = 2;
  if (used > 0)
    printf("velocities     %s (off the differences before, about, after: %.3g, %.3g, %.3g)\n",
           texts[best], middle[0], middle[1], middle[2]);
  for (int way = 0; way < 3; way++) free(off[way]);
}

/* Steps that are not all of one length, without those about states that are missing. */
static void describe_steps(const carom_trajectories *t) {
  const size_t size = (size_t)t->point_count * (size_t)t->dimension;
  double least = INFINITY, most = 0;
  for (int i = 0; i < t->batch; i++)
    for (int k = 1; k < t->lengths[i]; k++) {
      const double *x = t->x + ((size_t)i * (size_t)t->state_count + (size_t)k) * size;
      if (isnan(x[0]) || isnan(x[-(ptrdiff_t)size])) continue;
      least = fmin(least, step_to(t, i, k));
      most = fmax(most, step_to(t, i, k));
    }
  printf(
      "times          time steps are from %.4g to %.4g (the one above is their median). carom fit "
      "takes them as they are; dataset and train need equal ones. If the times are only rounded, "
      "import with --dt\n",
      least, most);
}

static void print_text(const arguments *a, const carom_trajectories *t) {
  int shortest = t->state_count;
  for (int i = 0; i < t->batch; i++) shortest = t->lengths[i] < shortest ? t->lengths[i] : shortest;
  printf("trajectories   %d of %d to %d states, time step %g\n", t->batch, shortest, t->state_count,
         t->dt);
  if (t->times != NULL) describe_steps(t);
  if (t->v != NULL)
    describe_velocities(t);
  else
    puts(
        "velocities     there are none: fit, dataset and train estimate them on each side of "
        "impacts");
  printf("written        %s\n", a->output);
}

int command_import(int argc, char **argv) {
  arguments a = {.units = {.length = 1, .time = 1, .angle = 1}, .use = {0, -1}};
  const struct argp_child children[] = {{&general_argp, 0, NULL, 0}, {0}};
  argp.children = children;
  parse_command_line(&argp, argc, argv, &a);
  carom_error error = {0};
  carom_system *system = NULL;
  carom_trajectories data = {0}, part;
  carom_status status = carom_system_load(a.scene, &system, &error);
  if (status == CAROM_OK) status = check_output(a.output, a.file_count, a.files, &error);
  if (status == CAROM_OK)
    status = poses_read(system, a.files, a.file_count, &a.units, &data, &error);
  for (int k = 0; k < a.centre_count && status == CAROM_OK; k++)
    status = move_to_centre(system, &a.centres[k], &data, &error);
  part = data;
  if (status == CAROM_OK && a.use.last >= 0)
    status = range_part(&data, "--use", a.use, &part, &error);
  if (status == CAROM_OK) status = carom_trajectories_write(&part, system, a.output, &error);
  int code = EXIT_SUCCESS;
  if (status == CAROM_OK)
    print_text(&a, &part);
  else
    code = report_failure("import", &error);
  carom_trajectories_free(&data);
  carom_system_destroy(system);
  return code;
}
