#include "contact/lcp.h"

#include "base/vector.h"
#include "contact/cone_active_set.h"
#include "contact/cone_range.h"
#include "contact/lcp_lemke.h"

#include <math.h>
#include <string.h>

enum { FIRST_STEPS = 12, POLISH_STEPS = 8, PROXIMAL_STEPS = 30 };

/* delta, of the stiffness: the path that Newton's method follows, that of Lemke's pivots, of proximal points. */
static const double FIRST_DELTA = 1, LAST_DELTA = 1e-9, DELTA_RATIO = 0.01;
static const double LEMKE_DELTA[] = {0, 1e-9, 1e-6};
static const double PROXIMAL_DELTA = 1e-5;

/* A contact whose impulse or velocity is nearer to a border of its state than this, beside the speed, may be in either. */
static const double BORDER = 1e-9;

/* Impulses that grow in this proportion when delta falls by 100 have no limit: there is no solution. */
static const double GROWTH = 10;

/* The problem while it is solved. */
typedef struct lcp {
  lcp_equations equations;
  double tolerance;
  unsigned char *state; /* [contact_count] of equations.f */
  unsigned char *next;  /* [contact_count] that the map says */
  double residual;
  bool singular;
  int steps, pivots;
  arena *scratch;
} lcp;

static lcp lcp_make(const cone_program *program, carom_friction_law law, double tolerance,
                    arena *scratch) {
  int count = program->contact_count;
  return (lcp){.equations = lcp_equations_make(program, law, scratch),
               .tolerance = tolerance,
               .state = ARENA_ARRAY(scratch, unsigned char, count),
               .next = ARENA_ARRAY(scratch, unsigned char, count),
               .scratch = scratch};
}

static size_t state_bytes(const lcp *p) { return (size_t)p->equations.program->contact_count; }

/* largest |f| beside what the data let expect */
static double magnitude(const lcp_equations *e) {
  int d = e->program->dimension;
  double largest = 0;
  for (int k = 0; k < e->program->shape.size; k++) {
    double size = fabs(e->f[k]) / (e->scale.rho[k / d] * e->scale.speeds[k / d]);
    if (!(size <= largest)) largest = size;
  }
  return largest;
}

/* f and s of the states, and what the map makes of them */
static void solve_states(lcp *p) {
  lcp_equations *e = &p->equations;
  arena_mark mark = arena_save(p->scratch);
  lcp_set_states(e, p->state);
  general_inverse inverse = lcp_factor(e, p->scratch);
  lcp_solve_states(e, &inverse);
  p->singular = inverse.rank < e->size;
  p->residual = lcp_map(e, p->next);
  p->steps++;
  arena_restore(p->scratch, mark);
}

/* Newton's method from the states in `next`; solved if the map leaves f where it is. */
static bool newton(lcp *p, int steps) {
  for (int k = 0; k < steps; k++) {
    if (k > 0 && memcmp(p->state, p->next, state_bytes(p)) == 0) return false;
    memcpy(p->state, p->next, state_bytes(p));
    solve_states(p);
    if (p->residual <= p->tolerance && magnitude(&p->equations) <= CONE_LARGEST_IMPULSE)
      return true;
  }
  return false;
}

/* next = the states that the map has at f */
static void states_at(lcp *p, const double *f) {
  lcp_equations *e = &p->equations;
  if (f != e->f) vector_copy(e->f, f, e->program->shape.size);
  lcp_velocity(e);
  p->residual = lcp_map(e, p->next);
}

static void begin(lcp *p) {
  memset(p->equations.f, 0, sizeof(double) * (size_t)p->equations.program->shape.size);
  states_at(p, p->equations.f);
}

/* ---- where Newton's method does not settle ------------------------------------------------------ */

static bool follow_path(lcp *p) {
  lcp_equations *e = &p->equations;
  begin(p);
  for (double delta = FIRST_DELTA; delta > 0.5 * LAST_DELTA; delta *= DELTA_RATIO) {
    e->delta = delta * e->scale.stiffness;
    newton(p, FIRST_STEPS);
  }
  e->delta = 0;
  return newton(p, POLISH_STEPS);
}

static bool pivot(lcp *p) {
  lcp_equations *e = &p->equations;
  double *f = arena_doubles(p->scratch, e->program->shape.size);
  for (size_t k = 0; k < sizeof LEMKE_DELTA / sizeof LEMKE_DELTA[0]; k++) {
    e->delta = LEMKE_DELTA[k] * e->scale.stiffness;
    bool ended = lcp_lemke(e, f, &p->pivots, p->scratch);
    states_at(p, f);
    e->delta = 0;
    if (ended && newton(p, POLISH_STEPS)) return true;
  }
  return false;
}

/* The solution with A + delta I, by whichever method has it. */
static bool solve_regularised(lcp *p, double delta) {
  lcp_equations *e = &p->equations;
  e->delta = delta * e->scale.stiffness;
  states_at(p, e->f);
  if (newton(p, FIRST_STEPS)) return true;
  double *f = arena_doubles(p->scratch, e->program->shape.size);
  bool ended = lcp_lemke(e, f, &p->pivots, p->scratch);
  states_at(p, f);
  return ended && newton(p, POLISH_STEPS);
}

/* f <- solution with A + delta I and b - delta f: what is left of the residual is delta times the change of f */
static bool proximate(lcp *p) {
  lcp_equations *e = &p->equations;
  const double *given = e->b;
  int size = e->program->shape.size;
  double *b = arena_doubles(p->scratch, size), *f = arena_zeros(p->scratch, size);
  bool found = false, solved = true;
  vector_copy(e->f, f, size);
  for (int k = 0; k < PROXIMAL_STEPS && solved && !found; k++) {
    for (int i = 0; i < size; i++) b[i] = given[i] - PROXIMAL_DELTA * e->scale.stiffness * f[i];
    e->b = b;
    solved = solve_regularised(p, PROXIMAL_DELTA);
    vector_copy(f, e->f, size);
    e->b = given;
    e->delta = 0;
    if (!solved) break;
    states_at(p, f);
    found = p->residual <= p->tolerance && magnitude(e) <= CONE_LARGEST_IMPULSE;
  }
  if (found) memcpy(p->state, p->next, state_bytes(p));
  return found;
}

/* There is no solution, or none was found. */
static carom_cone_status soften(lcp *p) {
  lcp_equations *e = &p->equations;
  bool closer = solve_regularised(p, LCP_SOFTNESS * DELTA_RATIO);
  double close = magnitude(e);
  bool solved = solve_regularised(p, LCP_SOFTNESS);
  if (!solved) {
    begin(p);
    memset(p->state, LCP_OPEN, state_bytes(p));
  }
  bool grows = closer && solved && close > GROWTH * magnitude(e);
  e->delta = 0;
  lcp_velocity(e);
  p->residual = lcp_map(e, p->next);
  return grows ? CAROM_CONE_UNBOUNDED : CAROM_CONE_INACCURATE;
}

/* ---- the solution ------------------------------------------------------------------------------- */

/* Is a contact of the solution on the border of two states? */
static bool on_border(const lcp *p, int i) {
  const lcp_equations *e = &p->equations;
  int d = e->program->dimension;
  const double *f = e->f + i * d, *s = e->s + i * d;
  double speed = e->scale.speeds[i], impulse = e->scale.rho[i] * speed, mu = e->program->mu[i];
  double first = d > 1 ? fabs(f[1]) : 0, second = d > 2 ? fabs(f[2]) : 0;
  if (p->state[i] == LCP_OPEN) return lcp_opening(e, i) <= BORDER * speed;
  if (f[0] <= BORDER * impulse) return true;
  if (mu == 0 || d == 1) return false;
  if (p->state[i] == LCP_STICK) return mu * f[0] - first - second <= BORDER * impulse;
  double sliding = fmax(fabs(s[1]), d > 2 ? fabs(s[2]) : 0);
  if (sliding <= BORDER * speed) return true;
  if (d == 2) return false;
  bool edge = e->on[i].count == 2;
  return edge ? fmin(first, second) <= BORDER * impulse
              : sliding - fmin(fabs(s[1]), fabs(s[2])) <= BORDER * speed;
}

static void take(const lcp *p, cone_solution *solution) {
  const cone_program *program = p->equations.program;
  int d = program->dimension;
  bool border = false;
  for (int i = 0; i < program->contact_count; i++) {
    // at mu = 0 the state is that of a small mu, which is of use to the derivative alone
    bool smooth = program->mu[i] == 0 && p->state[i] != LCP_OPEN && p->next[i] != LCP_OPEN;
    solution->state[i] = smooth ? p->next[i] : p->state[i];
    border = border || on_border(p, i);
    lcp_project(d, program->mu[i], p->equations.f + i * d, solution->f + i * d);
  }
  solution->info.singular = p->singular;
  if (border && solution->info.status == CAROM_CONE_SOLVED)
    solution->info.status = CAROM_CONE_DEGENERATE;
}

/* Drift off the constraints in b, which no impulse can change, is left out where nothing is solved with it. */
static bool solve_within_range(lcp *p, double most, cone_solution *solution) {
  const cone_program *program = p->equations.program;
  cone_range range = cone_range_make(program, &p->equations.scale, p->scratch);
  if (!range.deficient || range.share > most || range.share <= CONE_RANGE_ROUNDING) return false;
  p->equations.b = range.b;
  begin(p);
  bool solved = newton(p, FIRST_STEPS) || follow_path(p) || pivot(p);
  p->equations.b = program->b;
  solution->info.projected = solved;
  return solved;
}

static void solve_hard(lcp *p, cone_solution *solution) {
  carom_cone_info *info = &solution->info;
  info->status = CAROM_CONE_SOLVED;
  begin(p);
  if (newton(p, FIRST_STEPS) || solve_within_range(p, CONE_DRIFT, solution) || follow_path(p) ||
      pivot(p))
    return;
  info->status = CAROM_CONE_DEGENERATE;
  if (proximate(p) || solve_within_range(p, CONE_MOST_DRIFT, solution)) return;
  info->status = soften(p);
}

static bool is_finite(const double *x, int count) {
  double sum = 0;
  for (int k = 0; k < count; k++) sum += x[k] * 0;
  return sum == 0;
}

static bool is_valid(const cone_program *program) {
  int count = program->contact_count, size = program->shape.size;
  if (!is_finite(program->A, program->shape.start[size]) || !is_finite(program->b, size) ||
      !is_finite(program->mu, count))
    return false;
  for (int i = 0; i < count; i++)
    if (program->mu[i] < 0) return false;
  for (int k = 0; k < size; k++)
    if (program->A[program->shape.start[k + 1] - 1] < 0) return false;
  return true;
}

/* `lower` is not part of the problem: the scales are those without it. */
static cone_program without_bounds(const cone_program *given, arena *scratch) {
  cone_program program = *given;
  program.lower = arena_zeros(scratch, given->contact_count);
  return program;
}

void lcp_solve(const cone_program *given, carom_friction_law law, const carom_cone_options *options,
               cone_solution *solution, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  solution->info = (carom_cone_info){.status = CAROM_CONE_SOLVED};
  if (given->contact_count > 0 && !is_valid(given)) {
    solution->info.status = CAROM_CONE_INVALID;
    solution->info.residual = INFINITY;
    memset(solution->f, 0, sizeof(double) * (size_t)given->shape.size);
    memset(solution->state, LCP_OPEN, (size_t)given->contact_count);
  } else if (given->contact_count > 0) {
    cone_program program = without_bounds(given, scratch);
    lcp p = lcp_make(&program, law, options->tolerance, scratch);
    solve_hard(&p, solution);
    take(&p, solution);
    solution->info.residual = p.residual;
    solution->info.newton_steps = p.steps;
    solution->info.interior_steps = p.pivots;
  }
  arena_restore(scratch, mark);
}

double lcp_residual(const cone_program *given, carom_friction_law law, const double *f,
                    arena *scratch) {
  if (given->contact_count == 0) return 0;
  arena_mark mark = arena_save(scratch);
  cone_program program = without_bounds(given, scratch);
  lcp p = lcp_make(&program, law, 0, scratch);
  states_at(&p, f);
  arena_restore(scratch, mark);
  return p.residual;
}

/* ---- the derivative ------------------------------------------------------------------------------ */

/* b was projected on the range of A; see range_vjp in cone_vjp.c, which has the equations. */
static void range_vjp(const cone_range *range, const cone_program *program, const double *f,
                      cone_cotangents *bars, arena *scratch) {
  int size = program->shape.size;
  double *image = arena_doubles(scratch, size);
  cone_pair *first = &bars->pair[bars->pair_count], *second = first + 1;
  bars->pair_count += 2;
  vector_copy(image, program->b, size);
  semidefinite_solve(&range->A, image);
  vector_copy(second->p, bars->p, size);
  semidefinite_solve(&range->A, second->p);
  vector_copy(second->f, range->outside, size);
  vector_copy(first->p, bars->p, size);
  semidefinite_null(&range->A, first->p);
  for (int k = 0; k < size; k++) {
    bars->p[k] -= first->p[k];
    first->p[k] = -first->p[k];
    first->f[k] = f[k] + image[k];
    second->p[k] = -second->p[k];
  }
}

/* mu_bar += the derivative of a term left' (A + delta I) T y by the mu in T, or of right.T y */
static void slope_vjp(const lcp_equations *e, double scale, const double *rows, const double *y,
                      double *mu_bar) {
  int d = e->program->dimension;
  for (int i = 0; i < e->program->contact_count; i++)
    if (e->on[i].count > 0)
      mu_bar[i] += scale * y[e->offset[i]] * vector_dot_small(e->on[i].slope, rows + i * d, d);
}

/* On the states f = T y with G y = -R'b, G = R'AT. With u = (G')^+ T'f_bar and p = R u,
 *
 *   b_bar = -p,   A_bar = -p f',   mu_bar = (f_bar - A p).(dT/dmu y) .
 *
 * Where G is singular y is the solution of least norm, whose derivative has one more term (Golub and Pereyra),
 * (I - G^+ G) dG' z with z = (G')^+ y: with q = (I - G^+ G) T'f_bar it is the pair (R z, T q), and
 * mu_bar += (A R z).(dT/dmu q). It holds for changes that keep the rank. By the convex law R = T changes with mu too:
 * mu_bar -= s.(dT/dmu u), mu_bar += (A T q).(dT/dmu z). */
void lcp_solve_vjp(const cone_program *given, carom_friction_law law, const cone_solution *solution,
                   const double *f_bar, cone_cotangents *bars, arena *scratch) {
  int count = given->contact_count, size = given->shape.size;
  memset(bars->p, 0, sizeof(double) * (size_t)size);
  memset(bars->mu, 0, sizeof(double) * (size_t)count);
  memset(bars->lower, 0, sizeof(double) * (size_t)count);
  bars->pair_count = 0;
  for (int k = 0; k < CONE_PAIRS; k++) {
    memset(bars->pair[k].p, 0, sizeof(double) * (size_t)size);
    memset(bars->pair[k].f, 0, sizeof(double) * (size_t)size);
  }
  if (count == 0 || solution->info.status == CAROM_CONE_INVALID) return;
  arena_mark mark = arena_save(scratch);
  cone_program program = without_bounds(given, scratch);
  lcp_equations e = lcp_equations_make(&program, law, scratch);
  if (solution->info.status > CAROM_CONE_DEGENERATE) e.delta = LCP_SOFTNESS * e.scale.stiffness;
  cone_range range = {0};
  if (solution->info.projected) {
    range = cone_range_make(&program, &e.scale, scratch);
    e.b = range.b;
  }
  lcp_set_states(&e, solution->state);
  general_inverse inverse = lcp_factor(&e, scratch);
  lcp_solve_states(&e, &inverse);

  double *u = arena_doubles(scratch, size), *rows = arena_doubles(scratch, size);
  lcp_reduce_impulse(&e, f_bar, u);
  general_solve_transposed(&inverse, u);
  lcp_expand(&e, u, bars->p);
  lcp_multiply(&e, e.delta, bars->p, rows);
  for (int k = 0; k < size; k++) rows[k] = f_bar[k] - rows[k];
  slope_vjp(&e, 1, rows, e.y, bars->mu);
  if (e.convex) slope_vjp(&e, -1, e.s, u, bars->mu);

  if (inverse.rank < e.size) {
    cone_pair *pair = &bars->pair[bars->pair_count++];
    double *z = arena_doubles(scratch, e.size), *q = arena_doubles(scratch, e.size);
    vector_copy(z, e.y, e.size);
    general_solve_transposed(&inverse, z);
    lcp_reduce_impulse(&e, f_bar, q);
    general_null(&inverse, q);
    lcp_expand(&e, z, pair->p);
    lcp_expand_impulse(&e, q, pair->f);
    lcp_multiply(&e, e.delta, pair->p, rows);
    slope_vjp(&e, 1, rows, q, bars->mu);
    lcp_multiply(&e, e.delta, pair->f, rows);
    if (e.convex) slope_vjp(&e, 1, rows, z, bars->mu);
  }
  if (solution->info.projected) range_vjp(&range, given, solution->f, bars, scratch);
  arena_restore(scratch, mark);
}
