/* The normal equations of all pieces: joins added, first states eliminated.
 *
 *   [ K  B ] [dz]     [ g_z ]        K  block tridiagonal for each run: pieces and their joins
 *   [ B' A ] [dq] = - [ g_q ]        S = A - B' K^-1 B   (Schur complement)
 *
 * with Levenberg's and Marquardt's damping on the diagonals of K and A. */
#ifndef CAROM_FIT_NORMAL_H
#define CAROM_FIT_NORMAL_H

#include "base/envelope.h"
#include "fit/shooting.h"

typedef struct normal_equations {
  shooting *sh;
  int f, p;
  int most;           /* unknowns of the first states of the longest run */
  int *first, *start; /* [most], [most + 1] shape of K */
  double *K;          /* values of one run */
  double *X;          /* [piece_count f][p + 1] K^-1 (B, g) of all runs */
  double *gz;         /* [piece_count f] */
  double *damping;    /* [piece_count f] diagonal that was added */
  double *S, *gq;     /* [p][p], [p] Schur complement and its gradient */
  double *work;
  double leverage[CAROM_CHANNEL_COUNT]; /* numbers that the first states take up, where asked for */
} normal_equations;

carom_status normal_init(normal_equations *n, shooting *sh, carom_error *error);
void normal_free(normal_equations *n);

/* Assembles the last evaluation with derivatives at these first states. `leverages` costs a
 * solution for each unknown. */
void normal_reduce(normal_equations *n, const double *q, const double *starts, double damping,
                   bool leverages);

/* dq [p] within the bounds low, high [p] of q + dq; false if S is not positive definite. */
bool normal_solve(const normal_equations *n, const double *q, const double *low, const double *high,
                  double damping, double *dq);

/* way [p] along which q is known least, of all that is known to a natural unit, one deviation long;
 * false if nothing is. */
bool normal_softest(const normal_equations *n, double *way);

/* dz [piece_count][f] that belongs to dq. */
void normal_states(const normal_equations *n, const double *dq, double *dz);

/* How much the quadratic model falls: -(g'd + d'Hd / 2). */
double normal_predicted(const normal_equations *n, const double *dq, const double *dz);

#endif
