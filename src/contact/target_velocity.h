/* The target velocity v_C* of the restitution phase, which undoes penetration (appendix G).
 *
 *   v_d : normal component -gap / (compensation_steps dt), tangential 0
 *   y   = J^+ v_d,   w = (I - J_E' (J_E J_E')^-1 J_E) y,   v_C* = J w
 *
 * so that v_C* is a velocity which the bodies can have: J^+ (pseudo_inverse.h) finds one where rows of
 * J contradict each other, the projection one that keeps to the equality constraints. Without these,
 * and with rows that are independent, v_C* is v_d itself. Nothing outside this file knows how v_C*
 * comes about: another way to compensate is another way from gaps to `value`, and back. */
#ifndef CAROM_CONTACT_TARGET_VELOCITY_H
#define CAROM_CONTACT_TARGET_VELOCITY_H

#include "contact/pseudo_inverse.h"

typedef struct target_velocity {
  bool projected;         /* v_C* differs from v_d: constraints, or a rank-deficient J */
  double *desired;        /* [C] v_d */
  double *value;          /* [C] v_C* */
  pseudo_inverse inverse; /* J^+ */
  double *y, *w;          /* [D] */
  double *multipliers;    /* [rows] (J_E J_E')^-1 J_E y */
} target_velocity;

/* v_C*, zero where penetration is not compensated, or by a shift of positions. */
target_velocity target_velocity_make(const contact_event *e, arena *memory);

/* From the cotangent of v_C* [C]: those of J, of the gaps, and of x through J_E. */
void target_velocity_vjp(const contact_event *e, const target_velocity *t, const double *value_bar,
                         const event_cotangents *bars, arena *scratch);

#endif
