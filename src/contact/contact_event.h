/* The contact event of Algorithm 1: from the velocity before to the velocity after all contacts that
 * are active at x have acted at once, in two phases.
 *
 *   v    = M^ M v                                 onto the constraints, not in the paper's event
 *   A    = J M^ J',  M^ = M^-1 - M^-1 J_E' (J_E M^-1 J_E')^-1 J_E M^-1           (appendix C.2)
 *   f_c  = argmin 1/2 f'Af + f'(J v)              over the friction cones           (5)
 *   v'   = v + M^ J' f_c
 *   f_r  = argmin 1/2 f'Af + f'(J v' - v_C*)      with f_r,n >= e f_c,n             (7)
 *   v+   = v' + M^ J' f_r
 *
 * CMr puts A + epsilon I in the two problems, not in the updates. LCP has one problem instead, of complementarity
 * (lcp.h), with Newton's restitution in its b (newton_target.h). Penetration is undone by v_C*
 * (target_velocity.h) in the paper's event; else v_C* = 0, and bodies are moved apart afterwards
 * (position_shift.h). */
#ifndef CAROM_CONTACT_CONTACT_EVENT_H
#define CAROM_CONTACT_CONTACT_EVENT_H

#include "contact/event_phase.h"

contact_event contact_event_make(const mechanics *m, const carom_rollout_options *options,
                                 const contact_list *active, const double *x, arena *memory);

/* The same for contacts whose geometry is known already. */
contact_event contact_event_from_group(const mechanics *m, const carom_rollout_options *options,
                                       const contact_group *group, const double *x, arena *memory);

/* Impulses of an event, f_c and f_r with what their derivatives need, in one piece of memory. */
typedef struct event_impulses {
  phase_solution compression, restitution;
  double *push; /* [count] of the shift of positions */
} event_impulses;

size_t event_impulses_bytes(const contact_event *e);
event_impulses event_impulses_at(const contact_event *e, void *memory);

/* Changes x, v [D] to the state after; fills `impulses`. x may be e->x. False if the shift of positions
 * was not solved to rounding; what the cone programs came to is in `impulses`. */
bool contact_event_solve(const contact_event *e, double *x, double *v, event_impulses *impulses,
                         arena *scratch);

/* Reverses it. v is the velocity before. v_bar, x_bar [D]: of the state after on entry, of the state
 * before on return. theta_bar += . */
void contact_event_vjp(const contact_event *e, const double *v, const event_impulses *impulses,
                       double *v_bar, double *x_bar, double *theta_bar, arena *scratch);

#endif
