/* Members of a sample of the likelihood, and their moves.
 *
 * Each member has the unknowns q and the first states of all pieces. It moves by Metropolis' rule
 * for exp(-cost(q, s)): the first state of each piece by itself, along differences of two other
 * members and as the curvature at a minimum tells; and the unknowns, with the first states
 * following them as that curvature tells. What a piece costs is what shooting_try says: whoever
 * samples the likelihood itself sets its `strict`. */
#ifndef CAROM_FIT_CHAINS_H
#define CAROM_FIT_CHAINS_H

#include "fit/gaussian.h"
#include "fit/population.h"

/* Ways to move: a first state along the difference of two other members, or as the curvature tells;
 * unknowns likewise. */
typedef enum way { STATE_BY_OTHERS, STATE_BY_CURVATURE, BY_OTHERS, BY_CURVATURE, WAYS } way;

// how far moves of one way go, and how many were taken since that was asked last
typedef struct pace {
  double scale;
  int tried, taken;
} pace;

typedef struct chains {
  minimiser *m;
  shooting *sh;
  int size;         /* members */
  int n, f, p, row; /* pieces, freedoms of each, unknowns, numbers of a state */
  double *q;        /* [size][p] */
  double *states;   /* [size][n][2 D] */
  double *cost;     /* [size][n] */
  double *prior;    /* [size] */
  gaussian shape;
  double *follow; /* [p][n][f] first states by unknowns */
  double *L, *B;  /* [n][f][2 D], [f][2 D] tangent spaces at the minimum */
  double *trial_q, *trial, *limit, *z, *dq; /* [p], [n][2 D], [n], [f], [p] */
  pace pace[WAYS];
  double *memory;
  rng random;
} chains;

/* All members where m stands, which must be a minimum of at most POPULATION_PIECES pieces without
 * joins, of at most POPULATION_FREEDOMS freedoms; what they cost is not known yet, so that they go
 * wherever their first move leads. `there` is false if the curvature is not positive definite.
 * Derivatives are those of the minimum. chains_free is due in any case. */
carom_status chains_make(chains *s, minimiser *m, bool *there, carom_error *error);
void chains_free(chains *s);

/* First state i of a member [2 D], and what it costs. */
double *chains_state(const chains *s, int member, int i);
double *chains_cost(const chains *s, int member, int i);

/* A member takes `state` [2 D] as its first state i if that costs less, moved as it follows from
 * unknowns q [p] to those of the member. */
carom_status chains_offer(chains *s, int member, int i, const double *q, const double *state,
                          carom_error *error);

/* Moves of all members. */
carom_status chains_sweep(chains *s, carom_error *error);

/* Sweeps before a sample, in which moves become as long as one in four is taken. */
carom_status chains_warm_up(chains *s, int sweeps, carom_error *error);

#endif
