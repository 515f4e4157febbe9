/* Random cone programs of every kind that physics makes: 1 to 12 contacts in 2D and 3D,
 * rank-deficient, friction from 0 to 10, mass ratios to 1e4, duplicate and grazing contacts, both
 * programs of an event. Each must be solved, or say why not; nothing may be non-finite, the
 * derivative included.
 *
 * CAROM_ROBUSTNESS=100000 (or the first argument) sets how many programs are tried. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/cone_fixture.h"
#include "support/quick.h"

enum { KINDS = 8 };

static int program_count;

typedef struct tally {
  int tried, by_status[CAROM_CONE_INVALID + 1];
  int within; /* residual <= 1e-8 */
  int interior, singular;
  long newton_steps;
  int most_newton_steps, most_interior_steps;
  double worst;
} tally;

static problem_kind kind_of(int index) {
  return (problem_kind){.mass_ratio = index & 1 ? 1e4 : 10,
                        .any_friction = true,
                        .duplicates = (index & 2) != 0,
                        .grazing = (index & 2) != 0,
                        .restitution = (index & 4) != 0};
}

static void count_solution(tally *sum, const carom_cone_info *info, double residual) {
  sum->tried++;
  sum->by_status[info->status]++;
  sum->within += residual <= 1e-8;
  sum->interior += info->interior_steps > 0;
  sum->singular += info->singular;
  sum->newton_steps += info->newton_steps;
  if (info->newton_steps > sum->most_newton_steps) sum->most_newton_steps = info->newton_steps;
  if (info->interior_steps > sum->most_interior_steps)
    sum->most_interior_steps = info->interior_steps;
  sum->worst = fmax(sum->worst, residual);
}

static void assert_finite(const double *x, int count) {
  for (int k = 0; k < count; k++) assert_true(isfinite(x[k]));
}

// in the cone and above the bound, exactly
static void assert_feasible(const cone_program *program, const double *f) {
  int d = program->dimension;
  for (int i = 0; i < program->contact_count; i++) {
    double tangent = d == 2 ? fabs(f[i * d + 1]) : hypot(f[i * d + 1], f[i * d + 2]);
    assert_true(f[i * d] >= program->lower[i] * (1 - 1e-15));
    assert_true(tangent <= program->mu[i] * f[i * d] * (1 + 1e-12));
  }
}

static void try_program(rng *r, const problem_kind *kind, tally *sum) {
  cone_problem problem = cone_problem_random(r, kind, &memory);
  const cone_program *program = &problem.program;
  int count = program->contact_count, size = program->shape.size;
  cone_solution solution = solve(program, 0);
  assert_finite(solution.f, size);
  double residual = cone_residual(program, solution.f, &scratch);
  count_solution(sum, &solution.info, residual);

  // the status says what the residual shows
  bool solved = solution.info.status <= CAROM_CONE_DEGENERATE;
  if (solved) assert_true(residual <= 1e-9);
  if (solved) assert_feasible(program, solution.f);
  if (solution.info.status == CAROM_CONE_INACCURATE) assert_true(solution.info.residual > 1e-10);

  // and the derivative is finite whatever happened
  double *f_bar = arena_doubles(&memory, size);
  for (int k = 0; k < size; k++) f_bar[k] = rng_normal(r);
  const cone_cotangents bars = solve_vjp(program, &solution, 0, f_bar);
  assert_finite(bars.p, size);
  for (int k = 0; k < CONE_PAIRS; k++) {
    assert_finite(bars.pair[k].p, size);
    assert_finite(bars.pair[k].f, size);
  }
  assert_finite(bars.mu, count);
  assert_finite(bars.lower, count);
}

static void report(const tally *sum) {
  print_message(
      "  %d programs: %.4f %% to 1e-8 (worst %.1e); %d solved, %d degenerate, "
      "%d inaccurate, %d unbounded, %d invalid\n",
      sum->tried, 100.0 * sum->within / sum->tried, sum->worst, sum->by_status[0],
      sum->by_status[1], sum->by_status[2], sum->by_status[3], sum->by_status[4]);
  print_message(
      "  least-norm selection in %.1f %%, interior point in %.2f %% (at most %d steps); "
      "Newton steps: mean %.1f, at most %d\n",
      100.0 * sum->singular / sum->tried, 100.0 * sum->interior / sum->tried,
      sum->most_interior_steps, (double)sum->newton_steps / sum->tried, sum->most_newton_steps);
}

static void test_random_programs(void **state) {
  (void)state;
  tally sum = {0};
  for (int t = 0; t < program_count; t++) {
    clear_memory(NULL);
    int index = t % KINDS;
    problem_kind kind = kind_of(index);
    rng r;
    rng_seed(&r, (uint64_t)(11 + index), (uint64_t)(t / KINDS));
    try_program(&r, &kind, &sum);
  }
  report(&sum);

  // none invalid or unbounded, for physics makes no such programs; nearly all to full accuracy
  assert_int_equal(sum.by_status[CAROM_CONE_INVALID], 0);
  assert_int_equal(sum.by_status[CAROM_CONE_UNBOUNDED], 0);
  assert_true(sum.by_status[CAROM_CONE_INACCURATE] * 1000 <= sum.tried);
  assert_true((sum.tried - sum.within) * 1000 <= sum.tried);
  assert_true(sum.interior * 100 <= sum.tried);
}

int main(int argc, char **argv) {
  program_count = repeats(4000);
  const char *wanted = argc > 1 ? argv[1] : getenv("CAROM_ROBUSTNESS");
  if (wanted != NULL && atoi(wanted) > 0) program_count = atoi(wanted);
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_programs)};
  return cmocka_run_group_tests(tests, open_memory, close_memory);
}
