/* Which bodies a time step couples.
 *
 * The derivative of a time step takes a reverse pass for each freedom of the state. Where bodies
 * fly by themselves between contacts, those that no contact has joined in a step do not feel each
 * other: rows of the Jacobian that belong to different groups of bodies share a pass, and what
 * comes back is told apart by whose it is. Five balls of which two collide take eight passes
 * instead of twenty, and four where none do.
 *
 * This holds for point masses without joints, springs, limits, gravity and drag, and for unknowns
 * that belong to a body or to a contact: masses, frictions, restitutions. Everywhere else all rows
 * are of one group. */
#ifndef CAROM_FIT_PARTS_H
#define CAROM_FIT_PARTS_H

#include "fit/unknowns.h"

typedef struct body_parts {
  const carom_system *system;
  bool apart;      /* bodies fly by themselves */
  int rows, most;  /* freedoms of a state, samples */
  int *row_body;   /* [rows] whose a row is */
  int *entry_body; /* [parameter_count] whose an entry of theta is; -1: nobody's */
  int *group;      /* [most][body_count] of each body in the last step */
  int *slot;       /* [most][rows] pass that a row takes part in */
  double *masked;  /* [parameter_count] scratch */
} body_parts;

/* L [rows][2 D] are rows of the tangent space at any state. False if memory is short; parts_free is
 * due in any case. */
bool parts_init(body_parts *p, const carom_system *system, const unknown_list *unknowns, int rows,
                const double *L, int most);
void parts_free(body_parts *p);

/* Groups of the only time step of a sample; returns how many passes its rows take. */
int parts_split(body_parts *p, const carom_rollout *rollout, int sample);

/* seed [2 D] = the sum of the rows of L [rows][2 D] that share a pass. */
void parts_seed(const body_parts *p, int sample, int pass, const double *L, double *seed);

/* What belongs to row i of the cotangents state_bar [2 D] and theta_bar of its pass: row [2 D +
 * unknowns]. */
void parts_row(body_parts *p, const unknown_list *unknowns, const double *q, int sample, int i,
               const double *state_bar, const double *theta_bar, double *row);

#endif
