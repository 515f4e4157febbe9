/* The target velocity v_C* of the restitution phase, which undoes penetration (appendix G).
 *
 *   v_d : normal component -gap / (compensation_steps dt), tangential 0
 *   y   = J^+ v_d,   w = (I - J_E' (J_E J_E')^-1 J_E) y,   v_C* = J w
 *
 * J^+ is the Moore-Penrose inverse. Where the rows of J depend on each other not every v_d is a
 * velocity that the bodies can have, and the restitution problem would be unbounded with it; the
 * least squares of J^+ then weighs tangential rows by 3e-4, so that the desired normal velocities,
 * which undo the penetration, give way last. Three ways lead to it: J J' where J has full row rank
 * (any weights give the same y), J'J where it has full column rank, else the semidefinite factor of
 * J J'; the last two are refined. Without equality constraints and with full row rank v_C* is v_d itself. */
#ifndef CAROM_CONTACT_TARGET_VELOCITY_H
#define CAROM_CONTACT_TARGET_VELOCITY_H

#include "base/semidefinite.h"
#include "contact/contact_event.h"

typedef enum inverse_kind { INVERSE_ROWS, INVERSE_COLUMNS, INVERSE_SEMIDEFINITE } inverse_kind;

/* J^+ of one island. */
typedef struct island_inverse {
  inverse_kind kind;
  double tangent_weight; /* of tangential rows: J below stands for diag(1, weight, weight) J */
  envelope shape;        /* of J J' (rows) or of J'J over `points` (columns) */
  double *factor;
  semidefinite pseudo; /* of J J' */
  int point_count;     /* points of the island in the order of `shape`; columns only */
  int *points;
} island_inverse;

typedef struct target_velocity {
  bool projected;           /* v_C* differs from v_d: constraints, or a rank-deficient J */
  double *desired;          /* [C] v_d */
  double *value;            /* [C] v_C* */
  island_inverse *inverses; /* [island_count] */
  double *y, *w;            /* [D] */
  double *multipliers;      /* [rows] (J_E J_E')^-1 J_E y */
} target_velocity;

target_velocity target_velocity_make(const contact_event *e, arena *memory);

/* From the cotangent of v_C* [C]: block_bar += (the Jacobian's blocks, [block_count]
 * [dimension^2]), gap_bar [count] +=, x_bar += (through J_E). */
void target_velocity_vjp(const contact_event *e, const target_velocity *t, const double *value_bar,
                         double *block_bar, double *gap_bar, double *x_bar, arena *scratch);

/* block_bar += scale * rows (x) points: the cotangent of J that a term rows' J points gives. */
void event_jacobian_outer(const contact_event *e, double scale, const double *rows,
                          const double *points, double *block_bar);

#endif
