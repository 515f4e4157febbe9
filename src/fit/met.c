#include "fit/met.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/state_descent.h"

bool met_make(met *all, const minimiser *m) {
  *all = (met){.size = (size_t)m->sh->piece_count * 2 * (size_t)m->sh->D};
  all->starts = size_allocate(MOST_MET * all->size, sizeof(double));
  return all->starts != NULL;
}

void met_free(met *all) { free(all->starts); }

void met_add(met *all, const minimiser *m) {
  const int at = all->count < MOST_MET ? all->count++ : MOST_MET - 1;
  memcpy(all->starts + (size_t)at * all->size, m->starts, sizeof(double) * all->size);
}

static carom_status search(const met *all, state_descent *d, minimiser *m, bool *moved,
                           carom_error *error) {
  enum { STEPS = 15 };
  carom_status status = state_descent_find_suspects(d, m, -INFINITY, error); // all pieces
  for (int k = 0; k < all->count && status == CAROM_OK; k++) {
    memcpy(d->starts, all->starts + (size_t)k * all->size, sizeof(double) * all->size);
    memcpy(d->pieces, d->suspects, sizeof(int) * (size_t)d->suspect_count);
    d->count = d->suspect_count;
    for (int i = 0; i < m->sh->piece_count; i++) d->cost[i] = INFINITY;
    status = state_descent_run(d, STEPS, error);
    if (status == CAROM_OK) state_descent_take(d, m, moved);
    for (int i = 0; i < m->sh->piece_count; i++)
      m->totals[i] = d->cost[i] < m->totals[i] - m->gain ? d->cost[i] : m->totals[i];
  }
  return status;
}

carom_status met_search(const met *all, minimiser *m, bool *moved, carom_error *error) {
  state_descent d;
  *moved = false;
  if (!m->sh->free_states || m->sh->join > 0) return CAROM_OK;
  carom_status status = state_descent_make(&d, m->sh, m->q)
                            ? search(all, &d, m, moved, error)
                            : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for first states");
  state_descent_free(&d);
  return status;
}
