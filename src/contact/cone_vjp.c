/* Derivative of the solution of a cone program.
 *
 * On the faces of a solution (cone_equations.h) f = T y + f0 and H y = -T'(A f0 + b). A change of
 * the inputs moves f by df = T dy + d, where d is its explicit change (of f0 and of the slope of
 * the mantle), and differentiating T's = 0 along the face gives
 *
 *   H dy = -T'(dA f + db + A d) - (n.s_t) dmu / sqrt(1 + mu^2)  [rows (1, mu n) of FREE_SLIDE]
 *
 * so that with H u = T'f_bar, p = T u:
 *
 *   b_bar = -p,   A_bar = -1/2 (p f' + f p'),   (mu, lower)_bar = f_bar.d - p.(A d) - ...
 *
 * Singular H: the selection is the limit of A + epsilon I. u = u_-1 / epsilon + u_0 + ..., with
 * u_-1 the projection of T'f_bar on the null space and u_0 = H^+ T'f_bar; f = f + epsilon f1 + ...
 * The terms of order 1 / epsilon cancel for every change that keeps the problem bounded (A of the
 * same rank, b in its range). What the product of orders -1 and 1 leaves is the second pair,
 * p2 = T u_-1 and f2 = -f1. */
#include <math.h>
#include <string.h>

#include "base/semidefinite.h"
#include "contact/cone_active_set.h"
#include "contact/cone_interior.h"
#include "contact/cone_internal.h"

typedef struct cone_adjoint {
  const cone_program *program;
  const cone_solution *solution;
  const double *f_bar;
  double *p, *mu_bar, *lower_bar, *p2, *f2;
  double *s;      /* [C] A f + b */
  double *Ap;     /* [C] A p */
  double *u, *u2; /* [size] */
  double *sigma;  /* [C] */
  contact_face *faces;
  cone_equations equations;
} cone_adjoint;

// u = H^-1 T'f_bar
static void solve_regular(cone_adjoint *adjoint) {
  cone_equations *e = &adjoint->equations;
  envelope_factor(&e->shape, e->H, 1e-14);
  cone_reduce(e, adjoint->f_bar, adjoint->u);
  envelope_solve(&e->shape, e->H, adjoint->u);
}

// sliding contacts whose velocity vanishes: their curvature is of order epsilon, a weight
static bool set_weights(cone_adjoint *adjoint, double threshold) {
  const cone_program *program = adjoint->program;
  bool weighted = false;
  if (program->dimension < 3) return false;
  for (int i = 0; i < program->contact_count; i++) {
    contact_face *face = &adjoint->faces[i];
    bool free = face->state == FREE_SLIDE;
    double radius = program->mu[i] * (free ? adjoint->solution->f[3 * i] : program->lower[i]);
    const double *s = adjoint->s + 3 * i, *sigma = adjoint->sigma + 3 * i;
    if ((!free && face->state != BOUND_SLIDE) || !(radius > 0)) continue;
    if (hypot(s[1], s[2]) > threshold) continue;
    face->curvature = 0;
    face->weight = 1 + fmax(-(face->n[0] * sigma[1] + face->n[1] * sigma[2]), 0) / radius;
    weighted = true;
  }
  return weighted;
}

static void solve_singular(cone_adjoint *adjoint, arena *scratch) {
  cone_equations *e = &adjoint->equations;
  cone_scale scale = cone_scale_make(adjoint->program, scratch);
  double threshold = cone_rank_threshold(&scale);
  semidefinite h = semidefinite_make(&e->shape, e->H, threshold, scratch);
  double *f1 = adjoint->f2;
  cone_reduce(e, adjoint->solution->f, adjoint->u);
  cone_second_level(e, &h, adjoint->solution->f, adjoint->u, f1, adjoint->sigma);
  if (set_weights(adjoint, cone_velocity_threshold(&scale))) {
    cone_equations_set(e, adjoint->faces);
    cone_equations_assemble(e);
    h = semidefinite_make(&e->shape, e->H, threshold, scratch);
    cone_reduce(e, adjoint->solution->f, adjoint->u);
    cone_second_level(e, &h, adjoint->solution->f, adjoint->u, f1, adjoint->sigma);
  }

  // u_0 = H^+ T'f_bar, u_-1 = N T'f_bar
  cone_reduce(e, adjoint->f_bar, adjoint->u);
  memcpy(adjoint->u2, adjoint->u, sizeof(double) * (size_t)e->size);
  semidefinite_solve(&h, adjoint->u);
  semidefinite_null(&h, adjoint->u2);
  cone_expand(e, adjoint->u2, adjoint->p2);
  for (int k = 0; k < adjoint->program->contact_count * adjoint->program->dimension; k++)
    adjoint->f2[k] = -f1[k];
}

// cotangents of mu and lower of one contact
static void property_cotangents(cone_adjoint *adjoint, int i, bool singular) {
  const cone_program *program = adjoint->program;
  int d = program->dimension, at = i * d;
  const contact_face *face = &adjoint->faces[i];
  bool free = face->state == FREE_SLIDE;
  adjoint->mu_bar[i] = adjoint->lower_bar[i] = 0;
  if (face->state == FREE_STICK) return;

  // f_bar - A p, along the explicit changes d = (0, f_n n) by mu and (1, mu n) by lower
  double normal = adjoint->f_bar[at] - adjoint->Ap[at], along = 0, slope = 0, slope2 = 0;
  for (int k = 1; k < d; k++) {
    along += face->n[k - 1] * (adjoint->f_bar[at + k] - adjoint->Ap[at + k]);
    slope += face->n[k - 1] * adjoint->s[at + k];
    if (singular)
      slope2 += face->n[k - 1] * (adjoint->sigma[at + k] + adjoint->solution->f[at + k]);
  }
  if (!free) adjoint->lower_bar[i] = normal;
  if (face->state == BOUND_STICK || d == 1) return;
  double mu = program->mu[i];
  if (!free) adjoint->lower_bar[i] += mu * along;
  adjoint->mu_bar[i] = (free ? adjoint->solution->f[at] : program->lower[i]) * along;
  if (free) {
    int k = adjoint->equations.offset[i];
    double length = sqrt(1 + mu * mu);
    adjoint->mu_bar[i] -= adjoint->u[k] * slope / length;
    if (singular) adjoint->mu_bar[i] -= adjoint->u2[k] * slope2 / length;
  }
}

static void faces_vjp(cone_adjoint *adjoint, bool *has_second, arena *scratch) {
  const cone_program *program = adjoint->program;
  const cone_solution *solution = adjoint->solution;
  int d = program->dimension, count = program->contact_count;
  cone_velocity(program, solution->f, adjoint->s);
  for (int i = 0; i < count; i++)
    adjoint->faces[i] =
        cone_face(d, program->mu[i], program->lower[i], (contact_state)solution->state[i],
                  solution->f + i * d, adjoint->s + i * d);
  cone_equations_set(&adjoint->equations, adjoint->faces);
  cone_equations_assemble(&adjoint->equations);
  *has_second = solution->info.singular;
  if (*has_second)
    solve_singular(adjoint, scratch);
  else
    solve_regular(adjoint);
  cone_expand(&adjoint->equations, adjoint->u, adjoint->p);
  envelope_multiply(&program->shape, program->A, adjoint->p, adjoint->Ap);
  for (int i = 0; i < count; i++) property_cotangents(adjoint, i, *has_second);
}

// ---- interior points: H = Q + D, with f = S g

// g, z of one contact from f and the duals; returns w / (g_n - lower)
static double interior_point(const cone_program *program, const cone_solution *solution, int i,
                             int size, bool bounded, double *g, double *z) {
  int d = program->dimension;
  for (int k = 0; k < size; k++) {
    g[k] = solution->f[i * d + k] / (k == 0 ? 1 : program->mu[i]);
    z[k] = solution->dual[i * d + k];
  }
  double room = g[0] - program->lower[i];
  room = fmax(room, 1e-16 * g[0] + 1e-300);
  return bounded ? solution->dual[program->contact_count * d + i] / room : 0;
}

static void add_hessian(cone_equations *e, int i, double delta, double bound, const double *g,
                        const double *z) {
  int at = e->offset[i], size = e->offset[i + 1] - at;
  double D[MAX_CONE_DIMENSION * MAX_CONE_DIMENSION];
  cone_scaling scaling = cone_scaling_make(size, g, z);
  cone_scaling_hessian(size, &scaling, D);
  D[0] += bound;
  for (int a = 0; a < size; a++) {
    double entry = e->T[9 * i + 4 * a];
    D[a * size + a] += delta * entry * entry;
    for (int b = 0; b <= a; b++) e->H[envelope_at(&e->shape, at + a, at + b)] += D[a * size + b];
  }
}

static void interior_vjp(cone_adjoint *adjoint, double smoothing, arena *scratch) {
  const cone_program *program = adjoint->program;
  const cone_solution *solution = adjoint->solution;
  cone_equations *e = &adjoint->equations;
  int d = program->dimension, count = program->contact_count;
  double delta = cone_interior_delta(smoothing) * cone_scale_make(program, scratch).stiffness;
  cone_interior_equations(e, adjoint->faces);
  for (int i = 0; i < count; i++) {
    double g[MAX_CONE_DIMENSION], z[MAX_CONE_DIMENSION];
    bool bounded = smoothing > 0 || program->lower[i] > 0;
    adjoint->lower_bar[i] =
        interior_point(program, solution, i, e->offset[i + 1] - e->offset[i], bounded, g, z);
    add_hessian(e, i, delta, adjoint->lower_bar[i], g, z);
  }
  solve_regular(adjoint);
  cone_expand(e, adjoint->u, adjoint->p);

  // S depends on mu in f = S g, q = S b and Q = S (A + delta) S
  cone_velocity(program, solution->f, adjoint->s);
  envelope_multiply(&program->shape, program->A, adjoint->p, adjoint->Ap);
  for (int i = 0; i < count; i++) {
    int at = e->offset[i];
    adjoint->lower_bar[i] *= adjoint->u[at];
    adjoint->mu_bar[i] = 0;
    for (int k = 1; k < e->offset[i + 1] - at; k++) {
      int row = i * d + k;
      double g = solution->f[row] / program->mu[i];
      adjoint->mu_bar[i] += g * (adjoint->f_bar[row] - adjoint->Ap[row] - delta * adjoint->p[row]) -
                            adjoint->u[at + k] * (adjoint->s[row] + delta * solution->f[row]);
    }
  }
}

void cone_solve_vjp(const cone_program *given, const carom_cone_options *options,
                    const cone_solution *solution, const double *f_bar, cone_cotangents *bars,
                    arena *scratch) {
  int count = given->contact_count, unknowns = count * given->dimension;
  size_t bytes = sizeof(double) * (size_t)unknowns;
  bars->has_second = false;
  memset(bars->p2, 0, bytes);
  memset(bars->f2, 0, bytes);
  if (count == 0 || solution->info.status == CAROM_CONE_INVALID) {
    memset(bars->p, 0, bytes);
    memset(bars->mu, 0, sizeof(double) * (size_t)count);
    memset(bars->lower, 0, sizeof(double) * (size_t)count);
    return;
  }
  arena_mark mark = arena_save(scratch);
  cone_program program = cone_program_clamped(given, scratch);
  double *arrays = arena_doubles(scratch, 5 * unknowns);
  cone_adjoint adjoint = {
      .program = &program,
      .solution = solution,
      .f_bar = f_bar,
      .p = bars->p,
      .mu_bar = bars->mu,
      .lower_bar = bars->lower,
      .p2 = bars->p2,
      .f2 = bars->f2,
      .s = arrays,
      .Ap = arrays + unknowns,
      .u = arrays + 2 * unknowns,
      .u2 = arrays + 3 * unknowns,
      .sigma = arrays + 4 * unknowns,
      .faces = ARENA_ARRAY(scratch, contact_face, count),
      .equations = cone_equations_make(&program, scratch),
  };
  if (solution->state[0] == INTERIOR)
    interior_vjp(&adjoint, options->smoothing, scratch);
  else
    faces_vjp(&adjoint, &bars->has_second, scratch);
  for (int i = 0; i < count; i++)
    if (given->lower[i] < 0) bars->lower[i] = 0;
  arena_restore(scratch, mark);
}
