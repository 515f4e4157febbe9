#include "learn/measurement.h"

#include "base/rotation.h"

#include <math.h>
#include <string.h>

static bool is_chain(const carom_system *s) { return s->initial.kind == SAMPLER_ANGLES; }

static int turns_of(const carom_system *s) { return s->dimension == 2 ? 1 : 3; }

int measurement_count(const carom_system *s) {
  if (is_chain(s)) return s->initial.chain_count;
  int count = 0;
  for (int b = 0; b < s->body_count; b++)
    count += s->dimension + (s->bodies[b].rigid ? turns_of(s) : 0);
  return count;
}

/* ---- chains of pendulums --------------------------------------------------------------------- */

/* One link: d = l (sin a, -cos a), w = l a' (cos a, sin a) = l a' t of its lower end from its upper. */
typedef struct link {
  double d[2], w[2]; /* relative position and velocity */
  double length;     /* l, of the scene */
  double angle, rate;
} link;

// where the lower end of link i stands in x; -1: above the first, the anchor
static int link_point(const carom_system *s, int i) {
  return i < 0 ? -1 : s->bodies[s->initial.chain_bodies[i]].first_point * 2;
}

static link link_at(const carom_system *s, int i, const double *x, const double *v) {
  const int lower = link_point(s, i), upper = link_point(s, i - 1);
  link k = {.length = s->initial.chain_lengths[i]};
  for (int c = 0; c < 2; c++) {
    k.d[c] = x[lower + c] - (upper < 0 ? s->initial.anchor[c] : x[upper + c]);
    k.w[c] = v[lower + c] - (upper < 0 ? 0 : v[upper + c]);
  }
  k.angle = atan2(k.d[0], -k.d[1]);
  k.rate = (k.w[0] * cos(k.angle) + k.w[1] * sin(k.angle)) / k.length;
  return k;
}

// the chain put together again, link by link
static void step_chain(const carom_system *s, const double *step, double *x, double *v) {
  const int links = s->initial.chain_count;
  double old_x[2], old_v[2]; // the link above, as it was
  double position[2] = {s->initial.anchor[0], s->initial.anchor[1]}, velocity[2] = {0, 0};
  memcpy(old_x, position, sizeof position);
  memcpy(old_v, velocity, sizeof velocity);
  for (int i = 0; i < links; i++) {
    double *at = x + link_point(s, i), *speed = v + link_point(s, i);
    const double dx = at[0] - old_x[0], dy = at[1] - old_x[1], l = s->initial.chain_lengths[i];
    double angle = atan2(dx, -dy);
    double rate = ((speed[0] - old_v[0]) * cos(angle) + (speed[1] - old_v[1]) * sin(angle)) / l;
    memcpy(old_x, at, sizeof position);
    memcpy(old_v, speed, sizeof velocity);
    angle += step[i];
    rate += step[links + i];
    position[0] += l * sin(angle);
    position[1] -= l * cos(angle);
    velocity[0] += l * rate * cos(angle);
    velocity[1] += l * rate * sin(angle);
    memcpy(at, position, sizeof position);
    memcpy(speed, velocity, sizeof velocity);
  }
}

static void chain_residual(const carom_system *s, const double *x, const double *v,
                           const double *measured_x, const double *measured_v, double *residual) {
  const int links = s->initial.chain_count;
  for (int i = 0; i < links; i++) {
    const link is = link_at(s, i, x, v), was = link_at(s, i, measured_x, measured_v);
    residual[i] = remainder(is.angle - was.angle, 2 * M_PI);
    residual[links + i] = is.rate - was.rate;
  }
}

/* da = t . dd / |d|,  d(rate) = (t . dw + w . t' da) / l,  t = (cos a, sin a), t' = (-sin a, cos a) */
static void chain_residual_vjp(const carom_system *s, const double *x, const double *v,
                               const double *residual_bar, double *x_bar, double *v_bar) {
  const int links = s->initial.chain_count;
  for (int i = 0; i < links; i++) {
    const link k = link_at(s, i, x, v);
    const double t[2] = {cos(k.angle), sin(k.angle)};
    const double rate_bar = residual_bar[links + i] / k.length;
    const double angle_bar = residual_bar[i] + rate_bar * (k.w[1] * t[0] - k.w[0] * t[1]);
    const double distance = hypot(k.d[0], k.d[1]);
    const int lower = link_point(s, i), upper = link_point(s, i - 1);
    for (int c = 0; c < 2; c++) {
      const double d_bar = angle_bar * t[c] / distance, w_bar = rate_bar * t[c];
      x_bar[lower + c] += d_bar;
      v_bar[lower + c] += w_bar;
      if (upper < 0) continue;
      x_bar[upper + c] -= d_bar;
      v_bar[upper + c] -= w_bar;
    }
  }
}

/* ---- bodies ---------------------------------------------------------------------------------- */

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
static void step_body(const carom_system *s, const body *b, const double *shift,
                      const double *shift_rate, double *x, double *v) {
  const int d = s->dimension;
  double *centre = x + b->first_point * d, *velocity = v + b->first_point * d;
  double old_centre[MAX_DIMENSION], old_velocity[MAX_DIMENSION];
  memcpy(old_centre, centre, sizeof(double) * (size_t)d);
  memcpy(old_velocity, velocity, sizeof(double) * (size_t)d);
  for (int k = 0; k < d; k++) centre[k] += shift[k];
  for (int k = 0; k < d; k++) velocity[k] += shift_rate[k];
  if (!b->rigid) return;

  // a small turn and a small spin; axes and their rates turn together
  const double *turn = shift + d, *spin = shift_rate + d;
  double rotation[MAX_DIMENSION * MAX_DIMENSION];
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

/* Component k of u x w, and what a cotangent of it adds to that of w: in the plane there is one. */
static double cross(int d, int k, const double *u, const double *w) {
  const int i = d == 2 ? 0 : (k + 1) % 3, j = d == 2 ? 1 : (k + 2) % 3;
  return u[i] * w[j] - u[j] * w[i];
}
static void cross_vjp(int d, int k, const double *u, double bar, double *w_bar) {
  const int i = d == 2 ? 0 : (k + 1) % 3, j = d == 2 ? 1 : (k + 2) % 3;
  w_bar[j] += bar * u[i];
  w_bar[i] -= bar * u[j];
}

/* Axis p of a body (1 .. d) from its centre, in x or v. */
static void axis_of(int d, const double *points, int p, double axis[MAX_DIMENSION]) {
  for (int k = 0; k < d; k++) axis[k] = points[p * d + k] - points[k];
}
static void axis_vjp(int d, int p, const double *axis_bar, double *points_bar) {
  for (int k = 0; k < d; k++) {
    points_bar[p * d + k] += axis_bar[k];
    points_bar[k] -= axis_bar[k];
  }
}

/* sin(angle) times the axis of the turn from the axes a_p to b_p: 1/2 sum_p a_p x b_p. */
static double turn_between(int d, int k, const double *from, const double *to) {
  double sum = 0, a[MAX_DIMENSION], b[MAX_DIMENSION];
  for (int p = 1; p <= d; p++) {
    axis_of(d, from, p, a);
    axis_of(d, to, p, b);
    sum += 0.5 * cross(d, k, a, b);
  }
  return sum;
}
static void turn_between_vjp(int d, int k, const double *from, double bar, double *to_bar) {
  double a[MAX_DIMENSION];
  for (int p = 1; p <= d; p++) {
    double b_bar[MAX_DIMENSION] = {0};
    axis_of(d, from, p, a);
    cross_vjp(d, k, a, 0.5 * bar, b_bar);
    axis_vjp(d, p, b_bar, to_bar);
  }
}

// the axes i and j between which spin k turns: the third is the one it turns about
static void spin_axes(int d, int k, int axes[2]) {
  axes[0] = d == 2 ? 1 : (k + 1) % 3 + 1;
  axes[1] = d == 2 ? 2 : (k + 2) % 3 + 1;
}

/* The spin about axis k of the body: (a_j . a_i' - a_i . a_j') / 2. Noise that turns a body turns its spin
 * with it, so that only in the axes of the body is the noise of both apart. */
static double spin_about(int d, int k, const double *x, const double *v) {
  int axes[2];
  double a[2][MAX_DIMENSION], rate[2][MAX_DIMENSION], sum = 0;
  spin_axes(d, k, axes);
  for (int p = 0; p < 2; p++) axis_of(d, x, axes[p], a[p]), axis_of(d, v, axes[p], rate[p]);
  for (int c = 0; c < d; c++) sum += 0.5 * (a[1][c] * rate[0][c] - a[0][c] * rate[1][c]);
  return sum;
}
static void spin_about_vjp(int d, int k, const double *x, const double *v, double bar,
                           double *x_bar, double *v_bar) {
  int axes[2];
  double a[2][MAX_DIMENSION], rate[2][MAX_DIMENSION];
  spin_axes(d, k, axes);
  for (int p = 0; p < 2; p++) axis_of(d, x, axes[p], a[p]), axis_of(d, v, axes[p], rate[p]);
  for (int p = 0; p < 2; p++) {
    const double half = p == 0 ? -0.5 * bar : 0.5 * bar;
    double a_bar[MAX_DIMENSION], rate_bar[MAX_DIMENSION];
    for (int c = 0; c < d; c++) a_bar[c] = half * rate[1 - p][c], rate_bar[c] = -half * a[1 - p][c];
    axis_vjp(d, axes[p], a_bar, x_bar);
    axis_vjp(d, axes[p], rate_bar, v_bar);
  }
}

static void body_residual(const carom_system *s, const body *b, const double *x, const double *v,
                          const double *measured_x, const double *measured_v, double *position,
                          double *velocity) {
  const int d = s->dimension, turns = b->rigid ? turns_of(s) : 0;
  for (int k = 0; k < d; k++) position[k] = x[k] - measured_x[k];
  for (int k = 0; k < d; k++) velocity[k] = v[k] - measured_v[k];
  for (int k = 0; k < turns; k++) {
    position[d + k] = turn_between(d, k, measured_x, x);
    velocity[d + k] = spin_about(d, k, x, v) - spin_about(d, k, measured_x, measured_v);
  }
}

static void body_residual_vjp(const carom_system *s, const body *b, const double *x,
                              const double *v, const double *measured_x, const double *position_bar,
                              const double *velocity_bar, double *x_bar, double *v_bar) {
  const int d = s->dimension, turns = b->rigid ? turns_of(s) : 0;
  for (int k = 0; k < d; k++) x_bar[k] += position_bar[k], v_bar[k] += velocity_bar[k];
  for (int k = 0; k < turns; k++) {
    turn_between_vjp(d, k, measured_x, position_bar[d + k], x_bar);
    spin_about_vjp(d, k, x, v, velocity_bar[d + k], x_bar, v_bar);
  }
}

/* ---- states ---------------------------------------------------------------------------------- */

bool measurement_step(projection *onto, const double *step, double *x, double *v) {
  const carom_system *s = onto->system;
  if (is_chain(s)) {
    step_chain(s, step, x, v);
    return true;
  }
  const double *rates = step + measurement_count(s);
  for (int b = 0, at = 0; b < s->body_count; b++) {
    step_body(s, &s->bodies[b], step + at, rates + at, x, v);
    at += s->dimension + (s->bodies[b].rigid ? turns_of(s) : 0);
  }
  return projection_apply(onto, x, v);
}

void measurement_residual(const carom_system *s, const double *x, const double *v,
                          const double *measured_x, const double *measured_v, double *residual) {
  if (is_chain(s)) {
    chain_residual(s, x, v, measured_x, measured_v, residual);
    return;
  }
  double *position = residual, *velocity = residual + measurement_count(s);
  for (int b = 0; b < s->body_count; b++) {
    const int at = s->bodies[b].first_point * s->dimension;
    const int numbers = s->dimension + (s->bodies[b].rigid ? turns_of(s) : 0);
    body_residual(s, &s->bodies[b], x + at, v + at, measured_x + at, measured_v + at, position,
                  velocity);
    position += numbers;
    velocity += numbers;
  }
}

void measurement_residual_vjp(const carom_system *s, const double *x, const double *v,
                              const double *measured_x, const double *residual_bar, double *x_bar,
                              double *v_bar) {
  memset(x_bar, 0, sizeof(double) * (size_t)s->coordinate_count);
  memset(v_bar, 0, sizeof(double) * (size_t)s->coordinate_count);
  if (is_chain(s)) {
    chain_residual_vjp(s, x, v, residual_bar, x_bar, v_bar);
    return;
  }
  const double *position_bar = residual_bar, *velocity_bar = residual_bar + measurement_count(s);
  for (int b = 0; b < s->body_count; b++) {
    const int at = s->bodies[b].first_point * s->dimension;
    const int numbers = s->dimension + (s->bodies[b].rigid ? turns_of(s) : 0);
    body_residual_vjp(s, &s->bodies[b], x + at, v + at, measured_x + at, position_bar, velocity_bar,
                      x_bar + at, v_bar + at);
    position_bar += numbers;
    velocity_bar += numbers;
  }
}
