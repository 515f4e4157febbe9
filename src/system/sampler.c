#include "system/sampler.h"

#include "base/rotation.h"
#include "base/vector.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;

// uniformly random: a normal deviate in four dimensions points everywhere alike
static void draw_rotation(rng *r, double *rotation) {
  double quaternion[4], square = 0;
  do {
    square = 0;
    for (int k = 0; k < 4; k++) {
      quaternion[k] = rng_normal(r);
      square += quaternion[k] * quaternion[k];
    }
  } while (square < 1e-12);
  for (int k = 0; k < 4; k++) quaternion[k] /= sqrt(square);
  rotation_from_quaternion(quaternion, rotation);
}

// velocity that a spin (one number in 2D) gives to a point at an arm from the centre
static void spin_velocity(int dimension, const double *spin, const double *arm, double *velocity) {
  if (dimension == 2) {
    velocity[0] = -spin[0] * arm[1];
    velocity[1] = spin[0] * arm[0];
  } else {
    vector_cross(spin, arm, velocity);
  }
}

/* x_0 = centre, x_p = centre + R e_p; v_p = velocity + omega x R e_p */
void place_body(const carom_system *s, int body_index, const double *centre, const double *velocity,
                const double *rotation, const double *spin, double *x, double *v) {
  const body *b = &s->bodies[body_index];
  int d = s->dimension;
  for (int p = 0; p < b->point_count; p++) {
    double *position = x + (b->first_point + p) * d;
    double *rate = v + (b->first_point + p) * d;
    double axis[MAX_DIMENSION] = {0}, turn[MAX_DIMENSION] = {0};
    if (p > 0) {
      for (int k = 0; k < d; k++) axis[k] = rotation[k * d + p - 1];
      spin_velocity(d, spin, axis, turn);
    }
    for (int k = 0; k < d; k++) {
      position[k] = centre[k] + axis[k];
      rate[k] = velocity[k] + turn[k];
    }
  }
}

static void draw_box(const carom_system *s, rng *r, double *x, double *v) {
  const sampler *initial = &s->initial;
  int d = s->dimension;
  for (int i = 0; i < s->body_count; i++) {
    double centre[MAX_DIMENSION], velocity[MAX_DIMENSION];
    double rotation[MAX_DIMENSION * MAX_DIMENSION] = {0}, spin[MAX_DIMENSION] = {0};
    for (int k = 0; k < d; k++) centre[k] = rng_uniform(r, initial->low[k], initial->high[k]);
    for (int k = 0; k < d; k++) velocity[k] = initial->speed * rng_normal(r);
    if (s->bodies[i].rigid && d == 2) rotation_from_angle(rng_uniform(r, 0, 2 * PI), rotation);
    if (s->bodies[i].rigid && d == 3) draw_rotation(r, rotation);
    for (int k = 0; s->bodies[i].rigid && k < (d == 2 ? 1 : 3); k++)
      spin[k] = initial->rate * rng_normal(r);
    place_body(s, i, centre, velocity, rotation, spin, x, v);
  }
}

// a chain of point masses in the plane, each at an angle (from straight down) below the one before:
// angles are absolute (SAMPLER_ANGLES), or the first one and then bends (SAMPLER_CHAIN)
static void draw_hanging(const carom_system *s, rng *r, double *x, double *v) {
  const sampler *initial = &s->initial;
  double position[2] = {initial->anchor[0], initial->anchor[1]}, velocity[2] = {0, 0};
  double angle = 0;
  for (int i = 0; i < initial->chain_count; i++) {
    if (i == 0 || initial->kind == SAMPLER_ANGLES)
      angle = rng_uniform(r, initial->angle_low, initial->angle_high);
    else
      angle += rng_uniform(r, -initial->bend, initial->bend);
    // x += l (sin a, -cos a), v += l a' (cos a, sin a)
    double rate = initial->rate * rng_normal(r);
    double length = initial->chain_lengths[i];
    position[0] += length * sin(angle);
    position[1] -= length * cos(angle);
    velocity[0] += length * rate * cos(angle);
    velocity[1] += length * rate * sin(angle);
    place_body(s, initial->chain_bodies[i], position, velocity, NULL, NULL, x, v);
  }
}

static void draw_euler(const carom_system *s, rng *r, double *x, double *v) {
  const sampler *initial = &s->initial;
  double angle[3], rate[3], rotation[9];
  for (int k = 0; k < 3; k++) angle[k] = rng_uniform(r, initial->angle_low, initial->angle_high);
  for (int k = 0; k < 2; k++) rate[k] = rng_uniform(r, initial->rate_low[k], initial->rate_high[k]);
  double spin = initial->spin_scale * (rng_normal(r) + initial->spin_mean);
  rate[2] = rng_below(r, 2) == 1 ? spin : -spin;
  rotation_from_euler(angle[0], angle[1], angle[2], rotation);

  // phi turns about z, theta about the line of nodes, psi about the third body axis
  const double node[3] = {cos(angle[0]), sin(angle[0]), 0};
  double omega[3];
  for (int k = 0; k < 3; k++)
    omega[k] = (k == 2 ? rate[0] : 0) + rate[1] * node[k] + rate[2] * rotation[k * 3 + 2];

  // the joint stays at the anchor
  double arm[3], centre[3], velocity[3];
  for (int k = 0; k < 3; k++) {
    arm[k] = 0;
    for (int l = 0; l < 3; l++) arm[k] -= rotation[k * 3 + l] * initial->joint[l];
    centre[k] = initial->anchor[k] + arm[k];
  }
  vector_cross(omega, arm, velocity);
  place_body(s, 0, centre, velocity, rotation, omega, x, v);
}

void sampler_draw(const carom_system *s, rng *r, double *x, double *v) {
  size_t size = sizeof(double) * (size_t)s->coordinate_count;
  switch (s->initial.kind) {
    case SAMPLER_STATE:
      memcpy(x, s->initial.x, size);
      memcpy(v, s->initial.v, size);
      break;
    case SAMPLER_BOX: draw_box(s, r, x, v); break;
    case SAMPLER_ANGLES:
    case SAMPLER_CHAIN: draw_hanging(s, r, x, v); break;
    case SAMPLER_EULER: draw_euler(s, r, x, v); break;
  }
}
