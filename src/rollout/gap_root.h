/* The first time at which the gap of a contact closes along a stretch of motion. */
#ifndef CAROM_ROLLOUT_GAP_ROOT_H
#define CAROM_ROLLOUT_GAP_ROOT_H

#include "rollout/stretch.h"

/* A contact that may close within a stretch. */
typedef struct near_contact {
  contact_id id;
  double tolerance;         /* a gap up to it is closed */
  double gap, rate;         /* at the start of the stretch, the rate being J_n v */
  double end_gap, end_rate; /* at its end */
  bool touches;             /* closed at the start; then it leaves, or is among the resting ones */
  bool rests;
} near_contact;

/* A stretch from x, v over `length`, whose end is xe, ve, under contacts that last. */
typedef struct gap_search {
  const stretch_setting *setting;
  const double *x, *v;
  double length;
  const contact_list *resting;
  double *xt, *vt; /* [D] the state at time t */
  double t;
  stretch_outcome way; /* how it came there, without impulses */
  int grazes;          /* gaps that touched zero and opened again */
} gap_search;

/* J_n v of a contact. */
double contact_rate(const carom_system *s, const contact_id *id, const double *x, const double *v,
                    arena *scratch);

/* The place in `near` of the contact whose gap closes first, or -1. Then search->t is when, xt and vt the state
 * there, and near[place].id.detail the point that touches. Roots are found to rounding. */
int first_root(gap_search *search, near_contact *near, int count);

#endif
