#include "base/threads.h"

#include <pthread.h>

// teams of this size have been started by this thread
static _Thread_local int proven = 1;

// a thread that lives until the gate is opened
static void *stand(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

int threads_startable(int wanted) {
  if (wanted <= proven) return wanted > 1 ? wanted : 1;
  if (wanted > MAX_THREADS) wanted = MAX_THREADS;
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
  pthread_t threads[MAX_THREADS];
  int count = 1;
  pthread_mutex_lock(&gate);
  while (count < wanted && pthread_create(&threads[count], NULL, stand, &gate) == 0) count++;
  pthread_mutex_unlock(&gate);
  for (int i = 1; i < count; i++) pthread_join(threads[i], NULL);
  // where they are short so is memory, which their work needs too
  if (count < wanted) return (count + 1) / 2;
  proven = wanted;
  return count;
}
