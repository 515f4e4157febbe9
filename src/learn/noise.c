#include "learn/noise.h"

#include "base/error.h"
#include "base/rng.h"
#include "physics/constraints.h"
#include "system/sampler.h"

#include <math.h>
#include <string.h>

enum { MOST_NEWTON_STEPS = 30 };
static const double NEWTON_TOLERANCE = 1e-13; /* of what is left, relative to the lengths */

/* What noise on one state needs. */
typedef struct noise {
  const carom_system *system;
  double deviation;
  rng random;
  mechanics mechanics;
  arena memory;
  double *arm;    /* [constraint_count][dimension] */
  double *factor; /* of J J' */
  double *rows;   /* [row_count] */
  double *step;   /* [coordinate_count] */
} noise;

static void lay_out(void *user) {
  noise *n = user;
  const carom_system *system = n->system;
  double *theta = arena_doubles(&n->memory, system->parameter_count);
  carom_parameters_default(system, theta);
  mechanics_set_parameters(&n->mechanics, theta);
  n->arm = arena_doubles(&n->memory, system->constraint_count * system->dimension);
  n->factor =
      arena_doubles(&n->memory, system->constraint_shape.start[system->constraint_shape.size]);
  n->rows = arena_doubles(&n->memory, system->row_count);
  n->step = arena_doubles(&n->memory, system->coordinate_count);
}

/* False if memory is short; noise_free is due in any case. */
static bool noise_init(noise *n, const carom_system *system, double deviation) {
  *n = (noise){.system = system, .deviation = deviation};
  arena_init(&n->memory);
  return mechanics_init(&n->mechanics, system) && arena_guard(lay_out, n);
}

static void noise_free(noise *n) {
  mechanics_free(&n->mechanics);
  arena_free(&n->memory);
}

static double draw(noise *n) { return n->deviation * rng_normal(&n->random); }

/* ---- chains of pendulums ---- */

// each link: angle from straight down and its rate, noise on both, and the chain put together again
static void disturb_angles(noise *n, double *x, double *v) {
  const sampler *chain = &n->system->initial;
  double upper[2] = {chain->anchor[0], chain->anchor[1]}, upper_velocity[2] = {0, 0};
  double position[2] = {upper[0], upper[1]}, velocity[2] = {0, 0};
  for (int i = 0; i < chain->chain_count; i++) {
    double *at = x + n->system->bodies[chain->chain_bodies[i]].first_point * 2;
    double *speed = v + (at - x);
    double dx = at[0] - upper[0], dy = at[1] - upper[1], length = chain->chain_lengths[i];
    double angle = atan2(dx, -dy);
    double rate = ((speed[0] - upper_velocity[0]) * cos(angle) +
                   (speed[1] - upper_velocity[1]) * sin(angle)) /
                  length;
    memcpy(upper, at, sizeof upper);
    memcpy(upper_velocity, speed, sizeof upper_velocity);
    angle += draw(n);
    rate += draw(n);
    position[0] += length * sin(angle);
    position[1] -= length * cos(angle);
    velocity[0] += length * rate * cos(angle);
    velocity[1] += length * rate * sin(angle);
    memcpy(at, position, sizeof position);
    memcpy(speed, velocity, sizeof velocity);
  }
}

/* ---- bodies ---- */

static void disturb_vector(noise *n, double *values) {
  for (int k = 0; k < n->system->dimension; k++) values[k] += draw(n);
}

static void rotate(int d, const double *rotation, double *vector) {
  double result[MAX_DIMENSION] = {0};
  for (int i = 0; i < d; i++)
    for (int j = 0; j < d; j++) result[i] += rotation[i * d + j] * vector[j];
  memcpy(vector, result, sizeof(double) * (size_t)d);
}

// the rate of an axis under an additional spin: omega x axis
static void add_spin(int d, const double *spin, const double *axis, double *rate) {
  if (d == 2) {
    rate[0] -= spin[0] * axis[1];
    rate[1] += spin[0] * axis[0];
  } else {
    for (int k = 0; k < 3; k++) {
      int i = (k + 1) % 3, j = (k + 2) % 3;
      rate[k] += spin[i] * axis[j] - spin[j] * axis[i];
    }
  }
}

static void disturb_body(noise *n, const body *b, double *x, double *v) {
  int d = n->system->dimension;
  double *centre = x + b->first_point * d, *velocity = v + b->first_point * d;
  double old_centre[MAX_DIMENSION], old_velocity[MAX_DIMENSION];
  memcpy(old_centre, centre, sizeof(double) * (size_t)d);
  memcpy(old_velocity, velocity, sizeof(double) * (size_t)d);
  disturb_vector(n, centre);
  disturb_vector(n, velocity);
  if (!b->rigid) return;

  // a small turn and a small spin; axes and their rates turn together
  double turn[MAX_DIMENSION], spin[MAX_DIMENSION], rotation[MAX_DIMENSION * MAX_DIMENSION];
  for (int k = 0; k < (d == 2 ? 1 : 3); k++) turn[k] = draw(n), spin[k] = draw(n);
  if (d == 2)
    rotation_from_angle(turn[0], rotation);
  else
    rotation_from_vector(turn, rotation);
  for (int p = 1; p < b->point_count; p++) {
    double *point = centre + p * d, *rate = velocity + p * d;
    for (int k = 0; k < d; k++) point[k] -= old_centre[k], rate[k] -= old_velocity[k];
    rotate(d, rotation, point);
    rotate(d, rotation, rate);
    add_spin(d, spin, point, rate);
    for (int k = 0; k < d; k++) point[k] += centre[k], rate[k] += velocity[k];
  }
}

/* ---- back to the constraints ---- */

// rows = Phi(x); returns the largest violation relative to the lengths
static double violations(noise *n, const double *x) {
  const carom_system *s = n->system;
  int d = s->dimension;
  double worst = 0;
  constraints_arms(&n->mechanics, 0, s->constraint_count, x, n->arm);
  for (int c = 0; c < s->constraint_count; c++) {
    const constraint *on = &s->constraints[c];
    const double *arm = n->arm + c * d;
    double square = 0;
    for (int k = 0; k < d; k++) square += arm[k] * arm[k];
    if (on->kind == CONSTRAINT_DISTANCE) {
      double length = on->length * on->length;
      n->rows[on->first_row] = square - length;
      worst = fmax(worst, fabs(square - length) / length);
    } else {
      for (int k = 0; k < d; k++) n->rows[on->first_row + k] = arm[k];
      worst = fmax(worst, sqrt(square));
    }
  }
  return worst;
}

// values -= J' (J J')^-1 rows
static void remove_rows(noise *n, double *values) {
  const carom_system *s = n->system;
  size_t count = (size_t)s->coordinate_count;
  constraints_factor(&n->mechanics, 0, s->constraint_count, n->arm, METRIC_GEOMETRIC, n->factor);
  constraints_solve(&n->mechanics, 0, s->constraint_count, n->factor, n->rows);
  memset(n->step, 0, sizeof(double) * count);
  constraints_apply_transpose(&n->mechanics, 0, s->constraint_count, n->arm, n->rows, n->step);
  for (size_t k = 0; k < count; k++) values[k] -= n->step[k];
}

// false if Newton's method does not arrive: the noise is as large as the bodies
static bool restore_constraints(noise *n, double *x, double *v) {
  const carom_system *s = n->system;
  if (s->constraint_count == 0) return true;
  double left = violations(n, x);
  for (int k = 0; k < MOST_NEWTON_STEPS && left > NEWTON_TOLERANCE; k++) {
    remove_rows(n, x);
    double now = violations(n, x);
    // rounding errors are as far as it goes
    if (now >= left && left < 1e-10) break;
    left = now;
  }
  if (!(left < 1e-10)) return false;
  constraints_apply(&n->mechanics, 0, s->constraint_count, n->arm, v, n->rows);
  remove_rows(n, v);
  return true;
}

static bool disturb_state(noise *n, double *x, double *v) {
  const carom_system *s = n->system;
  if (s->initial.kind == SAMPLER_ANGLES) {
    disturb_angles(n, x, v);
    return true;
  }
  for (int i = 0; i < s->body_count; i++) disturb_body(n, &s->bodies[i], x, v);
  return restore_constraints(n, x, v);
}

carom_status noise_add(const carom_system *system, double deviation, uint64_t seed,
                       carom_chunks *chunks, carom_error *error) {
  if (deviation == 0) return CAROM_OK;
  noise n;
  if (!noise_init(&n, system, deviation)) {
    noise_free(&n);
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for noise on states");
  }
  bool restored = true;
  size_t size = (size_t)system->coordinate_count;
  for (int chunk = 0; chunk < chunks->count && restored; chunk++) {
    rng_seed(&n.random, seed, (uint64_t)chunk);
    for (int k = 0; k < chunks->states && restored; k++) {
      size_t at = ((size_t)chunk * (size_t)chunks->states + (size_t)k) * size;
      restored = disturb_state(&n, chunks->x + at, chunks->v + at);
    }
  }
  noise_free(&n);
  if (restored) return CAROM_OK;
  return error_set(error, CAROM_NUMERICAL_FAILURE,
                   "a state with noise of deviation %g cannot be put back on the constraints; "
                   "take less noise",
                   deviation);
}
