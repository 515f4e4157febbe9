/* The contact event of Algorithm 1: from the velocity before to the velocity after all contacts that
 * are active at x have acted at once, in two phases.
 *
 *   A    = J M^ J',  M^ = M^-1 - M^-1 J_E' (J_E M^-1 J_E')^-1 J_E M^-1           (appendix C.2)
 *   f_c  = argmin 1/2 f'Af + f'(J v)              over the friction cones           (5)
 *   v'   = v + M^ J' f_c
 *   f_r  = argmin 1/2 f'Af + f'(J v' - v_C*)      with f_r,n >= e f_c,n             (7)
 *   v+   = v' + M^ J' f_r
 *
 * CMr puts A + epsilon I in the two problems, not in the updates. v_C* undoes penetration
 * (target_velocity.h). */
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
} event_impulses;

size_t event_impulses_bytes(const contact_event *e);
event_impulses event_impulses_at(const contact_event *e, void *memory);

/* Changes v [D] to the velocity after; fills `impulses`. */
void contact_event_solve(const contact_event *e, double *v, event_impulses *impulses,
                         arena *scratch);

/* Reverses it. v is the velocity before. v_bar [D]: of the velocity after on entry, of the velocity
 * before on return. x_bar += , theta_bar += . */
void contact_event_vjp(const contact_event *e, const double *v, const event_impulses *impulses,
                       double *v_bar, double *x_bar, double *theta_bar, arena *scratch);

#endif
