/* Descents of the first states of single pieces, the unknowns held. Pieces do not hang on each
 * other then: each has a damping of its own and ends when it is done. Only for pieces without
 * joins. */
#ifndef CAROM_FIT_STATE_DESCENT_H
#define CAROM_FIT_STATE_DESCENT_H

#include "fit/minimise.h"

typedef struct state_descent {
  shooting *sh;
  const double *q;          /* [p] the unknowns */
  double *starts;           /* [piece_count][2 D] */
  double *trial;            /* [piece_count][2 D] */
  double *best;             /* [piece_count][2 D] of trials */
  double *anchor;           /* [piece_count][2 D] where a horizon that is shorter led to */
  double *cost;             /* [piece_count] */
  double *damping;          /* [piece_count] */
  double *a, *z, *dr;       /* [f][f], [f], [numbers of a state] */
  double *values, *vectors; /* [f], [f][f] */
  double *axes; /* [piece_count][f][f] principal axes of what is known of first states, as long as a
                   deviation */
  int *suspects;       /* [piece_count] whose first states are looked for */
  int *pieces, *going; /* [piece_count] those of them that are looked at now, that move */
  int suspect_count, count, going_count;
  int jumps; /* so far */
} state_descent;

/* False if memory is short; state_descent_free is due in any case. */
bool state_descent_make(state_descent *d, shooting *sh, const double *q);
void state_descent_free(state_descent *d);

/* The first state of piece i in an array of them. */
double *state_descent_state(const state_descent *d, double *states, int i);
void state_descent_copy(const state_descent *d, double *to, double *from, int i);

/* What a piece costs where only noise is left, and so many deviations of that more. */
double state_descent_usual_cost(const shooting *sh, int i, double deviations);

/* By how many deviations a cost of piece i is more than noise leaves of it, whose first state takes
 * up its freedoms. */
double state_descent_excess(const shooting *sh, int i, double cost);

/* The suspects are the pieces that cost more than so many deviations above the usual where m
 * stands; what all pieces cost there goes to m->totals. */
carom_status state_descent_find_suspects(state_descent *d, minimiser *m, double deviations,
                                         carom_error *error);

/* Costs of the pieces in `list` at first states; `there` is false where motion cannot be
 * computed. */
carom_status state_descent_evaluate(state_descent *d, const double *starts, const int *list,
                                    int count, bool derivatives, bool *there, carom_error *error);

/* The axes of piece i, of its normal equations as they were evaluated last; the shortest last. */
double *state_descent_axes(state_descent *d, int i);

/* At most so many steps of the pieces that are looked at, from `starts`. */
carom_status state_descent_run(state_descent *d, int steps, carom_error *error);

/* Suspects whose descents have led lower by more than m->gain take their first states from
 * there. */
void state_descent_take(state_descent *d, minimiser *m, bool *moved);

#endif
