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
 * (target_velocity.h).
 *
 * A row of J that is a combination of rows of J_E, as the tangential row of a bend between rigid
 * links is, has M^ J_i' = 0: it is `held`. Then row and column of A and entry of b are zero, and
 * are set so, since rounding leaves an A that is not semidefinite and a b outside its range. */
#ifndef CAROM_CONTACT_CONTACT_EVENT_H
#define CAROM_CONTACT_CONTACT_EVENT_H

#include "contact/cone_program.h"
#include "contact/contact_group.h"
#include "contact/program_log.h"

/* Everything of an event that depends on x and the parameters only. */
typedef struct contact_event {
  const mechanics *mechanics;
  const carom_rollout_options *options;
  const double *x;
  contact_group group;
  int size;              /* C = contacts * dimension */
  double *arm;           /* of the constraints of the touched assemblies */
  double *factor;        /* of J_E M^-1 J_E' there */
  double *geometric;     /* factor of J_E J_E' there, where v_C* needs it; else NULL */
  double *mu;            /* [count] */
  double *restitution;   /* [count] */
  envelope *shape;       /* [island_count] of A */
  double **A;            /* [island_count], epsilon included */
  bool *held;            /* [C] axes along which the constraints let no impulse move anything */
  program_log *failures; /* where programs that are not solved are kept; may be NULL */
} contact_event;

contact_event contact_event_make(const mechanics *m, const carom_rollout_options *options,
                                 const contact_list *active, const double *x, arena *memory);

/* The same for contacts whose geometry is known already. */
contact_event contact_event_from_group(const mechanics *m, const carom_rollout_options *options,
                                       const contact_group *group, const double *x, arena *memory);

/* Impulses of an event with what their derivatives need, in one piece of memory. */
typedef struct event_impulses {
  double *f_c, *f_r;                /* [C] */
  double *dual_c, *dual_r;          /* [C + count] */
  carom_cone_info *info_c, *info_r; /* [island_count] */
  unsigned char *state_c, *state_r; /* [count] */
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

/* The cone program of one phase of one island. `before` is J v before the event, which tells the size
 * of the velocities that b comes from: what is below its rounding errors counts as zero. */
cone_program contact_event_program(const contact_event *e, int island, const double *b,
                                   const double *lower, const double *before);

/* Operators on the touched assemblies; vectors over points are [D], zero elsewhere. */
void event_jacobian(const contact_event *e, const double *v, double *rows); /* rows = J v */
void event_jacobian_transpose(const contact_event *e, const double *rows, double *out); /* += */

/* out = M^ force; push = force - J_E' lambda (so that out = M^-1 push), lambda its multipliers. */
void event_inverse_mass(const contact_event *e, const double *force, double *out, double *push,
                        double *lambda);

/* Copies, or sets to zero, the entries of the touched assemblies. */
void event_copy(const contact_event *e, double *to, const double *from);
void event_zero(const contact_event *e, double *to);

#endif
