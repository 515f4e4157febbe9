#include "physics/drag.h"

void drag_apply(const mechanics *m, const double *v, double *gradient) {
  const carom_system *s = m->system;
  int d = s->dimension;
  for (int b = 0; b < s->body_count; b++) {
    int at = s->bodies[b].first_point * d;
    for (int i = 0; i < d; i++) gradient[at + i] += m->drag[b] * v[at + i];
    for (int k = 1; k < s->bodies[b].point_count; k++)
      for (int i = 0; i < d; i++) {
        double force = -0.5 * m->angular_drag[b] * (v[at + k * d + i] - v[at + i]);
        gradient[at + k * d + i] -= force;
        gradient[at + i] += force;
      }
  }
}

void drag_apply_vjp(const mechanics *m, const double *v, const double *gradient_bar, double *v_bar,
                    double *theta_bar) {
  const carom_system *s = m->system;
  int d = s->dimension;
  double *drag_bar = theta_bar + s->segments[CAROM_DRAG].offset;
  double *angular_bar = theta_bar + s->segments[CAROM_ANGULAR_DRAG].offset;
  for (int b = 0; b < s->body_count; b++) {
    int at = s->bodies[b].first_point * d;
    for (int i = 0; i < d; i++) {
      drag_bar[b] += v[at + i] * gradient_bar[at + i];
      v_bar[at + i] += m->drag[b] * gradient_bar[at + i];
    }
    for (int k = 1; k < s->bodies[b].point_count; k++)
      for (int i = 0; i < d; i++) {
        // in the forward pass this was gradient_k += a/2 (v_k - v_0), gradient_0 -= that
        double bar = 0.5 * (gradient_bar[at + k * d + i] - gradient_bar[at + i]);
        angular_bar[b] += bar * (v[at + k * d + i] - v[at + i]);
        v_bar[at + k * d + i] += m->angular_drag[b] * bar;
        v_bar[at + i] -= m->angular_drag[b] * bar;
      }
  }
}
