#include "contact/cone_active_set.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/semidefinite.h"

static const double SINGULAR_PIVOT = 1e-11;    // pivot ratio below which the factor is not trusted
static const double DELTA = 1e-9;              // regulariser, of the mean diagonal entry
static const double ROUNDING = 1e-13;          // residual of an exact solution, of its magnitude
static const double SETTLED = 1e-7;            // regularised residual at which faces are settled
static const double MARGIN = 1e-9;             // strict complementarity, in units of the speed
enum { MAX_SELECTIONS = 12, DELTA_COUNT = 8, DELTA_STEPS = 25, SWEEPS = 5, MAX_PATH = 150, FULL_EXCHANGES = 5 };
#include <stdio.h>
#include <stdlib.h>
static const double DELTAS[DELTA_COUNT]={1,0.1,1e-2,1e-3,1e-4,1e-5,1e-7,1e-9};

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
      .last = arena_doubles(scratch, unknowns),
      .best = arena_doubles(scratch, unknowns),
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

// another state, or sliding the other way
static bool differs(const cone_program *program, int i, const contact_face *one,
                    const contact_face *other) {
  if (one->state != other->state) return true;
  bool slides = one->state == FREE_SLIDE || (one->state == BOUND_SLIDE && program->lower[i] > 0);
  return program->dimension == 2 && slides && program->mu[i] > 0 && one->n[0] != other->n[0];
}

// rho for which f and rho s weigh alike: regularised problems have velocities of order delta
static double balanced_step(const active_set *a, int i) {
  int d = a->program->dimension;
  double force = 0, speed = 0;
  for (int k = i * d; k < i * d + d; k++) {
    force = fmax(force, fabs(a->f[k]));
    speed = fmax(speed, fabs(a->s[k]));
  }
  return fmax(a->scale->rho[i], fmin(force / speed, 1 / a->delta));
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
  a->changes = 0;
  for (int i = 0; i < program->contact_count; i++) {
    const double *f = a->f + i * d, *s = a->s + i * d;
    double w[MAX_CONE_DIMENSION], projection[MAX_CONE_DIMENSION];
    double rho = a->scale->rho[i], step = a->balanced ? balanced_step(a, i) : rho;
    for (int k = 0; k < d; k++) w[k] = f[k] - step * s[k];
    a->next[i] = cone_project(d, program->mu[i], program->lower[i], step, w, projection);
    a->changes += differs(a->program, i, &a->next[i], &a->faces[i]);
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
  semidefinite_solve(h, y);
  for (int k = 0; k < e->size; k++) y[k] = -y[k];
  cone_expand(e, y, f1);
  const cone_program *program = e->program;
  envelope_multiply(&program->shape, program->A, f1, sigma);
  for (int k = 0; k < program->contact_count * program->dimension; k++) sigma[k] += f[k];
}

contact_face cone_second_face(const cone_program *program, const cone_scale *scale, int contact,
                              const double *f, const double *s, const double *sigma,
                              double threshold, double *projection) {
  int d = program->dimension;
  double mu = d == 1 ? 0 : program->mu[contact], rho = scale->rho[contact];
  double w[MAX_CONE_DIMENSION];
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
  memcpy(a->work, a->y, sizeof(double) * (size_t)e->size);
  cone_second_level(e, &h, a->f, f1, sigma, a->work);
  a->steps++;
  return h.rank < e->size;
}

// faces at level two; returns the residual of the selection
static double revise_selection(active_set *a, const double *sigma, double threshold) {
  const cone_program *program = a->program;
  int d = program->dimension;
  double residual = 0, magnitude = 1;
  a->changes = 0;
  for (int i = 0; i < program->contact_count; i++) {
    double projection[MAX_CONE_DIMENSION];
    a->next[i] = cone_second_face(program, a->scale, i, a->f + i * d, a->s + i * d, sigma + i * d,
                                  threshold * a->scale->speed, projection);
    a->changes += differs(a->program, i, &a->next[i], &a->faces[i]);
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
  for (int k = 0; k < unknowns; k++) sigma[k] = a->s[k] / a->delta;
  revise_selection(a, sigma, 1e-6);
  a->delta = 0;
  a->balanced = false;
  bool solved = false, settled = false;
  for (int k = 0; k < MAX_SELECTIONS && !settled; k++) {
    arena_mark step = arena_save(a->scratch);
    memcpy(a->faces, a->next, sizeof(contact_face) * (size_t)a->program->contact_count);
    a->singular = select_on_faces(a, f1, sigma, right);
    arena_restore(a->scratch, step);
    revise(a);
    solved = a->residual <= ROUNDING * a->magnitude || a->residual <= 0.01 * a->tolerance;
    double second = revise_selection(a, sigma, 0.1 * MARGIN);
    if (getenv("TRACE")) printf("    select: res %.3g second %.3g same %d singular %d\n",a->residual,second,a->changes,a->singular);
    settled = solved && second <= 1e-11;
  }
  a->degenerate = !settled || a->changes > 0;
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

// takes over the next faces: all, or of those that change only the last
static void exchange(active_set *a, bool all) {
  bool taken = false;
  for (int i = a->program->contact_count - 1; i >= 0; i--) {
    bool change = differs(a->program, i, &a->next[i], &a->faces[i]);
    if (!change || all || !taken) a->faces[i] = a->next[i];
    taken = taken || change;
  }
}

// Newton steps at one delta. All faces change at once while that makes fewer of them wrong; after
// a few steps without success one at a time, which does not cycle (block principal pivoting)
static bool iterate(active_set *a, int max_steps, double enough) {
  double last = INFINITY;
  int fewest = INT_MAX, tries = FULL_EXCHANGES;
  for (int k = 0; k < max_steps; k++) {
    bool better = a->changes < fewest;
    if (better) fewest = a->changes;
    tries = better ? FULL_EXCHANGES : tries - 1;
    exchange(a, k == 0 || tries > 0);
    if (!newton_step(a)) return false;
    revise(a);
    if (getenv("TRACE2")) {printf("   k %d all %d changes %d res %.3g:",k,tries>0,a->changes,a->residual);for(int i=0;i<a->program->contact_count;i++)printf(" %d%s>%d%s",a->faces[i].state,a->faces[i].n[0]<0?"-":"+",a->next[i].state,a->next[i].n[0]<0?"-":"+");for(int i=0;i<a->program->shape.size;i++)printf(" %.3g",a->f[i]);printf("\n");}
    if (a->residual <= ROUNDING * a->magnitude) return true;
    if (a->changes == 0 && a->residual <= enough * a->magnitude &&
        (a->delta > 0 || a->residual > 0.5 * last))
      return true;
    last = a->residual;
  }
  return false;
}

static bool finish(active_set *a) {
  a->degenerate = a->changes > 0 || !has_margin(a);
  return true;
}

bool active_set_run(active_set *a, const unsigned char *states, int max_steps) {
  a->delta = 0;
  a->balanced = false;
  revise(a);
  if (states != NULL) impose_states(a, states);
  if (iterate(a, max_steps, a->tolerance)) return finish(a);
  return false;
}

static void project_all(const active_set *a, double *f) {
  const cone_program *program = a->program;
  int d = program->dimension;
  for (int i = 0; i < program->contact_count; i++) {
    double projection[MAX_CONE_DIMENSION];
    cone_project(d, program->mu[i], program->lower[i], 1, f + i * d, projection);
    memcpy(f + i * d, projection, sizeof(double) * (size_t)d);
  }
}

// 1/2 f'(A + delta)f + b'f at the point that was revised last
static double energy(const active_set *a) {
  double sum = 0;
  for (int k = 0; k < a->program->contact_count * a->program->dimension; k++)
    sum += a->f[k] * (a->s[k] + a->program->b[k]);
  return 0.5 * sum;
}

// block Gauss-Seidel: every contact makes a projected gradient step, which never adds energy
static void sweep(active_set *a) {
  const cone_program *program = a->program;
  int d = program->dimension;
  double *change = a->work;
  cone_velocity(program, a->f, a->s);
  for (int i = 0; i < program->contact_count; i++) {
    double rho = a->scale->rho[i] / d, w[MAX_CONE_DIMENSION], projection[MAX_CONE_DIMENSION];
    rho = 1 / (1 / rho + a->delta);
    for (int k = 0; k < d; k++) {
      int row = i * d + k, first = program->shape.first[row];
      const double *entries = program->A + program->shape.start[row];
      double velocity = a->s[row] + a->delta * a->f[row];
      for (int j = first; j < i * d; j++) velocity += entries[j - first] * change[j];
      w[k] = a->f[row] - rho * velocity;
    }
    cone_project(d, program->mu[i], program->lower[i], rho, w, projection);
    for (int k = 0; k < d; k++) {
      change[i * d + k] = projection[k] - a->f[i * d + k];
      a->f[i * d + k] = projection[k];
    }
  }
}

// as iterate, but no step adds energy: where Newton's does, sweeps take its place
static bool descend(active_set *a, int max_steps, double enough) {
  size_t face_bytes = sizeof(contact_face) * (size_t)a->program->contact_count;
  int unknowns = a->program->contact_count * a->program->dimension;
  double *best = a->best;
  project_all(a, a->f);
  revise(a);
  double least = energy(a);
  for (int k = 0; k < max_steps; k++) {
    memcpy(best, a->f, sizeof(double) * (size_t)unknowns);
    memcpy(a->faces, a->next, face_bytes);
    newton_step(a);
    project_all(a, a->f);
    revise(a);
    double now = energy(a);
    if (a->residual <= enough * a->magnitude) return true;
    if (!(now <= least)) {
      memcpy(a->f, best, sizeof(double) * (size_t)unknowns);
      for (int j = 0; j < SWEEPS; j++) sweep(a);
      revise(a);
      now = energy(a);
    }
    least = now;
  }
  return false;
}

bool active_set_continue(active_set *a) {
  size_t bytes = sizeof(double) * (size_t)(a->program->contact_count * a->program->dimension);
  double delta = 1, ratio = 0.1, reached = 0;
  int start = a->steps;
  a->balanced = true;
  memset(a->f, 0, bytes);
  memset(a->last, 0, bytes);
  while (delta > 1e-8 && a->steps < start + MAX_PATH) {
    a->delta = delta * a->scale->stiffness;
    revise(a);
    bool good = iterate(a, DELTA_STEPS, a->balanced ? 1e-3 : fmin(1e-3, 1e-3 * delta));
    if (!good) {
      a->balanced = !a->balanced;
      memcpy(a->f, a->last, bytes);
      revise(a);
      good = iterate(a, DELTA_STEPS, a->balanced ? 1e-3 : fmin(1e-3, 1e-3 * delta));
    }
    if (!good && (reached == 0 || ratio > 0.5)) {
      memcpy(a->f, a->last, bytes);
      good = descend(a, 20, 1e-3);
    }
    if (getenv("TRACE")) printf("  delta %g good %d res %g mag %g steps %d\n",a->delta,good,a->residual,a->magnitude,a->steps);
    if (good) {
      memcpy(a->last, a->f, bytes);
      reached = delta;
      ratio = fmax(ratio * ratio, 1e-2);
    } else {
      memcpy(a->f, a->last, bytes);
      ratio = sqrt(ratio);
      if (reached == 0) delta *= 10;
      if (ratio > 0.9) return false;
    }
    delta = reached > 0 ? reached * ratio : delta;
  }
  if (delta > 1e-8) return false;
  return select_least_norm(a);
}
