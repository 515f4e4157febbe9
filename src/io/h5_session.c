#include "io/h5_session.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

h5_session h5_session_begin(void) {
  pthread_mutex_lock(&lock);
  h5_session session = {0};
  H5Eget_auto2(H5E_DEFAULT, &session.function, &session.data);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  return session;
}

void h5_session_end(h5_session session) {
  H5Eset_auto2(H5E_DEFAULT, session.function, session.data);
  pthread_mutex_unlock(&lock);
}
