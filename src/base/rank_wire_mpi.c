/* Ranks connected by MPI. An error of MPI ends the job with MPI's message (MPI_ERRORS_ARE_FATAL). */
#include "base/rank_wire.h"

#include "base/error.h"

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG = 1 };
/* Bytes of one call: counts of MPI are int. */
static const size_t MOST_BYTES = (size_t)1 << 30;

static MPI_Comm work = MPI_COMM_NULL;    /* all exchanges */
static MPI_Comm leaving = MPI_COMM_NULL; /* who has come to the end */
static bool initialised;                 /* by this library */
static int rank_count;
static int *counts, *places; /* [rank_count] of a gather */

static carom_status mpi_begin(int *index, int *count, carom_error *error) {
  int there = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&there);
  if (there)
    MPI_Query_thread(&level);
  else
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
  initialised = !there;
  // a thread of rank 0 hands out tasks (ranks.c)
  if (level < MPI_THREAD_SERIALIZED)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "this MPI may be called by the main thread only; carom needs "
                     "MPI_THREAD_SERIALIZED (MPI_Init_thread)");
  MPI_Comm_dup(MPI_COMM_WORLD, &work);
  MPI_Comm_dup(MPI_COMM_WORLD, &leaving);
  MPI_Comm_rank(work, index);
  MPI_Comm_size(work, &rank_count);
  *count = rank_count;
  counts = malloc(sizeof(int) * (size_t)rank_count);
  places = malloc(sizeof(int) * (size_t)rank_count);
  if (counts != NULL && places != NULL) return CAROM_OK;
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d ranks", rank_count);
}

static void mpi_gather(void *data, size_t bytes, const int *first) {
  // elements are counted, so that int suffices for any number of bytes
  const bool words = bytes % sizeof(double) == 0;
  MPI_Datatype element;
  MPI_Type_contiguous((int)(words ? bytes / sizeof(double) : bytes), words ? MPI_DOUBLE : MPI_BYTE,
                      &element);
  MPI_Type_commit(&element);
  for (int r = 0; r < rank_count; r++) {
    counts[r] = first[r + 1] - first[r];
    places[r] = first[r];
  }
  MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, counts, places, element, work);
  MPI_Type_free(&element);
}

// pieces that an int can count
static size_t piece(size_t left) { return left < MOST_BYTES ? left : MOST_BYTES; }

static void mpi_broadcast(void *data, size_t bytes, int from) {
  char *at = data;
  for (size_t now; bytes > 0; bytes -= now, at += now) {
    now = piece(bytes);
    MPI_Bcast(at, (int)now, MPI_BYTE, from, work);
  }
}

static void mpi_send(const void *data, size_t bytes, int to) {
  const char *at = data;
  for (size_t now; bytes > 0; bytes -= now, at += now) {
    now = piece(bytes);
    MPI_Send(at, (int)now, MPI_BYTE, to, TAG, work);
  }
}

static void mpi_receive(void *data, size_t bytes, int from) {
  char *at = data;
  for (size_t now; bytes > 0; bytes -= now, at += now) {
    now = piece(bytes);
    MPI_Recv(at, (int)now, MPI_BYTE, from, TAG, work, MPI_STATUS_IGNORE);
  }
}

static int mpi_waiting(void) {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, TAG, work, &there, &status);
  return there ? status.MPI_SOURCE : -1;
}

static void mpi_sum(int64_t *values, int count) {
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_INT64_T, MPI_SUM, work);
}

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool mpi_end(double seconds) {
  const double start = seconds_now();
  MPI_Request request;
  int all = 0;
  MPI_Ibarrier(leaving, &request);
  for (;;) {
    MPI_Test(&request, &all, MPI_STATUS_IGNORE);
    if (all) break;
    if (seconds >= 0 && seconds_now() - start > seconds) return false;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  }
  MPI_Comm_free(&work);
  MPI_Comm_free(&leaving);
  free(counts);
  free(places);
  counts = places = NULL;
  if (initialised) MPI_Finalize();
  return true;
}

static void mpi_abort(int code) {
  MPI_Abort(MPI_COMM_WORLD, code);
  _Exit(code);
}

const rank_wire *rank_wire_get(void) {
  static const rank_wire wire = {mpi_begin,   mpi_gather, mpi_broadcast, mpi_send, mpi_receive,
                                 mpi_waiting, mpi_sum,    mpi_end,       mpi_abort};
  return &wire;
}
