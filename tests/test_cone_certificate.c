/* Random cone programs that are hard on purpose, each answer judged by a certificate that knows nothing
 * of the solver (cone_certificate.h): what is called solved is solved; what is not is rare.
 *
 * CAROM_ROBUSTNESS=3000 (or the first argument) sets how many programs of each family are tried, a
 * second argument the family alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/cone_certificate.h"
#include "support/cone_fixture.h"
#include "support/quick.h"

/* Gap and violation that count as solved, and what may have been taken from b where that is said. */
static const double TOLERANCE = 1e-8, PROJECTED = 1e-6;

typedef struct tally {
  int tried, unsolved, unbounded, wrong;
  int bad_f; /* outside its cone, worse than (lower, 0), not finite or too large, whatever the status */
  double worst_gap, worst_violation, largest;
} tally;

typedef struct dense_problem {
  carom_cone_program program;
  double *A, *b, *mu, *lower;
} dense_problem;

static int program_count;
static const char *only_family;
static carom_cone_solver *solver;

static dense_problem dense_make(int count, int d) {
  int size = count * d;
  dense_problem p = {.A = arena_zeros(&memory, size * size),
                     .b = arena_zeros(&memory, size),
                     .mu = arena_zeros(&memory, count),
                     .lower = arena_zeros(&memory, count)};
  p.program = (carom_cone_program){
      .contact_count = count, .dimension = d, .A = p.A, .b = p.b, .mu = p.mu, .lower = p.lower};
  return p;
}

static dense_problem dense_of(const cone_problem *from) {
  const cone_program *given = &from->program;
  int size = given->shape.size;
  dense_problem p = dense_make(given->contact_count, given->dimension);
  for (int i = 0; i < size; i++)
    for (int j = 0; j <= i; j++)
      p.A[i * size + j] = p.A[j * size + i] = given->A[envelope_at(&given->shape, i, j)];
  memcpy(p.b, given->b, sizeof(double) * (size_t)size);
  memcpy(p.mu, given->mu, sizeof(double) * (size_t)given->contact_count);
  memcpy(p.lower, given->lower, sizeof(double) * (size_t)given->contact_count);
  return p;
}

static double random_mu(rng *r) {
  double choice = rng_uniform(r, 0, 1);
  if (choice < 0.2) return 0;
  return choice < 0.7 ? rng_uniform(r, 0, 1) : pow(10, rng_uniform(r, -3, 1));
}

// the second program of an event, after a compression by any impulse in the cones: no solver is needed
static void restitute(rng *r, cone_problem *base) {
  const cone_program *program = &base->program;
  int d = program->dimension, size = program->shape.size;
  double *f = arena_zeros(&memory, size), *change = arena_zeros(&memory, size), speed = 0;
  for (int k = 0; k < size; k++) speed = fmax(speed, fabs(base->b[k]));
  for (int i = 0; i < program->contact_count; i++) {
    double *on = f + i * d, e = rng_below(r, 4) == 0 ? 0 : rng_uniform(r, 0, 1);
    double stiffness = base->A[envelope_at(&program->shape, i * d, i * d)];
    if (rng_below(r, 3) == 0 || !(stiffness > 0)) continue;
    on[0] = rng_uniform(r, 0, 1) * speed / stiffness;
    double share = fmin(rng_uniform(r, 0, 1.5), 1) * program->mu[i] * on[0],
           angle = rng_uniform(r, 0, 6.3);
    if (d > 1) on[1] = share * (d == 2 && angle > 3 ? -1 : cos(angle));
    if (d > 2) on[2] = share * sin(angle);
    base->lower[i] = e * on[0];
  }
  envelope_multiply(&program->shape, program->A, f, change);
  for (int k = 0; k < size; k++) base->b[k] += change[k];
}

// ---- families

// rows in other units, by up to 1e12 between contacts
static dense_problem family_rows(rng *r) {
  problem_kind kind = {.mass_ratio = 10, .any_friction = true};
  cone_problem base = cone_problem_random(r, &kind, &memory);
  if (rng_below(r, 2) == 0) restitute(r, &base);
  dense_problem p = dense_of(&base);
  int d = p.program.dimension, size = p.program.contact_count * d;
  bool matrix = rng_below(r, 2) == 0;
  for (int i = 0; i < p.program.contact_count; i++) {
    // J by 1e-6 to 1e6, or A by that
    double unit = pow(10, (matrix ? 0.5 : 1) * rng_uniform(r, -6, 6));
    for (int k = i * d; k < i * d + d; k++) {
      p.b[k] *= unit;
      for (int m = 0; m < size; m++) p.A[k * size + m] *= unit;
      for (int m = 0; m < size; m++) p.A[m * size + k] *= unit;
    }
    p.lower[i] /= unit;
  }
  for (int i = 0; i < size; i++)
    for (int j = 0; j < i; j++) p.A[j * size + i] = p.A[i * size + j];
  return p;
}

// rows in other units within a contact too
static dense_problem family_axes(rng *r) {
  problem_kind kind = {.mass_ratio = 10, .any_friction = true};
  cone_problem base = cone_problem_random(r, &kind, &memory);
  int size = base.program.shape.size, D = base.freedom_count;
  for (int i = 0; i < size; i++) {
    double unit = pow(10, rng_uniform(r, -3, 3));
    base.b[i] *= unit;
    for (int k = 0; k < D; k++) base.G[k * size + i] *= unit;
  }
  cone_problem_assemble(&base);
  return dense_of(&base);
}

static dense_problem family_levers(rng *r) {
  problem_kind kind = {.mass_ratio = 1e8, .lever = 1e3, .any_friction = true};
  cone_problem base = cone_problem_random(r, &kind, &memory);
  if (rng_below(r, 2) == 0) restitute(r, &base);
  return dense_of(&base);
}

static dense_problem family_duplicates(rng *r) {
  problem_kind kind = {.mass_ratio = 10,
                       .any_friction = true,
                       .duplicates = true,
                       .apart = 1e-3,
                       .grazing = rng_below(r, 2) == 0};
  cone_problem base = cone_problem_random(r, &kind, &memory);
  if (rng_below(r, 2) == 0) restitute(r, &base);
  return dense_of(&base);
}

// b += off beside what b could be, for each contact in its units
static void leave_range(rng *r, double off, dense_problem *p) {
  int d = p->program.dimension, size = p->program.contact_count * d;
  double *unit = arena_zeros(&memory, p->program.contact_count), largest = 0;
  for (int k = 0; k < size; k++) unit[k / d] += p->A[k * (size + 1)] / d;
  for (int k = 0; k < size; k++) largest = fmax(largest, fabs(p->b[k]) / sqrt(unit[k / d]));
  for (int k = 0; k < size; k++)
    p->b[k] += off * largest * sqrt(unit[k / d]) * rng_uniform(r, -1, 1);
}

// A = G'G of a given rank, b = G'v, frictions and bounds of all kinds
static dense_problem random_rank(rng *r, int count, int d, int rank) {
  dense_problem p = dense_make(count, d);
  int size = count * d;
  double *G = arena_doubles(&memory, rank * size + 1);
  for (int k = 0; k < rank * size; k++) G[k] = rng_normal(r);
  for (int k = 0; k < rank; k++) {
    double v = rng_normal(r);
    for (int i = 0; i < size; i++) {
      p.b[i] += v * G[k * size + i];
      for (int j = 0; j < size; j++) p.A[i * size + j] += G[k * size + i] * G[k * size + j];
    }
  }
  bool bounds = rng_below(r, 2) == 0;
  for (int i = 0; i < count; i++) {
    p.mu[i] = random_mu(r);
    p.lower[i] = bounds && rng_below(r, 2) == 0 ? rng_uniform(r, 0, 1) : 0;
  }
  return p;
}

static dense_problem family_rank_one(rng *r) {
  int count = 1 + rng_below(r, 4), d = 1 + rng_below(r, 3);
  dense_problem p = random_rank(r, count, d, 1);
  leave_range(r, 1e-8 * rng_uniform(r, 0, 0.5), &p);
  return p;
}

static dense_problem family_off_range(rng *r) {
  int count = 1 + rng_below(r, 4), d = 1 + rng_below(r, 3);
  dense_problem p = random_rank(r, count, d, 1 + rng_below(r, count * d));
  leave_range(r, pow(10, rng_uniform(r, -7, 0)), &p);
  return p;
}

static dense_problem family_any_rank(rng *r) {
  int count = 1 + rng_below(r, 4), d = 1 + rng_below(r, 3);
  return random_rank(r, count, d, rng_below(r, count * d + 1));
}

static dense_problem family_physics(rng *r) {
  int bits = rng_below(r, 8);
  problem_kind kind = {.mass_ratio = bits & 1 ? 1e4 : 10,
                       .any_friction = true,
                       .duplicates = (bits & 2) != 0,
                       .grazing = (bits & 2) != 0};
  cone_problem base = cone_problem_random(r, &kind, &memory);
  if (bits & 4) restitute(r, &base);
  return dense_of(&base);
}

typedef struct family {
  const char *name;
  dense_problem (*make)(rng *r);
  bool unbounded; /* some are: b is off the range by more than drift */
} family;

static const family families[] = {
    {"as physics makes them", family_physics, false},
    {"contacts apart by 1e12", family_rows, false},
    {"axes apart by 1e6", family_axes, false},
    {"levers to 1e3, masses to 1e8", family_levers, false},
    {"near duplicates", family_duplicates, false},
    {"rank 1, b off by 1e-8", family_rank_one, false},
    {"every rank", family_any_rank, false},
    {"every rank, b off by 1e-7 to 1", family_off_range, true},
};
enum { FAMILIES = sizeof families / sizeof families[0] };

static void dump(const family *on, int index, const carom_cone_program *program) {
  const char *folder = getenv("CAROM_DUMP");
  if (folder == NULL) return;
  char path[512];
  snprintf(path, sizeof path, "%s/%d-%05d.json", folder, (int)(on - families), index);
  carom_cone_program_write(program, path, NULL);
}

static void try_program(const family *on, int index, tally *sum) {
  rng r;
  rng_seed(&r, (uint64_t)(71 + (on - families)), (uint64_t)index);
  dense_problem p = on->make(&r);
  double *f = arena_zeros(&memory, p.program.contact_count * p.program.dimension);
  carom_cone_info info;
  carom_error error;
  if (carom_cone_solver_solve(solver, &p.program, NULL, f, &info, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  cone_certificate c = cone_certify(&p.program, f);
  bool solved = info.status <= CAROM_CONE_DEGENERATE;
  if (info.projected) {
    c.violation = fmax(c.violation - PROJECTED, 0);
    c.gap = fmax(c.gap - PROJECTED * c.size * p.program.contact_count, 0);
  }
  bool good = c.finite && c.outside <= 1e-13 && c.objective <= 1e-9 && c.size <= 1e7;
  bool wrong = solved && !cone_certificate_holds(&c, TOLERANCE);
  sum->tried++;
  sum->unsolved += !solved && info.status != CAROM_CONE_UNBOUNDED;
  sum->unbounded += info.status == CAROM_CONE_UNBOUNDED;
  sum->wrong += wrong;
  sum->bad_f += !good;
  if (!solved || wrong || !good) dump(on, index, &p.program);
  if (!solved) return;
  sum->largest = fmax(sum->largest, c.size);
  sum->worst_gap = fmax(sum->worst_gap, c.gap);
  sum->worst_violation = fmax(sum->worst_violation, c.violation);
}

static void test_families(void **state) {
  (void)state;
  bool all_good = true;
  for (int k = 0; k < FAMILIES; k++) {
    if (only_family != NULL && atoi(only_family) != k) continue;
    tally sum = {0};
    for (int t = 0; t < program_count; t++) {
      clear_memory(NULL);
      try_program(&families[k], t, &sum);
    }
    print_message(
        "  %-30s %d tried: %d wrong called solved, %d unsolved, %d unbounded, %d impossible f; gap "
        "%.1e, "
        "violation %.1e, largest f %.1e\n",
        families[k].name, sum.tried, sum.wrong, sum.unsolved, sum.unbounded, sum.bad_f,
        sum.worst_gap, sum.worst_violation, sum.largest);
    all_good = all_good && sum.wrong == 0 && sum.bad_f == 0 && sum.unsolved * 1000 <= sum.tried &&
               (families[k].unbounded || sum.unbounded * 1000 <= sum.tried);
  }
  assert_true(all_good);
}

int main(int argc, char **argv) {
  program_count = repeats(1000);
  const char *wanted = argc > 1 ? argv[1] : getenv("CAROM_ROBUSTNESS");
  if (wanted != NULL && atoi(wanted) > 0) program_count = atoi(wanted);
  only_family = argc > 2 ? argv[2] : NULL;
  carom_error error;
  if (carom_cone_solver_create(&solver, &error) != CAROM_OK) return EXIT_FAILURE;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_families)};
  int failed = cmocka_run_group_tests(tests, open_memory, close_memory);
  carom_cone_solver_destroy(solver);
  return failed;
}
