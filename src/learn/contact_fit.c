#include "learn/contact_fit.h"

#include "base/dense.h"
#include "base/error.h"
#include "base/size.h"
#include "learn/touch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Beyond these, masses and moments are left to free motion, and contacts to the search. */
enum { MOST_MASSES = 32, MOST_PROPERTIES = 400 };

/* Chunks that are looked at, and numbers of the columns of masses that are kept for them. */
enum { MOST_CHUNKS = 1000, MOST_NUMBERS = 1 << 24 };

enum { STEPS = 20, TRIALS = 6, PASSES = 8 };

/* Steps of differences, and the most that an unknown moves at once: of a logarithm, a friction, the
 * parameter of a restitution (six times the restitution). */
static const double DIFFERENCE[] = {2e-5, 2e-5, 1.2e-4}, MOST_MOVE[] = {0.7, 0.3, 1.5};
enum { OF_MASS, OF_FRICTION, OF_RESTITUTION };

/* How near to an end of its range an unknown is tried there. */
static const double NEAR_END[] = {0, 0.05, 0.3};

/* Residuals below this part of their mean count as squares. A step that leaves more than SLOW of the
 * residual is the last one, as is one that leaves EXACT, the noise of single precision. */
static const double SMALL = 0.3, SLOW = 0.9, EXACT = 3e-8;

/* ---- what is fitted -------------------------------------------------------------------------- */

typedef struct column {
  int kind, entry; /* of the parameters */
  int mass;        /* of the forces' masses; -1: a property */
  int count;
  int *chunks;   /* [count] places in the fit's list, ascending */
  double *slope; /* [count][numbers] */
} column;

typedef struct work {
  carom_model *model;
  const carom_chunks *train;
  const force_fit *forces;
  int numbers; /* residuals of a chunk */
  int count;   /* chunks */
  int *list;   /* [count] of the training chunks */
  int column_count;
  column *columns;
  double *x0, *v0, *x, *v;          /* of predictions */
  double *residual, *moved;         /* [count][numbers] */
  double *matrix, *factor;          /* [columns][columns] */
  double *gradient, *step, *solved; /* [columns] */
  double *diagonal;                 /* [columns] that damping is relative to */
  bool *held;                       /* [columns] */
  double *kept;                     /* [parameter_count] */
} work;

static int mass_columns(const force_fit *f) { return f->masses <= MOST_MASSES ? f->masses : 0; }

static int chunk_numbers(const carom_model *m, const carom_chunks *c) {
  return (c->states - 1) * 2 * m->system->coordinate_count;
}

static int most_chunks(const carom_model *m, const carom_chunks *c) {
  const int64_t most = MOST_NUMBERS / ((int64_t)chunk_numbers(m, c) * (MOST_MASSES + 4));
  return most > MOST_CHUNKS ? MOST_CHUNKS : most < 50 ? 50 : (int)most;
}

/* Residuals of the chunks at some places of the list, [count][numbers]; mean of their absolute values,
 * infinite where a prediction leaves the finite numbers. */
static carom_status predict(work *w, int count, const int *places, double *residual, double *mean,
                            carom_error *error) {
  const carom_chunks *c = w->train;
  const carom_model *m = w->model;
  const size_t width = (size_t)m->system->coordinate_count, states = (size_t)c->states;
  for (int i = 0; i < count; i++) {
    const size_t from = (size_t)w->list[places != NULL ? places[i] : i] * states * width;
    memcpy(w->x0 + (size_t)i * width, c->x + from, sizeof(double) * width);
    memcpy(w->v0 + (size_t)i * width, c->v + from, sizeof(double) * width);
  }
  *mean = INFINITY;
  carom_status status = carom_model_predict(w->model, count, c->states - 1, w->x0, w->v0, w->x,
                                            w->v, NULL, NULL, error);
  if (status == CAROM_NUMERICAL_FAILURE) return CAROM_OK;
  if (status != CAROM_OK) return status;
  double sum = 0, *difference = w->x0; // first states have been used
  for (int i = 0; i < count; i++) {
    const size_t chunk = (size_t)w->list[places != NULL ? places[i] : i];
    for (size_t k = 1; k < states; k++) {
      const size_t at = ((size_t)i * states + k) * width, truth = (chunk * states + k) * width;
      double *to = residual + (size_t)i * (size_t)w->numbers + (k - 1) * 2 * width;
      for (size_t q = 0; q < width; q++) difference[q] = w->x[at + q] - c->x[truth + q];
      state_seen(m, difference, m->length, to);
      for (size_t q = 0; q < width; q++) difference[q] = w->v[at + q] - c->v[truth + q];
      state_seen(m, difference, m->speed, to + width);
    }
  }
  for (size_t i = 0; i < (size_t)count * (size_t)w->numbers; i++) sum += fabs(residual[i]);
  if (isfinite(sum)) *mean = sum / ((double)count * w->numbers);
  return CAROM_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

// moves an unknown; of a mass, the potential too
static void move(const work *w, const column *c, double by) {
  double *p = w->model->parameters;
  p[c->entry] += by;
  const force_fit *f = w->forces;
  for (int j = 0; c->mass >= 0 && j < f->features; j++)
    p[f->entries[j]] += by * f->follow[(size_t)c->mass * (size_t)f->features + (size_t)j];
}

static void restore(const work *w) {
  memcpy(w->model->parameters, w->kept, sizeof(double) * (size_t)w->model->parameter_count);
}

// the range of an unknown's move from where it is
static void range_of(const work *w, const column *c, double *low, double *high) {
  const double at = w->kept[c->entry], most = MOST_MOVE[c->kind];
  const double least = c->kind == OF_MASS ? -INFINITY : c->kind == OF_FRICTION ? 0 : -3;
  const double top = c->kind == OF_RESTITUTION ? 3 : INFINITY;
  *low = fmax(-most, least - at);
  *high = fmin(most, top - at);
}

// slopes of one column at the kept parameters, by a difference into its range
static carom_status differentiate(work *w, column *c, carom_error *error) {
  const bool down = c->kind == OF_RESTITUTION && w->kept[c->entry] > 0;
  const double by = down ? -DIFFERENCE[c->kind] : DIFFERENCE[c->kind];
  double mean;
  move(w, c, by);
  carom_status status = predict(w, c->count, c->chunks, c->slope, &mean, error);
  restore(w);
  if (status != CAROM_OK) return status;
  for (int i = 0; i < c->count; i++) {
    double *slope = c->slope + (size_t)i * (size_t)w->numbers;
    const double *base = w->residual + (size_t)c->chunks[i] * (size_t)w->numbers;
    for (int q = 0; q < w->numbers; q++) slope[q] = isfinite(mean) ? (slope[q] - base[q]) / by : 0;
  }
  return CAROM_OK;
}

/* sum of weight a b over the chunks that two columns share */
static double product(const work *w, const column *a, const column *b, const double *weights) {
  double sum = 0;
  for (int i = 0, j = 0; i < a->count && j < b->count;) {
    if (a->chunks[i] != b->chunks[j]) {
      if (a->chunks[i] < b->chunks[j])
        i++;
      else
        j++;
      continue;
    }
    const double *of_a = a->slope + (size_t)i * (size_t)w->numbers;
    const double *of_b = b->slope + (size_t)j * (size_t)w->numbers;
    const double *weight = weights + (size_t)a->chunks[i] * (size_t)w->numbers;
    for (int q = 0; q < w->numbers; q++) sum += weight[q] * of_a[q] * of_b[q];
    i++, j++;
  }
  return sum;
}

/* Normal matrix, gradient and what damping is relative to; `moved` becomes weights. */
static carom_status assemble(work *w, double mean, carom_error *error) {
  const int n = w->column_count;
  const size_t numbers = (size_t)w->count * (size_t)w->numbers;
  for (int k = 0; k < n; k++) {
    carom_status status = differentiate(w, &w->columns[k], error);
    if (status != CAROM_OK) return status;
  }
  const double small = fmax(SMALL * mean, 1e-8);
  for (size_t i = 0; i < numbers; i++) w->moved[i] = 1 / fmax(fabs(w->residual[i]), small);
  for (int a = 0; a < n; a++) {
    const column *c = &w->columns[a];
    w->gradient[a] = 0;
    for (int i = 0; i < c->count; i++) {
      const size_t at = (size_t)c->chunks[i] * (size_t)w->numbers;
      const double *slope = c->slope + (size_t)i * (size_t)w->numbers;
      for (size_t q = 0; q < (size_t)w->numbers; q++)
        w->gradient[a] += w->moved[at + q] * slope[q] * w->residual[at + q];
    }
    for (int b = 0; b <= a; b++)
      w->matrix[a * n + b] = w->matrix[b * n + a] = product(w, c, &w->columns[b], w->moved);
  }
  // what free motion tells, by the size of its residuals
  const force_fit *f = w->forces;
  const int masses = mass_columns(f), bodies = w->model->system->body_count;
  double largest = 0;
  for (int i = 0; i < masses; i++)
    for (int j = 0; j < masses; j++)
      w->matrix[i * n + j] += f->information[i * f->masses + j] / fmax(f->after, 1e-7);
  for (int k = 0; k < n; k++) {
    w->diagonal[k] = w->matrix[k * (n + 1)];
    largest = fmax(largest, w->diagonal[k]);
  }
  for (int k = 0; k < n; k++) w->diagonal[k] = fmax(w->diagonal[k], 1e-9 * largest);
  // the common scale of masses is held
  for (int i = 0; i < bodies && masses > 0; i++)
    for (int j = 0; j < bodies; j++) w->matrix[i * n + j] += largest;
  return CAROM_OK;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The step inside all ranges: what would leave one is held at its end, and the rest solved for again. */
static bool solve_step(work *w, double damping) {
  const int n = w->column_count;
  memset(w->held, 0, sizeof(bool) * (size_t)n);
  for (int pass = 0; pass < PASSES; pass++) {
    memcpy(w->factor, w->matrix, sizeof(double) * (size_t)n * (size_t)n);
    for (int k = 0; k < n; k++) {
      w->factor[k * (n + 1)] += damping * w->diagonal[k] + 1e-300;
      w->solved[k] = -w->gradient[k];
      for (int j = 0; j < n; j++)
        w->solved[k] -= w->held[j] ? w->matrix[k * n + j] * w->step[j] : 0;
    }
    for (int k = 0; k < n; k++) {
      if (!w->held[k]) continue;
      for (int j = 0; j < n; j++) w->factor[k * n + j] = w->factor[j * n + k] = 0;
      w->factor[k * (n + 1)] = 1;
      w->solved[k] = w->step[k];
    }
    if (!dense_factor(n, w->factor)) return false;
    dense_solve(n, w->factor, w->solved);
    bool more = false;
    for (int k = 0; k < n; k++) {
      if (w->held[k]) continue;
      double low, high;
      range_of(w, &w->columns[k], &low, &high);
      w->step[k] = fmin(fmax(w->solved[k], low), high);
      w->held[k] = w->step[k] != w->solved[k];
      more = more || w->held[k];
      if (!isfinite(w->step[k])) return false;
    }
    if (!more) break;
  }
  return true;
}

/* One step, with more damping until the residual falls; *mean is that of before and after. */
static carom_status improve(work *w, double *damping, double *mean, bool *better,
                            carom_error *error) {
  *better = false;
  memcpy(w->kept, w->model->parameters, sizeof(double) * (size_t)w->model->parameter_count);
  carom_status status = assemble(w, *mean, error);
  for (int trial = 0; trial < TRIALS && status == CAROM_OK; trial++) {
    double after = INFINITY;
    if (solve_step(w, *damping)) {
      for (int k = 0; k < w->column_count; k++) move(w, &w->columns[k], w->step[k]);
      status = predict(w, w->count, NULL, w->moved, &after, error);
    }
    if (status == CAROM_OK && after < *mean) {
      memcpy(w->residual, w->moved, sizeof(double) * (size_t)w->count * (size_t)w->numbers);
      *mean = after;
      *damping = fmax(0.1 * *damping, 1e-9);
      *better = true;
      return CAROM_OK;
    }
    restore(w);
    *damping *= 10;
  }
  return status;
}

/* Properties near an end of their range, tried at the end: what a contact does changes there with a kink, before which
 * steps by slopes stop. Kept where the residual is no larger. */
static carom_status try_ends(work *w, double *mean, carom_error *error) {
  carom_status status = CAROM_OK;
  for (int k = 0; k < w->column_count && status == CAROM_OK; k++) {
    const column *c = &w->columns[k];
    if (c->kind == OF_MASS) continue;
    double *p = &w->model->parameters[c->entry], kept = *p, after;
    double end = c->kind == OF_FRICTION ? 0 : kept < 0 ? -3 : 3;
    if (kept == end || fabs(kept - end) > NEAR_END[c->kind]) continue;
    *p = end;
    status = predict(w, w->count, NULL, w->moved, &after, error);
    if (status == CAROM_OK && after <= *mean)
      *mean = after;
    else
      *p = kept;
  }
  return status;
}

static carom_status minimise(work *w, contact_fit *result, const warm_work *progress,
                             carom_error *error) {
  double damping = 1e-3, mean;
  carom_status status = predict(w, w->count, NULL, w->residual, &mean, error);
  result->before = result->after = mean;
  bool better = isfinite(mean);
  for (int step = 0; step < STEPS && status == CAROM_OK && better && mean > EXACT; step++) {
    const double before = mean;
    status = warm_work_go_on(progress, error);
    if (status == CAROM_OK) status = improve(w, &damping, &mean, &better, error);
    if (mean > SLOW * before) break;
  }
  if (status == CAROM_OK && isfinite(mean)) status = try_ends(w, &mean, error);
  result->after = mean;
  return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

// the chunks with a contact in the data or the prediction, and where they stand in the list (-1: not)
static int choose_chunks(const carom_model *m, const carom_chunks *c, const chunk_list *touched,
                         int *list, int *places) {
  memset(places, 0, sizeof(int) * (size_t)c->count);
  for (int i = 0; i < touched->count; i++) places[touched->items[i]] = 1;
  for (int i = 0; i < c->count; i++)
    for (int k = 1; k < c->states && c->contact != NULL; k++)
      if (c->contact[(size_t)i * (size_t)c->states + (size_t)k]) places[i] = 1;
  int all = 0;
  for (int i = 0; i < c->count; i++)
    if (places[i]) list[all++] = i;
  const int most = most_chunks(m, c), count = all < most ? all : most;
  for (int i = 0; i < count; i++) list[i] = list[spread_index(i, count, all)];
  for (int i = 0; i < c->count; i++) places[i] = -1;
  for (int i = 0; i < count; i++) places[list[i]] = i;
  return count;
}

static bool column_make(work *w, column *c, const chunk_list *chunks, const int *places) {
  c->chunks = size_allocate((size_t)w->count, sizeof(int));
  if (c->chunks == NULL) return false;
  for (int i = 0; chunks != NULL && i < chunks->count; i++)
    if (places[chunks->items[i]] >= 0) c->chunks[c->count++] = places[chunks->items[i]];
  for (int i = 0; chunks == NULL && i < w->count; i++) c->chunks[c->count++] = i;
  c->slope = size_allocate((size_t)c->count * (size_t)w->numbers, sizeof(double));
  return c->slope != NULL;
}

/* Columns of masses, then of every friction and restitution that some chunk feels. */
static bool columns_make(work *w, const touch_lists *touches, const int *places) {
  const carom_model *m = w->model;
  const force_fit *f = w->forces;
  const int masses = mass_columns(f);
  const int properties = m->property_count <= MOST_PROPERTIES ? m->property_count : 0;
  w->columns = size_allocate_zero((size_t)(masses + 2 * properties), sizeof(column));
  if (w->columns == NULL) return false;
  for (int k = 0; k < masses; k++) {
    column *c = &w->columns[w->column_count++];
    *c = (column){.kind = OF_MASS, .entry = f->entries[f->features + k], .mass = k};
    if (!column_make(w, c, NULL, places)) return false;
  }
  for (int k = 0; k < 2 * properties; k++) {
    const chunk_list *felt = &touches->lists[k % properties];
    const bool restitution = k >= properties;
    if (felt->count == 0) continue;
    column *c = &w->columns[w->column_count++];
    *c = (column){.kind = restitution ? OF_RESTITUTION : OF_FRICTION, .mass = -1};
    c->entry = (restitution ? m->restitution : m->friction) + k % properties;
    if (!column_make(w, c, felt, places)) return false;
    // an end of the range is where a parameter beyond it stands
    double *p = &m->parameters[c->entry];
    *p = restitution ? fmin(fmax(*p, -3), 3) : fmax(*p, 0);
  }
  return true;
}

static bool work_make(work *w) {
  const size_t width = (size_t)w->model->system->coordinate_count, count = (size_t)w->count;
  const size_t states = (size_t)w->train->states, n = (size_t)w->column_count;
  double **const arrays[] = {&w->x0,     &w->v0,       &w->x,      &w->v,        &w->residual,
                             &w->moved,  &w->matrix,   &w->factor, &w->gradient, &w->step,
                             &w->solved, &w->diagonal, &w->kept};
  const size_t numbers[] = {count * width,
                            count * width,
                            count * width * states,
                            count * width * states,
                            count * (size_t)w->numbers,
                            count * (size_t)w->numbers,
                            n * n,
                            n * n,
                            n,
                            n,
                            n,
                            n,
                            (size_t)w->model->parameter_count};
  bool made = (w->held = size_allocate_zero(n, sizeof(bool))) != NULL;
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
    made = (*arrays[i] = size_allocate(numbers[i], sizeof(double))) != NULL && made;
  return made;
}

static void work_free(work *w) {
  for (int k = 0; k < w->column_count; k++) {
    free(w->columns[k].chunks);
    free(w->columns[k].slope);
  }
  double *arrays[] = {w->x0,     w->v0,       w->x,    w->v,      w->residual, w->moved, w->matrix,
                      w->factor, w->gradient, w->step, w->solved, w->diagonal, w->kept};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) free(arrays[i]);
  free(w->held);
  free(w->list);
  free(w->columns);
}

size_t contact_fit_bytes(const carom_model *m, const carom_chunks *train) {
  const size_t most = (size_t)most_chunks(m, train), all = (size_t)train->count;
  const size_t numbers = (size_t)chunk_numbers(m, train);
  // of properties each chunk feels a few
  return sizeof(double) * numbers * (all < most ? all : most) * (MOST_MASSES + 8);
}

carom_status contact_fit_run(contact_fit *result, carom_model *m, const carom_chunks *train,
                             const force_fit *forces, const warm_work *progress,
                             carom_error *error) {
  *result = (contact_fit){0};
  if (m->friction < 0) return CAROM_OK;
  const observations all = observations_of(train);
  touch_lists touches;
  carom_status status = touch_lists_make(&touches, m, &all, train->count, NULL, error);
  if (status != CAROM_OK) return status;
  work w = {.model = m, .train = train, .forces = forces, .numbers = chunk_numbers(m, train)};
  int *places = size_allocate((size_t)train->count, sizeof(int));
  w.list = size_allocate((size_t)train->count, sizeof(int));
  bool made = places != NULL && w.list != NULL;
  if (made) w.count = choose_chunks(m, train, &touches.lists[m->property_count], w.list, places);
  if (made && w.count > 0) made = columns_make(&w, &touches, places) && work_make(&w);
  if (!made)
    status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a fit of contacts in %d chunks",
                       train->count);
  else if (w.column_count > 0)
    status = minimise(&w, result, progress, error);
  result->chunks = w.count;
  result->unknowns = w.column_count;
  free(places);
  touch_lists_free(&touches);
  work_free(&w);
  return status;
}
