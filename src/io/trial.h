/* A trial: a function runs in a child process before the caller runs it itself.
 *
 * HDF5 crashes on some damaged files and never comes back from others. A file that has no checksum
 * (seal.h) is therefore read on trial first: the child reads all that will be read and throws it
 * away. It has a limited time and memory, prints nothing and leaves no core file. Where it fails or
 * dies the caller does not touch the file.
 *
 * The child is made by fork(): the function must not use threads (OpenMP included). */
#ifndef CAROM_IO_TRIAL_H
#define CAROM_IO_TRIAL_H

#include "carom.h"

typedef struct trial_limits {
  int seconds;   /* of processor time; three times as many on the clock */
  size_t memory; /* bytes beyond what the process has */
} trial_limits;

typedef enum trial_outcome {
  TRIAL_ENDED,     /* the function returned */
  TRIAL_CRASHED,   /* the child ended before that */
  TRIAL_TOO_LONG,  /* its time was over */
  TRIAL_INTERRUPT, /* SIGINT came (Ctrl-C) */
  TRIAL_IMPOSSIBLE /* no child could be made; errno says why */
} trial_outcome;

typedef carom_status trial_function(void *user, carom_error *error);

/* Where it ended, `error` is what the function left in it, with the status that it returned. */
trial_outcome trial_run(trial_function *function, void *user, trial_limits limits,
                        carom_error *error);

#endif
