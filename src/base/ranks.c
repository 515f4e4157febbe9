#include "base/ranks.h"

#include "base/checksum.h"
#include "base/error.h"
#include "base/rank_wire.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Numbers of a sum that go to the next rank at once: 128 kB. */
enum { PIECE = 16384 };

/* The only state of the library that is not in an object: a process is one rank. */
static const rank_wire *wire; /* NULL: alone */
static int own_index, all_count = 1;
static int *bounds;     /* [all_count + 1] of a gather */
static int alone_depth; /* between ranks_alone_begin and _end */

int carom_ranks_count(void) { return alone_depth > 0 ? 1 : all_count; }
int carom_ranks_index(void) { return alone_depth > 0 ? 0 : own_index; }

void ranks_alone_begin(void) { alone_depth++; }
void ranks_alone_end(void) { alone_depth--; }

/* ---- coming and going ------------------------------------------------------------------------ */

// how many processes a launcher has started with this one; 0: there is no launcher, or it does not say
static int launched_count(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
  for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
    const char *value = getenv(names[k]);
    if (value != NULL && atoi(value) > 0) return atoi(value);
  }
  return 0;
}

// PMIx tells each process which one it is, not how many there are
static bool launched(void) { return launched_count() > 0 || getenv("PMIX_RANK") != NULL; }

carom_status carom_ranks_begin(carom_error *error) {
  if (wire != NULL || !launched()) return error_clear(error);
  const rank_wire *found = rank_wire_get();
  if (found == NULL && launched_count() > 1)
    return error_set(
        error, CAROM_INVALID_ARGUMENT,
        "%d processes were started to share the work, but this carom was built without "
        "MPI; configure it with -DCAROM_MPI=ON, or start one process",
        launched_count());
  if (found == NULL) return error_clear(error);
  carom_status status = found->begin(&own_index, &all_count, error);
  if (status != CAROM_OK) return status;
  bounds = malloc(sizeof(int) * ((size_t)all_count + 1));
  if (bounds == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d ranks", all_count);
  wire = found;
  return error_clear(error);
}

bool carom_ranks_end(double seconds) {
  if (wire == NULL) return true;
  if (!wire->end(seconds)) return false;
  wire = NULL;
  own_index = 0;
  all_count = 1;
  free(bounds);
  bounds = NULL;
  return true;
}

void carom_ranks_abort(int code) {
  if (wire != NULL) wire->abort(code);
  exit(code);
}

/* ---- exchanges ------------------------------------------------------------------------------- */

static bool shared(void) { return carom_ranks_count() > 1; }

// the first part of a rank
static int first_of(int parts, int rank) { return (int)((int64_t)parts * rank / all_count); }

rank_range ranks_own(int parts) {
  if (!shared()) return (rank_range){0, parts};
  return (rank_range){first_of(parts, own_index), first_of(parts, own_index + 1)};
}

void ranks_collect(void *data, size_t bytes, int parts, int each, int items) {
  if (!shared() || bytes == 0) return;
  for (int r = 0; r <= all_count; r++) {
    const int64_t first = (int64_t)first_of(parts, r) * each;
    bounds[r] = first < items ? (int)first : items;
  }
  wire->gather(data, bytes, bounds);
}

void ranks_tell(void *data, size_t bytes, int from) {
  if (shared()) wire->broadcast(data, bytes, from);
}

void ranks_add_up(int count, const double *own, int own_count, double *sum) {
  const int last = carom_ranks_count() - 1;
  for (int at = 0, size; at < count; at += size) {
    size = count - at < PIECE ? count - at : PIECE;
    const size_t bytes = sizeof(double) * (size_t)size;
    double *into = sum + at;
    if (carom_ranks_index() > 0)
      wire->receive(into, bytes, own_index - 1);
    else
      memset(into, 0, bytes);
    for (int k = 0; k < own_count; k++) {
      const double *from = own + (size_t)k * (size_t)count + (size_t)at;
      for (int i = 0; i < size; i++) into[i] += from[i];
    }
    if (carom_ranks_index() < last) wire->send(into, bytes, own_index + 1);
  }
  if (last > 0) wire->broadcast(sum, sizeof(double) * (size_t)count, last);
}

bool ranks_all(bool mine) {
  int64_t against = !mine;
  carom_ranks_sum(1, &against, NULL);
  return against == 0;
}

bool ranks_same(const void *data, size_t bytes) {
  if (!shared()) return true;
  const uint64_t mine = checksum64(data, bytes);
  uint64_t first = mine;
  wire->broadcast(&first, sizeof first, 0);
  return ranks_all(mine == first);
}

carom_status carom_ranks_sum(int count, int64_t *values, carom_error *error) {
  REQUIRE(values, error);
  if (count < 0)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_ranks_sum: count is %d, must be at least 0", count);
  if (shared()) wire->sum(values, count);
  return error_clear(error);
}

carom_status carom_ranks_agree(carom_status status, carom_error *error) {
  if ((int)status < 0 || status > CAROM_INTERRUPTED)
    status = error_set(error, CAROM_INVALID_ARGUMENT, "carom_ranks_agree: %d is no carom_status",
                       (int)status);
  if (!shared()) return status;
  carom_error told = {.status = status};
  if (status != CAROM_OK && error != NULL)
    memcpy(told.message, error->message, sizeof told.message);
  if (ranks_all(status == CAROM_OK)) return CAROM_OK;
  // the first status that is not CAROM_OK is everybody's
  for (int from = 0; from < all_count; from++) {
    carom_status theirs = status;
    wire->broadcast(&theirs, sizeof theirs, from);
    if (theirs == CAROM_OK) continue;
    wire->broadcast(&told, sizeof told, from);
    if (from > 0) error_prefix(&told, "rank %d", from);
    if (error != NULL) *error = told;
    return told.status;
  }
  return CAROM_OK;
}

/* ---- tasks ----------------------------------------------------------------------------------- */

/* The numbers that rank 0 hands out. */
typedef struct dispatch {
  pthread_mutex_t lock;
  int next, count;
} dispatch;

// the next number; all are gone once a task wanted no more
static int take(dispatch *d, bool stop) {
  pthread_mutex_lock(&d->lock);
  if (stop) d->next = d->count;
  const int number = d->next < d->count ? d->next++ : d->count;
  pthread_mutex_unlock(&d->lock);
  return number;
}

// answers the other ranks until each has been told that there is no more
static void *serve(void *user) {
  dispatch *d = user;
  for (int told = 1; told < all_count;) {
    const int from = wire->waiting();
    if (from < 0) {
      nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
      continue;
    }
    int stop;
    wire->receive(&stop, sizeof stop, from);
    const int number = take(d, stop != 0);
    wire->send(&number, sizeof number, from);
    told += number == d->count;
  }
  return NULL;
}

// asks rank 0, or takes one there
static int next_task(dispatch *d, bool stop) {
  if (own_index == 0) return take(d, stop);
  const int word = stop;
  int number;
  wire->send(&word, sizeof word, 0);
  wire->receive(&number, sizeof number, 0);
  return number;
}

static int work_off(dispatch *d, carom_ranks_task task, void *user) {
  int begun = 0;
  ranks_alone_begin();
  for (int k = next_task(d, false); k < d->count; begun++) k = next_task(d, !task(user, k));
  ranks_alone_end();
  return begun;
}

carom_status carom_ranks_share_out(int count, carom_ranks_task task, void *user, int *done,
                                   carom_error *error) {
  if (done != NULL) *done = 0;
  REQUIRE(task, error);
  if (count < 0)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_ranks_share_out: count is %d, must be at least 0", count);
  dispatch d = {.lock = PTHREAD_MUTEX_INITIALIZER, .count = count};
  const bool serves = shared() && own_index == 0;
  pthread_t server;
  bool started = serves && pthread_create(&server, NULL, serve, &d) == 0;
  // without a thread rank 0 only hands out
  if (serves && !started) serve(&d);
  const int begun = work_off(&d, task, user);
  if (started) pthread_join(server, NULL);
  ranks_all(true); // all are over
  if (done != NULL) *done = begun;
  return error_clear(error);
}
