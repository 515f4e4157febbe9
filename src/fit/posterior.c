#include "fit/posterior.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/chains.h"
#include "fit/draws.h"
#include "fit/population.h"

typedef struct sampling {
  chains c;
  double *strict; /* [n] 1: no state takes another side of an impact than that which it is on */
  double *floor;  /* [n] cost at the minimum of the search, where they may */
  double *mean;   /* [p] of the unknowns of all members */
  double *kept;   /* [p] */
  double *drawn;  /* [size][2 D] first states of a population, */
  double *best;   /* [size][2 D] and of the best one of several */
  double *memory;
} sampling;

static void sampling_free(sampling *s) {
  s->c.sh->strict = NULL;
  chains_free(&s->c);
  free(s->memory);
}

/* `there` is false if there is no curvature to sample by; sampling_free is due in any case. */
static carom_status sampling_make(sampling *s, minimiser *m, bool *there, carom_error *error) {
  *s = (sampling){0};
  carom_status status = chains_make(&s->c, m, there, error);
  const size_t n = (size_t)s->c.n, p = (size_t)s->c.p,
               states = (size_t)s->c.size * (size_t)s->c.row;
  if (status != CAROM_OK) return status;
  double *at = s->memory = size_allocate(2 * n + 2 * p + 2 * states, sizeof(double));
  if (at == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a sample");
  s->strict = at, at += n;
  s->floor = at, at += n;
  s->mean = at, at += p;
  s->kept = at, at += p;
  s->drawn = at, at += states;
  s->best = at;
  memcpy(s->mean, m->q, sizeof(double) * p);
  memcpy(s->floor, m->sh->piece_cost, sizeof(double) * n);
  for (size_t i = 0; i < n; i++) s->strict[i] = 1;
  return CAROM_OK;
}

/* ---- first states ---------------------------------------------------------------------------- */

/* How much more a piece costs than the half of its freedoms which a sample is above the minimum. */
static double surplus(const sampling *s, int i, double cost) {
  return cost - s->floor[i] - 0.5 * s->c.f;
}

// a state is on the wrong side of an impact, or impacts come in another order
static bool is_stuck(const sampling *s, int i, double cost) {
  return !(surplus(s, i, cost) < 15 + 0.5 * s->c.f);
}

static double mean_cost(const sampling *s, int i) {
  double mean = 0;
  for (int k = 0; k < s->c.size; k++) mean += *chains_cost(&s->c, k, i) / s->c.size;
  return mean;
}

/* A population of piece i with the unknowns at s->mean, to s->best: the first that is good, or the
 * best of a few. */
static carom_status draw_piece(sampling *s, int i, int round, double *cost, carom_error *error) {
  static const double first[] = {0.002, 0.005, 0.002, 0.01}; // strictness while states come in
  enum { TRIALS = sizeof first / sizeof first[0], DRAWN = 8 /* random numbers of its own */ };
  const double GOOD = 12, HOPELESS = 100; // of the surplus
  minimiser *m = s->c.m;
  const size_t bytes = sizeof(double) * (size_t)s->c.p;
  carom_status status = CAROM_OK;
  *cost = INFINITY;
  memcpy(s->kept, m->q, bytes);
  memcpy(m->q, s->mean, bytes);
  for (int k = 0; k < TRIALS && status == CAROM_OK && surplus(s, i, *cost) > GOOD; k++) {
    double mean;
    status = minimise_go_on(m, error);
    if (status == CAROM_OK)
      status =
          population_draw(m, i, DRAWN + round * TRIALS + k, first[k],
                          s->floor[i] + 0.5 * s->c.f + HOPELESS, s->c.size, s->drawn, &mean, error);
    if (status != CAROM_OK || !(mean < *cost)) continue;
    *cost = mean;
    double *drawn = s->drawn;
    s->drawn = s->best;
    s->best = drawn;
  }
  memcpy(m->q, s->kept, bytes);
  return status;
}

/* Members take what was drawn of piece i where that costs less. */
static carom_status take_drawn(sampling *s, int i, carom_error *error) {
  carom_status status = CAROM_OK;
  for (int k = 0; k < s->c.size && status == CAROM_OK; k++)
    status = chains_offer(&s->c, k, i, s->mean, s->best + (size_t)k * (size_t)s->c.row, error);
  return status;
}

/* First states of pieces that are stuck, with the unknowns at their mean. */
static carom_status draw_stuck(sampling *s, int round, bool *any, carom_error *error) {
  carom_status status = CAROM_OK;
  *any = false;
  for (int i = 0; i < s->c.n && status == CAROM_OK; i++) {
    double cost;
    if (!is_stuck(s, i, mean_cost(s, i))) continue;
    *any = true;
    status = draw_piece(s, i, round, &cost, error);
    if (status == CAROM_OK && isfinite(cost)) status = take_drawn(s, i, error);
  }
  return status;
}

static void set_mean(sampling *s) {
  memset(s->mean, 0, sizeof(double) * (size_t)s->c.p);
  for (int k = 0; k < s->c.size; k++)
    for (int j = 0; j < s->c.p; j++) s->mean[j] += s->c.q[k * s->c.p + j] / s->c.size;
}

// what members cost on average
static double energy_of(const sampling *s) {
  double energy = 0;
  for (int k = 0; k < s->c.size; k++) energy += s->c.prior[k] / s->c.size;
  for (int i = 0; i < s->c.n; i++) energy += mean_cost(s, i);
  return energy;
}

static int count_stuck(const sampling *s) {
  int count = 0;
  for (int i = 0; i < s->c.n; i++) count += is_stuck(s, i, mean_cost(s, i));
  return count;
}

/* Members that have settled; pieces that are stuck are drawn anew with the unknowns that the others
 * have led to. Where most are, that leads nowhere: the scene does not have its impacts where they
 * were measured, and `there` is false. */
static carom_status settle(sampling *s, int rounds, bool *there, carom_error *error) {
  enum { SWEEPS = 80 };
  bool any = true;
  carom_status status = CAROM_OK;
  *there = true;
  for (int round = 0; round < rounds && any && *there && status == CAROM_OK; round++) {
    status = draw_stuck(s, round, &any, error);
    *there = 2 * count_stuck(s) <= s->c.n;
    if (status == CAROM_OK && any && *there) status = chains_warm_up(&s->c, SWEEPS, error);
    set_mean(s);
  }
  return status;
}

/* ---- the sample ------------------------------------------------------------------------------ */

/* Sums over one part of a sample, about the minimum. */
typedef struct moments {
  int count;
  double energy;
  double *sum, *square; /* [p], [p][p] */
} moments;

/* The best of all members so far. */
static void keep_best(const sampling *s, posterior *found) {
  const size_t p = (size_t)s->c.p, states = (size_t)s->c.n * (size_t)s->c.row;
  for (int k = 0; k < s->c.size; k++) {
    double cost = s->c.prior[k];
    for (int i = 0; i < s->c.n; i++) cost += *chains_cost(&s->c, k, i);
    if (!(cost < found->least)) continue;
    found->least = cost;
    memcpy(found->best_q, s->c.q + (size_t)k * p, sizeof(double) * p);
    memcpy(found->best_starts, chains_state(&s->c, k, 0), sizeof(double) * states);
  }
}

static carom_status gather(sampling *s, moments *of, posterior *found, carom_error *error) {
  enum { SWEEPS = 60 };
  const int p = s->c.p;
  carom_status status = CAROM_OK;
  of->count = 0;
  of->energy = 0;
  memset(of->sum, 0, sizeof(double) * (size_t)(p + p * p));
  for (int k = 0; k < SWEEPS && status == CAROM_OK; k++) {
    status = chains_sweep(&s->c, error);
    for (int member = 0; member < s->c.size; member++) {
      for (int j = 0; j < p; j++) s->c.dq[j] = s->c.q[member * p + j] - s->c.m->q[j];
      for (int i = 0; i < p; i++) {
        of->sum[i] += s->c.dq[i];
        for (int j = 0; j < p; j++) of->square[i * p + j] += s->c.dq[i] * s->c.dq[j];
      }
    }
    of->count += s->c.size;
    of->energy += energy_of(s) / SWEEPS;
    keep_best(s, found);
  }
  return status;
}

static double variance_of(const moments *of, int p, int i) {
  const double mean = of->sum[i] / of->count;
  return of->square[i * p + i] / of->count - mean * mean;
}

/* Mean and covariance of two parts; by how far their means are apart is what the sample does not
 * know, so it is added. Do both parts agree? */
static bool conclude(const sampling *s, const moments *a, const moments *b, posterior *found) {
  const double APART = 0.4, WIDER = 1.5; // deviations, variances
  const int p = s->c.p;
  const double count = a->count + b->count;
  bool agree = true;
  for (int i = 0; i < p; i++) {
    const double mean = (a->sum[i] + b->sum[i]) / count;
    for (int j = 0; j < p; j++)
      found->covariance[i * p + j] = (a->square[i * p + j] + b->square[i * p + j]) / count -
                                     mean * (a->sum[j] + b->sum[j]) / count;
  }
  for (int i = 0; i < p; i++) {
    double *variance = &found->covariance[i * p + i];
    const double apart = a->sum[i] / a->count - b->sum[i] / b->count;
    const bool at_border = s->c.m->q[i] <= s->c.m->low[i] || s->c.m->q[i] >= s->c.m->high[i];
    const double wider = variance_of(b, p, i) / variance_of(a, p, i);
    agree =
        agree && apart * apart < APART * APART * *variance && wider < WIDER && wider * WIDER > 1;
    *variance += 0.25 * apart * apart;
    found->mean[i] = s->c.m->q[i] + (at_border ? 0 : (a->sum[i] + b->sum[i]) / count);
  }
  found->count = (int)count;
  found->energy = 0.5 * (a->energy + b->energy);
  return agree;
}

/* Parts of a sample until the last two agree. */
static carom_status take_sample(sampling *s, posterior *found, carom_error *error) {
  enum { PARTS = 5 };
  const size_t p = (size_t)s->c.p, each = p + p * p;
  double *memory = size_allocate(2 * each, sizeof(double));
  if (memory == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a sample");
  moments parts[2] = {{.sum = memory, .square = memory + p},
                      {.sum = memory + each, .square = memory + each + p}};
  carom_status status = CAROM_OK;
  for (int k = 0; k < PARTS && status == CAROM_OK; k++) {
    status = gather(s, &parts[k % 2], found, error);
    if (k > 0 && status == CAROM_OK && conclude(s, &parts[0], &parts[1], found)) break;
  }
  free(memory);
  return status;
}

static carom_status run(sampling *s, const posterior_request *request, posterior *found,
                        carom_error *error) {
  bool there;
  s->c.sh->strict = s->strict;
  carom_status status = settle(s, request->rounds, &there, error);
  if (status != CAROM_OK || !there) return status;
  found->stuck = count_stuck(s) > 0;
  memcpy(found->mean, s->mean, sizeof(double) * (size_t)s->c.p);
  return found->stuck || !(energy_of(s) < request->most) ? CAROM_OK : take_sample(s, found, error);
}

carom_status posterior_find(minimiser *m, const posterior_request *request, posterior *found,
                            carom_error *error) {
  const shooting *sh = m->sh;
  const size_t p = (size_t)sh->p;
  *found = (posterior){0};
  if (sh->p == 0 || !sh->free_states || sh->join > 0) return CAROM_OK;
  carom_status status = draws_roughness(m, &found->roughness, &found->rough, error);
  found->rough = found->rough || request->always;
  if (status != CAROM_OK || !found->rough || sh->piece_count > POPULATION_PIECES ||
      sh->f > POPULATION_FREEDOMS)
    return status;
  const size_t states = (size_t)sh->piece_count * 2 * (size_t)sh->D;
  found->mean = size_allocate(2 * p + p * p + states, sizeof(double));
  if (found->mean == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a sample");
  found->covariance = found->mean + p;
  found->best_q = found->covariance + p * p;
  found->best_starts = found->best_q + p;
  found->least = INFINITY;
  found->p = sh->p;
  sampling s;
  bool there = false;
  status = sampling_make(&s, m, &there, error);
  if (status == CAROM_OK && there) status = run(&s, request, found, error);
  sampling_free(&s);
  return status;
}

void posterior_join(posterior *into, double weight, const posterior *other, double more) {
  const double MENTIONED = 0.05;
  const int p = into->p;
  const double a = weight / (weight + more), b = more / (weight + more);
  for (int i = 0; i < p; i++)
    for (int j = 0; j < p; j++)
      into->covariance[i * p + j] =
          a * into->covariance[i * p + j] + b * other->covariance[i * p + j] +
          a * b * (into->mean[i] - other->mean[i]) * (into->mean[j] - other->mean[j]);
  for (int i = 0; i < p; i++) into->mean[i] = a * into->mean[i] + b * other->mean[i];
  into->count += other->count;
  into->others += b > MENTIONED;
}

void posterior_free(posterior *found) {
  free(found->mean);
  *found = (posterior){0};
}
