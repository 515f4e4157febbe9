#include "physics/rigid_body.h"

#include <float.h>
#include <math.h>

/* A torque this small beside arms times forces is rounding. */
static const double ROUNDING = 8 * DBL_EPSILON;

bool assembly_is_rigid_body(const carom_system *s, const assembly *a) {
  int d = s->dimension;
  return a->point_count == d + 1 && a->row_count == d * (d + 1) / 2 &&
         s->bodies[s->point_body[a->points[0]]].rigid;
}

/* Its axes at x, and their inertia. */
static void set_axes(rigid_body *b, const double *x) {
  int d = b->dimension;
  for (int k = 0; k < d; k++) {
    double *e = b->axis + k * d, weight = b->mass * b->moment[k];
    for (int i = 0; i < d; i++) e[i] = x[b->at + (k + 1) * d + i] - x[b->at + i];
    if (d == 2) {
      b->inertia[0] += weight * (e[0] * e[0] + e[1] * e[1]);
    } else {
      b->inertia[0] += weight * (e[1] * e[1] + e[2] * e[2]);
      b->inertia[1] -= weight * e[0] * e[1];
      b->inertia[2] -= weight * e[0] * e[2];
      b->inertia[3] += weight * (e[0] * e[0] + e[2] * e[2]);
      b->inertia[4] -= weight * e[1] * e[2];
      b->inertia[5] += weight * (e[0] * e[0] + e[1] * e[1]);
    }
  }
}

rigid_body rigid_body_at(const mechanics *m, const assembly *a, const double *x) {
  int d = m->system->dimension, body_index = m->system->point_body[a->points[0]];
  rigid_body b = {.dimension = d, .size = d * (d + 1) / 2, .at = a->points[0] * d};
  b.mass = 1 / m->inverse_mass[body_index];
  for (int k = 0; k < d; k++) b.moment[k] = 1 / m->inverse_moment[body_index * d + k];
  set_axes(&b, x);
  return b;
}

rigid_body rigid_body_unit(int dimension, const double *points) {
  rigid_body b = {.dimension = dimension,
                  .size = dimension * (dimension + 1) / 2,
                  .mass = 1,
                  .moment = {1, 1, 1}};
  set_axes(&b, points);
  return b;
}

/* sum_k e_k x force_k along one axis, from coordinates i and j; forces on the tips */
static inline double torque_along(const int d, const double *axis, const double *force, int i,
                                  int j) {
  double sum = 0, size = 0;
  for (int k = 0; k < d; k++) {
    const double *e = axis + k * d, *f = force + k * d;
    sum += e[i] * f[j] - e[j] * f[i];
    size += (fabs(e[i]) + fabs(e[j])) * (fabs(f[i]) + fabs(f[j]));
  }
  return fabs(sum) > ROUNDING * size ? sum : 0;
}

static void torque_of(const rigid_body *b, const double *force, double *torque) {
  if (b->dimension == 2) {
    torque[0] = torque_along(2, b->axis, force, 0, 1);
  } else {
    torque[0] = torque_along(3, b->axis, force, 1, 2);
    torque[1] = torque_along(3, b->axis, force, 2, 0);
    torque[2] = torque_along(3, b->axis, force, 0, 1);
  }
}

void rigid_body_wrench(const rigid_body *b, const double *force, double wrench[MAX_WRENCH]) {
  int d = b->dimension;
  for (int i = 0; i < d; i++) {
    wrench[i] = 0;
    for (int k = 0; k <= d; k++) wrench[i] += force[b->at + k * d + i];
  }
  torque_of(b, force + b->at + d, wrench + d);
}

/* omega = I^-1 torque in place, by LDL' in space */
static void turn_rate(const rigid_body *b, double *torque) {
  const double *a = b->inertia;
  if (b->dimension == 2) {
    torque[0] /= a[0];
    return;
  }
  double l10 = a[1] / a[0], l20 = a[2] / a[0];
  double d1 = a[3] - l10 * a[1], m21 = a[4] - l20 * a[1], l21 = m21 / d1;
  double d2 = a[5] - l20 * a[2] - l21 * m21;
  torque[1] -= l10 * torque[0];
  torque[2] -= l20 * torque[0] + l21 * torque[1];
  torque[2] /= d2;
  torque[1] = torque[1] / d1 - l21 * torque[2];
  torque[0] = torque[0] / a[0] - l10 * torque[1] - l20 * torque[2];
}

void rigid_body_move(const rigid_body *b, double wrench[MAX_WRENCH]) {
  for (int i = 0; i < b->dimension; i++) wrench[i] /= b->mass;
  turn_rate(b, wrench + b->dimension);
}

/* v_k = v_0 + omega x e_k on the tips */
static void turn_tips(const rigid_body *b, const double *omega, double *v) {
  int d = b->dimension;
  for (int k = 0; k < d; k++) {
    const double *e = b->axis + k * d;
    double *tip = v + (k + 1) * d;
    if (d == 2) {
      tip[0] = v[0] - omega[0] * e[1];
      tip[1] = v[1] + omega[0] * e[0];
    } else {
      tip[0] = v[0] + (omega[1] * e[2] - omega[2] * e[1]);
      tip[1] = v[1] + (omega[2] * e[0] - omega[0] * e[2]);
      tip[2] = v[2] + (omega[0] * e[1] - omega[1] * e[0]);
    }
  }
}

void rigid_body_velocities(const rigid_body *b, const double motion[MAX_WRENCH], double *v) {
  for (int i = 0; i < b->dimension; i++) v[b->at + i] = motion[i];
  turn_tips(b, motion + b->dimension, v + b->at);
}

/* tips m lambda_k (v_k - v_0), the centre what is left of the whole */
void rigid_body_momenta(const rigid_body *b, const double motion[MAX_WRENCH], double *momenta) {
  int d = b->dimension;
  double *centre = momenta + b->at;
  for (int i = 0; i < d; i++) centre[i] = 0;
  turn_tips(b, motion + d, centre);
  for (int i = 0; i < d; i++) centre[i] = b->mass * motion[i];
  for (int k = 0; k < d; k++)
    for (int i = 0; i < d; i++) {
      double *tip = centre + (k + 1) * d + i;
      *tip *= b->mass * b->moment[k];
      centre[i] -= *tip;
    }
}

/* The momenta of the tips beside the centre are m lambda_k (v_k - v_0); the centre's own velocity is that
 * of the whole momentum already. */
void rigid_body_project(const rigid_body *b, double motion[MAX_WRENCH], double *v) {
  int d = b->dimension;
  double momentum[MAX_DIMENSION * MAX_DIMENSION];
  for (int k = 0; k < d; k++)
    for (int i = 0; i < d; i++)
      momentum[k * d + i] = b->mass * b->moment[k] * (v[b->at + (k + 1) * d + i] - v[b->at + i]);
  for (int i = 0; i < d; i++) motion[i] = v[b->at + i];
  torque_of(b, momentum, motion + d);
  turn_rate(b, motion + d);
  turn_tips(b, motion + d, v + b->at);
}

void rigid_body_axes_vjp(const rigid_body *b, const double *reaction, const double *omega,
                         double *x_bar) {
  int d = b->dimension;
  double *centre = x_bar + b->at;
  for (int k = 1; k <= d; k++) {
    const double *f = reaction + b->at + k * d;
    double cross[3];
    if (d == 2) {
      cross[0] = f[1] * omega[0];
      cross[1] = -f[0] * omega[0];
    } else {
      cross[0] = f[1] * omega[2] - f[2] * omega[1];
      cross[1] = f[2] * omega[0] - f[0] * omega[2];
      cross[2] = f[0] * omega[1] - f[1] * omega[0];
    }
    for (int i = 0; i < d; i++) {
      centre[k * d + i] += cross[i];
      centre[i] -= cross[i];
    }
  }
}

/* C = E'E - 1 */
static void shear_of(const rigid_body *b, double C[MAX_DIMENSION][MAX_DIMENSION]) {
  int d = b->dimension;
  for (int l = 0; l < d; l++)
    for (int k = 0; k < d; k++) {
      C[l][k] = l == k ? -1 : 0;
      for (int i = 0; i < d; i++) C[l][k] += b->axis[l * d + i] * b->axis[k * d + i];
    }
}

/* lambda_l / (lambda_k + lambda_l) */
static double share_of(const rigid_body *b, int l, int k) {
  return b->moment[l] / (b->moment[k] + b->moment[l]);
}

void rigid_body_straighten(const mechanics *m, const assembly *a, double *x) {
  rigid_body b = rigid_body_at(m, a, x);
  double C[MAX_DIMENSION][MAX_DIMENSION];
  int d = b.dimension;
  shear_of(&b, C);
  for (int k = 0; k < d; k++)
    for (int l = 0; l < d; l++)
      for (int i = 0; i < d; i++)
        x[b.at + (k + 1) * d + i] -= share_of(&b, l, k) * C[l][k] * b.axis[l * d + i];
}

/* in the forward pass this was x_k += sum_l e_l G_lk, G_lk = -share_lk C_lk, C_lk = e_l.e_k - 1_lk; so now
 *   G_bar_lk = e_l.x_bar_k,   e_bar_l = sum_k G_lk x_bar_k + sum_k (C_bar_lk + C_bar_kl) e_k,
 * and the share changes by share_lk share_kl with log lambda_l, by minus that with log lambda_k */
void rigid_body_straighten_vjp(const mechanics *m, const assembly *a, const double *x,
                               double *x_bar, double *theta_bar) {
  const carom_system *s = m->system;
  rigid_body b = rigid_body_at(m, a, x);
  int d = b.dimension;
  double C[MAX_DIMENSION][MAX_DIMENSION], e_bar[MAX_DIMENSION * MAX_DIMENSION] = {0};
  double *moment_bar =
      theta_bar + s->segments[CAROM_LOG_MOMENT].offset + s->point_body[a->points[0]] * d;
  shear_of(&b, C);
  for (int k = 0; k < d; k++)
    for (int l = 0; l < d; l++) {
      const double *tip_bar = x_bar + b.at + (k + 1) * d;
      double G_bar = 0, share = share_of(&b, l, k);
      for (int i = 0; i < d; i++) {
        G_bar += b.axis[l * d + i] * tip_bar[i];
        e_bar[l * d + i] -= share * C[l][k] * tip_bar[i];
      }
      for (int i = 0; i < d; i++) {
        e_bar[l * d + i] -= share * G_bar * b.axis[k * d + i];
        e_bar[k * d + i] -= share * G_bar * b.axis[l * d + i];
      }
      double turn = C[l][k] * G_bar * share * (1 - share);
      moment_bar[l] -= turn;
      moment_bar[k] += turn;
    }
  for (int k = 0; k < d; k++)
    for (int i = 0; i < d; i++) {
      x_bar[b.at + (k + 1) * d + i] += e_bar[k * d + i];
      x_bar[b.at + i] -= e_bar[k * d + i];
    }
}
