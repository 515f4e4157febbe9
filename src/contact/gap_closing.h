/* Contacts that stay closed: positions are put where the gaps of given contacts are zero, to rounding, from
 * above and from below, in the metric of inertia and along the equality constraints,
 *
 *   x <- x - M^ J_n' H^-1 gap(x),   H = J_n M^ J_n' + softness diag(J_n,i M^-1 J_n,i'),   then Phi(x) = 0
 *
 * until gap = 0, and velocities on the tangent space there. The softness, far below that of position_shift.h,
 * is for contacts that depend on each other, as the four corners of a box do.
 *
 * At least one step is made, also where gaps are zero already: the derivative, which is that of the steps,
 * then knows that positions are held along the normals. */
#ifndef CAROM_CONTACT_GAP_CLOSING_H
#define CAROM_CONTACT_GAP_CLOSING_H

#include "contact/contact_event.h"

/* Moves x and turns v with it. False if gaps or constraints do not arrive at zero: x is where it came to. */
bool close_gaps(const mechanics *m, const carom_rollout_options *options,
                const contact_list *contacts, double *x, double *v, arena *scratch);

/* Reverses it: x and v are those before, x_bar and v_bar [D] of the state after on entry, of the state before
 * on return; theta_bar += . */
void close_gaps_vjp(const mechanics *m, const carom_rollout_options *options,
                    const contact_list *contacts, const double *x, const double *v, double *x_bar,
                    double *v_bar, double *theta_bar, arena *scratch);

#endif
