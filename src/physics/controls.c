#include "physics/controls.h"

#include "base/vector.h"
#include "physics/rigid_body.h"

enum { MAX_BODY_COORDINATES = MAX_BODY_POINTS * MAX_DIMENSION };

/* A torque on the unit body: the turn omega = S^-1 tau, and the forces. */
typedef struct couple {
  rigid_body body;
  double motion[MAX_WRENCH];          /* (0, omega) */
  double force[MAX_BODY_COORDINATES]; /* on its points */
} couple;

static couple couple_of(const carom_system *s, const control *c, const double *x, const double *u) {
  int d = s->dimension;
  couple t = {.body = rigid_body_unit(d, x + s->bodies[c->body].first_point * d)};
  for (int i = 0; i < c->size; i++) t.motion[d + i] = u[i];
  rigid_body_move(&t.body, t.motion);
  rigid_body_momenta(&t.body, t.motion, t.force);
  return t;
}

void controls_apply(const carom_system *s, const double *x, const double *u, double *gradient) {
  int d = s->dimension;
  for (int k = 0; k < s->control_count; k++) {
    const control *c = &s->controls[k];
    const double *given = u + c->first;
    if (c->kind == CAROM_CONTROL_TORQUE) {
      couple t = couple_of(s, c, x, given);
      double *at = gradient + s->bodies[c->body].first_point * d;
      for (int i = 0; i < (d + 1) * d; i++) at[i] -= t.force[i];
      continue;
    }
    for (int p = 0; p < c->point.count; p++)
      for (int i = 0; i < d; i++)
        gradient[c->point.point[p] * d + i] -= c->point.weight[p] * given[i];
  }
}

/* in the forward pass this was force = M V(E) S(E)^-1 tau with the unit body's M; so now with g the
 * cotangent of force: tau_bar = sigma = S^-1 V' M g, the turn of what of g is a rigid motion, and with the
 * rest r of g
 *   e_bar_k = r_k x omega + sigma x f_k */
static void torque_vjp(const carom_system *s, const control *c, const double *x, const double *u,
                       const double *gradient_bar, double *x_bar, double *u_bar) {
  int d = s->dimension, count = (d + 1) * d, first = s->bodies[c->body].first_point * d;
  couple t = couple_of(s, c, x, u);
  double rest[MAX_BODY_COORDINATES], moved[MAX_BODY_COORDINATES], turn[MAX_WRENCH];
  for (int i = 0; i < count; i++) moved[i] = -gradient_bar[first + i];
  vector_copy(rest, moved, count);
  rigid_body_project(&t.body, turn, moved);
  for (int i = 0; i < count; i++) {
    rest[i] -= moved[i];
    t.force[i] = -t.force[i];
  }
  rigid_body_axes_vjp(&t.body, rest, t.motion + d, x_bar + first);
  rigid_body_axes_vjp(&t.body, t.force, turn + d, x_bar + first);
  for (int i = 0; u_bar != NULL && i < c->size; i++) u_bar[i] += turn[d + i];
}

void controls_apply_vjp(const carom_system *s, const double *x, const double *u,
                        const double *gradient_bar, double *x_bar, double *u_bar) {
  for (int k = 0; k < s->control_count; k++) {
    const control *c = &s->controls[k];
    double *bar = u_bar != NULL ? u_bar + c->first : NULL;
    if (c->kind == CAROM_CONTROL_TORQUE) {
      torque_vjp(s, c, x, u + c->first, gradient_bar, x_bar, bar);
      continue;
    }
    // gradient_p -= weight_p u
    double point_bar[MAX_DIMENSION];
    combination_value(&c->point, s->dimension, gradient_bar, false, point_bar);
    for (int i = 0; bar != NULL && i < s->dimension; i++) bar[i] -= point_bar[i];
  }
}
