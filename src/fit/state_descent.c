#include "fit/state_descent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/size.h"

bool state_descent_make(state_descent *d, shooting *sh, const double *q) {
  size_t n = (size_t)sh->piece_count, f = (size_t)sh->f, states = n * 2 * (size_t)sh->D;
  *d = (state_descent){.sh = sh,
                       .q = q,
                       .starts = size_allocate(4 * states + 2 * n + n * f * f + 2 * (f * f + f) +
                                                   (size_t)sh->measure.count,
                                               sizeof(double)),
                       .pieces = size_allocate(3 * n, sizeof(int))};
  if (d->starts == NULL || d->pieces == NULL) return false;
  d->trial = d->starts + states;
  d->best = d->trial + states;
  d->anchor = d->best + states;
  d->cost = d->anchor + states;
  d->damping = d->cost + n;
  d->a = d->damping + n;
  d->z = d->a + f * f;
  d->values = d->z + f;
  d->vectors = d->values + f;
  d->axes = d->vectors + f * f;
  d->dr = d->axes + n * f * f;
  d->going = d->pieces + n;
  d->suspects = d->going + n;
  return true;
}

void state_descent_free(state_descent *d) {
  free(d->starts);
  free(d->pieces);
}

double *state_descent_state(const state_descent *d, double *states, int i) {
  return states + (size_t)i * 2 * (size_t)d->sh->D;
}

void state_descent_copy(const state_descent *d, double *to, double *from, int i) {
  memcpy(state_descent_state(d, to, i), state_descent_state(d, from, i),
         sizeof(double) * 2 * (size_t)d->sh->D);
}

double state_descent_usual_cost(const shooting *sh, int i, double deviations) {
  int states = sh->pieces[i].count < sh->horizon ? sh->pieces[i].count : sh->horizon, numbers = 0;
  for (int k = 0; k < sh->measure.count; k++) numbers += sh->measured[sh->measure.channel[k]];
  double mean = 0.5 * states * numbers;
  return mean + deviations * sqrt(mean);
}

double state_descent_excess(const shooting *sh, int i, double cost) {
  const double usual = state_descent_usual_cost(sh, i, 0),
               deviation = state_descent_usual_cost(sh, i, 1) - usual;
  return (cost - usual + 0.5 * sh->f) / deviation;
}

double *state_descent_axes(state_descent *d, int i) {
  const int f = d->sh->f;
  const double *ss = d->sh->normals[i].ss;
  double *a = d->axes + (size_t)i * (size_t)(f * f), most = 0;
  for (int k = 0; k < f; k++)
    for (int j = 0; j < f; j++) a[k * f + j] = ss[k > j ? k * f + j : j * f + k];
  dense_eigen(f, a, d->values, d->vectors);
  for (int k = 0; k < f; k++) most = fmax(most, d->values[k]);
  for (int k = 0; k < f; k++)
    for (int j = 0; j < f; j++)
      a[k * f + j] = d->vectors[k * f + j] / sqrt(fmax(d->values[k], 1e-10 * most + 1e-300));
  return a;
}

carom_status state_descent_evaluate(state_descent *d, const double *starts, const int *list,
                                    int count, bool derivatives, bool *there, carom_error *error) {
  double cost;
  carom_status status =
      shooting_evaluate(d->sh, d->q, starts, list, count, derivatives, &cost, error);
  *there = isfinite(cost);
  return status;
}

// z of one piece: (ss + damping) z = -gs
static bool solve_piece(state_descent *d, int i) {
  int f = d->sh->f;
  const piece_normal *n = &d->sh->normals[i];
  double most = 0;
  for (int k = 0; k < f; k++) most = fmax(most, n->ss[k * f + k]);
  memcpy(d->a, n->ss, sizeof(double) * (size_t)(f * f));
  for (int k = 0; k < f; k++) {
    d->a[k * f + k] += d->damping[i] * n->ss[k * f + k] + 1e-12 * most + 1e-300;
    d->z[k] = -n->gs[k];
  }
  if (!dense_factor(f, d->a)) return false;
  dense_solve(f, d->a, d->z);
  return true;
}

/* One step of all pieces that are going, each with a damping of its own. */
static carom_status descent_step(state_descent *d, carom_error *error) {
  const double CALM = 1e-3, MOST = 1e6; // of the cost, a logarithm of likelihood; of the damping
  shooting *sh = d->sh;
  bool there;
  carom_status status =
      state_descent_evaluate(d, d->starts, d->going, d->going_count, true, &there, error);
  if (status != CAROM_OK) return status;
  for (int k = 0; k < d->going_count && there; k++) {
    int i = d->going[k];
    d->cost[i] = sh->piece_cost[i];
    state_descent_copy(d, d->trial, d->starts, i);
    if (!solve_piece(d, i) ||
        !tangent_move(&sh->tangent, state_descent_state(d, d->trial, i), d->z))
      state_descent_copy(d, d->trial, d->starts, i);
  }
  if (there)
    status = state_descent_evaluate(d, d->trial, d->going, d->going_count, false, &there, error);
  int going = 0;
  for (int k = 0; k < d->going_count && there; k++) {
    int i = d->going[k];
    double fall = d->cost[i] - sh->piece_cost[i];
    if (fall > 0) {
      state_descent_copy(d, d->starts, d->trial, i);
      d->cost[i] = sh->piece_cost[i];
    }
    d->damping[i] *= fall > 0 ? 0.2 : 8;
    bool done = (fall >= 0 && fall < CALM) || d->damping[i] > MOST;
    if (!done) d->going[going++] = i;
  }
  d->going_count = going;
  return status;
}

carom_status state_descent_run(state_descent *d, int steps, carom_error *error) {
  carom_status status = CAROM_OK;
  d->going_count = d->count;
  memcpy(d->going, d->pieces, sizeof(int) * (size_t)d->count);
  for (int k = 0; k < d->count; k++) d->damping[d->pieces[k]] = 1e-3;
  for (int k = 0; k < steps && d->going_count > 0 && status == CAROM_OK; k++)
    status = descent_step(d, error);
  return status;
}

carom_status state_descent_find_suspects(state_descent *d, minimiser *m, double deviations,
                                         carom_error *error) {
  double cost;
  carom_status status = shooting_evaluate(m->sh, m->q, m->starts, NULL, 0, false, &cost, error);
  d->suspect_count = 0;
  if (status != CAROM_OK || isinf(cost)) return status;
  memcpy(m->totals, m->sh->piece_cost, sizeof(double) * (size_t)m->sh->piece_count);
  for (int i = 0; i < m->sh->piece_count; i++)
    if (m->totals[i] > state_descent_usual_cost(m->sh, i, deviations))
      d->suspects[d->suspect_count++] = i;
  return CAROM_OK;
}

void state_descent_take(state_descent *d, minimiser *m, bool *moved) {
  for (int k = 0; k < d->suspect_count; k++) {
    int i = d->suspects[k];
    if (!(d->cost[i] < m->totals[i] - m->gain)) continue;
    state_descent_copy(d, m->starts, d->starts, i);
    *moved = true;
  }
}
