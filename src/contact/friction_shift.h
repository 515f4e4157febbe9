/* Friction over the time step. An event changes velocities at the end of a time step, and positions have
 * moved by then as if there were no friction: a body that sticks on a slope creeps by 1/2 g sin(alpha) dt^2 in
 * each. With options.hold_contacts the tangential impulses act on positions too, as forces that were there
 * all the time step would have,
 *
 *   x' = x + dt/2 M^ J' f_t,   f_t the tangential part of f_c + f_r (which may be NULL: there is none)
 *
 * and x' and v are put on the constraints (physics/constraint_projection.h). What rests on friction stays
 * where it is, to rounding; a body that slides goes as far as its mean speed says. For an impact it is the
 * mean over the times within the step at which it may have been. dt is the event's `hold`. */
#ifndef CAROM_CONTACT_FRICTION_SHIFT_H
#define CAROM_CONTACT_FRICTION_SHIFT_H

#include "contact/event_operators.h"

/* hold/2 M^ J' f_t [D] from both impulses [C], at e->x. */
const double *friction_shift_make(const contact_event *e, const double *f_c, const double *f_r,
                                  arena *memory);

/* Moves x by it and turns v with it; x may be e->x. False if bodies could not be put on their
 * constraints. */
bool friction_shift(const contact_event *e, const double *shift, double *x, double *v,
                    arena *scratch);

/* Reverses both; x and v are those before the shift. x_bar and v_bar are those of the state after on entry,
 * of the state before on return; f_bar [C], of each of the impulses, is written; what goes through e->x is
 * added to bars. */
void friction_shift_vjp(const contact_event *e, const double *f_c, const double *f_r,
                        const double *x, const double *v, double *f_bar, double *x_bar,
                        double *v_bar, const event_cotangents *bars, arena *scratch);

#endif
