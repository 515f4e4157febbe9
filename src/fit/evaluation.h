/* One evaluation of the cost of multiple shooting (fit/shooting.h), state after state of a batch of
 * pieces: what its parts share. */
#ifndef CAROM_FIT_EVALUATION_H
#define CAROM_FIT_EVALUATION_H

#include "fit/shooting.h"

enum { EVALUATION_BATCH = 256 /* samples at once, at most */ };

/* Views of the scratch and of what is being evaluated. */
typedef struct evaluation {
  shooting *sh;
  const double *q;
  int count;  /* samples: pieces, */
  int active; /* and those of them that still go on, which stand first */
  int pieces[EVALUATION_BATCH];
  bool derivatives;
  int columns; /* derivatives are taken by: f of a free first state, p unknowns */
  int first_q; /* column of the first unknown */
  double *x0, *v0, *x_bar, *v_bar, *x0_bar, *v0_bar;
  double *L;     /* [batch][f][2 D] */
  double *rows;  /* [batch][f][2 D + p] */
  double *Y;     /* [batch][columns][2 D] ds / d column */
  double *B;     /* [f][2 D] */
  double *Z;     /* [f][columns] */
  double *r, *J; /* [batch][numbers], [batch][columns][numbers] of the states to be compared */
  double *weight, *dr, *state;
  double *other_r, *other_J; /* [numbers], [columns][numbers] */

  /* where a state is beside an impact (fit/branch.h) */
  bool sided;                    /* it may be */
  int pending[EVALUATION_BATCH]; /* state of the piece whose comparison waits for the next step; -1:
                                    none */
  double gain[EVALUATION_BATCH]; /* what that state has gained by taking another side */
  bool struck[EVALUATION_BATCH]; /* the last step had an impact */
  double lengths[EVALUATION_BATCH]; /* of the last step */
  double *before, *before_Y; /* [batch][2 D], [batch][columns][2 D] states before the last step */
  double *side, *side_Y;     /* [2 D], [columns][2 D] */
  double *dside;             /* [2 D] cotangent */
  double *side_rows;         /* [f][2 D + p] */
  double *state_bar, *start_bar, *theta_bar;
} evaluation;

/* Doubles of the scratch of an evaluation. */
size_t evaluation_size(const shooting *sh);

/* The state s [2 D] that a sample has come to. */
void evaluation_state(const evaluation *e, int sample, double *s);

/* Y' = B L (F_s Y + F_q) with rows [f][2 D + p] of L F, B and L of the state after the step. */
void evaluation_carry(evaluation *e, const double *rows, const double *Y, double *after);

#endif
