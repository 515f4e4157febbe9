#include "fit/place.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

static size_t bytes_of_starts(const minimiser *m) {
  return sizeof(double) * (size_t)m->sh->piece_count * 2 * (size_t)m->sh->D;
}

bool place_make(place *at, const minimiser *m) {
  size_t p = (size_t)m->sh->p, n = (size_t)m->sh->piece_count;
  *at = (place){.q = size_allocate(p + n * 2 * (size_t)m->sh->D, sizeof(double))};
  if (at->q == NULL) return false;
  at->starts = at->q + p;
  return true;
}

void place_free(place *at) { free(at->q); }

void place_keep(place *at, minimiser *m) {
  memcpy(at->q, m->q, sizeof(double) * (size_t)m->sh->p);
  memcpy(at->starts, m->starts, bytes_of_starts(m));
  at->cost = m->cost;
  minimise_remember(m);
}

void place_restore(const place *at, minimiser *m) {
  memcpy(m->q, at->q, sizeof(double) * (size_t)m->sh->p);
  memcpy(m->starts, at->starts, bytes_of_starts(m));
  m->cost = at->cost;
}

carom_status place_descend(minimiser *m, int iterations, carom_error *error) {
  const int most = m->most;
  const double tolerance = m->tolerance;
  m->most = most < iterations ? most : iterations;
  m->tolerance = 1e-4;
  carom_status status = minimise(m, error);
  m->most = most;
  m->tolerance = tolerance;
  if (status == CAROM_OK) minimise_remember(m);
  if (status != CAROM_NUMERICAL_FAILURE) return status;
  m->cost = INFINITY;
  return CAROM_OK;
}
