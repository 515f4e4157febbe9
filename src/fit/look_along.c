#include "fit/look_along.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/draws.h"
#include "fit/met.h"
#include "fit/search.h"

/* Cost and derivatives of all pieces; the logarithm of the likelihood, which also is comparable where noise is estimated. */
static carom_status evaluate_all(carom_fit *fit, double *likelihood, carom_error *error) {
  minimiser *m = &fit->minimiser;
  carom_status status = shooting_evaluate(m->sh, m->q, m->starts, NULL, 0, true, &m->cost, error);
  *likelihood = fit_log_likelihood(fit);
  return status;
}

/* Edges, and what was met elsewhere, until that is of no more use. */
static carom_status look_around(minimiser *m, met *all, carom_error *error) {
  enum { ROUNDS = 3 };
  bool moved = true;
  carom_status status = search_close(m, error);
  for (int round = 0; round < ROUNDS && moved && status == CAROM_OK; round++) {
    status = met_search(all, m, &moved, error);
    if (status == CAROM_OK && moved) status = minimise(m, error);
    if (status == CAROM_OK && moved) status = search_close(m, error);
  }
  met_add(all, m);
  return status;
}

/* Whole pieces anew from unknowns `off` deviations along a way, on either side of where it stands; it goes to the best of the three. */
static carom_status try_sides(carom_fit *fit, const bool *estimate, const double *way, double off,
                              outcome *here, outcome *best, met *all, bool *moved,
                              carom_error *error) {
  minimiser *m = &fit->minimiser;
  shooting *sh = &fit->shooting;
  carom_status status = outcome_keep(here, fit, error);
  if (status == CAROM_OK) status = outcome_keep(best, fit, error);
  for (int side = -1; side <= 1 && status == CAROM_OK; side += 2) {
    outcome_restore(here, fit);
    for (int j = 0; j < sh->p; j++)
      m->q[j] = fmin(fmax(m->q[j] + side * off * way[j], m->low[j]), m->high[j]);
    status = search_pieces(fit, estimate, fit->options.piece, 1, error);
    if (status == CAROM_OK) status = look_around(m, all, error);
    double likelihood = -INFINITY;
    if (status == CAROM_OK) status = evaluate_all(fit, &likelihood, error);
    if (status == CAROM_OK) minimise_remember(m);
    if (status == CAROM_NUMERICAL_FAILURE) status = error_clear(error); // no motion so far off
    if (status == CAROM_OK && isfinite(likelihood)) status = visited_add(&fit->visited, fit, error);
    if (status != CAROM_OK || !(likelihood > best->likelihood + m->gain)) continue;
    *moved = true;
    status = outcome_keep(best, fit, error);
  }
  outcome_restore(best, fit);
  return status;
}

carom_status look_along(carom_fit *fit, const bool *estimate, carom_error *error) {
  static const double off[] = {8, 5}; // deviations
  enum { ROUNDS = sizeof off / sizeof off[0] };
  minimiser *m = &fit->minimiser;
  outcome here = {0}, best = {0};
  met all;
  double *way = size_allocate((size_t)m->sh->p, sizeof(double)), likelihood, share;
  carom_status status =
      met_make(&all, m) && way != NULL && place_make(&here.at, m) && place_make(&best.at, m)
          ? CAROM_OK
          : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a search");
  bool open = false;
  if (status == CAROM_OK) status = draws_roughness(m, &share, &open, error);
  bool moved = open;
  if (status == CAROM_OK && open) status = look_around(m, &all, error);
  if (status == CAROM_OK && open) status = visited_add(&fit->visited, fit, error);
  for (int round = 0; round < ROUNDS && moved && status == CAROM_OK; round++) {
    moved = false;
    status = evaluate_all(fit, &likelihood, error);
    if (status != CAROM_OK || !isfinite(likelihood)) break;
    normal_reduce(&m->normal, m->q, m->starts, 0, false);
    if (!normal_softest(&m->normal, way)) break;
    status = try_sides(fit, estimate, way, off[round], &here, &best, &all, &moved, error);
  }
  if (status == CAROM_OK && open) status = look_around(m, &all, error);
  met_free(&all);
  place_free(&here.at);
  place_free(&best.at);
  free(way);
  return status;
}
