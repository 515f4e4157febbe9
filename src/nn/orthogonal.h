/* Random matrices with orthonormal rows or columns, the first weights of a network. */
#ifndef CAROM_NN_ORTHOGONAL_H
#define CAROM_NN_ORTHOGONAL_H

#include "base/rng.h"
#include "carom.h"

/* Up to so many vectors are made orthonormal one by one, more of them in blocks. */
enum { ORTHOGONAL_SINGLE = 256 };

/* Where a long work is watched; `progress` may be NULL. It counts orthonormal vectors. */
typedef struct orthogonal_watch {
  carom_progress progress;
  void *user;
  int64_t done, total;
} orthogonal_watch;

/* Fills matrix [rows][columns] with orthonormal rows, or columns if there are fewer of these; uniformly
 * distributed among all such matrices. CAROM_INTERRUPTED if progress says so, CAROM_OUT_OF_MEMORY. */
carom_status orthogonal_matrix(rng *random, int rows, int columns, double *matrix,
                               orthogonal_watch *watch);

#endif
