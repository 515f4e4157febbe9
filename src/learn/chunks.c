#include "learn/chunks.h"

#include "base/error.h"
#include "base/size.h"
#include "learn/contact_evidence.h"
#include "physics/collision.h"
#include "system/state_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

carom_status chunks_allocate(const carom_system *system, int count, int states,
                             carom_chunks *chunks, carom_error *error) {
  size_t entries = (size_t)count * (size_t)states;
  size_t bytes = sizeof(double) * (size_t)system->coordinate_count;
  *chunks = (carom_chunks){.count = count, .states = states};
  // one more than needed: no chunks are not NULL
  chunks->x = size_allocate_zero(entries, bytes);
  chunks->v = size_allocate_zero(entries, bytes);
  chunks->contact = size_allocate_zero(entries, 1);
  if (chunks->x != NULL && chunks->v != NULL && chunks->contact != NULL) return CAROM_OK;
  chunks_release(chunks);
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d chunks of %d states", count,
                   states);
}

void chunks_release(carom_chunks *chunks) {
  free(chunks->x);
  free(chunks->v);
  free(chunks->contact);
  *chunks = (carom_chunks){0};
}

void chunks_put(const carom_system *system, carom_chunks *chunks, int index, const double *x,
                const double *v, const uint8_t *flags) {
  size_t entries = (size_t)chunks->states, at = (size_t)index * entries;
  size_t size = (size_t)system->coordinate_count;
  memcpy(chunks->x + at * size, x, sizeof(double) * entries * size);
  memcpy(chunks->v + at * size, v, sizeof(double) * entries * size);
  memcpy(chunks->contact + at, flags, entries);
}

bool chunk_touches(const uint8_t *flags, int chunk) {
  for (int k = 1; k < chunk; k++)
    if (flags[k] != 0) return true;
  return false;
}

static bool any_taken(const uint8_t *taken, int chunk) {
  for (int k = 0; taken != NULL && k < chunk; k++)
    if (taken[k] != 0) return true;
  return false;
}

int chunk_pick(const uint8_t *flags, int states, int chunk, bool with_contact, const uint8_t *taken,
               rng *random) {
  int chosen = -1, found = 0;
  for (int start = 0; start + chunk <= states; start++) {
    if (flags[start] != 0 || chunk_touches(flags + start, chunk) != with_contact) continue;
    if (any_taken(taken != NULL ? taken + start : NULL, chunk)) continue;
    // the k-th one found takes the place with probability 1/k: all are alike in the end
    found++;
    if (rng_below(random, found) == 0) chosen = start;
  }
  return chosen;
}

int carom_chunks_with_contact(const carom_chunks *chunks) {
  if (chunks == NULL || chunks->contact == NULL) return 0;
  int count = 0;
  for (int k = 0; k < chunks->count; k++)
    count += chunk_touches(chunks->contact + (size_t)k * (size_t)chunks->states, chunks->states);
  return count;
}

carom_status contacts_flag(const carom_system *system, size_t count, const double *x,
                           uint8_t *flags, carom_error *error) {
  contact_list active;
  contact_list_init(&active);
  bool enough_memory = true;
  for (size_t k = 0; k < count && enough_memory; k++) {
    enough_memory = collision_detect(system, x + k * (size_t)system->coordinate_count, &active);
    flags[k] = active.count > 0;
  }
  contact_list_free(&active);
  if (enough_memory) return CAROM_OK;
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the contacts of a state");
}

// the fastest point of a trajectory; one that comes to rest does not make its last states worse
static double trajectory_speed(const carom_system *system, int states, const double *v) {
  double speed = 0;
  for (int k = 0; k < states; k++)
    speed = fmax(speed, state_speed(system, v + (size_t)k * (size_t)system->coordinate_count));
  return speed;
}

// where it is, and what may be the reason
static carom_status place_in_message(carom_error *error, const char *what, int sample, int step) {
  if (error == NULL) return CAROM_INVALID_DATA;
  size_t length = strlen(error->message);
  if (strstr(error->message, "violates") != NULL)
    snprintf(error->message + length, sizeof error->message - length,
             "; more than %g of its size is not accepted: is it data of this scene, with its "
             "points in this order? Noise is taken away by --project (project in C)",
             DATA_TOLERANCE);
  return error_prefix(error, "%s %d, step %d", what, sample, step);
}

carom_status trajectory_check(const carom_system *system, const char *what, int index, int first,
                              int states, const double *x, const double *v, carom_error *error) {
  const size_t size = (size_t)system->coordinate_count;
  const double speed = trajectory_speed(system, states, v);
  for (int k = 0; k < states; k++) {
    const size_t at = (size_t)k * size;
    if (state_check(system, x + at, v + at, DATA_TOLERANCE, speed, error) != CAROM_OK)
      return place_in_message(error, what, index, first + k);
  }
  return CAROM_OK;
}

carom_status trajectories_check(const carom_system *system, const char *what, int count, int states,
                                const double *x, const double *v, carom_error *error) {
  const size_t stride = (size_t)states * (size_t)system->coordinate_count;
  carom_status status = CAROM_OK;
  for (int i = 0; i < count && status == CAROM_OK; i++)
    status = trajectory_check(system, what, i, 0, states, x + (size_t)i * stride,
                              v + (size_t)i * stride, error);
  return status;
}

static motion chunk_motion(const carom_system *system, const carom_chunks *chunks, int index) {
  const size_t at = (size_t)index * (size_t)chunks->states * (size_t)system->coordinate_count;
  return (motion){chunks->states, system->coordinate_count, chunks->dt,
                  chunks->x + at, chunks->v + at,           NULL};
}

carom_status contacts_find(const carom_system *system, carom_chunks *chunks, carom_error *error) {
  contact_evidence *evidence = NULL;
  motion *motions = size_allocate_zero((size_t)chunks->count, sizeof *motions);
  uint8_t *impacts = size_allocate_zero((size_t)chunks->states, 1);
  carom_status status = motions == NULL || impacts == NULL
                            ? error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the contacts")
                            : CAROM_OK;
  for (int i = 0; i < chunks->count && status == CAROM_OK; i++)
    motions[i] = chunk_motion(system, chunks, i);
  if (status == CAROM_OK)
    status = contact_evidence_create(system, chunks->count, motions, &evidence, error);
  evidence_counts counts = {0};
  for (int i = 0; i < chunks->count && status == CAROM_OK; i++)
    status = contact_evidence_flag(evidence, &motions[i],
                                   chunks->contact + (size_t)i * (size_t)chunks->states, impacts,
                                   &counts, error);
  contact_evidence_destroy(evidence);
  free(motions);
  free(impacts);
  return status;
}

// flags that tell of more than penetration: those of chunks whose time step is known
static bool is_flagged(const carom_chunks *chunks, size_t state) {
  return chunks->dt > 0 && chunks->contact != NULL && chunks->contact[state] != 0;
}

carom_status contacts_visit(const carom_system *system, const carom_chunks *chunks,
                            contacts_visitor visit, void *user, carom_error *error) {
  contact_evidence *evidence;
  contact_list active;
  contact_list_init(&active);
  carom_status status = contact_evidence_create_plain(system, &evidence, error);
  for (int chunk = 0; chunk < chunks->count && status == CAROM_OK; chunk++) {
    const motion m = chunk_motion(system, chunks, chunk);
    for (int k = 1; k < chunks->states && status == CAROM_OK; k++) {
      const size_t state = (size_t)chunk * (size_t)chunks->states + (size_t)k;
      if (is_flagged(chunks, state))
        status = contact_evidence_attribute(evidence, &m, k, &active, error);
      else if (!collision_detect(system, m.x + (size_t)k * (size_t)m.size, &active))
        status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the contacts of a state");
      if (status == CAROM_OK) visit(user, chunk, (int64_t)state, &active);
    }
  }
  contact_list_free(&active);
  contact_evidence_destroy(evidence);
  return status;
}

/* A contact counts once in a state and once in a chunk, however many points of a body touch. `seen`
 * holds the last state and chunk, numbered from 1, in which a contact was met. */
typedef struct last_seen {
  int64_t state, chunk;
} last_seen;

typedef struct contact_counter {
  last_seen *seen;
  carom_contact_count *counts;
} contact_counter;

static void count_active(void *user, int chunk, int64_t state, const contact_list *active) {
  const contact_counter *c = user;
  const last_seen now = {state + 1, chunk + 1};
  for (int k = 0; k < active->count; k++) {
    const int property = active->ids[k].property;
    if (c->seen[property].state != now.state) c->counts[property].states++;
    if (c->seen[property].chunk != now.chunk) c->counts[property].chunks++;
    c->seen[property] = now;
  }
}

carom_status carom_chunks_count_contacts(const carom_chunks *chunks, const carom_system *system,
                                         carom_contact_count *counts, carom_error *error) {
  REQUIRE(chunks, error);
  REQUIRE(system, error);
  REQUIRE(counts, error);
  if (chunks->count < 0 || chunks->states < 0)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_chunks_count_contacts: %d chunks of %d states", chunks->count,
                     chunks->states);
  if (chunks->count > 0) REQUIRE(chunks->x, error);
  const size_t possible = (size_t)system->contact_count;
  memset(counts, 0, sizeof *counts * possible);
  contact_counter counter = {size_allocate_zero(possible, sizeof(last_seen)), counts};
  if (counter.seen == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory to count %zu possible contacts",
                     possible);
  carom_status status = contacts_visit(system, chunks, count_active, &counter, error);
  free(counter.seen);
  return status;
}
