/* Coulomb's law of friction: impacts of the textbook, the law itself at random contacts, and the derivative
 * beside central differences. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contact/coulomb.h"
#include "support/cone_fixture.h"
#include "support/differences.h"
#include "support/quick.h"
#include "support/systems.h"

/* ---- impacts ------------------------------------------------------------------------------------- */

static const char BALL[] =
    "{\"carom\": 1, \"name\": \"ball\", \"dimension\": %d, \"dt\": 0.01, \"steps\": %d, %s"
    " \"bodies\": [{\"id\": \"a\", \"type\": \"%s\", \"mass\": 1.5, \"radius\": 0.1}],"
    " \"planes\": [{\"id\": \"ground\", \"normal\": [%s, 1], \"offset\": 0}],"
    " \"contacts\": {\"friction\": %g, \"restitution\": %g, %s \"law\": \"%s\"},"
    " \"initial\": {\"sampler\": \"state\", \"bodies\":"
    "   [{\"body\": \"a\", \"position\": [0, %s %.17g], \"velocity\": [%.17g, %s %.17g]}]}}";

typedef struct throw {
  int dimension, steps;
  const char *gravity, *type, *law;
  double mu, e, height, vx, vy;
  bool hold;
}
throw;

/* The velocity of the ball's centre along the ground and away from it after all steps; place [2], if not
 * NULL, is how far it has come and its height. */
static void thrown(const throw *t, double *along, double *away, double *place) {
  char text[1024];
  bool space = t->dimension == 3;
  snprintf(text, sizeof text, BALL, t->dimension, t->steps, t->gravity, t->type,
           space ? "0, 0" : "0", t->mu, t->e, t->hold ? "\"hold\": true," : "", t->law,
           space ? "0," : "", t->height, t->vx, space ? "0," : "", t->vy);
  carom_system *s = parse_system(text);
  carom_rollout_options options = carom_rollout_default_options(s);
  carom_system_info info = carom_system_describe(s);
  size_t size = (size_t)(info.point_count * info.dimension);
  double *x0 = malloc(sizeof(double) * 2 * size), *v0 = x0 + size;
  double *x = malloc(sizeof(double) * 2 * size * (size_t)(t->steps + 1));
  double *v = x + size * (size_t)(t->steps + 1);
  carom_report report;
  carom_error error;
  assert_int_equal(carom_system_sample(s, 0, 1, x0, v0, &error), CAROM_OK);
  assert_int_equal(carom_system_simulate(s, &options, NULL, 1, x0, v0, x, v, NULL, &report, &error),
                   CAROM_OK);
  assert_true(report.events > 0 && report.failed_programs == 0);
  const double *last = v + (size_t)t->steps * size;
  *along = last[0];
  *away = last[t->dimension - 1];
  if (place != NULL) {
    place[0] = x[(size_t)t->steps * size];
    place[1] = x[(size_t)t->steps * size + (size_t)t->dimension - 1];
  }
  free(x);
  free(x0);
  carom_system_destroy(s);
}

/* A ball of 1.5 kg meets the ground. Sliding throughout: v_n+ = -e v_n, v_t+ = v_t - mu (1 + e) |v_n|.
 * Gripping: the contact point comes to rest, v_t+ = v_t / (1 + r^2 m / I), which is 2/3 v_t of a disk,
 * 5/7 v_t of a sphere, 0 of a point. */
static void test_textbook_impacts(void **state) {
  (void)state;
  const struct {
    int dimension;
    const char *type;
    double grip;
  } balls[] = {{2, "point", 0}, {2, "rigid", 2.0 / 3}, {3, "point", 0}, {3, "rigid", 5.0 / 7}};
  for (int k = 0; k < 4; k++) {
    for (int i = 0; i < 3; i++) {
      const double e = (double[]){0, 0.5, 1}[i], vx = 8, vy = -2, mu = 0.3;
      throw t = {balls[k].dimension, 1, "", balls[k].type, "coulomb", mu, e, 0.11, vx, vy, false};
      double along, away;
      thrown(&t, &along, &away, NULL);
      assert_near(along, vx - mu * (1 + e) * -vy, 1e-12);
      assert_near(away, e * -vy, 1e-12);

      t.mu = 1.5, t.vx = 0.5;
      thrown(&t, &along, &away, NULL);
      assert_near(along, 0.5 * balls[k].grip, 1e-12);
      assert_near(away, e * -vy, 1e-12);
    }
  }
}

/* The convex model at the same impact: a third more impulse (theory.md, section 7). */
static void test_convex_model_parts(void **state) {
  (void)state;
  throw t = {2, 1, "", "point", "convex", 0.3, 0, 0.11, 3, -2, false};
  double along, away, impulse = (2 + 0.3 * 3) / 1.09;
  thrown(&t, &along, &away, NULL);
  assert_near(along, 3 - 0.3 * impulse, 1e-12);
  assert_near(away, 0.3 * along, 1e-12);
}

/* A block slides for a second and is slowed by mu g, without a hop. If friction acts on positions too, it
 * comes as far as the mean speed says. */
static void test_sliding_block(void **state) {
  (void)state;
  throw t = {2, 100, "\"gravity\": [0, -9.81],", "point", "coulomb", 0.3, 0, 0.1, 3, 0, false};
  double along, away, place[2];
  thrown(&t, &along, &away, place);
  assert_near(along, 3 - 0.3 * 9.81, 1e-12);
  assert_near(away, 0, 1e-12);
  assert_true(place[1] < 0.1);
  assert_near(place[0], 3 - 0.15 * 9.81 + 0.15 * 9.81 * 0.01, 1e-12);
  t.hold = true;
  thrown(&t, &along, &away, place);
  assert_near(along, 3 - 0.3 * 9.81, 1e-12);
  assert_near(place[0], 3 - 0.15 * 9.81, 1e-12);
}

/* On a slope of gravity (3, -9) a point sticks with mu = 1, but creeps by 1/2 g_t dt^2 in each of 200 steps,
 * under both laws; held it stays. */
static void test_creep(void **state) {
  (void)state;
  for (int law = 0; law < 2; law++) {
    throw t = {
        2, 200,  "\"gravity\": [3, -9],", "point", law ? "coulomb" : "convex", 1, 0, 0.0999, 0,
        0, false};
    double along, away, place[2];
    thrown(&t, &along, &away, place);
    assert_near(along, 0, 1e-12);
    assert_near(place[0], 200 * 0.5 * 3 * 1e-4, 1e-12);
    t.hold = true;
    thrown(&t, &along, &away, place);
    assert_near(place[0], 0, 1e-12);
  }
}

/* ---- the law at random programs ------------------------------------------------------------------ */

static cone_solution solve_coulomb(const cone_program *program) {
  cone_solution solution = cone_solution_make(program, &memory);
  carom_cone_options options = carom_cone_default_options();
  coulomb_solve(program, &options, &solution, &scratch);
  return solution;
}

/* The largest violation of Coulomb's law with the bound, relative to the size of b and of f. */
static double violation(const cone_program *p, const cone_solution *solution) {
  int d = p->dimension, size = p->contact_count * d;
  double *s = arena_doubles(&memory, size), worst = 0, speed = p->scale, impulse = 0;
  envelope_multiply(&p->shape, p->A, solution->f, s);
  for (int i = 0; i < size; i++) {
    speed = fmax(speed, fabs(p->b[i]));
    impulse = fmax(impulse, fabs(solution->f[i]));
    s[i] += p->b[i];
  }
  for (int i = 0; i < p->contact_count; i++) {
    const double *f = solution->f + i * d, *s_i = s + i * d;
    double f_t = hypot(f[1], d == 3 ? f[2] : 0), s_t = hypot(s_i[1], d == 3 ? s_i[2] : 0);
    double power = f[1] * s_i[1] + (d == 3 ? f[2] * s_i[2] : 0);
    // the cone, the bound, no approach, no push that parts, friction against the sliding
    worst = fmax(worst, (f_t - p->mu[i] * f[0]) / fmax(impulse, 1e-300));
    worst = fmax(worst, (p->lower[i] - f[0]) / fmax(impulse, 1e-300));
    worst = fmax(worst, -s_i[0] / speed);
    worst = fmax(worst, (f[0] - p->lower[i]) * s_i[0] / (fmax(impulse, 1e-300) * speed));
    worst = fmax(worst, (power + p->mu[i] * f[0] * s_t) / (fmax(impulse, 1e-300) * speed));
  }
  return worst;
}

static void test_law_holds(void **state) {
  (void)state;
  int count = repeats(2000);
  for (int kind = 0; kind < 4; kind++) {
    int settled = 0, slid = 0;
    double worst = 0;
    for (int k = 0; k < count; k++) {
      clear_memory(NULL);
      rng r;
      rng_seed(&r, 31, (uint64_t)(kind * 100000 + k));
      problem_kind how = {.dimension = 2 + kind % 2,
                          .contact_count = 1 + k % 8,
                          .body_count = 2 + k % 8,
                          .mass_ratio = 10,
                          .restitution = kind >= 2};
      cone_problem problem = cone_problem_random(&r, &how, &memory);
      cone_solution solution = solve_coulomb(&problem.program);
      for (int i = 0; i < how.contact_count; i++) slid += solution.state[i] == FREE_SLIDE;
      if (solution.info.status > CAROM_CONE_DEGENERATE) continue;
      settled++;
      worst = fmax(worst, violation(&problem.program, &solution));
    }
    print_message("%dD, %s: %d of %d settled, %d contacts slide, violated by %.1e at most\n",
                  2 + kind % 2, kind >= 2 ? "restitution" : "compression", settled, count, slid,
                  worst);
    assert_true(worst < 1e-9);
    assert_true(count - settled <= count / 100);
    assert_true(slid > count / 10);
  }
}

/* ---- the derivative ------------------------------------------------------------------------------ */

/* A program of independent inputs, and a functional of its solution. */
typedef struct inputs {
  int contacts, dimension, size;
  double *A, *b, *mu, *lower, *weight; /* A: the lower triangle, row after row */
} inputs;

static double functional(void *user) {
  const inputs *in = user;
  arena_mark mark = arena_save(&memory);
  cone_program p =
      dense_program(in->contacts, in->dimension, in->A, in->b, in->mu, in->lower, &memory);
  cone_solution solution = solve_coulomb(&p);
  double sum = 0;
  for (int i = 0; i < in->size; i++) sum += in->weight[i] * solution.f[i];
  arena_restore(&memory, mark);
  return sum;
}

static inputs random_inputs(rng *r, int contacts, int dimension, bool bounds) {
  int n = contacts * dimension;
  inputs in = {.contacts = contacts,
               .dimension = dimension,
               .size = n,
               .A = arena_zeros(&memory, n * (n + 1) / 2),
               .b = arena_doubles(&memory, n),
               .mu = arena_doubles(&memory, contacts),
               .lower = arena_zeros(&memory, contacts),
               .weight = arena_doubles(&memory, n)};
  double *G = arena_doubles(&memory, (n + 3) * n);
  for (int k = 0; k < (n + 3) * n; k++) G[k] = rng_normal(r);
  for (int i = 0, at = 0; i < n; i++)
    for (int j = 0; j <= i; j++, at++) {
      in.A[at] = i == j;
      for (int k = 0; k < n + 3; k++) in.A[at] += 0.3 * G[k * n + i] * G[k * n + j] / n;
    }
  for (int i = 0; i < n; i++) in.b[i] = rng_normal(r) - (i % dimension == 0 ? 1 : 0);
  for (int i = 0; i < n; i++) in.weight[i] = rng_normal(r);
  for (int i = 0; i < contacts; i++) in.mu[i] = rng_uniform(r, 0.05, 1);
  for (int i = 0; i < contacts && bounds; i++) in.lower[i] = rng_uniform(r, 0, 1);
  return in;
}

/* Compares one input where the values show a derivative; counts what was. */
static double compare(inputs *in, double *values, const double *gradient, int count, rng *r,
                      int *compared, int *kinks) {
  double error;
  bool smooth = smooth_gradient_error(functional, in, values, gradient, count, r, &error);
  *(smooth ? compared : kinks) += 1;
  return smooth ? error : 0;
}

static void test_derivative(void **state) {
  (void)state;
  int compared = 0, kinks = 0, slid = 0;
  double worst = 0;
  for (int k = 0; k < repeats(200); k++) {
    clear_memory(NULL);
    rng r;
    rng_seed(&r, 32, (uint64_t)k);
    inputs in = random_inputs(&r, 1 + k % 4, 2 + k / 4 % 2, k / 8 % 2);
    cone_program p = dense_program(in.contacts, in.dimension, in.A, in.b, in.mu, in.lower, &memory);
    cone_solution solution = solve_coulomb(&p);
    for (int i = 0; i < in.contacts; i++) slid += solution.state[i] == FREE_SLIDE;
    carom_cone_options options = carom_cone_default_options();
    cone_cotangents bars = cone_cotangents_make(in.contacts, in.dimension, &memory);
    coulomb_solve_vjp(&p, &options, &solution, in.weight, &bars, &scratch);
    double *b_bar = arena_doubles(&memory, in.size);
    double *A_bar = arena_doubles(&memory, in.size * (in.size + 1) / 2);
    for (int i = 0, at = 0; i < in.size; i++) {
      b_bar[i] = -bars.p[i];
      for (int j = 0; j <= i; j++, at++)
        A_bar[at] = -(bars.p[i] * solution.f[j] + bars.p[j] * solution.f[i]) / (i == j ? 2 : 1);
    }
    int entries = in.size * (in.size + 1) / 2;
    worst = fmax(worst, compare(&in, in.b, b_bar, in.size, &r, &compared, &kinks));
    worst = fmax(worst, compare(&in, in.A, A_bar, entries, &r, &compared, &kinks));
    worst = fmax(worst, compare(&in, in.mu, bars.mu, in.contacts, &r, &compared, &kinks));
    if (k / 8 % 2)
      worst = fmax(worst, compare(&in, in.lower, bars.lower, in.contacts, &r, &compared, &kinks));
  }
  print_message("%d directions, %d at a kink, %d contacts slide, worst error %.1e\n", compared,
                kinks, slid, worst);
  assert_true(worst < 1e-6);
  assert_true(kinks * 20 < compared);
  assert_true(slid > compared / 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_textbook_impacts),
      cmocka_unit_test(test_convex_model_parts),
      cmocka_unit_test(test_sliding_block),
      cmocka_unit_test(test_creep),
      cmocka_unit_test_setup(test_law_holds, clear_memory),
      cmocka_unit_test_setup(test_derivative, clear_memory),
  };
  return cmocka_run_group_tests(tests, open_memory, close_memory);
}
