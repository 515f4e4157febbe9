/* The cone program of contact impulses, its solver and its derivative: usable as a layer of its own. */
#ifndef CAROM_PUBLIC_CONE_H
#define CAROM_PUBLIC_CONE_H

#include <stdbool.h>
#include <stdint.h>

#include "status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* minimise 1/2 f'Af + b'f  subject to  |f_t,i| <= mu_i f_n,i  and  f_n,i >= lower_i
 * for every contact i. f_i has `dimension` entries, the normal first. A is symmetric positive
 * semidefinite. Where A is singular and f is not unique, f is the minimiser of least norm (the
 * limit of A + epsilon I for epsilon -> 0). */
typedef struct carom_cone_program {
  int contact_count;   /* >= 0 */
  int dimension;       /* 1, 2 or 3 */
  const double *A;     /* [C][C], C = contact_count * dimension; only the lower triangle is read */
  const double *b;     /* [C] */
  const double *mu;    /* [contact_count] >= 0 */
  const double *lower; /* [contact_count] >= 0, or NULL for zeros */
} carom_cone_program;

typedef struct carom_cone_options {
  double tolerance;   /* largest scaled residual that counts as solved; 1e-10 */
  int max_iterations; /* of the interior-point method; 60 */
  double smoothing;   /* 0: the solution itself. kappa > 0: the point of the central path with
                          complementarity kappa (in scaled units), whose derivative is smooth */
} carom_cone_options;

CAROM_API carom_cone_options carom_cone_default_options(void);

typedef enum carom_cone_status {
  CAROM_CONE_SOLVED = 0, /* residual <= tolerance; the derivative is exact */
  CAROM_CONE_DEGENERATE, /* residual <= tolerance, but strict complementarity fails: the
                               derivative is one of several one-sided ones */
  CAROM_CONE_INACCURATE, /* the iteration ended with tolerance < residual */
  CAROM_CONE_UNBOUNDED,  /* b has a component outside the range of A that no cone holds: f and its
                               derivative are those with b projected on the range */
  CAROM_CONE_INVALID     /* non-finite numbers, or A is not positive semidefinite */
} carom_cone_status;

typedef struct carom_cone_info {
  carom_cone_status status;
  int newton_steps;   /* of the active-set method */
  int interior_steps; /* of the interior-point method; 0 where it was not needed */
  double residual;    /* natural-map residual, scaled: 0 for an exact solution */
  bool singular;      /* the least-norm selection was needed */
  bool projected; /* b was replaced by its part in the range of A: what was left out is drift, at
                           most 1e-6 of the size of b, or the program is unbounded */
} carom_cone_info;

CAROM_API const char *carom_cone_status_text(carom_cone_status status);

/* Files with one program (JSON), to keep one that failed and to replay it: bit for bit, numbers that
 * are not finite included. */
CAROM_API carom_status carom_cone_program_read(const char *path, carom_cone_program *program,
                                               carom_error *error);
CAROM_API carom_status carom_cone_program_write(const carom_cone_program *program, const char *path,
                                                carom_error *error);
/* Of a program that was read. */
CAROM_API void carom_cone_program_free(carom_cone_program *program);

/* A solver owns the memory for problems of any size (it grows to the largest seen), a copy of the last
 * problem with its solution, and the factorisation at that solution. The first derivative after a
 * solve makes it, all later ones use it: a whole Jacobian costs little more than its products. */
typedef struct carom_cone_solver carom_cone_solver;
CAROM_API carom_status carom_cone_solver_create(carom_cone_solver **solver, carom_error *error);
CAROM_API void carom_cone_solver_destroy(carom_cone_solver *solver);

/* Solves; f is [C]. A bad call is an error; how it was solved is in `info` (may be NULL); options may
 * be NULL for the defaults. The program is copied: its arrays may change or go afterwards. */
CAROM_API carom_status carom_cone_solver_solve(carom_cone_solver *solver,
                                               const carom_cone_program *program,
                                               const carom_cone_options *options, double *f,
                                               carom_cone_info *info, carom_error *error);

/* Programs solved so far. A solver keeps the last one alone: who differentiates later notes the count
 * and compares. */
CAROM_API int64_t carom_cone_solver_solve_count(const carom_cone_solver *solver);

/* The derivative of the last solve (an error if that failed): from f_bar [C] to the cotangents of the
 * inputs, each overwritten, each may be NULL. A_bar [C][C] is symmetric. */
CAROM_API carom_status carom_cone_solver_vjp(carom_cone_solver *solver, const double *f_bar,
                                             double *A_bar, double *b_bar, double *mu_bar,
                                             double *lower_bar, carom_error *error);

#ifdef __cplusplus
}
#endif
#endif
