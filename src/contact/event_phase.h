/* One phase of a contact event: the cone programs of all islands, and the velocity that their
 * impulses leave.
 *
 *   f  = argmin 1/2 f'Af + f'b   over the friction cones, f_n >= lower        (5), (7)
 *   v+ = v + M^ J' f,            b = J v - target
 *
 * Compression has target 0 and lower 0; restitution has target v_C* and lower e f_c,n. */
#ifndef CAROM_CONTACT_EVENT_PHASE_H
#define CAROM_CONTACT_EVENT_PHASE_H

#include "contact/cone_program.h"
#include "contact/event_operators.h"

/* Impulses, with what their derivative needs. */
typedef struct phase_solution {
  double *f;             /* [C] */
  double *dual;          /* [C + count] of smoothed programs */
  unsigned char *state;  /* [count] a contact_state */
  carom_cone_info *info; /* [island_count] */
} phase_solution;

typedef struct phase_problem {
  const double *b;      /* [C] */
  const double *lower;  /* [count] */
  const double *before; /* [C] J v before the event, which tells the size of the velocities that b
                            comes from: what is below its rounding errors counts as zero */
  const phase_solution
      *settled; /* b = s of this solution of another phase with the same A: where no
                                    lower bound is above 0, f = 0 solves. NULL: there is none */
} phase_problem;

/* Cotangents of one phase. */
typedef struct phase_cotangents {
  double *v;          /* [D] of v+ on entry, of v on return */
  double *response;   /* [D] M^ v, likewise */
  double *f;          /* [C] what depends on f beside v+; destroyed */
  double *p;          /* [C] written: minus the cotangent of b, hence that of the target */
  double *mu, *lower; /* [count] written */
} phase_cotangents;

/* Compression from the velocity v: b = J v, lower = 0. */
phase_problem phase_compression(const contact_event *e, const double *v, arena *memory);

/* The cone program of an island. */
cone_program phase_program(const contact_event *e, const phase_problem *problem, int island);

/* Solves all islands; programs that are not solved go to e->failures. */
void phase_solve(const contact_event *e, const phase_problem *problem, phase_solution *solution,
                 arena *scratch);

/* Reverses v+ = v + M^ J' f, f = argmin(A, b), given v+. */
void phase_vjp(const contact_event *e, const phase_problem *problem, const phase_solution *solution,
               const double *v_after, phase_cotangents *phase, const event_cotangents *bars,
               arena *scratch);

#endif
