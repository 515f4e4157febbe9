#include "fit/outvote.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/error.h"
#include "base/size.h"
#include "fit/place.h"
#include "fit/valley.h"

typedef struct ballot {
  minimiser *m;
  place kept;
  double *shift;     /* [piece_count][p] dq without each piece, */
  double *influence; /* [piece_count] and its square in deviations */
  double *ss, *x;    /* [f][f], [f] */
  double *S, *own;   /* [p][p] without a piece, of it */
} ballot;

static bool ballot_make(ballot *b, minimiser *m) {
  const size_t n = (size_t)m->sh->piece_count, f = (size_t)m->sh->f, p = (size_t)m->sh->p;
  *b =
      (ballot){.m = m, .shift = size_allocate(n * (p + 1) + f * f + f + 2 * p * p, sizeof(double))};
  if (!place_make(&b->kept, m) || b->shift == NULL) return false;
  b->influence = b->shift + n * p;
  b->ss = b->influence + n;
  b->x = b->ss + f * f;
  b->S = b->x + f;
  b->own = b->S + p * p;
  return true;
}

static void ballot_free(ballot *b) {
  place_free(&b->kept);
  free(b->shift);
}

/* S_i and g_i of one piece; false if its first state is not determined. */
static bool eliminate(ballot *b, int i, double *g) {
  const int f = b->m->sh->f, p = b->m->sh->p;
  const piece_normal *n = &b->m->sh->normals[i];
  double most = 0;
  memcpy(b->ss, n->ss, sizeof(double) * (size_t)(f * f));
  for (int k = 0; k < f; k++) most = fmax(most, b->ss[k * f + k]);
  for (int k = 0; k < f; k++) b->ss[k * f + k] += 1e-12 * most + 1e-300;
  if (!dense_factor(f, b->ss)) return false;
  for (int c = 0; c <= p; c++) { // columns of sq, then gs
    for (int k = 0; k < f; k++) b->x[k] = c < p ? n->sq[k * p + c] : n->gs[k];
    dense_solve(f, b->ss, b->x);
    for (int a = 0; a < p; a++) {
      double part = c < p ? n->qq[a * p + c] : n->gq[a];
      for (int k = 0; k < f; k++) part -= n->sq[k * p + a] * b->x[k];
      *(c < p ? &b->own[a * p + c] : &g[a]) = part;
    }
  }
  return true;
}

/* dq without piece i, within the bounds. */
static void leave_out(ballot *b, int i) {
  const minimiser *m = b->m;
  const int p = m->sh->p;
  const double *all = m->normal.S;
  double *dq = b->shift + (size_t)i * (size_t)p;
  b->influence[i] = 0;
  if (!eliminate(b, i, dq)) return;
  for (int k = 0; k < p * p; k++) b->S[k] = all[k] - b->own[k];
  for (int j = 0; j < p; j++) { // what the others leave open stays near
    const double natural = m->sh->unknowns->items[j].natural;
    b->S[j * p + j] += 1 / (natural * natural);
  }
  if (!dense_factor(p, b->S)) return;
  dense_solve(p, b->S, dq);
  for (int j = 0; j < p; j++) dq[j] = fmin(fmax(m->q[j] + dq[j], m->low[j]), m->high[j]) - m->q[j];
  for (int a = 0; a < p; a++)
    for (int c = 0; c < p; c++) b->influence[i] += dq[a] * all[a * p + c] * dq[c];
}

/* Unknowns where all pieces but i want them, which finds its first state anew. */
static carom_status outvote(ballot *b, int i, bool *moved, carom_error *error) {
  enum { STEPS = 12 };
  minimiser *m = b->m;
  shooting *sh = m->sh;
  const double *dq = b->shift + (size_t)i * (size_t)sh->p;
  bool found;
  double cost;
  carom_status status = shooting_evaluate(sh, m->q, m->starts, NULL, 0, true, &cost, error);
  if (status != CAROM_OK || isinf(cost)) return status;
  normal_reduce(&m->normal, m->q, m->starts, 0, false);
  normal_states(&m->normal, dq, m->dz);
  for (int k = 0; k < sh->piece_count; k++)
    if (!tangent_move(&sh->tangent, m->starts + (size_t)k * 2 * (size_t)sh->D,
                      m->dz + (size_t)k * (size_t)sh->f)) {
      place_restore(&b->kept, m);
      return CAROM_OK;
    }
  for (int j = 0; j < sh->p; j++) m->q[j] += dq[j];
  status = valley_piece(m, i, &found, error);
  if (status == CAROM_OK) status = place_descend(m, STEPS, error);
  *moved = status == CAROM_OK && m->cost < b->kept.cost - m->gain;
  if (!*moved) place_restore(&b->kept, m);
  return status;
}

static carom_status search(ballot *b, bool *moved, carom_error *error) {
  enum { TRIALS = 3 };
  const double MUCH = 2; // square of deviations
  minimiser *m = b->m;
  const int n = m->sh->piece_count;
  double cost;
  carom_status status = shooting_evaluate(m->sh, m->q, m->starts, NULL, 0, true, &cost, error);
  if (status != CAROM_OK || isinf(cost)) return status;
  m->cost = cost;
  place_keep(&b->kept, m);
  normal_reduce(&m->normal, m->q, m->starts, 0, false);
  for (int i = 0; i < n; i++) leave_out(b, i);
  for (int k = 0; k < TRIALS && !*moved && status == CAROM_OK; k++) {
    int most = 0;
    for (int i = 1; i < n; i++)
      if (b->influence[i] > b->influence[most]) most = i;
    if (!(b->influence[most] > MUCH)) break;
    b->influence[most] = 0;
    status = outvote(b, most, moved, error);
  }
  return status;
}

carom_status outvote_search(minimiser *m, bool *moved, carom_error *error) {
  ballot b;
  *moved = false;
  if (!m->sh->free_states || m->sh->join > 0 || m->sh->piece_count < 2) return CAROM_OK;
  carom_status status = ballot_make(&b, m)
                            ? search(&b, moved, error)
                            : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for trials");
  ballot_free(&b);
  return status;
}
