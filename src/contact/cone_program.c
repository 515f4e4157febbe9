/* How the two methods work together; see cone_program.h. */
#include "contact/cone_program.h"

#include <math.h>
#include <string.h>

#include "contact/cone_active_set.h"
#include "contact/cone_interior.h"
#include "contact/cone_internal.h"
#include "contact/cone_range.h"

enum { FIRST_STEPS = 12, POLISH_STEPS = 12, HAND_OVER_COUNT = 3 };
/* Complementarity at which the interior point is handed to the active set: at the first most faces
 * are known, at the last all that rounding lets be known. */
static const double HAND_OVER[HAND_OVER_COUNT] = {1e-6, 1e-9, 1e-12};

/* delta that the end of the interior point is polished with, above those that it had itself. */
static const double POLISH_DELTA = 10 * CONE_FIRST_DELTA;

/* Complementarity below which another step changes nothing. */
static const double EXHAUSTED = 1e-22;

/* A negative pivot of A + this (of the stiffness) I is one of A, not of rounding. */
static const double NEGATIVE_PIVOT = 1e-9;

/* Smoothing: Newton's method on the point of the path with kappa begins this near to it; until then
 * complementarity goes down by this ratio a step. */
static const double NEAR_PATH = 10, PATH_RATIO = 0.1;

/* What a point of the path has when it is found: products equal to kappa, relative, and a dual
 * residual at rounding of the largest entry. Rounding in the products, of about 1e-16 / kappa, is above
 * the former for kappa < 1e-5; the tolerance then decides whether the point counts as solved. */
static const double CENTRED = 1e-11, DUAL_ROUNDING = 1e-14;

cone_program cone_program_clamped(const cone_program *program, arena *scratch) {
  cone_program clamped = *program;
  bool negative = false;
  for (int i = 0; i < program->contact_count; i++) negative = negative || program->lower[i] < 0;
  if (negative) {
    double *lower = arena_doubles(scratch, program->contact_count);
    for (int i = 0; i < program->contact_count; i++) lower[i] = fmax(program->lower[i], 0);
    clamped.lower = lower;
  }
  return clamped;
}

// 0, or NaN if anything is not finite
static double not_finite(const double *x, int count) {
  double sum[4] = {0, 0, 0, 0};
  int k = 0;
  for (; k + 4 <= count; k += 4)
    for (int lane = 0; lane < 4; lane++) sum[lane] += x[k + lane] * 0;
  for (; k < count; k++) sum[0] += x[k] * 0;
  return sum[0] + sum[1] + sum[2] + sum[3];
}

static bool is_valid(const cone_program *program) {
  int count = program->contact_count, unknowns = count * program->dimension;
  double sum = not_finite(program->A, program->shape.start[unknowns]) +
               not_finite(program->b, unknowns) + not_finite(program->mu, count) +
               not_finite(program->lower, count) + program->scale * 0;
  if (!(sum == 0)) return false;
  for (int k = 0; k < unknowns; k++)
    if (program->A[program->shape.start[k + 1] - 1] < 0) return false;
  for (int i = 0; i < count; i++)
    if (program->mu[i] < 0) return false;
  return true;
}

// |f - P(f - rho s)| as a velocity, relative to the speed of the contact
static double residual_of(const cone_program *program, const cone_scale *scale, const double *f,
                          arena *scratch) {
  int d = program->dimension;
  double *s = arena_doubles(scratch, program->contact_count * d);
  double residual = 0, magnitude = 1;
  cone_velocity(program, f, s);
  for (int i = 0; i < program->contact_count; i++) {
    double w[MAX_CONE_DIMENSION], projection[MAX_CONE_DIMENSION], rho = scale->rho[i];
    for (int k = 0; k < d; k++) w[k] = f[i * d + k] - rho * s[i * d + k];
    cone_project(d, program->mu[i], program->lower[i], rho, w, projection);
    active_set_measure(d, 1 / (rho * scale->speeds[i]), f + i * d, projection, &residual,
                       &magnitude);
  }
  return residual;
}

double cone_residual(const cone_program *given, const double *f, arena *scratch) {
  if (given->contact_count == 0) return 0;
  arena_mark mark = arena_save(scratch);
  cone_program program = cone_program_clamped(given, scratch);
  cone_scale scale = cone_scale_make(&program, scratch);
  double residual = residual_of(&program, &scale, f, scratch);
  arena_restore(scratch, mark);
  return residual;
}

// the active set's result becomes the solution
static void take_active_set(const active_set *a, cone_solution *solution) {
  const cone_program *program = a->program;
  int d = program->dimension;
  for (int i = 0; i < program->contact_count; i++) {
    solution->state[i] = (unsigned char)a->faces[i].state;
    cone_project(d, program->mu[i], program->lower[i], 1, a->f + i * d, solution->f + i * d);
  }
  solution->info.status = a->degenerate ? CAROM_CONE_DEGENERATE : CAROM_CONE_SOLVED;
  solution->info.residual = a->residual;
  solution->info.singular = a->singular;
}

static void take_interior(const cone_interior *in, cone_solution *solution) {
  int count = in->program->contact_count;
  cone_interior_impulse(in, solution->f);
  cone_interior_duals(in, solution->dual, solution->dual + count * in->program->dimension);
  memset(solution->state, INTERIOR, (size_t)count);
}

// a negative pivot of A + NEGATIVE_PIVOT I
static bool is_indefinite(const cone_program *program, const cone_scale *scale, arena *scratch) {
  const envelope *shape = &program->shape;
  double *factor = arena_doubles(scratch, shape->start[shape->size]);
  memcpy(factor, program->A, sizeof(double) * (size_t)shape->start[shape->size]);
  for (int k = 0; k < shape->size; k++)
    factor[shape->start[k + 1] - 1] += NEGATIVE_PIVOT * scale->stiffness;
  return envelope_factor(shape, factor, CONE_PIVOT_FLOOR) < 0;
}

// the end of an interior point that could not be polished
static void judge_interior(const cone_interior *in, const carom_cone_options *options,
                           cone_solution *solution, arena *scratch) {
  take_interior(in, solution);
  carom_cone_info *info = &solution->info;
  info->residual = residual_of(in->program, in->scale, solution->f, scratch);
  if (info->residual <= options->tolerance)
    info->status = CAROM_CONE_DEGENERATE;
  else if (is_indefinite(in->program, in->scale, scratch))
    info->status = CAROM_CONE_INVALID;
  else
    info->status = CAROM_CONE_INACCURATE;
}

// polishes an interior point of the given accuracy
static bool hand_over(const cone_interior *in, double error, active_set *a) {
  cone_interior_impulse(in, a->f);
  if (active_set_run(a, NULL, POLISH_STEPS)) return true;
  if (error > HAND_OVER[HAND_OVER_COUNT - 1]) return false;
  cone_interior_impulse(in, a->f);
  return active_set_polish(a, POLISH_DELTA);
}

// Where small pivots of H are real, masses far apart, regularised solutions are near the limit only
// for a smaller delta than hand_over begins with
static bool hand_over_closer(const cone_interior *in, active_set *a) {
  for (double delta = CONE_FIRST_DELTA; delta > 0.5 * CONE_LAST_DELTA; delta /= 10) {
    cone_interior_impulse(in, a->f);
    if (active_set_polish(a, delta)) return true;
  }
  return false;
}

// interior point with attempts to polish on the way
static void solve_interior(const cone_program *program, const cone_scale *scale,
                           const carom_cone_options *options, active_set *a,
                           cone_solution *solution, arena *scratch) {
  cone_interior in = cone_interior_make(program, scale, 0, scratch);
  int *steps = &solution->info.interior_steps;
  int level = 0;
  for (bool going = true; going;) {
    going = *steps < options->max_iterations && cone_interior_step(&in, 0) &&
            in.complementarity > EXHAUSTED;
    ++*steps;
    double error = fmax(in.complementarity, in.dual_residual);
    bool ripe = level < HAND_OVER_COUNT && error <= HAND_OVER[level];
    if (!ripe && going) continue;
    while (level < HAND_OVER_COUNT && error <= HAND_OVER[level]) level++;
    if (hand_over(&in, error, a)) {
      take_active_set(a, solution);
      return;
    }
    if (level == HAND_OVER_COUNT && in.delta > CONE_LAST_DELTA)
      cone_interior_set_delta(&in, CONE_LAST_DELTA);
  }
  if (hand_over_closer(&in, a))
    take_active_set(a, solution);
  else
    judge_interior(&in, options, solution, scratch);
}

// follows the central path to kappa, then Newton's method on that point
static void solve_smoothed(const cone_program *program, const cone_scale *scale,
                           const carom_cone_options *options, cone_solution *solution,
                           arena *scratch) {
  double kappa = options->smoothing;
  cone_interior in = cone_interior_make(program, scale, kappa, scratch);
  carom_cone_info *info = &solution->info;
  bool going = true, found = false;
  while (going && !found && info->interior_steps < options->max_iterations) {
    bool near = fmax(in.complementarity, in.dual_residual) < NEAR_PATH * kappa;
    going = cone_interior_step(&in, near ? kappa : fmax(kappa, PATH_RATIO * in.complementarity));
    info->interior_steps++;
    found =
        near && in.centrality <= CENTRED && in.dual_residual <= DUAL_ROUNDING * (1 + in.largest);
  }
  take_interior(&in, solution);
  info->residual = fmax(in.centrality, in.dual_residual);
  if (info->residual <= options->tolerance)
    info->status = CAROM_CONE_SOLVED;
  else
    info->status =
        is_indefinite(program, scale, scratch) ? CAROM_CONE_INVALID : CAROM_CONE_INACCURATE;
}

static bool is_solved(const cone_solution *solution) {
  return solution->info.status <= CAROM_CONE_DEGENERATE;
}

// 1/2 f'Af + b'f
static double objective(const cone_program *program, const double *f, arena *scratch) {
  int size = program->shape.size;
  double *s = arena_doubles(scratch, size), sum = 0;
  cone_velocity(program, f, s);
  for (int k = 0; k < size; k++) sum += 0.5 * f[k] * (s[k] + program->b[k]);
  return sum;
}

// an impulse that is no solution is in its cones, no worse than f = (lower, 0) and of a size that the data
// allow; else (lower, 0) is taken
static void end_unsolved(const cone_program *program, const cone_scale *scale,
                         cone_solution *solution, arena *scratch) {
  int d = program->dimension;
  if (solution->info.status <= CAROM_CONE_DEGENERATE)
    solution->info.status =
        is_indefinite(program, scale, scratch) ? CAROM_CONE_INVALID : CAROM_CONE_INACCURATE;
  double *rest = arena_zeros(scratch, program->shape.size), largest = 0;
  for (int i = 0; i < program->contact_count; i++) {
    double *f = solution->f + i * d;
    cone_project(d, program->mu[i], program->lower[i], 1, f, f);
    rest[i * d] = program->lower[i];
    for (int k = 0; k < d; k++)
      largest = fmax(largest, fabs(f[k]) / (scale->rho[i] * scale->speeds[i]));
  }
  double gain = objective(program, rest, scratch) - objective(program, solution->f, scratch);
  if (gain >= 0 && largest <= CONE_LARGEST_IMPULSE) return;
  memcpy(solution->f, rest, sizeof(double) * (size_t)program->shape.size);
  memset(solution->state, BOUND_SLIDE, (size_t)program->contact_count);
  solution->info.residual = residual_of(program, scale, rest, scratch);
  solution->info.singular = true;
}

// what the active set alone does not settle
static void solve_slowly(const cone_program *program, const cone_scale *scale,
                         const carom_cone_options *options, cone_solution *solution,
                         arena *scratch) {
  arena_mark mark = arena_save(scratch);
  active_set a = active_set_make(program, scale, options->tolerance, scratch);
  if (active_set_follow(&a))
    take_active_set(&a, solution);
  else
    solve_interior(program, scale, options, &a, solution, scratch);
  if (!is_solved(solution)) {
    memcpy(a.f, solution->f, sizeof(double) * (size_t)program->shape.size);
    bool solved = active_set_proximate(&a);
    if (solved || a.residual < solution->info.residual) take_active_set(&a, solution);
    if (!solved) end_unsolved(program, scale, solution, scratch);
  }
  solution->info.newton_steps += a.steps;
  arena_restore(scratch, mark);
}

// with the part of b that impulses can change
static void solve_within_range(const cone_program *program, const cone_scale *scale,
                               const carom_cone_options *options, const cone_range *range,
                               cone_solution *solution, arena *scratch) {
  cone_program within = *program;
  within.b = range->b;
  solve_slowly(&within, scale, options, solution, scratch);
  solution->info.projected = range->share > CONE_RANGE_ROUNDING;
}

static void solve_hard(const cone_program *program, const cone_scale *scale,
                       const carom_cone_options *options, bool warm, cone_solution *solution,
                       arena *scratch) {
  active_set a = active_set_make(program, scale, options->tolerance, scratch);
  bool settled = active_set_run(&a, warm ? solution->state : NULL, FIRST_STEPS);
  solution->info.newton_steps = a.steps;
  if (settled) {
    take_active_set(&a, solution);
    return;
  }
  cone_range range = cone_range_make(program, scale, scratch);
  if (range.deficient && range.share <= CONE_DRIFT) {
    solve_within_range(program, scale, options, &range, solution, scratch);
    return;
  }
  solve_slowly(program, scale, options, solution, scratch);
  if (is_solved(solution) || !range.deficient) return;
  bool unbounded = cone_range_has_recession(&range, program, scratch);
  carom_cone_status status = unbounded ? CAROM_CONE_UNBOUNDED : solution->info.status;
  solve_within_range(program, scale, options, &range, solution, scratch);
  if (is_solved(solution) && range.share > CONE_MOST_DRIFT) solution->info.status = status;
}

// in units of one size where those of contacts are far apart
static void solve_in_units(const cone_program *program, const carom_cone_options *options,
                           bool warm, cone_solution *solution, arena *scratch) {
  bool apart = cone_units_differ(program);
  double *D = apart ? arena_doubles(scratch, program->contact_count) : NULL;
  cone_program scaled = apart ? cone_units_make(program, D, scratch) : *program;
  cone_scale scale = cone_scale_make(&scaled, scratch);
  solve_hard(&scaled, &scale, options, warm, solution, scratch);
  if (!apart) return;
  cone_units_restore(program, D, solution);

  // the selection is that of least |D f|
  if (solution->info.singular && solution->info.status == CAROM_CONE_SOLVED)
    solution->info.status = CAROM_CONE_DEGENERATE;
}

void cone_solve(const cone_program *given, const carom_cone_options *options, bool warm,
                cone_solution *solution, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  solution->info = (carom_cone_info){.status = CAROM_CONE_SOLVED};
  int unknowns = given->contact_count * given->dimension;
  if (given->contact_count > 0 && !is_valid(given)) {
    solution->info.status = CAROM_CONE_INVALID;
    solution->info.residual = INFINITY;
    memset(solution->f, 0, sizeof(double) * (size_t)unknowns);
    memset(solution->state, BOUND_SLIDE, (size_t)given->contact_count);
  } else if (given->contact_count > 0) {
    cone_program program = cone_program_clamped(given, scratch);
    if (options->smoothing > 0) {
      cone_scale scale = cone_scale_make(&program, scratch);
      solve_smoothed(&program, &scale, options, solution, scratch);
    } else {
      solve_in_units(&program, options, warm, solution, scratch);
    }
  }
  arena_restore(scratch, mark);
}
