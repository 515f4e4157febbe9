#include "fit/evaluation.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/vector.h"
#include "fit/residuals.h"
#include "fit/sides.h"
#include "rollout/rollout.h"
#include "system/system.h"

/* ---- scratch --------------------------------------------------------------------------------- */

size_t evaluation_size(const shooting *sh) {
  size_t B = (size_t)sh->batch, D = (size_t)sh->D, f = (size_t)sh->f, p = (size_t)sh->p;
  size_t C = f + p, m = (size_t)sh->measure.count;
  return B * 2 * D                                                       // x0, v0
         + B * 4 * D                                                     // x_bar, v_bar
         + B * 2 * D                                                     // x0_bar, v0_bar
         + B * f * 2 * D                                                 // L of each sample
         + B * f * (2 * D + p)                                           // rows
         + B * C * 2 * D                                                 // Y
         + (sh->one != NULL ? B * (1 + C) * 2 * D + (2 + C) * 2 * D : 0) // before, side
         + B * (1 + C) * m                                               // r, J of each sample
         + f * 2 * D + f * C + f * (2 * D + p) + 4 * m + C * m + 6 * D +
         (size_t)sh->system->parameter_count;
}

// no state may take another side
static bool is_strict(const shooting *sh) {
  if (sh->strict == NULL) return false;
  for (int i = 0; i < sh->piece_count; i++)
    if (sh->strict[i] < 1) return false;
  return true;
}

static evaluation evaluation_make(shooting *sh, const double *q, bool derivatives) {
  size_t B = (size_t)sh->batch, D = (size_t)sh->D, f = (size_t)sh->f, p = (size_t)sh->p;
  size_t C = f + p, m = (size_t)sh->measure.count;
  evaluation e = {.sh = sh,
                  .q = q,
                  .derivatives = derivatives,
                  .columns = sh->free_states ? (int)C : (int)p,
                  .first_q = sh->free_states ? (int)f : 0};
  double *at = sh->work;
  e.x0 = at, at += B * D;
  e.v0 = at, at += B * D;
  e.x_bar = at, at += B * 2 * D;
  e.v_bar = at, at += B * 2 * D;
  e.x0_bar = at, at += B * D;
  e.v0_bar = at, at += B * D;
  e.L = at, at += B * f * 2 * D;
  e.rows = at, at += B * f * (2 * D + p);
  e.Y = at, at += B * C * 2 * D;
  e.B = at, at += f * 2 * D;
  e.Z = at, at += f * C;
  e.r = at, at += B * m;
  e.J = at, at += B * C * m;
  e.other_r = at, at += m;
  e.other_J = at, at += C * m;
  e.weight = at, at += m;
  e.dr = at, at += m;
  e.state = at, at += 2 * D;
  e.sided = sh->one != NULL && sh->measured[CAROM_CHANNEL_VELOCITY] && !is_strict(sh);
  if (sh->one != NULL) {
    e.before = at, at += B * 2 * D;
    e.before_Y = at, at += B * C * 2 * D;
    e.side = at, at += 2 * D;
    e.dside = at, at += 2 * D;
    e.side_Y = at, at += C * 2 * D;
    mechanics_set_parameters(&sh->flight.mechanics, sh->theta);
  }
  e.side_rows = at, at += f * (2 * D + p);
  e.state_bar = at, at += 2 * D;
  e.start_bar = at, at += 2 * D;
  e.theta_bar = at, at += sh->system->parameter_count;
  sh->joining = at;
  return e;
}

void evaluation_state(const evaluation *e, int sample, double *s) {
  size_t D = (size_t)e->sh->D;
  memcpy(s, e->x0 + (size_t)sample * D, sizeof(double) * D);
  memcpy(s + D, e->v0 + (size_t)sample * D, sizeof(double) * D);
}

// the centre of a body moves along one of its axes, which y has
static void start_by_centre(const shooting *sh, const unknown *u, const double *y, double *to) {
  const body *b = &sh->system->bodies[u->body];
  int d = sh->system->dimension, first = b->first_point * d, tip = first + (u->axis + 1) * d;
  for (int k = 0; k < b->point_count; k++)
    for (int i = 0; i < d; i++) {
      to[first + k * d + i] = y[tip + i] - y[first + i];
      to[sh->D + first + k * d + i] = y[sh->D + tip + i] - y[sh->D + first + i];
    }
}

/* ds / dq of a measured first state: how things are measured moves it. */
static void start_by_unknowns(const evaluation *e, const double *y, double *Y) {
  const shooting *sh = e->sh;
  size_t row = 2 * (size_t)sh->D;
  int d = sh->system->dimension;
  memset(Y, 0, sizeof(double) * row * (size_t)sh->p);
  for (int j = 0; j < sh->p; j++) {
    const unknown *u = &sh->unknowns->items[j];
    double *to = Y + (size_t)j * row;
    if (u->kind == UNKNOWN_CENTRE) start_by_centre(sh, u, y, to);
    if (u->kind != UNKNOWN_SCALE && u->kind != UNKNOWN_SHIFT) continue;
    for (int pt = 0; pt < sh->system->point_count; pt++) {
      int centre = sh->system->bodies[sh->system->point_body[pt]].first_point;
      for (int i = 0; i < d; i++) {
        if (u->kind == UNKNOWN_SHIFT) {
          to[pt * d + i] = i == u->axis;
        } else {
          to[pt * d + i] = sh->measure.scale * y[centre * d + i];
          to[sh->D + pt * d + i] = sh->measure.scale * y[sh->D + centre * d + i];
        }
      }
    }
  }
}

static void begin_piece(evaluation *e, int sample, const double *starts) {
  shooting *sh = e->sh;
  int index = e->pieces[sample];
  size_t D = (size_t)sh->D, row = 2 * D;
  const double *y = sh->clean + (size_t)sh->pieces[index].first * row;
  if (sh->free_states)
    memcpy(e->state, starts + (size_t)index * row, sizeof(double) * row);
  else
    measure_invert(&sh->measure, y, e->state);
  memcpy(e->x0 + (size_t)sample * D, e->state, sizeof(double) * D);
  memcpy(e->v0 + (size_t)sample * D, e->state + D, sizeof(double) * D);
  sh->piece_cost[index] = sh->piece_square[index] = sh->side_gain[index] = 0;
  sh->piece_outliers[index] = 0;
  memset(sh->piece_channel + index * CAROM_CHANNEL_COUNT, 0, sizeof(double) * CAROM_CHANNEL_COUNT);
  if (!e->derivatives) return;
  piece_normal *n = &sh->normals[index];
  size_t f = (size_t)sh->f, p = (size_t)sh->p;
  double *Y = e->Y + (size_t)sample * (f + p) * row;
  memset(n->ss, 0, sizeof(double) * f * f);
  memset(n->sq, 0, sizeof(double) * f * p);
  memset(n->qq, 0, sizeof(double) * p * p);
  memset(n->gs, 0, sizeof(double) * f);
  memset(n->gq, 0, sizeof(double) * p);
  memset(n->by_channel, 0, sizeof(double) * CAROM_CHANNEL_COUNT * f * f);
  if (sh->free_states) {
    tangent_at(&sh->tangent, e->state, e->B, e->L + (size_t)sample * f * row);
    memcpy(Y, e->B, sizeof(double) * f * row);
    memset(Y + f * row, 0, sizeof(double) * p * row);
    memcpy(n->start_by, e->B, sizeof(double) * f * row);
  } else {
    start_by_unknowns(e, y, Y);
  }
}

/* ---- one step -------------------------------------------------------------------------------- */

static void note_contacts(evaluation *e, int sample, int at) {
  shooting *sh = e->sh;
  const piece *p = &sh->pieces[e->pieces[sample]];
  bool acted = carom_rollout_contacts(sh->rollout)[2 * sample + 1] != 0;
  if (at < p->count + !p->last) sh->struck[p->first + at] = acted;
  size_t contacts = (size_t)sh->system->contact_count;
  uint8_t *felt = sh->felt + (size_t)e->pieces[sample] * contacts;
  int impacts = carom_rollout_impact_count(sh->rollout, sample);
  for (int i = 0; i < impacts; i++) {
    carom_impact impact = carom_rollout_impact(sh->rollout, sample, i);
    for (int k = 0; k < impact.contact_count; k++) felt[impact.contacts[k]] = 1;
  }
  // contacts that only last leave no impact: any of them may have acted
  if (impacts == 0 && acted) memset(felt, 1, contacts);
}

/* rows [sample][f] of F_s and F_q, by a reverse pass for each coordinate; those of bodies that do
 * not feel each other share one. */
static carom_status reverse_rows(evaluation *e, carom_error *error) {
  shooting *sh = e->sh;
  size_t D = (size_t)sh->D, f = (size_t)sh->f, p = (size_t)sh->p;
  int passes = 0;
  for (int k = 0; k < e->active; k++) {
    int own = parts_split(&sh->parts, sh->rollout, k);
    passes = own > passes ? own : passes;
  }
  memset(e->x_bar, 0, sizeof(double) * (size_t)e->active * 2 * D);
  memset(e->v_bar, 0, sizeof(double) * (size_t)e->active * 2 * D);
  for (int pass = 0; pass < passes; pass++) {
    for (int k = 0; k < e->active; k++) {
      parts_seed(&sh->parts, k, pass, e->L + (size_t)k * f * 2 * D, e->state_bar);
      memcpy(e->x_bar + ((size_t)k * 2 + 1) * D, e->state_bar, sizeof(double) * D);
      memcpy(e->v_bar + ((size_t)k * 2 + 1) * D, e->state_bar + D, sizeof(double) * D);
    }
    carom_status status =
        carom_rollout_vjp(sh->rollout, e->x_bar, e->v_bar, e->x0_bar, e->v0_bar, NULL, error);
    if (status != CAROM_OK) return status;
    for (int k = 0; k < e->active; k++) {
      memcpy(e->start_bar, e->x0_bar + (size_t)k * D, sizeof(double) * D);
      memcpy(e->start_bar + D, e->v0_bar + (size_t)k * D, sizeof(double) * D);
      for (size_t i = 0; i < f; i++)
        if (sh->parts.slot[(size_t)k * f + i] == pass)
          parts_row(&sh->parts, sh->unknowns, e->q, k, (int)i, e->start_bar,
                    rollout_theta_bar(sh->rollout, k), e->rows + ((size_t)k * f + i) * (2 * D + p));
    }
  }
  return CAROM_OK;
}

void evaluation_carry(evaluation *e, const double *rows, const double *Y, double *after) {
  const shooting *sh = e->sh;
  size_t row = 2 * (size_t)sh->D, f = (size_t)sh->f, p = (size_t)sh->p;
  size_t columns = (size_t)e->columns, first = (size_t)e->first_q;
  for (size_t i = 0; i < f; i++) {
    const double *R = rows + i * (row + p);
    for (size_t c = 0; c < columns; c++)
      e->Z[i * columns + c] =
          vector_dot(R, Y + c * row, (int)row) + (c >= first ? R[row + c - first] : 0);
  }
  memset(after, 0, sizeof(double) * columns * row);
  for (size_t i = 0; i < f; i++)
    for (size_t c = 0; c < columns; c++) {
      double z = e->Z[i * columns + c];
      if (z == 0) continue;
      for (size_t k = 0; k < row; k++) after[c * row + k] += z * e->B[i * row + k];
    }
}

/* All samples one time step on, to state `at` of their pieces, with what hangs on them. */
static carom_status advance(evaluation *e, int at, carom_error *error) {
  shooting *sh = e->sh;
  size_t D = (size_t)sh->D, f = (size_t)sh->f, p = (size_t)sh->p;
  rollout_use_first(sh->rollout, e->active);
  for (int k = 0; k < e->active; k++) e->lengths[k] = shooting_step_length(sh, e->pieces[k], at);
  rollout_use_lengths(sh->rollout, sh->times != NULL ? e->lengths : NULL);
  carom_status status = carom_rollout_run(sh->rollout, sh->theta, e->x0, e->v0, error);
  if (status != CAROM_OK) return status;
  carom_report report = carom_rollout_report(sh->rollout);
  carom_report_add(&sh->report, &report);
  const double *x = carom_rollout_positions(sh->rollout),
               *v = carom_rollout_velocities(sh->rollout);
  for (int k = 0; k < e->active; k++) {
    if (sh->note_felt) note_contacts(e, k, at);
    sides_note(e, k);
    memcpy(e->x0 + (size_t)k * D, x + ((size_t)k * 2 + 1) * D, sizeof(double) * D);
    memcpy(e->v0 + (size_t)k * D, v + ((size_t)k * 2 + 1) * D, sizeof(double) * D);
    if (!e->derivatives) continue;
    evaluation_state(e, k, e->state);
    tangent_at(&sh->tangent, e->state, e->B, e->L + (size_t)k * f * 2 * D);
  }
  if (!e->derivatives) return CAROM_OK;
  status = reverse_rows(e, error);
  for (int k = 0; k < e->active && status == CAROM_OK; k++) {
    double *Y = e->Y + (size_t)k * (f + p) * 2 * D;
    evaluation_state(e, k, e->state);
    tangent_at(&sh->tangent, e->state, e->B, e->L + (size_t)k * f * 2 * D);
    evaluation_carry(e, e->rows + (size_t)k * f * (2 * D + p), Y, Y);
  }
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Time steps of a piece: to its own last state; pieces that are joined, or begin where it was
 * measured, go on to the first state of the next one. */
static int steps_of(const shooting *sh, int index) {
  const piece *p = &sh->pieces[index];
  if (sh->horizon < p->count) return sh->horizon - 1;
  bool further = !p->last && (!sh->free_states || (sh->join > 0 && sh->horizon == INT_MAX));
  return p->count - 1 + further;
}

static void keep_end(evaluation *e, int sample) {
  shooting *sh = e->sh;
  piece_normal *n = &sh->normals[e->pieces[sample]];
  size_t row = 2 * (size_t)sh->D, C = (size_t)(sh->f + sh->p);
  evaluation_state(e, sample, n->end);
  if (e->derivatives) memcpy(n->end_by, e->Y + (size_t)sample * C * row, sizeof(double) * C * row);
}

// a step of a piece that has led to its state `at`
static carom_status reach(evaluation *e, int sample, int at, carom_error *error) {
  shooting *sh = e->sh;
  const int index = e->pieces[sample], steps = steps_of(sh, index);
  const bool joined = sh->free_states && at == sh->pieces[index].count;
  carom_status status = CAROM_OK;
  if (e->pending[sample] >= 0 && e->struck[sample])
    status = sides_consider(e, sample, BRANCH_AFTER, error);
  residuals_settle(e, sample);
  if (at <= steps && !joined) {
    residuals_compare(e, sample, at);
    if (e->struck[sample] && status == CAROM_OK)
      status = sides_consider(e, sample, BRANCH_BEFORE, error);
    if (!e->sided) residuals_settle(e, sample);
  }
  if (at == steps && joined) keep_end(e, sample);
  return status;
}

/* A sample takes no further part; the last one that does takes its place. */
static void leave(evaluation *e, int sample) {
  const shooting *sh = e->sh;
  const size_t D = (size_t)sh->D, m = (size_t)sh->measure.count, k = (size_t)sample;
  const size_t last = (size_t)--e->active;
  if (k == last) return; // what derivatives need does not move: their pieces leave from behind
  const int left = e->pieces[k];
  e->pieces[k] = e->pieces[last];
  e->pieces[last] = left;
  memcpy(e->x0 + k * D, e->x0 + last * D, sizeof(double) * D);
  memcpy(e->v0 + k * D, e->v0 + last * D, sizeof(double) * D);
  memcpy(e->r + k * m, e->r + last * m, sizeof(double) * m);
  e->pending[k] = e->pending[last];
  e->lengths[k] = e->lengths[last];
  e->gain[k] = e->gain[last];
}

/* Does what a sample has cost up to its state `at` already tell that it is not wanted? */
static bool is_hopeless(const evaluation *e, int sample, int at) {
  const shooting *sh = e->sh;
  const int index = e->pieces[sample],
            settled = e->pending[sample] >= 0 ? e->pending[sample] : at + 1;
  if (sh->limit == NULL || e->derivatives) return false;
  double cost = sh->piece_cost[index], marked = sh->mark_cost[index];
  if (settled > sh->mark) cost = marked + sh->degree * (cost - marked);
  return cost > sh->limit[index];
}

// steps of a sample: an impact may follow the last state
static int steps_with_sides(const evaluation *e, int sample) {
  return steps_of(e->sh, e->pieces[sample]) + e->sided;
}

// longer pieces first
static void sort_pieces(evaluation *e) {
  for (int k = 1; k < e->count; k++)
    for (int i = k; i > 0 && steps_with_sides(e, i) > steps_with_sides(e, i - 1); i--) {
      const int longer = e->pieces[i];
      e->pieces[i] = e->pieces[i - 1];
      e->pieces[i - 1] = longer;
    }
}

// states of a batch from the first to the last
static carom_status run_batch(evaluation *e, const double *starts, carom_error *error) {
  shooting *sh = e->sh;
  sort_pieces(e);
  for (int k = 0; k < e->count; k++) {
    begin_piece(e, k, starts);
    e->pending[k] = -1;
    e->struck[k] = false;
    if (sh->free_states) residuals_compare(e, k, 0);
    if (!e->sided) residuals_settle(e, k);
  }
  carom_status status = CAROM_OK;
  e->active = e->count;
  while (e->active > 0 && steps_with_sides(e, e->active - 1) < 1) e->active--;
  for (int at = 1; e->active > 0 && status == CAROM_OK; at++) {
    status = advance(e, at, error);
    for (int k = 0; k < e->active && status == CAROM_OK; k++) status = reach(e, k, at, error);
    for (int k = e->active - 1; k >= 0; k--) {
      const bool hopeless = is_hopeless(e, k, at);
      if (hopeless) sh->piece_cost[e->pieces[k]] = INFINITY;
      if (hopeless || steps_with_sides(e, k) == at) leave(e, k);
    }
  }
  return status;
}

/* Ends of pieces beside the starts of the next ones. */
static double joins_cost(shooting *sh, const double *starts) {
  double cost = 0;
  for (int i = 0; i < sh->piece_count; i++)
    if (!sh->pieces[i].last)
      cost +=
          shooting_join_cost(sh, sh->normals[i].end, starts + (size_t)(i + 1) * 2 * (size_t)sh->D);
  return cost;
}

carom_status shooting_evaluate(shooting *sh, const double *q, const double *starts,
                               const int *subset, int subset_count, bool derivatives, double *cost,
                               carom_error *error) {
  int count = subset != NULL ? subset_count : sh->piece_count;
  *cost = INFINITY;
  sh->sums = (residual_sums){0};
  sh->report = (carom_report){0};
  sh->join_cost = 0;
  if (sh->note_felt)
    memset(sh->felt, 0, (size_t)sh->piece_count * (size_t)sh->system->contact_count);
  carom_parameters_default(sh->system, sh->theta);
  unknowns_put(sh->unknowns, q, sh->theta, &sh->measure);
  evaluation e = evaluation_make(sh, q, derivatives);
  double total = unknowns_prior(sh->unknowns, q);
  for (int at = 0; at < count; at += e.count) {
    e.count = count - at < sh->batch ? count - at : sh->batch;
    for (int k = 0; k < e.count; k++) e.pieces[k] = subset != NULL ? subset[at + k] : at + k;
    carom_status status = run_batch(&e, starts, error);
    if (status == CAROM_NUMERICAL_FAILURE || status == CAROM_INVALID_ARGUMENT ||
        status == CAROM_INVALID_DATA)
      return CAROM_OK; // an infinite cost; the error says what happened
    if (status != CAROM_OK) return status;
    for (int k = 0; k < e.count; k++) // those that were given up are not part of the sum
      if (sh->limit == NULL || isfinite(sh->piece_cost[e.pieces[k]]))
        total += sh->piece_cost[e.pieces[k]];
  }
  if (sh->free_states && sh->join > 0 && subset == NULL) {
    sh->join_cost = joins_cost(sh, starts);
    total += sh->join_cost;
  }
  if (isfinite(total)) *cost = total;
  return CAROM_OK;
}

carom_status shooting_try(shooting *sh, const double *q, const double *starts, const int *subset,
                          int subset_count, const double *ceiling, bool *there,
                          carom_error *error) {
  double cost;
  sh->limit = ceiling;
  carom_status status = shooting_evaluate(sh, q, starts, subset, subset_count, false, &cost, error);
  sh->limit = NULL;
  *there = isfinite(cost);
  return status;
}
