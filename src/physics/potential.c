#include "physics/potential.h"

#include <math.h>
#include <string.h>

static double spring_length(const spring *link, int d, const double *x, double *arm) {
  combination_value(&link->arm, d, x, true, arm);
  double square = 0;
  for (int i = 0; i < d; i++) square += arm[i] * arm[i];
  return sqrt(square);
}

/* V = -sum_b m_b g . x_b + sum_k stiffness_k (|arm_k| - rest_k)^2 */
static double value_of_state(const mechanics *m, const double *x) {
  const carom_system *s = m->system;
  int d = s->dimension;
  double value = 0;
  for (int b = 0; b < s->body_count; b++)
    for (int i = 0; i < d; i++)
      value -= m->gravity[i] * x[s->bodies[b].first_point * d + i] / m->inverse_mass[b];
  for (int k = 0; k < s->spring_count; k++) {
    double arm[MAX_DIMENSION];
    double stretch = spring_length(&s->springs[k], d, x, arm) - s->springs[k].length;
    value += m->stiffness[k] * stretch * stretch;
  }
  return value;
}

/* dV/dx: -m g on centres; 2 stiffness (|arm| - rest) arm / |arm| spread over the ends of springs */
static void gradient_of_state(const mechanics *m, const double *x, double *gradient) {
  const carom_system *s = m->system;
  int d = s->dimension;
  memset(gradient, 0, sizeof(double) * (size_t)s->coordinate_count);
  for (int b = 0; b < s->body_count; b++)
    for (int i = 0; i < d; i++)
      gradient[s->bodies[b].first_point * d + i] = -m->gravity[i] / m->inverse_mass[b];
  for (int k = 0; k < s->spring_count; k++) {
    const spring *link = &s->springs[k];
    double arm[MAX_DIMENSION];
    double length = spring_length(link, d, x, arm);
    if (length == 0) continue;
    double factor = 2 * m->stiffness[k] * (length - link->length) / length;
    for (int p = 0; p < link->arm.count; p++)
      for (int i = 0; i < d; i++)
        gradient[link->arm.point[p] * d + i] += link->arm.weight[p] * factor * arm[i];
  }
}

static void gradient_of_state_vjp(const mechanics *m, const double *x, const double *gradient_bar,
                                  double *x_bar, double *theta_bar) {
  const carom_system *s = m->system;
  int d = s->dimension;

  // in the forward pass this was gradient_centre = -m g
  double *mass_bar = theta_bar + s->segments[CAROM_LOG_MASS].offset;
  double *gravity_bar = theta_bar + s->segments[CAROM_GRAVITY].offset;
  for (int b = 0; b < s->body_count; b++) {
    const double *bar = gradient_bar + s->bodies[b].first_point * d;
    for (int i = 0; i < d; i++) {
      mass_bar[b] -= m->gravity[i] / m->inverse_mass[b] * bar[i];
      gravity_bar[i] -= bar[i] / m->inverse_mass[b];
    }
  }

  // and gradient_p = w_p 2 k (1 - rest / length) arm
  double *stiffness_bar = theta_bar + s->segments[CAROM_STIFFNESS].offset;
  for (int k = 0; k < s->spring_count; k++) {
    const spring *link = &s->springs[k];
    double arm[MAX_DIMENSION], bar[MAX_DIMENSION], along = 0;
    double length = spring_length(link, d, x, arm);
    if (length == 0) continue;
    combination_value(&link->arm, d, gradient_bar, false, bar);
    for (int i = 0; i < d; i++) along += bar[i] * arm[i] / length;
    // with r = rest / length, u = arm / length:
    // arm_bar = 2 k ((1 - r) bar + r (bar . u) u), k_bar = 2 (1 - r) bar . arm
    double ratio = link->length / length;
    stiffness_bar[k] += 2 * (1 - ratio) * along * length;
    for (int i = 0; i < d; i++) {
      double arm_bar =
          2 * m->stiffness[k] * ((1 - ratio) * bar[i] + ratio * along * arm[i] / length);
      for (int p = 0; p < link->arm.count; p++)
        x_bar[link->arm.point[p] * d + i] += link->arm.weight[p] * arm_bar;
    }
  }
}

static void scene_value(const potential *self, const mechanics *m, int count, const double *x,
                        double *value, arena *scratch) {
  (void)self;
  (void)scratch;
  for (int i = 0; i < count; i++)
    value[i] = value_of_state(m, x + (size_t)i * (size_t)m->system->coordinate_count);
}

static void scene_gradient(const potential *self, const mechanics *m, int count, const double *x,
                           double *gradient, void *record, arena *scratch) {
  (void)self;
  (void)record;
  (void)scratch;
  size_t stride = (size_t)m->system->coordinate_count;
  for (int i = 0; i < count; i++)
    gradient_of_state(m, x + (size_t)i * stride, gradient + (size_t)i * stride);
}

static void scene_gradient_vjp(const potential *self, const mechanics *m, int count,
                               const double *x, void *record, const double *gradient_bar,
                               double *x_bar, double *parameters_bar, arena *scratch) {
  (void)self;
  (void)record;
  (void)scratch;
  size_t stride = (size_t)m->system->coordinate_count;
  for (int i = 0; i < count; i++)
    gradient_of_state_vjp(m, x + (size_t)i * stride, gradient_bar + (size_t)i * stride,
                          x_bar + (size_t)i * stride, parameters_bar);
}

const potential scene_potential = {
    .value = scene_value, .gradient = scene_gradient, .gradient_vjp = scene_gradient_vjp};
