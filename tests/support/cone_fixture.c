#include "support/cone_fixture.h"

#include <math.h>

arena memory, scratch;

int open_memory(void **state) {
  (void)state;
  arena_init(&memory);
  arena_init(&scratch);
  return 0;
}

int close_memory(void **state) {
  (void)state;
  arena_free(&memory);
  arena_free(&scratch);
  return 0;
}

int clear_memory(void **state) {
  (void)state;
  arena_restore(&memory, (arena_mark){0});
  return 0;
}

static carom_cone_options options_with(double smoothing) {
  carom_cone_options options = carom_cone_default_options();
  options.smoothing = smoothing;
  return options;
}

cone_solution solve(const cone_program *program, double smoothing) {
  const carom_cone_options options = options_with(smoothing);
  cone_solution solution = cone_solution_make(program, &memory);
  cone_solve(program, &options, false, &solution, &scratch);
  return solution;
}

// NaN until it is written
static double *unwritten(int count) {
  double *x = arena_doubles(&memory, count);
  for (int k = 0; k < count; k++) x[k] = NAN;
  return x;
}

cone_cotangents solve_vjp(const cone_program *program, const cone_solution *solution,
                          double smoothing, const double *f_bar) {
  const carom_cone_options options = options_with(smoothing);
  int size = program->shape.size, count = program->contact_count;
  cone_cotangents bars = {.p = unwritten(size), .mu = unwritten(count), .lower = unwritten(count)};
  for (int k = 0; k < CONE_PAIRS; k++) bars.pair[k] = (cone_pair){unwritten(size), unwritten(size)};
  cone_solve_vjp(program, &options, solution, f_bar, &bars, &scratch);
  return bars;
}
