/* What tests of the cone program share: memory that every test begins with empty, a solver and its
 * derivative that take theirs from it. */
#ifndef CAROM_TESTS_CONE_FIXTURE_H
#define CAROM_TESTS_CONE_FIXTURE_H

#include "support/cone_problems.h"

extern arena memory, scratch;

/* Setup and teardown of the group, setup of each test; tests that try many programs clear the memory
 * before each, with NULL. */
int open_memory(void **state);
int close_memory(void **state);
int clear_memory(void **state);

/* With the default options, but for the smoothing. */
cone_solution solve(const cone_program *program, double smoothing);

cone_cotangents solve_vjp(const cone_program *program, const cone_solution *solution,
                          double smoothing, const double *f_bar);

#endif
