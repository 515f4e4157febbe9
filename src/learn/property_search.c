#include "learn/property_search.h"

#include "base/error.h"
#include "base/size.h"
#include "learn/golden_section.h"
#include "learn/model.h"
#include "learn/pooling.h"
#include "learn/properties.h"
#include "learn/simplex.h"
#include "learn/touch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chunks that values are tried on: at most, enough to tell one minimum from another, and at least,
 * where there are as many. */
enum { MOST_TRIED = 100, LEAST_TRIED = 8 };

/* Values that are tried, in their order; the best one is refined between its neighbours. Apart from
 * the ends they are no round numbers, of which scenes are full: what is found is found by the data. */
static const double FRICTIONS[] = {0,    0.03, 0.07, 0.13, 0.23, 0.37,
                                   0.53, 0.72, 0.94, 1.27, 1.72, 2.23};
static const double RESTITUTIONS[] = {0,        1 / 11.0, 2 / 11.0, 3 / 11.0, 4 / 11.0,  5 / 11.0,
                                      6 / 11.0, 7 / 11.0, 8 / 11.0, 9 / 11.0, 10 / 11.0, 1};
enum {
  FRICTION_TRIALS = sizeof FRICTIONS / sizeof FRICTIONS[0],
  RESTITUTION_TRIALS = sizeof RESTITUTIONS / sizeof RESTITUTIONS[0]
};

/* Factors on the scale of mass, and on 1 + e of restitutions beside each of them. */
static const double SCALES[] = {0.1, 0.3, 0.6, 1.7, 3.3};
static const double BOUNCES[] = {0.8, 0.94, 1.06, 1.25};
enum {
  SCALE_TRIALS = sizeof SCALES / sizeof SCALES[0],
  BOUNCE_TRIALS = sizeof BOUNCES / sizeof BOUNCES[0]
};

/* A move must lower the loss to this part of what it was: descent does the rest better. */
static const double CLEAR_GAIN = 0.95;

/* ---- what the parts of a search share -------------------------------------------------------- */

/* A move, and what undoes it. */
typedef struct move {
  carom_move shown;
  int entry;   /* of the parameters; -1: the scale of mass, which moves before all others */
  bool linked; /* made and undone together with the one before it */
  double before;
} move;

typedef struct search {
  carom_model *model;
  const observations *observed;
  int judged_count;
  int *judged;         /* [judged_count] the chunks that stand for the training data */
  touch_lists touches; /* those of them that feel each property */
  int *tried;          /* [property_count] how many of these values are tried on */
  double *kept;        /* the parameters at the beginning */
  int move_count;
  move *
      moves; /* the scale with restitutions, each friction and restitution by itself and in a pair */
} search;

static void search_free(search *s) {
  free(s->judged);
  free(s->tried);
  free(s->kept);
  free(s->moves);
  touch_lists_free(&s->touches);
}

/* A search runs all the chunks that are tried a few dozen times. Where many contacts occur in each
 * chunk, every property gets fewer of them: together no more than the training has. */
static void limit_work(search *s) {
  const int properties = s->touches.property_count;
  int64_t total = 0;
  for (int k = 0; k < properties; k++) {
    const int felt = s->touches.lists[k].count;
    s->tried[k] = felt < MOST_TRIED ? felt : MOST_TRIED;
    total += s->tried[k];
  }
  for (int k = 0; k < properties && total > s->judged_count; k++) {
    const int share = (int)((int64_t)s->tried[k] * s->judged_count / total);
    if (s->tried[k] > LEAST_TRIED) s->tried[k] = share > LEAST_TRIED ? share : LEAST_TRIED;
  }
}

static carom_status search_make(search *s, carom_model *m, const observations *observed,
                                carom_error *error) {
  const size_t properties = (size_t)m->property_count, parameters = (size_t)m->parameter_count;
  const int count = observed->chunks.count;
  *s = (search){.model = m, .observed = observed};
  s->judged_count = count < MOST_JUDGED ? count : MOST_JUDGED;
  s->judged = malloc(sizeof(int) * (size_t)s->judged_count);
  s->tried = size_allocate_zero(properties, sizeof(int));
  s->kept = malloc(sizeof(double) * parameters);
  s->moves = size_allocate_zero(5 * properties + 1, sizeof(move));
  carom_status status = CAROM_OK;
  if (s->judged == NULL || s->tried == NULL || s->kept == NULL || s->moves == NULL) {
    status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a search of %zu properties",
                       properties);
  } else {
    memcpy(s->kept, m->parameters, sizeof(double) * parameters);
    for (int k = 0; k < s->judged_count; k++)
      s->judged[k] = spread_index(k, s->judged_count, count);
    status = touch_lists_make(&s->touches, m, observed, s->judged_count, s->judged, error);
  }
  if (status == CAROM_OK)
    limit_work(s);
  else
    search_free(s);
  return status;
}

/* ---- one property ---------------------------------------------------------------------------- */

/* Loss of the chunks that feel one property as a function of its value. */
typedef struct trial {
  search *search;
  const chunk_list *all;
  int count;
  int sample[MOST_TRIED]; /* [count] of `all` */
  int property, entry;
  double *parameter;
  bool restitution;
} trial;

static trial trial_of(search *s, int which, bool restitution) {
  const carom_model *m = s->model;
  trial t = {.search = s,
             .all = &s->touches.lists[which],
             .count = s->tried[which],
             .property = which,
             .entry = (restitution ? m->restitution : m->friction) + which,
             .restitution = restitution};
  t.parameter = &m->parameters[t.entry];
  for (int k = 0; k < t.count; k++)
    t.sample[k] = t.all->items[spread_index(k, t.count, t.all->count)];
  return t;
}

// the parameter that stands for a value, and back
static double parameter_of(const trial *t, double value) {
  return t->restitution ? restitution_parameter(value) : value;
}
static double value_of(const trial *t, double parameter) {
  return t->restitution ? restitution_of(parameter) : friction_of(parameter);
}

static carom_status sample_loss(const trial *t, double *loss, carom_error *error) {
  return loss_of_chunks(t->search->model, t->search->observed, t->count, t->sample, loss, error);
}

// of a trial: a line_function
static carom_status try_value(void *user, double value, double *loss, carom_error *error) {
  const trial *t = user;
  *t->parameter = parameter_of(t, value);
  return sample_loss(t, loss, error);
}

/* Loss of all chunks that feel the property; the sample's, where that is all of them. */
static carom_status whole_loss(const trial *t, double of_sample, double *loss, carom_error *error) {
  *loss = of_sample;
  if (t->count == t->all->count) return CAROM_OK;
  return loss_of_chunks(t->search->model, t->search->observed, t->all->count, t->all->items, loss,
                        error);
}

static void note_move(const trial *t, double before, double loss_before, double loss_after) {
  search *s = t->search;
  move *made = &s->moves[s->move_count++];
  *made = (move){.shown = {.from = value_of(t, before),
                           .to = value_of(t, *t->parameter),
                           .chunks = t->all->count,
                           .loss_before = loss_before,
                           .loss_after = loss_after},
                 .entry = t->entry,
                 .before = before};
  contact_property_name(s->model->system, t->restitution ? CAROM_RESTITUTION : CAROM_FRICTION,
                        t->property, s->model->options.shared_properties, made->shown.name,
                        sizeof made->shown.name);
}

/* Keeps the parameters as they stand, changed from `before` on `count` trials of one contact, if that
 * lowers the loss of all chunks that feel it, or puts them back. */
static carom_status decide(const trial *trials, int count, const double *before,
                           const double sample_losses[2], carom_error *error) {
  const trial *t = &trials[0];
  double changed[2], loss_before = INFINITY, loss_after = INFINITY;
  carom_status status = whole_loss(t, sample_losses[1], &loss_after, error);
  for (int k = 0; k < count; k++) {
    changed[k] = *trials[k].parameter;
    *trials[k].parameter = before[k];
  }
  if (status == CAROM_OK) status = whole_loss(t, sample_losses[0], &loss_before, error);
  for (int k = 0; k < count && status == CAROM_OK && loss_after < loss_before; k++) {
    *trials[k].parameter = changed[k];
    note_move(&trials[k], before[k], loss_before, loss_after);
  }
  return status;
}

// moves the property to the best value found, or leaves it
static carom_status search_value(trial *t, int trials, const double *values, carom_error *error) {
  const double before = *t->parameter;
  double losses[2] = {INFINITY, INFINITY}, value = 0;
  int at = 0;
  carom_status status = sample_loss(t, &losses[0], error);
  if (status == CAROM_OK) status = best_of(try_value, t, trials, values, &at, &losses[1], error);
  const bool clear = status == CAROM_OK && losses[1] < CLEAR_GAIN * losses[0];
  if (clear) status = golden_section(try_value, t, trials, values, at, &value, &losses[1], error);
  *t->parameter = clear ? parameter_of(t, value) : before;
  if (status == CAROM_OK && clear) return decide(t, 1, &before, losses, error);
  *t->parameter = before;
  return status;
}

static carom_status search_properties(search *s, bool restitution, carom_error *error) {
  carom_status status = CAROM_OK;
  for (int k = 0; k < s->touches.property_count && status == CAROM_OK; k++) {
    if (s->tried[k] == 0) continue;
    trial t = trial_of(s, k, restitution);
    status = restitution ? search_value(&t, RESTITUTION_TRIALS, RESTITUTIONS, error)
                         : search_value(&t, FRICTION_TRIALS, FRICTIONS, error);
  }
  return status;
}

/* ---- both properties of a contact ------------------------------------------------------------ */

enum { OF_FRICTION, OF_RESTITUTION };

static carom_status try_pair(void *user, const double at[2], double *loss, carom_error *error) {
  trial *pair = user;
  *pair[OF_FRICTION].parameter = friction_of(at[0]);
  return try_value(&pair[OF_RESTITUTION], at[1], loss, error);
}

// moves both, or leaves both
static carom_status search_pair(trial pair[2], double loss, carom_error *error) {
  enum { EVALUATIONS = 40 };
  const double before[2] = {*pair[OF_FRICTION].parameter, *pair[OF_RESTITUTION].parameter};
  double at[2] = {friction_of(before[0]), restitution_of(before[1])};
  const double step[2] = {0.01, at[1] < 0.5 ? 0.01 : -0.01};
  double losses[2] = {loss, loss};
  carom_status status = simplex_minimise(try_pair, pair, step, EVALUATIONS, at, &losses[1], error);
  const bool clear = status == CAROM_OK && losses[1] < CLEAR_GAIN * losses[0];
  // a place beyond an end of a range has the loss of that end
  const double restitution = fmin(fmax(at[1], 0), 1);
  *pair[OF_FRICTION].parameter = clear ? friction_of(at[0]) : before[0];
  *pair[OF_RESTITUTION].parameter = clear ? restitution_parameter(restitution) : before[1];
  return clear ? decide(pair, 2, before, losses, error) : status;
}

// the contacts whose chunks have more than the mean loss of all contacts'
static carom_status search_pairs(search *s, carom_error *error) {
  const int count = s->touches.property_count;
  // one pair for all contacts is pinned down by many events
  if (count == 1) return CAROM_OK;
  double *losses = size_allocate_zero((size_t)count, sizeof(double)), mean = 0;
  if (losses == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d losses", count);
  carom_status status = CAROM_OK;
  int counted = 0;
  for (int k = 0; k < count && status == CAROM_OK; k++) {
    if (s->tried[k] == 0) continue;
    const trial t = trial_of(s, k, true);
    status = sample_loss(&t, &losses[k], error);
    mean += (losses[k] - mean) / ++counted;
  }
  for (int k = 0; k < count && status == CAROM_OK; k++) {
    if (s->tried[k] == 0 || losses[k] < mean) continue;
    trial pair[2] = {trial_of(s, k, false), trial_of(s, k, true)};
    status = search_pair(pair, losses[k], error);
  }
  free(losses);
  return status;
}

/* ---- the scale of mass ----------------------------------------------------------------------- */

static void multiply(double *values, int count, double factor) {
  for (int i = 0; i < count; i++) values[i] *= factor;
}

/* (m, V) -> factor (m, V): the same motion between contacts, where M^-1 grad V counts alone */
static void scale_parameters(carom_model *m, double factor) {
  const potential_parts p = model_potential_parts(m);
  for (int i = 0; i < m->system->body_count; i++) m->parameters[m->mass + i] += log(factor);
  for (int k = 0; k < 2; k++) multiply(m->parameters + p.starts[k], p.counts[k], factor);
}

// the gradient by what multiplies the potential falls by the factor
static void scale_moments(const carom_model *m, adamw *optimizer, double factor) {
  const potential_parts p = model_potential_parts(m);
  for (int k = 0; k < 2; k++) {
    multiply(optimizer->m + p.starts[k], p.counts[k], 1 / factor);
    multiply(optimizer->v + p.starts[k], p.counts[k], 1 / (factor * factor));
  }
}

/* What is tried: masses and potential, or the epsilon that is learned, by one factor, and 1 + e of all
 * restitutions by another. A frictionless contact of inverse mass a leaves with (1 + e) a / (a + epsilon) - 1 of
 * its speed: that is how a restitution makes up for an epsilon. */
typedef struct scaling {
  search *search;
  int count;
  int sample[MOST_TRIED]; /* [count] of the chunks with a contact */
  double scale;
} scaling;

static double epsilon_of(const carom_model *m) {
  const double p = m->parameters[m->regularizer];
  return p > 30 ? p : log1p(exp(p));
}

// to the beginning of the search, times both factors
static void set_scaling(const search *s, double scale, double bounce) {
  carom_model *m = s->model;
  memcpy(m->parameters, s->kept, sizeof(double) * (size_t)m->parameter_count);
  if (m->regularizer < 0)
    scale_parameters(m, scale);
  else
    m->parameters[m->regularizer] = log(expm1(scale * epsilon_of(m)));
  for (int k = 0; k < m->property_count; k++) {
    if (s->tried[k] == 0) continue;
    double *parameter = &m->parameters[m->restitution + k];
    const double value = bounce * (1 + restitution_of(*parameter)) - 1;
    *parameter = restitution_parameter(fmin(fmax(value, 0), 1));
  }
}

/* No farther in one search: while the potential is still rough, the least loss lies anywhere. A place beyond has
 * the loss of the border. */
static double scale_of(double logarithm) { return fmin(fmax(exp(logarithm), 0.03), 30); }

static carom_status try_scaling(void *user, const double at[2], double *loss, carom_error *error) {
  const scaling *t = user;
  set_scaling(t->search, scale_of(at[0]), at[1]);
  return loss_of_chunks(t->search->model, t->search->observed, t->count, t->sample, loss, error);
}

static carom_status try_bounce(void *user, double bounce, double *loss, carom_error *error) {
  const double at[2] = {log(((const scaling *)user)->scale), bounce};
  return try_scaling(user, at, loss, error);
}

static void note_scaling(search *s, double scale, int chunks, double before, double after) {
  const carom_model *m = s->model;
  const bool learned = m->regularizer >= 0;
  const double from = learned ? epsilon_of(m) / scale : 1;
  move *made = &s->moves[s->move_count++];
  *made = (move){.shown = {.from = from,
                           .to = scale * from,
                           .chunks = chunks,
                           .loss_before = before,
                           .loss_after = after},
                 .entry = learned ? m->regularizer : -1,
                 .before = learned ? s->kept[m->regularizer] : 0};
  snprintf(made->shown.name, sizeof made->shown.name, learned ? "regularizer" : "mass_scale");
  for (int k = 0; k < m->property_count; k++) {
    const trial t = trial_of(s, k, true);
    if (*t.parameter == s->kept[t.entry]) continue;
    note_move(&t, s->kept[t.entry], before, after);
    s->moves[s->move_count - 1].linked = true;
  }
}

/* The best scale with the restitutions that belong to it: on a sample, then by a simplex along the valley. at:
 * logarithm of the one, factor on the others. */
static carom_status find_scaling(scaling *t, double at[2], double *loss, carom_error *error) {
  enum { EVALUATIONS = 40 };
  carom_status status = CAROM_OK;
  for (int k = 0; k < SCALE_TRIALS && status == CAROM_OK; k++) {
    double value, bounce;
    int best;
    t->scale = SCALES[k];
    status = best_of(try_bounce, t, BOUNCE_TRIALS, BOUNCES, &best, &value, error);
    if (status == CAROM_OK)
      status = golden_section(try_bounce, t, BOUNCE_TRIALS, BOUNCES, best, &bounce, &value, error);
    if (status != CAROM_OK || value >= *loss) continue;
    *loss = value;
    at[0] = log(t->scale);
    at[1] = bounce;
  }
  const double step[2] = {at[0] < 0 ? -0.5 : 0.5, 0.01};
  return status == CAROM_OK ? simplex_minimise(try_scaling, t, step, EVALUATIONS, at, loss, error)
                            : status;
}

// where the motion depends on the scale at all; nothing has moved before it
static carom_status search_scale(search *s, carom_error *error) {
  carom_model *m = s->model;
  const chunk_list *felt = &s->touches.lists[s->touches.property_count];
  if (m->options.contact != CAROM_CMR || felt->count == 0) return CAROM_OK;
  scaling t = {.search = s, .count = felt->count < MOST_TRIED ? felt->count : MOST_TRIED};
  for (int k = 0; k < t.count; k++)
    t.sample[k] = felt->items[spread_index(k, t.count, felt->count)];
  const double as_it_is[2] = {0, 1};
  double at[2] = {0, 1}, before = INFINITY, after = INFINITY, best = INFINITY;
  carom_status status = try_scaling(&t, as_it_is, &before, error);
  if (status == CAROM_OK) status = find_scaling(&t, at, &best, error);
  const bool clear = status == CAROM_OK && best < CLEAR_GAIN * before;
  // all chunks that feel it must agree
  if (clear) {
    set_scaling(s, 1, 1);
    status = loss_of_chunks(m, s->observed, felt->count, felt->items, &before, error);
    set_scaling(s, scale_of(at[0]), at[1]);
    if (status == CAROM_OK)
      status = loss_of_chunks(m, s->observed, felt->count, felt->items, &after, error);
  }
  if (status == CAROM_OK && clear && after < CLEAR_GAIN * before)
    note_scaling(s, scale_of(at[0]), felt->count, before, after);
  else
    memcpy(m->parameters, s->kept, sizeof(double) * (size_t)m->parameter_count);
  return status;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static carom_status training_loss(const search *s, double *loss, carom_error *error) {
  return loss_of_chunks(s->model, s->observed, s->judged_count, s->judged, loss, error);
}

static void undo_last(search *s) {
  carom_model *m = s->model;
  for (bool linked = true; linked;) {
    const move *last = &s->moves[--s->move_count];
    linked = last->linked;
    if (last->entry >= 0)
      m->parameters[last->entry] = last->before;
    else // the first one of all
      memcpy(m->parameters, s->kept, sizeof(double) * (size_t)m->parameter_count);
  }
}

// exchanges the parameters with those of the beginning
static void exchange(search *s) {
  for (int i = 0; i < s->model->parameter_count; i++) {
    const double other = s->kept[i];
    s->kept[i] = s->model->parameters[i];
    s->model->parameters[i] = other;
  }
}

/* Keeps the moves, or as many of the first ones as do not raise the training loss: each time that it
 * is above what it was, twice as many are undone. */
static carom_status confirm(search *s, search_result *result, carom_error *error) {
  if (s->move_count == 0) return CAROM_OK;
  exchange(s);
  carom_status status = training_loss(s, &result->loss_before, error);
  exchange(s);
  for (int step = 1; status == CAROM_OK; step *= 2) {
    status = training_loss(s, &result->loss_after, error);
    if (s->move_count == 0 || result->loss_after < result->loss_before) return status;
    for (int k = 0; k < step && s->move_count > 0; k++) undo_last(s);
  }
  return status;
}

// what moved goes on without its old momentum
static void settle(const search *s, adamw *optimizer) {
  for (int k = 0; k < s->move_count; k++) {
    const move *made = &s->moves[k];
    if (made->entry >= 0)
      optimizer->m[made->entry] = 0;
    else
      scale_moments(s->model, optimizer, made->shown.to);
  }
}

static carom_status hand_over(const search *s, search_result *result, carom_error *error) {
  if (s->move_count == 0) return CAROM_OK;
  result->moves = malloc(sizeof(carom_move) * (size_t)s->move_count);
  if (result->moves == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d moves", s->move_count);
  result->count = s->move_count;
  for (int k = 0; k < s->move_count; k++) result->moves[k] = s->moves[k].shown;
  return CAROM_OK;
}

carom_status property_search_run(carom_model *m, const observations *observed, adamw *optimizer,
                                 search_result *result, carom_error *error) {
  *result = (search_result){.loss_before = NAN, .loss_after = NAN};
  search s;
  carom_status status = search_make(&s, m, observed, error);
  if (status != CAROM_OK) return status;
  status = search_scale(&s, error);
  // restitution first: it shows in the normal motion, whatever the friction, while the impulse of
  // a sliding contact depends on both
  if (status == CAROM_OK) status = search_properties(&s, true, error);
  if (status == CAROM_OK) status = search_properties(&s, false, error);
  if (status == CAROM_OK) status = search_pairs(&s, error);
  if (status == CAROM_OK) status = confirm(&s, result, error);
  if (status == CAROM_OK) status = hand_over(&s, result, error);
  // a contact that none of all chunks shows takes what the others of its kind have now
  if (status == CAROM_OK && s.judged_count == observed->chunks.count)
    status = pool_unfelt(m, &s.touches, error);
  if (status == CAROM_OK)
    settle(&s, optimizer);
  else
    memcpy(m->parameters, s.kept, sizeof(double) * (size_t)m->parameter_count);
  search_free(&s);
  return status;
}
