#include "fit/valley.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/rng.h"
#include "fit/place.h"
#include "fit/state_descent.h"

/* ---- first states ---------------------------------------------------------------------------- */

// first state i moved along one coordinate by so many deviations of the noise
static bool move_state(state_descent *d, int i, int coordinate, double deviations) {
  shooting *sh = d->sh;
  const double *B = sh->normals[i].start_by + (size_t)coordinate * 2 * (size_t)sh->D;
  double square = 0;
  state_descent_copy(d, d->trial, d->starts, i);
  measure_change(&sh->measure, state_descent_state(d, d->starts, i),
                 state_descent_state(d, d->starts, i), B, d->dr);
  for (int k = 0; k < sh->measure.count; k++) {
    double part = d->dr[k] / sh->noise[sh->measure.channel[k]];
    square += part * part;
  }
  memset(d->z, 0, sizeof(double) * (size_t)sh->f);
  d->z[coordinate] = square > 0 ? deviations / sqrt(square) : 0;
  return tangent_move(&sh->tangent, state_descent_state(d, d->trial, i), d->z);
}

// pieces in the list keep their first states of d->trial in d->best where these cost less
static carom_status try_states(state_descent *d, carom_error *error) {
  const shooting *sh = d->sh;
  bool there;
  carom_status status =
      shooting_try(d->sh, d->q, d->trial, d->pieces, d->count, d->cost, &there, error);
  for (int k = 0; k < d->count && there; k++) {
    int i = d->pieces[k];
    if (!(sh->piece_cost[i] < d->cost[i])) continue;
    d->cost[i] = sh->piece_cost[i];
    state_descent_copy(d, d->best, d->trial, i);
  }
  return status;
}

/* An impact that comes in another step than it did leaves no slope that leads there: first states
 * of the pieces in the list are moved by up to four deviations, and what is best is taken. */
static carom_status jump(state_descent *d, carom_error *error) {
  static const double moves[] = {0.5, -0.5, 1, -1, 2, -2, 4, -4};
  enum { MOVES = sizeof moves / sizeof moves[0] };
  shooting *sh = d->sh;
  carom_status status = CAROM_OK;
  for (int k = 0; k < d->count; k++) state_descent_copy(d, d->best, d->starts, d->pieces[k]);
  for (int index = 0; index < MOVES * sh->f && status == CAROM_OK; index++) {
    for (int k = 0; k < d->count; k++)
      if (!move_state(d, d->pieces[k], index / MOVES, moves[index % MOVES]))
        state_descent_copy(d, d->trial, d->starts, d->pieces[k]);
    status = try_states(d, error);
  }
  for (int k = 0; k < d->count; k++) state_descent_copy(d, d->starts, d->best, d->pieces[k]);
  return status;
}

// first state i drawn from what a shorter horizon tells of it
static bool draw_state(state_descent *d, int i, rng *random) {
  const double WIDE = 1.5; // times the deviations
  shooting *sh = d->sh;
  const double *axes = d->axes + (size_t)i * (size_t)(sh->f * sh->f);
  memset(d->z, 0, sizeof(double) * (size_t)sh->f);
  for (int k = 0; k < sh->f; k++) {
    const double by = WIDE * rng_normal(random);
    for (int c = 0; c < sh->f; c++) d->z[c] += by * axes[k * sh->f + c];
  }
  state_descent_copy(d, d->trial, d->anchor, i);
  return tangent_move(&sh->tangent, state_descent_state(d, d->trial, i), d->z);
}

/* First states of the pieces in the list as a horizon of `known` states leaves them open, each the
 * best of many for the present one: coordinates move together, which moves of one of them
 * cannot. */
static carom_status draw(state_descent *d, int known, carom_error *error) {
  enum { DRAWS = 64 };
  shooting *sh = d->sh;
  const int horizon = sh->horizon;
  bool there;
  rng random;
  rng_seed(&random, 29, (uint64_t)known);
  sh->horizon = known;
  carom_status status =
      state_descent_evaluate(d, d->anchor, d->pieces, d->count, true, &there, error);
  sh->horizon = horizon;
  if (status != CAROM_OK || !there) return status;
  for (int k = 0; k < d->count; k++) {
    state_descent_axes(d, d->pieces[k]);
    state_descent_copy(d, d->best, d->starts, d->pieces[k]);
  }
  for (int draw = 0; draw < DRAWS && status == CAROM_OK; draw++) {
    for (int k = 0; k < d->count; k++)
      if (!draw_state(d, d->pieces[k], &random))
        state_descent_copy(d, d->trial, d->starts, d->pieces[k]);
    status = try_states(d, error);
  }
  for (int k = 0; k < d->count; k++) state_descent_copy(d, d->starts, d->best, d->pieces[k]);
  return status;
}

// the list is of the pieces that cost more than `deviations` above the usual
static void list_bad(state_descent *d, double deviations) {
  d->count = 0;
  for (int k = 0; k < d->suspect_count; k++) {
    int i = d->suspects[k];
    if (d->cost[i] > state_descent_usual_cost(d->sh, i, deviations)) d->pieces[d->count++] = i;
  }
}

static void list_suspects(state_descent *d) {
  d->count = d->suspect_count;
  memcpy(d->pieces, d->suspects, sizeof(int) * (size_t)d->count);
}

/* First states for the present horizon, from those of one of `known` states. */
static carom_status follow(state_descent *d, bool all, int known, carom_error *error) {
  enum { STEPS = 4, MOST_JUMPS = 8 /* they are dear */ };
  const double BAD = 1, WRONG = 4; // deviations
  bool there;
  list_suspects(d);
  carom_status status =
      state_descent_evaluate(d, d->starts, d->pieces, d->count, false, &there, error);
  if (status != CAROM_OK || !there) return status;
  for (int k = 0; k < d->count; k++) {
    d->cost[d->pieces[k]] = d->sh->piece_cost[d->pieces[k]];
    state_descent_copy(d, d->anchor, d->starts, d->pieces[k]);
  }
  if (!all) list_bad(d, BAD);
  status = state_descent_run(d, STEPS, error);
  list_bad(d, WRONG);
  if (d->count == 0 || d->jumps == MOST_JUMPS || status != CAROM_OK) return status;
  d->jumps++;
  status = draw(d, known, error);
  if (status == CAROM_OK) status = state_descent_run(d, STEPS, error);
  list_bad(d, WRONG);
  if (d->count == 0 || status != CAROM_OK) return status;
  status = jump(d, error);
  return status == CAROM_OK ? state_descent_run(d, STEPS, error) : status;
}

static carom_status find_anew(state_descent *d, minimiser *m, bool *moved, carom_error *error) {
  enum { GROWTH = 2, MANY = 15 };
  shooting *sh = m->sh;
  const int horizon = sh->horizon;
  int most = 0, next = GROWTH;
  for (int k = 0; k < d->suspect_count; k++) {
    int count = sh->pieces[d->suspects[k]].count;
    most = count > most ? count : most;
  }
  most = most < horizon ? most : horizon;
  carom_status status = CAROM_OK;
  shooting_measured_starts(sh, m->q, d->starts);
  for (int states = GROWTH; states < most && status == CAROM_OK; states += GROWTH) {
    sh->horizon = states;
    status = follow(d, states == next, states > GROWTH ? states - GROWTH : 1, error);
    if (states == next) next *= 2;
  }
  sh->horizon = horizon;
  if (status == CAROM_OK) status = follow(d, true, most > GROWTH ? most - GROWTH : 1, error);
  list_suspects(d);
  if (status == CAROM_OK) status = state_descent_run(d, MANY, error);
  if (status == CAROM_OK) state_descent_take(d, m, moved);
  return status;
}

/* First states of the pieces that cost more than `deviations` above the usual; of one piece alone
 * where `only` is not -1. */
static carom_status find_states(minimiser *m, double deviations, int only, bool *moved,
                                carom_error *error) {
  state_descent d;
  *moved = false;
  if (!m->sh->free_states || m->sh->join > 0) return CAROM_OK;
  carom_status status =
      state_descent_make(&d, m->sh, m->q)
          ? state_descent_find_suspects(&d, m, deviations, error)
          : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for first states of %d pieces",
                      m->sh->piece_count);
  if (status == CAROM_OK && d.suspect_count > 0) {
    if (only >= 0) {
      d.suspects[0] = only;
      d.suspect_count = 1;
    }
    status = find_anew(&d, m, moved, error);
  }
  state_descent_free(&d);
  return status;
}

carom_status valley_states(minimiser *m, bool all, bool *moved, carom_error *error) {
  const double SUSPECT = 1.5; // deviations
  return find_states(m, all ? -INFINITY : SUSPECT, -1, moved, error);
}

carom_status valley_piece(minimiser *m, int index, bool *moved, carom_error *error) {
  return find_states(m, -INFINITY, index, moved, error);
}

/* ---- properties ------------------------------------------------------------------------------ */

static bool is_property(const minimiser *m, int j) {
  carom_segment segment = m->sh->unknowns->items[j].segment;
  return segment == CAROM_FRICTION || segment == CAROM_RESTITUTION;
}

/* More than noise leaves, in all pieces together or in one of them: something is far off. One piece
 * alone may feel a property, and costs a few deviations more where that stands in another
 * valley. */
static bool is_misfit(const minimiser *m) {
  const double FAR = 4, FAR_OF_ONE = 2.5; // deviations
  const shooting *sh = m->sh;
  double numbers = 0;
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) numbers += (double)sh->sums.count[c];
  for (int i = 0; i < sh->piece_count; i++)
    if (state_descent_excess(sh, i, sh->piece_cost[i]) > FAR_OF_ONE) return true;
  return m->cost > 0.5 * (numbers + FAR * sqrt(2 * numbers));
}

/* Unknown j at q: all else follows, then it is let go. */
static carom_status try_there(minimiser *m, int j, double q, bool misfit, place *kept, bool *moved,
                              carom_error *error) {
  enum { FIRST = 2, HELD = 4, FREE = 8 };
  // of the cost: held near the floor, not on it; where all is wrong anyway, more is tried
  const double HOPELESS = misfit ? INFINITY : 1000, PROMISING = misfit ? 1000 : 30;
  const double low = m->low[j], high = m->high[j];
  place_keep(kept, m);
  m->q[j] = m->low[j] = m->high[j] = q;
  carom_status status = place_descend(m, FIRST, error);
  if (status == CAROM_OK && m->cost < kept->cost + HOPELESS) status = place_descend(m, HELD, error);
  m->low[j] = low;
  m->high[j] = high;
  if (status == CAROM_OK && m->cost < kept->cost + PROMISING)
    status = place_descend(m, FREE, error);
  bool better = status == CAROM_OK && m->cost < kept->cost - m->gain;
  *moved = *moved || better;
  if (!better) place_restore(kept, m);
  return status;
}

carom_status valley_sliding_edge(minimiser *m, int j, double *edge, carom_error *error) {
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

/* Values worth trying: the border that a property is near, where bounces or slides that are shorter
 * and shorter make a kink each; of a friction with which everything sticks, those below the edge of
 * sliding; and where something is far off, others. */
static carom_status try_property(minimiser *m, int j, bool misfit, place *kept, bool *moved,
                                 carom_error *error) {
  static const double factors[] = {0.5, 0.7, 0.85, 0.95, 1.2, 1.5, 2.2};
  enum { ALL = sizeof factors / sizeof factors[0], BELOW = 4 };
  const double NEAR = 0.05;
  const double low = m->low[j], high = m->high[j], from = m->q[j];
  double edge = from;
  carom_status status = CAROM_OK;
  if (from != low && from - low < NEAR) status = try_there(m, j, low, misfit, kept, moved, error);
  if (from != high && high - from < NEAR)
    status = try_there(m, j, high, misfit, kept, moved, error);
  if (status == CAROM_OK && m->sh->unknowns->items[j].segment == CAROM_FRICTION)
    status = valley_sliding_edge(m, j, &edge, error);
  const int count = misfit ? ALL : edge < from ? BELOW : 0;
  for (int k = 0; k < count && status == CAROM_OK; k++) {
    double to = fmin(fmax(edge, NEAR) * factors[k], high);
    if (to != m->q[j] && to > low) status = try_there(m, j, to, misfit, kept, moved, error);
  }
  return status;
}

static carom_status try_properties(minimiser *m, place *kept, bool *moved, carom_error *error) {
  carom_status status = CAROM_OK;
  double cost;
  for (int j = 0; j < m->sh->p && status == CAROM_OK; j++) {
    if (!is_property(m, j)) continue;
    status = shooting_evaluate(m->sh, m->q, m->starts, NULL, 0, false, &cost, error);
    if (status == CAROM_OK) status = try_property(m, j, is_misfit(m), kept, moved, error);
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
  place_free(&kept);
  return status;
}
