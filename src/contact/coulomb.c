#include "contact/coulomb.h"

#include "base/vector.h"

#include <math.h>
#include <string.h>

/* Newton's method ends after few steps or not at all: of 8000 random programs of 1 to 8 contacts 19 took
 * plain steps, and 2 did not end. */
enum { MOST_NEWTON_STEPS = 12, MOST_PLAIN_STEPS = 500, NEWTON_EVERY = 32 };
static const double LEAST_SHARE = 0.125; /* of a Newton step */

/* A program with De Saxce's term, and what is known at a solution of it. */
typedef struct coulomb {
  const cone_program *given;
  cone_program program; /* b with gamma */
  const carom_cone_options *options;
  double *gamma; /* [contact_count] */
  double *b;     /* [C] of `program` */
  double *s;     /* [C] Af + b, without gamma */
  double *speed; /* [contact_count] |s_t| */
  int count;     /* contacts whose gamma matters: they slide and push freely */
  int *sliding;  /* [count] */
} coulomb;

static coulomb coulomb_make(const cone_program *given, const carom_cone_options *options,
                            arena *memory) {
  int size = given->contact_count * given->dimension;
  coulomb c = {.given = given,
               .program = *given,
               .options = options,
               .gamma = arena_zeros(memory, given->contact_count),
               .b = arena_doubles(memory, size),
               .s = arena_doubles(memory, size),
               .speed = arena_doubles(memory, given->contact_count),
               .sliding = ARENA_ARRAY(memory, int, given->contact_count)};
  c.program.b = c.b;
  return c;
}

static void set_gamma(coulomb *c, const double *gamma) {
  int d = c->given->dimension;
  memcpy(c->b, c->given->b, sizeof(double) * (size_t)(c->given->contact_count * d));
  for (int i = 0; i < c->given->contact_count; i++) {
    c->gamma[i] = gamma[i];
    c->b[i * d] += gamma[i];
  }
}

/* s = Af + b and |s_t|; contacts whose normal impulse answers to gamma, while they slide */
static void look(coulomb *c, const cone_solution *solution) {
  const cone_program *p = c->given;
  int d = p->dimension;
  envelope_multiply(&p->shape, p->A, solution->f, c->s);
  c->count = 0;
  for (int i = 0; i < p->contact_count; i++) {
    double *s = c->s + i * d;
    for (int k = 0; k < d; k++) s[k] += p->b[i * d + k];
    c->speed[i] = sqrt(vector_dot_small(s + 1, s + 1, d - 1));
    bool sticks = solution->state[i] == FREE_STICK || solution->state[i] == BOUND_STICK;
    if (sticks) c->speed[i] = 0;
    if (c->speed[i] > 0 && solution->state[i] != BOUND_SLIDE) c->sliding[c->count++] = i;
  }
}

/* rows += weight mu s_t / |s_t| of one sliding contact: the gradient of mu |s_t| by s */
static void add_direction(const coulomb *c, int contact, double weight, double *rows) {
  int d = c->given->dimension;
  for (int k = 1; k < d; k++)
    rows[contact * d + k] +=
        weight * c->given->mu[contact] * c->s[contact * d + k] / c->speed[contact];
}

/* The matrix [count][count] of how |s_t| answers to gamma: entry (i, j) is the derivative of mu_j |s_t,j| by gamma_i, from the
 * cone program's derivative with f_bar = A mu_j t_j, gamma_bar_i = -p_i,n. */
static double *sliding_matrix(const coulomb *c, cone_adjoint *adjoint, cone_cotangents *bars,
                              arena *memory) {
  int n = c->count, d = c->given->dimension, size = c->given->contact_count * d;
  double *matrix = arena_doubles(memory, n * n);
  double *rows = arena_zeros(memory, size), *f_bar = arena_doubles(memory, size);
  for (int j = 0; j < n; j++) {
    add_direction(c, c->sliding[j], 1, rows);
    envelope_multiply(&c->given->shape, c->given->A, rows, f_bar);
    cone_adjoint_apply(adjoint, f_bar, bars);
    for (int i = 0; i < n; i++) matrix[i * n + j] = -bars->p[c->sliding[i] * d];
    for (int k = 0; k < d; k++) rows[c->sliding[j] * d + k] = 0;
  }
  return matrix;
}

/* Solves (1 - matrix) z = z, or with the transposed matrix, by elimination; matrix is destroyed. A pivot
 * of zero leaves its unknown at zero. */
static void solve_linear(double *matrix, int n, bool transposed, double *z) {
  if (transposed)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < i; j++) {
        double other = matrix[i * n + j];
        matrix[i * n + j] = matrix[j * n + i];
        matrix[j * n + i] = other;
      }
  for (int i = 0; i < n * n; i++) matrix[i] = (i % (n + 1) == 0) - matrix[i];
  for (int k = 0; k < n; k++) {
    int pivot = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(matrix[i * n + k]) > fabs(matrix[pivot * n + k])) pivot = i;
    for (int j = 0; j < n && pivot != k; j++) {
      double other = matrix[k * n + j];
      matrix[k * n + j] = matrix[pivot * n + j];
      matrix[pivot * n + j] = other;
    }
    double right = z[k];
    z[k] = z[pivot];
    z[pivot] = right;
    for (int i = k + 1; i < n && matrix[k * n + k] != 0; i++) {
      double factor = matrix[i * n + k] / matrix[k * n + k];
      for (int j = k; j < n; j++) matrix[i * n + j] -= factor * matrix[k * n + j];
      z[i] -= factor * z[k];
    }
  }
  for (int k = n - 1; k >= 0; k--) {
    for (int j = k + 1; j < n; j++) z[k] -= matrix[k * n + j] * z[j];
    z[k] = matrix[k * n + k] != 0 ? z[k] / matrix[k * n + k] : 0;
  }
}

/* ---- the solution -------------------------------------------------------------------------------- */

/* By how much Coulomb's law is missed: |mu |s_t| - gamma| of contacts that push freely, an approach s_n < 0
 * of those at their bound, whatever their gamma is. */
static double mismatch(const coulomb *c, const cone_solution *solution) {
  double worst = 0;
  for (int i = 0; i < c->given->contact_count; i++) {
    bool bound = solution->state[i] == BOUND_STICK || solution->state[i] == BOUND_SLIDE;
    double off = bound ? fmax(0, -c->s[i * c->given->dimension])
                       : fabs(c->given->mu[i] * c->speed[i] - c->gamma[i]);
    if (!(off <= worst)) worst = off;
  }
  return worst;
}

/* next = gamma + Newton's step, not below 0; contacts that do not answer to gamma take mu |s_t| */
static void newton_step(const coulomb *c, const cone_solution *solution, cone_cotangents *bars,
                        double *next, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  for (int i = 0; i < c->given->contact_count; i++) next[i] = c->given->mu[i] * c->speed[i];
  if (c->count > 0) {
    cone_adjoint *adjoint = cone_adjoint_make(&c->program, c->options, solution, scratch);
    double *matrix = sliding_matrix(c, adjoint, bars, scratch);
    double *step = arena_doubles(scratch, c->count);
    for (int i = 0; i < c->count; i++) step[i] = next[c->sliding[i]] - c->gamma[c->sliding[i]];
    solve_linear(matrix, c->count, true, step);
    for (int i = 0; i < c->count; i++)
      next[c->sliding[i]] = fmax(0, c->gamma[c->sliding[i]] + step[i]);
  }
  arena_restore(scratch, mark);
}

/* Solves with gamma; returns by how much that misses mu |s_t|. */
static double try(coulomb *c, const double *gamma, bool warm, cone_solution *solution,
                  arena *scratch) {
  set_gamma(c, gamma);
  cone_solve(&c->program, c->options, warm, solution, scratch);
  look(c, solution);
  return mismatch(c, solution);
}

/* The size of the velocities that the program is about. */
static double program_speed(const cone_program *p) {
  double size = p->scale;
  for (int i = 0; i < p->contact_count * p->dimension; i++) size = fmax(size, fabs(p->b[i]));
  return size;
}

/* One step towards G = 0: Newton's, or a share of it that makes G smaller; if there is none, or it is not to
 * be tried, the plain gamma <- mu |s_t|. */
static double advance(coulomb *c, double off, bool newton, cone_solution *solution,
                      cone_cotangents *bars, arena *scratch) {
  int n = c->given->contact_count;
  arena_mark mark = arena_save(scratch);
  double *from = arena_doubles(scratch, n), *to = arena_doubles(scratch, n);
  double *plain = arena_doubles(scratch, n), *next = arena_doubles(scratch, n), now = off;
  for (int i = 0; i < n; i++) {
    from[i] = c->gamma[i];
    plain[i] = c->given->mu[i] * c->speed[i];
  }
  if (newton) newton_step(c, solution, bars, to, scratch);
  for (double share = 1; newton && share >= LEAST_SHARE && !(now < off); share /= 2) {
    for (int i = 0; i < n; i++) next[i] = from[i] + share * (to[i] - from[i]);
    now = try(c, next, true, solution, scratch);
  }
  if (!(now < off)) now = try(c, plain, true, solution, scratch);
  arena_restore(scratch, mark);
  return now;
}

/* Goes on from gamma until G is small enough: by Newton's method and, if that goes round in circles, from
 * 0 by plain steps, which are slow and sure, with one of Newton's now and then. Ends where G was smallest,
 * and returns that. */
static double settle_gamma(coulomb *c, double off, double enough, cone_solution *solution,
                           arena *scratch) {
  int n = c->given->contact_count;
  double *best = arena_zeros(scratch, n), *zero = arena_zeros(scratch, n), least = off;
  cone_cotangents bars = cone_cotangents_make(n, c->given->dimension, scratch);
  for (int k = 0; k < MOST_NEWTON_STEPS + MOST_PLAIN_STEPS && off > enough; k++) {
    bool first = k < MOST_NEWTON_STEPS;
    if (k == MOST_NEWTON_STEPS) off = try(c, zero, false, solution, scratch);
    off = advance(c, off, first || k % NEWTON_EVERY == 0, solution, &bars, scratch);
    if (off < least) {
      least = off;
      memcpy(best, c->gamma, sizeof(double) * (size_t)n);
    }
  }
  return off <= least ? off : try(c, best, false, solution, scratch);
}

void coulomb_solve(const cone_program *program, const carom_cone_options *options,
                   cone_solution *solution, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  coulomb c = coulomb_make(program, options, scratch);
  double off = try(&c, c.gamma, false, solution, scratch);
  double speed = program_speed(program), enough = options->tolerance * speed;
  if (solution->info.status <= CAROM_CONE_DEGENERATE && off > enough) {
    off = settle_gamma(&c, off, enough, solution, scratch);
    if (!(off <= enough) && solution->info.status <= CAROM_CONE_DEGENERATE) {
      solution->info.status = CAROM_CONE_INACCURATE;
      solution->info.residual = off / speed;
    }
  }
  // where A is singular the derivative holds for b in its range, which gamma leaves
  if (solution->info.status == CAROM_CONE_SOLVED && solution->info.singular && c.count > 0)
    solution->info.status = CAROM_CONE_DEGENERATE;
  arena_restore(scratch, mark);
}

/* ---- the derivative ------------------------------------------------------------------------------ */

/* At the solution f = F(A, b + gamma, mu, lower) and gamma = mu |s_t|, s = Af + b. With gamma_bar the
 * cotangent of gamma and s_bar = gamma_bar mu s_t / |s_t|,
 *
 *   f_bar' = f_bar + A s_bar,   p from the cone program's derivative at f_bar',   gamma_bar = -p_n
 *
 * which is linear in gamma_bar. Then b_bar = -p + s_bar and A_bar = -p f' + s_bar f' (made symmetric), so
 * p - s_bar stands for p; mu_bar += gamma_bar |s_t|. */
void coulomb_solve_vjp(const cone_program *program, const carom_cone_options *options,
                       const cone_solution *solution, const double *f_bar, cone_cotangents *bars,
                       arena *scratch) {
  arena_mark mark = arena_save(scratch);
  int d = program->dimension, size = program->contact_count * d;
  coulomb c = coulomb_make(program, options, scratch);
  double *gamma = arena_doubles(scratch, program->contact_count);
  look(&c, solution);
  for (int i = 0; i < program->contact_count; i++) gamma[i] = program->mu[i] * c.speed[i];
  set_gamma(&c, gamma);

  // gamma_bar: (1 - matrix) gamma_bar = -p_n of f_bar alone
  cone_adjoint *adjoint = cone_adjoint_make(&c.program, options, solution, scratch);
  cone_adjoint_apply(adjoint, f_bar, bars);
  double *gamma_bar = arena_doubles(scratch, c.count), *s_bar = arena_zeros(scratch, size);
  for (int i = 0; i < c.count; i++) gamma_bar[i] = -bars->p[c.sliding[i] * d];
  if (c.count > 0) {
    solve_linear(sliding_matrix(&c, adjoint, bars, scratch), c.count, false, gamma_bar);
    for (int i = 0; i < c.count; i++) add_direction(&c, c.sliding[i], gamma_bar[i], s_bar);
    double *all = arena_doubles(scratch, size);
    envelope_multiply(&program->shape, program->A, s_bar, all);
    for (int i = 0; i < size; i++) all[i] += f_bar[i];
    cone_adjoint_apply(adjoint, all, bars);
  }
  for (int i = 0; i < size; i++) bars->p[i] -= s_bar[i];
  for (int i = 0; i < c.count; i++) bars->mu[c.sliding[i]] += gamma_bar[i] * c.speed[c.sliding[i]];
  arena_restore(scratch, mark);
}
