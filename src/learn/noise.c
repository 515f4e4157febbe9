#include "learn/noise.h"

#include "base/error.h"
#include "base/rng.h"
#include "learn/projection.h"
#include "system/sampler.h"

#include <math.h>
#include <string.h>

/* What noise on one state needs. */
typedef struct noise {
  const carom_system *system;
  double deviation;
  rng random;
  projection onto;
} noise;

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
    // d = l (sin a, -cos a), relative velocity = l a' (cos a, sin a)
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

/* c <- c + n, axes <- R(n) axes, their rates <- R(n) rates + n x axes */
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

static bool disturb_state(noise *n, double *x, double *v) {
  const carom_system *s = n->system;
  if (s->initial.kind == SAMPLER_ANGLES) {
    disturb_angles(n, x, v);
    return true;
  }
  for (int i = 0; i < s->body_count; i++) disturb_body(n, &s->bodies[i], x, v);
  return projection_apply(&n->onto, x, v);
}

carom_status noise_add(const carom_system *system, double deviation, uint64_t seed,
                       carom_chunks *chunks, carom_error *error) {
  if (deviation == 0) return CAROM_OK;
  noise n = {.system = system, .deviation = deviation};
  if (!projection_init(&n.onto, system)) {
    projection_free(&n.onto);
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
  projection_free(&n.onto);
  if (restored) return CAROM_OK;
  return error_set(error, CAROM_NUMERICAL_FAILURE,
                   "a state with noise of deviation %g cannot be put back on the constraints; "
                   "take less noise",
                   deviation);
}
