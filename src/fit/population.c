#include "fit/population.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/size.h"
#include "fit/state_descent.h"

enum { COPIES = 128 /* of a piece that are computed at once */ };

typedef struct members {
  double *states; /* [most][2 D] */
  double *cost;   /* [most] up to the horizon, */
  double *before; /* [most] and up to the one before */
  double *gain;   /* [most] by taking other sides of impacts */
} members;

typedef struct population {
  minimiser *m;        /* the search that it is part of */
  shooting copies;     /* of one piece */
  int runs[2][COPIES]; /* of copies: their first states and counts */
  int list[COPIES];    /* 0, 1, ... */
  state_descent d;     /* of copies */
  int most, least;     /* members at the first horizon, and at long ones */
  int size;            /* members */
  members now, next;   /* where they are, where they may go */
  int *parent;         /* [most] */
  double *limit;       /* [most] of what a move may cost, to be taken */
  double strict[COPIES];
  double *axes;  /* [f][f] principal axes, as long as a deviation, of the best member */
  double *B, *L; /* [f][2 D] tangent space */
  double *memory;
  rng random;
} population;

static carom_status lay_out(population *p, carom_error *error) {
  const size_t row = 2 * (size_t)p->copies.D, f = (size_t)p->copies.f, most = (size_t)p->most;
  double *at = p->memory =
      size_allocate(2 * most * (row + 3) + most + f * f + 2 * f * row, sizeof(double));
  p->parent = size_allocate(most, sizeof(int));
  if (p->memory == NULL || p->parent == NULL || !state_descent_make(&p->d, &p->copies, p->m->q))
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a population of first states");
  members *both[] = {&p->now, &p->next};
  for (int k = 0; k < 2; k++) {
    both[k]->states = at, at += most * row;
    both[k]->cost = at, at += most;
    both[k]->before = at, at += most;
    both[k]->gain = at, at += most;
  }
  p->limit = at, at += most;
  p->axes = at, at += f * f;
  p->B = at, at += f * row;
  p->L = at;
  return CAROM_OK;
}

/* population_free is due in any case. */
static carom_status population_make(population *p, minimiser *m, carom_error *error) {
  enum { LEAST = 32 };
  const shooting *sh = m->sh;
  *p = (population){.m = m, .most = 10 * sh->f, .least = 5 * sh->f / 2};
  if (p->least < LEAST) p->least = LEAST;
  if (p->most < p->least) p->most = p->least;
  for (int k = 0; k < COPIES; k++) {
    p->runs[0][k] = 0;
    p->runs[1][k] = 1;
    p->list[k] = k;
  }
  shooting *c = &p->copies;
  carom_status status = shooting_init(c, sh->system, sh->unknowns, &sh->step, sh->data, sh->clean,
                                      COPIES, p->runs[0], p->runs[1], 1, error);
  if (status != CAROM_OK) return status;
  memcpy(c->noise, sh->noise, sizeof c->noise);
  memcpy(c->measured, sh->measured, sizeof c->measured);
  c->huber = sh->huber;
  c->times = sh->times;
  c->free_states = true;
  return lay_out(p, error);
}

static void population_free(population *p) {
  state_descent_free(&p->d);
  shooting_free(&p->copies);
  free(p->memory);
  free(p->parent);
}

/* ---- members --------------------------------------------------------------------------------- */

static double *state_of(const population *p, const members *of, int k) {
  return state_descent_state(&p->d, of->states, k);
}

static void copy_member(const population *p, members *to, int k, const members *from, int i) {
  memcpy(state_of(p, to, k), state_of(p, from, i), sizeof(double) * 2 * (size_t)p->copies.D);
  to->cost[k] = from->cost[i];
  to->before[k] = from->before[i];
  to->gain[k] = from->gain[i];
}

/* Costs of all members; of those above a ceiling [size], if there is one, infinite. */
static carom_status evaluate(population *p, members *of, const double *ceiling,
                             carom_error *error) {
  carom_status status = CAROM_OK;
  for (int at = 0; at < p->size && status == CAROM_OK; at += COPIES) {
    const int count = p->size - at < COPIES ? p->size - at : COPIES;
    bool there;
    status = shooting_try(&p->copies, p->d.q, state_of(p, of, at), p->list, count,
                          ceiling != NULL ? ceiling + at : NULL, &there, error);
    for (int k = 0; k < count; k++) {
      of->cost[at + k] = there ? p->copies.piece_cost[k] : INFINITY;
      of->before[at + k] = p->copies.mark_cost[k];
      of->gain[at + k] = p->copies.side_gain[k];
    }
  }
  return status;
}

static int best_of(const population *p) {
  int best = 0;
  for (int k = 1; k < p->size; k++)
    if (p->now.cost[k] < p->now.cost[best]) best = k;
  return best;
}

// what the next states cost a member
static double rise_of(const members *of, int k) { return of->cost[k] - of->before[k]; }

/* What members are weighed by: all states, the next ones alone, what they gain by taking other
 * sides. */
typedef enum weighed { BY_COST, BY_RISE, BY_GAIN } weighed;

/* Weight of each member for a degree `by` more of it, to next.cost; returns how many count. */
static double weigh(population *p, weighed what, double by) {
  double least = INFINITY, sum = 0, square = 0, *weight = p->next.cost;
  for (int k = 0; k < p->size; k++) {
    weight[k] = what == BY_COST   ? p->now.cost[k]
                : what == BY_RISE ? rise_of(&p->now, k)
                                  : p->now.gain[k];
    least = fmin(least, weight[k]);
  }
  for (int k = 0; k < p->size; k++) {
    weight[k] = exp(-by * (weight[k] - least));
    sum += weight[k];
    square += weight[k] * weight[k];
  }
  for (int k = 0; k < p->size; k++) weight[k] /= sum;
  return sum * sum / square;
}

/* `size` members, children of the present ones by their weights, in even steps. */
static void resample(population *p, int size) {
  double at = 0;
  const double first = rng_uniform(&p->random, 0, 1);
  int count = 0;
  for (int k = 0; k < p->size; k++) {
    at += p->next.cost[k] * size;
    while (count < size && first + count < at) p->parent[count++] = k;
  }
  while (count < size) p->parent[count++] = best_of(p); // of rounding
  for (int k = 0; k < size; k++) copy_member(p, &p->next, k, &p->now, p->parent[k]);
  p->size = size;
  const members children = p->next;
  p->next = p->now;
  p->now = children;
}

/* ---- moves ----------------------------------------------------------------------------------- */

// d.z normal with the covariance that the axes tell, `size` deviations wide
static void draw_by_axes(population *p, double size) {
  const int f = p->copies.f;
  double *z = p->d.z;
  memset(z, 0, sizeof(double) * (size_t)f);
  for (int i = 0; i < f; i++) {
    const double by = size * rng_normal(&p->random);
    for (int j = 0; j < f; j++) z[j] += by * p->axes[i * f + j];
  }
}

// d.z from member k along the difference of two others
static void draw_by_others(population *p, int k) {
  const int f = p->copies.f, row = 2 * p->copies.D;
  const double *a = state_of(p, &p->now, rng_below(&p->random, p->size)),
               *b = state_of(p, &p->now, rng_below(&p->random, p->size)),
               by = 2.4 / sqrt(2 * f) * rng_uniform(&p->random, 0.3, 1.5);
  double *z = p->d.z;
  tangent_at(&p->copies.tangent, state_of(p, &p->now, k), p->B, p->L);
  for (int i = 0; i < f; i++) {
    z[i] = 0;
    for (int j = 0; j < row; j++) z[i] += by * p->L[i * row + j] * (a[j] - b[j]);
  }
}

// to = from moved by d.z, or from where it cannot be
static void move(population *p, const double *from, double *to) {
  const size_t bytes = sizeof(double) * 2 * (size_t)p->copies.D;
  memcpy(to, from, bytes);
  if (!tangent_move(&p->copies.tangent, to, p->d.z)) memcpy(to, from, bytes);
}

/* One move of each member, by Metropolis' rule for a power of the likelihood; the next states count
 * by a degree. How much worse it may be is drawn first, so that most of what is refused need not be
 * followed to its end. */
static carom_status sweep(population *p, double degree, double power, carom_error *error) {
  static const double sizes[] = {0.15, 0.4, 0.8};
  enum { SIZES = sizeof sizes / sizeof sizes[0] };
  for (int k = 0; k < p->size; k++) {
    if (rng_below(&p->random, 2) == 0)
      draw_by_others(p, k);
    else
      draw_by_axes(p, sizes[rng_below(&p->random, SIZES)] / sqrt(power));
    move(p, state_of(p, &p->now, k), state_of(p, &p->next, k));
    p->limit[k] = p->now.before[k] + degree * rise_of(&p->now, k) -
                  log(1 - rng_uniform(&p->random, 0, 1)) / power;
  }
  p->copies.degree = degree;
  carom_status status = evaluate(p, &p->next, p->limit, error);
  for (int k = 0; k < p->size && status == CAROM_OK; k++)
    if (p->next.before[k] + degree * rise_of(&p->next, k) <= p->limit[k])
      copy_member(p, &p->now, k, &p->next, k);
  return status;
}

static carom_status set_axes(population *p, carom_error *error) {
  const size_t f = (size_t)p->copies.f;
  bool there;
  carom_status status = state_descent_evaluate(&p->d, state_of(p, &p->now, best_of(p)), p->list, 1,
                                               true, &there, error);
  if (status == CAROM_OK && there)
    memcpy(p->axes, state_descent_axes(&p->d, 0), sizeof(double) * f * f);
  return status;
}

/* ---- horizons -------------------------------------------------------------------------------- */

/* Members of the first horizon, about its minimum. */
static carom_status begin(population *p, carom_error *error) {
  enum { STEPS = 4 };
  state_descent *d = &p->d;
  shooting_measured_starts(&p->copies, p->m->q, d->starts);
  d->pieces[0] = 0;
  d->count = 1;
  p->copies.mark = -1;
  carom_status status = state_descent_run(d, STEPS, error);
  memcpy(p->now.states, d->starts, sizeof(double) * 2 * (size_t)p->copies.D);
  p->size = 1;
  if (status == CAROM_OK) status = set_axes(p, error);
  p->size = p->most;
  for (int k = 0; k < p->size; k++) {
    draw_by_axes(p, 1);
    move(p, d->starts, state_of(p, &p->now, k));
  }
  return status;
}

/* By how much the next states cost every member more than noise leaves of them. */
static double surplus(const population *p) {
  const double usual = state_descent_usual_cost(&p->copies, 0, 0);
  double least = INFINITY;
  for (int k = 0; k < p->size; k++) least = fmin(least, rise_of(&p->now, k));
  return least - usual * (p->copies.horizon - p->copies.mark) / p->copies.horizon;
}

/* The population of the present horizon, from that of the one before. `there` is false if no member
 * has a motion. Each degree is so large that enough members count, and that none would have to bear
 * much which another order of impacts may explain. */
static carom_status grow(population *p, bool *there, carom_error *error) {
  enum { SWEEPS = 6, DEGREES = 12 };
  const double COUNT = 0.3, CALM = 0.5; // share of the members that count
  const double MUCH = 20;               // of the cost
  const int horizon = p->copies.horizon, wanted = 4 * p->most / horizon,
            size = wanted > p->most    ? p->most
                   : wanted < p->least ? p->least
                                       : wanted;
  double degree = 0;
  carom_status status = evaluate(p, &p->now, NULL, error);
  *there = isfinite(p->now.cost[best_of(p)]);
  if (status == CAROM_OK && *there) status = set_axes(p, error);
  for (int k = 1; degree < 1 && status == CAROM_OK && *there; k++) {
    double by = 1 - degree, share = weigh(p, BY_RISE, by) / p->size;
    const bool calm = k == 1 && share > CALM;
    const double more = surplus(p);
    while (k < DEGREES && (share < COUNT || by * more > MUCH) && by > 1e-4) {
      by *= 0.7;
      share = weigh(p, BY_RISE, by) / p->size;
    }
    degree = by == 1 - degree ? 1 : degree + by;
    resample(p, degree < 1 ? p->size : size);
    for (int s = 0; s < (calm ? 1 : SWEEPS) && status == CAROM_OK; s++)
      status = sweep(p, degree, 1, error);
  }
  return status;
}

/* A sample of the likelihood lies above the floors of its valleys by half of its freedoms, and much
 * of what it sees is wide rather than deep: descents from there end on the next edge. So it becomes
 * one of ever higher powers of the likelihood. */
static carom_status cool(population *p, carom_error *error) {
  enum { SWEEPS = 5 };
  const double BY = 1.6, COLD = 20;
  carom_status status = CAROM_OK;
  for (double power = BY; power < BY * COLD && status == CAROM_OK; power *= BY) {
    weigh(p, BY_COST, power - power / BY);
    resample(p, p->size);
    status = set_axes(p, error);
    for (int s = 0; s < SWEEPS && status == CAROM_OK; s++) status = sweep(p, 1, power, error);
  }
  return status;
}

static void set_strict(population *p, double strict) {
  for (int k = 0; k < COPIES; k++) p->strict[k] = strict;
  p->copies.strict = p->strict;
}

/* States that have taken another side of an impact pay for a part of what they gain by that, and
 * for all of it in the end, or until no member costs less than `most`. */
static carom_status harden(population *p, double most, carom_error *error) {
  enum { SWEEPS = 3 };
  const double COUNT = 0.5, FACTOR = 1.2, LEAST = 0.05;
  carom_status status = CAROM_OK;
  while (p->strict[0] < 1 && p->now.cost[best_of(p)] < most && status == CAROM_OK) {
    double by = fmin(1 - p->strict[0], (FACTOR - 1) * p->strict[0]);
    while (weigh(p, BY_GAIN, by) < COUNT * p->size && by > LEAST * p->strict[0]) by *= 0.7;
    resample(p, p->size);
    set_strict(p, p->strict[0] + by);
    for (int k = 0; k < p->size; k++) p->now.cost[k] += by * p->now.gain[k];
    status = set_axes(p, error);
    for (int s = 0; s < SWEEPS && status == CAROM_OK; s++) status = sweep(p, 1, 1, error);
  }
  return status;
}

/* The best members descend; the first state that costs least. */
static carom_status finish(population *p, double *cost, const double **state, carom_error *error) {
  enum { FINALISTS = 4, STEPS = 15 };
  state_descent *d = &p->d;
  int best = 0;
  for (d->count = 0; d->count < FINALISTS; d->count++) {
    const int k = best_of(p);
    const double least = p->now.cost[k];
    if (isinf(least)) break;
    memcpy(state_descent_state(d, d->starts, d->count), state_of(p, &p->now, k),
           sizeof(double) * 2 * (size_t)p->copies.D);
    d->pieces[d->count] = d->count;
    for (int i = 0; i < p->size; i++) // with those that have not moved from it
      if (p->now.cost[i] == least) p->now.cost[i] = INFINITY;
  }
  for (int k = 0; k < d->count; k++) d->cost[k] = INFINITY;
  carom_status status = state_descent_run(d, STEPS, error);
  for (int k = 1; k < d->count; k++)
    if (d->cost[k] < d->cost[best]) best = k;
  *cost = d->count > 0 ? d->cost[best] : INFINITY;
  *state = state_descent_state(d, d->starts, best);
  return status;
}

// states that tell a whole first state: one with velocities, else three
static int first_horizon(const shooting *sh) {
  for (int k = 0; k < sh->measure.count; k++)
    if (!sh->measured[sh->measure.channel[k]]) return 3;
  return 1;
}

/* Members of one piece over all of its states; `there` is false if none has a motion, or if its
 * first horizon is all of it: then no next states leave orders open. */
static carom_status gather(population *p, int index, int round, bool *there, carom_error *error) {
  enum { SLOW = 5, FAST = 10 }; // states that come one by one, by two, then by three
  minimiser *m = p->m;
  shooting *c = &p->copies;
  const piece *of = &m->sh->pieces[index];
  const int most = of->count < m->sh->horizon ? of->count : m->sh->horizon;
  for (int k = 0; k < COPIES; k++) {
    c->pieces[k].first = of->first;
    c->pieces[k].count = of->count;
    c->pieces[k].last = of->last;
  }
  rng_seed(&p->random, 31 + (uint64_t)round, (uint64_t)index);
  c->horizon = first_horizon(m->sh);
  *there = c->horizon < most;
  if (!*there) return CAROM_OK;
  carom_status status = begin(p, error);
  while (c->horizon < most && status == CAROM_OK && *there) {
    const int next = c->horizon + (c->horizon < SLOW ? 1 : c->horizon < FAST ? 2 : 3);
    c->mark = c->horizon;
    c->horizon = next < most ? next : most;
    status = grow(p, there, error);
  }
  return status;
}

/* The first state of one piece. */
static carom_status find(population *p, int index, int round, bool *moved, carom_error *error) {
  minimiser *m = p->m;
  const size_t row = 2 * (size_t)p->copies.D;
  double cost = INFINITY;
  const double *state = NULL;
  bool there;
  carom_status status = gather(p, index, round, &there, error);
  if (status == CAROM_OK && there) status = cool(p, error);
  if (status == CAROM_OK && there) status = finish(p, &cost, &state, error);
  if (status != CAROM_OK || !(cost < m->totals[index] - m->gain)) return status;
  memcpy(m->starts + (size_t)index * row, state, sizeof(double) * row);
  *moved = true;
  return CAROM_OK;
}

carom_status population_draw(minimiser *m, int index, int round, double first, double most,
                             int count, double *states, double *cost, carom_error *error) {
  population p;
  const size_t row = 2 * (size_t)m->sh->D;
  bool there = false;
  *cost = INFINITY;
  carom_status status = population_make(&p, m, error);
  set_strict(&p, first);
  if (status == CAROM_OK) status = gather(&p, index, round, &there, error);
  if (status == CAROM_OK && there) status = harden(&p, most, error);
  if (status == CAROM_OK && there && p.strict[0] == 1) *cost = 0;
  for (int k = 0; k < p.size && isfinite(*cost); k++) *cost += p.now.cost[k] / p.size;
  for (int k = 0; k < count && isfinite(*cost); k++)
    memcpy(states + (size_t)k * row, state_of(&p, &p.now, k % p.size), sizeof(double) * row);
  population_free(&p);
  return status;
}

/* ---- the search ------------------------------------------------------------------------------ */

// the pieces in question to m->subset, the worst first
static int list_pieces(minimiser *m, double deviations) {
  const shooting *sh = m->sh;
  int count = 0;
  for (int i = 0; i < sh->piece_count; i++) {
    const double excess = state_descent_excess(sh, i, m->totals[i]);
    if (!(excess > deviations)) continue;
    int at = count < POPULATION_PIECES ? count++ : POPULATION_PIECES;
    while (at > 0 &&
           excess > state_descent_excess(sh, m->subset[at - 1], m->totals[m->subset[at - 1]])) {
      if (at < POPULATION_PIECES) m->subset[at] = m->subset[at - 1];
      at--;
    }
    if (at < POPULATION_PIECES) m->subset[at] = i;
  }
  return count;
}

carom_status population_search(minimiser *m, double deviations, int round, bool *moved,
                               carom_error *error) {
  shooting *sh = m->sh;
  double cost;
  *moved = false;
  if (!sh->free_states || sh->join > 0 || sh->f > POPULATION_FREEDOMS) return CAROM_OK;
  carom_status status = shooting_evaluate(sh, m->q, m->starts, NULL, 0, false, &cost, error);
  if (status != CAROM_OK || isinf(cost)) return status;
  memcpy(m->totals, sh->piece_cost, sizeof(double) * (size_t)sh->piece_count);
  const int count = list_pieces(m, deviations);
  if (count == 0) return CAROM_OK;
  population p;
  status = population_make(&p, m, error);
  for (int k = 0; k < count && status == CAROM_OK; k++) {
    status = minimise_go_on(m, error);
    if (status == CAROM_OK) status = find(&p, m->subset[k], round, moved, error);
  }
  population_free(&p);
  m->populated = m->populated || *moved;
  return status;
}
