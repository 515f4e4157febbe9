/* The last resort: proximal points. f <- the minimiser with A + delta I and b - delta f, which is unique
 * and well-conditioned, again and again: what is left of the program's own residual is delta |change of
 * f|. It needs no rank and no strict complementarity, only sums that are exact enough. The minimiser that
 * it ends at is one near its start, not that of least norm. */
#include <math.h>
#include <string.h>

#include "contact/cone_active_set.h"
#include "contact/cone_interior.h"

/* delta, in units of the stiffness: from where the path of regularised solutions ended, smaller after
 * each step. A step on which Newton's method does not settle begins again from an interior point, which
 * is good for some digits of a problem with such a delta. */
static const double FIRST_DELTA = 1e-5, LAST_DELTA = 1e-16, SMALLER = 0.3, LARGER = 4;
enum { STEPS = 120, INTERIOR_STEPS = 40 };

/* Large programs, for which every step is dear: from a point with a residual below NEAR a large delta does,
 * on whose problems Newton's method settles at once. (Of 7 programs with 279 to 308 contacts of a settled pile that
 * were left at 2e-10 to 3e-9 six end so, after 5 to 10 Newton steps; with 1e-8 for NEAR_DELTA none.) */
static const double NEAR = 1e-7, NEAR_DELTA = 1e-3;
enum { NEAR_STEPS = 40 };

/* Unknowns from which on the whole way is too long, and so many steps are taken of it. */
enum { HUGE_SIZE = 2000, HUGE_STEPS = 12 };

/* Residual that is good enough to stop, of the tolerance. */
static const double ENOUGH = 1e-3;

/* Rounding of an impulse, as a share of it, moves velocities by this much: an impulse that has to be
 * large (at most CONE_LARGEST_IMPULSE, where this comes to 1e-8) cannot have a smaller residual. */
static const double ROUNDING = 4e-15, MOST_ROUNDING = 90;

/* Complementarity below which another step changes nothing. */
static const double EXHAUSTED = 1e-22;

// residual of the program itself at a->f, brought into the cones first
static double measure(active_set *own, const double *f) {
  const cone_program *program = own->program;
  int d = program->dimension;
  for (int i = 0; i < program->contact_count; i++)
    cone_project(d, program->mu[i], program->lower[i], 1, f + i * d, own->f + i * d);
  active_set_revise(own);
  return own->magnitude <= CONE_LARGEST_IMPULSE ? own->residual : INFINITY;
}

// step->f near the solution with delta by the interior point, then at it by Newton's method if that
// settles now
static bool rescue(active_set *step, double delta) {
  arena_mark mark = arena_save(step->scratch);
  cone_interior in = cone_interior_make(step->program, step->scale, 0, step->scratch);
  cone_interior_set_delta(&in, delta / step->scale->stiffness);
  for (int k = 0; k < INTERIOR_STEPS && in.complementarity > EXHAUSTED; k++)
    if (!cone_interior_step(&in, 0)) break;
  cone_interior_impulse(&in, step->f);
  bool settled = active_set_settle(step, delta);
  if (!settled) cone_interior_impulse(&in, step->f);
  arena_restore(step->scratch, mark);
  return settled;
}

/* Steps from a center on, and the best point that they came by. */
typedef struct proximal {
  active_set *own;  /* of the program itself, to measure with */
  active_set *step; /* of the problems with delta */
  double *b;        /* [C] of these */
  double *center, *best;
  double residual;
} proximal;

static void begin(proximal *p, const double *f) {
  size_t bytes = sizeof(double) * (size_t)p->own->program->shape.size;
  memcpy(p->center, f, bytes);
  double residual = measure(p->own, f);
  if (residual < p->residual) memcpy(p->best, p->own->f, bytes);
  p->residual = fmin(residual, p->residual);
}

// until the residual is below `enough`
static void proceed(proximal *p, double share, int steps, double enough) {
  active_set *a = p->own, *step = p->step;
  int size = a->program->shape.size;
  size_t bytes = sizeof(double) * (size_t)size;
  for (int k = 0; k < steps && p->residual > enough && share > LAST_DELTA; k++) {
    double delta = share * a->scale->stiffness;
    for (int i = 0; i < size; i++) p->b[i] = a->program->b[i] - delta * p->center[i];
    memcpy(step->f, p->center, bytes);
    bool settled = active_set_settle(step, delta) || rescue(step, delta);
    share *= settled ? SMALLER : LARGER;
    double next = measure(a, step->f);
    if (!(next < INFINITY)) break;
    if (settled || next < p->residual) memcpy(p->center, step->f, bytes);
    if (next < p->residual) memcpy(p->best, a->f, bytes);
    p->residual = fmin(next, p->residual);
  }
}

bool active_set_proximate(active_set *a) {
  int size = a->program->shape.size;
  bool large = size > SEMIDEFINITE_DENSE;
  arena_mark mark = arena_save(a->scratch);
  double *numbers = arena_doubles(a->scratch, 3 * size);
  cone_program shifted = *a->program;
  shifted.b = memcpy(numbers, a->program->b, sizeof(double) * (size_t)size);
  active_set step = active_set_make(&shifted, a->scale, a->tolerance, a->scratch);
  proximal p = {.own = a,
                .step = &step,
                .b = numbers,
                .center = numbers + size,
                .best = numbers + 2 * size,
                .residual = INFINITY};
  a->delta = 0;
  a->balanced = false;

  // large programs from what there is if that is near, else from the end of the path
  if (large) begin(&p, a->f);
  if (large && p.residual < NEAR) proceed(&p, NEAR_DELTA, NEAR_STEPS, a->tolerance);
  if (p.residual > a->tolerance) {
    memcpy(p.b, a->program->b, sizeof(double) * (size_t)size);
    active_set_descend(&step, FIRST_DELTA);
    begin(&p, step.kept);
    proceed(&p, FIRST_DELTA, size > HUGE_SIZE ? HUGE_STEPS : STEPS, ENOUGH * a->tolerance);
  }
  if (p.residual < INFINITY) measure(a, p.best);
  memcpy(a->faces, a->next, sizeof(contact_face) * (size_t)a->program->contact_count);
  a->steps += step.steps;
  a->singular = a->degenerate = true;
  arena_restore(a->scratch, mark);
  return a->residual <= a->tolerance + fmin(ROUNDING * a->magnitude, MOST_ROUNDING * a->tolerance);
}
