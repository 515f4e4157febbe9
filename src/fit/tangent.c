#include "fit/tangent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/vector.h"
#include "physics/constraints.h"
#include "physics/rigid_body.h"

static bool is_jointed(const carom_system *s, const assembly *a) {
  return a->row_count > 0 && !assembly_is_rigid_body(s, a);
}

bool tangent_space_init(tangent_space *t, const carom_system *system) {
  int d = system->dimension;
  *t = (tangent_space){.system = system,
                       .coordinates = system->coordinate_count,
                       .size = 2 * (system->coordinate_count - system->row_count)};
  for (int i = 0; i < system->assembly_count; i++) {
    const assembly *a = &system->assemblies[i];
    if (is_jointed(system, a) && a->point_count * d > t->most) t->most = a->point_count * d;
  }
  size_t most = (size_t)t->most, all = (size_t)system->coordinate_count;
  size_t rows = (size_t)system->row_count, arms = (size_t)system->constraint_count * (size_t)d;
  t->work =
      size_allocate(2 * most * most + rows * rows + arms + 3 * rows + 6 * all, sizeof(double));
  size_t row = 2 * all;
  if (t->most > 0) t->moving = size_allocate(2 * row * (size_t)t->size + row, sizeof(double));
  return projection_init(&t->onto, system) && t->work != NULL &&
         (t->most == 0 || t->moving != NULL);
}

void tangent_space_free(tangent_space *t) {
  projection_free(&t->onto);
  free(t->work);
  free(t->moving);
}

/* ---- one rigid body -------------------------------------------------------------------------- */

static int turn_count(int d) { return d == 2 ? 1 : 3; }

// out = e_j x a; in the plane e_j is the axis out of it
static void cross_unit(int d, int j, const double *a, double *out) {
  if (d == 2) {
    out[0] = -a[1];
    out[1] = a[0];
    return;
  }
  double e[3] = {0, 0, 0};
  e[j] = 1;
  vector_cross(e, a, out);
}

// out = omega x a
static void cross(int d, const double *omega, const double *a, double *out) {
  if (d == 2) {
    out[0] = -omega[0] * a[1];
    out[1] = omega[0] * a[0];
  } else {
    vector_cross(omega, a, out);
  }
}

/* omega = 1/2 sum_k e_k x de_k/dt */
static void angular_velocity(int d, const double *x, const double *v, double *omega) {
  for (int j = 0; j < turn_count(d); j++) {
    omega[j] = 0;
    for (int k = 1; k <= d; k++) {
      double axis[3], u[3];
      for (int i = 0; i < d; i++) axis[i] = x[k * d + i] - x[i];
      cross_unit(d, j, axis, u);
      for (int i = 0; i < d; i++) omega[j] += 0.5 * u[i] * (v[k * d + i] - v[i]);
    }
  }
}

/* Rows of a rigid body whose points begin at coordinate `at`: centre, turn, velocity, rate. */
static void rigid_rows(const tangent_space *t, int at, const double *s, double *B, double *L) {
  int d = t->system->dimension, D = t->coordinates, turns = turn_count(d);
  size_t row = 2 * (size_t)D;
  const double *x = s + at, *v = s + D + at;
  double omega[3];
  angular_velocity(d, x, v, omega);
  for (int i = 0; i < d; i++) { // centre and its velocity
    double *Bx = B + (size_t)i * row, *Bv = B + (size_t)(d + turns + i) * row;
    for (int k = 0; k <= d; k++) Bx[at + k * d + i] = Bv[D + at + k * d + i] = 1;
    L[(size_t)i * row + (size_t)(at + i)] = 1;
    L[(size_t)(d + turns + i) * row + (size_t)(D + at + i)] = 1;
  }
  for (int j = 0; j < turns; j++) {
    double *B_turn = B + (size_t)(d + j) * row, *L_turn = L + (size_t)(d + j) * row;
    double *B_rate = B + (size_t)(2 * d + turns + j) * row;
    double *L_rate = L + (size_t)(2 * d + turns + j) * row;
    for (int k = 1; k <= d; k++) {
      double axis[3], u[3], w[3], y[3];
      for (int i = 0; i < d; i++) axis[i] = x[k * d + i] - x[i];
      cross_unit(d, j, axis, u);
      cross(d, omega, u, w); // omega x u; u x omega is its negative
      for (int i = 0; i < d; i++) {
        y[i] = -w[i];
        B_turn[at + k * d + i] = u[i];
        B_turn[D + at + k * d + i] = w[i];
        B_rate[D + at + k * d + i] = u[i];
        L_turn[at + k * d + i] = 0.5 * u[i];
        L_turn[at + i] -= 0.5 * u[i];
        L_rate[D + at + k * d + i] = 0.5 * u[i];
        L_rate[D + at + i] -= 0.5 * u[i];
        L_rate[at + k * d + i] = -0.5 * y[i];
        L_rate[at + i] += 0.5 * y[i];
      }
    }
  }
}

// a turned by phi (Rodrigues)
static void turn(int d, const double *phi, double *a) {
  double angle = d == 2 ? phi[0] : sqrt(vector_dot_small(phi, phi, 3));
  if (angle == 0) return;
  double c = cos(angle), sn = sin(angle);
  if (d == 2) {
    double first = a[0];
    a[0] = c * first - sn * a[1];
    a[1] = sn * first + c * a[1];
    return;
  }
  double n[3] = {phi[0] / angle, phi[1] / angle, phi[2] / angle}, nxa[3];
  vector_cross(n, a, nxa);
  double along = vector_dot_small(n, a, 3);
  for (int i = 0; i < 3; i++) a[i] = c * a[i] + sn * nxa[i] + (1 - c) * along * n[i];
}

/* Tips are turned, their velocities become (omega + beta) x tip, beside what they were off by. */
static void rigid_move(const tangent_space *t, int at, double *s, const double *z) {
  int d = t->system->dimension, turns = turn_count(d);
  double *x = s + at, *v = s + t->coordinates + at, omega[3], faster[3];
  const double *phi = z + d, *rate = z + 2 * d + turns;
  angular_velocity(d, x, v, omega);
  for (int j = 0; j < turns; j++) faster[j] = omega[j] + rate[j];
  double centre[3], speed[3];
  for (int i = 0; i < d; i++) {
    centre[i] = x[i] + z[i];
    speed[i] = v[i] + z[d + turns + i];
  }
  for (int k = 1; k <= d; k++) {
    double axis[3], before[3], after[3];
    for (int i = 0; i < d; i++) axis[i] = x[k * d + i] - x[i];
    cross(d, omega, axis, before);
    turn(d, phi, axis);
    cross(d, faster, axis, after);
    for (int i = 0; i < d; i++) {
      double off = v[k * d + i] - v[i] - before[i];
      x[k * d + i] = centre[i] + axis[i];
      v[k * d + i] = speed[i] + after[i] + off;
    }
  }
  memcpy(x, centre, sizeof(double) * (size_t)d);
  memcpy(v, speed, sizeof(double) * (size_t)d);
}

/* ---- jointed assemblies ---------------------------------------------------------------------- */

/* Orthonormal rows Q [rows][n] of J_E of an assembly with J = T Q (T [rows][rows] lower
 * triangular), and N [n - rows][n] beside them, over the coordinates of its points. */
typedef struct frame {
  int n, rows;
  double *Q, *N, *T;
} frame;

// row -= its parts along `count` orthonormal rows, twice for rounding; adds them to `along` (or
// NULL)
static void remove_parts(const double *rows, int count, int n, double *row, double *along) {
  for (int pass = 0; pass < 2; pass++)
    for (int k = 0; k < count; k++) {
      double part = vector_dot(rows + (size_t)k * (size_t)n, row, n);
      for (int i = 0; i < n; i++) row[i] -= part * rows[(size_t)k * (size_t)n + (size_t)i];
      if (along != NULL) along[k] += part;
    }
}

static double normalise(double *row, int n) {
  double length = sqrt(vector_dot(row, row, n));
  for (int i = 0; i < n; i++) row[i] /= length;
  return length;
}

static void gather(const tangent_space *t, const assembly *a, const double *from, double *to) {
  int d = t->system->dimension;
  for (int p = 0; p < a->point_count; p++)
    memcpy(to + (size_t)p * (size_t)d, from + (size_t)a->points[p] * (size_t)d,
           sizeof(double) * (size_t)d);
}

static frame frame_at(const tangent_space *t, int index, const double *x, double *work, double *arm,
                      double *unit, double *out) {
  const carom_system *s = t->system;
  const assembly *a = &s->assemblies[index];
  const mechanics *m = &t->onto.mechanics;
  int n = a->point_count * s->dimension, rows = a->row_count;
  frame f = {n, rows, work, work + (size_t)rows * (size_t)n, NULL};
  f.T = work + (size_t)n * (size_t)n;
  memset(f.T, 0, sizeof(double) * (size_t)rows * (size_t)rows);
  int begin = m->assembly_constraint[index], end = m->assembly_constraint[index + 1];
  constraints_arms(m, begin, end, x, arm);
  for (int r = 0; r < rows; r++) {
    double *row = f.Q + (size_t)r * (size_t)n;
    memset(unit, 0, sizeof(double) * (size_t)s->row_count);
    memset(out, 0, sizeof(double) * (size_t)s->coordinate_count);
    unit[a->first_row + r] = 1;
    constraints_apply_transpose(m, begin, end, arm, unit, out);
    gather(t, a, out, row);
    remove_parts(f.Q, r, n, row, f.T + (size_t)r * (size_t)rows);
    f.T[(size_t)r * (size_t)rows + (size_t)r] = normalise(row, n);
  }
  // the rest of the space, from the unit vectors that are farthest from what is there
  for (int k = rows; k < n; k++) {
    int best = 0;
    double least = INFINITY;
    for (int i = 0; i < n; i++) {
      double inside = 0;
      for (int r = 0; r < k; r++)
        inside += f.Q[(size_t)r * (size_t)n + (size_t)i] * f.Q[(size_t)r * (size_t)n + (size_t)i];
      if (inside < least) {
        least = inside;
        best = i;
      }
    }
    double *row = f.Q + (size_t)k * (size_t)n;
    memset(row, 0, sizeof(double) * (size_t)n);
    row[best] = 1;
    remove_parts(f.Q, k, n, row, NULL);
    normalise(row, n);
  }
  return f;
}

/* Rows of a jointed assembly: positions, then velocities. */
static void jointed_rows(const tangent_space *t, int index, const double *s, double *B, double *L) {
  const carom_system *system = t->system;
  const assembly *a = &system->assemblies[index];
  int d = system->dimension, D = t->coordinates, rows = system->row_count;
  double *arm = t->work + 2 * (size_t)t->most * (size_t)t->most + (size_t)rows * (size_t)rows;
  double *unit = arm + system->constraint_count * d, *curve = unit + rows, *out = curve + 2 * rows;
  frame f = frame_at(t, index, s, t->work, arm, unit, out);
  int freedoms = f.n - f.rows;
  size_t row = 2 * (size_t)D;
  for (int j = 0; j < freedoms; j++) {
    const double *N = f.N + (size_t)j * (size_t)f.n;
    double *Bx = B + (size_t)j * row, *Bv = B + (size_t)(freedoms + j) * row;
    for (int i = 0; i < f.n; i++) {
      int at = a->points[i / d] * d + i % d;
      Bx[at] = Bv[D + at] = N[i];
      L[(size_t)j * row + (size_t)at] = L[(size_t)(freedoms + j) * row + (size_t)(D + at)] = N[i];
    }
    // dv = -Q' T^-1 (D_x (J v)) dx
    constraints_curvature(&t->onto.mechanics, s + D, Bx, curve);
    double *y = curve + a->first_row;
    for (int r = 0; r < f.rows; r++) {
      for (int k = 0; k < r; k++) y[r] -= f.T[(size_t)r * (size_t)f.rows + (size_t)k] * y[k];
      y[r] /= f.T[(size_t)r * (size_t)f.rows + (size_t)r];
      for (int i = 0; i < f.n; i++)
        Bx[D + a->points[i / d] * d + i % d] -= y[r] * f.Q[(size_t)r * (size_t)f.n + (size_t)i];
    }
  }
}

/* ---- the whole ------------------------------------------------------------------------------- */

void tangent_at(tangent_space *t, const double *s, double *B, double *L) {
  const carom_system *system = t->system;
  int d = system->dimension, D = t->coordinates;
  size_t row = 2 * (size_t)D, bytes = sizeof(double) * row * (size_t)t->size;
  memset(B, 0, bytes);
  memset(L, 0, bytes);
  for (int i = 0; i < system->assembly_count; i++) {
    const assembly *a = &system->assemblies[i];
    int size = 2 * (a->point_count * d - a->row_count);
    if (is_jointed(system, a)) {
      jointed_rows(t, i, s, B, L);
    } else if (a->row_count > 0) {
      rigid_rows(t, a->points[0] * d, s, B, L);
    } else {
      for (int k = 0; k < size; k++) {
        size_t at = (size_t)(a->points[0] * d + k % d + (k < d ? 0 : D));
        B[(size_t)k * row + at] = L[(size_t)k * row + at] = 1;
      }
    }
    B += row * (size_t)size;
    L += row * (size_t)size;
  }
}

/* x + (P(x + dx) - P(x)) and likewise v: what a state is off by stays. */
static bool jointed_move(tangent_space *t, double *s, const double *step) {
  int D = t->coordinates;
  double *before = t->work, *after = before + 2 * D;
  memcpy(before, s, sizeof(double) * 2 * (size_t)D);
  for (int i = 0; i < 2 * D; i++) after[i] = s[i] + step[i];
  if (!projection_positions(&t->onto, before) || !projection_positions(&t->onto, after))
    return false;
  projection_velocities(&t->onto, before, before + D);
  projection_velocities(&t->onto, after, after + D);
  for (int i = 0; i < 2 * D; i++) s[i] += after[i] - before[i];
  return true;
}

bool tangent_move(tangent_space *t, double *s, const double *z) {
  const carom_system *system = t->system;
  int d = system->dimension, D = t->coordinates;
  size_t row = 2 * (size_t)D, used = 0;
  bool still = true, jointed = t->most > 0;
  for (int i = 0; i < t->size; i++) still = still && z[i] == 0;
  if (still) return true;
  double *B = NULL, *L = NULL, *step = NULL;
  if (jointed) {
    B = t->moving;
    L = B + row * (size_t)t->size;
    step = L + row * (size_t)t->size;
    memset(step, 0, sizeof(double) * row);
    tangent_at(t, s, B, L);
  }
  for (int i = 0; i < system->assembly_count; i++) {
    const assembly *a = &system->assemblies[i];
    int size = 2 * (a->point_count * d - a->row_count);
    const double *zi = z + used;
    if (is_jointed(system, a)) {
      for (int k = 0; k < size; k++)
        for (size_t c = 0; c < row; c++) step[c] += zi[k] * B[(used + (size_t)k) * row + c];
    } else if (a->row_count > 0) {
      rigid_move(t, a->points[0] * d, s, zi);
    } else {
      for (int k = 0; k < size; k++) s[a->points[0] * d + k % d + (k < d ? 0 : D)] += zi[k];
    }
    used += (size_t)size;
  }
  return !jointed || jointed_move(t, s, step);
}
