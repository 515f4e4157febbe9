/* The derivative of the cone program against central differences of every input: full rank,
 * singular, smoothed, one-sided. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "support/cone_fixture.h"
#include "support/systems.h"

// a direction in the space of programs A = G'G, b = G'v. dG = Y G + G Z, with Z block-diagonal (it
// turns the frames of contacts), keeps the rank of A and of every set of contacts
typedef struct direction {
  double *dG, *db, *db2, *dmu, *dlower;
} direction;

// v with b = G'v, by conjugate gradients
static double *find_velocity(const cone_problem *problem) {
  int n = problem->program.shape.size, D = problem->freedom_count;
  double *v = arena_zeros(&memory, D), *rest = arena_zeros(&memory, D);
  double *step = arena_doubles(&memory, D), *image = arena_doubles(&memory, n);
  double *product = arena_doubles(&memory, D), norm = 0;
  for (int k = 0; k < D; k++) {
    for (int i = 0; i < n; i++) rest[k] += problem->G[k * n + i] * problem->b[i];
    step[k] = rest[k];
    norm += rest[k] * rest[k];
  }
  double first = norm;
  for (int count = 0; count < 1000 && norm > 1e-28 * first; count++) {
    double curvature = 0, last = norm;
    for (int i = 0; i < n; i++) {
      image[i] = 0;
      for (int k = 0; k < D; k++) image[i] += problem->G[k * n + i] * step[k];
    }
    for (int k = 0; k < D; k++) {
      product[k] = 0;
      for (int i = 0; i < n; i++) product[k] += problem->G[k * n + i] * image[i];
      curvature += step[k] * product[k];
    }
    norm = 0;
    for (int k = 0; k < D; k++) {
      v[k] += last / curvature * step[k];
      rest[k] -= last / curvature * product[k];
      norm += rest[k] * rest[k];
    }
    for (int k = 0; k < D; k++) step[k] = rest[k] + norm / last * step[k];
  }
  return v;
}

static direction random_direction(rng *r, const cone_problem *problem) {
  int n = problem->program.shape.size, D = problem->freedom_count;
  int count = problem->program.contact_count;
  const double *v = find_velocity(problem);
  direction way = {.dG = arena_zeros(&memory, D * n),
                   .db = arena_zeros(&memory, n),
                   .db2 = arena_zeros(&memory, n),
                   .dmu = arena_doubles(&memory, count),
                   .dlower = arena_doubles(&memory, count)};
  double *Y = arena_doubles(&memory, D * D), *Z = arena_doubles(&memory, n * n);
  for (int k = 0; k < D * D; k++) Y[k] = 0.3 * rng_normal(r);
  int d = problem->program.dimension;
  for (int k = 0; k < n * n; k++) Z[k] = k / n / d == k % n / d ? 0.1 * rng_normal(r) : 0;
  for (int k = 0; k < D; k++)
    for (int i = 0; i < n; i++) {
      double *entry = &way.dG[k * n + i];
      for (int m = 0; m < D; m++) *entry += Y[k * D + m] * problem->G[m * n + i];
      for (int m = 0; m < n; m++) *entry += problem->G[k * n + m] * Z[m * n + i];
    }
  for (int k = 0; k < D; k++) {
    double dv = rng_normal(r);
    for (int i = 0; i < n; i++) {
      way.db[i] += problem->G[k * n + i] * dv + way.dG[k * n + i] * v[k];
      way.db2[i] += way.dG[k * n + i] * dv;
    }
  }
  for (int i = 0; i < count; i++) {
    way.dmu[i] = 0.3 * problem->mu[i] * rng_normal(r);
    way.dlower[i] = problem->lower[i] * rng_normal(r);
  }
  return way;
}

static void move_along(const cone_problem *base, const direction *way, double step,
                       cone_problem *moved) {
  int n = base->program.shape.size, D = base->freedom_count;
  for (int i = 0; i < n; i++)
    moved->b[i] = base->b[i] + step * way->db[i] + step * step * way->db2[i];
  for (int i = 0; i < base->program.contact_count; i++) {
    moved->mu[i] = base->mu[i] + step * way->dmu[i];
    moved->lower[i] = base->lower[i] + step * way->dlower[i];
  }
  for (int k = 0; k < D * n; k++) moved->G[k] = base->G[k] + step * way->dG[k];
  cone_problem_assemble(moved);
}

static cone_problem copy_problem(const cone_problem *base) {
  int n = base->program.shape.size, count = base->program.contact_count;
  cone_problem copy = *base;
  copy.program.A = copy.A = arena_doubles(&memory, base->program.shape.start[n]);
  copy.program.b = copy.b = arena_doubles(&memory, n);
  copy.program.mu = copy.mu = arena_doubles(&memory, count);
  copy.program.lower = copy.lower = arena_doubles(&memory, count);
  copy.G = arena_doubles(&memory, n * base->freedom_count);
  return copy;
}

// p'dA f of one row of G
static double pair_term(int n, const double *G, const double *dG, const double *p,
                        const double *f) {
  double gp = 0, gf = 0, dp = 0, df = 0;
  for (int i = 0; i < n; i++)
    gp += G[i] * p[i], gf += G[i] * f[i], dp += dG[i] * p[i], df += dG[i] * f[i];
  return gp * df + dp * gf;
}

// f_bar . df along the direction, from the derivative
static double predict(const cone_problem *problem, const direction *way,
                      const cone_solution *solution, double smoothing, const double *f_bar) {
  int n = problem->program.shape.size, count = problem->program.contact_count;
  const cone_cotangents bars = solve_vjp(&problem->program, solution, smoothing, f_bar);
  const double *p = bars.p;
  double sum = 0;
  for (int i = 0; i < n; i++) sum -= p[i] * way->db[i];
  for (int i = 0; i < count; i++) sum += bars.mu[i] * way->dmu[i] + bars.lower[i] * way->dlower[i];
  // A_bar . dA with dA = dG'G + G'dG
  for (int k = 0; k < problem->freedom_count; k++) {
    const double *G = problem->G + k * n, *dG = way->dG + k * n;
    sum -= pair_term(n, G, dG, p, solution->f);
    for (int m = 0; m < CONE_PAIRS; m++) sum += pair_term(n, G, dG, bars.pair[m].p, bars.pair[m].f);
  }
  return sum;
}

// 1 if the derivative was compared, 0 if a state changes within the differences
static int check_derivative(rng *r, const cone_problem *problem, double smoothing,
                            double tolerance) {
  int n = problem->program.shape.size;
  cone_solution s = solve(&problem->program, smoothing);
  if (s.info.status != CAROM_CONE_SOLVED) return 0;
  direction way = random_direction(r, problem);
  double *f_bar = arena_doubles(&memory, n), best = INFINITY;
  for (int i = 0; i < n; i++) f_bar[i] = rng_normal(r);
  double expected = predict(problem, &way, &s, smoothing, f_bar);
  cone_problem moved = copy_problem(problem);
  bool compared = false;
  for (double step = 1e-4; step > 5e-8; step /= 10) {
    double value[2] = {0, 0};
    bool changed = false;
    for (int side = 0; side < 2; side++) {
      move_along(problem, &way, side == 0 ? -step : step, &moved);
      cone_solution other = solve(&moved.program, smoothing);
      for (int i = 0; i < n; i++) value[side] += f_bar[i] * other.f[i];
      changed = changed || other.info.status != CAROM_CONE_SOLVED ||
                memcmp(other.state, s.state, (size_t)problem->program.contact_count) != 0;
    }
    if (changed) continue;
    compared = true;
    double difference = (value[1] - value[0]) / (2 * step);
    best = fmin(best, fabs(difference - expected) / (fabs(expected) + 1e-2));
  }
  if (compared && !(best <= tolerance)) fail_msg("derivative off by %g of %g", best, expected);
  return compared;
}

static void check_derivatives(const problem_kind *kind, uint64_t seed, double smoothing, int count,
                              int at_least) {
  int compared = 0;
  for (int t = 0; t < count; t++) {
    clear_memory(NULL);
    rng r;
    rng_seed(&r, seed, (uint64_t)t);
    cone_problem problem = cone_problem_random(&r, kind, &memory);
    compared += check_derivative(&r, &problem, smoothing, 1e-6);
  }
  assert_true(compared >= at_least);
}

// more bodies than contacts: A has full rank
static void test_derivative_full_rank(void **state) {
  (void)state;
  for (int d = 2; d <= 3; d++)
    for (int contacts = 1; contacts <= 5; contacts += 2) {
      problem_kind kind = {
          .dimension = d, .contact_count = contacts, .body_count = 3 * contacts, .mass_ratio = 10};
      check_derivatives(&kind, 31, 0, 30, 25);
      kind.restitution = true;
      check_derivatives(&kind, 32, 0, 30, 20);
    }
}

// one body: A has rank 3 or 6
static void test_derivative_singular(void **state) {
  (void)state;
  for (int d = 2; d <= 3; d++)
    for (int contacts = 2; contacts <= 8; contacts += 3) {
      problem_kind kind = {
          .dimension = d, .contact_count = contacts, .body_count = 1, .mass_ratio = 1};
      check_derivatives(&kind, 33, 0, 30, 25);
      kind.restitution = true;
      check_derivatives(&kind, 34, 0, 30, 20);
    }
}

// where A is singular the smoothed problem is as ill-conditioned as 1 / kappa, and differences
// cannot resolve its derivative for small kappa
static void test_derivative_smoothed(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    problem_kind kind = {.mass_ratio = 10, .restitution = true};
    check_derivatives(&kind, 35, k == 0 ? 1e-1 : 1e-3, 25, 25);
    kind = (problem_kind){.mass_ratio = 10, .any_friction = true};
    check_derivatives(&kind, 36, k == 0 ? 1e-1 : 1e-3, 25, 25);
    kind = (problem_kind){
        .mass_ratio = 10, .contact_count = 4, .body_count = 12, .restitution = k == 0};
    // rounding of the products, 1e-16 / kappa, comes to the tolerance here and there
    check_derivatives(&kind, 37, 1e-5, 25, 22);
  }
}

// derivative to the right at mu = 0 and at lower = 0 of a separating contact
static void test_derivative_one_sided(void **state) {
  (void)state;
  double A[] = {2, 0.3, 1.5}, b[] = {-1, 0.7}, mu[] = {0}, lower[] = {0}, f_bar[] = {0.4, -1.1};
  double value[2];
  const double step = 1e-7;
  cone_program program = dense_program(1, 2, A, b, mu, lower, &memory);
  cone_solution s = solve(&program, 0);
  cone_cotangents bars = solve_vjp(&program, &s, 0, f_bar);
  for (int k = 0; k < 2; k++) {
    mu[0] = k * step;
    s = solve(&program, 0);
    value[k] = f_bar[0] * s.f[0] + f_bar[1] * s.f[1];
  }
  assert_near(bars.mu[0], (value[1] - value[0]) / step, 1e-6);

  b[0] = 1;
  mu[0] = 0.5;
  s = solve(&program, 0);
  bars = solve_vjp(&program, &s, 0, f_bar);

  // a bound below zero is void, and has no derivative
  lower[0] = -1;
  cone_solution unbound = solve(&program, 0);
  assert_true(solve_vjp(&program, &unbound, 0, f_bar).lower[0] == 0);
  lower[0] = step;
  s = solve(&program, 0);
  assert_near(bars.lower[0], (f_bar[0] * s.f[0] + f_bar[1] * s.f[1]) / step, 1e-6);
}

// the smoothed solution goes to the solution, and a first-order bound on how fast
static void test_smoothing_vanishes(void **state) {
  (void)state;
  rng r;
  rng_seed(&r, 37, 0);
  problem_kind kind = {.dimension = 3, .contact_count = 3, .body_count = 9, .mass_ratio = 3};
  cone_problem problem = cone_problem_random(&r, &kind, &memory);
  cone_solution hard = solve(&problem.program, 0);
  double last = INFINITY;
  for (double kappa = 1e-2; kappa > 1e-9; kappa /= 10) {
    cone_solution soft = solve(&problem.program, kappa);
    double distance = 0;
    for (int k = 0; k < problem.program.shape.size; k++)
      distance = fmax(distance, fabs(soft.f[k] - hard.f[k]));
    assert_true(distance < 0.3 * last);
    last = distance;
  }
  assert_true(last < 1e-6);
}

/* The derivative is that of the program that was solved, whatever became of its arrays since; b_n < 0
 * presses the contact, b_n > 0 leaves it at its lower bound, where it slides. */
static void change_after_solve(double b_n) {
  double A[4] = {2, 0.3, 0.3, 1.5}, b[2] = {b_n, 0.8}, mu[1] = {0.4}, lower[1] = {0.1};
  double f[2], f_bar[2] = {1, -0.5}, bars[2][4 + 2 + 1 + 1];
  carom_cone_program program = {
      .contact_count = 1, .dimension = 2, .A = A, .b = b, .mu = mu, .lower = lower};
  carom_error error;
  carom_cone_solver *solver;
  assert_int_equal(carom_cone_solver_create(&solver, &error), CAROM_OK);
  for (int pass = 0; pass < 2; pass++) {
    double *bar = bars[pass];
    assert_int_equal(carom_cone_solver_solve(solver, &program, NULL, f, NULL, &error), CAROM_OK);
    for (int k = 0; pass == 1 && k < 4; k++) A[k] = 7 + k;
    if (pass == 1) b[0] = b[1] = mu[0] = lower[0] = 9;
    assert_int_equal(carom_cone_solver_vjp(solver, f_bar, bar, bar + 4, bar + 6, bar + 7, &error),
                     CAROM_OK);
  }
  assert_memory_equal(bars[0], bars[1], sizeof bars[0]);
  assert_int_equal(carom_cone_solver_solve_count(solver), 2);

  // a solve that is refused leaves nothing to differentiate
  mu[0] = -1;
  assert_int_equal(carom_cone_solver_solve(solver, &program, NULL, f, NULL, &error),
                   CAROM_INVALID_ARGUMENT);
  assert_int_equal(carom_cone_solver_vjp(solver, f_bar, NULL, NULL, NULL, NULL, &error),
                   CAROM_INVALID_ARGUMENT);
  assert_int_equal(carom_cone_solver_solve_count(solver), 2);
  carom_cone_solver_destroy(solver);
}

static void test_program_may_change_after_solve(void **state) {
  (void)state;
  change_after_solve(-1);
  change_after_solve(1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_program_may_change_after_solve),
      cmocka_unit_test_setup(test_derivative_full_rank, clear_memory),
      cmocka_unit_test_setup(test_derivative_singular, clear_memory),
      cmocka_unit_test_setup(test_derivative_smoothed, clear_memory),
      cmocka_unit_test_setup(test_derivative_one_sided, clear_memory),
      cmocka_unit_test_setup(test_smoothing_vanishes, clear_memory),
  };
  return cmocka_run_group_tests(tests, open_memory, close_memory);
}
