#include "fit/chains.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"

/* ---- making ---------------------------------------------------------------------------------- */

static bool lay_out(chains *s) {
  const size_t M = (size_t)s->size, n = (size_t)s->n, f = (size_t)s->f, p = (size_t)s->p,
               row = (size_t)s->row;
  double *at = s->memory = size_allocate(
      M * (p + n * row + n + 1) + p * n * f + (n + 1) * f * row + n * (row + 1) + f + 2 * p,
      sizeof(double));
  if (at == NULL || !gaussian_make(&s->shape, s->sh)) return false;
  s->q = at, at += M * p;
  s->states = at, at += M * n * row;
  s->cost = at, at += M * n;
  s->prior = at, at += M;
  s->follow = at, at += p * n * f;
  s->L = at, at += n * f * row;
  s->B = at, at += f * row;
  s->trial = at, at += n * row;
  s->limit = at, at += n;
  s->z = at, at += f;
  s->dq = at, at += p;
  s->trial_q = at;
  return true;
}

double *chains_state(const chains *s, int member, int i) {
  return s->states + ((size_t)member * (size_t)s->n + (size_t)i) * (size_t)s->row;
}

double *chains_cost(const chains *s, int member, int i) { return &s->cost[member * s->n + i]; }

/* All members at the minimum, with its curvature; `there` is false if it is not positive
 * definite. */
static carom_status begin(chains *s, bool *there, carom_error *error) {
  minimiser *m = s->m;
  const size_t n = (size_t)s->n, f = (size_t)s->f, p = (size_t)s->p, row = (size_t)s->row;
  double cost;
  carom_status status = shooting_evaluate(s->sh, m->q, m->starts, NULL, 0, true, &cost, error);
  *there = status == CAROM_OK && isfinite(cost) && gaussian_factor(&s->shape, m);
  if (!*there) return status;
  memset(s->dq, 0, sizeof(double) * p);
  normal_states(&m->normal, s->dq, m->dz); // at an edge the first states alone would still move
  for (size_t j = 0; j < p; j++) {
    memset(s->dq, 0, sizeof(double) * p);
    s->dq[j] = 1;
    normal_states(&m->normal, s->dq, s->follow + j * n * f);
    for (size_t k = 0; k < n * f; k++) s->follow[j * n * f + k] -= m->dz[k];
  }
  for (size_t i = 0; i < n; i++)
    tangent_at(&s->sh->tangent, m->starts + i * row, s->B, s->L + i * f * row);
  for (int k = 0; k < s->size; k++) {
    memcpy(s->q + (size_t)k * p, m->q, sizeof(double) * p);
    memcpy(chains_state(s, k, 0), m->starts, sizeof(double) * n * row);
    s->prior[k] = unknowns_prior(s->sh->unknowns, m->q);
    for (int i = 0; i < s->n; i++) *chains_cost(s, k, i) = INFINITY;
  }
  for (int w = 0; w < WAYS; w++) s->pace[w] = (pace){.scale = 1};
  rng_seed(&s->random, 77, 0);
  return CAROM_OK;
}

carom_status chains_make(chains *s, minimiser *m, bool *there, carom_error *error) {
  enum { LEAST = 32 };
  shooting *sh = m->sh;
  *s = (chains){.m = m,
                .sh = sh,
                .size = 5 * sh->f / 2 > LEAST ? 5 * sh->f / 2 : LEAST,
                .n = sh->piece_count,
                .f = sh->f,
                .p = sh->p,
                .row = 2 * sh->D};
  if (!lay_out(s)) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a sample");
  return begin(s, there, error);
}

void chains_free(chains *s) {
  gaussian_free(&s->shape);
  free(s->memory);
}

/* ---- moves ----------------------------------------------------------------------------------- */

// Metropolis: by how much a move may cost more
static double allowance(chains *s) { return -log(1 - rng_uniform(&s->random, 0, 1)); }

// a member that is neither of these two
static int another(chains *s, int one, int two) {
  int k;
  do k = rng_below(&s->random, s->size);
  while (k == one || k == two);
  return k;
}

// z [f] that first state i follows unknowns by
static void add_following(const chains *s, int i, const double *dq, double by, double *z) {
  for (int j = 0; j < s->p; j++) {
    const double *to = s->follow + ((size_t)j * (size_t)s->n + (size_t)i) * (size_t)s->f;
    for (int c = 0; c < s->f; c++) z[c] += by * dq[j] * to[c];
  }
}

// trial state i = that of `from`, moved by s->z
static bool move_state(chains *s, const double *from, int i) {
  double *to = s->trial + i * s->row;
  const size_t bytes = sizeof(double) * (size_t)s->row;
  memcpy(to, from, bytes);
  if (tangent_move(&s->sh->tangent, to, s->z)) return true;
  memcpy(to, from, bytes);
  return false;
}

static void take_piece(chains *s, int member, int i) {
  memcpy(chains_state(s, member, i), s->trial + i * s->row, sizeof(double) * (size_t)s->row);
  *chains_cost(s, member, i) = s->sh->piece_cost[i];
}

carom_status chains_offer(chains *s, int member, int i, const double *q, const double *state,
                          carom_error *error) {
  const double *own = s->q + member * s->p;
  bool there;
  for (int j = 0; j < s->p; j++) s->dq[j] = own[j] - q[j];
  memset(s->z, 0, sizeof(double) * (size_t)s->f);
  add_following(s, i, s->dq, 1, s->z);
  if (!move_state(s, state, i)) return CAROM_OK;
  s->limit[i] = *chains_cost(s, member, i);
  carom_status status = shooting_try(s->sh, own, s->trial, &i, 1, s->limit, &there, error);
  if (status == CAROM_OK && there && s->sh->piece_cost[i] < s->limit[i]) take_piece(s, member, i);
  return status;
}

/* s->z along the difference of two others, without what follows from that of their unknowns. */
static void draw_by_others(chains *s, int member, int i) {
  const int a = another(s, member, member), b = another(s, member, a), f = s->f, p = s->p;
  const double *x = chains_state(s, a, i), *y = chains_state(s, b, i), *L = s->L + i * f * s->row,
               by = s->pace[STATE_BY_OTHERS].scale * 2.4 / sqrt(2 * f) *
                    rng_uniform(&s->random, 0.3, 1.5);
  for (int j = 0; j < p; j++) s->dq[j] = s->q[a * p + j] - s->q[b * p + j];
  for (int c = 0; c < f; c++) {
    s->z[c] = 0;
    for (int j = 0; j < s->row; j++) s->z[c] += by * L[c * s->row + j] * (x[j] - y[j]);
  }
  add_following(s, i, s->dq, -by, s->z);
}

// a size for moves as the curvature tells
static double some_size(chains *s, way w) {
  static const double sizes[] = {0.15, 0.4, 0.8};
  return s->pace[w].scale * sizes[rng_below(&s->random, sizeof sizes / sizeof sizes[0])];
}

/* The first states of one member, each by itself. */
static carom_status move_states(chains *s, int member, carom_error *error) {
  way ways[POPULATION_PIECES];
  bool there;
  for (int i = 0; i < s->n; i++) {
    ways[i] = rng_below(&s->random, 2) == 0 ? STATE_BY_OTHERS : STATE_BY_CURVATURE;
    if (ways[i] == STATE_BY_OTHERS)
      draw_by_others(s, member, i);
    else
      gaussian_draw_state(&s->shape, &s->random, i, some_size(s, STATE_BY_CURVATURE), s->z);
    move_state(s, chains_state(s, member, i), i);
    s->limit[i] = *chains_cost(s, member, i) + allowance(s);
  }
  carom_status status =
      shooting_try(s->sh, s->q + member * s->p, s->trial, NULL, 0, s->limit, &there, error);
  for (int i = 0; i < s->n && status == CAROM_OK; i++) {
    const bool taken = there && s->sh->piece_cost[i] <= s->limit[i];
    s->pace[ways[i]].tried++;
    s->pace[ways[i]].taken += taken;
    if (taken) take_piece(s, member, i);
  }
  return status;
}

// trial_q = those of a member, moved; false where they cannot be
static bool draw_unknowns(chains *s, int member, way w) {
  const int p = s->p, a = another(s, member, member), b = another(s, member, a);
  const double *q = s->q + member * p;
  if (w == BY_CURVATURE) {
    gaussian_draw_unknowns(&s->shape, &s->random, some_size(s, w), s->dq);
  } else {
    const double by = s->pace[w].scale * 2.4 / sqrt(2 * p) * rng_uniform(&s->random, 0.2, 1.2);
    for (int j = 0; j < p; j++) s->dq[j] = by * (s->q[a * p + j] - s->q[b * p + j]);
  }
  bool within = true;
  for (int j = 0; j < p; j++) {
    s->trial_q[j] = q[j] + s->dq[j];
    within = within && s->trial_q[j] >= s->m->low[j] && s->trial_q[j] <= s->m->high[j];
  }
  return within;
}

/* The unknowns of one member; its first states follow. */
static carom_status move_unknowns(chains *s, int member, way w, carom_error *error) {
  const double MUCH = 12; // of the cost of one piece, which no others make up for
  const int p = s->p, n = s->n;
  double now = s->prior[member], then;
  bool there = draw_unknowns(s, member, w);
  s->pace[w].tried++;
  for (int i = 0; i < n && there; i++) {
    memset(s->z, 0, sizeof(double) * (size_t)s->f);
    add_following(s, i, s->dq, 1, s->z);
    there = move_state(s, chains_state(s, member, i), i);
    now += *chains_cost(s, member, i);
  }
  if (!there) return CAROM_OK;
  const double prior = then = unknowns_prior(s->sh->unknowns, s->trial_q), more = allowance(s);
  for (int i = 0; i < n; i++) s->limit[i] = *chains_cost(s, member, i) + more + MUCH;
  carom_status status = shooting_try(s->sh, s->trial_q, s->trial, NULL, 0, s->limit, &there, error);
  if (status != CAROM_OK || !there) return status;
  for (int i = 0; i < n; i++) then += s->sh->piece_cost[i];
  if (!(then <= now + more)) return CAROM_OK;
  s->pace[w].taken++;
  for (int i = 0; i < n; i++) take_piece(s, member, i);
  memcpy(s->q + member * p, s->trial_q, sizeof(double) * (size_t)p);
  s->prior[member] = prior;
  return CAROM_OK;
}

carom_status chains_sweep(chains *s, carom_error *error) {
  enum { MOVES = 2 };
  carom_status status = minimise_go_on(s->m, error);
  for (int k = 0; k < MOVES * s->size && status == CAROM_OK; k++) {
    const int member = k / MOVES;
    status = move_unknowns(s, member, BY_CURVATURE, error);
    if (status == CAROM_OK) status = move_unknowns(s, member, BY_OTHERS, error);
    if (status == CAROM_OK) status = move_states(s, member, error);
  }
  return status;
}

carom_status chains_warm_up(chains *s, int sweeps, carom_error *error) {
  carom_status status = CAROM_OK;
  for (int k = 0; k < sweeps && status == CAROM_OK; k++) {
    status = chains_sweep(s, error);
    for (int w = 0; w < WAYS; w++) {
      pace *of = &s->pace[w];
      of->scale *= exp(0.3 * ((double)of->taken / (of->tried + 1) - 0.25));
      of->scale = fmin(fmax(of->scale, 0.05), 2);
      of->tried = of->taken = 0;
    }
  }
  return status;
}
