/* Multiple shooting: measured trajectories in pieces, each predicted from a first state of its own.
 *
 *   cost(q, s) = sum over pieces, states, bodies, channels of rho(|prediction - measurement| / noise)
 *              + 1/2 sum over joins |end of a piece - start of the next|^2 / (join noise)^2
 *              + 1/2 sum over priors
 *
 * with rho(n) = n^2 / 2 up to `huber`, then linear. First states s are unknowns in coordinates z of their
 * tangent space (fit/tangent.h), or, where states are not free, the measured ones.
 *
 * Jacobians are exact. A time step s' = F(s, theta) is differentiated by one reverse pass for each
 * coordinate of the tangent space at s' (as many rows as the state has freedoms, however many parameters
 * there are), and what hangs on the first state and on q is carried along,
 *
 *   Z' = L' (F_s Z + F_theta).
 *
 * The normal equations of a piece are dense; pieces are coupled by joins to their neighbours and by q. */
#ifndef CAROM_FIT_SHOOTING_H
#define CAROM_FIT_SHOOTING_H

#include "fit/branch.h"
#include "fit/measure.h"
#include "fit/parts.h"
#include "fit/tangent.h"
#include "fit/unknowns.h"

typedef struct piece {
  int run;   /* it is part of; pieces of one run stand in their order */
  int first; /* state of the data */
  int count; /* measured states of its own */
  bool last; /* of its run */
} piece;

/* Sums of residuals over one evaluation. */
typedef struct residual_sums {
  double square[CAROM_CHANNEL_COUNT];   /* of unweighted residuals, in their units, */
  double weighted[CAROM_CHANNEL_COUNT]; /* times the weight of the robust loss */
  int64_t count[CAROM_CHANNEL_COUNT];
} residual_sums;

/* The normal equations of one piece over (z, q). */
typedef struct piece_normal {
  double *ss, *sq, *qq; /* [f][f], [f][p], [p][p] */
  double *gs, *gq;      /* gradient */
  double *end;          /* [2 D] the state that the next piece should begin with, */
  double *end_by;       /* [f + p][2 D] and its derivative */
  double *start_by;     /* [f][2 D] directions B of its first state */
  double *by_channel;   /* [CAROM_CHANNEL_COUNT][f][f] parts of ss */
} piece_normal;

typedef struct shooting {
  const carom_system *system;
  const unknown_list *unknowns;
  tangent_space tangent;
  measure measure, plain;     /* of the data; in units of the scene */
  carom_rollout_options step; /* of one time step */
  carom_rollout *rollout;     /* of it, for pieces */
  carom_rollout *one;         /* of one sample; NULL where contacts act at the end of steps */
  branch_flight flight;
  body_parts parts;
  int *unit;   /* [measure.count] numbers of bodies that are joined are on one side of an impact */
  int *taken;  /* [assemblies] impact whose side a unit takes, -1: none; scratch of an evaluation */
  int batch;   /* samples of `rollout` */
  int D, f, p; /* coordinates, freedoms of a state, unknowns */
  double dt;

  const double *data, *clean; /* [states][2 D] as measured, and put on the constraints */
  const double *times;        /* [states] of them, rising in a run; NULL: dt apart */
  int run_count, piece_count;
  const int *run_first, *run_states; /* [run_count] */
  piece *pieces;
  int *run_piece; /* [run_count + 1] first piece of each run */

  double noise[CAROM_CHANNEL_COUNT];
  bool measured[CAROM_CHANNEL_COUNT]; /* its residuals count */
  double huber, join;
  bool free_states;
  int horizon; /* states of a piece that are looked at, at most; joins wait until all are */

  double *theta;         /* [parameter_count], scratch of an evaluation */
  piece_normal *normals; /* [piece_count] */
  double *normal_memory;
  double *piece_cost; /* [piece_count] of the last evaluation */
  int mark;           /* states whose part of it is kept, too */
  double *mark_cost;  /* [piece_count] */
  double *side_gain; /* [piece_count] what states have gained by taking another side of an impact */
  /* [piece_count] part of that which they cost all the same; NULL: none. Not for derivatives */
  const double *strict;
  const double *limit;  /* [piece_count] of shooting_try, else NULL */
  double degree;        /* by which states from the mark on count there */
  double *piece_square; /* [piece_count] sum of squares in deviations */
  int *piece_outliers;  /* [piece_count] states beyond huber */
  double
      *piece_channel; /* [piece_count][CAROM_CHANNEL_COUNT] mean square residuals, in their units */
  uint8_t *felt;      /* [piece_count][contact_count] contacts that acted */
  uint8_t *struck;    /* [states] a contact acted in the time step that led there */
  bool note_felt;     /* fill them */
  residual_sums sums;
  double join_cost;
  carom_report report;
  double *work, *joining;
} shooting;

/* Pieces of `length` states from runs of states that begin at `first` [run_count] in the data and
 * have `count` [run_count] states. shooting_free is due in any case. */
carom_status shooting_init(shooting *sh, const carom_system *system, const unknown_list *unknowns,
                           const carom_rollout_options *simulation, const double *data,
                           const double *clean, int run_count, const int *first, const int *count,
                           int length, carom_error *error);
void shooting_free(shooting *sh);

/* Cuts runs into pieces of about `length` states, which must not be shorter than those of
 * shooting_init, at states that are as far from contacts as can be, by what the last evaluation
 * with note_felt has found: a join beside an impact would tie a state after it to one before it. */
carom_status shooting_recut(shooting *sh, int length, carom_error *error);

/* The cost at coordinates q and first states `starts` [piece_count][2 D] (not read unless states
 * are free), of the pieces in `subset` (NULL: all). Infinite where motion cannot be computed; then
 * the error says why, and the status is CAROM_OK all the same unless memory is short. With
 * `derivatives` the normals are filled. */
carom_status shooting_evaluate(shooting *sh, const double *q, const double *starts,
                               const int *subset, int subset_count, bool derivatives, double *cost,
                               carom_error *error);

/* Costs of pieces in piece_cost, without derivatives, where only those up to `ceiling`
 * [piece_count] are of interest: what a piece costs that turns out to be above is infinite, and
 * its motion is not followed to its end. States from sh->mark on count by sh->degree there.
 * `there` is false where motion cannot be computed. */
carom_status shooting_try(shooting *sh, const double *q, const double *starts, const int *subset,
                          int subset_count, const double *ceiling, bool *there, carom_error *error);

/* Length of the time step of a piece that leads to its state `at`; of one that leads beyond its
 * own states and the first of the next piece, dt. */
double shooting_step_length(const shooting *sh, int index, int at);

/* The cost of a join between the end of a piece and the first state of the next one. */
double shooting_join_cost(shooting *sh, const double *end, const double *start);

/* First states at the measured ones. */
void shooting_measured_starts(shooting *sh, const double *q, double *starts);

#endif
