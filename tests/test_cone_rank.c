/* The derivative of cone programs of every rank and dimension, A = G'G with G [rank][C], b = G'v,
 * beside central differences along changes of G, v, mu and lower, which keep the rank, and beside the
 * derivative with A + epsilon I for a small epsilon.
 *
 * CAROM_ROBUSTNESS=3000 (or the first argument) sets how many programs of each size are tried. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/cone_fixture.h"
#include "support/quick.h"

enum { MAX_CONTACTS = 4, MAX_SIZE = 3 * MAX_CONTACTS };

/* What a program is made of, and a direction in which all of it changes. */
typedef struct ingredients {
  int count, dimension, rank;
  double G[MAX_SIZE * MAX_SIZE], v[MAX_SIZE], off[MAX_SIZE], mu[MAX_CONTACTS], lower[MAX_CONTACTS];
} ingredients;

typedef struct outcome {
  double A[MAX_SIZE * MAX_SIZE], b[MAX_SIZE], f[MAX_SIZE];
  carom_cone_info info;
  carom_cone_program program;
} outcome;

typedef struct tally {
  int tried, solved, compared, wrong, wrong_limit, compared_limit;
  double worst, worst_limit;
} tally;

static int program_count;
static carom_cone_solver *solver;

// the range of A changes with G; what is off it is the same vector throughout
static void solve_at(const ingredients *from, double epsilon, outcome *to) {
  int d = from->dimension, size = from->count * d;
  for (int i = 0; i < size; i++) {
    to->b[i] = from->off[i];
    for (int k = 0; k < from->rank; k++) to->b[i] += from->G[k * size + i] * from->v[k];
    for (int j = 0; j < size; j++) {
      double sum = i == j ? epsilon : 0;
      for (int k = 0; k < from->rank; k++) sum += from->G[k * size + i] * from->G[k * size + j];
      to->A[i * size + j] = sum;
    }
  }
  to->program = (carom_cone_program){.contact_count = from->count,
                                     .dimension = d,
                                     .A = to->A,
                                     .b = to->b,
                                     .mu = from->mu,
                                     .lower = from->lower};
  carom_error error;
  if (carom_cone_solver_solve(solver, &to->program, NULL, to->f, &to->info, &error) != CAROM_OK)
    fail_msg("%s", error.message);
}

static ingredients moved(const ingredients *from, const ingredients *way, double step) {
  ingredients to = *from;
  for (int k = 0; k < MAX_SIZE * MAX_SIZE; k++) to.G[k] += step * way->G[k];
  for (int k = 0; k < MAX_SIZE; k++) to.v[k] += step * way->v[k];
  for (int k = 0; k < MAX_SIZE; k++) to.off[k] += step * way->off[k];
  for (int i = 0; i < MAX_CONTACTS; i++) {
    to.mu[i] += step * way->mu[i];
    to.lower[i] += step * way->lower[i];
  }
  return to;
}

static double dot(const double *a, const double *b, int count) {
  double sum = 0;
  for (int k = 0; k < count; k++) sum += a[k] * b[k];
  return sum;
}

// f_bar . df along the way, from the derivative of the last solve
static double predict(const ingredients *at, const ingredients *way, const double *f_bar) {
  int size = at->count * at->dimension;
  double A_bar[MAX_SIZE * MAX_SIZE], b_bar[MAX_SIZE], mu_bar[MAX_CONTACTS], lower_bar[MAX_CONTACTS];
  carom_error error;
  if (carom_cone_solver_vjp(solver, f_bar, A_bar, b_bar, mu_bar, lower_bar, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  double sum = dot(mu_bar, way->mu, at->count) + dot(lower_bar, way->lower, at->count) +
               dot(b_bar, way->off, size);
  for (int k = 0; k < at->rank; k++) {
    const double *G = at->G + k * size, *dG = way->G + k * size;
    for (int i = 0; i < size; i++) {
      sum += b_bar[i] * (G[i] * way->v[k] + dG[i] * at->v[k]);
      sum += 2 * dG[i] * dot(A_bar + i * size, G, size);
    }
  }
  return sum;
}

static ingredients random_ingredients(rng *r, int count, int d, int rank, double off) {
  ingredients x = {.count = count, .dimension = d, .rank = rank};
  bool bounds = rng_below(r, 2) == 0;
  for (int k = 0; k < rank * count * d; k++) x.G[k] = rng_normal(r);
  for (int k = 0; k < rank; k++) x.v[k] = rng_normal(r);
  for (int k = 0; k < count * d; k++) x.off[k] = off * rng_normal(r);
  for (int i = 0; i < count; i++) {
    x.mu[i] = rng_uniform(r, 0.1, 1.5);
    x.lower[i] = bounds && rng_below(r, 2) == 0 ? rng_uniform(r, 0.1, 1) : 0;
  }
  return x;
}

static ingredients random_way(rng *r, const ingredients *at, double off) {
  ingredients way = random_ingredients(r, at->count, at->dimension, at->rank, off);
  for (int k = 0; k < MAX_SIZE * MAX_SIZE; k++) way.G[k] *= 0.3;
  for (int i = 0; i < at->count; i++) {
    way.mu[i] = 0.3 * rng_normal(r);
    way.lower[i] = at->lower[i] * rng_normal(r);
  }
  return way;
}

static double relative(double error, double value) { return fabs(error) / (fabs(value) + 1e-1); }

// the least error over steps; infinite if f does not change smoothly over any of them
static double difference_error(const ingredients *at, const ingredients *way, const double *f_bar,
                               carom_cone_status status, double expected) {
  int size = at->count * at->dimension;
  double best = INFINITY, last = INFINITY;
  bool smooth = false;
  for (double step = 1e-3; step > 5e-7; step /= 4) {
    double value[2];
    outcome other;
    bool changed = false;
    for (int side = 0; side < 2; side++) {
      ingredients to = moved(at, way, side == 0 ? -step : step);
      solve_at(&to, 0, &other);
      value[side] = dot(f_bar, other.f, size);
      changed = changed || other.info.status != status;
    }
    double difference = (value[1] - value[0]) / (2 * step);
    if (!changed) {
      best = fmin(best, relative(difference - expected, expected));
      smooth = smooth || relative(difference - last, last) < 1e-4;
      last = difference;
    }
  }
  return smooth ? best : INFINITY;
}

static void compare(rng *r, const ingredients *at, const ingredients *way, carom_cone_status status,
                    tally *sum) {
  int size = at->count * at->dimension;
  double f_bar[MAX_SIZE];
  outcome here, near;
  for (int k = 0; k < size; k++) f_bar[k] = rng_normal(r);
  solve_at(at, 0, &here);
  sum->tried++;
  if (here.info.status != status) return;
  sum->solved++;
  double expected = predict(at, way, f_bar);
  double error = difference_error(at, way, f_bar, status, expected);
  if (error < INFINITY) {
    sum->compared++;
    sum->wrong += error > 1e-5;
    sum->worst = fmax(sum->worst, error);
  }
  if (status != CAROM_CONE_SOLVED) return;
  // the limit is reached in proportion to epsilon, until rounding / epsilon shows
  double least = INFINITY;
  for (double epsilon = 1e-5; epsilon > 5e-11; epsilon /= 10) {
    solve_at(at, epsilon, &near);
    if (near.info.status != CAROM_CONE_SOLVED) continue;
    double limit = predict(at, way, f_bar);
    least = fmin(least, relative(limit - expected, limit));
  }
  if (!(least < INFINITY)) return;
  sum->compared_limit++;
  sum->wrong_limit += least > 1e-3;
  sum->worst_limit = fmax(sum->worst_limit, least);
}

static void report(const char *name, int d, int rank_from, int rank_to, const tally *sum) {
  print_message(
      "  %dD, rank %d to %d%s: %d tried, %d so ended; of %d compared with differences %d wrong "
      "(worst "
      "%.1e), of %d with A + epsilon I %d (%.1e)\n",
      d, rank_from, rank_to, name, sum->tried, sum->solved, sum->compared, sum->wrong, sum->worst,
      sum->compared_limit, sum->wrong_limit, sum->worst_limit);
}

static void add(tally *into, const tally *from) {
  into->wrong += from->wrong;
  into->wrong_limit += from->wrong_limit;
  into->compared += from->compared;
  into->solved += from->solved;
}

static void test_every_rank(void **state) {
  (void)state;
  tally total = {0};
  for (int d = 1; d <= 3; d++)
    for (int count = 1; count <= MAX_CONTACTS; count++)
      for (int rank = 1; rank <= count * d; rank++) {
        tally sum = {0};
        for (int t = 0; t < program_count; t++) {
          rng r;
          rng_seed(&r, (uint64_t)(1000 + 100 * d + 20 * count + rank), (uint64_t)t);
          ingredients at = random_ingredients(&r, count, d, rank, 0);
          ingredients way = random_way(&r, &at, 0);
          compare(&r, &at, &way, CAROM_CONE_SOLVED, &sum);
        }
        char name[40];
        snprintf(name, sizeof name, ", %d contacts", count);
        report(name, d, rank, rank, &sum);
        add(&total, &sum);
      }
  assert_int_equal(total.wrong, 0);
  assert_true(total.compared * 10 >= total.solved * 8);

  // where A is nearly of a lower rank rounding / epsilon hides the limit
  assert_true(total.wrong_limit * 500 <= total.compared + 500);
}

// unbounded: b is projected on the range of A, which changes with A
static void test_projected(void **state) {
  (void)state;
  tally total = {0};
  for (int d = 1; d <= 3; d++) {
    tally sum = {0};
    for (int t = 0; t < 10 * program_count; t++) {
      rng r;
      rng_seed(&r, (uint64_t)(2000 + d), (uint64_t)t);
      int count = 1 + rng_below(&r, MAX_CONTACTS);
      int rank = 1 + rng_below(&r, count * d);
      ingredients at = random_ingredients(&r, count, d, rank, 0.3);
      ingredients way = random_way(&r, &at, 0.3);
      compare(&r, &at, &way, CAROM_CONE_UNBOUNDED, &sum);
    }
    report(" unbounded", d, 1, d * MAX_CONTACTS, &sum);
    add(&total, &sum);
  }
  // some are degenerate beside being unbounded, and have several derivatives
  assert_true(total.wrong * 200 <= total.compared);
  assert_true(total.compared > program_count);
}

int main(int argc, char **argv) {
  program_count = repeats(40);
  const char *wanted = argc > 1 ? argv[1] : getenv("CAROM_ROBUSTNESS");
  if (wanted != NULL && atoi(wanted) > 0) program_count = atoi(wanted);
  carom_error error;
  if (carom_cone_solver_create(&solver, &error) != CAROM_OK) return EXIT_FAILURE;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_rank),
                                     cmocka_unit_test(test_projected)};
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  carom_cone_solver_destroy(solver);
  return failed;
}
