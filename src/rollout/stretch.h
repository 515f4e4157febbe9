/* A stretch of time within one time step of one sample: motion between impacts, under the contacts that last.
 *
 *   z1 = R(P(Phi(z, h)))   Phi: the integrator's step of length h, P: onto the constraints if
 *                          options.stabilize, R: contacts that rest, roll or slide (contact/resting.h)
 *
 * z1 is a function of z, h, the parameters and the controls, and so are the gaps at z1: when one closes is the
 * root of a function of h. */
#ifndef CAROM_ROLLOUT_STRETCH_H
#define CAROM_ROLLOUT_STRETCH_H

#include "contact/resting.h"
#include "physics/integrator.h"

/* What all stretches of a sample share. */
typedef struct stretch_setting {
  integrator integrator; /* of the rollout; its dt is replaced by the length of a stretch */
  bool stabilize;
  const carom_rollout_options *resting; /* of contacts that last */
  step_record *record;                  /* of one sample */
  step_controls controls;               /* of the sample in this time step */
  const double *weight;                 /* of the sample in the reverse (step_record.weights) */
  program_log *failures;                /* may be NULL */
  arena *scratch;
} stretch_setting;

/* How a stretch went, beside the state at its end. */
typedef struct stretch_outcome {
  int failed_projections;
  bool arrived;           /* contacts that last are closed */
  event_impulses resting; /* their impulses: islands and contacts of them, if there are any */
  int island_count, pushing_count;
} stretch_outcome;

/* Changes x, v [D] to the state at the end of a stretch of length h under the contacts that last. Impulses go
 * into `memory` (stretch_impulse_bytes); NULL: into scratch memory of the caller's mark. */
stretch_outcome stretch_run(const stretch_setting *s, double h, const contact_list *resting,
                            double *x, double *v, void *memory);

/* Room for the impulses of so many contacts, at most. */
size_t stretch_impulse_bytes(const carom_system *s, int contacts);

/* The same stretch again, for its derivative. */
typedef struct stretch_record {
  double h;
  double *free_x, *free_v; /* [D] after Phi */
  double *x, *v;           /* [D] after P */
  bool rests;
  contact_event event; /* of what rests, at x */
  phase_solution impulses;
} stretch_record;

stretch_record stretch_repeat(const stretch_setting *s, double h, const contact_list *resting,
                              const double *x, const double *v, void *memory, arena *lasting);

/* Where the cotangents of a stretch go beside those of its state. */
typedef struct stretch_cotangents {
  double *theta;     /* += */
  double *potential; /* +=, NULL: not wanted */
  double *u;         /* += of the sample's controls; NULL: not wanted */
  double *h;         /* += */
} stretch_cotangents;

/* x_bar, v_bar [D] of the state at the end become those of the state at the start. May be called more than
 * once for one record, before the next stretch is repeated. */
void stretch_vjp(const stretch_setting *s, const stretch_record *record, double *x_bar,
                 double *v_bar, const stretch_cotangents *bars);

#endif
