/* Chunks: short pieces of trajectories, all of one length. Memory, flags of contacts, the choice of
 * a chunk in a trajectory, and what is counted about them.
 *
 * In a simulation a contact does not move positions, so the flag of a state ("a contact acted on the way
 * here") says the same as "a contact is active at these positions". Of data from elsewhere it says more:
 * see contact_evidence.h. */
#ifndef CAROM_LEARN_CHUNKS_H
#define CAROM_LEARN_CHUNKS_H

#include "base/rng.h"
#include "carom.h"

/* How far given states may be off the constraints, positions relative to lengths and velocities to
 * the greatest speed of the trajectory. Wide enough
 * for honest simulations: nothing pulls positions back to the constraints, and cp3 drifts by up to
 * 0.05 in its 100 steps. What it finds is data of another system, order of points or unit. */
static const double DATA_TOLERANCE = 0.1;

/* Zeroed memory for `count` (0 or more) chunks; chunks_release gives it back. */
carom_status chunks_allocate(const carom_system *system, int count, int states,
                             carom_chunks *chunks, carom_error *error);
void chunks_release(carom_chunks *chunks);

/* Copies chunk->states consecutive states into the place `index`. */
void chunks_put(const carom_system *system, carom_chunks *chunks, int index, const double *x,
                const double *v, const uint8_t *flags);

/* A random place in a trajectory of `states` states where a chunk may begin: its first state has no
 * contact, some later one has (or none has). States marked in `taken` (may be NULL) are not used.
 * -1 if there is no such place. */
int chunk_pick(const uint8_t *flags, int states, int chunk, bool with_contact, const uint8_t *taken,
               rng *random);

bool chunk_touches(const uint8_t *flags, int chunk);

/* flags [count] = 1 where a contact is active at x [count][point_count][dimension]. */
carom_status contacts_flag(const carom_system *system, size_t count, const double *x,
                           uint8_t *flags, carom_error *error);

/* Finds the flags of chunks by all that contact_evidence.h knows. */
carom_status contacts_find(const carom_system *system, carom_chunks *chunks, carom_error *error);

/* Checks the states x, v [states][point_count][dimension] of one trajectory: finite, and constraints
 * held to DATA_TOLERANCE. A message begins with "WHAT index, step k: ", steps counted from `first`. */
carom_status trajectory_check(const carom_system *system, const char *what, int index, int first,
                              int states, const double *x, const double *v, carom_error *error);

/* The same for x, v [count][states][point_count][dimension]. */
carom_status trajectories_check(const carom_system *system, const char *what, int count, int states,
                                const double *x, const double *v, carom_error *error);

/* Shows the contacts of every state of chunks, their first states left out, in order: those that are
 * active, and where the flag says that one acted, those that contact_evidence.h tells. `state` counts
 * the states of all chunks. */
struct contact_list; /* physics/collision.h */
typedef void (*contacts_visitor)(void *user, int chunk, int64_t state,
                                 const struct contact_list *active);
carom_status contacts_visit(const carom_system *system, const carom_chunks *chunks,
                            contacts_visitor visit, void *user, carom_error *error);

#endif
