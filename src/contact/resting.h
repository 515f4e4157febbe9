/* Contacts that last: bodies that rest, roll or slide on each other over a stretch of time h. They have moved
 * as if there were no contact (x, v at the end of the stretch); now contacts act as forces that were constant
 * meanwhile would have,
 *
 *   v+ = v + M^ J' f           f by Coulomb's law, without restitution: what approaches stops,
 *                              a contact that leaves has f = 0 and is let go
 *   x' = x + h/2 M^ J' f_t     friction (friction_shift.h)
 *   x+: gap = 0                of the contacts that push (gap_closing.h), which is h/2 M^ J' f_n for a
 *                              constant force, and exact where normals turn
 *
 * A body on a slope stays or slides as Coulomb's law says, a wheel rolls, and nothing sinks or creeps. */
#ifndef CAROM_CONTACT_RESTING_H
#define CAROM_CONTACT_RESTING_H

#include "contact/contact_event.h"

/* The options that such an event has, whatever those of impacts are. */
carom_rollout_options resting_options(const carom_rollout_options *options);

/* The contacts in `list` at x after a stretch of length h; options are those of resting_options. */
contact_event resting_make(const mechanics *m, const carom_rollout_options *options,
                           const contact_list *list, const double *x, double h, arena *memory);

/* Changes x, v [D] to the state after and fills the impulses (of which event_impulses_at has the place).
 * False if positions do not arrive. x may be e->x. */
bool resting_solve(const contact_event *e, double *x, double *v, phase_solution *f, arena *scratch);

/* Reverses it. v is the velocity before; x_bar, v_bar [D] of the state after on entry, of the state before
 * on return; theta_bar +=, *h_bar += . */
void resting_solve_vjp(const contact_event *e, const double *v, const phase_solution *f,
                       double *x_bar, double *v_bar, double *theta_bar, double *h_bar,
                       arena *scratch);

#endif
