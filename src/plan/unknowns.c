#include "plan/unknowns.h"

#include "base/rotation.h"
#include "base/vector.h"
#include "system/sampler.h"

#include <math.h>
#include <string.h>

const char *const quantity_names[] = {[QUANTITY_POSITION] = "position",
                                      [QUANTITY_VELOCITY] = "velocity",
                                      [QUANTITY_ANGLE] = "angle",
                                      [QUANTITY_RATE] = "rate",
                                      NULL};
const char *const axis_names[] = {"x", "y", "z", NULL};

int quantity_size(const carom_system *system, plan_quantity quantity) {
  const bool turns = quantity == QUANTITY_ANGLE || quantity == QUANTITY_RATE;
  return turns && system->dimension == 2 ? 1 : system->dimension;
}

void piece_steps(int steps, int pieces, int piece, int *first, int *end) {
  *first = (int)((int64_t)steps * piece / pieces);
  *end = (int)((int64_t)steps * (piece + 1) / pieces);
}

/* ---- rigid bodies as a person sees them ------------------------------------------------------ */

/* Centre, rotation, velocity and spin of a body. */
typedef struct pose {
  double centre[MAX_DIMENSION], velocity[MAX_DIMENSION];
  double rotation[MAX_DIMENSION * MAX_DIMENSION]; /* row-major, columns are the body axes */
  double spin[MAX_DIMENSION];
} pose;

// body axis k: x_k - x_0
static void body_axis(const carom_system *s, const body *b, int k, const double *x, double *axis) {
  const int d = s->dimension;
  const double *x0 = x + b->first_point * d, *xk = x0 + (k + 1) * d;
  for (int i = 0; i < d; i++) axis[i] = xk[i] - x0[i];
}

/* omega = 1/2 sum_k a_k x w_k in space, a_0 x w_0 in the plane, w_k = v_k - v_0 */
void body_rate(const carom_system *s, int index, const double *x, const double *v, double *rate) {
  const body *b = &s->bodies[index];
  double axis[MAX_DIMENSION], turn[MAX_DIMENSION], part[MAX_DIMENSION];
  memset(rate, 0, sizeof(double) * (s->dimension == 2 ? 1 : 3));
  for (int k = 0; k < s->dimension; k++) {
    body_axis(s, b, k, x, axis);
    body_axis(s, b, k, v, turn);
    if (s->dimension == 2) {
      rate[0] += (axis[0] * turn[1] - axis[1] * turn[0]) / 2;
      continue;
    }
    vector_cross(axis, turn, part);
    for (int i = 0; i < 3; i++) rate[i] += part[i] / 2;
  }
}

/* axis times angle of a rotation matrix [3][3]; by way of the quaternion, which has no weak place */
static void rotation_vector(const double *r, double *vector) {
  double q[4];
  const double trace = r[0] + r[4] + r[8];
  int largest = r[4] > r[0] ? 1 : 0;
  if (r[8] > r[4 * largest]) largest = 2;
  const int i = largest, j = (i + 1) % 3, k = (i + 2) % 3;
  if (trace > 0) {
    q[0] = sqrt(1 + trace) / 2;
    for (int a = 0; a < 3; a++) {
      const int b = (a + 1) % 3, c = (a + 2) % 3;
      q[a + 1] = (r[3 * c + b] - r[3 * b + c]) / (4 * q[0]);
    }
  } else {
    const double root = sqrt(1 + r[4 * i] - r[4 * j] - r[4 * k]);
    q[i + 1] = root / 2;
    q[0] = (r[3 * k + j] - r[3 * j + k]) / (2 * root);
    q[j + 1] = (r[3 * j + i] + r[3 * i + j]) / (2 * root);
    q[k + 1] = (r[3 * k + i] + r[3 * i + k]) / (2 * root);
  }
  const double sine = sqrt(q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  const double angle = 2 * atan2(q[0] < 0 ? -sine : sine, fabs(q[0]));
  for (int a = 0; a < 3; a++) vector[a] = sine > 0 ? q[a + 1] * angle / sine : 0;
}

// columns are the body axes
static void body_rotation(const carom_system *s, int index, const double *x, double *rotation) {
  const int d = s->dimension;
  for (int k = 0; k < d; k++) {
    double axis[MAX_DIMENSION];
    body_axis(s, &s->bodies[index], k, x, axis);
    for (int i = 0; i < d; i++) rotation[i * d + k] = axis[i];
  }
}

void body_angle(const carom_system *s, int index, const double *x, double *angle) {
  double rotation[MAX_DIMENSION * MAX_DIMENSION];
  body_rotation(s, index, x, rotation);
  if (s->dimension == 2)
    angle[0] = atan2(rotation[2], rotation[0]);
  else
    rotation_vector(rotation, angle);
}

static pose read_pose(const carom_system *s, int index, const double *x, const double *v) {
  pose p = {0};
  const body *b = &s->bodies[index];
  for (int i = 0; i < s->dimension; i++) {
    p.centre[i] = x[b->first_point * s->dimension + i];
    p.velocity[i] = v[b->first_point * s->dimension + i];
  }
  if (!b->rigid) return p;
  body_rotation(s, index, x, p.rotation);
  body_rate(s, index, x, v, p.spin);
  return p;
}

/* Cotangents of what place_body made of a pose, taken back: of the centre, the velocity, the spin, and of
 * a small turn of the body (d axis_k = turn x axis_k).
 *
 *   x_k = c + a_k      v_k = w + omega x a_k */
static void pose_vjp(const carom_system *s, int index, const pose *p, const double *x_bar,
                     const double *v_bar, pose *bar, double *turn_bar) {
  const body *b = &s->bodies[index];
  const int d = s->dimension;
  *bar = (pose){0};
  memset(turn_bar, 0, sizeof(double) * MAX_DIMENSION);
  for (int k = 0; k < b->point_count; k++) {
    const double *xb = x_bar + (b->first_point + k) * d, *vb = v_bar + (b->first_point + k) * d;
    for (int i = 0; i < d; i++) bar->centre[i] += xb[i], bar->velocity[i] += vb[i];
    if (k == 0) continue;
    double a[3] = {0}, axis_bar[3] = {0}, v3[3] = {0}, spin[3] = {0}, part[3];
    for (int i = 0; i < d; i++) a[i] = p->rotation[i * d + k - 1], v3[i] = vb[i];
    if (d == 2)
      spin[2] = p->spin[0];
    else
      memcpy(spin, p->spin, sizeof spin);
    // axis_bar = x_bar + v_bar x omega, spin_bar = a x v_bar, turn_bar = a x axis_bar
    vector_cross(v3, spin, axis_bar);
    for (int i = 0; i < d; i++) axis_bar[i] += xb[i];
    vector_cross(a, v3, part);
    for (int i = 0; i < 3; i++) bar->spin[d == 2 ? 0 : i] += d == 2 && i < 2 ? 0 : part[i];
    vector_cross(a, axis_bar, part);
    for (int i = 0; i < 3; i++) turn_bar[d == 2 ? 0 : i] += d == 2 && i < 2 ? 0 : part[i];
  }
}

/* R = exp([t]): a change of t turns the body by J(t) dt,
 *   J = 1 + (1 - cos f) / f^2 [t] + (f - sin f) / f^3 [t]^2, f = |t|;  t_bar = J' turn_bar. */
static void rotation_vector_vjp(const double *t, const double *turn_bar, double *t_bar) {
  const double square = t[0] * t[0] + t[1] * t[1] + t[2] * t[2], f = sqrt(square);
  const double first = f > 1e-4 ? (1 - cos(f)) / square : 0.5 - square / 24;
  const double second = f > 1e-4 ? (f - sin(f)) / (square * f) : 1.0 / 6 - square / 120;
  double once[3], twice[3];
  // [t]' y = -t x y
  vector_cross(t, turn_bar, once);
  vector_cross(t, once, twice);
  for (int i = 0; i < 3; i++) t_bar[i] = turn_bar[i] - first * once[i] + second * twice[i];
}

/* ---- initial states -------------------------------------------------------------------------- */

/* Whether an entry changes a body's state. */
static bool concerns(const unknown *u, int index) {
  return u->kind == UNKNOWN_STATE && u->body == index;
}

// the pose of a body at z, and its angle where that is unknown (in space axis times angle)
static pose body_pose(const carom_plan *plan, int index, const double *z, const double *x,
                      const double *v, double *angle) {
  const carom_system *s = plan->system;
  pose p = read_pose(s, index, x, v);
  bool turned = false;
  if (s->bodies[index].rigid) body_angle(s, index, x, angle);
  for (int e = 0; e < plan->entry_count; e++) {
    const unknown *u = &plan->entries[e];
    if (!concerns(u, index)) continue;
    double *const into[] = {[QUANTITY_POSITION] = p.centre,
                            [QUANTITY_VELOCITY] = p.velocity,
                            [QUANTITY_ANGLE] = angle,
                            [QUANTITY_RATE] = p.spin};
    for (int i = 0; i < u->count; i++) into[u->quantity][u->axes[i]] = z[u->first + i];
    turned = turned || u->quantity == QUANTITY_ANGLE;
  }
  if (turned && s->dimension == 2) rotation_from_angle(angle[0], p.rotation);
  if (turned && s->dimension == 3) rotation_from_vector(angle, p.rotation);
  return p;
}

static bool is_unknown_body(const carom_plan *plan, int index) {
  for (int e = 0; e < plan->entry_count; e++)
    if (concerns(&plan->entries[e], index)) return true;
  return false;
}

static void state_apply(const carom_plan *plan, const double *z, double *x, double *v) {
  for (int b = 0; b < plan->system->body_count; b++) {
    double angle[MAX_DIMENSION] = {0};
    if (!is_unknown_body(plan, b)) continue;
    const pose p = body_pose(plan, b, z, x, v, angle);
    place_body(plan->system, b, p.centre, p.velocity, p.rotation, p.spin, x, v);
  }
}

static void state_apply_vjp(const carom_plan *plan, const double *z, const double *x_bar,
                            const double *v_bar, double *z_bar) {
  for (int b = 0; b < plan->system->body_count; b++) {
    if (!is_unknown_body(plan, b)) continue;
    double angle[MAX_DIMENSION] = {0}, turn_bar[MAX_DIMENSION], angle_bar[MAX_DIMENSION];
    const pose p = body_pose(plan, b, z, plan->x0, plan->v0, angle);
    pose bar;
    pose_vjp(plan->system, b, &p, x_bar, v_bar, &bar, turn_bar);
    memcpy(angle_bar, turn_bar, sizeof angle_bar);
    if (plan->system->dimension == 3) rotation_vector_vjp(angle, turn_bar, angle_bar);
    for (int e = 0; e < plan->entry_count; e++) {
      const unknown *u = &plan->entries[e];
      if (!concerns(u, b)) continue;
      const double *const from[] = {[QUANTITY_POSITION] = bar.centre,
                                    [QUANTITY_VELOCITY] = bar.velocity,
                                    [QUANTITY_ANGLE] = angle_bar,
                                    [QUANTITY_RATE] = bar.spin};
      for (int i = 0; i < u->count; i++) z_bar[u->first + i] += from[u->quantity][u->axes[i]];
    }
  }
}

/* ---- controls and parameters ----------------------------------------------------------------- */

static void control_apply(const carom_plan *plan, const unknown *u, const double *z, double *out) {
  const control *c = &plan->system->controls[u->control];
  for (int piece = 0; piece < u->pieces; piece++) {
    int first, end;
    piece_steps(plan->rollout.steps, u->pieces, piece, &first, &end);
    for (int step = first; step < end; step++)
      for (int i = 0; i < c->size; i++)
        out[(size_t)step * (size_t)plan->system->control_size + (size_t)(c->first + i)] =
            z[u->first + piece * c->size + i];
  }
}

static void control_apply_vjp(const carom_plan *plan, const unknown *u, const double *out_bar,
                              double *z_bar) {
  const control *c = &plan->system->controls[u->control];
  for (int piece = 0; piece < u->pieces; piece++) {
    int first, end;
    piece_steps(plan->rollout.steps, u->pieces, piece, &first, &end);
    for (int step = first; step < end; step++)
      for (int i = 0; i < c->size; i++)
        z_bar[u->first + piece * c->size + i] +=
            out_bar[(size_t)step * (size_t)plan->system->control_size + (size_t)(c->first + i)];
  }
}

static void parameter_apply(const unknown *u, const double *z, double *theta) {
  for (int k = 0; k < u->entry_count; k++) {
    const double value = z[u->first + (u->each ? k : 0)];
    theta[u->entries[k]] = u->logarithm ? log(value) : value;
  }
}

static void parameter_apply_vjp(const unknown *u, const double *z, const double *theta_bar,
                                double *z_bar) {
  for (int k = 0; k < u->entry_count; k++) {
    const int i = u->first + (u->each ? k : 0);
    z_bar[i] += u->logarithm ? theta_bar[u->entries[k]] / z[i] : theta_bar[u->entries[k]];
  }
}

void unknowns_apply(const carom_plan *plan, const double *z, double *x, double *v, double *theta,
                    double *u) {
  state_apply(plan, z, x, v);
  for (int e = 0; e < plan->entry_count; e++) {
    const unknown *entry = &plan->entries[e];
    if (entry->kind == UNKNOWN_CONTROL) control_apply(plan, entry, z, u);
    if (entry->kind == UNKNOWN_PARAMETER) parameter_apply(entry, z, theta);
  }
}

void unknowns_apply_vjp(const carom_plan *plan, const double *z, const double *x_bar,
                        const double *v_bar, const double *theta_bar, const double *u_bar,
                        double *z_bar) {
  state_apply_vjp(plan, z, x_bar, v_bar, z_bar);
  for (int e = 0; e < plan->entry_count; e++) {
    const unknown *entry = &plan->entries[e];
    if (entry->kind == UNKNOWN_CONTROL) control_apply_vjp(plan, entry, u_bar, z_bar);
    if (entry->kind == UNKNOWN_PARAMETER) parameter_apply_vjp(entry, z, theta_bar, z_bar);
  }
}
