/* How many threads the system would start now. The runtimes of OpenMP end the program where they do
 * not get one, so that is asked before a team of threads is formed. */
#ifndef CAROM_BASE_THREADS_H
#define CAROM_BASE_THREADS_H

/* At most so many threads work on a batch. */
enum { MAX_THREADS = 1024 };

/* Threads to work with, the caller included: `wanted` and at most MAX_THREADS, or half of those that
 * can run at once if these are fewer. Starts them once for each calling thread, whose team OpenMP
 * then keeps. */
int threads_startable(int wanted);

#endif
