#include "contact/event_phase.h"

#include "contact/coulomb.h"
#include "contact/lcp.h"

#include <math.h>
#include <string.h>

phase_problem phase_compression(const contact_event *e, const double *v, arena *memory) {
  double *b = arena_doubles(memory, e->size);
  event_jacobian(e, v, b);
  event_drop_held(e, b);
  return (phase_problem){.b = b, .lower = arena_zeros(memory, e->group.count), .before = b};
}

cone_program phase_program(const contact_event *e, const phase_problem *problem, int island) {
  int d = e->mechanics->system->dimension;
  int begin = island_begin(e, island), end = island_end(e, island);
  double speed = 0;
  for (int i = begin * d; i < end * d; i++) speed = fmax(speed, fabs(problem->before[i]));
  return (cone_program){.contact_count = end - begin,
                        .dimension = d,
                        .shape = e->shape[island],
                        .A = e->A[island],
                        .b = problem->b + begin * d,
                        .mu = e->mu + begin,
                        .lower = problem->lower + begin,
                        .scale = speed};
}

/* The part of a phase's solution that belongs to one island. */
static cone_solution island_solution(const contact_event *e, const phase_solution *solution,
                                     int island) {
  int d = e->mechanics->system->dimension, begin = island_begin(e, island);
  return (cone_solution){.f = solution->f + begin * d,
                         .state = solution->state + begin,
                         .dual = solution->dual + begin * (d + 1),
                         .info = solution->info[island]};
}

/* Is the normal of a contact of an island held? Then drift off the constraints alone would tell
 * whether it pushes, and it is on the border of two states. */
static bool has_held_normal(const contact_event *e, int island) {
  int d = e->mechanics->system->dimension;
  for (int c = island_begin(e, island); c < island_end(e, island); c++)
    if (e->held[c * d]) return true;
  return false;
}

/* Has the phase before left nothing to do on an island? */
static bool is_settled(const contact_event *e, const phase_problem *problem, int island) {
  if (problem->settled == NULL) return false;
  for (int c = island_begin(e, island); c < island_end(e, island); c++)
    if (problem->lower[c] > 0) return false;
  return true;
}

/* Velocities below this share of those before the event are rounding. */
static const double NO_SLIDING = 1e-10;

/* f = 0. States are those that bounds just above 0 would find, as far as they can be told without solving
 * for them: all contacts are at their bound, and those stick that pushed in the phase before and do not
 * slide at its end. So the derivative by the bound is that to the right, and all others are zero. */
static void settle(const cone_program *program, const cone_solution *before,
                   cone_solution *solution) {
  size_t size = (size_t)program->shape.size;
  memset(solution->f, 0, sizeof(double) * size);
  memset(solution->dual, 0, sizeof(double) * (size + (size_t)program->contact_count));
  for (int c = 0, d = program->dimension; c < program->contact_count; c++) {
    double sliding = 0;
    for (int k = 1; k < d; k++) sliding = fmax(sliding, fabs(program->b[c * d + k]));
    bool sticks = before->f[c * d] > 0 && sliding <= NO_SLIDING * program->scale;
    solution->state[c] = sticks ? BOUND_STICK : BOUND_SLIDE;
  }
  solution->info =
      (carom_cone_info){.status = CAROM_CONE_SOLVED, .singular = before->info.singular};
}

/* The program of an island by the contact model and the friction law of the event, and its derivative. */
static void solve_program(const contact_event *e, const cone_program *program,
                          cone_solution *solution, arena *scratch) {
  if (e->options->contact == CAROM_LCP)
    lcp_solve(program, e->options->friction, &e->options->cone, solution, scratch);
  else if (e->options->friction == CAROM_COULOMB_FRICTION)
    coulomb_solve(program, &e->options->cone, solution, scratch);
  else
    cone_solve(program, &e->options->cone, false, solution, scratch);
}

static void solve_program_vjp(const contact_event *e, const cone_program *program,
                              const cone_solution *solution, const double *f_bar,
                              cone_cotangents *bars, arena *scratch) {
  if (e->options->contact == CAROM_LCP)
    lcp_solve_vjp(program, e->options->friction, solution, f_bar, bars, scratch);
  else if (e->options->friction == CAROM_COULOMB_FRICTION)
    coulomb_solve_vjp(program, &e->options->cone, solution, f_bar, bars, scratch);
  else
    cone_solve_vjp(program, &e->options->cone, solution, f_bar, bars, scratch);
}

void phase_solve(const contact_event *e, const phase_problem *problem, phase_solution *all,
                 arena *scratch) {
  for (int island = 0; island < e->group.island_count; island++) {
    cone_program program = phase_program(e, problem, island);
    cone_solution solution = island_solution(e, all, island);
    if (is_settled(e, problem, island)) {
      cone_solution before = island_solution(e, problem->settled, island);
      settle(&program, &before, &solution);
      all->info[island] = solution.info;
      continue;
    }
    solve_program(e, &program, &solution, scratch);
    if (solution.info.status > CAROM_CONE_DEGENERATE && e->failures != NULL)
      program_log_add(e->failures, &program);
    if (solution.info.status == CAROM_CONE_SOLVED && has_held_normal(e, island))
      solution.info.status = CAROM_CONE_DEGENERATE;
    all->info[island] = solution.info;
  }
}

/* ---- the derivative ---------------------------------------------------------------------------- */

/* The derivative of the programs of all islands, from f_bar complete. */
static cone_cotangents programs_vjp(const contact_event *e, const phase_problem *problem,
                                    const phase_solution *all, phase_cotangents *phase,
                                    arena *scratch) {
  int d = e->mechanics->system->dimension;
  cone_cotangents bars = cone_cotangents_make(e->group.count, d, scratch);
  bars.p = phase->p;
  bars.mu = phase->mu;
  bars.lower = phase->lower;
  for (int island = 0; island < e->group.island_count; island++) {
    int begin = island_begin(e, island);
    cone_program program = phase_program(e, problem, island);
    cone_solution solution = island_solution(e, all, island);
    cone_cotangents part = {
        .p = bars.p + begin * d, .mu = bars.mu + begin, .lower = bars.lower + begin};
    for (int k = 0; k < CONE_PAIRS; k++)
      part.pair[k] = (cone_pair){bars.pair[k].p + begin * d, bars.pair[k].f + begin * d};
    solve_program_vjp(e, &program, &solution, phase->f + begin * d, &part, scratch);
    if (part.pair_count > bars.pair_count) bars.pair_count = part.pair_count;
  }
  return bars;
}

/* A pair of the derivative by A = J M^ J' is the term p' dA f. */
static void pair_vjp(const contact_event *e, const cone_pair *pair, const event_cotangents *bars,
                     arena *scratch) {
  int n = e->mechanics->system->coordinate_count;
  double *force_p = arena_zeros(scratch, n), *force_f = arena_zeros(scratch, n);
  event_jacobian_transpose(e, pair->p, force_p);
  event_jacobian_transpose(e, pair->f, force_f);
  mass_image left = mass_image_of(e, force_p, scratch);
  mass_image right = mass_image_of(e, force_f, scratch);
  mass_image_vjp(e, &left, &right, bars);
  event_jacobian_outer(e, 1, pair->p, right.u, bars->blocks);
  event_jacobian_outer(e, 1, pair->f, left.u, bars->blocks);
}

/* With f_bar complete and p from the cone program's derivative, the terms of the update, of
 * b = J v - target and of A = J M^ J',
 *
 *   f (x) M^ v+_bar  -  p (x) v  -  p (x) M^ J'f - f (x) M^ J'p ,
 *
 * add up: let alpha = v+_bar - J' p; then v_bar = alpha, J_bar = f (x) M^ alpha - p (x) v+, and M^
 * enters as alpha' dM^ (J' f). */
void phase_vjp(const contact_event *e, const phase_problem *problem, const phase_solution *solution,
               const double *v_after, phase_cotangents *phase, const event_cotangents *bars,
               arena *scratch) {
  const carom_system *s = e->mechanics->system;
  const double *f = solution->f;
  arena_mark mark = arena_save(scratch);

  // f_bar += J M^ v_bar
  double *rows = arena_doubles(scratch, e->size);
  event_jacobian(e, phase->response, rows);
  for (int i = 0; i < e->size; i++) phase->f[i] += rows[i];

  // p; b is constant along held axes, and that A is too needs no care, since terms with M^ J_i' vanish
  cone_cotangents cone = programs_vjp(e, problem, solution, phase, scratch);
  const double *p = cone.p;
  event_drop_held(e, cone.p);

  // alpha = v_bar - J' p
  for (int i = 0; i < e->size; i++) rows[i] = -p[i];
  event_jacobian_transpose(e, rows, phase->v);

  // alpha' dM^ (J' f), J_bar += f (x) M^ alpha - p (x) v+
  double *force = arena_doubles(scratch, s->coordinate_count);
  event_zero(e, force);
  event_jacobian_transpose(e, f, force);
  mass_image alpha = mass_image_of(e, phase->v, scratch);
  mass_image beta = mass_image_of(e, force, scratch);
  mass_image_vjp(e, &alpha, &beta, bars);
  event_copy(e, phase->response, alpha.u);
  event_jacobian_outer(e, 1, f, alpha.u, bars->blocks);
  event_jacobian_outer(e, -1, p, v_after, bars->blocks);
  for (int k = 0; k < cone.pair_count; k++) pair_vjp(e, &cone.pair[k], bars, scratch);

  // A + epsilon I
  if (e->options->contact == CAROM_CMR) {
    double sum = 0;
    for (int i = 0; i < e->size; i++) {
      sum -= p[i] * f[i];
      for (int k = 0; k < cone.pair_count; k++) sum += cone.pair[k].p[i] * cone.pair[k].f[i];
    }
    bars->theta[s->segments[CAROM_REGULARIZER].offset] += sum;
  }
  arena_restore(scratch, mark);
}
