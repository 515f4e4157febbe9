#include "fit/judge.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/dense.h"
#include "base/error.h"
#include "base/size.h"
#include "learn/motion.h"
#include "system/system.h"

static const double QUANTILE = 1.959963984540054; // of 97.5 %
static const double DROP = 1.920729410347062; // of the log-likelihood at the ends of the interval

enum { ENOUGH_PIECES = 20 /* for a median over them */ };

/* ---- noise ----------------------------------------------------------------------------------- */

/* Mean square of a channel by the median over pieces. A sum of n normal squares has the median
 * n (1 - 2 / 9 n)^3 (Wilson and Hilferty). */
static double middle_square(const minimiser *m, int channel) {
  const shooting *sh = m->sh;
  double *values = m->trial_starts; // as many as pieces at least
  double each = fmax(1, (double)sh->sums.count[channel] / sh->piece_count),
         root = 1 - 2 / (9 * each);
  for (int i = 0; i < sh->piece_count; i++)
    values[i] = sh->piece_channel[i * CAROM_CHANNEL_COUNT + channel];
  int bodies = 0; // that have this channel: each adds its mean square
  for (int k = 0; k < sh->measure.count; k++)
    bodies += sh->measure.channel[k] == channel &&
              (k == 0 || sh->measure.group[k] != sh->measure.group[k - 1]);
  return median(values, sh->piece_count) / (bodies * root * root * root);
}

double judge_noise(minimiser *m, const bool *estimate, const double *floor) {
  const bool robust = m->sh->piece_count >= ENOUGH_PIECES && m->sh->huber > 0;
  shooting *sh = m->sh;
  normal_reduce(&m->normal, m->q, m->starts, 0, sh->free_states);
  int64_t all = 0;
  double change = 0;
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) all += sh->sums.count[c];
  for (int c = 0; c < CAROM_CHANNEL_COUNT; c++) {
    double count = (double)sh->sums.count[c];
    if (!estimate[c] || count == 0) continue;
    double left = count - m->normal.leverage[c] - sh->p * count / (double)all;
    double square = robust ? count * middle_square(m, c) : sh->sums.weighted[c];
    double noise = sqrt(square / fmax(left, 0.05 * count));
    noise = fmax(noise, floor[c]);
    change = fmax(change, fabs(log(noise / sh->noise[c])));
    sh->noise[c] = noise;
  }
  // joins need a size for velocities that are not measured
  if (!sh->measured[CAROM_CHANNEL_VELOCITY])
    sh->noise[CAROM_CHANNEL_VELOCITY] = sh->noise[CAROM_CHANNEL_POSITION] / sh->dt;
  if (!sh->measured[CAROM_CHANNEL_RATE])
    sh->noise[CAROM_CHANNEL_RATE] = sh->noise[CAROM_CHANNEL_ANGLE] / sh->dt;
  return change;
}

/* ---- notes ----------------------------------------------------------------------------------- */

carom_status verdict_note(verdict *v, bool warning, carom_error *error, const char *format, ...) {
  carom_fit_note *grown = realloc(v->notes, sizeof *grown * ((size_t)v->note_count + 1));
  if (grown == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a note");
  v->notes = grown;
  carom_fit_note *note = &v->notes[v->note_count++];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(note->text, sizeof note->text, format, arguments);
  va_end(arguments);
  note->warning = warning;
  return CAROM_OK;
}

void verdict_free(verdict *v) {
  free(v->estimates);
  free(v->correlation);
  free(v->notes);
  *v = (verdict){0};
}

/* ---- what is determined ---------------------------------------------------------------------- */

/* The information in natural units, by its eigenvectors. */
typedef struct spectrum {
  int p;
  double *matrix, *values, *vectors; /* [p][p], [p], rows [p][p] */
  double *covariance;   /* [p][p] of q, over the determined directions, or of a sample */
  const double *centre; /* [p] of the intervals */
  bool *open;           /* [p] directions that are not determined */
  bool *fixed;          /* [p] unknowns at a border that hold there */
} spectrum;

static bool spectrum_make(spectrum *s, int p) {
  size_t n = (size_t)p;
  *s = (spectrum){.p = p,
                  .matrix = size_allocate_zero(3 * n * n + n, sizeof(double)),
                  .open = size_allocate_zero(2 * n, sizeof(bool))};
  if (s->matrix == NULL || s->open == NULL) return false;
  s->vectors = s->matrix + n * n;
  s->covariance = s->vectors + n * n;
  s->values = s->covariance + n * n;
  s->fixed = s->open + n;
  return true;
}

static void spectrum_free(spectrum *s) {
  free(s->matrix);
  free(s->open);
}

static double natural_of(const minimiser *m, int j) { return m->sh->unknowns->items[j].natural; }

/* A direction is open if its deviation is more than a natural unit, or its information nothing
 * beside the largest: then rounding alone made it. */
static void decompose(const minimiser *m, spectrum *s) {
  int p = s->p;
  const double *S = m->normal.S;
  double usual = 1;
  for (int j = 0; j < p; j++) {
    double g = m->normal.gq[j];
    s->fixed[j] = (m->q[j] <= m->low[j] && g > 0) || (m->q[j] >= m->high[j] && g < 0);
    if (!s->fixed[j]) usual = fmax(usual, S[j * p + j] * natural_of(m, j) * natural_of(m, j));
  }
  for (int i = 0; i < p; i++)
    for (int j = 0; j < p; j++)
      s->matrix[i * p + j] = s->fixed[i] || s->fixed[j]
                                 ? (i == j) * usual
                                 : S[i * p + j] * natural_of(m, i) * natural_of(m, j);
  dense_eigen(p, s->matrix, s->values, s->vectors);
  double largest = p > 0 ? s->values[p - 1] : 0;
  for (int k = 0; k < p; k++) {
    s->open[k] = s->values[k] < 1 || s->values[k] < 1e-12 * largest;
    for (int i = 0; i < p && !s->open[k]; i++)
      for (int j = 0; j < p; j++)
        s->covariance[i * p + j] += s->vectors[k * p + i] * s->vectors[k * p + j] / s->values[k] *
                                    natural_of(m, i) * natural_of(m, j);
  }
}

// part of an unknown in the directions that are open
static double openness(const spectrum *s, int j) {
  double sum = 0;
  for (int k = 0; k < s->p; k++)
    if (s->open[k]) sum += s->vectors[k * s->p + j] * s->vectors[k * s->p + j];
  return sum;
}

/* ---- estimates ------------------------------------------------------------------------------- */

static bool add_estimate(verdict *v, const carom_fit_estimate *e) {
  if (v->count == v->capacity) {
    int capacity = 2 * v->capacity + 8;
    carom_fit_estimate *grown = realloc(v->estimates, sizeof *grown * (size_t)capacity);
    if (grown == NULL) return false;
    v->estimates = grown;
    v->capacity = capacity;
  }
  v->estimates[v->count++] = *e;
  return true;
}

static const double OPEN = 1e-3; // of an unknown's unit vector in open directions

/* At a border the cost rises by its slope and curvature: g t + S t^2 / 2 = DROP. */
static double reach(const minimiser *m, int j) {
  double g = fabs(m->normal.gq[j]), S = m->normal.S[j * m->sh->p + j];
  if (S <= 0 && g <= 0) return INFINITY;
  return S > 0 ? 2 * DROP / (g + sqrt(g * g + 2 * S * DROP)) : DROP / g;
}

static carom_fit_estimate estimate_of(const minimiser *m, const spectrum *s, int j) {
  const unknown *u = &m->sh->unknowns->items[j];
  double q = s->centre[j], sd = sqrt(s->covariance[j * s->p + j]);
  carom_fit_estimate e = {.value = unknown_value(u, q), .start = u->start, .scene = u->scene};
  snprintf(e.name, sizeof e.name, "%s", u->name);
  e.at_border = s->fixed[j];
  e.determined = openness(s, j) < OPEN;
  double below = q - QUANTILE * sd, above = q + QUANTILE * sd;
  if (e.at_border) {
    double far = reach(m, j);
    below = q <= m->low[j] ? q : q - far;
    above = q <= m->low[j] ? q + far : q;
    sd = 0;
    e.determined = far < u->natural;
  }
  e.deviation = e.determined ? sd * unknown_slope(u, q) : INFINITY;
  e.low = e.determined ? fmax(unknown_value(u, below), u->low) : u->low;
  e.high = e.determined ? fmin(unknown_value(u, above), u->high) : u->high;
  return e;
}

// masses of which only ratios are known: those by the first one
static bool add_ratio(const minimiser *m, const spectrum *s, verdict *v, int first, int j) {
  const unknown *a = &m->sh->unknowns->items[first], *b = &m->sh->unknowns->items[j];
  int p = s->p;
  double open = 0;
  for (int k = 0; k < p; k++)
    if (s->open[k]) {
      double part = s->vectors[k * p + j] - s->vectors[k * p + first];
      open += part * part;
    }
  if (open > OPEN) return true;
  const double *C = s->covariance;
  double sd = sqrt(fmax(0, C[j * p + j] - 2 * C[j * p + first] + C[first * p + first]));
  double ratio = exp(s->centre[j] - s->centre[first]);
  carom_fit_estimate e = {.value = ratio,
                          .deviation = ratio * sd,
                          .low = ratio * exp(-QUANTILE * sd),
                          .high = ratio * exp(QUANTILE * sd),
                          .start = b->start / a->start,
                          .scene = b->scene / a->scene,
                          .determined = true,
                          .derived = true};
  snprintf(e.name, sizeof e.name, "%.44s/%.44s", b->name, a->name);
  return add_estimate(v, &e);
}

static bool add_ratios(const minimiser *m, const spectrum *s, verdict *v) {
  int first = -1;
  for (int j = 0; j < s->p; j++) {
    if (m->sh->unknowns->items[j].segment != CAROM_LOG_MASS || openness(s, j) < OPEN) continue;
    if (first < 0)
      first = j;
    else if (!add_ratio(m, s, v, first, j))
      return false;
  }
  return true;
}

/* ---- what is not determined, in words -------------------------------------------------------- */

static bool is_felt(const minimiser *m, int j) {
  const shooting *sh = m->sh;
  const unknown *u = &sh->unknowns->items[j];
  size_t contacts = (size_t)sh->system->contact_count;
  for (int i = 0; i < sh->piece_count; i++)
    for (int k = 0; k < u->entry_count; k++)
      if (sh->felt[(size_t)i * contacts +
                   (size_t)(u->entries[k] - sh->system->segments[u->segment].offset)])
        return true;
  return false;
}

/* The same with all else following, which goes further: from `end` towards the border. */
static carom_status further_end(minimiser *m, int j, double border, double *end,
                                carom_error *error) {
  enum { TRIALS = 6 };
  double inside = *end, outside = border, rise;
  carom_status status = minimise_profile(m, j, border, &rise, error);
  if (status == CAROM_OK && rise < DROP) inside = border;
  for (int k = 0; k < TRIALS && status == CAROM_OK && inside != border; k++) {
    double middle = 0.5 * (inside + outside);
    status = minimise_profile(m, j, middle, &rise, error);
    *(rise < DROP ? &inside : &outside) = middle;
  }
  *end = inside;
  return status;
}

/* How far one property can go towards a border before the data speaks against it; the border itself
 * where it never does. */
static carom_status far_end(minimiser *m, int j, double border, double *end, carom_error *error) {
  double inside = m->q[j], outside = border, difference;
  carom_status status = minimise_try(m, j, border, &difference, error);
  *end = border;
  if (status != CAROM_OK || difference < DROP) return status;
  for (int k = 0; k < 40 && status == CAROM_OK; k++) {
    double middle = 0.5 * (inside + outside);
    status = minimise_try(m, j, middle, &difference, error);
    *(difference < DROP ? &inside : &outside) = middle;
  }
  *end = inside;
  return m->sh->free_states && status == CAROM_OK ? further_end(m, j, border, end, error) : status;
}

/* A property without information at its value: the contact never acts, or acts so that its
 * derivative is zero there (it sticks; a restitution that penetration outweighs). What the data
 * says against other values is found by trying them, where first states need not come from
 * elsewhere. */
static carom_status explain_property(minimiser *m, const posterior *sample, verdict *v, int j,
                                     carom_error *error) {
  const unknown *u = &m->sh->unknowns->items[j];
  carom_fit_estimate *e = &v->estimates[j];
  if (!is_felt(m, j))
    return verdict_note(v, true, error,
                        "%s is not determined: the contact never acts in the data. Its value is "
                        "where the search began",
                        u->name);
  if (sample != NULL && sample->others > 0)
    return verdict_note(v, true, error,
                        "%s is not determined: it does not matter in the motion that explains the "
                        "data best, but in others that do so nearly as well",
                        u->name);
  double highest = fmin(m->high[j], 10 * fmax(1, m->q[j])), low, high;
  carom_status status = far_end(m, j, m->low[j], &low, error);
  if (status == CAROM_OK) status = far_end(m, j, highest, &high, error);
  if (status != CAROM_OK) return status;
  bool bounded_below = low > m->low[j] || m->q[j] <= m->low[j];
  bool bounded_above = high < highest || m->q[j] >= m->high[j];
  e->low = low;
  if (bounded_above) e->high = high;
  e->at_border = m->q[j] <= m->low[j] || m->q[j] >= m->high[j];
  if ((bounded_below && bounded_above) || high - low < 0.5 * u->natural) {
    e->determined = true;
    e->high = high;
    e->deviation = 0.5 * (high - low) / QUANTILE;
    return verdict_note(
        v, false, error,
        "%s has no derivative at its value; its interval was found by trying others", u->name);
  }
  if (bounded_below && u->segment == CAROM_FRICTION)
    return verdict_note(v, true, error,
                        "%s has a lower bound alone: from %.3g on everything sticks, and every "
                        "larger value explains the data as well",
                        u->name, low);
  if (bounded_below != bounded_above)
    return verdict_note(v, true, error, "%s has %s bound alone, %.3g", u->name,
                        bounded_below ? "a lower" : "an upper", bounded_below ? low : high);
  return verdict_note(v, true, error, "%s is not determined: no value of it changes the fit",
                      u->name);
}

static bool is_of_contacts(const unknown *u) {
  return u->segment == CAROM_FRICTION || u->segment == CAROM_RESTITUTION;
}

/* One open direction: its unknowns by name. */
static carom_status explain(minimiser *m, const spectrum *s, const posterior *sample, verdict *v,
                            int k, carom_error *error) {
  const unknown_list *list = m->sh->unknowns;
  char names[240] = "";
  int count = 0, only = -1, masses = 0;
  for (int j = 0; j < s->p; j++) {
    if (fabs(s->vectors[k * s->p + j]) < 0.05) continue;
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", count > 0 ? ", " : "", list->items[j].name);
    masses += list->items[j].segment == CAROM_LOG_MASS;
    only = j;
    count++;
  }
  if (count == 1 && is_of_contacts(&list->items[only]))
    return explain_property(m, sample, v, only, error);
  if (count == 1)
    return verdict_note(v, true, error, "%s is not determined: the motion does not depend on it",
                        names);
  if (masses == count)
    return verdict_note(v, false, error,
                        "%s are known by their ratios alone: motion does not "
                        "depend on their common scale",
                        names);
  return verdict_note(v, true, error,
                      "%s are not determined one by one: one combination of them leaves the motion "
                      "as it is. Make one of them known, or give it a prior",
                      names);
}

/* ---- profiles -------------------------------------------------------------------------------- */

/* How far an unknown can go from its border until the least cost, all else following, has risen by
 * DROP: steps of a secant on the root of the rise, which is straight where the cost is a
 * parabola. */
static carom_status profile_reach(minimiser *m, int j, double guess, double *far,
                                  carom_error *error) {
  enum { TRIALS = 6 };
  const double q = m->q[j], side = q <= m->low[j] ? 1 : -1;
  const double most = side > 0 ? m->high[j] - q : q - m->low[j];
  double reach = fmin(guess, most), rise;
  for (int k = 0; k < TRIALS; k++) {
    carom_status status = minimise_profile(m, j, q + side * reach, &rise, error);
    if (status != CAROM_OK) return status;
    *far = reach;
    if (fabs(rise - DROP) < 0.1 * DROP || (reach >= most && rise < DROP)) break;
    double factor = isfinite(rise) && rise > 0 ? sqrt(DROP / rise) : isfinite(rise) ? 3 : 0.3;
    reach = fmin(reach * fmin(fmax(factor, 0.2), 5), most);
  }
  return CAROM_OK;
}

/* Unknowns at a border have a quadratic interval only if slope and curvature there tell what is
 * beyond; the profile needs no such thing. Not of exact data, whose cost has no scale, and not of
 * many unknowns: it is dear. */
static carom_status profile_borders(minimiser *m, verdict *v, carom_error *error) {
  enum { FEW = 6 };
  int p = m->sh->p, count = 0;
  carom_status status = CAROM_OK;
  for (int j = 0; j < p; j++) count += v->estimates[j].at_border && v->estimates[j].determined;
  if (!m->sh->free_states || count == 0 || count > FEW) return CAROM_OK;
  for (int j = 0; j < p && status == CAROM_OK; j++) {
    carom_fit_estimate *e = &v->estimates[j];
    const unknown *u = &m->sh->unknowns->items[j];
    if (!e->at_border || !e->determined) continue;
    bool lowest = m->q[j] <= m->low[j];
    double end = unknown_coordinate(u, lowest ? e->high : e->low), far = 0;
    status = profile_reach(m, j, fabs(end - m->q[j]), &far, error);
    if (status != CAROM_OK) break;
    if (lowest)
      e->high = unknown_value(u, m->q[j] + far);
    else
      e->low = unknown_value(u, m->q[j] - far);
    e->profiled = true;
  }
  double cost; // derivatives and sums where the estimate is
  return status == CAROM_OK ? shooting_evaluate(m->sh, m->q, m->starts, NULL, 0, true, &cost, error)
                            : status;
}

/* ---- other valleys --------------------------------------------------------------------------- */

/* What the curvature at the minimum says of the cost at a rival's place. */
static double expected_rise(const minimiser *m, const double *q) {
  const int p = m->sh->p;
  double rise = 0;
  for (int i = 0; i < p; i++)
    for (int j = 0; j < p; j++)
      rise += 0.5 * (q[i] - m->q[i]) * m->normal.S[i * p + j] * (q[j] - m->q[j]);
  return rise;
}

/* How far a rival's interval reaches from its place, in deviations: to where its own parabola is at
 * DROP, if its cost is so much less than this valley allows there that it is the floor of another
 * one; else it is a place on the slope of this one. */
static double rival_reach(const minimiser *m, const double *rival) {
  const double APART = 0.5; // of the cost
  const double above = fmax(rival[0] - m->cost, 0);
  return expected_rise(m, rival + 1) > above + APART ? sqrt(2 * (DROP - above)) : 0;
}

/* Intervals cover every place that the search has met whose cost 95 % allow, and valleys about them
 * as far as they are as likely: one valley's curvature does not know of the others. */
static carom_status cover_rivals(const minimiser *m, const spectrum *s, verdict *v,
                                 carom_error *error) {
  const int p = m->sh->p;
  carom_status status = CAROM_OK;
  for (int j = 0; j < p && status == CAROM_OK; j++) {
    carom_fit_estimate *e = &v->estimates[j];
    const unknown *u = &m->sh->unknowns->items[j];
    const double low = e->low, high = e->high, sd = sqrt(s->covariance[j * p + j]);
    for (int k = 0; k < m->rival_count && e->determined; k++) {
      const double *rival = m->rivals + (size_t)k * (size_t)(1 + p);
      if (rival[0] > m->cost + DROP) continue;
      const double reach = e->at_border ? 0 : rival_reach(m, rival) * sd, q = rival[1 + j];
      e->low = fmin(e->low, fmax(unknown_value(u, q - reach), u->low));
      e->high = fmax(e->high, fmin(unknown_value(u, q + reach), u->high));
    }
    if (e->low < low || e->high > high)
      status = verdict_note(v, false, error,
                            "%s: the interval covers another valley of the cost, which the data "
                            "does not tell from the best one",
                            e->name);
  }
  return status;
}

/* Value and deviation of a sample; the interval covers both its own and that of the curvature about
 * the least cost: a sample may know one order of impacts alone, and the least cost another. What
 * the sample leaves open by more than a natural unit is not determined. */
static carom_status use_sample(const minimiser *m, const posterior *sample, spectrum *s, verdict *v,
                               carom_error *error) {
  carom_status status = CAROM_OK;
  s->centre = sample->mean;
  memcpy(s->covariance, sample->covariance, sizeof(double) * (size_t)(s->p * s->p));
  for (int j = 0; j < s->p && status == CAROM_OK; j++) {
    const carom_fit_estimate by_curvature = v->estimates[j];
    carom_fit_estimate *e = &v->estimates[j];
    *e = estimate_of(m, s, j);
    e->low = fmin(e->low, by_curvature.low);
    e->high = fmax(e->high, by_curvature.high);
    const bool wide = s->covariance[j * s->p + j] > natural_of(m, j) * natural_of(m, j);
    if (!e->determined || !wide || e->at_border) continue;
    e->determined = false;
    e->deviation = INFINITY;
    status = verdict_note(v, true, error,
                          "%s is not determined: orders of impacts that explain the data as well "
                          "ask for values far apart. Its value is that of the least cost",
                          e->name);
  }
  return status;
}

static carom_status note_sample(const posterior *sample, verdict *v, carom_error *error) {
  carom_status status = CAROM_OK;
  if (sample->others > 0)
    status = verdict_note(
        v, false, error,
        "%d other place%s of the unknowns explain%s the data nearly as well as the "
        "best one, with other orders of impacts; deviations and intervals span "
        "all of them",
        sample->others, sample->others == 1 ? "" : "s", sample->others == 1 ? "s" : "");
  if (status != CAROM_OK) return status;
  if (sample->count > 0)
    return verdict_note(v, false, error,
                        "the likelihood is not normal: impacts may come in other orders, or in "
                        "other time steps, within the noise. Values and deviations are those of %d "
                        "draws from it; intervals cover those of its maximum, too",
                        sample->count);
  return verdict_note(
      v, true, error,
      "the likelihood is not normal (%.0f %% of drawings about its maximum fit much "
      "worse than they should) and could not be sampled: there are more than 16 "
      "trajectories, or not all impacts can be where they were measured. Intervals "
      "may be too short; fit some of them (--use), or check radii and planes",
      100 * sample->roughness);
}

carom_status judge(minimiser *m, const posterior *sample, verdict *v, carom_error *error) {
  const bool sampled = sample != NULL && sample->count > 0;
  spectrum s;
  int p = m->sh->p;
  carom_status status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the result");
  bool ready = spectrum_make(&s, p);
  v->correlation = size_allocate_zero((size_t)(p * p), sizeof(double));
  if (ready && v->correlation != NULL) {
    normal_reduce(&m->normal, m->q, m->starts, 0, false);
    s.centre = m->q;
    decompose(m, &s);
    for (int j = 0; j < p && ready; j++) {
      carom_fit_estimate e = estimate_of(m, &s, j);
      ready = add_estimate(v, &e);
    }
    if (ready) status = error_clear(error);
    if (ready && sampled) status = use_sample(m, sample, &s, v, error);
    if (status == CAROM_OK && !add_ratios(m, &s, v))
      status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the result");
    for (int i = 0; i < p; i++)
      for (int j = 0; j < p; j++) {
        double size = sqrt(s.covariance[i * p + i] * s.covariance[j * p + j]);
        v->correlation[i * p + j] = size > 0 ? s.covariance[i * p + j] / size : i == j;
      }
    for (int k = 0; k < p && status == CAROM_OK; k++)
      if (s.open[k]) status = explain(m, &s, sample, v, k, error);
    if (status == CAROM_OK) status = profile_borders(m, v, error);
    if (status == CAROM_OK) status = cover_rivals(m, &s, v, error);
    if (status == CAROM_OK && sample != NULL && sample->rough)
      status = note_sample(sample, v, error);
  }
  spectrum_free(&s);
  return status;
}
