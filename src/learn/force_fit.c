#include "learn/force_fit.h"

#include "base/dense.h"
#include "base/error.h"
#include "base/size.h"
#include "base/threads.h"
#include "learn/touch.h"
#include "nn/features.h"
#include "nn/gemm.h"
#include "physics/dynamics.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the Jacobian in all, and of a block that is made at once; groups of blocks whose sums are made
 * apart. */
enum { MOST_ROWS = 40000, BLOCK_ROWS = 400, GROUPS = 8 };

/* Steps, and trials of a step with more damping each. */
enum { STEPS = 14, TRIALS = 6 };

/* The ridge of the weights by the mean diagonal of their normal matrix, from step to step. */
static const double RIDGE_FIRST = 1e-4, RIDGE_FALL = 1e-2, RIDGE_LAST = 1e-10;

/* Where nothing more is to be gained: the error of a step in units of the data's speed, and the part of it
 * that a step has to take away. */
static const double EXACT = 1e-9, SLOW = 0.8;

/* A logarithm of a mass moves by no more in a step. */
static const double MOST_MOVE = 1;

/* ---- pairs of states ------------------------------------------------------------------------- */

typedef struct pair_set {
  int count;
  double *x0, *v0, *x1, *v1; /* [count][D] */
  double *x, *v;             /* [count][2][D] predicted */
  uint8_t *touched;          /* [count][2] by the prediction */
  double *residual;          /* [count][D] */
  double *size;              /* [count] root mean square of the residual of a pair */
  double *sorted;            /* [count] */
} pair_set;

static void pair_set_free(pair_set *p) {
  double *arrays[] = {p->x0, p->v0, p->x1, p->v1, p->x, p->v, p->residual, p->size, p->sorted};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) free(arrays[i]);
  free(p->touched);
  *p = (pair_set){0};
}

/* Pairs in which no contact acted. */
static int free_pairs(const carom_chunks *c, int *places) {
  int count = 0;
  for (int i = 0; i < c->count; i++)
    for (int k = 0; k < c->states - 1; k++) {
      const int at = i * c->states + k;
      if (c->contact != NULL && c->contact[at + 1]) continue;
      if (places != NULL) places[count] = at;
      count++;
    }
  return count;
}

static int most_pairs(int width) { return width < MOST_ROWS ? MOST_ROWS / width : 1; }

static carom_status pair_set_make(pair_set *p, const carom_chunks *c, int width,
                                  carom_error *error) {
  *p = (pair_set){0};
  const int all = c->count > 0 ? free_pairs(c, NULL) : 0, most = most_pairs(width);
  if (all == 0) return CAROM_OK;
  const int count = all < most ? all : most;
  const size_t numbers = (size_t)count * (size_t)width, bytes = sizeof(double) * (size_t)width;
  int *places = size_allocate((size_t)all, sizeof(int));
  double **const arrays[] = {&p->x0, &p->v0, &p->x1, &p->v1, &p->residual};
  bool made = places != NULL;
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
    made = (*arrays[i] = size_allocate(numbers, sizeof(double))) != NULL && made;
  p->x = size_allocate(2 * numbers, sizeof(double));
  p->v = size_allocate(2 * numbers, sizeof(double));
  p->size = size_allocate((size_t)count, sizeof(double));
  p->sorted = size_allocate((size_t)count, sizeof(double));
  p->touched = size_allocate((size_t)count, 2);
  if (!made || p->x == NULL || p->v == NULL || p->size == NULL || p->sorted == NULL ||
      p->touched == NULL) {
    free(places);
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d pairs of states", count);
  }
  p->count = count;
  free_pairs(c, places);
  for (int j = 0; j < count; j++) {
    const size_t from = (size_t)places[spread_index(j, count, all)] * (size_t)width;
    const size_t to = (size_t)j * (size_t)width;
    memcpy(p->x0 + to, c->x + from, bytes);
    memcpy(p->v0 + to, c->v + from, bytes);
    memcpy(p->x1 + to, c->x + from + width, bytes);
    memcpy(p->v1 + to, c->v + from + width, bytes);
  }
  free(places);
  return CAROM_OK;
}

/* Predicts and compares. A prediction that leaves the finite numbers has infinite residuals. */
static carom_status pair_set_compare(pair_set *p, carom_model *m, carom_error *error) {
  if (p->count == 0) return CAROM_OK;
  const size_t width = (size_t)m->system->coordinate_count;
  double *difference = size_allocate(width, sizeof(double));
  if (difference == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a state");
  carom_status status =
      carom_model_predict(m, p->count, 1, p->x0, p->v0, p->x, p->v, p->touched, NULL, error);
  const bool failed = status == CAROM_NUMERICAL_FAILURE;
  for (int j = 0; j < p->count && (status == CAROM_OK || failed); j++) {
    const size_t at = (size_t)j * width, next = (2 * (size_t)j + 1) * width;
    double *r = p->residual + at, sum = 0;
    for (size_t i = 0; i < width; i++) difference[i] = failed ? 0 : p->v[next + i] - p->v1[at + i];
    state_seen(m, difference, m->speed, r);
    for (size_t i = 0; i < width; i++) sum += r[i] * r[i];
    p->size[j] = failed ? INFINITY : sqrt(sum / (double)width);
  }
  free(difference);
  return failed ? CAROM_OK : status;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Three times the median: beyond that a pair does not belong to the others. */
static double usual_size(pair_set *p) {
  memcpy(p->sorted, p->size, sizeof(double) * (size_t)p->count);
  qsort(p->sorted, (size_t)p->count, sizeof(double), ascending);
  return fmax(3 * p->sorted[p->count / 2], 1e-300);
}

/* Huber's mean: squares up to `usual`, then linear. */
static double huber_mean(const pair_set *p, double usual) {
  double sum = 0;
  for (int j = 0; j < p->count; j++) {
    const double size = p->size[j];
    sum += size <= usual ? size * size : usual * (2 * size - usual);
  }
  return p->count > 0 ? sum / p->count : 0;
}

/* ---- normal equations ------------------------------------------------------------------------ */

/* One block of pairs after the other into the sums of a group. */
typedef struct group_work {
  const force_fit *fit;
  const carom_model *model;
  const pair_set *pairs;
  double usual;
  int first, end;   /* pairs */
  double *matrix;   /* [U][U] */
  double *gradient; /* [U] */
  arena scratch;
} group_work;

static int unknowns_of(const force_fit *f) { return f->features + f->masses; }

// derivative by the logarithm that stands at an entry of the parameters
static double mass_bar(const carom_model *m, const double *theta_bar, int entry) {
  const carom_system *s = m->system;
  return entry < m->mass + s->body_count
             ? theta_bar[s->segments[CAROM_LOG_MASS].offset + entry - m->mass]
             : theta_bar[s->segments[CAROM_LOG_MOMENT].offset + entry - m->moment];
}

/* Directions [D][D] along which the force of a pair shows in its rows, and the masses' columns of these:
 * row c is the derivative of h v'_c as it is seen. */
static void pair_rows(const group_work *w, const double *x, const double *v, const double *gradient,
                      dynamics_record *record, double *directions, double *rows, arena *scratch) {
  const carom_model *m = w->model;
  const carom_system *s = m->system;
  const int size = s->coordinate_count, unknowns = unknowns_of(w->fit);
  const arena_mark mark = arena_save(scratch);
  double *unit = arena_zeros(scratch, size), *bar = arena_doubles(scratch, size);
  double *none = arena_zeros(scratch, size), *unused = arena_zeros(scratch, 2 * size);
  double *theta_bar = arena_doubles(scratch, s->parameter_count);
  dynamics_eval(&m->mechanics, m->options.dynamics, 1, x, v, gradient, unused, unused + size,
                record, scratch);
  for (int c = 0; c < size; c++) {
    unit[c] = m->options.dt;
    state_seen_vjp(m, unit, m->speed, bar);
    unit[c] = 0;
    memset(theta_bar, 0, sizeof(double) * (size_t)s->parameter_count);
    dynamics_eval_vjp(&m->mechanics, m->options.dynamics, 1, record, none, bar, unused,
                      unused + size, directions + c * size, theta_bar, scratch);
    double *row = rows + (size_t)c * (size_t)unknowns + w->fit->features;
    for (int k = 0; k < w->fit->masses; k++)
      row[k] = mass_bar(m, theta_bar, w->fit->entries[w->fit->features + k]);
  }
  arena_restore(scratch, mark);
}

// rows and residuals by the square root of the pair's weight; none where the prediction met a contact
static void weigh(const group_work *w, int pair, int unknowns, double *rows, double *r) {
  const int size = w->model->system->coordinate_count;
  const pair_set *p = w->pairs;
  const double weight = p->touched[2 * pair + 1]    ? 0
                        : p->size[pair] <= w->usual ? 1
                                                    : sqrt(w->usual / p->size[pair]);
  for (int i = 0; i < size * unknowns; i++) rows[i] *= weight;
  for (int i = 0; i < size; i++)
    r[i] = weight > 0 ? weight * p->residual[(size_t)pair * (size_t)size + (size_t)i] : 0;
}

static void add_block(group_work *w, int first, int count) {
  const carom_model *m = w->model;
  const pair_set *p = w->pairs;
  const int size = m->system->coordinate_count, unknowns = unknowns_of(w->fit);
  const potential *energy = &m->potential.base;
  arena *a = &w->scratch;
  const arena_mark mark = arena_save(a);
  double *x = arena_doubles(a, count * size), *v = arena_doubles(a, count * size);
  double *gradient = arena_doubles(a, count * size), *r = arena_doubles(a, count * size);
  double *directions = ARENA_ARRAY(a, double, (size_t)count *(size_t)size *(size_t)size);
  double *rows = ARENA_ARRAY(a, double, (size_t)count *(size_t)size *(size_t)unknowns);
  const size_t from = (size_t)first * (size_t)size;
  for (int i = 0; i < count * size; i++) {
    x[i] = 0.5 * (p->x0[from + (size_t)i] + p->x1[from + (size_t)i]);
    v[i] = 0.5 * (p->v0[from + (size_t)i] + p->v1[from + (size_t)i]);
  }
  void *record = arena_bytes(a, energy->record_bytes(energy, count));
  energy->gradient(energy, &m->mechanics, count, x, gradient, record, a);
  dynamics_record dynamics = dynamics_record_make(&m->mechanics, a);
  for (int j = 0; j < count; j++)
    pair_rows(w, x + j * size, v + j * size, gradient + j * size, &dynamics,
              directions + (size_t)j * (size_t)(size * size),
              rows + (size_t)j * (size_t)(size * unknowns), a);
  network_features_along(&m->potential, count, x, size, directions, unknowns, rows, a);
  for (int j = 0; j < count; j++)
    weigh(w, first + j, unknowns, rows + (size_t)j * (size_t)(size * unknowns), r + j * size);
  gemm_tn_double(unknowns, unknowns, count * size, rows, rows, w->matrix, a);
  gemm_tn_double(unknowns, 1, count * size, rows, r, w->gradient, a);
  arena_restore(a, mark);
}

static void add_group(void *user) {
  group_work *w = user;
  const int size = w->model->system->coordinate_count;
  const int block = size < BLOCK_ROWS ? BLOCK_ROWS / size : 1;
  for (int first = w->first; first < w->end; first += block)
    add_block(w, first, w->end - first < block ? w->end - first : block);
}

/* Normal matrix and gradient at the model's parameters, of which the pairs have their residuals. */
static carom_status assemble(const force_fit *f, carom_model *m, const pair_set *p, double usual,
                             double *matrix, double *gradient, carom_error *error) {
  const size_t unknowns = (size_t)unknowns_of(f), numbers = unknowns * (unknowns + 1);
  double *sums = size_allocate_zero(size_multiply(GROUPS, numbers), sizeof(double));
  if (sums == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %zu unknowns", unknowns);
  model_expand(m, m->theta);
  mechanics_set_parameters(&m->mechanics, m->theta);
  network_potential_refresh(&m->potential);
  const int wanted = m->options.threads > 0 ? m->options.threads : omp_get_max_threads();
  const int threads = threads_startable(wanted < GROUPS ? wanted : GROUPS);
  bool enough = true;
  gemm_begin();
#pragma omp parallel for num_threads(threads) schedule(dynamic) reduction(&& : enough)
  for (int g = 0; g < GROUPS; g++) {
    group_work w = {.fit = f, .model = m, .pairs = p, .usual = usual};
    w.first = (int)((int64_t)g * p->count / GROUPS);
    w.end = (int)((int64_t)(g + 1) * p->count / GROUPS);
    w.matrix = sums + (size_t)g * numbers;
    w.gradient = w.matrix + unknowns * unknowns;
    arena_init(&w.scratch);
    enough = arena_guard(add_group, &w) && enough;
    arena_free(&w.scratch);
  }
  gemm_end();
  memset(matrix, 0, sizeof(double) * unknowns * unknowns);
  memset(gradient, 0, sizeof(double) * unknowns);
  for (int g = 0; g < GROUPS; g++)
    for (size_t i = 0; i < numbers; i++)
      *(i < unknowns * unknowns ? &matrix[i] : &gradient[i - unknowns * unknowns]) +=
          sums[(size_t)g * numbers + i];
  free(sums);
  return enough ? CAROM_OK
                : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for rows of %zu unknowns",
                            unknowns);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Everything of a fit under way. */
typedef struct fit_work {
  force_fit *fit;
  carom_model *model;
  pair_set train, validation;
  double *matrix, *factor;         /* [U][U] */
  double *gradient, *step, *kept;  /* [U] */
  double ridge, damping, diagonal; /* diagonal: mean of the weights' */
  int elastic;                     /* the first features are coefficients of the elasticity */
} fit_work;

static double *parameter_at(const fit_work *w, int k) {
  return &w->model->parameters[w->fit->entries[k]];
}

/* Solves for the step with the ridge and the damping as they are; masses move unless `linear`. */
static bool solve_step(fit_work *w, bool linear) {
  const int n = unknowns_of(w->fit), features = w->fit->features;
  const int bodies = w->model->system->body_count;
  double largest = 0;
  memcpy(w->factor, w->matrix, sizeof(double) * (size_t)n * (size_t)n);
  for (int k = 0; k < n; k++) largest = fmax(largest, w->matrix[(size_t)k * (size_t)(n + 1)]);
  for (int k = 0; k < n; k++) {
    double *own = &w->factor[(size_t)k * (size_t)(n + 1)];
    const bool weight = k >= w->elastic && k < features;
    w->step[k] = -w->gradient[k] - (weight ? w->ridge * w->diagonal * w->kept[k] : 0);
    *own += weight ? w->ridge * w->diagonal : w->damping * *own + 1e-12 * largest;
  }
  // the common scale of masses, held as hard as anything else
  for (int i = features; i < features + bodies; i++)
    for (int j = features; j < features + bodies; j++)
      w->factor[(size_t)i * (size_t)n + (size_t)j] += largest;
  for (int k = features; k < n && linear; k++) {
    for (int j = 0; j < n; j++)
      w->factor[(size_t)k * (size_t)n + (size_t)j] = w->factor[(size_t)j * (size_t)n + (size_t)k] =
          0;
    w->factor[(size_t)k * (size_t)(n + 1)] = 1;
    w->step[k] = 0;
  }
  if (!dense_factor(n, w->factor)) return false;
  dense_solve(n, w->factor, w->step);
  for (int k = 0; k < n; k++)
    if (!isfinite(w->step[k])) return false;
  return true;
}

static void take_step(const fit_work *w) {
  for (int k = 0; k < unknowns_of(w->fit); k++) {
    const bool mass = k >= w->fit->features;
    const double step = mass ? fmax(-MOST_MOVE, fmin(MOST_MOVE, w->step[k])) : w->step[k];
    *parameter_at(w, k) = w->kept[k] + step;
  }
}

static void take_back(const fit_work *w) {
  for (int k = 0; k < unknowns_of(w->fit); k++) *parameter_at(w, k) = w->kept[k];
}

static carom_status compare_both(fit_work *w, carom_error *error) {
  carom_status status = pair_set_compare(&w->train, w->model, error);
  return status == CAROM_OK ? pair_set_compare(&w->validation, w->model, error) : status;
}

/* One step, with more damping until both errors fall; *gain is the part that is left of the training
 * error, 1 if no step was taken. */
static carom_status improve(fit_work *w, bool linear, double *gain, carom_error *error) {
  const int n = unknowns_of(w->fit);
  const double usual = usual_size(&w->train);
  const double before = huber_mean(&w->train, usual), held = huber_mean(&w->validation, usual);
  *gain = 1;
  carom_status status = assemble(w->fit, w->model, &w->train, usual, w->matrix, w->gradient, error);
  if (status != CAROM_OK) return status;
  w->diagonal = 0;
  for (int k = w->elastic; k < w->fit->features; k++)
    w->diagonal += w->matrix[(size_t)k * (size_t)(n + 1)] / (w->fit->features - w->elastic);
  for (int k = 0; k < n; k++) w->kept[k] = *parameter_at(w, k);
  for (int trial = 0; trial < TRIALS; trial++) {
    if (solve_step(w, linear)) {
      take_step(w);
      status = compare_both(w, error);
      if (status != CAROM_OK) break;
      const double after = huber_mean(&w->train, usual);
      if (after < before && !(huber_mean(&w->validation, usual) > held)) {
        w->damping = fmax(0.1 * w->damping, 1e-12);
        *gain = sqrt(after / before);
        return CAROM_OK;
      }
    }
    w->damping = fmax(10 * w->damping, 1e-8);
  }
  take_back(w);
  return status == CAROM_OK ? compare_both(w, error) : status;
}

static double root_mean_square(const pair_set *p) { return sqrt(huber_mean(p, INFINITY)); }

static carom_status minimise(fit_work *w, const warm_work *work, carom_error *error) {
  w->ridge = RIDGE_FIRST;
  w->damping = 1e-6;
  for (int step = 0; step < STEPS; step++) {
    double gain;
    carom_status status = warm_work_go_on(work, error);
    // first the part that is linear: from masses far off, both at once go astray
    if (status == CAROM_OK) status = improve(w, step == 0, &gain, error);
    if (status != CAROM_OK) return status;
    if (root_mean_square(&w->train) < EXACT || (gain > SLOW && w->ridge <= RIDGE_LAST)) break;
    w->ridge = fmax(RIDGE_LAST, w->ridge * RIDGE_FALL);
  }
  return CAROM_OK;
}

/* How c follows the masses, and what is left that tells of these, where the fit has ended: what forces
 * that are not there told of the masses before was wrong. */
static carom_status reduce(fit_work *w, carom_error *error) {
  const carom_status status =
      assemble(w->fit, w->model, &w->train, usual_size(&w->train), w->matrix, w->gradient, error);
  if (status != CAROM_OK) return status;
  const size_t n = (size_t)unknowns_of(w->fit), f = (size_t)w->fit->features;
  const size_t masses = (size_t)w->fit->masses;
  double *a = w->factor;
  for (size_t i = 0; i < f; i++) {
    memcpy(a + i * f, w->matrix + i * n, sizeof(double) * f);
    const double own = w->matrix[i * (n + 1)];
    a[i * (f + 1)] += (int)i < w->elastic ? 1e-12 * (own + w->diagonal) : RIDGE_LAST * w->diagonal;
  }
  const bool solved = dense_factor((int)f, a);
  for (size_t k = 0; k < masses; k++) {
    double *follow = w->fit->follow + k * f;
    for (size_t j = 0; j < f; j++) follow[j] = solved ? -w->matrix[(f + k) * n + j] : 0;
    if (solved) dense_solve((int)f, a, follow);
    for (size_t l = 0; l < masses; l++) {
      double sum = w->matrix[(f + k) * n + f + l];
      for (size_t j = 0; j < f; j++) sum += w->matrix[(f + l) * n + j] * follow[j];
      w->fit->information[k * masses + l] = sum;
    }
  }
  return CAROM_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int mass_count(const carom_model *m) {
  const carom_system *s = m->system;
  return s->body_count + (m->moment >= 0 ? s->body_count * s->dimension : 0);
}

size_t force_fit_bytes(const carom_model *m, const carom_chunks *train) {
  const size_t n = (size_t)(network_feature_count(&m->potential) + mass_count(m));
  const size_t width = (size_t)m->system->coordinate_count;
  const size_t pairs = (size_t)most_pairs((int)width);
  const size_t rows = BLOCK_ROWS + width, threads = GROUPS;
  const size_t block = rows * (n + 2 * (size_t)m->potential.shape.hidden_size + 3 * width);
  const size_t all = (size_t)train->count * (size_t)train->states;
  return sizeof(double) *
         ((GROUPS + 2) * n * n + threads * block + 2 * 10 * width * (all < pairs ? all : pairs));
}

static carom_status fit_work_make(fit_work *w, const carom_dataset *data, carom_error *error) {
  force_fit *f = w->fit;
  carom_model *m = w->model;
  const int width = m->system->coordinate_count;
  f->features = network_feature_count(&m->potential);
  f->masses = mass_count(m);
  const size_t n = (size_t)unknowns_of(f), masses = (size_t)f->masses;
  w->elastic = 2 * m->potential.elastic_count;
  f->entries = size_allocate(n, sizeof(int));
  f->follow = size_allocate_zero(masses * (size_t)f->features, sizeof(double));
  f->information = size_allocate_zero(masses * masses, sizeof(double));
  w->matrix = size_allocate(n * n, sizeof(double));
  w->factor = size_allocate(n * n, sizeof(double));
  w->gradient = size_allocate(n, sizeof(double));
  w->step = size_allocate(n, sizeof(double));
  w->kept = size_allocate(n, sizeof(double));
  if (f->entries == NULL || f->follow == NULL || f->information == NULL || w->matrix == NULL ||
      w->factor == NULL || w->gradient == NULL || w->step == NULL || w->kept == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a fit of %zu unknowns", n);
  for (int j = 0; j < f->features; j++)
    f->entries[j] = m->network + network_feature_entry(&m->potential, j);
  for (int k = 0; k < f->masses; k++) {
    const int bodies = m->system->body_count;
    f->entries[f->features + k] = k < bodies ? m->mass + k : m->moment + k - bodies;
  }
  carom_status status = pair_set_make(&w->train, &data->train, width, error);
  if (status == CAROM_OK) status = pair_set_make(&w->validation, &data->validation, width, error);
  return status;
}

static void fit_work_free(fit_work *w) {
  pair_set_free(&w->train);
  pair_set_free(&w->validation);
  double *arrays[] = {w->matrix, w->factor, w->gradient, w->step, w->kept};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) free(arrays[i]);
}

carom_status force_fit_run(force_fit *f, carom_model *m, const carom_dataset *data,
                           const warm_work *work, carom_error *error) {
  *f = (force_fit){0};
  fit_work w = {.fit = f, .model = m};
  carom_status status = fit_work_make(&w, data, error);
  if (status == CAROM_OK && w.train.count > 0) {
    status = compare_both(&w, error);
    f->before = root_mean_square(&w.train);
    f->pairs = w.train.count;
    if (status == CAROM_OK && isfinite(f->before)) status = minimise(&w, work, error);
    f->after = root_mean_square(&w.train);
    if (status == CAROM_OK && isfinite(f->before)) status = reduce(&w, error);
  }
  fit_work_free(&w);
  return status;
}

void force_fit_free(force_fit *f) {
  free(f->entries);
  free(f->follow);
  free(f->information);
  *f = (force_fit){0};
}
