/* The cone program: solutions and derivatives against the reference, closed forms, central
 * differences; the public interface. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "carom.h"
#include "support/cone_problems.h"
#include "support/golden.h"

static arena memory, scratch;

static int clear_memory(void **state) {
  (void)state;
  arena_restore(&memory, (arena_mark){0});
  return 0;
}

static void assert_near(double a, double b, double tolerance) {
  if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g (difference %g)", a, b, a - b);
}

static cone_solution solve(const cone_program *program, double smoothing) {
  carom_cone_options options = carom_default_cone_options();
  options.smoothing = smoothing;
  cone_solution solution = cone_solution_make(program, &memory);
  cone_solve(program, &options, false, &solution, &scratch);
  return solution;
}

// every optimality condition, written out on its own
static void assert_optimal(const cone_program *program, const double *f, double tolerance) {
  int d = program->dimension, size = program->shape.size;
  double *s = arena_doubles(&memory, size), largest = 0;
  envelope_multiply(&program->shape, program->A, f, s);
  for (int k = 0; k < size; k++) {
    s[k] += program->b[k];
    largest = fmax(largest, fabs(program->b[k]));
  }
  double close = tolerance * fmax(largest, 1);
  for (int i = 0; i < program->contact_count; i++) {
    const double *fi = f + i * d, *si = s + i * d;
    double mu = d == 1 ? 0 : program->mu[i], tangent = 0, speed = 0, along = 0;
    for (int k = 1; k < d; k++) {
      tangent += fi[k] * fi[k];
      speed += si[k] * si[k];
      along += fi[k] * si[k];
    }
    tangent = sqrt(tangent);
    speed = sqrt(speed);
    // in the cone and above the bound
    assert_true(fi[0] >= program->lower[i] - 1e-14 * fabs(fi[0]));
    assert_true(tangent <= mu * fi[0] * (1 + 1e-12));
    // s in the dual cone; friction against sliding; f_n - lower and the normal rest complementary
    assert_true(si[0] - mu * speed >= -close);
    assert_near(along, -mu * fi[0] * speed, close * fmax(fi[0], 1));
    assert_near((fi[0] - program->lower[i]) * (si[0] - mu * speed), 0, close * fmax(fi[0], 1));
  }
}

// ---- golden cone programs

typedef struct golden_program {
  int contacts, dimension, rows, size;
  double *decomposition, *v, *v_star, *mu, *target, *cotangent, *f, *product;
  double *A, *b, *lower;
} golden_program;

static double *golden_array(const json_t *problem, const char *name) {
  int count;
  double *numbers = golden_numbers(golden_get(problem, name), &count);
  if (numbers == NULL) return NULL;
  double *copy = arena_doubles(&memory, count);
  memcpy(copy, numbers, sizeof(double) * (size_t)count);
  free(numbers);
  return copy;
}

static golden_program read_golden(const json_t *problem) {
  golden_program g = {.contacts = (int)golden_number(problem, "n_cld"),
                      .dimension = (int)golden_number(problem, "d"),
                      .rows = (int)json_array_size(golden_get(problem, "A_decom"))};
  g.size = g.contacts * g.dimension;
  g.decomposition = golden_array(problem, "A_decom");
  g.v = golden_array(problem, "v");
  g.v_star = golden_array(problem, "v_star");
  g.mu = golden_array(problem, "mu");
  g.target = golden_array(problem, "target");
  g.cotangent = golden_array(problem, "g");
  g.f = golden_array(problem, "f_polished");
  g.product = golden_array(problem, "Af_polished");
  g.A = arena_zeros(&memory, g.size * g.size);
  g.b = arena_doubles(&memory, g.size);
  g.lower = arena_zeros(&memory, g.contacts);
  for (int i = 0; i < g.size; i++) {
    g.b[i] = g.v[i] - (g.v_star != NULL ? g.v_star[i] : 0);
    for (int j = 0; j < g.size; j++)
      for (int r = 0; r < g.rows; r++)
        g.A[i * g.size + j] += g.decomposition[r * g.size + i] * g.decomposition[r * g.size + j];
  }
  for (int i = 0; i < g.contacts && g.target != NULL; i++) g.lower[i] = fmax(g.target[i], 0);
  return g;
}

static bool same(const double *a, const double *b, int count, double tolerance) {
  double largest = 0, difference = 0;
  for (int k = 0; k < count; k++) {
    largest = fmax(largest, fabs(b[k]));
    difference = fmax(difference, fabs(a[k] - b[k]));
  }
  return difference <= tolerance * fmax(largest, 1e-3);
}

// compares where the reference's own differences agree with it; returns 1 if it did
static int compare_gradient(const json_t *problem, const char *name, const double *gradient,
                            int count) {
  char path[64];
  snprintf(path, sizeof path, "fd_agrees/%s", name);
  if (!json_is_true(golden_get(problem, path))) return 0;
  snprintf(path, sizeof path, "grad_svd/%s", name);
  const double *reference = golden_array(problem, path);
  if (!same(gradient, reference, count, 1e-5))
    fail_msg("gradient by %s of problem %d (%s)", name, (int)golden_number(problem, "id"),
             json_string_value(golden_get(problem, "name")));
  return 1;
}

static int check_golden_gradients(carom_cone_solver *solver, const json_t *problem,
                                  const golden_program *g) {
  double *A_bar = arena_doubles(&memory, g->size * g->size);
  double *b_bar = arena_doubles(&memory, g->size), *mu_bar = arena_doubles(&memory, g->contacts);
  double *lower_bar = arena_doubles(&memory, g->contacts);
  double *factor_bar = arena_zeros(&memory, g->rows * g->size);
  assert_int_equal(
      carom_cone_solver_vjp(solver, g->cotangent, A_bar, b_bar, mu_bar, lower_bar, NULL), CAROM_OK);
  for (int r = 0; r < g->rows; r++)
    for (int i = 0; i < g->size; i++)
      for (int j = 0; j < g->size; j++)
        factor_bar[r * g->size + i] +=
            2 * g->decomposition[r * g->size + j] * A_bar[j * g->size + i];
  int compared = compare_gradient(problem, "A_decom", factor_bar, g->rows * g->size) +
                 compare_gradient(problem, "v", b_bar, g->size) +
                 compare_gradient(problem, "mu", mu_bar, g->contacts) +
                 compare_gradient(problem, "target", lower_bar, g->contacts);
  for (int k = 0; k < g->size; k++) b_bar[k] = -b_bar[k];
  return compared + compare_gradient(problem, "v_star", b_bar, g->size);
}

static void test_golden(void **state) {
  (void)state;
  json_t *root = golden_load("cone_programs.json");
  json_t *problems = golden_get(root, "problems");
  carom_cone_solver *solver;
  assert_int_equal(carom_cone_solver_create(&solver, NULL), CAROM_OK);
  int compared = 0, selections = 0;
  for (size_t p = 0; p < json_array_size(problems); p++) {
    json_t *problem = json_array_get(problems, p);
    golden_program g = read_golden(problem);
    carom_cone_program program = {.contact_count = g.contacts,
                                  .dimension = g.dimension,
                                  .A = g.A,
                                  .b = g.b,
                                  .mu = g.mu,
                                  .lower = g.lower};
    double *f = arena_doubles(&memory, g.size), *product = arena_zeros(&memory, g.rows);
    carom_cone_info info;
    assert_int_equal(carom_cone_solver_solve(solver, &program, NULL, f, &info, NULL), CAROM_OK);
    assert_true(info.status <= CAROM_CONE_DEGENERATE);
    for (int r = 0; r < g.rows; r++) {
      for (int j = 0; j < g.size; j++) product[r] += g.decomposition[r * g.size + j] * f[j];
      assert_near(product[r], g.product[r], 1e-8);
    }
    // where f is not unique the reference has another selection and differentiates that
    if (same(f, g.f, g.size, 1e-7))
      compared += check_golden_gradients(solver, problem, &g);
    else
      selections++;
    clear_memory(NULL);
  }
  print_message("  %d gradients compared, %d programs with another selection\n", compared,
                selections);
  assert_true(compared >= 150);
  assert_true(selections <= 12);
  carom_cone_solver_destroy(solver);
  json_decref(root);
}

// ---- closed forms of one contact

// A = diag(2, 1, 1), b = (-1, c, 0)
static cone_solution solve_single(int d, double c, double mu, double lower) {
  double *A = arena_zeros(&memory, 6), *b = arena_zeros(&memory, 3);
  double *limits = arena_doubles(&memory, 2);
  A[0] = 2;
  A[2] = A[5] = 1;
  b[0] = -1;
  if (d > 1) b[1] = c;
  limits[0] = mu;
  limits[1] = lower;
  cone_program program = {.contact_count = 1,
                          .dimension = d,
                          .shape = dense_shape(d, &memory),
                          .A = A,
                          .b = b,
                          .mu = limits,
                          .lower = limits + 1};
  return solve(&program, 0);
}

static void test_single_contacts(void **state) {
  (void)state;
  for (int d = 2; d <= 3; d++) {
    // sticks: f = -A^-1 b
    cone_solution s = solve_single(d, 0.1, 0.5, 0);
    assert_int_equal(s.state[0], FREE_STICK);
    assert_near(s.f[0], 0.5, 1e-15);
    assert_near(s.f[1], -0.1, 1e-15);
    // slides: (2 + mu^2) f_n = 1 + mu c
    s = solve_single(d, 1, 0.5, 0);
    assert_int_equal(s.state[0], FREE_SLIDE);
    assert_near(s.f[0], 1.5 / 2.25, 1e-15);
    assert_near(s.f[1], -0.75 / 2.25, 1e-15);
    // held at the bound: sticking and sliding
    s = solve_single(d, 0.1, 0.5, 2);
    assert_int_equal(s.state[0], BOUND_STICK);
    assert_near(s.f[1], -0.1, 1e-15);
    s = solve_single(d, 9, 0.5, 9);
    assert_int_equal(s.state[0], BOUND_SLIDE);
    assert_near(s.f[1], -4.5, 1e-15);
    // without friction
    s = solve_single(d, 3, 0, 0);
    assert_near(s.f[0], 0.5, 1e-15);
    assert_near(s.f[1], 0, 0);
  }
  cone_solution s = solve_single(1, 0, 3, 0);
  assert_near(s.f[0], 0.5, 1e-15);
}

static void test_separation(void **state) {
  (void)state;
  double A[] = {2, 0.1, 1}, b[] = {1, -0.3}, mu[] = {0.5}, lower[] = {0};
  cone_program program = {.contact_count = 1,
                          .dimension = 2,
                          .shape = dense_shape(2, &memory),
                          .A = A,
                          .b = b,
                          .mu = mu,
                          .lower = lower};
  cone_solution s = solve(&program, 0);
  assert_int_equal(s.info.status, CAROM_CONE_SOLVED);
  assert_int_equal(s.state[0], BOUND_SLIDE);
  assert_near(s.f[0], 0, 0);
  assert_near(s.f[1], 0, 0);
}

// two equal contacts share the impulse of one: the least norm
static void test_duplicates_share(void **state) {
  (void)state;
  double A[10], b[] = {-1, 0.2, -1, 0.2}, mu[] = {0.5, 0.5}, lower[] = {0, 0};
  envelope shape = dense_shape(4, &memory);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j <= i; j++) A[envelope_at(&shape, i, j)] = i % 2 == j % 2 ? 1 + i % 2 : 0.1;
  cone_program program = {
      .contact_count = 2, .dimension = 2, .shape = shape, .A = A, .b = b, .mu = mu, .lower = lower};
  cone_solution s = solve(&program, 0);
  assert_int_equal(s.info.status, CAROM_CONE_SOLVED);
  assert_true(s.info.singular);
  assert_optimal(&program, s.f, 1e-13);
  assert_near(s.f[0], s.f[2], 1e-14);
  assert_near(s.f[1], s.f[3], 1e-14);
}

// ---- random programs

static void test_optimality(void **state) {
  (void)state;
  for (int t = 0; t < 600; t++) {
    clear_memory(NULL);
    rng r;
    rng_seed(&r, 21, (uint64_t)t);
    problem_kind kind = {.mass_ratio = 10,
                         .any_friction = true,
                         .duplicates = t % 3 == 0,
                         .grazing = t % 5 == 0,
                         .restitution = t % 2 == 0};
    cone_problem problem = cone_problem_random(&r, &kind, &memory);
    cone_solution s = solve(&problem.program, 0);
    assert_true(s.info.status <= CAROM_CONE_DEGENERATE);
    assert_optimal(&problem.program, s.f, 1e-8);
    assert_near(cone_residual(&problem.program, s.f, &scratch), 0, 1e-11);
  }
}

// the selection is the limit of A + epsilon I: extrapolated from two values
static void test_least_norm(void **state) {
  (void)state;
  int singular = 0;
  for (int t = 0; t < 150; t++) {
    clear_memory(NULL);
    rng r;
    rng_seed(&r, 22, (uint64_t)t);
    problem_kind kind = {
        .mass_ratio = 1, .body_count = 1, .contact_count = 2 + t % 7, .restitution = t % 2 == 0};
    cone_problem problem = cone_problem_random(&r, &kind, &memory);
    cone_solution s = solve(&problem.program, 0), near[2];
    if (!s.info.singular) continue;
    singular++;
    int size = problem.program.shape.size;
    const double epsilon = 1e-5;
    for (int k = 0; k < 2; k++) {
      for (int i = 0; i < size; i++)
        problem.A[envelope_at(&problem.program.shape, i, i)] += epsilon;
      near[k] = solve(&problem.program, 0);
    }
    for (int i = 0; i < size; i++)
      assert_near(2 * near[0].f[i] - near[1].f[i], s.f[i], 1e-5 * (1 + fabs(s.f[i])));
  }
  assert_true(singular > 60);
}

static void test_warm_start(void **state) {
  (void)state;
  carom_cone_options options = carom_default_cone_options();
  for (int t = 0; t < 50; t++) {
    clear_memory(NULL);
    rng r;
    rng_seed(&r, 23, (uint64_t)t);
    problem_kind kind = {.mass_ratio = 10};
    cone_problem problem = cone_problem_random(&r, &kind, &memory);
    cone_solution cold = solve(&problem.program, 0), warm = solve(&problem.program, 0);
    cone_solve(&problem.program, &options, true, &warm, &scratch);
    assert_true(same(warm.f, cold.f, problem.program.shape.size, 1e-9));
    // any states will do as a first guess
    memset(warm.state, t % 6, (size_t)problem.program.contact_count);
    cone_solve(&problem.program, &options, true, &warm, &scratch);
    assert_true(same(warm.f, cold.f, problem.program.shape.size, 1e-9));
  }
}

// ---- derivatives against central differences

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

// f_bar . df along the direction, from the derivative
static double predict(const cone_problem *problem, const direction *way,
                      const cone_solution *solution, double smoothing, const double *f_bar) {
  int n = problem->program.shape.size, count = problem->program.contact_count;
  double *p = arena_doubles(&memory, 3 * n), *p2 = p + n, *f2 = p + 2 * n;
  double *mu_bar = arena_doubles(&memory, count), *lower_bar = arena_doubles(&memory, count);
  carom_cone_options options = carom_default_cone_options();
  options.smoothing = smoothing;
  bool has_second;
  cone_solve_vjp(&problem->program, &options, solution, f_bar, p, mu_bar, lower_bar, p2, f2,
                 &has_second, &scratch);
  double sum = 0;
  for (int i = 0; i < n; i++) sum -= p[i] * way->db[i];
  for (int i = 0; i < count; i++) sum += mu_bar[i] * way->dmu[i] + lower_bar[i] * way->dlower[i];
  // A_bar . dA with dA = dG'G + G'dG
  for (int k = 0; k < problem->freedom_count; k++) {
    const double *G = problem->G + k * n, *dG = way->dG + k * n;
    double gp = 0, gf = 0, gp2 = 0, gf2 = 0, dp = 0, df = 0, dp2 = 0, df2 = 0;
    for (int i = 0; i < n; i++) {
      gp += G[i] * p[i], gf += G[i] * solution->f[i], gp2 += G[i] * p2[i], gf2 += G[i] * f2[i];
      dp += dG[i] * p[i], df += dG[i] * solution->f[i], dp2 += dG[i] * p2[i], df2 += dG[i] * f2[i];
    }
    sum += gp2 * df2 + dp2 * gf2 - gp * df - dp * gf;
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
    check_derivatives(&kind, 37, 1e-5, 25, 25);
  }
}

// derivative to the right at mu = 0 and at lower = 0 of a separating contact
static void test_derivative_one_sided(void **state) {
  (void)state;
  double A[] = {2, 0.3, 1.5}, b[] = {-1, 0.7}, mu[] = {0}, lower[] = {0}, f_bar[] = {0.4, -1.1};
  double p[2], p2[2], f2[2], mu_bar, lower_bar, value[2];
  const double step = 1e-7;
  carom_cone_options options = carom_default_cone_options();
  cone_program program = {.contact_count = 1,
                          .dimension = 2,
                          .shape = dense_shape(2, &memory),
                          .A = A,
                          .b = b,
                          .mu = mu,
                          .lower = lower};
  bool has_second;
  cone_solution s = solve(&program, 0);
  cone_solve_vjp(&program, &options, &s, f_bar, p, &mu_bar, &lower_bar, p2, f2, &has_second,
                 &scratch);
  for (int k = 0; k < 2; k++) {
    mu[0] = k * step;
    s = solve(&program, 0);
    value[k] = f_bar[0] * s.f[0] + f_bar[1] * s.f[1];
  }
  assert_near(mu_bar, (value[1] - value[0]) / step, 1e-6);

  b[0] = 1;
  mu[0] = 0.5;
  s = solve(&program, 0);
  cone_solve_vjp(&program, &options, &s, f_bar, p, &mu_bar, &lower_bar, p2, f2, &has_second,
                 &scratch);
  lower[0] = step;
  s = solve(&program, 0);
  assert_near(lower_bar, (f_bar[0] * s.f[0] + f_bar[1] * s.f[1]) / step, 1e-6);
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

// ---- chains

// a chain of contacts, each touching its neighbours: block tridiagonal A
static cone_problem make_chain(int count, int d, arena *a) {
  int size = count * d;
  int *first = ARENA_ARRAY(a, int, size);
  for (int i = 0; i < size; i++) first[i] = i < d ? 0 : (i / d - 1) * d;
  cone_problem chain = {
      .b = arena_doubles(a, size), .mu = arena_doubles(a, count), .lower = arena_zeros(a, count)};
  envelope shape = envelope_make(size, first, a);
  chain.A = arena_doubles(a, shape.start[size]);
  rng r;
  rng_seed(&r, 41, (uint64_t)d);
  for (int i = 0; i < size; i++) {
    for (int j = first[i]; j < i; j++)
      chain.A[envelope_at(&shape, i, j)] = j / d == i / d ? 0.1 : rng_uniform(&r, -0.3, 0.3);
    chain.A[envelope_at(&shape, i, i)] = 2;
    chain.b[i] = rng_normal(&r) - (i % d == 0 ? 0.5 : 0);
  }
  for (int i = 0; i < count; i++) chain.mu[i] = i % 7 == 0 ? 0 : rng_uniform(&r, 0.1, 1);
  chain.program = (cone_program){.contact_count = count,
                                 .dimension = d,
                                 .shape = shape,
                                 .A = chain.A,
                                 .b = chain.b,
                                 .mu = chain.mu,
                                 .lower = chain.lower};
  return chain;
}

static void test_long_chain(void **state) {
  (void)state;
  carom_cone_options options = carom_default_cone_options();
  for (int d = 1; d <= 3; d++) {
    clear_memory(NULL);
    cone_problem chain = make_chain(2000, d, &memory);
    int size = chain.program.shape.size;
    cone_solution s = solve(&chain.program, 0);
    assert_int_equal(s.info.status, CAROM_CONE_SOLVED);
    assert_optimal(&chain.program, s.f, 1e-12);

    // derivative by one b in the middle
    double *f_bar = arena_zeros(&memory, size), *p = arena_doubles(&memory, 3 * size);
    double *bars = arena_doubles(&memory, 4000);
    for (int i = 0; i < size; i++) f_bar[i] = sin(i);
    bool has_second;
    cone_solve_vjp(&chain.program, &options, &s, f_bar, p, bars, bars + 2000, p + size,
                   p + 2 * size, &has_second, &scratch);
    double value[2] = {0, 0}, middle = chain.b[size / 2];
    for (int side = 0; side < 2; side++) {
      chain.b[size / 2] = middle + (side == 0 ? -1e-6 : 1e-6);
      cone_solution moved = solve(&chain.program, 0);
      for (int i = 0; i < size; i++) value[side] += f_bar[i] * (moved.f[i] - s.f[i]);
    }
    assert_near(-p[size / 2], (value[1] - value[0]) / 2e-6, 1e-7);
  }
}

// ---- trouble

static void test_unbounded(void **state) {
  (void)state;
  // nothing resists the normal direction
  double A[] = {0, 0, 1}, b[] = {-1, 0.2}, mu[] = {0.5}, lower[] = {0};
  cone_program program = {.contact_count = 1,
                          .dimension = 2,
                          .shape = dense_shape(2, &memory),
                          .A = A,
                          .b = b,
                          .mu = mu,
                          .lower = lower};
  cone_solution s = solve(&program, 0);
  assert_int_equal(s.info.status, CAROM_CONE_UNBOUNDED);
  assert_true(isfinite(s.f[0]) && isfinite(s.f[1]));

  // two contacts squeeze a body that nothing pushes: bounded, and least norm is zero
  double squeeze[] = {1, -1, 1}, still[] = {0, 0}, no_friction[] = {0, 0}, none[] = {0, 0};
  program = (cone_program){.contact_count = 2,
                           .dimension = 1,
                           .shape = dense_shape(2, &memory),
                           .A = squeeze,
                           .b = still,
                           .mu = no_friction,
                           .lower = none};
  s = solve(&program, 0);
  assert_true(s.info.status <= CAROM_CONE_DEGENERATE);
  assert_near(s.f[0], 0, 1e-12);

  // and one where they must run away
  double pull[] = {-1, -1};
  program.b = pull;
  s = solve(&program, 0);
  assert_int_equal(s.info.status, CAROM_CONE_UNBOUNDED);
}

static void test_invalid(void **state) {
  (void)state;
  double A[] = {1, 2, 1}, b[] = {-1, 0.2}, mu[] = {0.5}, lower[] = {0};
  cone_program program = {.contact_count = 1,
                          .dimension = 2,
                          .shape = dense_shape(2, &memory),
                          .A = A,
                          .b = b,
                          .mu = mu,
                          .lower = lower};
  cone_solution s;
  const double bad[] = {NAN, INFINITY, -INFINITY};
  double *const places[] = {&A[1], &b[0], &mu[0], &lower[0]};
  for (int k = 0; k < 3; k++)
    for (int place = 0; place < 4; place++) {
      double keep = *places[place];
      *places[place] = bad[k];
      s = solve(&program, 0);
      assert_int_equal(s.info.status, CAROM_CONE_INVALID);
      assert_true(s.f[0] == 0 && s.f[1] == 0);
      *places[place] = keep;
    }
  A[0] = -1;
  s = solve(&program, 0);
  assert_int_equal(s.info.status, CAROM_CONE_INVALID);

  // the derivative of what was not solved is zero, not garbage
  double f_bar[] = {1, 1}, p[2], p2[2], f2[2], mu_bar, lower_bar;
  carom_cone_options options = carom_default_cone_options();
  bool has_second;
  cone_solve_vjp(&program, &options, &s, f_bar, p, &mu_bar, &lower_bar, p2, f2, &has_second,
                 &scratch);
  assert_true(p[0] == 0 && p[1] == 0 && mu_bar == 0 && lower_bar == 0);
}

static void test_interface(void **state) {
  (void)state;
  carom_error error;
  double A[] = {2, 0, 0, 1}, b[] = {-1, 0.1}, mu[] = {0.5}, f[2], f_bar[] = {1, 1};
  carom_cone_program program = {.contact_count = 1, .dimension = 2, .A = A, .b = b, .mu = mu};
  carom_cone_solver *solver;
  assert_int_equal(carom_cone_solver_create(NULL, &error), CAROM_INVALID_ARGUMENT);
  assert_int_equal(carom_cone_solver_create(&solver, &error), CAROM_OK);

  // a derivative needs a solution
  assert_int_equal(carom_cone_solver_vjp(solver, f_bar, NULL, NULL, NULL, NULL, &error),
                   CAROM_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "carom_cone_solver_solve first"));
  assert_int_equal(carom_cone_solver_solve(solver, &program, NULL, f, NULL, &error), CAROM_OK);
  assert_int_equal(carom_cone_solver_vjp(solver, f_bar, NULL, b, NULL, NULL, &error), CAROM_OK);
  assert_near(b[0], -0.5, 1e-15);
  assert_int_equal(carom_cone_solver_vjp(solver, NULL, NULL, b, NULL, NULL, &error),
                   CAROM_INVALID_ARGUMENT);

  // bad calls name what is wrong; NULL for the error is allowed
  b[1] = NAN;
  assert_int_equal(carom_cone_solver_solve(solver, &program, NULL, f, NULL, &error),
                   CAROM_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "b[1] is nan"));
  assert_int_equal(carom_cone_solver_solve(solver, &program, NULL, f, NULL, NULL),
                   CAROM_INVALID_ARGUMENT);
  b[1] = 0;
  mu[0] = -1;
  assert_int_equal(carom_cone_solver_solve(solver, &program, NULL, f, NULL, &error),
                   CAROM_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "mu[0]"));
  mu[0] = 1;
  A[0] = -2;
  assert_int_equal(carom_cone_solver_solve(solver, &program, NULL, f, NULL, &error),
                   CAROM_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "A[0][0]"));
  A[0] = 2;
  program.dimension = 4;
  assert_int_equal(carom_cone_solver_solve(solver, &program, NULL, f, NULL, &error),
                   CAROM_INVALID_ARGUMENT);
  program.dimension = 2;
  program.A = NULL;
  assert_int_equal(carom_cone_solver_solve(solver, &program, NULL, f, NULL, &error),
                   CAROM_INVALID_ARGUMENT);
  program.A = A;
  carom_cone_options options = {.tolerance = 0};
  assert_int_equal(carom_cone_solver_solve(solver, &program, &options, f, NULL, &error),
                   CAROM_INVALID_ARGUMENT);

  // no contacts is a program too
  program = (carom_cone_program){.contact_count = 0, .dimension = 3};
  assert_int_equal(carom_cone_solver_solve(solver, &program, NULL, NULL, NULL, &error), CAROM_OK);
  assert_int_equal(carom_cone_solver_vjp(solver, NULL, NULL, NULL, NULL, NULL, &error), CAROM_OK);
  for (int status = CAROM_CONE_SOLVED; status <= CAROM_CONE_INVALID; status++)
    assert_non_null(carom_cone_status_text((carom_cone_status)status));
  carom_cone_solver_destroy(solver);
  carom_cone_solver_destroy(NULL);
}

// warm solves ask no memory of the system
static void test_no_allocation(void **state) {
  (void)state;
  rng r;
  rng_seed(&r, 51, 0);
  problem_kind kind = {.dimension = 3, .contact_count = 12, .body_count = 1, .mass_ratio = 1};
  cone_problem problem = cone_problem_random(&r, &kind, &memory);
  solve(&problem.program, 0);
  long before = scratch.block_allocations;
  for (int k = 0; k < 10; k++) solve(&problem.program, 0);
  assert_int_equal(scratch.block_allocations, before);
}

int main(void) {
  arena_init(&memory);
  arena_init(&scratch);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_golden, clear_memory),
      cmocka_unit_test_setup(test_single_contacts, clear_memory),
      cmocka_unit_test_setup(test_separation, clear_memory),
      cmocka_unit_test_setup(test_duplicates_share, clear_memory),
      cmocka_unit_test_setup(test_optimality, clear_memory),
      cmocka_unit_test_setup(test_least_norm, clear_memory),
      cmocka_unit_test_setup(test_warm_start, clear_memory),
      cmocka_unit_test_setup(test_derivative_full_rank, clear_memory),
      cmocka_unit_test_setup(test_derivative_singular, clear_memory),
      cmocka_unit_test_setup(test_derivative_smoothed, clear_memory),
      cmocka_unit_test_setup(test_derivative_one_sided, clear_memory),
      cmocka_unit_test_setup(test_smoothing_vanishes, clear_memory),
      cmocka_unit_test_setup(test_long_chain, clear_memory),
      cmocka_unit_test_setup(test_unbounded, clear_memory),
      cmocka_unit_test_setup(test_invalid, clear_memory),
      cmocka_unit_test_setup(test_interface, clear_memory),
      cmocka_unit_test_setup(test_no_allocation, clear_memory),
  };
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  arena_free(&memory);
  arena_free(&scratch);
  return failures;
}
