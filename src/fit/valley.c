#include "fit/valley.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/error.h"
#include "base/size.h"

/* ---- first states ---------------------------------------------------------------------------- */

/* A descent of the first state of every piece by itself. */
typedef struct descent {
  minimiser *m;
  double *starts;      /* [piece_count][2 D] */
  double *trial;       /* [piece_count][2 D] */
  double *best;        /* [piece_count][2 D] of trials */
  double *cost;        /* [piece_count] */
  double *damping;     /* [piece_count] */
  double *a, *z, *dr;  /* [f][f], [f], [numbers of a state] */
  int *pieces, *going; /* [piece_count] that are looked at, that move */
  int count, going_count;
} descent;

static bool descent_make(descent *d, minimiser *m) {
  const shooting *sh = m->sh;
  size_t n = (size_t)sh->piece_count, f = (size_t)sh->f, states = n * 2 * (size_t)sh->D;
  *d = (descent){.m = m,
                 .starts = size_allocate(3 * states + 2 * n + f * f + f + (size_t)sh->measure.count,
                                         sizeof(double)),
                 .pieces = size_allocate(2 * n, sizeof(int))};
  if (d->starts == NULL || d->pieces == NULL) return false;
  d->trial = d->starts + states;
  d->best = d->trial + states;
  d->cost = d->best + states;
  d->damping = d->cost + n;
  d->a = d->damping + n;
  d->z = d->a + f * f;
  d->dr = d->z + f;
  d->going = d->pieces + n;
  return true;
}

static void descent_free(descent *d) {
  free(d->starts);
  free(d->pieces);
}

static double *state_of(const descent *d, double *states, int i) {
  return states + (size_t)i * 2 * (size_t)d->m->sh->D;
}

static void copy_state(const descent *d, double *to, double *from, int i) {
  memcpy(state_of(d, to, i), state_of(d, from, i), sizeof(double) * 2 * (size_t)d->m->sh->D);
}

/* What a piece costs where only noise is left, and so many deviations of that more. */
static double usual_cost(const descent *d, int i, double deviations) {
  const shooting *sh = d->m->sh;
  int states = sh->pieces[i].count < sh->horizon ? sh->pieces[i].count : sh->horizon, numbers = 0;
  for (int k = 0; k < sh->measure.count; k++) numbers += sh->measured[sh->measure.channel[k]];
  double mean = 0.5 * states * numbers;
  return mean + deviations * sqrt(mean);
}

// costs of the pieces in `list` at first states; infinite where motion cannot be computed
static carom_status evaluate(descent *d, const double *starts, const int *list, int count,
                             bool derivatives, bool *there, carom_error *error) {
  double cost;
  carom_status status =
      shooting_evaluate(d->m->sh, d->m->q, starts, list, count, derivatives, &cost, error);
  *there = isfinite(cost);
  return status;
}

// z of one piece: (ss + damping) z = -gs
static bool solve_piece(descent *d, int i) {
  int f = d->m->sh->f;
  const piece_normal *n = &d->m->sh->normals[i];
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
static carom_status descent_step(descent *d, carom_error *error) {
  const double CALM = 1e-3, MOST = 1e6; // of the cost, a logarithm of likelihood; of the damping
  shooting *sh = d->m->sh;
  bool there;
  carom_status status = evaluate(d, d->starts, d->going, d->going_count, true, &there, error);
  if (status != CAROM_OK) return status;
  for (int k = 0; k < d->going_count && there; k++) {
    int i = d->going[k];
    d->cost[i] = sh->piece_cost[i];
    copy_state(d, d->trial, d->starts, i);
    if (!solve_piece(d, i) || !tangent_move(&sh->tangent, state_of(d, d->trial, i), d->z))
      copy_state(d, d->trial, d->starts, i);
  }
  if (there) status = evaluate(d, d->trial, d->going, d->going_count, false, &there, error);
  int going = 0;
  for (int k = 0; k < d->going_count && there; k++) {
    int i = d->going[k];
    double fall = d->cost[i] - sh->piece_cost[i];
    if (fall > 0) {
      copy_state(d, d->starts, d->trial, i);
      d->cost[i] = sh->piece_cost[i];
    }
    d->damping[i] *= fall > 0 ? 0.2 : 8;
    bool done = (fall >= 0 && fall < CALM) || d->damping[i] > MOST;
    if (!done) d->going[going++] = i;
  }
  d->going_count = going;
  return status;
}

static carom_status descend(descent *d, int steps, carom_error *error) {
  carom_status status = CAROM_OK;
  d->going_count = d->count;
  memcpy(d->going, d->pieces, sizeof(int) * (size_t)d->count);
  for (int k = 0; k < d->count; k++) d->damping[d->pieces[k]] = 1e-3;
  for (int k = 0; k < steps && d->going_count > 0 && status == CAROM_OK; k++)
    status = descent_step(d, error);
  return status;
}

// first state i moved along one coordinate by so many deviations of the noise
static bool move_state(descent *d, int i, int coordinate, double deviations) {
  shooting *sh = d->m->sh;
  const double *B = sh->normals[i].start_by + (size_t)coordinate * 2 * (size_t)sh->D;
  double square = 0;
  copy_state(d, d->trial, d->starts, i);
  measure_change(&sh->measure, state_of(d, d->starts, i), state_of(d, d->starts, i), B, d->dr);
  for (int k = 0; k < sh->measure.count; k++) {
    double part = d->dr[k] / sh->noise[sh->measure.channel[k]];
    square += part * part;
  }
  memset(d->z, 0, sizeof(double) * (size_t)sh->f);
  d->z[coordinate] = square > 0 ? deviations / sqrt(square) : 0;
  return tangent_move(&sh->tangent, state_of(d, d->trial, i), d->z);
}

/* An impact that comes in another step than it did leaves no slope that leads there: first states of the pieces
 * in the list are moved by up to four deviations, and what is best is taken. */
static carom_status jump(descent *d, carom_error *error) {
  static const double moves[] = {0.5, -0.5, 1, -1, 2, -2, 4, -4};
  enum { MOVES = sizeof moves / sizeof moves[0] };
  shooting *sh = d->m->sh;
  carom_status status = CAROM_OK;
  for (int k = 0; k < d->count; k++) copy_state(d, d->best, d->starts, d->pieces[k]);
  for (int index = 0; index < MOVES * sh->f && status == CAROM_OK; index++) {
    bool there;
    for (int k = 0; k < d->count; k++)
      if (!move_state(d, d->pieces[k], index / MOVES, moves[index % MOVES]))
        copy_state(d, d->trial, d->starts, d->pieces[k]);
    status = evaluate(d, d->trial, d->pieces, d->count, false, &there, error);
    for (int k = 0; k < d->count && there; k++) {
      int i = d->pieces[k];
      if (!(sh->piece_cost[i] < d->cost[i])) continue;
      d->cost[i] = sh->piece_cost[i];
      copy_state(d, d->best, d->trial, i);
    }
  }
  for (int k = 0; k < d->count; k++) copy_state(d, d->starts, d->best, d->pieces[k]);
  return status;
}

// the list is of the pieces that cost more than `deviations` above the usual
static void list_bad(descent *d, double deviations) {
  d->count = 0;
  for (int i = 0; i < d->m->sh->piece_count; i++)
    if (d->cost[i] > usual_cost(d, i, deviations)) d->pieces[d->count++] = i;
}

static void list_all(descent *d) {
  d->count = d->m->sh->piece_count;
  for (int i = 0; i < d->count; i++) d->pieces[i] = i;
}

/* First states for the present horizon, from those of a shorter one. */
static carom_status follow(descent *d, bool all, carom_error *error) {
  enum { STEPS = 4 };
  const double BAD = 1, WRONG = 4; // deviations
  bool there;
  list_all(d);
  carom_status status = evaluate(d, d->starts, d->pieces, d->count, false, &there, error);
  if (status != CAROM_OK || !there) return status;
  memcpy(d->cost, d->m->sh->piece_cost, sizeof(double) * (size_t)d->count);
  if (!all) list_bad(d, BAD);
  status = descend(d, STEPS, error);
  list_bad(d, WRONG);
  if (d->count == 0 || status != CAROM_OK) return status;
  status = jump(d, error);
  return status == CAROM_OK ? descend(d, STEPS, error) : status;
}

static carom_status find_anew(descent *d, bool *moved, carom_error *error) {
  enum { GROWTH = 2, MANY = 15 };
  minimiser *m = d->m;
  shooting *sh = m->sh;
  const int horizon = sh->horizon;
  int most = 0, next = GROWTH;
  for (int i = 0; i < sh->piece_count; i++)
    most = sh->pieces[i].count > most ? sh->pieces[i].count : most;
  most = most < horizon ? most : horizon;
  double before;
  carom_status status = shooting_evaluate(sh, m->q, m->starts, NULL, 0, false, &before, error);
  if (status != CAROM_OK || isinf(before)) return status;
  memcpy(m->totals, sh->piece_cost, sizeof(double) * (size_t)sh->piece_count);
  shooting_measured_starts(sh, m->q, d->starts);
  for (int states = GROWTH; states < most && status == CAROM_OK; states += GROWTH) {
    sh->horizon = states;
    status = follow(d, states == next, error);
    if (states == next) next *= 2;
  }
  sh->horizon = horizon;
  if (status == CAROM_OK) status = follow(d, true, error);
  list_all(d);
  if (status == CAROM_OK) status = descend(d, MANY, error);
  for (int i = 0; i < sh->piece_count && status == CAROM_OK; i++) {
    if (!(d->cost[i] < m->totals[i] - m->gain)) continue;
    copy_state(d, m->starts, d->starts, i);
    *moved = true;
  }
  return status;
}

carom_status valley_states(minimiser *m, bool *moved, carom_error *error) {
  descent d;
  *moved = false;
  if (!m->sh->free_states || m->sh->join > 0) return CAROM_OK;
  carom_status status = descent_make(&d, m) ? find_anew(&d, moved, error)
                                            : error_set(error, CAROM_OUT_OF_MEMORY,
                                                        "no memory for first states of %d pieces",
                                                        m->sh->piece_count);
  descent_free(&d);
  return status;
}

/* ---- where to go back to --------------------------------------------------------------------- */

typedef struct place {
  double *q, *starts;
  double cost;
} place;

static bool place_make(place *at, const minimiser *m) {
  size_t p = (size_t)m->sh->p, n = (size_t)m->sh->piece_count;
  *at = (place){.q = size_allocate(p + n * 2 * (size_t)m->sh->D, sizeof(double))};
  if (at->q == NULL) return false;
  at->starts = at->q + p;
  return true;
}

static size_t bytes_of_starts(const minimiser *m) {
  return sizeof(double) * (size_t)m->sh->piece_count * 2 * (size_t)m->sh->D;
}

static void place_keep(place *at, const minimiser *m) {
  memcpy(at->q, m->q, sizeof(double) * (size_t)m->sh->p);
  memcpy(at->starts, m->starts, bytes_of_starts(m));
  at->cost = m->cost;
}

static void place_restore(const place *at, minimiser *m) {
  memcpy(m->q, at->q, sizeof(double) * (size_t)m->sh->p);
  memcpy(m->starts, at->starts, bytes_of_starts(m));
  m->cost = at->cost;
}

// a few iterations, from where it stands
static carom_status go_on(minimiser *m, int iterations, carom_error *error) {
  const int most = m->most;
  const double tolerance = m->tolerance;
  m->most = most < iterations ? most : iterations;
  m->tolerance = 1e-4;
  carom_status status = minimise(m, error);
  m->most = most;
  m->tolerance = tolerance;
  if (status != CAROM_NUMERICAL_FAILURE) return status;
  m->cost = INFINITY; // no motion there
  return CAROM_OK;
}

/* ---- properties ------------------------------------------------------------------------------ */

static bool is_property(const minimiser *m, int j) {
  carom_segment segment = m->sh->unknowns->items[j].segment;
  return segment == CAROM_FRICTION || segment == CAROM_RESTITUTION;
}

/* Unknown j at q: all else follows, then it is let go. */
static carom_status try_there(minimiser *m, int j, double q, place *kept, bool *moved,
                              carom_error *error) {
  enum { HELD = 4, FREE = 8 };
  const double PROMISING = 30; // of the cost: held at a value that is near the floor, not on it
  const double low = m->low[j], high = m->high[j];
  place_keep(kept, m);
  m->q[j] = m->low[j] = m->high[j] = q;
  carom_status status = go_on(m, HELD, error);
  m->low[j] = low;
  m->high[j] = high;
  if (status == CAROM_OK && m->cost < kept->cost + PROMISING) status = go_on(m, FREE, error);
  bool better = status == CAROM_OK && m->cost < kept->cost - m->gain;
  *moved = *moved || better;
  if (!better) place_restore(kept, m);
  return status;
}

/* From which friction on nothing slides any more, all else as it is: where the cost no longer hangs on it. The present
 * value where it does. */
static carom_status sliding_edge(minimiser *m, int j, double *edge, carom_error *error) {
  const double FLAT = 1e-6; // of the cost
  double low = m->low[j], high = m->q[j], rise;
  *edge = high;
  carom_status status = minimise_try(m, j, 1.05 * high + 0.01, &rise, error);
  if (status != CAROM_OK || fabs(rise) > FLAT) return status;
  for (int k = 0; k < 12 && status == CAROM_OK; k++) {
    double middle = 0.5 * (low + high);
    status = minimise_try(m, j, middle, &rise, error);
    *(fabs(rise) > FLAT ? &low : &high) = middle;
  }
  *edge = high;
  return status;
}

static carom_status try_properties(minimiser *m, place *kept, bool *moved, carom_error *error) {
  static const double factors[] = {0.5, 0.7, 0.85, 0.95, 1.2, 1.5, 2.2};
  enum { ALL = sizeof factors / sizeof factors[0] };
  const double LEAST = 0.05; // from where a factor is taken at a border
  carom_status status = CAROM_OK;
  for (int j = 0; j < m->sh->p && status == CAROM_OK; j++) {
    if (!is_property(m, j)) continue;
    const bool friction = m->sh->unknowns->items[j].segment == CAROM_FRICTION;
    double from = m->q[j];
    if (friction) status = sliding_edge(m, j, &from, error);
    // restitutions have no edge: few will do
    for (int k = friction ? 0 : 1; k < ALL && status == CAROM_OK; k += friction ? 1 : 3) {
      double to = fmin(fmax(from, LEAST) * factors[k], m->high[j]);
      if (to == m->q[j] || to < m->low[j]) continue;
      status = try_there(m, j, to, kept, moved, error);
    }
  }
  return status;
}

carom_status valley_properties(minimiser *m, bool *moved, carom_error *error) {
  enum { FEW = 6 };
  place kept;
  int count = 0;
  *moved = false;
  for (int j = 0; j < m->sh->p; j++) count += is_property(m, j);
  if (count == 0 || count > FEW) return CAROM_OK;
  carom_status status = place_make(&kept, m)
                            ? try_properties(m, &kept, moved, error)
                            : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for trials");
  free(kept.q);
  return status;
}
