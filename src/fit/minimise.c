#include "fit/minimise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/stride.h"
#include "learn/motion.h"
#include "system/system.h"

carom_status minimiser_init(minimiser *m, shooting *sh, const carom_fit_options *options,
                            carom_error *error) {
  *m = (minimiser){.sh = sh,
                   .most = options->iterations,
                   .tolerance = options->tolerance,
                   .progress = options->progress,
                   .progress_user = options->progress_user};
  size_t p = (size_t)sh->p, states = (size_t)sh->piece_count * 2 * (size_t)sh->D;
  carom_status status = normal_init(&m->normal, sh, error);
  if (status != CAROM_OK) return status;
  m->q = size_allocate(5 * p, sizeof(double));
  m->starts = size_allocate_zero(2 * states, sizeof(double));
  m->dz = size_allocate((size_t)sh->piece_count * (size_t)sh->f, sizeof(double));
  m->subset = size_allocate((size_t)sh->piece_count, sizeof(int));
  m->ends = size_allocate_zero(2 * states, sizeof(double));
  m->bests = m->ends + states;
  m->totals = size_allocate_zero(3 * (size_t)sh->piece_count + p, sizeof(double));
  m->rivals = size_allocate(MOST_RIVALS * (1 + p), sizeof(double));
  m->share_starts = size_allocate(states + 3 * (size_t)sh->piece_count + (size_t)sh->f +
                                      MOST_SCATTERED * (size_t)sh->f * (size_t)sh->f,
                                  sizeof(double));
  if (m->q == NULL || m->starts == NULL || m->dz == NULL || m->subset == NULL || m->ends == NULL ||
      m->totals == NULL || m->rivals == NULL || m->share_starts == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d pieces", sh->piece_count);
  m->low = m->q + p;
  m->high = m->low + p;
  m->trial_q = m->high + p;
  m->dq = m->trial_q + p;
  m->trial_starts = m->starts + states;
  m->piece_costs = m->share_starts + states;
  m->share_best = m->piece_costs + sh->piece_count;
  m->share_taken = m->share_best + sh->piece_count;
  m->share_z = m->share_taken + sh->piece_count;
  m->share_factors = m->share_z + sh->f;
  for (int j = 0; j < sh->p; j++) {
    const unknown *u = &sh->unknowns->items[j];
    m->q[j] = unknown_coordinate(u, u->start);
    m->low[j] = isinf(u->low) ? -INFINITY : unknown_coordinate(u, u->low);
    m->high[j] = isinf(u->high) ? INFINITY : unknown_coordinate(u, u->high);
  }
  return CAROM_OK;
}

void minimiser_free(minimiser *m) {
  normal_free(&m->normal);
  free(m->q);
  free(m->starts);
  free(m->dz);
  free(m->subset);
  free(m->ends);
  free(m->totals);
  free(m->rivals);
  free(m->share_starts);
}

/* ---- Levenberg and Marquardt ----------------------------------------------------------------- */

// no unknown moves by more than its natural size
static void shorten(const minimiser *m) {
  double most = 1;
  for (int j = 0; j < m->sh->p; j++)
    most = fmax(most, fabs(m->dq[j]) / m->sh->unknowns->items[j].natural);
  for (int j = 0; j < m->sh->p; j++) m->dq[j] /= most;
}

static double relative_step(const minimiser *m) {
  double most = 0;
  for (int j = 0; j < m->sh->p; j++)
    most = fmax(most, fabs(m->dq[j]) / m->sh->unknowns->items[j].natural);
  return most;
}

// where the step leads; false if a state cannot be put on the constraints there
static bool take_step(minimiser *m) {
  shooting *sh = m->sh;
  size_t row = 2 * (size_t)sh->D;
  for (int j = 0; j < sh->p; j++)
    m->trial_q[j] = fmin(fmax(m->q[j] + m->dq[j], m->low[j]), m->high[j]);
  if (!sh->free_states) return true;
  memcpy(m->trial_starts, m->starts, sizeof(double) * (size_t)sh->piece_count * row);
  for (int i = 0; i < sh->piece_count; i++)
    if (!tangent_move(&sh->tangent, m->trial_starts + (size_t)i * row,
                      m->dz + (size_t)i * (size_t)sh->f))
      return false;
  return true;
}

static void accept(minimiser *m, double cost) {
  memcpy(m->q, m->trial_q, sizeof(double) * (size_t)m->sh->p);
  memcpy(m->starts, m->trial_starts,
         sizeof(double) * (size_t)m->sh->piece_count * 2 * (size_t)m->sh->D);
  m->cost = cost;
}

carom_status minimise_go_on(const minimiser *m, carom_error *error) {
  if (m->progress == NULL || m->progress(m->progress_user, m->iterations, 0)) return CAROM_OK;
  return error_set(error, CAROM_INTERRUPTED, "stopped after %d iterations", m->iterations);
}

/* One step at a time from larger and larger damping, until one lowers the cost. */
static carom_status step(minimiser *m, double *damping, double *fall, carom_error *error) {
  const double most = 1e10;
  *fall = 0;
  for (; *damping < most; *damping *= 8) {
    normal_reduce(&m->normal, m->q, m->starts, *damping, false);
    if (!normal_solve(&m->normal, m->q, m->low, m->high, *damping, m->dq)) continue;
    shorten(m);
    if (m->sh->free_states) normal_states(&m->normal, m->dq, m->dz);
    double predicted = normal_predicted(&m->normal, m->dq, m->dz), cost = INFINITY;
    if (!(predicted > 0)) return CAROM_OK;
    if (take_step(m)) {
      carom_status status =
          shooting_evaluate(m->sh, m->trial_q, m->trial_starts, NULL, 0, false, &cost, error);
      if (status == CAROM_OK) status = stride_shorten(m, &cost, &predicted, error);
      if (status != CAROM_OK) return status;
    }
    if (!(cost < m->cost)) {
      if (predicted < 1e-14 * m->cost) return CAROM_OK; // rounding
      continue;
    }
    double gain = (m->cost - cost) / predicted;
    *fall = m->cost - cost;
    accept(m, cost);
    *damping = fmax(1e-14, *damping * (gain > 0.7 ? 0.1 : gain > 0.2 ? 1 : 3));
    return CAROM_OK;
  }
  return CAROM_OK;
}

carom_status minimise(minimiser *m, carom_error *error) {
  double damping = 1e-3;
  int calm = 0;
  for (int k = 0; k < m->most; k++) {
    double cost, before = m->cost, fall;
    carom_status status = shooting_evaluate(m->sh, m->q, m->starts, NULL, 0, true, &cost, error);
    m->iterations++;
    if (status == CAROM_OK) status = minimise_go_on(m, error);
    if (status != CAROM_OK) return status;
    if (isinf(cost)) // the error says what happened at the present values
      return error != NULL && error->status != CAROM_OK
                 ? error_prefix(error, "the motion cannot be computed from the measured states")
                 : error_set(error, CAROM_NUMERICAL_FAILURE,
                             "the motion cannot be computed from the measured states with the "
                             "present values; begin with others (:start=X)");
    before = m->cost = cost;
    memcpy(m->piece_costs, m->sh->piece_cost, sizeof(double) * (size_t)m->sh->piece_count);
    status = step(m, &damping, &fall, error);
    if (status != CAROM_OK) return status;
    bool little = fall <= m->tolerance * before;
    calm = little ? calm + 1 : 0;
    if (fall == 0 || (calm >= 2) || relative_step(m) < 1e-14) break;
  }
  // derivatives and sums where it ended
  double cost;
  carom_status status = shooting_evaluate(m->sh, m->q, m->starts, NULL, 0, true, &cost, error);
  m->cost = cost;
  return status;
}

void minimise_remember(minimiser *m) {
  const size_t row = 1 + (size_t)m->sh->p;
  int at = m->rival_count;
  if (!isfinite(m->cost)) return;
  if (at == MOST_RIVALS) {
    at = 0;
    for (int k = 1; k < MOST_RIVALS; k++)
      if (m->rivals[(size_t)k * row] > m->rivals[(size_t)at * row]) at = k;
    if (m->rivals[(size_t)at * row] <= m->cost) return;
  } else {
    m->rival_count++;
  }
  m->rivals[(size_t)at * row] = m->cost;
  memcpy(m->rivals + (size_t)at * row + 1, m->q, sizeof(double) * (row - 1));
}

/* ---- trials ---------------------------------------------------------------------------------- */

// pieces in which one of the contacts of an unknown acted, or all
static int feeling_pieces(minimiser *m, int index) {
  const shooting *sh = m->sh;
  const unknown *u = &sh->unknowns->items[index];
  bool of_contacts = u->segment == CAROM_FRICTION || u->segment == CAROM_RESTITUTION;
  size_t contacts = (size_t)sh->system->contact_count;
  int count = 0;
  for (int i = 0; i < sh->piece_count; i++) {
    bool feels = !of_contacts;
    for (int k = 0; k < u->entry_count && !feels; k++)
      feels = sh->felt[(size_t)i * contacts +
                       (size_t)(u->entries[k] - sh->system->segments[u->segment].offset)] != 0;
    if (feels) m->subset[count++] = i;
  }
  return count;
}

// the cost of the pieces in m->subset with one unknown elsewhere
static carom_status cost_at(minimiser *m, int count, int index, double q, double *cost,
                            carom_error *error) {
  memcpy(m->trial_q, m->q, sizeof(double) * (size_t)m->sh->p);
  m->trial_q[index] = q;
  return shooting_evaluate(m->sh, m->trial_q, m->starts, m->subset, count, false, cost, error);
}

// what the weak prior, which says nothing about what the data determines, adds on the way to q
static double weak_part(const minimiser *m, int index, double q) {
  const unknown *u = &m->sh->unknowns->items[index];
  double slope, curvature;
  if (u->prior_deviation > 0) return 0;
  return unknown_prior(u, q, &slope, &curvature) -
         unknown_prior(u, m->q[index], &slope, &curvature);
}

carom_status minimise_try(minimiser *m, int index, double q, double *difference,
                          carom_error *error) {
  double here, there;
  int count = feeling_pieces(m, index);
  *difference = 0;
  if (count == 0) return CAROM_OK;
  carom_status status = cost_at(m, count, index, m->q[index], &here, error);
  if (status == CAROM_OK) status = cost_at(m, count, index, q, &there, error);
  if (status != CAROM_OK) return status;
  *difference = there - here - weak_part(m, index, q);
  return CAROM_OK;
}

carom_status minimise_profile(minimiser *m, int index, double q, double *difference,
                              carom_error *error) {
  enum { MOST = 15 };
  const minimiser kept = *m;
  const double low = m->low[index], high = m->high[index], weak = weak_part(m, index, q);
  size_t p = (size_t)m->sh->p, states = (size_t)m->sh->piece_count * 2 * (size_t)m->sh->D;
  double *kept_q = m->totals + m->sh->piece_count;
  memcpy(kept_q, m->q, sizeof(double) * p);
  memcpy(m->bests, m->starts, sizeof(double) * states);
  m->q[index] = m->low[index] = m->high[index] = q;
  m->most = m->most < MOST ? m->most : MOST;
  m->tolerance = fmax(m->tolerance, 1e-6);
  carom_status status = minimise(m, error);
  *difference = m->cost - kept.cost - weak;
  m->low[index] = low;
  m->high[index] = high;
  m->most = kept.most;
  m->tolerance = kept.tolerance;
  m->cost = kept.cost;
  memcpy(m->q, kept_q, sizeof(double) * p);
  memcpy(m->starts, m->bests, sizeof(double) * states);
  if (status == CAROM_NUMERICAL_FAILURE) { // no motion there
    *difference = INFINITY;
    return CAROM_OK;
  }
  return status;
}

static carom_status search_one(minimiser *m, int index, bool *moved, carom_error *error) {
  static const double values[] = {0,    0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5,
                                  0.55, 0.6,  0.7,  0.8, 0.85, 0.9, 0.95, 1,   1.2,  1.5, 2};
  const int count = feeling_pieces(m, index);
  double here, best, best_q = m->q[index];
  if (count == 0) return CAROM_OK;
  carom_status status = cost_at(m, count, index, m->q[index], &here, error);
  best = here;
  for (size_t k = 0; k < sizeof values / sizeof values[0] && status == CAROM_OK;
       k += m->coarse ? 3 : 1) {
    double cost;
    if (values[k] < m->low[index] || values[k] > m->high[index]) continue;
    status = cost_at(m, count, index, values[k], &cost, error);
    if (status == CAROM_OK && cost < best) {
      best = cost;
      best_q = values[k];
    }
  }
  if (status != CAROM_OK || !(best < here - 1e-6 * fabs(here) - m->gain)) return status;
  m->q[index] = best_q;
  *moved = true;
  return CAROM_OK;
}

carom_status minimise_search(minimiser *m, bool *moved, carom_error *error) {
  double cost;
  *moved = false;
  m->sh->note_felt = true;
  carom_status status = shooting_evaluate(m->sh, m->q, m->starts, NULL, 0, false, &cost, error);
  m->sh->note_felt = false;
  for (int order = 0; order < 2 && status == CAROM_OK; order++)
    for (int j = 0; j < m->sh->p && status == CAROM_OK; j++) {
      carom_segment segment = m->sh->unknowns->items[j].segment;
      if (segment == (order == 0 ? CAROM_RESTITUTION : CAROM_FRICTION))
        status = search_one(m, j, moved, error);
    }
  return status;
}

// the border that an unknown is near, if it is near one but not there
static bool border_near(const minimiser *m, int index, double *border) {
  const double near = 0.05;
  carom_segment segment = m->sh->unknowns->items[index].segment;
  double q = m->q[index], low = m->low[index], high = m->high[index];
  if (segment != CAROM_FRICTION && segment != CAROM_RESTITUTION) return false;
  *border = q - low < high - q ? low : high;
  return q != *border && fabs(q - *border) < near;
}

// difference of a logarithm of likelihood that means nothing: of exact data rounding
static const double ALIKE = 1e-3;

carom_status minimise_rest_at_borders(minimiser *m, carom_error *error) {
  carom_status status = CAROM_OK;
  for (int j = 0; j < m->sh->p && status == CAROM_OK; j++) {
    double border, rise;
    if (!border_near(m, j, &border)) continue;
    status = minimise_try(m, j, border, &rise, error);
    if (status == CAROM_OK && rise <= ALIKE) m->q[j] = border;
  }
  return status;
}

carom_status minimise_search_borders(minimiser *m, bool *moved, carom_error *error) {
  // a restitution of 0 has no derivative there, and descent stops before it, where the derivative
  // begins
  size_t p = (size_t)m->sh->p, states = (size_t)m->sh->piece_count * 2 * (size_t)m->sh->D;
  double *q = m->totals + m->sh->piece_count, border;
  carom_status status = CAROM_OK;
  *moved = false;
  for (int j = 0; j < m->sh->p && status == CAROM_OK; j++) {
    if (!border_near(m, j, &border)) continue;
    double before = m->cost;
    memcpy(q, m->q, sizeof(double) * p);
    memcpy(m->bests, m->starts, sizeof(double) * states);
    m->q[j] = border;
    status = minimise(m, error);
    bool better = status == CAROM_OK && m->cost <= before + (m->gain > 0 ? -m->gain : ALIKE);
    *moved = *moved || (better && m->cost < before);
    if (status == CAROM_NUMERICAL_FAILURE) status = CAROM_OK; // no motion there
    if (better || status != CAROM_OK) continue;
    memcpy(m->q, q, sizeof(double) * p);
    memcpy(m->starts, m->bests, sizeof(double) * states);
    m->cost = before;
  }
  return status;
}

/* ---- first states ---------------------------------------------------------------------------- */

/* What a piece costs with its joins, beside neighbours that stand where they are: `end` is its
 * own. */
static double total_of(minimiser *m, int i, const double *start, const double *end) {
  shooting *sh = m->sh;
  size_t row = 2 * (size_t)sh->D;
  double total = sh->piece_cost[i];
  if (sh->join <= 0) return total;
  bool first = i == sh->run_piece[sh->pieces[i].run];
  if (!first) total += shooting_join_cost(sh, m->ends + (size_t)(i - 1) * row, start);
  if (!sh->pieces[i].last) total += shooting_join_cost(sh, end, m->starts + (size_t)(i + 1) * row);
  return total;
}

// pieces that cost more than three times the usual
static int bad_pieces(minimiser *m) {
  const shooting *sh = m->sh;
  double *sorted = m->totals + 2 * sh->piece_count;
  memcpy(sorted, m->totals, sizeof(double) * (size_t)sh->piece_count);
  double usual = median(sorted, sh->piece_count);
  int count = 0;
  for (int i = 0; i < sh->piece_count; i++)
    if (m->totals[i] > 3 * usual) m->subset[count++] = i;
  return count;
}

/* Candidate `index` of a piece: the end before, or coordinate (index - 1) / 4 moved by 1.5 or 4
 * deviations to either side. False if there is none. */
static bool candidate(minimiser *m, int i, int index, double *start) {
  shooting *sh = m->sh;
  size_t row = 2 * (size_t)sh->D;
  memcpy(start, m->starts + (size_t)i * row, sizeof(double) * row);
  if (index == 0) {
    if (i == sh->run_piece[sh->pieces[i].run] || sh->join <= 0) return false;
    memcpy(start, m->ends + (size_t)(i - 1) * row, sizeof(double) * row);
    return true;
  }
  static const double moves[] = {1.5, -1.5, 4, -4};
  int coordinate = (index - 1) / 4;
  const double *B = sh->normals[i].start_by + (size_t)coordinate * row;
  double *z = m->dz, *dr = m->dz + sh->f, square = 0;
  measure_change(&sh->measure, start, start, B, dr);
  for (int k = 0; k < sh->measure.count; k++) {
    double part = dr[k] / sh->noise[sh->measure.channel[k]];
    square += part * part;
  }
  for (int k = 0; k < sh->f; k++) z[k] = 0;
  z[coordinate] = square > 0 ? moves[(index - 1) % 4] / sqrt(square) : 0;
  return tangent_move(&sh->tangent, start, z);
}

// the best of all candidates of each of the pieces in the subset
static carom_status best_candidates(minimiser *m, int count, carom_error *error) {
  shooting *sh = m->sh;
  size_t row = 2 * (size_t)sh->D;
  double *best = m->totals + sh->piece_count;
  memcpy(best, m->totals, sizeof(double) * (size_t)sh->piece_count);
  memcpy(m->bests, m->starts, sizeof(double) * row * (size_t)sh->piece_count);
  carom_status status = CAROM_OK;
  for (int index = 0; index < 1 + 4 * sh->f && status == CAROM_OK; index++) {
    double cost;
    memcpy(m->trial_starts, m->starts, sizeof(double) * row * (size_t)sh->piece_count);
    for (int k = 0; k < count; k++) {
      double *start = m->trial_starts + (size_t)m->subset[k] * row;
      if (!candidate(m, m->subset[k], index, start))
        memcpy(start, m->starts + (size_t)m->subset[k] * row, sizeof(double) * row);
    }
    status = shooting_evaluate(sh, m->q, m->trial_starts, m->subset, count, false, &cost, error);
    for (int k = 0; k < count && status == CAROM_OK && isfinite(cost); k++) {
      int i = m->subset[k];
      const double *start = m->trial_starts + (size_t)i * row;
      double total = total_of(m, i, start, sh->normals[i].end);
      if (!(total < best[i])) continue;
      best[i] = total;
      memcpy(m->bests + (size_t)i * row, start, sizeof(double) * row);
    }
  }
  return status;
}

carom_status minimise_search_states(minimiser *m, bool *moved, carom_error *error) {
  shooting *sh = m->sh;
  size_t row = 2 * (size_t)sh->D, all = sizeof(double) * row * (size_t)sh->piece_count;
  double cost;
  *moved = false;
  carom_status status = shooting_evaluate(sh, m->q, m->starts, NULL, 0, false, &cost, error);
  if (status != CAROM_OK || isinf(cost)) return status;
  for (int i = 0; i < sh->piece_count; i++)
    memcpy(m->ends + (size_t)i * row, sh->normals[i].end, sizeof(double) * row);
  for (int i = 0; i < sh->piece_count; i++)
    m->totals[i] = total_of(m, i, m->starts + (size_t)i * row, sh->normals[i].end);
  int count = bad_pieces(m);
  if (count == 0) return CAROM_OK;
  status = best_candidates(m, count, error);
  double after = INFINITY;
  if (status == CAROM_OK)
    status = shooting_evaluate(sh, m->q, m->bests, NULL, 0, false, &after, error);
  if (status != CAROM_OK || !(after < cost * (1 - 1e-6) - m->gain)) return status;
  memcpy(m->starts, m->bests, all);
  *moved = true;
  return CAROM_OK;
}
