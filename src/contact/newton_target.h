/* Newton's hypothesis, the restitution of the complementarity model: a contact is to leave at least as fast as
 *
 *   target = max(v_d, -e J_n v),   v_d = -gap / (compensation_steps dt) in the paper's compensation, else 0
 *
 * v being the velocity before. There is one phase, with b = J v - target in the normal rows.
 *
 * By the convex law impulses are sums of the pyramid's edges g = (1, +-mu along a tangent), and the hypothesis is about
 * these: g.J v+ >= -e g.J v. So where -e g.J v of the fastest edge is more than v_d, the target is -e J v in all
 * rows, else it is (v_d, 0). */
#ifndef CAROM_CONTACT_NEWTON_TARGET_H
#define CAROM_CONTACT_NEWTON_TARGET_H

#include "contact/event_phase.h"

typedef struct newton_target {
  phase_problem problem;
  const double *before; /* [C] J v */
  bool *bounces;        /* [count] the target is -e J_n v, or -e J v */
} newton_target;

newton_target newton_target_make(const contact_event *e, const double *v, arena *memory);

/* From the cotangent of the target's rows [C] (its normals are read): those of v [D], of J, of the gaps and of the
 * restitutions. */
void newton_target_vjp(const contact_event *e, const newton_target *t, const double *v,
                       const double *target_bar, double *v_bar, const event_cotangents *bars,
                       arena *scratch);

#endif
