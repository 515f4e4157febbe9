/* What data says of the unknowns where its likelihood is not normal.
 *
 * Intervals by the curvature at the minimum hold where the cost is a parabola as far as they reach.
 * Where noise is a body's way of several time steps and impacts are many, it is none: the cost has
 * an edge wherever an impact passes a measured time or two impacts change their order, edges are
 * closer than the curvature reaches, and the minimum lies at some of them. So unknowns and first
 * states are sampled from the likelihood,
 *
 *   exp(-cost(q, s)),
 *
 * and what is asked for is mean and covariance of the unknowns. The cost here is the strict one:
 * each state is compared with the side of an impact that the motion has it on. That descent may
 * choose between both sides (fit/branch.h) makes a cost that it can follow, but no likelihood: at
 * the minimum of five trajectories of five balls dozens of states are on the other side, and a
 * sample of that cost is too sure of itself.
 *
 * First states begin with populations of the strict likelihood (population_draw), the unknowns held
 * at the minimum, then all move together (fit/chains.h). A piece that no population can put on the
 * right sides is drawn anew with the unknowns that the others have led to. What is gathered then is
 * compared part by part, until two agree. */
#ifndef CAROM_FIT_POSTERIOR_H
#define CAROM_FIT_POSTERIOR_H

#include "fit/minimise.h"

typedef struct posterior {
  double roughness;   /* share of drawings from the normal distribution that cost more than it says
                         (fit/draws.h) */
  bool rough;         /* the likelihood is not normal */
  bool stuck;         /* some impacts could not be put where they were measured */
  int count;          /* draws; 0: there is no sample */
  int others;         /* places that other parts of it are of, a twentieth of it each at least */
  double energy;      /* mean cost of draws, of the strict likelihood */
  int p;              /* unknowns */
  double *mean;       /* [p] of unknowns; of those whose minimum is at a border, the border */
  double *covariance; /* [p][p] */
  double least;       /* cost of the best draw, */
  double *best_q, *best_starts; /* [p], [pieces][2 D] and where it is */
} posterior;

/* What is asked for. */
typedef struct posterior_request {
  bool always; /* also where the likelihood looks normal, to compare it with another place where it
                  is not */
  int rounds;  /* in which pieces that are stuck are drawn anew, at most */
  double
      most; /* none is taken whose members cost more than this on average once they have settled */
} posterior_request;

/* A sample, if the likelihood about the minimum where m stands is not normal and it can be had: of
 * at most POPULATION_PIECES pieces without joins, of at most POPULATION_FREEDOMS freedoms each,
 * whose motion puts all impacts where they were measured. Whoever wants derivatives there has to
 * evaluate them again. posterior_free is due in any case. */
carom_status posterior_find(minimiser *m, const posterior_request *request, posterior *found,
                            carom_error *error);

/* The sample of which a part `weight` is as before and a part `more` that of another place. */
void posterior_join(posterior *into, double weight, const posterior *other, double more);

void posterior_free(posterior *found);

#endif
