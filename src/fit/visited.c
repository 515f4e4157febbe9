#include "fit/visited.h"

#include <string.h>

#include "base/error.h"
#include "fit/fit.h"

carom_status outcome_keep(outcome *o, carom_fit *fit, carom_error *error) {
  minimiser *m = &fit->minimiser;
  memcpy(o->noise, fit->shooting.noise, sizeof o->noise);
  carom_status status = shooting_evaluate(m->sh, m->q, m->starts, NULL, 0, true, &m->cost, error);
  o->likelihood = fit_log_likelihood(fit);
  place_keep(&o->at, m);
  return status;
}

void outcome_restore(const outcome *o, carom_fit *fit) {
  const size_t bytes = sizeof fit->shooting.noise;
  if (memcmp(fit->shooting.noise, o->noise, bytes) != 0) fit->minimiser.rival_count = 0;
  place_restore(&o->at, &fit->minimiser);
  memcpy(fit->shooting.noise, o->noise, bytes);
}

carom_status visited_add(visited *v, carom_fit *fit, carom_error *error) {
  if (v->count == MOST_VISITED) return CAROM_OK;
  outcome *o = &v->all[v->count];
  if (!place_make(&o->at, &fit->minimiser))
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a search");
  v->count++;
  return outcome_keep(o, fit, error);
}

void visited_free(visited *v) {
  for (int k = 0; k < v->count; k++) place_free(&v->all[k].at);
  v->count = 0;
}
