#include "contact/lcp_equations.h"

#include "base/vector.h"

#include <math.h>

static const double HALF_ROOT = 0.70710678118654752440;

lcp_equations lcp_equations_make(const cone_program *program, carom_friction_law law,
                                 arena *memory) {
  int count = program->contact_count, size = program->shape.size;
  double *A = arena_zeros(memory, size * size), *numbers = arena_zeros(memory, 3 * size);
  for (int i = 0; i < size; i++)
    for (int j = program->shape.first[i]; j <= i; j++)
      A[i * size + j] = A[j * size + i] = program->A[envelope_at(&program->shape, i, j)];
  return (lcp_equations){.program = program,
                         .scale = cone_scale_make(program, memory),
                         .A = A,
                         .b = program->b,
                         .convex = law == CAROM_CONVEX_FRICTION,
                         .offset = ARENA_ARRAY(memory, int, count),
                         .on = ARENA_ARRAY(memory, lcp_columns, count),
                         .G = arena_doubles(memory, size * size),
                         .y = numbers,
                         .f = numbers + size,
                         .s = numbers + 2 * size};
}

/* ---- states ------------------------------------------------------------------------------------ */

static lcp_columns columns_of(int d, double mu, bool convex, unsigned char state) {
  lcp_columns c = {0};
  if (state == LCP_OPEN) return c;
  if (state == LCP_STICK) {
    c.count = d;
    for (int k = 0; k < d; k++) c.T[k][k] = c.R[k][k] = 1;
    return c;
  }
  const double sign[2] = {(state - LCP_SLIDE) / 3 - 1, (state - LCP_SLIDE) % 3 - 1};
  bool edge = sign[0] != 0 && sign[1] != 0;
  c.count = edge ? 2 : 1;
  c.T[0][0] = c.R[0][0] = 1;
  for (int k = 1; k < d; k++) {
    c.slope[k] = edge ? sign[k - 1] / 2 : sign[k - 1];
    c.T[0][k] = mu * c.slope[k];
    if (convex) c.R[0][k] = c.T[0][k];
    if (edge) c.T[1][k] = c.R[1][k] = (k == 1 ? HALF_ROOT : -HALF_ROOT) * sign[k - 1];
  }
  return c;
}

void lcp_set_states(lcp_equations *e, const unsigned char *state) {
  e->size = 0;
  for (int i = 0; i < e->program->contact_count; i++) {
    e->on[i] = columns_of(e->program->dimension, e->program->mu[i], e->convex, state[i]);
    e->offset[i] = e->size;
    e->size += e->on[i].count;
  }
}

/* ---- the linear system ------------------------------------------------------------------------- */

void lcp_multiply(const lcp_equations *e, double delta, const double *in, double *out) {
  int size = e->program->shape.size;
  for (int i = 0; i < size; i++) out[i] = vector_dot(e->A + i * size, in, size) + delta * in[i];
}

void lcp_reduce(const lcp_equations *e, const double *rows, double *out) {
  int d = e->program->dimension;
  for (int i = 0; i < e->program->contact_count; i++)
    for (int k = 0; k < e->on[i].count; k++)
      out[e->offset[i] + k] = vector_dot_small(e->on[i].R[k], rows + i * d, d);
}

void lcp_reduce_impulse(const lcp_equations *e, const double *rows, double *out) {
  int d = e->program->dimension;
  for (int i = 0; i < e->program->contact_count; i++)
    for (int k = 0; k < e->on[i].count; k++)
      out[e->offset[i] + k] = vector_dot_small(e->on[i].T[k], rows + i * d, d);
}

void lcp_expand(const lcp_equations *e, const double *in, double *rows) {
  int d = e->program->dimension;
  for (int i = 0; i < e->program->contact_count; i++)
    for (int a = 0; a < d; a++) {
      rows[i * d + a] = 0;
      for (int k = 0; k < e->on[i].count; k++)
        rows[i * d + a] += e->on[i].R[k][a] * in[e->offset[i] + k];
    }
}

void lcp_expand_impulse(const lcp_equations *e, const double *in, double *rows) {
  int d = e->program->dimension;
  for (int i = 0; i < e->program->contact_count; i++)
    for (int a = 0; a < d; a++) {
      rows[i * d + a] = 0;
      for (int k = 0; k < e->on[i].count; k++)
        rows[i * d + a] += e->on[i].T[k][a] * in[e->offset[i] + k];
    }
}

/* R_i' (A + delta I)_ij T_j of two contacts */
static void place_block(lcp_equations *e, int i, int j) {
  int d = e->program->dimension, size = e->program->shape.size;
  for (int l = 0; l < e->on[j].count; l++) {
    double column[MAX_CONE_DIMENSION];
    const double *t = e->on[j].T[l];
    for (int a = 0; a < d; a++)
      column[a] = vector_dot_small(e->A + (i * d + a) * size + j * d, t, d) +
                  (i == j ? e->delta * t[a] : 0);
    for (int k = 0; k < e->on[i].count; k++)
      e->G[(e->offset[i] + k) * e->size + e->offset[j] + l] =
          vector_dot_small(e->on[i].R[k], column, d);
  }
}

general_inverse lcp_factor(lcp_equations *e, arena *memory) {
  for (int i = 0; i < e->program->contact_count; i++)
    for (int j = 0; j < e->program->contact_count; j++) place_block(e, i, j);
  return general_inverse_make(e->size, e->G, memory);
}

void lcp_solve_states(lcp_equations *e, const general_inverse *inverse) {
  lcp_reduce(e, e->b, e->y);
  for (int k = 0; k < e->size; k++) e->y[k] = -e->y[k];
  general_solve(inverse, e->y);
  lcp_expand_impulse(e, e->y, e->f);
  lcp_velocity(e);
}

void lcp_velocity(lcp_equations *e) {
  lcp_multiply(e, e->delta, e->f, e->s);
  for (int i = 0; i < e->program->shape.size; i++) e->s[i] += e->b[i];
}

/* ---- the natural map --------------------------------------------------------------------------- */

static int sign_of(double x) { return (x > 0) - (x < 0); }

static unsigned char slide_state(int first, int second) {
  return (unsigned char)(LCP_SLIDE + 3 * (first + 1) + second + 1);
}

/* The projection of t on |t_1| + |t_2| <= radius, which t is outside of. */
static unsigned char project_diamond(int d, double radius, const double *t, double *out) {
  double first = fabs(t[0]), second = d == 3 ? fabs(t[1]) : 0;
  int sign[2] = {sign_of(t[0]), d == 3 ? sign_of(t[1]) : 0};
  double off = (first + second - radius) / 2;
  if (radius > 0 && off < fmin(first, second)) {
    out[0] = sign[0] * (first - off);
    out[1] = sign[1] * (second - off);
    return slide_state(sign[0], sign[1]);
  }
  sign[first >= second] = 0;
  out[0] = sign[0] * radius;
  if (d == 3) out[1] = sign[1] * radius;
  return slide_state(sign[0], sign[1]);
}

unsigned char lcp_project(int d, double mu, const double *w, double *out) {
  for (int k = 0; k < d; k++) out[k] = 0;
  if (!(w[0] > 0)) return LCP_OPEN;
  out[0] = w[0];
  if (d == 1) return LCP_STICK;
  double radius = mu * w[0], size = fabs(w[1]) + (d == 3 ? fabs(w[2]) : 0);
  if (mu == 0 || size > radius) return project_diamond(d, radius, w + 1, out + 1);
  for (int k = 1; k < d; k++) out[k] = w[k];
  return LCP_STICK;
}

double lcp_opening(const lcp_equations *e, int contact) {
  int d = e->program->dimension;
  const double *s = e->s + contact * d;
  double most = 0;
  for (int k = 1; k < d && e->convex; k++) most = fmax(most, fabs(s[k]));
  return s[0] - e->program->mu[contact] * most;
}

double lcp_map(const lcp_equations *e, unsigned char *state) {
  int d = e->program->dimension;
  double worst = 0;
  for (int i = 0; i < e->program->contact_count; i++) {
    double w[MAX_CONE_DIMENSION], onto[MAX_CONE_DIMENSION], rho = e->scale.rho[i];
    w[0] = e->f[i * d] - rho * lcp_opening(e, i);
    for (int k = 1; k < d; k++) w[k] = e->f[i * d + k] - rho * e->s[i * d + k];
    state[i] = lcp_project(d, e->program->mu[i], w, onto);
    for (int k = 0; k < d; k++) {
      double off = fabs(e->f[i * d + k] - onto[k]) / (rho * e->scale.speeds[i]);
      if (!(off <= worst)) worst = off;
    }
  }
  return worst;
}
