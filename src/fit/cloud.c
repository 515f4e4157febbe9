#include "fit/cloud.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/error.h"
#include "base/size.h"
#include "base/vector.h"
#include "system/system.h"

bool cloud_init(cloud *c, carom_fit *fit) {
  *c = (cloud){.fit = fit, .p = fit->unknowns.count, .samples = 2 * (fit->unknowns.count + 2)};
  size_t p = (size_t)c->p, N = (size_t)c->samples;
  c->q = size_allocate_zero(11 * p + 3 * p * p + N * (3 * p + 1), sizeof(double));
  c->theta = size_allocate((size_t)c->fit->system->parameter_count, sizeof(double));
  if (c->q == NULL || c->theta == NULL) return false;
  c->trial = c->q + p;
  c->best = c->trial + p;
  c->left = c->best + p;
  c->spread = c->left + p;
  c->gi = c->spread + p;
  c->step = c->gi + p;
  c->J = c->step + p; // three rows
  c->A = c->J + 3 * p;
  c->B = c->A + p * p;
  c->g = c->B + p * p;
  c->factor = c->g + p;
  c->at = c->factor + p * p;
  c->slopes = c->at + N * p;
  c->centred = c->slopes + N * p;
  c->losses = c->centred + N * p;
  for (int j = 0; j < c->p; j++) {
    c->q[j] = fit->minimiser.q[j];
    c->spread[j] = fit->unknowns.items[j].spread;
  }
  return true;
}

void cloud_free(cloud *c) {
  forecast_free(&c->forecast);
  free(c->residuals);
  free(c->q);
  free(c->theta);
}

/* ---- predictions at q ------------------------------------------------------------------------ */

static double mean_loss(const cloud *c, const double *residuals) {
  double sum = 0;
  for (int i = 0; i < c->forecast.count; i++) {
    double position, angle;
    forecast_errors(&c->forecast, residuals, i, &position, &angle);
    sum += position / c->usual[0] + (c->usual[1] > 0 ? angle / c->usual[1] : 0);
  }
  return sum / c->forecast.count;
}

// a trajectory is one piece of evidence, priors are what is known beside them
static double prior_loss(const cloud *c, const double *q) {
  double cost = 0, slope, curvature;
  for (int j = 0; j < c->p; j++)
    cost += unknown_prior(&c->fit->unknowns.items[j], q[j], &slope, &curvature);
  return cost / c->forecast.count;
}

/* The loss at q, infinite where motion cannot be computed. */
static carom_status predict(cloud *c, const double *q, double *residuals, double *loss,
                            carom_error *error) {
  carom_parameters_default(c->fit->system, c->theta);
  unknowns_put(&c->fit->unknowns, q, c->theta, &c->forecast.measure);
  carom_status status = forecast_run(&c->forecast, c->theta, residuals, error);
  *loss = INFINITY;
  if (status == CAROM_NUMERICAL_FAILURE || status == CAROM_INVALID_DATA) return CAROM_OK;
  if (status == CAROM_OK) *loss = mean_loss(c, residuals) + prior_loss(c, q);
  minimiser *m = &c->fit->minimiser;
  m->iterations++;
  if (status == CAROM_OK && m->progress != NULL && !m->progress(m->progress_user, m->iterations, 0))
    return error_set(error, CAROM_INTERRUPTED, "stopped after %d predictions", m->iterations);
  return status;
}

// means of distances and angles
static void set_usual(cloud *c, const double *residuals) {
  c->usual[0] = c->usual[1] = 0;
  for (int i = 0; i < c->forecast.count; i++) {
    double position, angle;
    forecast_errors(&c->forecast, residuals, i, &position, &angle);
    c->usual[0] += position / c->forecast.count;
    c->usual[1] += angle / c->forecast.count;
  }
  c->usual[0] = fmax(c->usual[0], 1e-12);
}

/* `count` of the fit's runs in `order`, by chance where they are not all. */
static void choose_runs(const carom_fit *fit, int count, rng *random, int *order) {
  int all = fit->run_count;
  for (int i = 0; i < all; i++) order[i] = i;
  for (int i = 0; i < count && count < all; i++) {
    int k = i + rng_below(random, all - i), kept = order[i];
    order[i] = order[k];
    order[k] = kept;
  }
}

/* Errors with the values that the fit began with are the unit of the loss. */
static carom_status set_unit(cloud *c, carom_error *error) {
  double loss, *scratch = c->residuals + (size_t)c->samples * c->n;
  c->usual[0] = c->usual[1] = 1;
  carom_status status = predict(c, c->fit->minimiser.q, scratch, &loss, error);
  if (status != CAROM_OK) return status;
  if (isinf(loss)) return error_prefix(error, "predictions at the start cannot be computed");
  set_usual(c, scratch);
  return CAROM_OK;
}

carom_status cloud_look(cloud *c, sight see, rng *random, carom_error *error) {
  const carom_fit *fit = c->fit;
  const int *flights = fit_flights(fit);
  int *order = size_allocate(4 * (size_t)fit->run_count, sizeof(int));
  if (order == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for predictions");
  int *first = order + fit->run_count, *states = first + see.count, *flight = states + see.count;
  choose_runs(fit, see.count, random, order);
  for (int k = 0; k < see.count; k++) {
    first[k] = fit->run_first[order[k]];
    states[k] = fit->run_states[order[k]];
    flight[k] = flights != NULL ? flights[order[k]] : 0;
  }
  forecast_free(&c->forecast);
  free(c->residuals);
  c->residuals = NULL;
  carom_status status =
      forecast_init(&c->forecast, fit->system, &fit->simulation, fit->data, fit->clean, fit->times,
                    see.count, first, states, flights != NULL ? flight : NULL, see.horizon, error);
  free(order);
  if (status != CAROM_OK) return status;
  c->n = c->forecast.place[c->forecast.count];
  c->residuals = size_allocate(size_multiply((size_t)c->samples + 1, c->n), sizeof(double));
  if (c->residuals == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d predictions of %d states",
                     c->samples, see.horizon);
  return set_unit(c, error);
}

/* ---- the cloud ------------------------------------------------------------------------------- */

static double bounded(const cloud *c, int j, double q) {
  return fmin(fmax(q, c->fit->minimiser.low[j]), c->fit->minimiser.high[j]);
}

/* Sides on which the first point of each pair lies: for unknown j c->slopes[j][pair], which is not
 * used yet. Two unknowns with the same sides could not be told apart: of a few draws the one that
 * is least like those of any unknown before. */
static void draw_sides(cloud *c, rng *random) {
  enum { DRAWS = 32 };
  int N = c->samples, pairs = N / 2;
  for (int j = 0; j < c->p; j++) {
    double *sides = c->slopes + j * N, *drawn = sides + pairs, least = INFINITY;
    for (int k = 0; k < DRAWS; k++) {
      double alike = 0;
      for (int i = 0; i < pairs; i++) drawn[i] = rng_below(random, 2) == 0 ? -1 : 1;
      for (int other = 0; other < j; other++)
        alike = fmax(alike, fabs(vector_dot(c->slopes + other * N, drawn, pairs)));
      if (alike >= least) continue;
      least = alike;
      memcpy(sides, drawn, sizeof(double) * (size_t)pairs);
    }
  }
}

/* Points about q, in pairs to both sides; those whose motion cannot be computed are drawn
 * nearer. */
static carom_status draw_cloud(cloud *c, rng *random, carom_error *error) {
  enum { ATTEMPTS = 6 };
  draw_sides(c, random);
  for (int s = 0; s < c->samples; s++) {
    double *at = c->at + (size_t)s * (size_t)c->p;
    for (int j = 0; j < c->p; j++) {
      double side = (s % 2 == 0 ? 1 : -1) * c->slopes[j * c->samples + s / 2];
      at[j] = bounded(c, j, c->q[j] + side * c->spread[j]);
    }
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      carom_status status = predict(c, at, c->residuals + (size_t)s * c->n, &c->losses[s], error);
      if (status != CAROM_OK) return status;
      if (isfinite(c->losses[s])) break;
      for (int j = 0; j < c->p; j++) at[j] = 0.5 * (at[j] + c->q[j]);
    }
    if (isinf(c->losses[s]))
      return error_prefix(error, "predictions about the present values cannot be computed");
  }
  return CAROM_OK;
}

/* slopes = (D' D + small)^-1 D' in units of the spreads, D the centred points. */
static bool regress(cloud *c) {
  int p = c->p, N = c->samples;
  double *DD = c->factor;
  memset(DD, 0, sizeof(double) * (size_t)(p * p));
  for (int j = 0; j < p; j++) {
    double mean = 0;
    for (int s = 0; s < N; s++) mean += c->at[s * p + j] / N;
    for (int s = 0; s < N; s++) c->centred[j * N + s] = (c->at[s * p + j] - mean) / c->spread[j];
  }
  for (int i = 0; i < p; i++)
    for (int j = 0; j < p; j++)
      DD[i * p + j] = vector_dot(c->centred + i * N, c->centred + j * N, N) + (i == j) * 1e-3;
  if (!dense_factor(p, DD)) return false;
  for (int s = 0; s < N; s++) {
    for (int j = 0; j < p; j++) c->step[j] = c->centred[j * N + s];
    dense_solve(p, DD, c->step);
    for (int j = 0; j < p; j++) c->slopes[j * N + s] = c->step[j];
  }
  return true;
}

/* Mean and slopes of one number over the cloud, in units of the spreads; `scatter` grows by its
 * variance about them. */
static double line(const cloud *c, size_t number, double *slope, double *scatter) {
  const int p = c->p, N = c->samples;
  double mean = 0;
  for (int j = 0; j < p; j++) slope[j] = 0;
  for (int s = 0; s < N; s++) {
    double r = c->residuals[(size_t)s * c->n + number];
    mean += r / N;
    for (int j = 0; j < p; j++) slope[j] += c->slopes[j * N + s] * r;
  }
  for (int s = 0; s < N; s++) {
    double off = c->residuals[(size_t)s * c->n + number] - mean;
    for (int j = 0; j < p; j++) off -= slope[j] * c->centred[j * N + s];
    *scatter += off * off / N;
  }
  return mean;
}

/* A += w J'J, g += w J'r of the numbers of one body's place or turn: w = 1 / |r|, where r has a
 * part that no line explains: motion that has become chaotic says nothing about q. */
static void add_group(cloud *c, size_t first, int count, double usual, double share) {
  const double SMALLEST = 0.1; // of the usual residual: below it squares are squares
  int p = c->p;
  double r[3], square = 0;
  for (int k = 0; k < count; k++) {
    r[k] = line(c, first + (size_t)k, c->J + k * p, &square);
    square += r[k] * r[k];
  }
  double w = share / (usual * fmax(sqrt(square), SMALLEST * usual));
  for (int k = 0; k < count; k++)
    for (int i = 0; i < p; i++) {
      double wJ = w * c->J[k * p + i];
      c->gi[i] += wJ * r[k];
      for (int j = 0; j <= i; j++) c->A[i * p + j] += wJ * c->J[k * p + j];
    }
}

// what is known beforehand is a piece of evidence of its own: its information is its variance
static void add_priors(cloud *c) {
  for (int j = 0; j < c->p; j++) {
    double slope, curvature, spread = c->spread[j];
    unknown_prior(&c->fit->unknowns.items[j], c->q[j], &slope, &curvature);
    c->g[j] += spread * slope;
    c->A[j * c->p + j] += spread * spread * curvature;
    c->B[j * c->p + j] += spread * spread * curvature;
  }
}

/* A = sum A_i, g = sum g_i, B = sum g_i g_i' over trajectories, each standing for those that are
 * not looked at. */
static void add_up(cloud *c) {
  const carom_system *s = c->fit->system;
  int p = c->p, d = s->dimension, turns = d == 2 ? 1 : 3, rigid = 0;
  memset(c->A, 0, sizeof(double) * (size_t)(2 * p * p + p)); // A, B, g
  for (int b = 0; b < s->body_count; b++) rigid += s->bodies[b].rigid;
  for (int i = 0; i < c->forecast.count; i++) {
    memset(c->gi, 0, sizeof(double) * (size_t)p);
    double share = 1.0 / (c->forecast.states[i] - 1);
    for (size_t at = c->forecast.place[i]; at < c->forecast.place[i + 1];)
      for (int b = 0; b < s->body_count; b++) {
        add_group(c, at, d, c->usual[0], share / s->body_count);
        at += (size_t)d;
        if (!s->bodies[b].rigid) continue;
        if (c->usual[1] > 0) add_group(c, at, turns, c->usual[1], share / rigid);
        at += (size_t)turns;
      }
    for (int a = 0; a < p; a++) {
      c->g[a] += c->gi[a];
      for (int b = 0; b < p; b++) c->B[a * p + b] += c->gi[a] * c->gi[b];
    }
  }
  for (int a = 0; a < p; a++)
    for (int b = a + 1; b < p; b++) c->A[a * p + b] = c->A[b * p + a];
  double standing_for = (double)c->fit->run_count / c->forecast.count;
  for (int k = 0; k < 2 * p * p + p; k++) c->A[k] *= standing_for;
  add_priors(c);
}

static double largest_diagonal(const cloud *c) {
  double most = 0;
  for (int j = 0; j < c->p; j++) most = fmax(most, c->A[j * c->p + j]);
  return most;
}

/* factor of A with a little of its diagonal, without the unknowns that stand at a border and press
 * on it */
static bool factor_A(cloud *c, double damping) {
  int p = c->p;
  double most = largest_diagonal(c);
  memcpy(c->factor, c->A, sizeof(double) * (size_t)(p * p));
  for (int j = 0; j < p; j++) {
    const minimiser *m = &c->fit->minimiser;
    bool held = (c->q[j] <= m->low[j] && c->g[j] > 0) || (c->q[j] >= m->high[j] && c->g[j] < 0);
    for (int k = 0; k < p && held; k++) c->factor[j * p + k] = c->factor[k * p + j] = 0;
    c->factor[j * p + j] += held ? 1e6 * most : damping * c->A[j * p + j] + 1e-9 * most;
  }
  return most > 0 && dense_factor(p, c->factor);
}

/* ---- one round ------------------------------------------------------------------------------- */

// keeps `q` where its loss is less
static carom_status attempt(cloud *c, const double *q, double *best, carom_error *error) {
  double there;
  carom_status status = predict(c, q, c->residuals + (size_t)c->samples * c->n, &there, error);
  if (status != CAROM_OK || !(there < *best)) return status;
  memcpy(c->best, q, sizeof(double) * (size_t)c->p);
  *best = there;
  return CAROM_OK;
}

/* The mean of the better quarter of the cloud, as evolution strategies take it: chance in the loss
 * of single points cancels. */
static carom_status try_better_quarter(cloud *c, double *best, carom_error *error) {
  int quarter = c->samples / 4, p = c->p;
  memset(c->trial, 0, sizeof(double) * (size_t)p);
  for (int s = 0; s < c->samples; s++) {
    int better = 0;
    for (int k = 0; k < c->samples; k++)
      better += c->losses[k] < c->losses[s] || (c->losses[k] == c->losses[s] && k < s);
    for (int j = 0; j < p && better < quarter; j++) c->trial[j] += c->at[s * p + j] / quarter;
  }
  return attempt(c, c->trial, best, error);
}

/* To the best of the Gauss-Newton step in parts and of the cloud's better quarter, by the loss
 * itself. */
static carom_status move(cloud *c, double *loss, carom_error *error) {
  static const double parts[] = {1, 0.5, 0.25};
  int p = c->p;
  memcpy(c->best, c->q, sizeof(double) * (size_t)p);
  carom_status status = try_better_quarter(c, loss, error);
  if (status != CAROM_OK) return status;
  if (!factor_A(c, 0.05)) return CAROM_OK;
  for (int j = 0; j < p; j++) c->step[j] = -c->g[j];
  dense_solve(p, c->factor, c->step);
  double longest = 1;
  for (int j = 0; j < p; j++) longest = fmax(longest, fabs(c->step[j]) / 3);
  bool fell = false;
  for (size_t k = 0; k < sizeof parts / sizeof parts[0] && status == CAROM_OK; k++) {
    const double before = *loss;
    for (int j = 0; j < p; j++)
      c->trial[j] = bounded(c, j, c->q[j] + parts[k] / longest * c->step[j] * c->spread[j]);
    status = attempt(c, c->trial, loss, error);
    if (fell && !(*loss < before)) break; // the part before was the right one
    fell = *loss < before;
  }
  memcpy(c->q, c->best, sizeof(double) * (size_t)p);
  return status;
}

/* Covariance of q in units of the spreads: A^-1 B A^-1 n / (n - 1), in c->B. */
static bool sandwich(cloud *c) {
  int p = c->p;
  double n = c->fit->run_count;
  if (!factor_A(c, 0)) return false;
  for (int pass = 0; pass < 2; pass++)
    for (int row = 0; row < p; row++) {
      // rows of B become A^-1 row; B is symmetric before, transposed in between
      dense_solve(p, c->factor, c->B + row * p);
      if (row < p - 1) continue;
      for (int i = 0; i < p; i++)
        for (int j = 0; j < i; j++) {
          double kept = c->B[i * p + j];
          c->B[i * p + j] = c->B[j * p + i];
          c->B[j * p + i] = kept;
        }
    }
  for (int k = 0; k < p * p; k++) c->B[k] *= n > 1 ? n / (n - 1) : 1;
  return true;
}

double cloud_deviation(const cloud *c, int j) {
  double variance = c->B[j * c->p + j];
  bool felt = c->A[j * c->p + j] > 1e-9 * largest_diagonal(c);
  return felt && variance >= 0 ? c->spread[j] * sqrt(variance) : INFINITY;
}

// what the cloud covers: derivatives of a chaotic loss, and with them deviations, are as short as
// the cloud is narrow
static double wanted_spread(const cloud *c, int j) {
  const double DEVIATIONS = 3;
  return DEVIATIONS * cloud_deviation(c, j);
}

void cloud_narrow(cloud *c) {
  const double FASTEST = 0.5;
  for (int j = 0; j < c->p; j++) {
    double now = c->spread[j], gone = fabs(c->q[j] - c->left[j]);
    c->spread[j] = fmax(fmin(fmax(wanted_spread(c, j), FASTEST * now), now), gone);
  }
}

bool cloud_is_narrow(const cloud *c) {
  const double ABOUT = 2;
  for (int j = 0; j < c->p; j++)
    if (c->spread[j] > ABOUT * wanted_spread(c, j)) return false;
  return true;
}

carom_status cloud_round(cloud *c, rng *random, double *before, double *after, bool *known,
                         carom_error *error) {
  *known = false;
  carom_status status = predict(c, c->q, c->residuals + (size_t)c->samples * c->n, before, error);
  *after = *before;
  if (status == CAROM_OK) status = draw_cloud(c, random, error);
  if (status != CAROM_OK || !regress(c)) return status;
  add_up(c);
  memcpy(c->left, c->q, sizeof(double) * (size_t)c->p);
  status = move(c, after, error);
  *known = status == CAROM_OK && sandwich(c);
  return status;
}

carom_status cloud_measure(cloud *c, rng *random, carom_error *error) {
  const double WIDER = 2;
  for (int j = 0; j < c->p; j++) c->spread[j] *= WIDER;
  carom_status status = draw_cloud(c, random, error);
  if (status != CAROM_OK) return status;
  const bool told = regress(c);
  if (told) add_up(c);
  if (!told || !sandwich(c)) // nothing is felt then, and deviations are infinite
    memset(c->A, 0, sizeof(double) * (size_t)(2 * c->p * c->p + c->p));
  return status;
}

carom_status cloud_errors(cloud *c, carom_error *error) {
  double *scratch = c->residuals + (size_t)c->samples * c->n, loss;
  carom_status status = predict(c, c->q, scratch, &loss, error);
  if (status == CAROM_OK) set_usual(c, scratch);
  return status;
}
