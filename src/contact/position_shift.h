/* Bodies that overlap are moved apart, and velocities know nothing of it:
 *
 *   w  = argmin 1/2 w'Mw + 1/2 sum_i max(0, delta_i - J_n,i w)^2 / (softness m_i)   with J_E w = 0
 *   x' = x + w,   x+ = x' - M^-1 J_E' (J_E M^-1 J_E')^-1 Phi(x'),   v+ = M^ M v at x+
 *
 * delta = -gap / compensation_steps - dt J_n v is how far each contact is to open in this event, less what
 * its velocity will open: what bounces is not lifted too, which would give it energy. m_i is the mobility
 * of its normal, J_n M^-1 J_n' without constraints, so that the sum compares energies whatever the
 * units of the contacts. w is the least move that opens them all; where wishes contradict each other, or
 * can be had only by a move 50 times as far, it gives in. As w = M^ J_n' push with push >= 0,
 *
 *   push = argmin 1/2 push' H push - push' delta   over push >= 0,   H = J_n M^ J_n' + softness diag m_i
 *
 * which has one solution at any state. x+ takes back what a finite turn adds to lengths, to second
 * order; with it goes what drift there was. */
#ifndef CAROM_CONTACT_POSITION_SHIFT_H
#define CAROM_CONTACT_POSITION_SHIFT_H

#include "contact/event_operators.h"

/* Moves x and turns v with it; push [count] is filled for the reverse. x may be e->x. False if the
 * program ran out of steps. */
bool position_shift(const contact_event *e, double *x, double *v, double *push, arena *scratch);

/* Reverses it. v is the velocity before the shift; v_bar and x_bar are those of the state after on
 * entry, of the state before on return, but for what goes through J and the gaps: that is added to
 * `bars`, whose x is x_bar. */
void position_shift_vjp(const contact_event *e, const double *v, const double *push, double *v_bar,
                        const event_cotangents *bars, arena *scratch);

#endif
