/* Random cone programs made as physics makes them: rigid bodies and walls, contacts with arms and
 * frames, A = J M^-1 J', b = J v; a restitution program has lower = e f_c of the compression that
 * goes before and b = J v' - v*, v* in the range of J. */
#ifndef CAROM_TESTS_CONE_PROBLEMS_H
#define CAROM_TESTS_CONE_PROBLEMS_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/rng.h"
#include "contact/cone_program.h"

typedef struct problem_kind {
  int dimension;     /* 0: 2 or 3 */
  int contact_count; /* 0: 1 to 12 */
  int body_count;    /* 0: 1 to contact_count + 2; fewer bodies than contacts: rank-deficient */
  double mass_ratio; /* masses are log-uniform in [1, mass_ratio] */
  bool any_friction; /* mu is 0 in a fifth of the contacts and up to 10; else 0.1 to 1 */
  bool duplicates;   /* some contacts are copies of others */
  double apart;      /* such copies are off by 1e-12 to this; 0: exact */
  double lever;      /* arms are log-uniform in [1, lever]; 0: 0.5 */
  bool grazing;      /* some bodies are at rest */
  bool restitution;  /* the second program of an event */
} problem_kind;

/* A program with what it was made from. */
typedef struct cone_problem {
  cone_program program;
  int freedom_count;      /* D */
  double *G;              /* [D][C] = M^-1/2 J', A = G'G */
  double *b, *mu, *lower; /* what program points to, to be changed by tests */
  double *A;
} cone_problem;

cone_problem cone_problem_random(rng *r, const problem_kind *kind, arena *memory);

/* Fills A = G'G. */
void cone_problem_assemble(cone_problem *problem);

/* Memory for a solution of a program. */
cone_solution cone_solution_make(const cone_program *program, arena *memory);

/* A program whose A is dense: the lower triangle, row after row. */
cone_program dense_program(int contact_count, int dimension, const double *A, const double *b,
                           const double *mu, const double *lower, arena *memory);

#endif
