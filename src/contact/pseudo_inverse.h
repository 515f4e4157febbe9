/* The Moore-Penrose inverse J^+ of an event's contact Jacobian, island by island: where v_C* comes from
 * (appendix G).
 *
 * Where the rows of J depend on each other not every v_d is a velocity that the bodies can have, and
 * the restitution problem would be unbounded with it. The least squares of J^+ then weighs tangential
 * rows by 3e-4, so that the desired normal velocities, which undo the penetration, give way last: J
 * stands for diag(1, weight, weight) J below. Three ways lead to J^+:
 *
 *   J' (J J')^-1   where J has full row rank (any weights give the same y)
 *   (J'J)^-1 J'    where it has full column rank; refined
 *   J' (J J')^+    else, by the semidefinite factor; refined */
#ifndef CAROM_CONTACT_PSEUDO_INVERSE_H
#define CAROM_CONTACT_PSEUDO_INVERSE_H

#include "base/semidefinite.h"
#include "contact/event_operators.h"

typedef enum inverse_kind { INVERSE_ROWS, INVERSE_COLUMNS, INVERSE_SEMIDEFINITE } inverse_kind;

/* J^+ of one island. */
typedef struct island_inverse {
  inverse_kind kind;
  double tangent_weight; /* of tangential rows */
  envelope shape;        /* of J J' (rows) or of J'J over `points` (columns) */
  double *factor;
  semidefinite pseudo; /* of J J' */
  int point_count;     /* points of the island in the order of `shape`; columns only */
  int *points;
} island_inverse;

typedef struct pseudo_inverse {
  const contact_event *event;
  island_inverse *islands; /* [island_count] */
  bool deficient;          /* the rows of J depend on each other in some island */
} pseudo_inverse;

pseudo_inverse pseudo_inverse_make(const contact_event *e, arena *memory);

/* points = J^+ rows;  rows = (J^+)' points */
void pseudo_inverse_apply(const pseudo_inverse *inverse, const double *rows, double *points,
                          arena *scratch);
void pseudo_inverse_apply_transpose(const pseudo_inverse *inverse, const double *points,
                                    double *rows, arena *scratch);

/* Reverses y = J^+ rows, for rows without tangential part, at constant rank: rows_bar [C] is written,
 * blocks_bar (event_jacobian_outer) +=. */
void pseudo_inverse_vjp(const pseudo_inverse *inverse, const double *rows, const double *y,
                        const double *y_bar, double *rows_bar, double *blocks_bar, arena *scratch);

#endif
