#include "contact/cone_active_set.h"

#include <math.h>
#include <string.h>

#include "base/semidefinite.h"

static const double SINGULAR_PIVOT = 1e-11;    // pivot ratio below which the factor is not trusted
static const double DELTA = 1e-9;              // regulariser, of the mean diagonal entry
static const double ROUNDING = 1e-13;          // residual of an exact solution, of its magnitude
static const double SETTLED = 1e-7;            // regularised residual at which faces are settled
static const double MARGIN = 1e-9;             // strict complementarity, in units of the speed
enum { MAX_SELECTIONS = 12 };

active_set active_set_make(const cone_program *program, const cone_scale *scale, double tolerance,
                           arena *scratch) {
  int count = program->contact_count, unknowns = count * program->dimension;
  return (active_set){
      .program = program,
      .scale = scale,
      .tolerance = tolerance,
      .equations = cone_equations_make(program, scratch),
      .faces = ARENA_ARRAY(scratch, contact_face, count),
      .next = ARENA_ARRAY(scratch, contact_face, count),
      .f = arena_zeros(scratch, unknowns),
      .s = arena_doubles(scratch, unknowns),
      .y = arena_doubles(scratch, unknowns),
      .work = arena_doubles(scratch, 2 * unknowns),
      .scratch = scratch,
  };
}

// |f - P| and |f| of one contact, as velocities
static void measure(int d, double unit, const double *f, const double *projection,
                    double *residual, double *magnitude) {
  for (int k = 0; k < d; k++) {
    double difference = fabs(f[k] - projection[k]) * unit, size = fabs(f[k]) * unit;
    if (!(difference <= *residual)) *residual = difference;
    if (!(size <= *magnitude)) *magnitude = size;
  }
}

// velocities, residual and the next faces at f
static void revise(active_set *a) {
  const cone_program *program = a->program;
  int d = program->dimension;
  cone_velocity(program, a->f, a->s);
  if (a->delta > 0)
    for (int k = 0; k < program->contact_count * d; k++) a->s[k] += a->delta * a->f[k];
  a->residual = 0;
  a->magnitude = 1;
  a->same_faces = true;
  for (int i = 0; i < program->contact_count; i++) {
    double rho = a->scale->rho[i], w[MAX_CONE_DIMENSION], projection[MAX_CONE_DIMENSION];
    const double *f = a->f + i * d, *s = a->s + i * d;
    for (int k = 0; k < d; k++) w[k] = f[k] - rho * s[k];
    a->next[i] = cone_project(d, program->mu[i], program->lower[i], rho, w, projection);
    if (a->next[i].state != a->faces[i].state) a->same_faces = false;
    measure(d, 1 / (rho * a->scale->speed), f, projection, &a->residual, &a->magnitude);
  }
}

// solves the equations of a->faces; false if they are singular
static bool newton_step(active_set *a) {
  cone_equations *e = &a->equations;
  cone_equations_set(e, a->faces);
  cone_equations_assemble(e);
  if (a->delta > 0)
    for (int k = 0; k < e->size; k++) e->H[e->start[k + 1] - 1] += a->delta;
  double ratio = envelope_factor(&e->shape, e->H, 1e-14);
  if (a->delta == 0 && e->size > 0 && ratio < SINGULAR_PIVOT) return false;
  cone_right_side(e, a->faces, a->y, a->work);
  envelope_solve(&e->shape, e->H, a->y);
  cone_expand(e, a->y, a->f);
  cone_add_fixed(a->program, a->faces, a->f);
  a->steps++;
  return true;
}

static double tangential_size(int d, const double *x) {
  return d == 1 ? 0 : d == 2 ? fabs(x[1]) : sqrt(x[1] * x[1] + x[2] * x[2]);
}

// how far a contact is from another state, as a velocity
static double contact_margin(int d, double mu, double lower, contact_state state, double rho,
                             const double *f, const double *s) {
  if (d == 1) mu = 0;
  double above = (f[0] - lower) / rho, speed = tangential_size(d, s);
  double inside = (mu * f[0] - tangential_size(d, f)) / rho;
  double held = s[0] - mu * speed;
  switch (state) {
    case FREE_STICK: return fmin(inside, above);
    case FREE_SLIDE: return mu > 0 ? fmin(speed, above) : above;
    case BOUND_STICK: return fmin(inside, s[0]);
    default: return mu * lower > 0 ? fmin(speed, held) : held;
  }
}

static bool has_margin(const active_set *a) {
  const cone_program *program = a->program;
  int d = program->dimension;
  for (int i = 0; i < program->contact_count; i++) {
    double margin = contact_margin(d, program->mu[i], program->lower[i], a->faces[i].state,
                                   a->scale->rho[i], a->f + i * d, a->s + i * d);
    if (!(margin > MARGIN * a->scale->speed)) return false;
  }
  return true;
}

// ---- level two: the least-norm solution of singular equations

double cone_rank_threshold(const cone_scale *scale) { return SINGULAR_PIVOT * scale->stiffness; }

void cone_second_level(const cone_equations *e, const semidefinite *h, const double *f, double *f1,
                       double *sigma, double *y) {
  // T'(A f1 + f) + curvature = 0
  cone_reduce(e, f, y);
  semidefinite_solve(h, y);
  for (int k = 0; k < e->size; k++) y[k] = -y[k];
  cone_expand(e, y, f1);
  const cone_program *program = e->program;
  envelope_multiply(&program->shape, program->A, f1, sigma);
  for (int k = 0; k < program->contact_count * program->dimension; k++) sigma[k] += f[k];
}

contact_face cone_second_face(const cone_program *program, const cone_scale *scale, int contact,
                              const double *f, const double *s, const double *sigma,
                              double *projection) {
  int d = program->dimension;
  double mu = d == 1 ? 0 : program->mu[contact], rho = scale->rho[contact];
  double threshold = 0.1 * MARGIN * scale->speed, w[MAX_CONE_DIMENSION];
  bool slips = tangential_size(d, s) > threshold;
  bool leaves = fabs(s[0]) > threshold || (slips && mu > 0);
  w[0] = f[0] - (leaves ? rho * s[0] : sigma[0]);
  for (int k = 1; k < d; k++) w[k] = f[k] - (slips ? rho * s[k] : sigma[k]);
  contact_face face = cone_project(d, mu, program->lower[contact], slips ? rho : 1, w, projection);

  // curvature that vanishes with epsilon weighs the norm instead
  if (!slips) {
    face.weight = 1 + face.curvature;
    face.curvature = 0;
  }
  return face;
}

// f = least-norm solution on a->faces; true if the equations are singular
static bool select_on_faces(active_set *a, double *f1, double *sigma, double *right) {
  cone_equations *e = &a->equations;
  cone_equations_set(e, a->faces);
  cone_equations_assemble(e);
  semidefinite h =
      semidefinite_make(&e->shape, e->H, cone_rank_threshold(a->scale), a->scratch);

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
  cone_second_level(e, &h, a->f, f1, sigma, a->work);
  a->steps++;
  return h.rank < e->size;
}

// faces at level two; returns the residual of the selection
static double revise_selection(active_set *a, const double *sigma) {
  const cone_program *program = a->program;
  int d = program->dimension;
  double residual = 0, magnitude = 1;
  a->same_faces = true;
  for (int i = 0; i < program->contact_count; i++) {
    double projection[MAX_CONE_DIMENSION];
    a->next[i] = cone_second_face(program, a->scale, i, a->f + i * d, a->s + i * d, sigma + i * d,
                                  projection);
    if (a->next[i].state != a->faces[i].state) a->same_faces = false;
    measure(d, 1 / (a->scale->rho[i] * a->scale->speed), a->f + i * d, projection, &residual,
            &magnitude);
  }
  return residual / magnitude;
}

static bool select_least_norm(active_set *a) {
  int unknowns = a->program->contact_count * a->program->dimension;
  arena_mark mark = arena_save(a->scratch);
  double *f1 = arena_doubles(a->scratch, unknowns), *sigma = arena_doubles(a->scratch, unknowns);
  double *right = arena_doubles(a->scratch, unknowns);
  a->delta = 0;
  bool solved = false, settled = false;
  for (int k = 0; k < MAX_SELECTIONS && !settled; k++) {
    arena_mark step = arena_save(a->scratch);
    memcpy(a->faces, a->next, sizeof(contact_face) * (size_t)a->program->contact_count);
    a->singular = select_on_faces(a, f1, sigma, right);
    arena_restore(a->scratch, step);
    revise(a);
    solved = a->residual <= ROUNDING * a->magnitude || a->residual <= 0.01 * a->tolerance;
    double second = revise_selection(a, sigma);
    settled = solved && second <= 1e-11;
  }
  a->degenerate = !settled || !a->same_faces;
  arena_restore(a->scratch, mark);
  return solved;
}

// ---- level one

static void impose_states(active_set *a, const unsigned char *states) {
  for (int i = 0; i < a->program->contact_count; i++) {
    bool sticks = states[i] == FREE_STICK || states[i] == BOUND_STICK;
    bool rubs = a->program->dimension > 1 && a->program->mu[i] > 0;
    if (states[i] < INTERIOR && (rubs || !sticks)) a->next[i].state = (contact_state)states[i];
  }
}

bool active_set_run(active_set *a, const unsigned char *states, int max_steps) {
  size_t face_bytes = sizeof(contact_face) * (size_t)a->program->contact_count;
  double last = INFINITY;
  revise(a);
  if (states != NULL) impose_states(a, states);
  for (int k = 0; k < max_steps; k++) {
    memcpy(a->faces, a->next, face_bytes);
    if (!newton_step(a)) {
      a->delta = DELTA * a->scale->stiffness;
      newton_step(a);
    }
    revise(a);
    if (a->delta > 0) {
      if (a->same_faces && a->residual <= SETTLED * a->magnitude) return select_least_norm(a);
    } else if (a->residual <= ROUNDING * a->magnitude ||
               (a->same_faces && a->residual <= a->tolerance && a->residual > 0.5 * last)) {
      a->degenerate = !a->same_faces || !has_margin(a);
      return true;
    }
    last = a->residual;
  }
  return false;
}
