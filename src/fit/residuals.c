#include "fit/residuals.h"

#include <math.h>

#include "base/vector.h"

/* Weights of the robust loss for each number, times 1 / noise^2; adds to cost and sums. */
static void weigh(evaluation *e, int index, const double *r, double *weight) {
  shooting *sh = e->sh;
  const measure *m = &sh->measure;
  bool outlier = false;
  for (int at = 0; at < m->count;) {
    int end = at, channel = m->channel[at];
    double square = 0, noise = sh->noise[channel];
    while (end < m->count && m->group[end] == m->group[at]) {
      square += r[end] * r[end];
      end++;
    }
    double size = sqrt(square) / noise, w = 0;
    if (sh->measured[channel]) {
      bool far = sh->huber > 0 && size > sh->huber;
      w = far ? sh->huber / size : 1;
      sh->piece_cost[index] += far ? sh->huber * (size - 0.5 * sh->huber) : 0.5 * size * size;
      sh->piece_square[index] += size * size;
      outlier = outlier || far;
      sh->sums.square[channel] += square;
      sh->piece_channel[index * CAROM_CHANNEL_COUNT + channel] +=
          square / ((end - at) * fmin(sh->horizon, sh->pieces[index].count));
      sh->sums.weighted[channel] += w * square;
      sh->sums.count[channel] += end - at;
    }
    for (; at < end; at++) weight[at] = w / (noise * noise);
  }
  sh->piece_outliers[index] += outlier;
}

/* J [columns][count] of the residuals at the state s. */
void residuals_rows(const evaluation *e, const double *s, const double *y, const double *Y,
                    double *J) {
  const shooting *sh = e->sh;
  int m = sh->measure.count;
  size_t row = 2 * (size_t)sh->D;
  for (int c = 0; c < e->columns; c++)
    measure_change(&sh->measure, s, y, Y + (size_t)c * row, J + (size_t)c * (size_t)m);
  for (int j = 0; j < sh->p; j++) {
    const unknown *u = &sh->unknowns->items[j];
    if (u->kind < UNKNOWN_SCALE) continue;
    if (u->kind == UNKNOWN_SCALE)
      measure_by_scale(&sh->measure, s, e->dr);
    else if (u->kind == UNKNOWN_CENTRE)
      measure_by_centre(&sh->measure, u->body, u->axis, s, e->dr);
    else
      measure_by_shift(&sh->measure, u->axis, e->dr);
    double *to = J + (size_t)(e->first_q + j) * (size_t)m;
    for (int i = 0; i < m; i++) to[i] += e->dr[i];
  }
}

// normal equations += J W J', J W r
static void add_normal(const evaluation *e, piece_normal *n, const double *r, const double *J,
                       const double *weight) {
  const shooting *sh = e->sh;
  int m = sh->measure.count, f = e->first_q, p = sh->p;
  for (int a = 0; a < e->columns; a++) {
    const double *Ja = J + (size_t)a * (size_t)m;
    double g = 0;
    for (int i = 0; i < m; i++) {
      e->dr[i] = weight[i] * Ja[i];
      g += e->dr[i] * r[i];
    }
    if (a < f)
      n->gs[a] += g;
    else
      n->gq[a - f] += g;
    for (int b = 0; b < e->columns; b++) {
      if (a < f && b < f && b > a) continue; // symmetric
      if (a >= f && b < f) continue;
      double sum = vector_dot(e->dr, J + (size_t)b * (size_t)m, m);
      if (b < f)
        n->ss[a * f + b] += sum;
      else if (a < f)
        n->sq[a * p + b - f] += sum;
      else
        n->qq[(a - f) * p + b - f] += sum;
    }
    // parts of each channel, for how many numbers the first states take up
    for (int b = 0; a < f && b <= a; b++)
      for (int i = 0; i < m; i++)
        n->by_channel[(sh->measure.channel[i] * f + a) * f + b] +=
            e->dr[i] * J[(size_t)b * (size_t)m + (size_t)i];
  }
}

// what the numbers of one unit cost
double residuals_unit_cost(const shooting *sh, const double *r, int unit) {
  const measure *m = &sh->measure;
  double cost = 0;
  for (int at = 0; at < m->count;) {
    int first = at;
    double square = 0, noise = sh->noise[m->channel[at]];
    for (; at < m->count && m->group[at] == m->group[first]; at++) square += r[at] * r[at];
    if (sh->unit[first] != unit || !sh->measured[m->channel[first]]) continue;
    double size = sqrt(square) / noise;
    bool far = sh->huber > 0 && size > sh->huber;
    cost += far ? sh->huber * (size - 0.5 * sh->huber) : 0.5 * size * size;
  }
  return cost;
}

// what was kept of a state goes into cost and normal equations
void residuals_settle(evaluation *e, int sample) {
  shooting *sh = e->sh;
  int index = e->pieces[sample];
  size_t m = (size_t)sh->measure.count, C = (size_t)(sh->f + sh->p);
  if (e->pending[sample] < 0) return;
  if (e->pending[sample] == sh->mark) sh->mark_cost[index] = sh->piece_cost[index];
  e->pending[sample] = -1;
  sh->side_gain[index] += e->gain[sample];
  if (sh->strict != NULL) sh->piece_cost[index] += sh->strict[index] * e->gain[sample];
  weigh(e, index, e->r + (size_t)sample * m, e->weight);
  if (e->derivatives)
    add_normal(e, &sh->normals[index], e->r + (size_t)sample * m, e->J + (size_t)sample * C * m,
               e->weight);
}

/* State `at` of a piece beside its prediction. */
void residuals_compare(evaluation *e, int sample, int at) {
  shooting *sh = e->sh;
  int index = e->pieces[sample];
  size_t row = 2 * (size_t)sh->D, m = (size_t)sh->measure.count, C = (size_t)(sh->f + sh->p);
  const double *y = sh->data + (size_t)(sh->pieces[index].first + at) * row;
  evaluation_state(e, sample, e->state);
  measure_residual(&sh->measure, e->state, y, e->r + (size_t)sample * m);
  if (e->derivatives)
    residuals_rows(e, e->state, y, e->Y + (size_t)sample * C * row, e->J + (size_t)sample * C * m);
  e->pending[sample] = at;
  e->gain[sample] = 0;
}
