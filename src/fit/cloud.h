/* Values of all unknowns scattered about where a search stands, and what the predictions there say:
 * derivatives of a loss that jumps, taken of its mean over the cloud (why: horizon.h). */
#ifndef CAROM_FIT_CLOUD_H
#define CAROM_FIT_CLOUD_H

#include "base/rng.h"
#include "fit/fit.h"
#include "fit/forecast.h"

typedef struct cloud {
  carom_fit *fit;
  forecast forecast;
  int p, samples;
  double usual[2];            /* means of distances and angles where the search began */
  double *q, *trial, *best;   /* [p] */
  double *left;               /* [p] q before the round */
  double *spread;             /* [p] half widths of the cloud */
  double *at;                 /* [samples][p] its points, */
  double *losses;             /* [samples] their losses */
  double *residuals;          /* [samples + 1][n]; the last: scratch */
  double *centred;            /* [p][samples] points about their mean, by the spreads */
  double *slopes;             /* [p][samples]: J = sum_s r_s slopes_s */
  double *A, *B, *g, *gi, *J; /* [p][p] twice, [p] twice, [p] */
  double *factor, *step;      /* [p][p], [p] */
  double *theta;
  size_t n;
} cloud;

/* What a round looks at. */
typedef struct sight {
  int count;   /* trajectories */
  int horizon; /* states of each at most */
} sight;

/* About where the fit's unknowns stand, as wide as they may be wrong. False: no memory; cloud_free
 * is due in any case. */
bool cloud_init(cloud *c, carom_fit *fit);
void cloud_free(cloud *c);

/* Predictions are those of `see` from now on, its trajectories chosen by chance where they are not
 * all. Errors with the values that the fit began with are the unit of the loss. */
carom_status cloud_look(cloud *c, sight see, rng *random, carom_error *error);

/* Draws the cloud and moves q to where it says, by the loss of q `before` and `after`; `known`
 * tells whether cloud_deviation and the covariance B (in units of the spreads) are there. */
carom_status cloud_round(cloud *c, rng *random, double *before, double *after, bool *known,
                         carom_error *error);

/* Deviations and covariance by a cloud twice as wide, which q stays in: those of chaotic motion are
 * as short as the cloud is narrow, and what is six deviations wide holds the truth more often. */
carom_status cloud_measure(cloud *c, rng *random, carom_error *error);

/* The cloud as wide as three deviations, by steps, and not narrower than the last round went: what
 * still travels is not known. */
void cloud_narrow(cloud *c);

/* Whether it is about as narrow as that already. */
bool cloud_is_narrow(const cloud *c);

/* Of unknown j; infinite where predictions do not depend on it. */
double cloud_deviation(const cloud *c, int j);

/* Sets `usual` to the errors of predictions at q. */
carom_status cloud_errors(cloud *c, carom_error *error);

#endif
