#include "fit/draws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/gaussian.h"
#include "fit/place.h"

/* What is drawn about one minimum. */
typedef struct drawing {
  minimiser *m;
  rng random;
  place kept;
  gaussian shape;
  double *dq, *dz; /* [p], [piece_count][f] of one drawing */
  double *starts;  /* [piece_count][2 D] where it is */
  double *best;    /* [piece_count] least excess over the parabola, */
  double *best_dq; /* [piece_count][p] */
  double *best_dz; /* [piece_count][f] and where it was */
  double *cost;    /* [piece_count] at the minimum, */
  double *limit;   /* [piece_count] and below which a drawing is the best of a piece */
} drawing;

static bool drawing_make(drawing *d, minimiser *m, int round) {
  const shooting *sh = m->sh;
  size_t n = (size_t)sh->piece_count, f = (size_t)sh->f, p = (size_t)sh->p;
  *d = (drawing){
      .m = m,
      .dq = size_allocate(p + n * f + n * 2 * (size_t)sh->D + n * (3 + p + f), sizeof(double))};
  if (!place_make(&d->kept, m) || !gaussian_make(&d->shape, sh) || d->dq == NULL) return false;
  d->dz = d->dq + p;
  d->starts = d->dz + n * f;
  d->best = d->starts + n * 2 * (size_t)sh->D;
  d->best_dq = d->best + n;
  d->best_dz = d->best_dq + n * p;
  d->cost = d->best_dz + n * f;
  d->limit = d->cost + n;
  rng_seed(&d->random, 1, (uint64_t)round);
  return true;
}

static void drawing_free(drawing *d) {
  place_free(&d->kept);
  gaussian_free(&d->shape);
  free(d->dq);
}

/* Unknowns within their bounds, and first states that follow them, `size` deviations from there. */
static void draw(drawing *d, double size, double state_size, double *q) {
  minimiser *m = d->m;
  const int f = m->sh->f, p = m->sh->p;
  gaussian_draw_unknowns(&d->shape, &d->random, size, d->dq);
  for (int j = 0; j < p; j++) {
    q[j] = fmin(fmax(m->q[j] + d->dq[j], m->low[j]), m->high[j]);
    d->dq[j] = q[j] - m->q[j];
  }
  normal_states(&m->normal, d->dq, d->dz);
  double *z = m->dz;
  for (int i = 0; i < m->sh->piece_count && state_size > 0; i++) {
    gaussian_draw_state(&d->shape, &d->random, i, state_size, z);
    for (int k = 0; k < f; k++) d->dz[i * f + k] += z[k];
  }
}

// what the parabola of a piece says of its rise
static double expected(const drawing *d, int i) {
  const int f = d->m->sh->f, p = d->m->sh->p;
  const piece_normal *n = &d->m->sh->normals[i];
  const double *z = d->dz + (size_t)i * (size_t)f, *q = d->dq;
  double rise = 0;
  for (int a = 0; a < f; a++) {
    double slope = n->gs[a] + 0.5 * n->ss[a * f + a] * z[a];
    for (int b = 0; b < a; b++) slope += n->ss[a * f + b] * z[b];
    for (int b = 0; b < p; b++) slope += n->sq[a * p + b] * q[b];
    rise += slope * z[a];
  }
  for (int a = 0; a < p; a++) {
    double slope = n->gq[a];
    for (int b = 0; b < p; b++) slope += 0.5 * n->qq[a * p + b] * q[b];
    rise += slope * q[a];
  }
  return rise;
}

static bool move_starts(drawing *d, const double *dz, double *starts) {
  shooting *sh = d->m->sh;
  size_t row = 2 * (size_t)sh->D;
  memcpy(starts, d->m->starts, sizeof(double) * row * (size_t)sh->piece_count);
  for (int i = 0; i < sh->piece_count; i++)
    if (!tangent_move(&sh->tangent, starts + (size_t)i * row, dz + (size_t)i * (size_t)sh->f))
      return false;
  return true;
}

/* One drawing: pieces keep it if it is the best that they have seen. */
static carom_status look(drawing *d, double size, double state_size, carom_error *error) {
  minimiser *m = d->m;
  shooting *sh = m->sh;
  const size_t f = (size_t)sh->f, p = (size_t)sh->p;
  bool there;
  draw(d, size, state_size, m->trial_q);
  if (!move_starts(d, d->dz, d->starts)) return CAROM_OK;
  for (int i = 0; i < sh->piece_count; i++) d->limit[i] = d->cost[i] + expected(d, i) + d->best[i];
  carom_status status = shooting_try(sh, m->trial_q, d->starts, NULL, 0, d->limit, &there, error);
  if (status != CAROM_OK || !there) return status;
  for (int i = 0; i < sh->piece_count; i++) {
    double excess = sh->piece_cost[i] - d->cost[i] - expected(d, i);
    if (!(excess < d->best[i])) continue;
    d->best[i] = excess;
    memcpy(d->best_dq + (size_t)i * p, d->dq, sizeof(double) * p);
    memcpy(d->best_dz + (size_t)i * f, d->dz + (size_t)i * f, sizeof(double) * f);
  }
  return CAROM_OK;
}

/* From where piece i was better than it should be; all other pieces follow the unknowns. */
static carom_status follow(drawing *d, int i, bool *moved, carom_error *error) {
  enum { STEPS = 10 };
  const double WORTH = 0.05; // of the cost
  minimiser *m = d->m;
  const size_t f = (size_t)m->sh->f, p = (size_t)m->sh->p;
  const double *dq = d->best_dq + (size_t)i * p;
  normal_states(&m->normal, dq, d->dz);
  memcpy(d->dz + (size_t)i * f, d->best_dz + (size_t)i * f, sizeof(double) * f);
  if (!move_starts(d, d->dz, d->starts)) return CAROM_OK;
  for (size_t j = 0; j < p; j++) m->q[j] += dq[j];
  memcpy(m->starts, d->starts, sizeof(double) * (size_t)m->sh->piece_count * 2 * (size_t)m->sh->D);
  carom_status status = place_descend(m, STEPS, error);
  *moved = status == CAROM_OK && m->cost < d->kept.cost - WORTH;
  if (!*moved) place_restore(&d->kept, m);
  return status;
}

static carom_status search(drawing *d, bool *moved, carom_error *error) {
  enum { DRAWINGS = 60, TRIALS = 3 };
  const double PROMISING = -1; // of the cost
  minimiser *m = d->m;
  shooting *sh = m->sh;
  double cost;
  carom_status status = shooting_evaluate(sh, m->q, m->starts, NULL, 0, true, &cost, error);
  if (status != CAROM_OK || isinf(cost) || !gaussian_factor(&d->shape, m)) return status;
  m->cost = cost;
  place_keep(&d->kept, m);
  memcpy(d->cost, sh->piece_cost, sizeof(double) * (size_t)sh->piece_count);
  for (int i = 0; i < sh->piece_count; i++) d->best[i] = 0;
  for (int k = 0; k < DRAWINGS && status == CAROM_OK; k++)
    status = look(d, 0.5 + 0.5 * (k % 4), k % 2 == 0 ? 0 : 1, error);
  // normals are those of the minimum until a descent begins
  int tried = 0;
  while (status == CAROM_OK && tried++ < TRIALS) {
    int least = 0;
    for (int i = 1; i < sh->piece_count; i++)
      if (d->best[i] < d->best[least]) least = i;
    if (!(d->best[least] < PROMISING)) break;
    if (tried > 1) {
      status = shooting_evaluate(sh, m->q, m->starts, NULL, 0, true, &cost, error);
      normal_reduce(&m->normal, m->q, m->starts, 0, false);
    }
    if (status == CAROM_OK) status = follow(d, least, moved, error);
    d->best[least] = 0;
    if (*moved) break;
  }
  return status;
}

carom_status draws_search(minimiser *m, int round, bool *moved, carom_error *error) {
  drawing d;
  *moved = false;
  if (!m->sh->free_states || m->sh->join > 0) return CAROM_OK;
  carom_status status = drawing_make(&d, m, round)
                            ? search(&d, moved, error)
                            : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for drawings");
  drawing_free(&d);
  return status;
}

/* Of drawings of unknowns and first states together, how many cost their piece much more than its
 * parabola says. */
static carom_status count_rough(drawing *d, double *share, carom_error *error) {
  enum { DRAWINGS = 40 };
  const double MUCH = 3; // of the cost
  minimiser *m = d->m;
  shooting *sh = m->sh;
  double cost;
  carom_status status = shooting_evaluate(sh, m->q, m->starts, NULL, 0, true, &cost, error);
  if (status != CAROM_OK || isinf(cost) || !gaussian_factor(&d->shape, m)) return status;
  memcpy(d->cost, sh->piece_cost, sizeof(double) * (size_t)sh->piece_count);
  int64_t rough = 0;
  for (int k = 0; k < DRAWINGS && status == CAROM_OK; k++) {
    bool there = false;
    draw(d, 1, 1, m->trial_q);
    const bool moved = move_starts(d, d->dz, d->starts);
    for (int i = 0; i < sh->piece_count; i++) d->limit[i] = d->cost[i] + expected(d, i) + MUCH;
    if (moved) status = shooting_try(sh, m->trial_q, d->starts, NULL, 0, d->limit, &there, error);
    for (int i = 0; i < sh->piece_count; i++)
      rough += !there || !(sh->piece_cost[i] <= d->limit[i]);
  }
  *share = (double)rough / ((double)DRAWINGS * sh->piece_count);
  return status;
}

carom_status draws_roughness(minimiser *m, double *share, bool *rough, carom_error *error) {
  const double ROUGH = 0.6; // five balls with noise of five time steps 0.8 to 1, others up to 0.5
  drawing d;
  *share = 0;
  *rough = false;
  if (!m->sh->free_states || m->sh->join > 0) return CAROM_OK;
  carom_status status = drawing_make(&d, m, 0)
                            ? count_rough(&d, share, error)
                            : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for drawings");
  *rough = *share > ROUGH;
  drawing_free(&d);
  return status;
}
