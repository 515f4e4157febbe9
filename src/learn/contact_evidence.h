/* Which contacts acted between two states of a trajectory, told by the states alone.
 *
 * Simulations in the manner of carom sample the penetration that an impact ends. Event-driven ones and
 * cameras do not: there the contact is over before the next state is seen. What is left of it shows in
 * the gap g of a possible contact and its rate u = J_n v, before (k - 1) and after (k) the step:
 *
 *   penetration  g_k < 0;
 *   jump         a closing gap (u_{k-1} < 0) stops closing, J_n (v_k - v_{k-1}) is more than free motion
 *                explains, and the flights from the two states meet where the gap is closed;
 *   flight       a closing gap would have closed on the free flight from one of the two states to the
 *                time of the other, and did not;
 *   held         a body that is tied to nothing, at a closed gap and slow, does not fall as free bodies
 *                of these data do: it rests or slides.
 *
 * Gravity and potential are not known. What free motion explains is taken from the steps before and
 * after (the smaller of two changes of velocity of one sign, else 0), its scatter from the whole data
 * (median absolute deviation of each coordinate, which impacts do not move), the fall of free bodies
 * from the steps in which nothing is near (median). Where velocities are missing one-sided differences
 * of positions stand for them. */
#ifndef CAROM_LEARN_CONTACT_EVIDENCE_H
#define CAROM_LEARN_CONTACT_EVIDENCE_H

#include "carom.h"
#include "learn/motion.h"

struct contact_list; /* physics/collision.h */

typedef enum evidence_kind {
  EVIDENCE_PENETRATION,
  EVIDENCE_JUMP,
  EVIDENCE_FLIGHT,
  EVIDENCE_HELD,
  EVIDENCE_KINDS
} evidence_kind;

/* Number of contacts that were found so, each counted by the first kind in this order that tells it. */
typedef struct evidence_counts {
  int64_t contacts[EVIDENCE_KINDS];
} evidence_counts;

typedef struct contact_evidence contact_evidence;

/* Measures scatter and free fall in all of the data. */
carom_status contact_evidence_create(const carom_system *system, int motion_count,
                                     const motion *motions, contact_evidence **evidence,
                                     carom_error *error);

/* For states whose flags are known, of which too few are there to measure anything. */
carom_status contact_evidence_create_plain(const carom_system *system, contact_evidence **evidence,
                                           carom_error *error);
void contact_evidence_destroy(contact_evidence *evidence);

/* flags [states] = 1 where a contact acted on the way to the state, impacts [states] = 1 where it was not
 * one that went on from the state before; counts are added to. */
carom_status contact_evidence_flag(contact_evidence *evidence, const motion *m, uint8_t *flags,
                                   uint8_t *impacts, evidence_counts *counts, carom_error *error);

/* The least gap in the data and the contact (its properties) that has it; infinite if the scene has no
 * possible contact. */
carom_status contact_evidence_least_gap(contact_evidence *evidence, int count,
                                        const motion *motions, double *gap, int *property,
                                        carom_error *error);

/* Lists the contacts that acted on the way to state k, which is known to have been reached by one: if
 * nothing tells which, it is the nearest. */
carom_status contact_evidence_attribute(contact_evidence *evidence, const motion *m, int k,
                                        struct contact_list *found, carom_error *error);

/* The change of velocity [dimension] in one step of a body that nothing touches and nothing holds,
 * median over the data; false if there is no such body or no such step. */
bool contact_evidence_free_change(const contact_evidence *evidence, double *change);

#endif
