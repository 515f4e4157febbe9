/* The cone program: solutions and derivatives against the reference, closed forms, chains, trouble,
 * the public interface. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/semidefinite.h"
#include "carom.h"
#include "contact/cone_equations.h"
#include "contact/program_log.h"
#include "io/cone_file.h"
#include "support/cone_certificate.h"
#include "support/cone_fixture.h"
#include "support/differences.h"
#include "support/golden.h"
#include "support/messages.h"
#include "support/systems.h"

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
  cone_program program = dense_program(1, d, A, b, limits, limits + 1, &memory);
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
  cone_program program = dense_program(1, 2, A, b, mu, lower, &memory);
  cone_solution s = solve(&program, 0);
  assert_int_equal(s.info.status, CAROM_CONE_SOLVED);
  assert_int_equal(s.state[0], BOUND_SLIDE);
  assert_near(s.f[0], 0, 0);
  assert_near(s.f[1], 0, 0);
}

// two equal contacts share the impulse of one: the least norm
static void test_duplicates_share(void **state) {
  (void)state;
  double A[10] = {0}, b[] = {-1, 0.2, -1, 0.2}, mu[] = {0.5, 0.5}, lower[] = {0, 0};
  cone_program program = dense_program(2, 2, A, b, mu, lower, &memory);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j <= i; j++)
      A[envelope_at(&program.shape, i, j)] = i % 2 == j % 2 ? 1 + i % 2 : 0.1;
  cone_solution s = solve(&program, 0);
  assert_int_equal(s.info.status, CAROM_CONE_SOLVED);
  assert_true(s.info.singular);
  assert_optimal(&program, s.f, 1e-13);
  assert_near(s.f[0], s.f[2], 1e-14);
  assert_near(s.f[1], s.f[3], 1e-14);
}

// two equal contacts and a third that nothing couples to them; b of the third as given
static carom_cone_status status_beside_duplicates(double sliding, const double *third) {
  double A[21] = {0}, mu[] = {0.5, 0.5, 0.5}, lower[] = {0, 0, 0};
  double b[] = {-1, sliding, -1, sliding, third[0], third[1]};
  cone_program program = dense_program(3, 2, A, b, mu, lower, &memory);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j <= i; j++) A[envelope_at(&program.shape, i, j)] = i % 2 == j % 2;
  for (int i = 4; i < 6; i++) A[envelope_at(&program.shape, i, i)] = 1;
  cone_solution s = solve(&program, 0);
  assert_true(s.info.singular);
  assert_optimal(&program, s.f, 1e-12);
  return s.info.status;
}

// where minimisers are many, a border is harmless if they cross it, and counts if they do not; a
// sliding contact that they move jumps when its mu changes
static void test_borders_beside_selection(void **state) {
  (void)state;
  const double leaves[] = {1, 0.1}, grazes[] = {0, 0};
  assert_int_equal(status_beside_duplicates(0.2, leaves), CAROM_CONE_SOLVED);
  assert_int_equal(status_beside_duplicates(0.2, grazes), CAROM_CONE_DEGENERATE);
  assert_int_equal(status_beside_duplicates(2, leaves), CAROM_CONE_DEGENERATE);

  // in large programs borders are not examined, and all count
  enum { COUNT = 2 * SEMIDEFINITE_DENSE + 1 };
  double *A = arena_zeros(&memory, COUNT * (COUNT + 1) / 2), *b = arena_doubles(&memory, COUNT);
  double *zeros = arena_zeros(&memory, COUNT);
  cone_program program = dense_program(COUNT, 1, A, b, zeros, zeros, &memory);
  for (int i = 0; i < COUNT; i++) {
    A[envelope_at(&program.shape, i, i)] = 1;
    if (i % 2 == 1) A[envelope_at(&program.shape, i, i - 1)] = 1;
    b[i] = -1;
  }
  assert_int_equal(solve(&program, 0).info.status, CAROM_CONE_SOLVED);
  b[COUNT - 1] = 0;
  assert_int_equal(solve(&program, 0).info.status, CAROM_CONE_DEGENERATE);
}

// a failed program is kept with all its numbers
static void test_program_log(void **state) {
  (void)state;
  double A[] = {2, 0.3, 1}, b[] = {-1, 0.7}, mu[] = {0.4, 0.6}, lower[] = {0.1, 0.2};
  cone_program program = dense_program(2, 1, A, b, mu, lower, &memory);
  program_log log = {0};
  program_log_add(&log, &program);
  assert_int_equal(log.count, 1);
  const carom_cone_program *kept = &log.programs[0];
  const double dense[] = {2, 0.3, 0.3, 1};
  assert_memory_equal(kept->A, dense, sizeof dense);
  assert_memory_equal(kept->b, b, sizeof b);
  assert_memory_equal(kept->mu, mu, sizeof mu);
  assert_memory_equal(kept->lower, lower, sizeof lower);
  program_log_clear(&log);
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
  carom_cone_options options = carom_cone_default_options();
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
  for (int d = 1; d <= 3; d++) {
    clear_memory(NULL);
    cone_problem chain = make_chain(2000, d, &memory);
    int size = chain.program.shape.size;
    cone_solution s = solve(&chain.program, 0);
    assert_int_equal(s.info.status, CAROM_CONE_SOLVED);
    assert_optimal(&chain.program, s.f, 1e-12);

    // derivative by one b in the middle
    double *f_bar = arena_zeros(&memory, size);
    for (int i = 0; i < size; i++) f_bar[i] = sin(i);
    cone_cotangents bars = solve_vjp(&chain.program, &s, 0, f_bar);
    double value[2] = {0, 0}, middle = chain.b[size / 2];
    for (int side = 0; side < 2; side++) {
      chain.b[size / 2] = middle + (side == 0 ? -1e-6 : 1e-6);
      cone_solution moved = solve(&chain.program, 0);
      for (int i = 0; i < size; i++) value[side] += f_bar[i] * (moved.f[i] - s.f[i]);
    }
    assert_near(-bars.p[size / 2], (value[1] - value[0]) / 2e-6, 1e-7);
  }
}

// ---- masses far apart

typedef struct file_case {
  carom_cone_program program;
  carom_cone_solver *solver;
  double *f, *weight; /* [C] */
  carom_cone_info info;
} file_case;

// weight'f
static double weighted_impulse(void *user) {
  file_case *c = user;
  carom_error error;
  assert_int_equal(carom_cone_solver_solve(c->solver, &c->program, NULL, c->f, &c->info, &error),
                   CAROM_OK);
  double sum = 0;
  for (int k = 0; k < c->program.contact_count * c->program.dimension; k++)
    sum += c->weight[k] * c->f[k];
  return sum;
}

// a crowded rope of light and heavy points, A singular with small pivots that are real: the solution
// of least norm is seen only from very small regularisers
static void test_heavy_and_light(void **state) {
  (void)state;
  file_case c = {0};
  carom_error error;
  rng random;
  rng_seed(&random, 61, 0);
  if (carom_cone_program_read(CAROM_TEST_DATA "/heavy-and-light.json", &c.program, &error) !=
      CAROM_OK)
    fail_msg("%s", error.message);
  assert_int_equal(carom_cone_solver_create(&c.solver, &error), CAROM_OK);
  int count = c.program.contact_count, size = count * c.program.dimension;
  c.f = arena_doubles(&memory, size);
  c.weight = arena_zeros(&memory, size);

  // of a velocity, which does not depend on the selection
  for (int k = 0; k < size; k++) {
    double force = rng_normal(&random);
    for (int l = 0; l < size; l++) c.weight[l] += c.program.A[k * size + l] * force;
  }
  weighted_impulse(&c);
  assert_int_equal(c.info.status, CAROM_CONE_SOLVED);
  assert_true(c.info.singular && c.info.residual < 1e-12);
  double *mu_bar = arena_doubles(&memory, count), *mu = arena_doubles(&memory, count);
  assert_int_equal(carom_cone_solver_vjp(c.solver, c.weight, NULL, NULL, mu_bar, NULL, &error),
                   CAROM_OK);
  memcpy(mu, c.program.mu, sizeof(double) * (size_t)count);
  const double *given = c.program.mu;
  c.program.mu = mu;
  assert_true(gradient_error(weighted_impulse, &c, mu, mu_bar, count, &random) < 1e-6);
  c.program.mu = given;
  carom_cone_solver_destroy(c.solver);
  carom_cone_program_free(&c.program);
}

// ---- trouble

static void test_unbounded(void **state) {
  (void)state;
  // nothing resists the normal direction
  double A[] = {0, 0, 1}, b[] = {-1, 0.2}, mu[] = {0.5}, lower[] = {0};
  cone_program program = dense_program(1, 2, A, b, mu, lower, &memory);
  cone_solution s = solve(&program, 0);
  assert_int_equal(s.info.status, CAROM_CONE_UNBOUNDED);
  assert_true(isfinite(s.f[0]) && isfinite(s.f[1]));

  // two contacts squeeze a body that nothing pushes: bounded, and least norm is zero
  double squeeze[] = {1, -1, 1}, still[] = {0, 0}, no_friction[] = {0, 0}, none[] = {0, 0};
  program = dense_program(2, 1, squeeze, still, no_friction, none, &memory);
  s = solve(&program, 0);
  assert_true(s.info.status <= CAROM_CONE_DEGENERATE);
  assert_near(s.f[0], 0, 1e-12);

  // and one where they must run away
  double pull[] = {-1, -1};
  program.b = pull;
  s = solve(&program, 0);
  assert_int_equal(s.info.status, CAROM_CONE_UNBOUNDED);
}

// what the objective comes to beside that of f = 0, and whether f is of the size of b / A
static cone_certificate certify_file(const char *path, carom_cone_info *info) {
  carom_cone_program program;
  carom_cone_solver *solver;
  carom_error error;
  if (carom_cone_program_read(path, &program, &error) != CAROM_OK) fail_msg("%s", error.message);
  double *f = test_calloc((size_t)(program.contact_count * program.dimension), sizeof *f);
  assert_int_equal(carom_cone_solver_create(&solver, &error), CAROM_OK);
  assert_int_equal(carom_cone_solver_solve(solver, &program, NULL, f, info, &error), CAROM_OK);
  cone_certificate certificate = cone_certify(&program, f);
  test_free(f);
  carom_cone_solver_destroy(solver);
  carom_cone_program_free(&program);
  return certificate;
}

// A of rank 1, b off its range by 2e-7, then by all of b
static void test_off_the_range(void **state) {
  (void)state;
  carom_cone_info info;
  cone_certificate c = certify_file(CAROM_TEST_DATA "/cases/cone_1e66.json", &info);
  assert_int_equal(info.status, CAROM_CONE_SOLVED);
  assert_true(info.projected && info.singular && c.finite);
  assert_true(c.outside < 1e-13 && c.violation < 1e-6 && c.gap < 1e-6 && c.size < 10);
  assert_near(c.objective, -0.178, 1e-3);
  c = certify_file(CAROM_TEST_DATA "/cases/cone_unbounded_solved.json", &info);
  assert_int_equal(info.status, CAROM_CONE_UNBOUNDED);
  assert_true(info.projected && c.finite && c.outside < 1e-13 && c.size < 10);
}

// 121 contacts of a settled pile, many of them on a border of states: the interior point ends at 1e-9
static void test_pile(void **state) {
  (void)state;
  carom_cone_info info;
  cone_certificate c = certify_file(CAROM_TEST_DATA "/cases/cone_pile.json", &info);
  assert_true(info.status <= CAROM_CONE_DEGENERATE);
  assert_true(c.finite && c.outside < 1e-13 && cone_certificate_holds(&c, 1e-9));
}

// far from a solution the answer is still in its cones and no worse than nothing
static void test_unsolved_is_harmless(void **state) {
  (void)state;
  carom_cone_options options = carom_cone_default_options();
  options.tolerance = 1e-300;
  options.max_iterations = 1;
  for (int t = 0; t < 50; t++) {
    clear_memory(NULL);
    rng r;
    rng_seed(&r, 62, (uint64_t)t);
    problem_kind kind = {.mass_ratio = 1e4, .any_friction = true, .restitution = t % 2 == 1};
    cone_problem problem = cone_problem_random(&r, &kind, &memory);
    cone_solution s = cone_solution_make(&problem.program, &memory);
    cone_solve(&problem.program, &options, false, &s, &scratch);
    double value = 0, *velocity = arena_doubles(&memory, problem.program.shape.size);
    double *rest = arena_zeros(&memory, problem.program.shape.size), least = 0;
    for (int i = 0; i < problem.program.contact_count; i++)
      rest[i * problem.program.dimension] = problem.lower[i];
    cone_velocity(&problem.program, s.f, velocity);
    for (int k = 0; k < problem.program.shape.size; k++)
      value += 0.5 * s.f[k] * (velocity[k] + problem.b[k]);
    cone_velocity(&problem.program, rest, velocity);
    for (int k = 0; k < problem.program.shape.size; k++)
      least += 0.5 * rest[k] * (velocity[k] + problem.b[k]);
    assert_true(value <= least + 1e-12 * fabs(least));
  }
}

static void test_invalid(void **state) {
  (void)state;
  double A[] = {1, 2, 1}, b[] = {-1, 0.2}, mu[] = {0.5}, lower[] = {0};
  cone_program program = dense_program(1, 2, A, b, mu, lower, &memory);
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
  double f_bar[] = {1, 1};
  cone_cotangents bars = solve_vjp(&program, &s, 0, f_bar);
  assert_true(bars.p[0] == 0 && bars.p[1] == 0 && bars.mu[0] == 0 && bars.lower[0] == 0);
}

static void assert_refused(carom_cone_solver *solver, const carom_cone_program *program,
                           const carom_cone_options *options, const char *piece) {
  carom_error error;
  double f[2];
  assert_int_equal(carom_cone_solver_solve(solver, program, options, f, NULL, &error),
                   CAROM_INVALID_ARGUMENT);
  assert_message(&error, CAROM_INVALID_ARGUMENT, piece);
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
  assert_message(&error, CAROM_INVALID_ARGUMENT, "carom_cone_solver_solve first");
  assert_int_equal(carom_cone_solver_solve(solver, &program, NULL, f, NULL, &error), CAROM_OK);
  assert_int_equal(carom_cone_solver_vjp(solver, f_bar, NULL, b, NULL, NULL, &error), CAROM_OK);
  assert_near(b[0], -0.5, 1e-15);
  assert_int_equal(carom_cone_solver_vjp(solver, NULL, NULL, b, NULL, NULL, &error),
                   CAROM_INVALID_ARGUMENT);

  // bad calls name what is wrong; NULL for the error is allowed
  b[1] = NAN;
  assert_refused(solver, &program, NULL, "b[1] is nan");
  assert_int_equal(carom_cone_solver_solve(solver, &program, NULL, f, NULL, NULL),
                   CAROM_INVALID_ARGUMENT);
  b[1] = 0;
  mu[0] = -1;
  assert_refused(solver, &program, NULL, "mu[0]");
  mu[0] = 1;
  A[0] = -2;
  assert_refused(solver, &program, NULL, "A[0][0]");
  A[0] = 2;
  program.dimension = 4;
  assert_refused(solver, &program, NULL, "dimension is 4");
  program.dimension = 2;
  program.A = NULL;
  assert_refused(solver, &program, NULL, "NULL");
  program.A = A;
  carom_cone_options options = {.tolerance = 0};
  assert_refused(solver, &program, &options,
                 "options.tolerance is 0, must be a number above 0 and at most 1");

  // no contacts is a program too
  program = (carom_cone_program){.contact_count = 0, .dimension = 3};
  assert_int_equal(carom_cone_solver_solve(solver, &program, NULL, NULL, NULL, &error), CAROM_OK);
  assert_int_equal(carom_cone_solver_vjp(solver, NULL, NULL, NULL, NULL, NULL, &error), CAROM_OK);
  for (int status = CAROM_CONE_SOLVED; status <= CAROM_CONE_INVALID; status++)
    assert_non_null(carom_cone_status_text((carom_cone_status)status));
  carom_cone_solver_destroy(solver);
  carom_cone_solver_destroy(NULL);
}

// b_bar and mu_bar of one more derivative of a solver's last solve
static void derive(carom_cone_solver *solver, const double *f_bar, double *b_bar, double *mu_bar) {
  assert_int_equal(carom_cone_solver_vjp(solver, f_bar, NULL, b_bar, mu_bar, NULL, NULL), CAROM_OK);
}

// every derivative of a solve is that of a solver which was asked for nothing else, whatever became
// of the caller's arrays: regular, singular, smoothed
static void test_many_derivatives(void **state) {
  (void)state;
  enum { MOST = 24 };
  carom_cone_solver *one, *other;
  carom_cone_solver_create(&one, NULL);
  carom_cone_solver_create(&other, NULL);
  for (int t = 0; t < 30; t++) {
    rng r;
    rng_seed(&r, 52, (uint64_t)t);
    problem_kind kind = {.contact_count = 1 + t % 8, .body_count = t % 2 == 0 ? 1 : 9};
    kind.mass_ratio = 10;
    cone_problem problem = cone_problem_random(&r, &kind, &memory);
    int n = problem.program.shape.size, count = problem.program.contact_count;
    double *A = arena_zeros(&memory, n * n), f[MOST], f_bar[2][MOST];
    for (int i = 0; i < n; i++)
      for (int j = problem.program.shape.first[i]; j <= i; j++)
        A[i * n + j] = problem.A[envelope_at(&problem.program.shape, i, j)];
    for (int i = 0; i < 2 * n; i++) f_bar[i / n][i % n] = rng_normal(&r);
    carom_cone_program dense = {.contact_count = count,
                                .dimension = problem.program.dimension,
                                .A = A,
                                .b = problem.b,
                                .mu = problem.mu};
    carom_cone_options options = carom_cone_default_options();
    options.smoothing = t % 3 == 2 ? 1e-2 : 0;
    assert_int_equal(carom_cone_solver_solve(one, &dense, &options, f, NULL, NULL), CAROM_OK);
    assert_int_equal(carom_cone_solver_solve(other, &dense, &options, f, NULL, NULL), CAROM_OK);
    for (int i = 0; i < n; i++) problem.b[i] = A[i * n + i] = NAN;
    for (int i = 0; i < count; i++) problem.mu[i] = NAN;

    double b_bar[3][MOST], mu_bar[3][MOST];
    derive(one, f_bar[0], b_bar[0], mu_bar[0]);
    derive(one, f_bar[1], b_bar[1], mu_bar[1]);
    derive(other, f_bar[1], b_bar[2], mu_bar[2]);
    for (int i = 0; i < n; i++) assert_true(b_bar[1][i] == b_bar[2][i]);
    for (int i = 0; i < count; i++) assert_true(mu_bar[1][i] == mu_bar[2][i]);
  }
  carom_cone_solver_destroy(one);
  carom_cone_solver_destroy(other);
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
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_golden, clear_memory),
      cmocka_unit_test_setup(test_single_contacts, clear_memory),
      cmocka_unit_test_setup(test_separation, clear_memory),
      cmocka_unit_test_setup(test_duplicates_share, clear_memory),
      cmocka_unit_test_setup(test_borders_beside_selection, clear_memory),
      cmocka_unit_test_setup(test_program_log, clear_memory),
      cmocka_unit_test_setup(test_optimality, clear_memory),
      cmocka_unit_test_setup(test_least_norm, clear_memory),
      cmocka_unit_test_setup(test_warm_start, clear_memory),
      cmocka_unit_test_setup(test_long_chain, clear_memory),
      cmocka_unit_test_setup(test_heavy_and_light, clear_memory),
      cmocka_unit_test_setup(test_unbounded, clear_memory),
      cmocka_unit_test_setup(test_off_the_range, clear_memory),
      cmocka_unit_test(test_pile),
      cmocka_unit_test_setup(test_unsolved_is_harmless, clear_memory),
      cmocka_unit_test_setup(test_invalid, clear_memory),
      cmocka_unit_test_setup(test_interface, clear_memory),
      cmocka_unit_test_setup(test_many_derivatives, clear_memory),
      cmocka_unit_test_setup(test_no_allocation, clear_memory),
  };
  return cmocka_run_group_tests(tests, open_memory, close_memory);
}
