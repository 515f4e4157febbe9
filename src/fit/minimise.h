/* The least cost of an identification: Levenberg and Marquardt's method over unknowns and first
 * states, and trials of friction and restitution far from where they stand, over the kinks of
 * contact (why, and what feels a property: learn/property_search.h). */
#ifndef CAROM_FIT_MINIMISE_H
#define CAROM_FIT_MINIMISE_H

#include "fit/normal.h"

enum { MOST_RIVALS = 512, MOST_SCATTERED = 16 };

typedef struct minimiser {
  shooting *sh;
  normal_equations normal;
  double *q;          /* [p] */
  double *starts;     /* [piece_count][2 D] */
  double *low, *high; /* [p] bounds of q */
  double cost;
  int iterations; /* so far */
  int most;       /* of one minimisation */
  double tolerance;
  bool coarse; /* a third of the trials */
  double gain; /* a trial lowers the cost by more than this, or nothing moves */
  double
      *rivals; /* [MOST_RIVALS][1 + p] costs and unknowns where trials ended, of the present cost */
  int rival_count;
  bool populated; /* a population (fit/population.h) has found a better first state */
  carom_progress progress;
  void *progress_user;
  double *trial_q, *trial_starts, *dq, *dz; /* scratch */
  int *subset;
  double *ends, *bests; /* [piece_count][2 D] scratch of searches */
  double *totals;       /* [piece_count] */
  double *piece_costs;  /* [piece_count] where a step begins */
  double *share_starts, *share_best, *share_taken, *share_z; /* scratch of fit/stride.h */
  double *share_factors;                                     /* [MOST_SCATTERED][f][f] */
} minimiser;

carom_status minimiser_init(minimiser *m, shooting *sh, const carom_fit_options *options,
                            carom_error *error);
void minimiser_free(minimiser *m);

/* Asks whoever waits whether it is to go on; an error if not. */
carom_status minimise_go_on(const minimiser *m, carom_error *error);

/* From where q and starts stand. */
carom_status minimise(minimiser *m, carom_error *error);

/* Notes where it stands among the rivals of the least cost; the highest makes room. */
void minimise_remember(minimiser *m);

/* Tries values of every friction and restitution; `moved` tells whether any was changed. */
carom_status minimise_search(minimiser *m, bool *moved, carom_error *error);

/* Tries the borders of frictions and restitutions that stand near one, with a minimisation behind
 * each trial: bounces that are shorter and shorter, or slides that just stick, make kinks on the
 * way. */
carom_status minimise_search_borders(minimiser *m, bool *moved, carom_error *error);

/* Puts frictions and restitutions that stand near a border there if the data does not tell the
 * difference: a weak prior alone has kept them away. For the end of a search: descent would leave
 * again. */
carom_status minimise_rest_at_borders(minimiser *m, carom_error *error);

/* Tries other first states for pieces that fit badly: an impact that is met a step too early or
 * missed leaves no way back by derivatives. Candidates are the end of the piece before and moves of
 * each coordinate by a few deviations of the noise. `moved` tells whether the cost fell. */
carom_status minimise_search_states(minimiser *m, bool *moved, carom_error *error);

/* The cost with one unknown at q, all else as it is; of the pieces that feel it (all, if it is none
 * of a contact), beside that at the present value. */
carom_status minimise_try(minimiser *m, int index, double q, double *difference,
                          carom_error *error);

/* The same where all other unknowns and the first states follow: a point of the profile likelihood.
 * Derivatives are those of somewhere else afterwards. */
carom_status minimise_profile(minimiser *m, int index, double q, double *difference,
                              carom_error *error);

#endif
