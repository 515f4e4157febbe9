#include "physics/free_fall.h"

#include "base/vector.h"

bool free_fall_is(const integrator *in, const step_record *record) {
  const carom_system *s = in->mechanics->system;
  return (in->method == CAROM_RK4 || in->method == CAROM_RK4_SECANT) && s->constraint_count == 0 &&
         s->spring_count == 0 && in->potential == &scene_potential && !in->mechanics->drags &&
         record->controls.u == NULL;
}

static void fall(const integrator *in, int count, double *x, double *v) {
  const int d = in->mechanics->system->dimension,
            points = count * in->mechanics->system->coordinate_count / d;
  const double *g = in->mechanics->gravity, h = in->dt;
  for (int k = 0; k < points; k++)
    for (int i = 0; i < d; i++) {
      x[k * d + i] += h * (v[k * d + i] + 0.5 * h * g[i]);
      v[k * d + i] += h * g[i];
    }
}

void free_fall_step(const integrator *in, int count, double *x, double *v, step_record *record) {
  const int size = count * in->mechanics->system->coordinate_count;
  vector_copy(record->x[0], x, size);
  vector_copy(record->v[0], v, size);
  fall(in, count, x, v);
}

void free_fall_replay(const integrator *in, int count, const step_record *record, double *x,
                      double *v) {
  const int size = count * in->mechanics->system->coordinate_count;
  vector_copy(x, record->x[0], size);
  vector_copy(v, record->v[0], size);
  fall(in, count, x, v);
}

/* One sample. With a drag c the velocity changes by -(c / m) of it: to the first order in c
 *   v1 = ... - (c / m) (h v + h^2 / 2 g),   x1 = ... - (c / m) (h^2 / 2 v + h^3 / 6 g) */
static void fall_vjp(const integrator *in, const double *v, double weight, const double *x_bar,
                     double *v_bar, double *theta_bar, double *potential_bar, double *dt_bar) {
  const mechanics *m = in->mechanics;
  const carom_system *s = m->system;
  const int d = s->dimension;
  const double *g = m->gravity, h = in->dt;
  double *drag_bar = theta_bar + s->segments[CAROM_DRAG].offset;
  double *gravity_bar = potential_bar + s->segments[CAROM_GRAVITY].offset;
  for (int b = 0; b < s->body_count; b++) {
    double drag = 0;
    for (int i = 0; i < d; i++) {
      const int at = s->bodies[b].first_point * d + i;
      const double xb = x_bar[at], vb = v_bar[at];
      drag += vb * h * (v[at] + 0.5 * h * g[i]) + xb * h * h * (0.5 * v[at] + h / 6 * g[i]);
      gravity_bar[i] += weight * h * (vb + 0.5 * h * xb);
      if (dt_bar != NULL) *dt_bar += xb * (v[at] + h * g[i]) + vb * g[i];
      v_bar[at] += h * xb;
    }
    drag_bar[b] -= weight * m->inverse_mass[b] * drag;
  }
}

void free_fall_step_vjp(const integrator *in, int count, const step_record *record, double *x_bar,
                        double *v_bar, double *theta_bar, double *potential_bar, double *dt_bar) {
  const int size = in->mechanics->system->coordinate_count;
  for (int k = 0; k < count; k++)
    fall_vjp(in, record->v[0] + k * size, record->weights != NULL ? record->weights[k] : 1,
             x_bar + k * size, v_bar + k * size, theta_bar, potential_bar,
             dt_bar != NULL ? &dt_bar[k] : NULL);
}
