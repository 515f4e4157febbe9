#include "contact/cone_active_set.h"

#include <math.h>
#include <string.h>
/* Ten times more or less of any of these but MOST_RATIO leaves all of 20,000 random programs
 * (test_cone_robustness) solved, and at most 4 of them another status; what else changes is said. */

/* Pivot ratio below which a factor of H is not trusted and its null space is taken for real. Dependent
 * contacts leave rounding, masses far apart leave small pivots that are real. */
static const double SINGULAR_PIVOT = 1e-11;

/* Residual of an exact solution, where Newton's method stops: 1e-12 would save 2 % of the steps. */
static const double ROUNDING = 1e-13;

/* A residual that falls by less than this has reached what rounding allows. */
static const double FALLS = 0.5;

/* Residual, in units of delta, at which a regularised problem is left for the next: its solution is
 * only a start. */
static const double SETTLED = 1e-3;

/* The path of delta, in units of the stiffness: begins where faces do not cycle, goes down by a ratio
 * that adapts (smaller after success, larger after failure), ends where the next start is within reach
 * of the limit. Beginning at 0.01 sends nearly half as many programs again to the interior point, and a
 * path that gives up at a ratio of 0.1 every fifth program. */
static const double FIRST_DELTA = 0.1, LAST_DELTA = 2e-8;
static const double FIRST_RATIO = 0.1, LEAST_RATIO = 1e-2, MOST_RATIO = 0.95;
enum { PATH_STEPS = 10, LONGEST_PATH = 150, REFINEMENTS = 3 };

/* Strict complementarity, as a velocity in units of the speed: a contact closer than this to another
 * state counts as on the border, and its derivative as one of several. */
static const double MARGIN = 1e-9;

active_set active_set_make(const cone_program *program, const cone_scale *scale, double tolerance,
                           arena *scratch) {
  int count = program->contact_count, unknowns = count * program->dimension;
  return (active_set){
      .program = program,
      .scale = scale,
      .tolerance = tolerance,
      .equations = cone_equations_make(program, scratch),
      .faces = arena_zeroed(scratch, sizeof(contact_face) * (size_t)count),
      .next = ARENA_ARRAY(scratch, contact_face, count),
      .f = arena_zeros(scratch, unknowns),
      .s = arena_doubles(scratch, unknowns),
      .kept = arena_doubles(scratch, unknowns),
      .y = arena_doubles(scratch, unknowns),
      .work = arena_doubles(scratch, 2 * unknowns),
      .scratch = scratch,
  };
}

static size_t impulse_bytes(const active_set *a) {
  return sizeof(double) * (size_t)(a->program->contact_count * a->program->dimension);
}

bool active_set_differs(const cone_program *program, int i, const contact_face *one,
                        const contact_face *other) {
  if (one->state != other->state) return true;
  bool slides = one->state == FREE_SLIDE || (one->state == BOUND_SLIDE && program->lower[i] > 0);
  return program->dimension == 2 && slides && program->mu[i] > 0 && one->n[0] != other->n[0];
}

void active_set_measure(int d, double unit, const double *f, const double *projection,
                        double *residual, double *magnitude) {
  for (int k = 0; k < d; k++) {
    double difference = fabs(f[k] - projection[k]) * unit, size = fabs(f[k]) * unit;
    // what is not a number stays
    if (difference > *residual || isnan(difference)) *residual = difference;
    if (size > *magnitude || isnan(size)) *magnitude = size;
  }
}

// rho for which f and rho s weigh alike: regularised problems have velocities of order delta
static double balanced_step(const active_set *a, int i) {
  int d = a->program->dimension;
  double impulse = 0, speed = 0;
  for (int k = i * d; k < i * d + d; k++) {
    impulse = fmax(impulse, fabs(a->f[k]));
    speed = fmax(speed, fabs(a->s[k]));
  }
  return fmin(impulse / speed, 1 / a->delta);
}

void active_set_revise(active_set *a) {
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
    double rho = a->scale->rho[i], step = 1 / (1 / rho + a->delta);
    if (a->balanced) step = fmax(step, balanced_step(a, i));
    for (int k = 0; k < d; k++) w[k] = f[k] - step * s[k];
    a->next[i] = cone_project(d, program->mu[i], program->lower[i], step, w, projection);
    a->changes += active_set_differs(program, i, &a->next[i], &a->faces[i]);
    active_set_measure(d, 1 / (rho * a->scale->speeds[i]), f, projection, &a->residual,
                       &a->magnitude);
  }
  // a regularised problem is only a start, and its impulse is as large as 1 / delta
  if (a->delta > 0) a->residual /= a->magnitude;
}

// is a pivot of the factor that stands in H what cancellation has left of its column?
static bool has_lost_pivot(const cone_equations *e) {
  for (int k = 0; k < e->size; k++) {
    double reciprocal = e->H[e->start[k + 1] - 1];
    if (reciprocal * reciprocal * SINGULAR_PIVOT * e->reach[k] > 1) return true;
  }
  return false;
}

// y <- (H + delta)^-1 y by the factor, whose small pivots are raised, and by what that leaves
static void solve_refined(active_set *a) {
  const cone_equations *e = &a->equations;
  arena_mark mark = arena_save(a->scratch);
  double *numbers = arena_doubles(a->scratch, 2 * e->size), *right = numbers;
  double *change = numbers + e->size, *impulse = a->work,
         *velocity = a->work + a->program->shape.size;
  memcpy(right, a->y, sizeof(double) * (size_t)e->size);
  envelope_solve(&e->shape, e->H, a->y);
  for (int pass = 0; pass < REFINEMENTS; pass++) {
    cone_expand(e, a->y, impulse);
    envelope_multiply(&a->program->shape, a->program->A, impulse, velocity);
    cone_reduce(e, velocity, change);
    for (int k = 0; k < e->size; k++)
      change[k] = right[k] - change[k] - (e->diagonal[k] + a->delta) * a->y[k];
    envelope_solve(&e->shape, e->H, change);
    for (int k = 0; k < e->size; k++) a->y[k] += change[k];
  }
  arena_restore(a->scratch, mark);
}

// solves the equations of a->faces; false if they are singular
static bool newton_step(active_set *a) {
  cone_equations *e = &a->equations;
  cone_equations_set(e, a->faces);
  cone_equations_assemble(e);
  if (a->delta > 0)
    for (int k = 0; k < e->size; k++) e->H[e->start[k + 1] - 1] += a->delta;
  double ratio = envelope_factor(&e->shape, e->H, CONE_PIVOT_FLOOR);
  if (a->delta == 0 && e->size > 0 && (ratio < SINGULAR_PIVOT || has_lost_pivot(e))) return false;
  cone_right_side(e, a->faces, a->y, a->work);
  if (a->delta > 0 && !a->roughly)
    solve_refined(a);
  else
    envelope_solve(&e->shape, e->H, a->y);
  cone_expand(e, a->y, a->f);
  cone_add_fixed(a->program, a->faces, a->f);
  a->steps++;
  return true;
}

// Newton steps at one delta until the residual is at rounding, or the faces repeat and it is below
// `enough` and no longer falls
static bool iterate(active_set *a, int max_steps, double enough) {
  double last = INFINITY;
  active_set_revise(a);
  for (int k = 0; k < max_steps; k++) {
    memcpy(a->faces, a->next, sizeof(contact_face) * (size_t)a->program->contact_count);
    if (!newton_step(a)) return false;
    active_set_revise(a);
    if (a->delta == 0 && !(a->magnitude <= CONE_LARGEST_IMPULSE)) return false;
    if (a->residual <= ROUNDING) return true;
    bool falls = !(a->delta > 0 && a->roughly) && a->residual <= FALLS * last;
    if (a->changes == 0 && a->residual <= enough && !falls) return true;
    last = a->residual;
  }
  return false;
}

bool active_set_is_strict(const active_set *a, int i) {
  int d = a->program->dimension;
  const double *f = a->f + i * d, *s = a->s + i * d;
  double mu = d == 1 ? 0 : a->program->mu[i], lower = a->program->lower[i];

  // distances to the borders, as velocities
  double above = (f[0] - lower) / a->scale->rho[i], speed = cone_tangent_length(d, s);
  double inside = (mu * f[0] - cone_tangent_length(d, f)) / a->scale->rho[i];
  double held = s[0] - mu * speed, margin = held;
  switch (a->faces[i].state) {
    case FREE_STICK: margin = fmin(inside, above); break;
    case FREE_SLIDE: margin = mu > 0 ? fmin(speed, above) : above; break;
    case BOUND_STICK: margin = fmin(inside, s[0]); break;
    default: margin = mu * lower > 0 ? fmin(speed, held) : held; break;
  }
  return margin > MARGIN * a->scale->speeds[i];
}

// the end of an iteration without regulariser
static bool accept(active_set *a) {
  for (int i = 0; i < a->program->contact_count; i++)
    if (!active_set_is_strict(a, i)) return active_set_accept_border(a);
  a->singular = a->degenerate = false;
  return true;
}

semidefinite cone_equations_pseudo_inverse(const cone_equations *e, arena *scratch) {
  return semidefinite_make_scaled(&e->shape, e->H, e->reach, SINGULAR_PIVOT, scratch);
}

double cone_velocity_threshold(const cone_scale *scale, int i) {
  return CONE_VANISHED * scale->speeds[i];
}

static void impose_states(const cone_program *program, const unsigned char *states,
                          contact_face *faces) {
  for (int i = 0; i < program->contact_count; i++) {
    bool sticks = states[i] == FREE_STICK || states[i] == BOUND_STICK;
    bool rubs = program->dimension > 1 && program->mu[i] > 0;
    if (states[i] < INTERIOR && (rubs || !sticks)) faces[i].state = (contact_state)states[i];
  }
}

bool active_set_run(active_set *a, const unsigned char *states, int max_steps) {
  a->delta = 0;
  a->balanced = false;
  if (states != NULL) {
    // one step with the given states
    active_set_revise(a);
    memcpy(a->faces, a->next, sizeof(contact_face) * (size_t)a->program->contact_count);
    impose_states(a->program, states, a->faces);
    if (!newton_step(a)) return false;
  }
  return iterate(a, max_steps, a->tolerance) && accept(a);
}

// solves the problem with a->delta from a->kept, trying both choices of rho
static bool settle(active_set *a) {
  for (int attempt = 0; attempt < 2; attempt++) {
    memcpy(a->f, a->kept, impulse_bytes(a));
    double unit = a->balanced ? 1 : fmin(a->delta / a->scale->stiffness, 1);
    if (iterate(a, PATH_STEPS, a->roughly ? SETTLED * unit : ROUNDING)) return true;
    a->balanced = !a->balanced;
  }
  return false;
}

bool active_set_settle(active_set *a, double delta) {
  memcpy(a->kept, a->f, impulse_bytes(a));
  a->delta = delta;
  a->roughly = false;
  return settle(a);
}

double active_set_descend(active_set *a, double last) {
  double reached = INFINITY, delta = FIRST_DELTA, ratio = FIRST_RATIO;
  int last_step = a->steps + LONGEST_PATH;
  memset(a->kept, 0, impulse_bytes(a));
  a->balanced = a->roughly = true;
  while (reached > last && a->steps <= last_step && ratio <= MOST_RATIO) {
    a->delta = delta * a->scale->stiffness;
    if (settle(a)) {
      memcpy(a->kept, a->f, impulse_bytes(a));
      reached = delta;
      ratio = fmax(ratio * ratio, LEAST_RATIO);
    } else {
      ratio = sqrt(ratio);
    }
    delta = isinf(reached) ? delta / ratio : reached * ratio;
  }
  return reached;
}

bool active_set_follow(active_set *a) {
  return active_set_descend(a, LAST_DELTA) <= LAST_DELTA && active_set_select(a);
}

bool active_set_polish(active_set *a, double delta) {
  memcpy(a->kept, a->f, impulse_bytes(a));
  a->delta = delta * a->scale->stiffness;
  a->balanced = a->roughly = true;
  return settle(a) && active_set_select(a);
}
