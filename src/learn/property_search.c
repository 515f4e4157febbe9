#include "learn/property_search.h"

#include "base/error.h"
#include "learn/chunks.h"
#include "learn/model.h"
#include "learn/simplex.h"
#include "physics/collision.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Chunks that a property is tried on, at most: enough to tell one minimum from another. */
enum { SEARCH_CHUNKS = 100 };

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

/* Factors on the scale of mass. */
static const double SCALES[] = {0.1, 0.3, 0.6, 1.7, 3.3};
enum { SCALE_TRIALS = sizeof SCALES / sizeof SCALES[0] };

/* A move must lower the loss to this part of what it was: descent does the rest better. */
static const double CLEAR_GAIN = 0.95;

/* ---- chunks of each property ----------------------------------------------------------------- */

// adds the chunk, once, to those of a property; chunks come in their order
static void note_chunk(property_search *s, int property, int chunk) {
  int *count = &s->counts[property], *indices = s->indices + property * SEARCH_CHUNKS;
  if (*count == SEARCH_CHUNKS || (*count > 0 && indices[*count - 1] == chunk)) return;
  indices[(*count)++] = chunk;
}

// adds the chunk to those of every property that is active in a state, and to those of all
static void note_active(void *user, int chunk, int64_t state, const contact_list *active) {
  (void)state;
  property_search *s = user;
  for (int k = 0; k < active->count; k++)
    note_chunk(s, s->property_count == 1 ? 0 : active->ids[k].property, chunk);
  if (active->count > 0) note_chunk(s, s->property_count, chunk);
}

/* A search runs all these chunks a few dozen times. Where many contacts occur in each chunk, every
 * property gets fewer of them: together no more than the training has, and at least one. */
static void limit_work(property_search *s, int most) {
  int64_t total = 0;
  for (int k = 0; k < s->property_count; k++) total += s->counts[k];
  if (total <= most) return;
  for (int k = 0; k < s->property_count; k++)
    if (s->counts[k] > 1) s->counts[k] = 1 + (int)((s->counts[k] - 1) * (int64_t)most / total);
}

carom_status property_search_make(property_search *search, const carom_model *m,
                                  const carom_chunks *chunks, carom_error *error) {
  const size_t count = (size_t)m->property_count;
  *search = (property_search){.property_count = m->property_count};
  search->counts = calloc(count + 1, sizeof(int));
  search->indices = calloc((count + 1) * SEARCH_CHUNKS, sizeof(int));
  carom_status status = search->counts != NULL && search->indices != NULL
                            ? contacts_visit(m->system, chunks, note_active, search, error)
                            : error_set(error, CAROM_OUT_OF_MEMORY,
                                        "no memory for the chunks of %zu properties", count);
  if (status == CAROM_OK)
    limit_work(search, chunks->count);
  else
    property_search_free(search);
  return status;
}

void property_search_free(property_search *search) {
  free(search->counts);
  free(search->indices);
  *search = (property_search){0};
}

/* ---- one property ---------------------------------------------------------------------------- */

/* Loss of the chunks of one property as a function of its value. */
typedef struct trial {
  carom_model *model;
  const carom_chunks *chunks;
  int count;
  const int *indices;
  double *parameter;
  bool restitution;
} trial;

static trial trial_of(const property_search *s, carom_model *m, const carom_chunks *chunks,
                      int property, bool restitution) {
  const int first = restitution ? m->restitution : m->friction;
  return (trial){.model = m,
                 .chunks = chunks,
                 .count = s->counts[property],
                 .indices = s->indices + property * SEARCH_CHUNKS,
                 .parameter = &m->parameters[first + property],
                 .restitution = restitution};
}

// the parameter that stands for a value
static double parameter_of(const trial *t, double value) {
  return t->restitution ? restitution_parameter(value) : value;
}

// loss with the parameter at a value; infinite where the prediction leaves the finite numbers
static carom_status try_value(const trial *t, double value, double *loss, carom_error *error) {
  *t->parameter = parameter_of(t, value);
  carom_status status =
      carom_model_loss(t->model, t->chunks, t->count, t->indices, loss, NULL, NULL, error);
  if (status == CAROM_NUMERICAL_FAILURE || (status == CAROM_OK && !isfinite(*loss))) {
    *loss = INFINITY;
    status = CAROM_OK;
  }
  return status;
}

// the golden section between two values, `value` with `loss` being the best inside
static carom_status refine(const trial *t, double low, double high, double *value, double *loss,
                           carom_error *error) {
  enum { STEPS = 7 };
  for (int k = 0; k < STEPS; k++) {
    // into the longer of the two parts
    const bool up = high - *value > *value - low;
    const double next = *value + 0.381966 * ((up ? high : low) - *value);
    double there;
    carom_status status = try_value(t, next, &there, error);
    if (status != CAROM_OK) return status;
    if (there < *loss) {
      *(up ? &low : &high) = *value;
      *value = next;
      *loss = there;
    } else {
      *(up ? &high : &low) = next;
    }
  }
  return CAROM_OK;
}

// moves the property to the best value found, or leaves it
static carom_status search_value(const trial *t, int trials, const double *values, bool *moved,
                                 carom_error *error) {
  const double before = *t->parameter;
  double loss_before, best = INFINITY;
  int at = 0;
  *moved = false;
  carom_status status =
      carom_model_loss(t->model, t->chunks, t->count, t->indices, &loss_before, NULL, NULL, error);
  for (int k = 0; k < trials && status == CAROM_OK; k++) {
    double loss;
    status = try_value(t, values[k], &loss, error);
    if (status != CAROM_OK || loss >= best) continue;
    best = loss;
    at = k;
  }
  if (status == CAROM_OK && best < CLEAR_GAIN * loss_before) {
    double value = values[at];
    status = refine(t, values[at > 0 ? at - 1 : 0], values[at < trials - 1 ? at + 1 : at], &value,
                    &best, error);
    *moved = status == CAROM_OK;
    if (*moved) *t->parameter = parameter_of(t, value);
  }
  if (!*moved) *t->parameter = before;
  return status;
}

/* ---- both properties of a contact ------------------------------------------------------------ */

/* Loss of the chunks of one contact as a function of its friction and restitution. */
typedef struct pair_trial {
  trial friction, restitution;
} pair_trial;

static carom_status try_pair(void *user, const double at[2], double *loss, carom_error *error) {
  const pair_trial *t = user;
  *t->friction.parameter = friction_of(at[0]);
  return try_value(&t->restitution, at[1], loss, error);
}

// moves both, or leaves both
static carom_status search_pair(pair_trial *t, double loss, bool *moved, carom_error *error) {
  enum { EVALUATIONS = 40 };
  const double before[2] = {*t->friction.parameter, *t->restitution.parameter};
  double at[2] = {friction_of(before[0]), restitution_of(before[1])};
  const double step[2] = {0.01, at[1] < 0.5 ? 0.01 : -0.01};
  const double loss_before = loss;
  carom_status status = simplex_minimise(try_pair, t, step, EVALUATIONS, at, &loss, error);
  *moved = status == CAROM_OK && loss < CLEAR_GAIN * loss_before;
  // a place beyond an end of a range has the loss of that end
  const double restitution = fmin(fmax(at[1], 0), 1);
  *t->friction.parameter = *moved ? friction_of(at[0]) : before[0];
  *t->restitution.parameter = *moved ? restitution_parameter(restitution) : before[1];
  return status;
}

// the contacts whose chunks have more than the mean loss of all contacts'
static carom_status search_pairs(const property_search *s, carom_model *m,
                                 const carom_chunks *chunks, adamw *optimizer, int *moved,
                                 carom_error *error) {
  // one pair for all contacts is pinned down by many events
  if (s->property_count == 1) return CAROM_OK;
  double *losses = calloc((size_t)s->property_count + 1, sizeof(double)), mean = 0;
  if (losses == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d losses", s->property_count);
  carom_status status = CAROM_OK;
  int counted = 0;
  for (int k = 0; k < s->property_count && status == CAROM_OK; k++) {
    if (s->counts[k] == 0) continue;
    status = carom_model_loss(m, chunks, s->counts[k], s->indices + k * SEARCH_CHUNKS, &losses[k],
                              NULL, NULL, error);
    mean += (losses[k] - mean) / ++counted;
  }
  for (int k = 0; k < s->property_count && status == CAROM_OK; k++) {
    if (s->counts[k] == 0 || losses[k] < mean) continue;
    const int entries[2] = {m->friction + k, m->restitution + k};
    pair_trial pair = {trial_of(s, m, chunks, k, false), trial_of(s, m, chunks, k, true)};
    bool moves;
    status = search_pair(&pair, losses[k], &moves, error);
    for (int i = 0; i < 2 && moves; i++) optimizer->m[entries[i]] = 0.0;
    *moved += moves ? 2 : 0;
  }
  free(losses);
  return status;
}

/* ---- the scale of mass ----------------------------------------------------------------------- */

static void multiply(double *values, int count, double factor) {
  for (int i = 0; i < count; i++) values[i] *= factor;
}

// masses and potential times a factor; its gradient by what multiplies the potential falls by it
static void scale_model(carom_model *m, adamw *optimizer, double factor) {
  const int elastic = 2 * m->potential.elastic_count, output = m->options.hidden_size + 1;
  const int starts[] = {m->network, m->parameter_count - output}, counts[] = {elastic, output};
  for (int i = 0; i < m->system->body_count; i++) m->parameters[m->mass + i] += log(factor);
  for (int k = 0; k < 2; k++) {
    multiply(m->parameters + starts[k], counts[k], factor);
    if (optimizer == NULL) continue;
    multiply(optimizer->m + starts[k], counts[k], 1 / factor);
    multiply(optimizer->v + starts[k], counts[k], 1 / (factor * factor));
  }
}

static carom_status try_scales(const property_search *s, carom_model *m, const carom_chunks *chunks,
                               const double *kept, double *factor, carom_error *error) {
  const int count = s->counts[s->property_count];
  const int *indices = s->indices + s->property_count * SEARCH_CHUNKS;
  double best;
  carom_status status = carom_model_loss(m, chunks, count, indices, &best, NULL, NULL, error);
  best *= CLEAR_GAIN;
  *factor = 1;
  for (int k = 0; k < SCALE_TRIALS && status == CAROM_OK; k++) {
    double loss;
    scale_model(m, NULL, SCALES[k]);
    status = carom_model_loss(m, chunks, count, indices, &loss, NULL, NULL, error);
    memcpy(m->parameters, kept, sizeof(double) * (size_t)m->parameter_count);
    if (status == CAROM_NUMERICAL_FAILURE) {
      status = CAROM_OK;
    } else if (status == CAROM_OK && loss < best) {
      best = loss;
      *factor = SCALES[k];
    }
  }
  return status;
}

// where the motion depends on the scale at all
static carom_status search_scale(const property_search *s, carom_model *m,
                                 const carom_chunks *chunks, adamw *optimizer, int *moved,
                                 carom_error *error) {
  if (m->options.contact != CAROM_CMR || m->regularizer >= 0 || s->counts[s->property_count] == 0)
    return CAROM_OK;
  const size_t bytes = sizeof(double) * (size_t)m->parameter_count;
  double *kept = malloc(bytes);
  if (kept == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d parameters", m->parameter_count);
  memcpy(kept, m->parameters, bytes);
  double factor;
  carom_status status = try_scales(s, m, chunks, kept, &factor, error);
  free(kept);
  if (status != CAROM_OK || factor == 1) return status;
  scale_model(m, optimizer, factor);
  (*moved)++;
  return CAROM_OK;
}

/* ---- all properties -------------------------------------------------------------------------- */

static carom_status search_segment(const property_search *s, carom_model *m,
                                   const carom_chunks *chunks, adamw *optimizer, bool restitution,
                                   int *moved, carom_error *error) {
  const int first = restitution ? m->restitution : m->friction;
  for (int k = 0; k < s->property_count; k++) {
    if (s->counts[k] == 0) continue;
    const trial t = trial_of(s, m, chunks, k, restitution);
    bool moves;
    carom_status status = restitution
                              ? search_value(&t, RESTITUTION_TRIALS, RESTITUTIONS, &moves, error)
                              : search_value(&t, FRICTION_TRIALS, FRICTIONS, &moves, error);
    if (status != CAROM_OK) return status;
    if (!moves) continue;
    optimizer->m[first + k] = 0.0;
    (*moved)++;
  }
  return CAROM_OK;
}

carom_status property_search_run(const property_search *search, carom_model *m,
                                 const carom_chunks *chunks, adamw *optimizer, int *moved,
                                 carom_error *error) {
  *moved = 0;
  carom_status status = search_scale(search, m, chunks, optimizer, moved, error);
  // restitution first: it shows in the normal motion, whatever the friction, while the impulse of
  // a sliding contact depends on both
  if (status == CAROM_OK) status = search_segment(search, m, chunks, optimizer, true, moved, error);
  if (status == CAROM_OK)
    status = search_segment(search, m, chunks, optimizer, false, moved, error);
  if (status == CAROM_OK) status = search_pairs(search, m, chunks, optimizer, moved, error);
  return status;
}
