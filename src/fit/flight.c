#include "fit/flight.h"

#include <math.h>

#include "base/dense.h"
#include "base/error.h"
#include "base/vector.h"
#include "system/system.h"

carom_status flight_check(const carom_system *system, carom_error *error) {
  bool held = system->spring_count > 0;
  for (int i = 0; i < system->constraint_count; i++)
    held = held || system->constraints[i].internal_of < 0;
  if (!held) return CAROM_OK;
  return error_set(error, CAROM_INVALID_ARGUMENT,
                   "first states from the flight (--first-state flight) are of free bodies; those "
                   "of %s are held by joints or springs",
                   system->name);
}

/* Least squares of r_t = a + b t for each of the first `width` numbers of a state. */
static void fit_lines(const double *time, int count, int stride, int width, const double *r,
                      double *a, double *b) {
  double middle = 0, square = 0;
  for (int t = 0; t < count; t++) middle += time[t] / count;
  for (int t = 0; t < count; t++) square += (time[t] - middle) * (time[t] - middle);
  for (int i = 0; i < width; i++) {
    double mean = 0, slope = 0;
    for (int t = 0; t < count; t++) {
      mean += r[t * stride + i] / count;
      slope += (time[t] - middle) * r[t * stride + i] / square;
    }
    a[i] = mean - slope * middle;
    b[i] = slope;
  }
}

/* u = t J(omega t) v: how far a body that turns at omega has turned off after t, if its rate was
 * off by v. J is that of exp: J(z) v = v + (1 - cos|z|) / |z|^2 z x v + (|z| - sin|z|) / |z|^3 z x
 * (z x v). */
static void turned_off(const double *omega, double t, const double *v, double *u) {
  double z[3] = {t * omega[0], t * omega[1], t * omega[2]}, once[3], twice[3];
  double size = sqrt(vector_dot_small(z, z, 3)), first = 0.5, second = 1.0 / 6;
  if (size > 1e-3) {
    first = (1 - cos(size)) / (size * size);
    second = (size - sin(size)) / (size * size * size);
  }
  vector_cross(z, v, once);
  vector_cross(z, once, twice);
  for (int i = 0; i < 3; i++) u[i] = t * (v[i] + first * once[i] + second * twice[i]);
}

/* Least squares of r_t = a + t J(omega t) b in space. */
static void fit_turns(const double *time, int count, int stride, const double *omega,
                      const double *r, double *a, double *b) {
  double A[36] = {0}, z[6] = {0};
  for (int t = 0; t < count; t++) {
    double row[3][6] = {{0}};
    for (int k = 0; k < 3; k++) {
      double unit[3] = {k == 0, k == 1, k == 2}, u[3];
      turned_off(omega, time[t], unit, u);
      row[k][k] = 1;
      for (int i = 0; i < 3; i++) row[i][3 + k] = u[i];
    }
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 6; j++) {
        z[j] += row[i][j] * r[t * stride + i];
        for (int k = 0; k < 6; k++) A[j * 6 + k] += row[i][j] * row[i][k];
      }
  }
  bool solved = dense_factor(6, A);
  if (solved) dense_solve(6, A, z);
  for (int i = 0; i < 3; i++) {
    a[i] = solved ? z[i] : 0;
    b[i] = solved ? z[3 + i] : 0;
  }
}

// omega = 1/2 sum a_k x a'_k of a body in space
static void rate_of(const double *x, const double *v, double *omega) {
  omega[0] = omega[1] = omega[2] = 0;
  for (int k = 1; k <= 3; k++) {
    double axis[3], turning[3], c[3];
    for (int i = 0; i < 3; i++) {
      axis[i] = x[k * 3 + i] - x[i];
      turning[i] = v[k * 3 + i] - v[i];
    }
    vector_cross(axis, turning, c);
    for (int i = 0; i < 3; i++) omega[i] += 0.5 * c[i];
  }
}

// y = exp([phi]) y
static void turn(int d, const double *phi, double *y) {
  if (d == 2) {
    double c = cos(phi[0]), s = sin(phi[0]), x = y[0];
    y[0] = c * x - s * y[1];
    y[1] = s * x + c * y[1];
    return;
  }
  double angle = sqrt(vector_dot_small(phi, phi, 3)), once[3], twice[3];
  double s = angle > 1e-9 ? sin(angle) / angle : 1;
  double c = angle > 1e-9 ? (1 - cos(angle)) / (angle * angle) : 0.5;
  vector_cross(phi, y, once);
  vector_cross(phi, once, twice);
  for (int i = 0; i < 3; i++) y[i] += s * once[i] + c * twice[i];
}

// v += omega x axis
static void add_rate(int d, const double *omega, const double *axis, double *v) {
  if (d == 2) {
    v[0] -= omega[0] * axis[1];
    v[1] += omega[0] * axis[0];
    return;
  }
  double c[3];
  vector_cross(omega, axis, c);
  for (int i = 0; i < 3; i++) v[i] += c[i];
}

/* Turns the axes of a body at x, whose velocities are v, by -a, and its rate by as much; then
 * changes the rate by -b. The centre stays. */
static void turn_body(int d, const double *a, const double *b, double *x, double *v) {
  double by[3], rate[3];
  for (int i = 0; i < (d == 2 ? 1 : 3); i++) {
    by[i] = -a[i];
    rate[i] = -b[i];
  }
  for (int k = 1; k <= d; k++) {
    double axis[3], turning[3];
    for (int i = 0; i < d; i++) {
      axis[i] = x[k * d + i] - x[i];
      turning[i] = v[k * d + i] - v[i];
    }
    turn(d, by, axis);
    turn(d, by, turning);
    add_rate(d, rate, axis, turning);
    for (int i = 0; i < d; i++) {
      x[k * d + i] = x[i] + axis[i];
      v[k * d + i] = v[i] + turning[i];
    }
  }
}

void flight_correct(const measure *m, const double *time, int count, int numbers,
                    const double *residuals, double *x0, double *v0) {
  const carom_system *system = m->system;
  int d = system->dimension, turns = d == 2 ? 1 : 3;
  for (int index = 0; index < system->body_count; index++) {
    const body *b = &system->bodies[index];
    double at[3], slope[3], *x = x0 + b->first_point * d, *v = v0 + b->first_point * d;
    // what is measured beside the centre moves with both: the next pass sees what is left
    fit_lines(time, count, numbers, d, residuals, at, slope);
    for (int k = 0; k < b->point_count; k++)
      for (int i = 0; i < d; i++) {
        x[k * d + i] -= m->scale * at[i];
        v[k * d + i] -= m->scale * slope[i];
      }
    residuals += d;
    if (!b->rigid) continue;
    if (d == 2) {
      fit_lines(time, count, numbers, 1, residuals, at, slope);
    } else {
      double omega[3];
      rate_of(x, v, omega);
      fit_turns(time, count, numbers, omega, residuals, at, slope);
    }
    turn_body(d, at, slope, x, v);
    residuals += turns;
  }
}
