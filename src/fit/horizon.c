#include "fit/horizon.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/cloud.h"

/* A round draws a cloud and moves to where it says. It takes FEW trajectories to an unknown, other
 * ones each time, as long as the cloud is wider than what more of them would tell; then three times
 * as many in each round, until all are in. It predicts FIRST_PART of the horizon at first and the
 * whole after GROWING rounds: chaos comes late in a trajectory. CALM_ROUNDS of all that brought
 * nothing end the search, or a round of all and the work of ROUNDS rounds of few with a cloud that
 * is no wider than it should be, or MOST_ROUNDS. */
enum { FEW = 4, GROWING = 4, CALM_ROUNDS = 3, ROUNDS = 12, MOST_ROUNDS = 20 };
static const double FIRST_PART = 0.4;

static int fewest(const cloud *c) {
  int all = c->fit->run_count;
  return FEW * c->p < all ? FEW * c->p : all;
}

static sight sight_of(const cloud *c, int round) {
  int all = c->fit->run_count, whole = c->fit->options.horizon, count = fewest(c);
  for (int k = GROWING; k < round && count < all; k++) count *= 3;
  double part = FIRST_PART + (1 - FIRST_PART) * round / GROWING;
  int horizon = part < 1 ? (int)(part * whole) : whole;
  return (sight){.count = 4 * count > 3 * all ? all : count, .horizon = horizon < 2 ? 2 : horizon};
}

/* Rounds, until they bring nothing or enough work is done. */
static carom_status search(cloud *c, rng *random, carom_error *error) {
  const double enough = (double)ROUNDS * fewest(c);
  double work = 0, before, after;
  bool known = false, seen_all = false;
  for (int round = 0, calm = 0; calm < CALM_ROUNDS && round < MOST_ROUNDS; round++) {
    if (work >= enough && seen_all && known && cloud_is_narrow(c)) break;
    const sight see = sight_of(c, round);
    const bool whole = see.count == c->fit->run_count && round >= GROWING;
    if (known) cloud_narrow(c);
    carom_status status = cloud_look(c, see, random, error);
    if (status == CAROM_OK) status = cloud_round(c, random, &before, &after, &known, error);
    if (status != CAROM_OK) return status;
    calm = whole && after > 0.995 * before ? calm + 1 : 0;
    seen_all = seen_all || whole;
    work += see.count;
  }
  return CAROM_OK;
}

/* Deviations, by as many trajectories as two rounds of few have. */
static carom_status find_deviations(cloud *c, rng *random, carom_error *error) {
  int all = c->fit->run_count, count = 2 * fewest(c);
  const sight see = {.count = count < all ? count : all, .horizon = c->fit->options.horizon};
  carom_status status = cloud_look(c, see, random, error);
  return status == CAROM_OK ? cloud_measure(c, random, error) : status;
}

/* ---- the result ------------------------------------------------------------------------------ */

static carom_status note_errors(cloud *c, carom_error *error) {
  const double first[2] = {c->usual[0], c->usual[1]};
  carom_status status = cloud_errors(c, error);
  if (status != CAROM_OK) return status;
  return verdict_note(
      &c->fit->verdict, false, error,
      "predictions over up to %d states from the first: distance %.4g (%.4g where the "
      "search began), angle %.3g degrees (%.3g), over the %d trajectories fitted; "
      "intervals are of the spread between trajectories",
      c->fit->options.horizon, c->usual[0], first[0], c->usual[1] * 57.29577951308232,
      first[1] * 57.29577951308232, c->forecast.count);
}

static carom_status fill_verdict(cloud *c, carom_error *error) {
  const double QUANTILE = 1.959963984540054;
  verdict *v = &c->fit->verdict;
  int p = c->p;
  v->estimates = size_allocate_zero((size_t)p, sizeof *v->estimates);
  v->correlation = size_allocate_zero((size_t)(p * p), sizeof(double));
  if (v->estimates == NULL || v->correlation == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the result");
  v->count = v->capacity = p;
  for (int j = 0; j < p; j++) {
    const unknown *u = &c->fit->unknowns.items[j];
    const minimiser *m = &c->fit->minimiser;
    carom_fit_estimate *e = &v->estimates[j];
    // what the last round still moved by is not known better than that
    double sd = hypot(cloud_deviation(c, j), c->q[j] - c->left[j]);
    *e = (carom_fit_estimate){
        .value = unknown_value(u, c->q[j]), .start = u->start, .scene = u->scene};
    snprintf(e->name, sizeof e->name, "%s", u->name);
    e->determined = sd < u->natural;
    e->at_border = c->q[j] <= m->low[j] || c->q[j] >= m->high[j];
    e->deviation = e->determined ? sd * unknown_slope(u, c->q[j]) : INFINITY;
    e->low = e->determined ? fmax(unknown_value(u, c->q[j] - QUANTILE * sd), u->low) : u->low;
    e->high = e->determined ? fmin(unknown_value(u, c->q[j] + QUANTILE * sd), u->high) : u->high;
    for (int k = 0; k < p; k++) {
      double size = sqrt(c->B[j * p + j] * c->B[k * p + k]);
      v->correlation[j * p + k] = size > 0 ? c->B[j * p + k] / size : j == k;
    }
    if (e->determined) continue;
    carom_status status = verdict_note(
        v, true, error, "%s is not determined: predictions do not depend on it", u->name);
    if (status != CAROM_OK) return status;
  }
  if (c->fit->run_count >= 2 * p) return CAROM_OK;
  return verdict_note(
      v, true, error,
      "%d trajectories are few for %d unknowns: intervals are too short, since they are of "
      "the spread between trajectories",
      c->fit->run_count, p);
}

/* ---- the whole ------------------------------------------------------------------------------- */

carom_status horizon_fit(carom_fit *fit, carom_error *error) {
  cloud c;
  rng random;
  rng_seed(&random, 11, 0);
  carom_status status = cloud_init(&c, fit)
                            ? search(&c, &random, error)
                            : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for predictions");
  if (status == CAROM_OK) status = note_errors(&c, error);
  if (status == CAROM_OK) status = find_deviations(&c, &random, error);
  if (status == CAROM_OK) status = fill_verdict(&c, error);
  if (c.q != NULL) memcpy(fit->minimiser.q, c.q, sizeof(double) * (size_t)c.p);
  cloud_free(&c);
  return status;
}
