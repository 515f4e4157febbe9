#include "fit/sample_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/search.h"

/* How often trajectories that are stuck are drawn anew: of the least cost, of other places. */
enum { ROUNDS = 3, FEW_ROUNDS = 2 };

/* ---- several places -------------------------------------------------------------------------- */

/* Deviations by which places are called different. */
static const double APART = 3;
/* By what differences of mean costs are divided, to be logarithms of weights; beyond this many of
 * them nothing counts. */
static const double PER_WEIGHT = 4, MOST_WEIGHTS = 5;
/* Differences of the search's cost beyond which no place is sampled. */
static const double WORSE = 25;

typedef struct sampled {
  const outcome *from; /* the place that was visited */
  outcome again;       /* where it was drawn from in the end, if `moved` */
  bool moved;
  posterior sample;
  double level; /* mean cost of its draws, with the logarithms of noise */
} sampled;

typedef struct several {
  carom_fit *fit;
  const bool *estimate; /* noise of channels */
  double *S;            /* [p][p] information about the unknowns at the first place */
  sampled *all;
  int count;
} several;

// squared deviations between two places of the unknowns
static double distance(const several *s, const double *a, const double *b) {
  const int p = s->fit->unknowns.count;
  double sum = 0;
  for (int i = 0; i < p; i++)
    for (int j = 0; j < p; j++) sum += (a[i] - b[i]) * s->S[i * p + j] * (a[j] - b[j]);
  return sum;
}

// has a sample begun there, or come there?
static bool is_known(const several *s, const double *q) {
  for (int k = 0; k < s->count; k++)
    if (distance(s, q, s->all[k].from->at.q) < APART * APART ||
        (s->all[k].sample.count > 0 && distance(s, q, s->all[k].sample.mean) < APART * APART))
      return true;
  return false;
}

static double least_level(const several *s) {
  double least = INFINITY;
  for (int k = 0; k < s->count; k++) least = fmin(least, s->all[k].level);
  return least;
}

/* A sample of where the fit stands, from a place of this noise; given up where its draws cost so
 * much more than others that it would not count. */
static carom_status draw_sample(several *s, const outcome *from, bool always, sampled *of,
                                carom_error *error) {
  const double logs = -from->likelihood - from->at.cost; // of noise
  const posterior_request request = {.always = always,
                                     .rounds = s->count == 0 ? ROUNDS : FEW_ROUNDS,
                                     .most = least_level(s) + PER_WEIGHT * MOST_WEIGHTS - logs};
  posterior_free(&of->sample);
  carom_status status = posterior_find(&s->fit->minimiser, &request, &of->sample, error);
  if (status == CAROM_NUMERICAL_FAILURE) status = error_clear(error); // no motion about it
  if (of->sample.count > 0) of->level = of->sample.energy + logs;
  return status;
}

/* A sample from one place. Where some of its impacts could not be put where they were measured,
 * that says of the draws, not of the place: whole pieces are found anew with the unknowns that the
 * others had led to, and it is drawn once more from there. */
static carom_status sample_place(several *s, const outcome *from, carom_error *error) {
  minimiser *m = &s->fit->minimiser;
  sampled *of = &s->all[s->count];
  *of = (sampled){.from = from, .level = INFINITY};
  outcome_restore(from, s->fit);
  carom_status status = draw_sample(s, from, s->count > 0, of, error);
  if (status == CAROM_OK && of->sample.stuck) {
    memcpy(m->q, of->sample.mean, sizeof(double) * (size_t)m->sh->p);
    status = place_make(&of->again.at, m)
                 ? search_whole(s->fit, s->estimate, 0, error)
                 : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a sample");
    if (status == CAROM_OK) status = outcome_keep(&of->again, s->fit, error);
    if (status == CAROM_OK) status = draw_sample(s, &of->again, true, of, error);
    if (status == CAROM_NUMERICAL_FAILURE) status = error_clear(error); // no motion there
    of->moved = of->sample.count > 0;
  }
  s->count++;
  return status;
}

/* The next place to sample, the most likely first; NULL if there is none. */
static const outcome *next_place(const several *s) {
  const visited *v = &s->fit->visited;
  const outcome *best = NULL;
  double most = -INFINITY;
  for (int k = 0; k < v->count; k++) most = fmax(most, v->all[k].likelihood);
  for (int k = 0; k < v->count; k++) {
    const outcome *o = &v->all[k];
    if (!(o->likelihood > most - WORSE) || is_known(s, o->at.q)) continue;
    if (best == NULL || o->likelihood > best->likelihood) best = o;
  }
  return best;
}

/* Rivals by the cost of the search are those of the chosen place: others were sampled. */
static void forget_rivals(const several *s, minimiser *m) {
  const size_t row = 1 + (size_t)m->sh->p;
  int kept = 0;
  for (int k = 0; k < m->rival_count; k++) {
    const double *rival = m->rivals + (size_t)k * row;
    if (distance(s, rival + 1, m->q) < APART * APART)
      memmove(m->rivals + (size_t)kept++ * row, rival, sizeof(double) * row);
  }
  m->rival_count = kept;
}

/* All samples to that of the place which counts most, where the fit goes. */
static void put_together(several *s) {
  carom_fit *fit = s->fit;
  const double least = least_level(s);
  int best = 0;
  for (int k = 1; k < s->count; k++)
    if (s->all[k].level < s->all[best].level) best = k;
  posterior *into = &s->all[best].sample;
  double weight = 1;
  for (int k = 0; k < s->count && isfinite(least); k++) {
    const double more = exp((least - s->all[k].level) / PER_WEIGHT);
    if (k == best || !(more > exp(-MOST_WEIGHTS))) continue;
    posterior_join(into, weight, &s->all[k].sample, more);
    weight += more;
  }
  outcome_restore(s->all[best].moved ? &s->all[best].again : s->all[best].from, fit);
  if (s->count > 1) forget_rivals(s, &fit->minimiser);
  fit->sample = *into;
  *into = (posterior){0};
}

/* The minimum beside the best draw of the sample, if that is lower: first states of the place may
 * have settled in other orders. */
static carom_status descend_from_best(carom_fit *fit, outcome *before, carom_error *error) {
  minimiser *m = &fit->minimiser;
  const size_t p = (size_t)m->sh->p, states = (size_t)m->sh->piece_count * 2 * (size_t)m->sh->D;
  if (fit->sample.count == 0) return CAROM_OK;
  carom_status status = outcome_keep(before, fit, error);
  memcpy(m->q, fit->sample.best_q, sizeof(double) * p);
  memcpy(m->starts, fit->sample.best_starts, sizeof(double) * states);
  if (status == CAROM_OK) status = minimise(m, error);
  if (status == CAROM_NUMERICAL_FAILURE) m->cost = INFINITY, status = error_clear(error);
  if (!(m->cost < before->at.cost)) outcome_restore(before, fit);
  return status;
}

/* The mean of what a sample leaves open by more than a natural unit is nobody's value: that of the
 * least cost stands for it. */
static void replace_open(carom_fit *fit) {
  const int p = fit->unknowns.count;
  for (int j = 0; j < p && fit->sample.count > 0; j++)
    if (fit->sample.covariance[j * p + j] > pow(fit->unknowns.items[j].natural, 2))
      fit->sample.mean[j] = fit->minimiser.q[j];
}

static void several_free(several *s) {
  for (int k = 0; k <= s->count && k <= MOST_VISITED && s->all != NULL; k++) {
    posterior_free(&s->all[k].sample);
    place_free(&s->all[k].again.at);
  }
  free(s->all);
  free(s->S);
}

/* Samples of the place where the fit stands and of others that were visited. */
static carom_status sample_places(carom_fit *fit, const bool *estimate, const outcome *here,
                                  carom_error *error) {
  const size_t p = (size_t)fit->unknowns.count;
  minimiser *m = &fit->minimiser;
  several s = {.fit = fit,
               .estimate = estimate,
               .S = size_allocate(p * p, sizeof(double)),
               .all = size_allocate_zero(MOST_VISITED + 1, sizeof(sampled))};
  carom_status status = s.S != NULL && s.all != NULL
                            ? CAROM_OK
                            : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a sample");
  if (status == CAROM_OK) {
    normal_reduce(&m->normal, m->q, m->starts, 0, false);
    memcpy(s.S, m->normal.S, sizeof(double) * p * p);
    status = sample_place(&s, here, error);
  }
  const outcome *next = NULL;
  while (status == CAROM_OK && s.all[0].sample.rough && (next = next_place(&s)) != NULL)
    status = sample_place(&s, next, error);
  if (status == CAROM_OK) put_together(&s);
  several_free(&s);
  return status;
}

carom_status sample_search(carom_fit *fit, const bool *estimate, carom_error *error) {
  outcome here = {0};
  posterior_free(&fit->sample);
  if (!fit->options.search || !fit->shooting.free_states) return CAROM_OK;
  carom_status status = place_make(&here.at, &fit->minimiser)
                            ? outcome_keep(&here, fit, error)
                            : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a search");
  if (status == CAROM_OK && !fit_misfits(fit)) { // else no likelihood worth sampling
    status = sample_places(fit, estimate, &here, error);
    if (status == CAROM_OK) status = descend_from_best(fit, &here, error);
    if (status == CAROM_OK) replace_open(fit);
  }
  place_free(&here.at);
  return status;
}
