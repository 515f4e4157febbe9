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
 * p = T u_-1 and f = -f1.
 *
 * The factor of H is made here, not taken from the solve: its last Newton step factorised H on the
 * faces of the step before, of which n and curvature are only half as many digits right. */
#include <math.h>
#include <string.h>

#include "base/semidefinite.h"
#include "contact/cone_active_set.h"
#include "contact/cone_interior.h"
#include "contact/cone_internal.h"
#include "contact/cone_range.h"

/* Room below a bound that is smaller than rounding in g_n is taken for rounding: the bound is met, and
 * what divides by the room stays finite. */
static const double LEAST_ROOM = 1e-16, TINY = 1e-300;

struct cone_adjoint {
  cone_program program; /* bounds below zero set to zero */
  const cone_program *given;
  const cone_solution *solution;
  bool void_input; /* nothing to differentiate: no contact, or an invalid program */
  bool interior;   /* the point of a central path */
  bool singular;   /* a least-norm selection */
  cone_equations equations;
  contact_face *faces;
  double *s;          /* [C] A f + b */
  semidefinite H;     /* singular; else equations.H is the factor */
  double *f1, *sigma; /* [C] singular: see cone_second_level */
  double delta;       /* interior: of A + delta I */
  double *slope;      /* [contact_count] interior: w / (g_n - lower) */
  double *u, *u2;     /* [size] of the last application */
  double *Ap;         /* [C] likewise */
  cone_range range;   /* of A, where b was projected on it */
  double *image;      /* [C] then: A^+ b */
};

/* ---- faces: H = T'AT + diag(curvature) */

// sliding contacts whose velocity vanishes: their curvature is of order epsilon, a weight
static bool set_weights(cone_adjoint *a, const cone_scale *scale) {
  const cone_program *program = &a->program;
  bool weighted = false;
  if (program->dimension < 3) return false;
  for (int i = 0; i < program->contact_count; i++) {
    contact_face *face = &a->faces[i];
    bool free = face->state == FREE_SLIDE;
    double radius = program->mu[i] * (free ? a->solution->f[3 * i] : program->lower[i]);
    const double *s = a->s + 3 * i, *sigma = a->sigma + 3 * i;
    if ((!free && face->state != BOUND_SLIDE) || !(radius > 0)) continue;
    if (cone_tangent_length(3, s) > cone_velocity_threshold(scale, i)) continue;
    face->curvature = 0;
    face->weight = 1 + fmax(-(face->n[0] * sigma[1] + face->n[1] * sigma[2]), 0) / radius;
    weighted = true;
  }
  return weighted;
}

// H^+ on the adjoint's faces, f1 and sigma there
static void factor_singular(cone_adjoint *a, arena *memory) {
  cone_equations *e = &a->equations;
  cone_equations_set(e, a->faces);
  cone_equations_assemble(e);
  a->H = cone_equations_pseudo_inverse(e, memory);
  cone_reduce(e, a->solution->f, a->u);
  cone_second_level(e, &a->H, a->solution->f, a->u, a->f1, a->sigma);
}

static void prepare_faces(cone_adjoint *a, arena *memory) {
  const cone_program *program = &a->program;
  const cone_solution *solution = a->solution;
  int d = program->dimension;
  for (int i = 0; i < program->contact_count; i++)
    a->faces[i] = cone_face(d, program->mu[i], program->lower[i], (contact_state)solution->state[i],
                            solution->f + i * d, a->s + i * d);
  if (a->singular) {
    cone_scale scale = cone_scale_make(program, memory);
    factor_singular(a, memory);
    if (set_weights(a, &scale)) factor_singular(a, memory);
  } else {
    cone_equations_set(&a->equations, a->faces);
    cone_equations_assemble(&a->equations);
    envelope_factor(&a->equations.shape, a->equations.H, CONE_PIVOT_FLOOR);
  }
}

// cotangents of mu and lower of one contact
static void property_cotangents(const cone_adjoint *a, int i, const double *f_bar,
                                cone_cotangents *bars) {
  const cone_program *program = &a->program;
  int d = program->dimension, at = i * d;
  const contact_face *face = &a->faces[i];
  bool free = face->state == FREE_SLIDE;
  bars->mu[i] = bars->lower[i] = 0;
  if (face->state == FREE_STICK) return;

  // f_bar - A p, along the explicit changes d = (0, f_n n) by mu and (1, mu n) by lower
  double normal = f_bar[at] - a->Ap[at], along = 0, slope = 0, slope2 = 0;
  for (int k = 1; k < d; k++) {
    along += face->n[k - 1] * (f_bar[at + k] - a->Ap[at + k]);
    slope += face->n[k - 1] * a->s[at + k];
    if (a->singular) slope2 += face->n[k - 1] * (a->sigma[at + k] + a->solution->f[at + k]);
  }
  if (!free) bars->lower[i] = normal;
  if (face->state == BOUND_STICK || d == 1) return;
  double mu = program->mu[i];
  if (!free) bars->lower[i] += mu * along;
  bars->mu[i] = (free ? a->solution->f[at] : program->lower[i]) * along;
  if (free) {
    // the turn of the column (1, mu n) / sqrt(1 + mu^2)
    int k = a->equations.offset[i];
    double length = sqrt(1 + mu * mu);
    bars->mu[i] -= a->u[k] * slope / length;
    if (a->singular) bars->mu[i] -= a->u2[k] * slope2 / length;
  }
}

static void apply_faces(cone_adjoint *a, const double *f_bar, cone_cotangents *bars) {
  const cone_equations *e = &a->equations;
  cone_reduce(e, f_bar, a->u);
  if (a->singular) {
    // u_0 = H^+ T'f_bar, u_-1 = N T'f_bar; the pair is T u_-1, -f1
    memcpy(a->u2, a->u, sizeof(double) * (size_t)e->size);
    semidefinite_solve(&a->H, a->u);
    semidefinite_null(&a->H, a->u2);
    cone_pair *pair = &bars->pair[bars->pair_count++];
    cone_expand(e, a->u2, pair->p);
    for (int k = 0; k < a->program.shape.size; k++) pair->f[k] = -a->f1[k];
  } else {
    // u = H^-1 T'f_bar
    envelope_solve(&e->shape, e->H, a->u);
  }
  cone_expand(e, a->u, bars->p);
  envelope_multiply(&a->program.shape, a->program.A, bars->p, a->Ap);
  for (int i = 0; i < a->program.contact_count; i++) property_cotangents(a, i, f_bar, bars);
}

/* ---- interior points: H = Q + D, with f = S g */

// g, z of one contact from f and the duals; returns w / (g_n - lower)
static double interior_point(const cone_adjoint *a, int i, double *g, double *z) {
  const cone_program *program = &a->program;
  const cone_solution *solution = a->solution;
  int d = program->dimension, size = a->equations.offset[i + 1] - a->equations.offset[i];
  for (int k = 0; k < size; k++) {
    g[k] = solution->f[i * d + k] / (k == 0 ? 1 : program->mu[i]);
    z[k] = solution->dual[i * d + k];
  }
  double room = fmax(g[0] - program->lower[i], LEAST_ROOM * g[0] + TINY);
  return solution->dual[program->contact_count * d + i] / room;
}

// H += W^-2 + delta SS + (w / (g_n - lower)) e_n e_n' on one contact
static void add_hessian(cone_adjoint *a, int i, const double *g, const double *z) {
  cone_equations *e = &a->equations;
  int at = e->offset[i], size = e->offset[i + 1] - at;
  double D[MAX_CONE_DIMENSION * MAX_CONE_DIMENSION];
  cone_scaling scaling = cone_scaling_make(size, g, z);
  cone_scaling_hessian(size, &scaling, D);
  D[0] += a->slope[i];
  for (int k = 0; k < size; k++) {
    double entry = e->T[9 * i + 4 * k];
    D[k * size + k] += a->delta * entry * entry;
    for (int l = 0; l <= k; l++) e->H[envelope_at(&e->shape, at + k, at + l)] += D[k * size + l];
  }
}

static void prepare_interior(cone_adjoint *a, double smoothing, arena *memory) {
  cone_equations *e = &a->equations;
  a->delta = cone_interior_delta(smoothing) * cone_scale_make(&a->program, memory).stiffness;
  a->slope = arena_doubles(memory, a->program.contact_count);
  cone_interior_equations(e, a->faces);
  for (int i = 0; i < a->program.contact_count; i++) {
    double g[MAX_CONE_DIMENSION], z[MAX_CONE_DIMENSION];
    bool bounded = smoothing > 0 || a->program.lower[i] > 0;
    a->slope[i] = interior_point(a, i, g, z);
    if (!bounded) a->slope[i] = 0;
    add_hessian(a, i, g, z);
  }
  envelope_factor(&e->shape, e->H, CONE_PIVOT_FLOOR);
}

static void apply_interior(cone_adjoint *a, const double *f_bar, cone_cotangents *bars) {
  const cone_equations *e = &a->equations;
  int d = a->program.dimension;
  cone_reduce(e, f_bar, a->u);
  envelope_solve(&e->shape, e->H, a->u);
  cone_expand(e, a->u, bars->p);
  envelope_multiply(&a->program.shape, a->program.A, bars->p, a->Ap);

  // S depends on mu in f = S g, q = S b and Q = S (A + delta) S
  for (int i = 0; i < a->program.contact_count; i++) {
    int at = e->offset[i];
    bars->lower[i] = a->slope[i] * a->u[at];
    bars->mu[i] = 0;
    for (int k = 1; k < e->offset[i + 1] - at; k++) {
      int row = i * d + k;
      double g = a->solution->f[row] / a->program.mu[i];
      bars->mu[i] += g * (f_bar[row] - a->Ap[row] - a->delta * bars->p[row]) -
                     a->u[at + k] * (a->s[row] + a->delta * a->solution->f[row]);
    }
  }
}

/* ---- b projected on the range of A */

// the program that was solved
static void prepare_range(cone_adjoint *a, arena *memory) {
  cone_scale scale = cone_scale_make(&a->program, memory);
  a->range = cone_range_make(&a->program, &scale, memory);
  a->image = arena_doubles(memory, a->program.shape.size);
  memcpy(a->image, a->program.b, sizeof(double) * (size_t)a->program.shape.size);
  semidefinite_solve(&a->range.A, a->image);
  a->program.b = a->range.b;
}

/* P b took the place of b, P = A A^+, so that -p.d(P b) = -p.P db - p.dP b with
 *
 *   dP = (I - P) dA A^+ + A^+ dA (I - P)    at constant rank.
 *
 * With p_N = (I - P) p, b_N = (I - P) b: b_bar = -P p, A_bar takes the pairs -(p_N, A^+ b) and
 * -(A^+ p, b_N). That A_bar = -1/2 (p f' + f p') is to be made with P p too moves p_N from it into the
 * first pair. */
static void range_vjp(cone_adjoint *a, cone_cotangents *bars) {
  int size = a->program.shape.size;
  size_t bytes = sizeof(double) * (size_t)size;
  cone_pair *first = &bars->pair[bars->pair_count], *second = first + 1;
  bars->pair_count += 2;
  memcpy(second->p, bars->p, bytes);
  semidefinite_solve(&a->range.A, second->p);
  memcpy(second->f, a->range.outside, bytes);
  memcpy(first->p, bars->p, bytes);
  semidefinite_null(&a->range.A, first->p);
  for (int k = 0; k < size; k++) {
    bars->p[k] -= first->p[k];
    first->p[k] = -first->p[k];
    first->f[k] = a->solution->f[k] + a->image[k];
    second->p[k] = -second->p[k];
  }
}

/* ---- both */

cone_cotangents cone_cotangents_make(int count, int d, arena *memory) {
  int size = count * d;
  double *numbers = arena_zeros(memory, (1 + 2 * CONE_PAIRS) * size + 2 * count);
  cone_cotangents bars = {.p = numbers, .mu = numbers + (1 + 2 * CONE_PAIRS) * size};
  bars.lower = bars.mu + count;
  for (int k = 0; k < CONE_PAIRS; k++)
    bars.pair[k] = (cone_pair){numbers + (1 + 2 * k) * size, numbers + (2 + 2 * k) * size};
  return bars;
}

cone_adjoint *cone_adjoint_make(const cone_program *given, const carom_cone_options *options,
                                const cone_solution *solution, arena *memory) {
  int count = given->contact_count, unknowns = count * given->dimension;
  cone_adjoint *a = arena_zeroed(memory, sizeof *a);
  a->given = given;
  a->solution = solution;
  a->void_input = count == 0 || solution->info.status == CAROM_CONE_INVALID;
  if (a->void_input) return a;
  a->program = cone_program_clamped(given, memory);
  a->interior = solution->state[0] == INTERIOR;
  a->singular = !a->interior && solution->info.singular;
  a->equations = cone_equations_make(&a->program, memory);
  a->faces = ARENA_ARRAY(memory, contact_face, count);
  double *numbers = arena_doubles(memory, 6 * unknowns);
  a->s = numbers;
  a->f1 = numbers + unknowns;
  a->sigma = numbers + 2 * unknowns;
  a->u = numbers + 3 * unknowns;
  a->u2 = numbers + 4 * unknowns;
  a->Ap = numbers + 5 * unknowns;
  if (solution->info.projected) prepare_range(a, memory);
  cone_velocity(&a->program, solution->f, a->s);
  if (a->interior)
    prepare_interior(a, options->smoothing, memory);
  else
    prepare_faces(a, memory);
  return a;
}

void cone_adjoint_apply(cone_adjoint *a, const double *f_bar, cone_cotangents *bars) {
  int count = a->given->contact_count;
  size_t bytes = sizeof(double) * (size_t)(count * a->given->dimension);
  bars->pair_count = 0;
  for (int k = 0; k < CONE_PAIRS; k++) {
    memset(bars->pair[k].p, 0, bytes);
    memset(bars->pair[k].f, 0, bytes);
  }
  if (a->void_input) {
    memset(bars->p, 0, bytes);
    memset(bars->mu, 0, sizeof(double) * (size_t)count);
    memset(bars->lower, 0, sizeof(double) * (size_t)count);
    return;
  }
  if (a->interior)
    apply_interior(a, f_bar, bars);
  else
    apply_faces(a, f_bar, bars);
  if (a->image != NULL) range_vjp(a, bars);
  for (int i = 0; i < count; i++)
    if (a->given->lower[i] < 0) bars->lower[i] = 0;
}

void cone_solve_vjp(const cone_program *program, const carom_cone_options *options,
                    const cone_solution *solution, const double *f_bar, cone_cotangents *bars,
                    arena *scratch) {
  arena_mark mark = arena_save(scratch);
  cone_adjoint_apply(cone_adjoint_make(program, options, solution, scratch), f_bar, bars);
  arena_restore(scratch, mark);
}
