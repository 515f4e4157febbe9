/* The minimiser of least norm, where minimisers are not unique.
 *
 * It is the limit of the solutions f(epsilon) of A + epsilon I. With f(epsilon) = f + epsilon f1 +
 * ..., the velocity of the regularised problem is s + epsilon sigma + ..., s = A f + b,
 * sigma = f + A f1. So for contacts where s vanishes it is sigma that decides about the state:
 * level two. On given faces, H y = -T'(A f0 + b) with singular H has the limit
 *
 *   y = H^+ (-T'(A f0 + b)),  f = T y + f0,  f1 = -T H^+ y
 *
 * if the curvature of faces with s_t = 0 (of order epsilon: |sigma_t| / radius) goes into the norm
 * instead of into H: the columns (0, n') are shortened by 1/sqrt(1 + curvature). Iterating faces
 * and solution is Newton's method for the limit; it converges quadratically. */
#include <math.h>
#include <string.h>

#include "contact/cone_active_set.h"
/* Ten times more or less of any of these changes the status of at most 3 of 20,000 random programs
 * (test_cone_robustness). */

/* Residual of level two at which a selection is found. */
static const double SELECTED = 1e-11;

/* Share of the tolerance that level one may take: a selection must solve the program itself first. */
static const double LEVEL_ONE = 0.01;

/* A residual of level two that falls by less than this has reached what rounding allows. */
static const double STAGNATES = 0.5;

/* A selection with a larger residual than this is not known to be that of least norm. */
static const double UNDECIDED = 1e-6;

/* On the path s + delta sigma stands for the velocity: below this, of the speed, it is sigma's. The
 * path ends at 2e-8, so that delta sigma is below it and velocities that do not vanish are above. */
static const double PATH_VELOCITY = 1e-6;

/* A contact is moved by the null space if the projection on it keeps this much of a unit vector; the
 * rest is rounding. */
static const double MOVES = 1e-6;

enum { MAX_SELECTIONS = 12 };

void cone_second_level(const cone_equations *e, const semidefinite *h, const double *f, double *y,
                       double *f1, double *sigma) {
  const cone_program *program = e->program;
  semidefinite_solve(h, y);
  for (int k = 0; k < e->size; k++) y[k] = -y[k];
  cone_expand(e, y, f1);
  envelope_multiply(&program->shape, program->A, f1, sigma);
  for (int k = 0; k < program->contact_count * program->dimension; k++) sigma[k] += f[k];
}

// ---- contacts at a border

// faces with all freedom that vanishing velocities leave; false if no contact is at a border
static bool widen_faces(const active_set *a, contact_face *faces, bool *border) {
  const cone_program *program = a->program;
  int d = program->dimension;
  bool any = false;
  for (int i = 0; i < program->contact_count; i++) {
    faces[i] = a->faces[i];
    border[i] = !active_set_is_strict(a, i);
    any = any || border[i];
    if (!border[i]) continue;
    const double *s = a->s + i * d;
    double threshold = cone_velocity_threshold(a->scale, i);
    bool slips = (d > 1 && fabs(s[1]) > threshold) || (d > 2 && fabs(s[2]) > threshold);
    bool rubs = d > 1 && program->mu[i] > 0;
    bool leaves = fabs(s[0]) > threshold;
    if (!leaves && !(slips && rubs))
      faces[i].state = rubs ? FREE_STICK : FREE_SLIDE;
    else if (!slips && program->lower[i] > 0 && rubs)
      faces[i].state = BOUND_STICK;
  }
  return any;
}

// is there a direction in the null space that moves this contact?
static bool is_movable(const cone_equations *e, const semidefinite *h, int i, double *y) {
  for (int k = e->offset[i]; k < e->offset[i + 1]; k++) {
    memset(y, 0, sizeof(double) * (size_t)e->size);
    y[k] = 1;
    semidefinite_null(h, y);
    if (y[k] > MOVES) return true;
  }
  return false;
}

typedef struct border_report {
  bool unique;  /* the solution is */
  bool decided; /* the contacts at a border are there by selection, and no other is so */
} border_report;

// A contact at a border is held there firmly only if minimisers move it. A sliding contact that
// minimisers move jumps when its mu changes. Large programs are not examined: a border counts as
// undecided
static border_report examine_border(active_set *a) {
  arena_mark mark = arena_save(a->scratch);
  int count = a->program->contact_count;
  contact_face *faces = ARENA_ARRAY(a->scratch, contact_face, count);
  bool *border = ARENA_ARRAY(a->scratch, bool, count);
  bool any = widen_faces(a, faces, border);
  cone_equations *e = &a->equations;
  cone_equations_set(e, faces);
  cone_equations_assemble(e);
  semidefinite h = cone_equations_pseudo_inverse(e, a->scratch);
  border_report report = {.unique = h.rank == e->size};
  bool large = e->size > SEMIDEFINITE_DENSE;
  report.decided = !any || !(report.unique || large);
  for (int i = 0; i < count && report.decided && !report.unique && !large; i++) {
    bool rubs = a->program->dimension > 1 && a->program->mu[i] > 0;
    bool slides = faces[i].state == FREE_SLIDE && !border[i] && rubs;
    if (border[i] || slides) report.decided = is_movable(e, &h, i, a->work) == border[i];
  }
  arena_restore(a->scratch, mark);
  return report;
}

bool active_set_accept_border(active_set *a) {
  if (examine_border(a).unique) {
    a->singular = false;
    a->degenerate = true;
    return true;
  }
  // the last step's curvature is that of the velocity before it; where none is left it has none
  for (int i = 0; i < a->program->contact_count; i++) {
    a->next[i] = a->faces[i];
    double speed = cone_tangent_length(a->program->dimension, a->s + i * a->program->dimension);
    if (speed <= cone_velocity_threshold(a->scale, i)) a->next[i].curvature = 0;
  }
  return active_set_select(a);
}

// ---- selection

// the face of a contact on two levels: where s is below `threshold`, sigma takes its place
static contact_face second_face(const active_set *a, int i, const double *sigma, double threshold,
                                double *projection) {
  int d = a->program->dimension;
  const double *f = a->f + i * d, *s = a->s + i * d;
  double mu = d == 1 ? 0 : a->program->mu[i], rho = a->scale->rho[i], w[MAX_CONE_DIMENSION];
  bool slips = cone_tangent_length(d, s) > threshold;
  bool leaves = fabs(s[0]) > threshold || (slips && mu > 0);
  w[0] = f[0] - (leaves ? rho * s[0] : sigma[0]);
  for (int k = 1; k < d; k++) w[k] = f[k] - (slips ? rho * s[k] : sigma[k]);

  // a normal velocity outweighs every sigma_t
  if (s[0] > threshold && !slips) w[0] = -1 - mu * cone_tangent_length(d, w);
  contact_face face = cone_project(d, mu, a->program->lower[i], slips ? rho : 1, w, projection);

  // curvature that vanishes with epsilon weighs the norm instead
  if (!slips) {
    face.weight = 1 + face.curvature;
    face.curvature = 0;
  }
  return face;
}

// next faces, velocities below `vanished` of the speed being zero; returns the residual of the
// selection
static double revise_selection(active_set *a, const double *sigma, double vanished) {
  const cone_program *program = a->program;
  int d = program->dimension;
  double residual = 0, magnitude = 1;
  a->changes = 0;
  for (int i = 0; i < program->contact_count; i++) {
    double projection[MAX_CONE_DIMENSION];
    double speed = a->scale->speeds[i];
    a->next[i] = second_face(a, i, sigma + i * d, vanished * speed, projection);
    a->changes += active_set_differs(program, i, &a->next[i], &a->faces[i]);
    active_set_measure(d, 1 / (a->scale->rho[i] * speed), a->f + i * d, projection, &residual,
                       &magnitude);
  }
  return residual / magnitude;
}

// f and sigma on a->faces; true if the equations are singular
static bool select_on_faces(active_set *a, double *f1, double *sigma, double *right) {
  cone_equations *e = &a->equations;
  cone_equations_set(e, a->faces);
  cone_equations_assemble(e);
  semidefinite h = cone_equations_pseudo_inverse(e, a->scratch);

  // y = H^+ right, refined once
  cone_right_side(e, a->faces, right, a->work);
  memcpy(a->y, right, sizeof(double) * (size_t)e->size);
  semidefinite_solve(&h, a->y);
  double *correction = a->work;
  envelope_multiply(&e->shape, e->H, a->y, correction);
  for (int k = 0; k < e->size; k++) correction[k] = right[k] - correction[k];
  semidefinite_solve(&h, correction);
  for (int k = 0; k < e->size; k++) a->y[k] += correction[k];

  cone_expand(e, a->y, a->f);
  cone_add_fixed(a->program, a->faces, a->f);
  cone_second_level(e, &h, a->f, a->y, f1, sigma);
  a->steps++;
  return h.rank < e->size;
}

// the best point so far, of those that solve level one
typedef struct selection {
  double second;   /* residual at level two */
  double residual; /* at level one */
  double *f;
  contact_face *faces;
  bool singular, changes;
} selection;

static void keep_selection(const active_set *a, double second, selection *best) {
  best->second = second;
  best->residual = a->residual;
  best->singular = a->singular;
  best->changes = a->changes > 0;
  memcpy(best->f, a->f, sizeof(double) * (size_t)a->program->shape.size);
  memcpy(best->faces, a->faces, sizeof(contact_face) * (size_t)a->program->contact_count);
}

static void take_selection(active_set *a, const selection *best) {
  memcpy(a->f, best->f, sizeof(double) * (size_t)a->program->shape.size);
  memcpy(a->faces, best->faces, sizeof(contact_face) * (size_t)a->program->contact_count);
  cone_velocity(a->program, a->f, a->s);
  a->residual = best->residual;
  a->singular = best->singular;
  a->degenerate = best->changes || best->second > UNDECIDED || !examine_border(a).decided;
}

bool active_set_select(active_set *a) {
  int count = a->program->contact_count, unknowns = count * a->program->dimension;
  arena_mark mark = arena_save(a->scratch);
  double *f1 = arena_doubles(a->scratch, unknowns), *sigma = arena_doubles(a->scratch, unknowns);
  double *right = arena_doubles(a->scratch, unknowns);
  selection best = {.second = INFINITY,
                    .f = arena_doubles(a->scratch, unknowns),
                    .faces = ARENA_ARRAY(a->scratch, contact_face, count)};

  // on the path the velocity is s + delta sigma
  if (a->delta > 0) {
    for (int k = 0; k < unknowns; k++) sigma[k] = a->s[k] / a->delta;
    revise_selection(a, sigma, PATH_VELOCITY);
  }
  a->delta = 0;
  a->balanced = false;
  for (int k = 0; k < MAX_SELECTIONS && best.second > SELECTED; k++) {
    arena_mark step = arena_save(a->scratch);
    memcpy(a->faces, a->next, sizeof(contact_face) * (size_t)count);
    a->singular = select_on_faces(a, f1, sigma, right);
    arena_restore(a->scratch, step);
    active_set_revise(a);
    bool solved = a->residual <= LEVEL_ONE * a->tolerance;
    double second = revise_selection(a, sigma, CONE_VANISHED);
    bool stagnates = solved && a->changes == 0 && second > STAGNATES * best.second;
    if (solved && second < best.second) keep_selection(a, second, &best);
    if (stagnates) break;
  }
  if (best.second < INFINITY) take_selection(a, &best);
  arena_restore(a->scratch, mark);
  return best.second < INFINITY;
}
