#include "fit/look_along.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/draws.h"
#include "fit/met.h"
#include "fit/search.h"
#include "fit/valley.h"

/* Cost and derivatives of all pieces; the logarithm of the likelihood, which also is comparable
 * where noise is estimated. */
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

typedef struct looking {
  carom_fit *fit;
  const bool *estimate; /* noise of channels */
  outcome here, best;   /* where a round began, the best place since then */
  met all;
  double *way, *from; /* [p] */
} looking;

static bool looking_make(looking *l, carom_fit *fit, const bool *estimate) {
  minimiser *m = &fit->minimiser;
  const size_t p = (size_t)m->sh->p;
  *l = (looking){.fit = fit, .estimate = estimate, .way = size_allocate(2 * p, sizeof(double))};
  l->from = l->way + p;
  return met_make(&l->all, m) && l->way != NULL && place_make(&l->here.at, m) &&
         place_make(&l->best.at, m);
}

static void looking_free(looking *l) {
  met_free(&l->all);
  place_free(&l->here.at);
  place_free(&l->best.at);
  free(l->way);
}

/* A round begins where it stands. */
static carom_status begin_round(looking *l, carom_error *error) {
  carom_status status = outcome_keep(&l->here, l->fit, error);
  return status == CAROM_OK ? outcome_keep(&l->best, l->fit, error) : status;
}

/* Whole pieces anew with unknowns l->from; `moved` tells whether that ends better than all of this
 * round. */
static carom_status try_from(looking *l, bool *moved, carom_error *error) {
  carom_fit *fit = l->fit;
  minimiser *m = &fit->minimiser;
  double likelihood = -INFINITY;
  outcome_restore(&l->here, fit);
  for (int j = 0; j < m->sh->p; j++) m->q[j] = fmin(fmax(l->from[j], m->low[j]), m->high[j]);
  carom_status status = search_pieces(fit, l->estimate, fit->options.piece, 1, error);
  if (status == CAROM_OK) status = look_around(m, &l->all, error);
  if (status == CAROM_OK) status = evaluate_all(fit, &likelihood, error);
  if (status == CAROM_OK) minimise_remember(m);
  if (status == CAROM_NUMERICAL_FAILURE) status = error_clear(error); // no motion so far off
  if (status == CAROM_OK && isfinite(likelihood)) status = visited_add(&fit->visited, fit, error);
  if (status != CAROM_OK || !(likelihood > l->best.likelihood + m->gain)) return status;
  *moved = true;
  return outcome_keep(&l->best, fit, error);
}

/* From `off` deviations along what is known least, on either side of where it stands; it goes to
 * the best of the three. */
static carom_status try_sides(looking *l, double off, bool *moved, carom_error *error) {
  minimiser *m = &l->fit->minimiser;
  carom_status status = begin_round(l, error);
  normal_reduce(&m->normal, m->q, m->starts, 0, false);
  if (status != CAROM_OK || !isfinite(l->here.likelihood) || !normal_softest(&m->normal, l->way))
    return status;
  for (int side = -1; side <= 1 && status == CAROM_OK; side += 2) {
    for (int j = 0; j < m->sh->p; j++) l->from[j] = l->here.at.q[j] + side * off * l->way[j];
    status = try_from(l, moved, error);
  }
  outcome_restore(&l->best, l->fit);
  return status;
}

/* A friction with which everything sticks leaves no slope that would lead to where something
 * slides, which other first states may ask for: from half of where that begins. As long as there is
 * room for places: it is dear. */
static carom_status try_sliding(looking *l, carom_error *error) {
  const double NEVER = 1e-3; // of its value: nothing slides with any friction
  minimiser *m = &l->fit->minimiser;
  carom_status status = CAROM_OK;
  bool moved;
  for (int j = 0; j < m->sh->p && status == CAROM_OK && l->fit->visited.count < MOST_VISITED; j++) {
    double edge;
    if (m->sh->unknowns->items[j].segment != CAROM_FRICTION) continue;
    status = valley_sliding_edge(m, j, &edge, error);
    if (status != CAROM_OK || !(edge < m->q[j]) || edge - m->low[j] < NEVER * m->q[j]) continue;
    status = begin_round(l, error);
    memcpy(l->from, l->here.at.q, sizeof(double) * (size_t)m->sh->p);
    l->from[j] = 0.5 * edge;
    if (status == CAROM_OK) status = try_from(l, &moved, error);
    outcome_restore(&l->best, l->fit);
  }
  return status;
}

carom_status look_along(carom_fit *fit, const bool *estimate, carom_error *error) {
  static const double off[] = {8, 5}; // deviations
  enum { ROUNDS = sizeof off / sizeof off[0] };
  minimiser *m = &fit->minimiser;
  looking l;
  double share;
  bool open = false;
  carom_status status = looking_make(&l, fit, estimate)
                            ? draws_roughness(m, &share, &open, error)
                            : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a search");
  bool moved = open;
  if (status == CAROM_OK && open) status = look_around(m, &l.all, error);
  if (status == CAROM_OK && open) status = visited_add(&fit->visited, fit, error);
  for (int round = 0; round < ROUNDS && moved && status == CAROM_OK; round++) {
    moved = false;
    status = try_sides(&l, off[round], &moved, error);
  }
  if (status == CAROM_OK && open) status = try_sliding(&l, error);
  if (status == CAROM_OK && open) status = look_around(m, &l.all, error);
  looking_free(&l);
  return status;
}
