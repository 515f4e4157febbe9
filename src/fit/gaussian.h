/* The normal distribution of unknowns and first states that the curvature of the cost at a minimum
 * tells: of unknowns, the first states following them (normal_states), and of the first state of
 * each piece where the unknowns are held. */
#ifndef CAROM_FIT_GAUSSIAN_H
#define CAROM_FIT_GAUSSIAN_H

#include "base/rng.h"
#include "fit/minimise.h"

typedef struct gaussian {
  int n, f, p;
  double *states;   /* [n][f][f] factors of the information about first states */
  double *unknowns; /* [p][p] and about the unknowns, with a natural unit of each as its prior */
} gaussian;

/* False if memory is short; gaussian_free is due in any case. */
bool gaussian_make(gaussian *g, const shooting *sh);
void gaussian_free(gaussian *g);

/* By the last evaluation with derivatives, where m stands, whose normal equations are reduced on
 * the way; false if it is not positive definite. */
bool gaussian_factor(gaussian *g, minimiser *m);

/* Drawings `size` deviations wide: dq [p], z [f] of one piece. */
void gaussian_draw_unknowns(const gaussian *g, rng *random, double size, double *dq);
void gaussian_draw_state(const gaussian *g, rng *random, int index, double size, double *z);

#endif
