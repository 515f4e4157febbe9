#include "fit/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rotation.h"
#include "base/size.h"
#include "base/vector.h"
#include "system/system.h"

static int turn_count(int d) { return d == 2 ? 1 : 3; }

bool measure_init(measure *m, const carom_system *system) {
  int d = system->dimension, turns = turn_count(d), at = 0;
  *m = (measure){.system = system, .scale = 1};
  for (int b = 0; b < system->body_count; b++)
    m->count += 2 * d + (system->bodies[b].rigid ? 2 * turns : 0);
  m->owned_channel = size_allocate((size_t)m->count, 1);
  m->owned_group = size_allocate((size_t)m->count, sizeof(int));
  m->centre = size_allocate_zero((size_t)(system->body_count * d) + 1, sizeof(double));
  if (m->owned_channel == NULL || m->owned_group == NULL || m->centre == NULL) return false;
  for (int b = 0; b < system->body_count; b++) {
    static const carom_channel order[] = {CAROM_CHANNEL_POSITION, CAROM_CHANNEL_VELOCITY,
                                          CAROM_CHANNEL_ANGLE, CAROM_CHANNEL_RATE};
    for (int c = 0; c < (system->bodies[b].rigid ? 4 : 2); c++, m->group_count++)
      for (int i = 0; i < (c < 2 ? d : turns); i++, at++) {
        m->owned_channel[at] = (uint8_t)order[c];
        m->owned_group[at] = m->group_count;
      }
  }
  m->channel = m->owned_channel;
  m->group = m->owned_group;
  return true;
}

void measure_free(measure *m) {
  free(m->owned_channel);
  free(m->owned_group);
  free(m->centre);
}

void measure_as(measure *m, const measure *other) {
  size_t numbers = (size_t)(m->system->body_count * m->system->dimension);
  m->scale = other->scale;
  memcpy(m->shift, other->shift, sizeof m->shift);
  memcpy(m->centre, other->centre, sizeof(double) * numbers);
}

/* ---- rotations ------------------------------------------------------------------------------- */

static void axis_of(int d, const double *x, int k, double *axis) {
  for (int i = 0; i < d; i++) axis[i] = x[k * d + i] - x[i];
}

// sum += factor a x b
static void add_cross(int d, double factor, const double *a, const double *b, double *sum) {
  if (d == 2) {
    sum[0] += factor * (a[0] * b[1] - a[1] * b[0]);
    return;
  }
  double c[3];
  vector_cross(a, b, c);
  for (int i = 0; i < 3; i++) sum[i] += factor * c[i];
}

/* dphi = J^-1(phi) dw for a turn dw of x: J^-1 = 1 - 1/2 [phi] + c [phi]^2,
 * c = 1/a^2 - (1 + cos a) / (2 a sin a), a = |phi|. */
static void rotation_change(const double *phi, const double *turn, double *change) {
  double a2 = vector_dot_small(phi, phi, 3), a = sqrt(a2), once[3], twice[3];
  double c = a < 1e-3 ? 1.0 / 12 : 1 / a2 - (1 + cos(a)) / (2 * a * sin(a));
  if (a > 3.1) c = 1 / a2; // where the logarithm has its border
  vector_cross(phi, turn, once);
  vector_cross(phi, once, twice);
  for (int i = 0; i < 3; i++) change[i] = turn[i] - 0.5 * once[i] + c * twice[i];
}

/* 1/2 sum axis_k x dy_k over the tips of x */
static void turn_of(int d, const double *x, const double *dy, double factor, double *sum) {
  for (int k = 1; k <= d; k++) {
    double a[3], b[3];
    axis_of(d, x, k, a);
    axis_of(d, dy, k, b);
    add_cross(d, 0.5 * factor, a, b, sum);
  }
}

/* ---- bodies ---------------------------------------------------------------------------------- */

/* sum_k c_k a_k, coordinate i, over the axes a_k = x_k - x_0 of a body whose points begin at x (or
 * over their changes): from the measured point to the centre of mass. */
static double arm(const measure *m, int body_index, const double *x, int i) {
  int d = m->system->dimension;
  double sum = 0;
  if (m->centre == NULL || !m->system->bodies[body_index].rigid) return 0;
  for (int k = 0; k < d; k++) sum += m->centre[body_index * d + k] * (x[(k + 1) * d + i] - x[i]);
  return sum;
}

void measure_residual(const measure *m, const double *s, const double *y, double *r) {
  const carom_system *system = m->system;
  int d = system->dimension, D = system->coordinate_count, turns = turn_count(d);
  for (int b = 0; b < system->body_count; b++) {
    int at = system->bodies[b].first_point * d;
    for (int i = 0; i < d; i++) {
      r[i] = (s[at + i] - arm(m, b, s + at, i) - m->shift[i]) / m->scale - y[at + i];
      r[d + i] = (s[D + at + i] - arm(m, b, s + D + at, i)) / m->scale - y[D + at + i];
    }
    r += 2 * d;
    if (!system->bodies[b].rigid) continue;
    rotation_between(d, s + at, y + at, r);
    for (int j = 0; j < turns; j++) r[turns + j] = 0;
    turn_of(d, s + at, s + D + at, 1, r + turns);
    turn_of(d, y + at, y + D + at, -1, r + turns);
    r += 2 * turns;
  }
}

void measure_change(const measure *m, const double *s, const double *y, const double *ds,
                    double *dr) {
  const carom_system *system = m->system;
  int d = system->dimension, D = system->coordinate_count, turns = turn_count(d);
  for (int b = 0; b < system->body_count; b++) {
    int at = system->bodies[b].first_point * d;
    for (int i = 0; i < d; i++) {
      dr[i] = (ds[at + i] - arm(m, b, ds + at, i)) / m->scale;
      dr[d + i] = (ds[D + at + i] - arm(m, b, ds + D + at, i)) / m->scale;
    }
    dr += 2 * d;
    if (!system->bodies[b].rigid) continue;
    double turned[3] = {0, 0, 0};
    turn_of(d, s + at, ds + at, 1, turned);
    if (d == 2) {
      dr[0] = turned[0];
    } else {
      double phi[3];
      rotation_between(d, s + at, y + at, phi);
      rotation_change(phi, turned, dr);
    }
    // omega = 1/2 sum a_k x a'_k in both of its factors
    for (int j = 0; j < turns; j++) dr[turns + j] = 0;
    turn_of(d, s + at, ds + D + at, 1, dr + turns);
    turn_of(d, ds + at, s + D + at, 1, dr + turns);
    dr += 2 * turns;
  }
}

void measure_by_scale(const measure *m, const double *s, double *dr) {
  const carom_system *system = m->system;
  int d = system->dimension, D = system->coordinate_count;
  memset(dr, 0, sizeof(double) * (size_t)m->count);
  for (int b = 0; b < system->body_count; b++) {
    int at = system->bodies[b].first_point * d;
    for (int i = 0; i < d; i++) {
      dr[i] = -(s[at + i] - arm(m, b, s + at, i) - m->shift[i]) / m->scale;
      dr[d + i] = -(s[D + at + i] - arm(m, b, s + D + at, i)) / m->scale;
    }
    dr += 2 * d + (system->bodies[b].rigid ? 2 * turn_count(d) : 0);
  }
}

void measure_by_shift(const measure *m, int axis, double *dr) {
  const carom_system *system = m->system;
  int d = system->dimension;
  memset(dr, 0, sizeof(double) * (size_t)m->count);
  for (int b = 0; b < system->body_count; b++) {
    dr[axis] = -1 / m->scale;
    dr += 2 * d + (system->bodies[b].rigid ? 2 * turn_count(d) : 0);
  }
}

void measure_by_centre(const measure *m, int body_index, int axis, const double *s, double *dr) {
  const carom_system *system = m->system;
  int d = system->dimension, D = system->coordinate_count;
  memset(dr, 0, sizeof(double) * (size_t)m->count);
  for (int b = 0; b < body_index; b++)
    dr += 2 * d + (system->bodies[b].rigid ? 2 * turn_count(d) : 0);
  const double *x = s + system->bodies[body_index].first_point * d, *v = x + D;
  for (int i = 0; i < d; i++) {
    dr[i] = -(x[(axis + 1) * d + i] - x[i]) / m->scale;
    dr[d + i] = -(v[(axis + 1) * d + i] - v[i]) / m->scale;
  }
}

void measure_invert(const measure *m, const double *y, double *s) {
  const carom_system *system = m->system;
  int d = system->dimension, D = system->coordinate_count;
  for (int b = 0; b < system->body_count; b++) {
    const body *one = &system->bodies[b];
    int at = one->first_point * d;
    for (int k = 0; k < one->point_count; k++)
      for (int i = 0; i < d; i++) {
        double axis = k > 0 ? y[at + k * d + i] - y[at + i] : 0;
        double turning = k > 0 ? y[D + at + k * d + i] - y[D + at + i] : 0;
        s[at + k * d + i] = m->scale * y[at + i] + m->shift[i] + arm(m, b, y + at, i) + axis;
        s[D + at + k * d + i] = m->scale * y[D + at + i] + arm(m, b, y + D + at, i) + turning;
      }
  }
}
