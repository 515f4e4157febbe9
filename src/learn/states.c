#include "learn/states.h"

#include "base/error.h"
#include "base/rng.h"
#include "base/size.h"
#include "learn/measurement.h"
#include "learn/model.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Streams of the seed that draw states; apart from those of data, parameters and order. */
static const uint64_t STATES_STREAM = (uint64_t)1 << 44;

/* ---- noise ----------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// sorts the values
static double median(double *values, size_t count) {
  qsort(values, count, sizeof *values, by_size);
  return count == 0 ? 0 : values[count / 2];
}

/* Median of |normal deviate| = 0.6745 */
static const double MEDIAN_TO_DEVIATION = 1.4826;

/* Differences of order 2 or 3 over states of a chunk: weights of states k, k + 1, .., and the root of
 * the sum of their squares. */
static const double DIFFERENCES[2][4] = {{1, -2, 1, 0}, {-1, 3, -3, 1}};
static const double DIFFERENCE_NORMS[2] = {2.449489742783178, 4.47213595499958};

/* Series [states][2 M] of the numbers of a chunk, counted from those of its first state. */
static void chunk_series(const carom_system *s, const carom_chunks *chunks, int chunk,
                         double *series) {
  const size_t width = (size_t)s->coordinate_count;
  const size_t first = (size_t)chunk * (size_t)chunks->states * width;
  const int numbers = 2 * measurement_count(s);
  for (int k = 0; k < chunks->states; k++) {
    const size_t at = first + (size_t)k * width;
    measurement_residual(s, chunks->x + at, chunks->v + at, chunks->x + first, chunks->v + first,
                         series + k * numbers);
  }
}

// whether a contact acted between states of a window
static bool window_touches(const carom_chunks *chunks, int chunk, int first, int span) {
  if (chunks->contact == NULL) return false;
  const uint8_t *flags = chunks->contact + (size_t)chunk * (size_t)chunks->states;
  for (int k = first + 1; k < first + span; k++)
    if (flags[k] != 0) return true;
  return false;
}

// |differences| without a contact, of positions into values[0], of velocities into values[1]
static size_t collect_differences(const carom_system *s, const carom_chunks *chunks, double *series,
                                  double *values[2]) {
  const int count = measurement_count(s), order = chunks->states > 3 ? 1 : 0, span = order + 3;
  size_t found = 0;
  for (int chunk = 0; chunk < chunks->count; chunk++) {
    chunk_series(s, chunks, chunk, series);
    for (int k = 0; k + span <= chunks->states; k++)
      for (int j = 0; j < count && !window_touches(chunks, chunk, k, span); j++, found++)
        for (int part = 0; part < 2; part++) {
          double sum = 0;
          for (int i = 0; i < span; i++)
            sum += DIFFERENCES[order][i] * series[(k + i) * 2 * count + part * count + j];
          values[part][found] = fabs(sum) / DIFFERENCE_NORMS[order];
        }
  }
  return found;
}

carom_status noise_level_find(const carom_system *system, const carom_chunks *chunks,
                              noise_level *noise, carom_error *error) {
  *noise = (noise_level){0, 0, 1};
  if (chunks->states < 3)
    return error_set(error, CAROM_INVALID_DATA,
                     "the deviation of noise cannot be told from chunks of %d states: give it "
                     "(--noise-deviation, noise_deviation in C) or take chunks of 3 or more",
                     chunks->states);
  const size_t numbers = (size_t)measurement_count(system);
  const size_t most = size_multiply((size_t)chunks->count * (size_t)chunks->states, numbers);
  double *series = size_allocate(2 * numbers * (size_t)chunks->states, sizeof(double));
  double *values[2] = {size_allocate(most, sizeof(double)), size_allocate(most, sizeof(double))};
  carom_status status = CAROM_OK;
  if (series == NULL || values[0] == NULL || values[1] == NULL) {
    status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the noise of %d chunks",
                       chunks->count);
  } else {
    const size_t count = collect_differences(system, chunks, series, values);
    if (count == 0)
      status = error_set(error, CAROM_INVALID_DATA,
                         "the deviation of noise cannot be told: no chunk has %d states in a row "
                         "without a contact; give it (--noise-deviation, noise_deviation in C)",
                         chunks->states > 3 ? 4 : 3);
    noise->position = MEDIAN_TO_DEVIATION * median(values[0], count);
    noise->velocity = MEDIAN_TO_DEVIATION * median(values[1], count);
  }
  free(series);
  free(values[0]);
  free(values[1]);
  return status;
}

/* ---- estimates ------------------------------------------------------------------------------- */

static void estimates_free(state_estimates *s) {
  free(s->x);
  free(s->v);
  free(s->damping);
  *s = (state_estimates){0};
}

void states_free(state_estimation *e) {
  estimates_free(&e->train);
  estimates_free(&e->validation);
  projection_free(&e->onto);
  free(e->rows);
  *e = (state_estimation){0};
}

static const double FIRST_DAMPING = 0.01, MOST_DAMPING = 1e6;

// the measured first states, put on the constraints by a step of no length
static carom_status estimates_begin(state_estimates *s, projection *onto, const double *no_step,
                                    const carom_chunks *chunks, carom_error *error) {
  const size_t width = (size_t)onto->system->coordinate_count, count = (size_t)chunks->count;
  *s = (state_estimates){.chunks = *chunks,
                         .x = size_allocate(size_multiply(count, width), sizeof(double)),
                         .v = size_allocate(size_multiply(count, width), sizeof(double)),
                         .damping = size_allocate(count, sizeof(double))};
  if (s->x == NULL || s->v == NULL || s->damping == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the states of %d chunks",
                     chunks->count);
  const observations measured = observations_of(chunks);
  for (int k = 0; k < chunks->count; k++) {
    double *x = s->x + (size_t)k * width, *v = s->v + (size_t)k * width;
    memcpy(x, observed_x0(&measured, (int)width, k), sizeof(double) * width);
    memcpy(v, observed_v0(&measured, (int)width, k), sizeof(double) * width);
    s->damping[k] = FIRST_DAMPING;
    if (!measurement_step(onto, no_step, x, v))
      return error_set(error, CAROM_INVALID_DATA,
                       "the first state of chunk %d cannot be put on the constraints", k);
  }
  return CAROM_OK;
}

static carom_status check_numbers(const carom_system *system, carom_error *error) {
  const int numbers = 2 * measurement_count(system);
  if (numbers <= STATES_MOST_NUMBERS) return CAROM_OK;
  return error_set(error, CAROM_INVALID_ARGUMENT,
                   "estimate_states: a state of this scene has %d numbers, and there may be %d: "
                   "estimating takes as many predictions of every chunk",
                   numbers, STATES_MOST_NUMBERS);
}

/* Noise below this part of the data's own numbers is rounding. */
static const double LEAST_NOISE = 1e-9;

static carom_status find_noise(state_estimation *e, const carom_system *system,
                               const carom_chunks *chunks, double deviation, carom_error *error) {
  if (deviation > 0) {
    e->noise = (noise_level){deviation, deviation, 1};
    return CAROM_OK;
  }
  carom_status status = noise_level_find(system, chunks, &e->noise, error);
  e->noise.position = fmax(e->noise.position, LEAST_NOISE);
  e->noise.velocity = fmax(e->noise.velocity, LEAST_NOISE);
  return status;
}

carom_status states_begin(state_estimation *e, const carom_system *system,
                          const carom_dataset *dataset, double deviation, carom_error *error) {
  *e = (state_estimation){.on = true};
  carom_status status = check_numbers(system, error);
  if (status == CAROM_OK) status = find_noise(e, system, &dataset->train, deviation, error);
  if (status != CAROM_OK) return status;
  const double no_step[STATES_MOST_NUMBERS] = {0};
  const int numbers = 2 * measurement_count(system);
  e->rows = size_allocate_zero(2 * (size_t)numbers + 1, sizeof(int));
  if (!projection_init(&e->onto, system) || e->rows == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the states of chunks");
  int *start = e->rows + numbers;
  for (int k = 0; k < numbers; k++) start[k + 1] = start[k] + k + 1;
  e->shape = (envelope){numbers, e->rows, start};
  status = estimates_begin(&e->train, &e->onto, no_step, &dataset->train, error);
  if (status != CAROM_OK) return status;
  return estimates_begin(&e->validation, &e->onto, no_step, &dataset->validation, error);
}

static double deviation_of(const state_estimation *e, int number) {
  return number < e->shape.size / 2 ? e->noise.position : e->noise.velocity;
}

// a step in deviations, no longer than `most` of them
static void limit_step(const state_estimation *e, double most, double *step) {
  double longest = 0;
  for (int a = 0; a < e->shape.size; a++) longest = fmax(longest, fabs(step[a]));
  const double factor = longest > most ? most / longest : 1;
  for (int a = 0; a < e->shape.size; a++) step[a] *= factor * deviation_of(e, a);
}

observations states_observe(const state_estimation *e, const state_estimates *split) {
  return (observations){
      .chunks = split->chunks, .x0 = split->x, .v0 = split->v, .noise = &e->noise};
}

/* ---- a pass ---------------------------------------------------------------------------------- */

/* States that are tried from anew for a chunk that is badly explained: its loss is by number, where
 * noise alone leaves 1 or less. */
enum { TRIES = 24 };
static const double BADLY_EXPLAINED = 1.3;

/* Samples that are predicted at once, where one chunk needs no more. */
enum { MOST_SAMPLES = 1500 };

/* Lengths of differences, of states in deviations; the longest step of a state, in deviations. */
static const double STATE_DIFFERENCE = 0.005, PROPERTY_DIFFERENCE = 1e-5, LONGEST_STEP = 3;

/* Parameters of the model that are solved for together with the states. */
enum { MOST_PROPERTIES = 2 };

typedef struct pass {
  state_estimation *estimation;
  carom_model *model;
  state_estimates *split;
  observations observed;
  uint64_t seed;
  int number;
  int numbers, width; /* n = 2 M, D */
  int residuals;      /* R: of one prediction */
  int block;          /* chunks of a block */
  int samples;        /* room for so many */
  int property_count; /* P */
  int properties[MOST_PROPERTIES];
  int *indices;    /* [samples] the chunk of each */
  int *bad;        /* [block] places in the block of chunks that are badly explained */
  double *x, *v;   /* [samples][D] where predictions begin */
  double *x_first; /* [chunks][D] the estimates at the beginning, from where steps are */
  double *v_first;
  double *here;   /* [block][R] residuals at the estimates */
  double *slopes; /* [block][n + P][R] by the state and by the properties */
  double *losses; /* [chunks] of the estimates */
  double *matrix; /* [n (n + 1) / 2] H and its factor */
  double *steps;  /* [chunks][P + 1][n] of the state: by itself, and by one of each property */
  double *step;   /* [n] */
  double reduced[MOST_PROPERTIES][MOST_PROPERTIES + 1]; /* equations of the properties, states
                                                           eliminated, and their right-hand side */
  size_t value_count;
  double *values; /* [chunks][R] |residuals|, for the scale */
} pass;

static void pass_free(pass *p) {
  double *arrays[] = {p->x,      p->v,      p->x_first, p->v_first, p->here,  p->slopes,
                      p->losses, p->matrix, p->steps,   p->step,    p->values};
  for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++) free(arrays[k]);
  free(p->indices);
  free(p->bad);
}

static double *numbers_of(size_t a, size_t b) {
  return size_allocate(size_multiply(a, b), sizeof(double));
}

static carom_status pass_allocate(pass *p, carom_error *error) {
  const int each = p->numbers + 1, count = p->split->chunks.count;
  p->block = MOST_SAMPLES / each < count ? MOST_SAMPLES / each : count;
  p->samples = each * p->block > TRIES ? each * p->block : TRIES;
  const size_t n = (size_t)p->numbers, width = (size_t)p->width, r = (size_t)p->residuals;
  const size_t all = (size_t)p->samples, block = (size_t)p->block, chunks = (size_t)count;
  const size_t properties = (size_t)p->property_count;
  p->indices = size_allocate(all, sizeof(int));
  p->bad = size_allocate(block, sizeof(int));
  p->x = numbers_of(all, width);
  p->v = numbers_of(all, width);
  p->x_first = numbers_of(chunks, width);
  p->v_first = numbers_of(chunks, width);
  p->here = numbers_of(block, r);
  p->slopes = numbers_of(block * (n + properties), r);
  p->losses = numbers_of(chunks, 1);
  p->matrix = numbers_of(n * (n + 1) / 2, 1);
  p->steps = numbers_of(chunks * (properties + 1), n);
  p->step = numbers_of(n, 1);
  p->values = numbers_of(chunks, r);
  const void *arrays[] = {p->indices, p->bad,  p->x,      p->v,      p->x_first,
                          p->v_first, p->here, p->slopes, p->losses, p->matrix,
                          p->steps,   p->step, p->values};
  for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; k++)
    if (arrays[k] == NULL)
      return error_set(error, CAROM_OUT_OF_MEMORY, "no memory to estimate the states of %d chunks",
                       count);
  memcpy(p->x_first, p->split->x, sizeof(double) * chunks * width);
  memcpy(p->v_first, p->split->v, sizeof(double) * chunks * width);
  return CAROM_OK;
}

static double residual_loss(const pass *p, const double *z) {
  double sum = 0;
  for (int k = 0; k < p->residuals; k++) sum += student_loss(z[k]);
  return sum;
}

/* Sample `at` begins where the chunk's estimate was at the beginning of the pass. */
static void place_sample(pass *p, int at, int chunk) {
  const size_t width = (size_t)p->width, row = (size_t)at * width, from = (size_t)chunk * width;
  p->indices[at] = chunk;
  memcpy(p->x + row, p->x_first + from, sizeof(double) * width);
  memcpy(p->v + row, p->v_first + from, sizeof(double) * width);
}

// moves a sample by p->step; where that leads off the constraints for good, it stays
static void move_sample(pass *p, int at, int chunk) {
  const size_t row = (size_t)at * (size_t)p->width;
  if (!measurement_step(&p->estimation->onto, p->step, p->x + row, p->v + row))
    place_sample(p, at, chunk);
}

static carom_status run_samples(pass *p, int count, const double **z, carom_error *error) {
  return observations_residuals(p->model, &p->observed, count, p->indices, p->x, p->v, z, error);
}

/* ---- slopes ---- */

static double *slope_of(const pass *p, int k, int number) {
  return p->slopes + (size_t)(k * (p->numbers + p->property_count) + number) * (size_t)p->residuals;
}

static double *here_of(const pass *p, int k) { return p->here + (size_t)k * (size_t)p->residuals; }

// here, losses and slopes by the states of `count` chunks from `first` on
static carom_status take_state_slopes(pass *p, int first, int count, carom_error *error) {
  const int each = p->numbers + 1;
  const double h = STATE_DIFFERENCE * p->observed.noise->scale;
  for (int k = 0; k < count; k++)
    for (int j = 0; j < each; j++) {
      const int at = k * each + j;
      place_sample(p, at, first + k);
      if (j == 0) continue;
      memset(p->step, 0, sizeof(double) * (size_t)p->numbers);
      p->step[j - 1] = h * deviation_of(p->estimation, j - 1);
      move_sample(p, at, first + k);
    }
  const double *z;
  carom_status status = run_samples(p, count * each, &z, error);
  if (status != CAROM_OK) return status;
  const size_t r = (size_t)p->residuals;
  for (int k = 0; k < count; k++) {
    double *here = here_of(p, k);
    memcpy(here, z + (size_t)(k * each) * r, sizeof(double) * r);
    p->losses[first + k] = residual_loss(p, here);
    for (size_t i = 0; i < r; i++) p->values[p->value_count++] = fabs(here[i]);
    for (int j = 0; j < p->numbers; j++) {
      const double *there = z + (size_t)(k * each + j + 1) * r;
      for (size_t i = 0; i < r; i++) slope_of(p, k, j)[i] = (there[i] - here[i]) / h;
    }
  }
  return CAROM_OK;
}

// away from the end of its range, where a friction or restitution is beyond it
static double property_difference(const pass *p, int entry) {
  const bool high = entry == p->model->restitution && p->model->parameters[entry] > 0;
  return high ? -PROPERTY_DIFFERENCE : PROPERTY_DIFFERENCE;
}

static carom_status take_property_slopes(pass *p, int first, int count, carom_error *error) {
  carom_status status = CAROM_OK;
  for (int j = 0; j < p->property_count && status == CAROM_OK; j++) {
    double *parameter = &p->model->parameters[p->properties[j]];
    const double kept = *parameter, h = property_difference(p, p->properties[j]), *z;
    for (int k = 0; k < count; k++) place_sample(p, k, first + k);
    *parameter = kept + h;
    status = run_samples(p, count, &z, error);
    *parameter = kept;
    for (int k = 0; k < count && status == CAROM_OK; k++)
      for (int i = 0; i < p->residuals; i++)
        slope_of(p, k, p->numbers + j)[i] =
            (z[(size_t)k * (size_t)p->residuals + (size_t)i] - here_of(p, k)[i]) / h;
  }
  return status;
}

/* ---- steps of Gauss and Newton ---- */

/* sum of w a b over the residuals of a chunk */
static double weighted(const pass *p, int k, const double *a, const double *b) {
  const double *z = here_of(p, k);
  double sum = 0;
  for (int i = 0; i < p->residuals; i++) sum += student_weight(z[i]) * a[i] * b[i];
  return sum;
}

static double *steps_of(const pass *p, int chunk) {
  return p->steps + (size_t)chunk * (size_t)((p->property_count + 1) * p->numbers);
}

/* With J by the state and K by the properties, H = J' W J + damping scale^-2 (in deviations the measured
 * first state alone gives J' J at least scale^-2):
 *
 *   step of the state       -H^-1 J' W z - H^-1 J' W K (step of the properties)
 *   of the properties       sum (K' W K - K' W J H^-1 J' W K) step = -sum (K' W z - K' W J H^-1 J' W z) */
static void eliminate_state(pass *p, int k, int chunk) {
  const envelope *shape = &p->estimation->shape;
  const int n = p->numbers, properties = p->property_count;
  const double unit = 1 / (p->observed.noise->scale * p->observed.noise->scale);
  for (int a = 0; a < n; a++)
    for (int b = 0; b <= a; b++)
      p->matrix[envelope_at(shape, a, b)] = weighted(p, k, slope_of(p, k, a), slope_of(p, k, b)) +
                                            (a == b ? p->split->damping[chunk] * unit : 0);
  envelope_factor(shape, p->matrix, 1e-12);
  // column 0 by the residuals, others by properties
  for (int c = 0; c <= properties; c++) {
    double *step = steps_of(p, chunk) + c * n;
    const double *right = c == 0 ? here_of(p, k) : slope_of(p, k, n + c - 1);
    for (int a = 0; a < n; a++) step[a] = -weighted(p, k, slope_of(p, k, a), right);
    envelope_solve(shape, p->matrix, step);
  }
  for (int c = 0; c < properties; c++)
    for (int d = 0; d <= properties; d++) {
      const double *by = slope_of(p, k, n + c);
      const double *right = d < properties ? slope_of(p, k, n + d) : here_of(p, k);
      const double *step = steps_of(p, chunk) + (d < properties ? d + 1 : 0) * n;
      double sum = weighted(p, k, by, right);
      for (int a = 0; a < n; a++) sum += weighted(p, k, by, slope_of(p, k, a)) * step[a];
      p->reduced[c][d] += sum;
    }
}

// p->step for changes `moved` [P] of the properties
static void combine_steps(pass *p, int chunk, const double *moved) {
  const double *steps = steps_of(p, chunk);
  for (int a = 0; a < p->numbers; a++) {
    p->step[a] = steps[a];
    for (int c = 0; c < p->property_count; c++)
      p->step[a] += moved[c] * steps[(c + 1) * p->numbers + a];
  }
  limit_step(p->estimation, LONGEST_STEP * p->observed.noise->scale, p->step);
}

/* ---- states from anew ---- */

// one of three kinds in turn: near the estimate, near the measurement, ahead or behind in time by up to
// a step and a half
static void place_try(pass *p, int at, int chunk, int kind, rng *random) {
  const size_t row = (size_t)at * (size_t)p->width, bytes = sizeof(double) * (size_t)p->width;
  const observations measured = observations_of(&p->split->chunks);
  place_sample(p, at, chunk);
  const double size = kind == 1 ? 1 : 0.5;
  for (int a = 0; a < p->numbers; a++)
    p->step[a] = size * deviation_of(p->estimation, a) * rng_normal(random);
  if (kind == 1) {
    memcpy(p->x + row, observed_x0(&measured, p->width, chunk), bytes);
    memcpy(p->v + row, observed_v0(&measured, p->width, chunk), bytes);
  } else if (kind == 2) {
    const double time = p->model->options.dt * rng_uniform(random, -1.5, 1.5);
    for (int i = 0; i < p->width; i++) p->x[row + (size_t)i] += time * p->v[row + (size_t)i];
  }
  move_sample(p, at, chunk);
}

// takes the best of `tries` samples from `first` on if it is better than the estimate; -1: none is
static int choose(pass *p, int chunk, int tries, int first, const double *z) {
  int best = -1;
  for (int t = 0; t < tries; t++) {
    const double loss = residual_loss(p, z + (size_t)(first + t) * (size_t)p->residuals);
    // not where it is NaN
    if (!(loss < p->losses[chunk])) continue;
    p->losses[chunk] = loss;
    best = t;
  }
  if (best < 0) return best;
  const size_t width = (size_t)p->width, row = (size_t)(first + best) * width;
  memcpy(p->split->x + (size_t)chunk * width, p->x + row, sizeof(double) * width);
  memcpy(p->split->v + (size_t)chunk * width, p->v + row, sizeof(double) * width);
  return best;
}

// chunks of a block that are badly explained, so many at once as there is room for
static carom_status try_anew(pass *p, int first, int count, carom_error *error) {
  int bad = 0;
  for (int k = 0; k < count; k++)
    if (!(p->losses[first + k] < BADLY_EXPLAINED * p->residuals)) p->bad[bad++] = first + k;
  carom_status status = CAROM_OK;
  for (int done = 0, part; done < bad && status == CAROM_OK; done += part) {
    part = bad - done < p->samples / TRIES ? bad - done : p->samples / TRIES;
    for (int i = 0; i < part; i++) {
      rng random;
      rng_seed(&random, p->seed,
               STATES_STREAM + ((uint64_t)p->number << 24) + (uint64_t)p->bad[done + i]);
      for (int t = 0; t < TRIES; t++) place_try(p, i * TRIES + t, p->bad[done + i], t % 3, &random);
    }
    const double *z;
    status = run_samples(p, part * TRIES, &z, error);
    for (int i = 0; i < part && status == CAROM_OK; i++)
      if (choose(p, p->bad[done + i], TRIES, i * TRIES, z) >= 0)
        p->split->damping[p->bad[done + i]] = FIRST_DAMPING;
  }
  return status;
}

/* ---- states, the model as it stands ---- */

// damping falls where steps are taken and grows where not
static carom_status take_steps(pass *p, int first, int count, carom_error *error) {
  const double none[MOST_PROPERTIES] = {0}, *z;
  for (int k = 0; k < count; k++) {
    place_sample(p, k, first + k);
    combine_steps(p, first + k, none);
    move_sample(p, k, first + k);
  }
  carom_status status = run_samples(p, count, &z, error);
  for (int k = 0; k < count && status == CAROM_OK; k++) {
    double *damping = &p->split->damping[first + k];
    const bool better = choose(p, first + k, 1, k, z) == 0;
    *damping = better ? 0.2 * *damping : fmin(fmax(10 * *damping, FIRST_DAMPING), MOST_DAMPING);
  }
  return status;
}

static carom_status improve_states(pass *p, carom_error *error) {
  carom_status status = CAROM_OK;
  const int all = p->split->chunks.count;
  for (int first = 0; first < all && status == CAROM_OK; first += p->block) {
    const int count = all - first < p->block ? all - first : p->block;
    status = take_state_slopes(p, first, count, error);
    if (status == CAROM_OK) status = take_property_slopes(p, first, count, error);
    for (int k = 0; k < count && status == CAROM_OK; k++) eliminate_state(p, k, first + k);
    if (status == CAROM_OK) status = take_steps(p, first, count, error);
    if (status == CAROM_OK) status = try_anew(p, first, count, error);
  }
  return status;
}

/* ---- properties and states together ---- */

static double total_loss(const pass *p) {
  double sum = 0;
  for (int k = 0; k < p->split->chunks.count; k++) sum += p->losses[k];
  return sum;
}

// solves the equations of the properties: moved [P], 0 where they do not matter
static void solve_properties(const pass *p, double *moved) {
  double m[MOST_PROPERTIES][MOST_PROPERTIES + 1];
  memcpy(m, p->reduced, sizeof m);
  const int count = p->property_count;
  for (int a = 0; a < count; a++) m[a][a] *= 1 + 1e-6;
  for (int a = 0; a < count; a++)
    for (int b = a + 1; b < count && m[a][a] > 0; b++) {
      const double factor = m[b][a] / m[a][a];
      for (int c = a; c < count; c++) m[b][c] -= factor * m[a][c];
      m[b][count] -= factor * m[a][count];
    }
  for (int a = count - 1; a >= 0; a--) {
    double sum = -m[a][count];
    for (int b = a + 1; b < count; b++) sum -= m[a][b] * moved[b];
    moved[a] = m[a][a] > 0 ? sum / m[a][a] : 0;
  }
}

// into the range, and no farther than half of it
static double moved_property(const pass *p, int entry, double step) {
  const double most = entry == p->model->restitution ? 1.5 : 0.2;
  const double next = p->model->parameters[entry] + fmin(fmax(step, -most), most);
  if (entry == p->model->restitution) return fmin(fmax(next, -3), 3);
  return fmax(next, 0);
}

/* Losses of all chunks, each from the better of its estimate and the step that goes with the properties as
 * they are now: into p->losses and the estimates. */
static carom_status take_joint_steps(pass *p, const double *moved, carom_error *error) {
  const int all = p->split->chunks.count, most = p->samples / 2;
  const size_t width = (size_t)p->width, bytes = sizeof(double) * width;
  carom_status status = CAROM_OK;
  for (int first = 0; first < all && status == CAROM_OK; first += most) {
    const int count = all - first < most ? all - first : most;
    for (int k = 0; k < count; k++) {
      const size_t from = (size_t)(first + k) * width, row = (size_t)(2 * k) * width;
      p->indices[2 * k] = first + k;
      memcpy(p->x + row, p->split->x + from, bytes);
      memcpy(p->v + row, p->split->v + from, bytes);
      place_sample(p, 2 * k + 1, first + k);
      combine_steps(p, first + k, moved);
      move_sample(p, 2 * k + 1, first + k);
      p->losses[first + k] = INFINITY;
    }
    const double *z;
    status = run_samples(p, 2 * count, &z, error);
    for (int k = 0; k < count && status == CAROM_OK; k++) choose(p, first + k, 2, 2 * k, z);
  }
  return status;
}

/* The properties move with the states if that lowers the loss of all chunks; else all is put back. */
static carom_status move_properties(pass *p, carom_error *error) {
  if (p->property_count == 0) return CAROM_OK;
  const size_t count = (size_t)p->split->chunks.count, states = count * (size_t)p->width;
  double *kept = size_allocate(2 * states + count, sizeof(double));
  if (kept == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory to estimate %zu states", count);
  memcpy(kept, p->split->x, sizeof(double) * states);
  memcpy(kept + states, p->split->v, sizeof(double) * states);
  memcpy(kept + 2 * states, p->losses, sizeof(double) * count);
  double before[MOST_PROPERTIES] = {0}, moved[MOST_PROPERTIES] = {0};
  const double loss = total_loss(p);
  solve_properties(p, moved);
  for (int c = 0; c < p->property_count; c++) {
    double *parameter = &p->model->parameters[p->properties[c]];
    before[c] = *parameter;
    *parameter = moved_property(p, p->properties[c], moved[c]);
    moved[c] = *parameter - before[c];
  }
  carom_status status = take_joint_steps(p, moved, error);
  if (status != CAROM_OK || !(total_loss(p) < loss)) {
    for (int c = 0; c < p->property_count; c++) p->model->parameters[p->properties[c]] = before[c];
    memcpy(p->split->x, kept, sizeof(double) * states);
    memcpy(p->split->v, kept + states, sizeof(double) * states);
    memcpy(p->losses, kept + 2 * states, sizeof(double) * count);
  }
  free(kept);
  return status;
}

/* ---- all of it ---- */

// predictions that leave the finite numbers are no failure: estimates stay as they are
static carom_status pass_run(pass *p, carom_error *error) {
  carom_status status = pass_allocate(p, error);
  if (status == CAROM_OK) status = improve_states(p, error);
  if (status == CAROM_OK) status = move_properties(p, error);
  return status == CAROM_NUMERICAL_FAILURE ? CAROM_OK : status;
}

carom_status states_improve(state_estimation *e, carom_model *model, uint64_t seed, int number,
                            carom_error *error) {
  const int numbers = e->shape.size;
  double spread = e->noise.scale;
  carom_status status = CAROM_OK;
  for (int k = 0; k < 2 && status == CAROM_OK; k++) {
    state_estimates *split = k == 0 ? &e->train : &e->validation;
    if (split->chunks.count == 0) continue;
    pass p = {.estimation = e,
              .model = model,
              .split = split,
              .observed = states_observe(e, split),
              .seed = seed,
              .number = 2 * number + k,
              .numbers = numbers,
              .width = model->system->coordinate_count,
              .residuals = split->chunks.states * numbers,
              .property_count = k == 0 && model->property_count == 1 ? 2 : 0,
              .properties = {model->friction, model->restitution}};
    status = pass_run(&p, error);
    if (k == 0 && p.value_count > 0)
      spread = MEDIAN_TO_DEVIATION * median(p.values, p.value_count) * e->noise.scale;
    pass_free(&p);
  }
  if (status == CAROM_OK) e->noise.scale = fmax(1, spread);
  return status;
}
