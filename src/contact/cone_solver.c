/* The public interface of the cone program: dense arrays in, an object that owns its memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "contact/cone_options.h"
#include "contact/cone_program.h"

struct carom_cone_solver {
  arena memory; /* program and solution of the last solve */
  arena scratch;
  cone_program program;
  cone_solution solution;
  carom_cone_options options;
  bool solved;
  cone_adjoint *adjoint; /* of the last solve, made by its first derivative; in `memory` */
  int64_t solve_count;
};

const char *carom_cone_status_text(carom_cone_status status) {
  switch (status) {
    case CAROM_CONE_SOLVED: return "solved";
    case CAROM_CONE_DEGENERATE: return "solved, but a contact is on the border of two states";
    case CAROM_CONE_INACCURATE: return "not solved to the tolerance";
    case CAROM_CONE_UNBOUNDED: return "unbounded: b is not in the range of A";
    case CAROM_CONE_INVALID: return "invalid: not finite, or A is not positive semidefinite";
  }
  return "unknown";
}

carom_status carom_cone_solver_create(carom_cone_solver **solver, carom_error *error) {
  REQUIRE(solver, error);
  *solver = calloc(1, sizeof **solver);
  if (*solver == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "carom_cone_solver_create: out of memory");
  arena_init(&(*solver)->memory);
  arena_init(&(*solver)->scratch);
  return error_clear(error);
}

void carom_cone_solver_destroy(carom_cone_solver *solver) {
  if (solver == NULL) return;
  arena_free(&solver->memory);
  arena_free(&solver->scratch);
  free(solver);
}

static carom_status check_numbers(const char *name, const double *x, int count, bool negative,
                                  carom_error *error) {
  for (int k = 0; k < count; k++)
    if (!isfinite(x[k]) || (!negative && x[k] < 0))
      return error_set(error, CAROM_INVALID_ARGUMENT,
                       "carom_cone_solver_solve: %s[%d] is %g; it must be finite%s", name, k, x[k],
                       negative ? "" : " and not negative");
  return CAROM_OK;
}

static carom_status check_matrix(const double *A, int size, carom_error *error) {
  for (int i = 0; i < size; i++)
    for (int j = 0; j <= i; j++)
      if (!isfinite(A[(size_t)i * size + j]) || (i == j && A[(size_t)i * size + j] < 0))
        return error_set(error, CAROM_INVALID_ARGUMENT,
                         "carom_cone_solver_solve: A[%d][%d] is %g; A must be finite and positive "
                         "semidefinite",
                         i, j, A[(size_t)i * size + j]);
  return CAROM_OK;
}

static carom_status check_program(const carom_cone_program *program, carom_error *error) {
  int count = program->contact_count, d = program->dimension;
  if (count < 0 || d < 1 || d > 3 || count > 10000)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_cone_solver_solve: contact_count is %d and dimension is %d; they must "
                     "be 0 to 10000 and 1 to 3",
                     count, d);
  if (count == 0) return CAROM_OK;
  if (program->A == NULL || program->b == NULL || program->mu == NULL)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_cone_solver_solve: A, b or mu of the program is NULL");
  carom_status status = check_matrix(program->A, count * d, error);
  if (status == CAROM_OK) status = check_numbers("b", program->b, count * d, true, error);
  if (status == CAROM_OK) status = check_numbers("mu", program->mu, count, false, error);
  if (status == CAROM_OK && program->lower != NULL)
    status = check_numbers("lower", program->lower, count, false, error);
  return status;
}

static double *copy_numbers(const double *from, int count, arena *memory) {
  double *to = arena_doubles(memory, count);
  if (count > 0) memcpy(to, from, sizeof(double) * (size_t)count);
  return to;
}

// envelope copy of a dense lower triangle: rows of a contact begin at its first nonzero block
static void copy_program(carom_cone_solver *solver, const carom_cone_program *program) {
  int count = program->contact_count, d = program->dimension, size = count * d;
  arena *memory = &solver->memory;
  int *first = ARENA_ARRAY(memory, int, size + 1);
  for (int i = 0; i < count; i++) {
    int column = i * d;
    for (int a = i * d; a < i * d + d; a++)
      for (int j = 0; j < column; j++)
        if (program->A[(size_t)a * size + j] != 0) column = j;
    for (int a = 0; a < d; a++) first[i * d + a] = column / d * d;
  }
  envelope shape = envelope_make(size, first, memory);
  double *A = arena_doubles(memory, shape.start[size]);
  for (int i = 0; i < size; i++)
    memcpy(A + shape.start[i], program->A + (size_t)i * size + first[i],
           sizeof(double) * (size_t)(i - first[i] + 1));
  solver->program = (cone_program){
      .contact_count = count,
      .dimension = d,
      .shape = shape,
      .A = A,
      .b = copy_numbers(program->b, size, memory),
      .mu = copy_numbers(program->mu, count, memory),
      .lower = program->lower != NULL ? copy_numbers(program->lower, count, memory)
                                      : arena_zeros(memory, count),
  };
  solver->solution = (cone_solution){.f = arena_zeros(memory, size),
                                     .state = ARENA_ARRAY(memory, unsigned char, count),
                                     .dual = arena_zeros(memory, size + count)};
}

/* A program to solve, as a guard takes it. */
typedef struct solve_work {
  carom_cone_solver *solver;
  const carom_cone_program *program;
} solve_work;

static void solve(void *user) {
  const solve_work *w = user;
  carom_cone_solver *solver = w->solver;
  copy_program(solver, w->program);
  cone_solve(&solver->program, &solver->options, false, &solver->solution, &solver->scratch);
}

/* Memory that ran short leaves the solver ready for another program. */
static carom_status no_memory(carom_cone_solver *solver, const char *function, int count,
                              carom_error *error) {
  arena_restore(&solver->scratch, (arena_mark){0});
  return error_set(error, CAROM_OUT_OF_MEMORY, "%s: no memory for a program of %d contacts",
                   function, count);
}

carom_status carom_cone_solver_solve(carom_cone_solver *solver, const carom_cone_program *program,
                                     const carom_cone_options *options, double *f,
                                     carom_cone_info *info, carom_error *error) {
  REQUIRE(solver, error);
  REQUIRE(program, error);
  if (program->contact_count > 0) REQUIRE(f, error);
  carom_cone_options chosen = options != NULL ? *options : carom_cone_default_options();
  carom_status status = options_check(&cone_option_table, &chosen, error);
  if (status == CAROM_OK) status = check_program(program, error);
  solver->solved = false;
  solver->adjoint = NULL;
  if (status != CAROM_OK) return status;

  arena_restore(&solver->memory, (arena_mark){0});
  solver->options = chosen;
  if (!arena_guard(solve, &(solve_work){solver, program}))
    return no_memory(solver, "carom_cone_solver_solve", program->contact_count, error);
  solver->solved = true;
  solver->solve_count++;
  if (program->contact_count > 0)
    memcpy(f, solver->solution.f, sizeof(double) * (size_t)solver->program.shape.size);
  if (info != NULL) *info = solver->solution.info;
  return error_clear(error);
}

int64_t carom_cone_solver_solve_count(const carom_cone_solver *solver) {
  return solver != NULL ? solver->solve_count : 0;
}

// A_bar += factor / 2 (p f' + f p')
static void add_pair(int size, double factor, const double *p, const double *f, double *A_bar) {
  for (int i = 0; i < size; i++)
    for (int j = 0; j < size; j++)
      A_bar[(size_t)i * size + j] += 0.5 * factor * (p[i] * f[j] + f[i] * p[j]);
}

// A_bar = -1/2 (p f' + f p') + the pairs
static void matrix_cotangent(int size, const double *f, const cone_cotangents *bars,
                             double *A_bar) {
  memset(A_bar, 0, sizeof(double) * (size_t)size * (size_t)size);
  add_pair(size, -1, bars->p, f, A_bar);
  for (int k = 0; k < bars->pair_count; k++)
    add_pair(size, 1, bars->pair[k].p, bars->pair[k].f, A_bar);
}

/* Cotangents to compute, as a guard takes them. */
typedef struct vjp_work {
  carom_cone_solver *solver;
  const double *f_bar;
  double *A_bar, *b_bar, *mu_bar, *lower_bar;
} vjp_work;

static void solve_vjp(void *user) {
  const vjp_work *w = user;
  carom_cone_solver *solver = w->solver;
  int count = solver->program.contact_count, size = solver->program.shape.size;
  arena *scratch = &solver->scratch;
  arena_mark mark = arena_save(scratch);
  cone_cotangents bars = cone_cotangents_make(count, solver->program.dimension, scratch);
  if (solver->adjoint == NULL)
    solver->adjoint =
        cone_adjoint_make(&solver->program, &solver->options, &solver->solution, &solver->memory);
  cone_adjoint_apply(solver->adjoint, w->f_bar, &bars);
  if (w->A_bar != NULL) matrix_cotangent(size, solver->solution.f, &bars, w->A_bar);
  for (int k = 0; w->b_bar != NULL && k < size; k++) w->b_bar[k] = -bars.p[k];
  if (w->mu_bar != NULL) memcpy(w->mu_bar, bars.mu, sizeof(double) * (size_t)count);
  if (w->lower_bar != NULL) memcpy(w->lower_bar, bars.lower, sizeof(double) * (size_t)count);
  arena_restore(scratch, mark);
}

carom_status carom_cone_solver_vjp(carom_cone_solver *solver, const double *f_bar, double *A_bar,
                                   double *b_bar, double *mu_bar, double *lower_bar,
                                   carom_error *error) {
  REQUIRE(solver, error);
  if (!solver->solved)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_cone_solver_vjp: there is no solution to differentiate; call "
                     "carom_cone_solver_solve first");
  int count = solver->program.contact_count;
  if (count == 0) return error_clear(error);
  REQUIRE(f_bar, error);
  vjp_work work = {solver, f_bar, A_bar, b_bar, mu_bar, lower_bar};
  if (!arena_guard(solve_vjp, &work))
    return no_memory(solver, "carom_cone_solver_vjp", count, error);
  return error_clear(error);
}
