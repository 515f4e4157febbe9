#include "learn/states.h"

#include "base/error.h"
#include "base/size.h"
#include "learn/measurement.h"
#include "learn/model.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- noise ----------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double deviation_by_median(double *values, size_t count) {
  qsort(values, count, sizeof *values, by_size);
  // the median of |normal deviate| is 0.6745
  return count == 0 ? 0 : 1.4826 * values[count / 2];
}

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
    noise->position = deviation_by_median(values[0], count);
    noise->velocity = deviation_by_median(values[1], count);
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
  response_free(&s->response);
  *s = (state_estimates){0};
}

void states_free(state_estimation *e) {
  estimates_free(&e->train);
  estimates_free(&e->validation);
  projection_free(&e->onto);
  free(e->rows);
  free(e->parameters);
  *e = (state_estimation){0};
}

// the measured first states, put on the constraints by a step of no length
static carom_status estimates_begin(state_estimates *s, state_estimation *e,
                                    const carom_chunks *chunks, carom_error *error) {
  projection *onto = &e->onto;
  const double no_step[STATES_MOST_NUMBERS] = {0};
  const size_t width = (size_t)onto->system->coordinate_count, count = (size_t)chunks->count;
  const int residuals = chunks->states * e->shape.size;
  *s = (state_estimates){.chunks = *chunks,
                         .x = size_allocate(size_multiply(count, width), sizeof(double)),
                         .v = size_allocate(size_multiply(count, width), sizeof(double)),
                         .damping = size_allocate(count, sizeof(double))};
  if (!response_init(&s->response, chunks->count, &e->shape, residuals) || s->x == NULL ||
      s->v == NULL || s->damping == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY,
                     "no memory for the states of %d chunks and how they follow the model, %.3g GB",
                     chunks->count,
                     size_gigabytes(response_bytes(chunks->count, e->shape.size, residuals)));
  const observations measured = observations_of(chunks);
  for (int k = 0; k < chunks->count; k++) {
    double *x = s->x + (size_t)k * width, *v = s->v + (size_t)k * width;
    memcpy(x, observed_x0(&measured, (int)width, k), sizeof(double) * width);
    memcpy(v, observed_v0(&measured, (int)width, k), sizeof(double) * width);
    s->damping[k] = STATES_FIRST_DAMPING;
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
  const int numbers = 2 * measurement_count(system);
  e->rows = size_allocate_zero(2 * (size_t)numbers + 1, sizeof(int));
  if (!projection_init(&e->onto, system) || e->rows == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the states of chunks");
  int *start = e->rows + numbers;
  for (int k = 0; k < numbers; k++) start[k + 1] = start[k] + k + 1;
  e->shape = (envelope){numbers, e->rows, start};
  status = estimates_begin(&e->train, e, &dataset->train, error);
  if (status != CAROM_OK) return status;
  return estimates_begin(&e->validation, e, &dataset->validation, error);
}

observations states_observe(const state_estimation *e, const state_estimates *split) {
  return (observations){.chunks = split->chunks,
                        .x0 = split->x,
                        .v0 = split->v,
                        .noise = &e->noise,
                        .response = split->response.known ? &split->response : NULL};
}

/* ---- how they follow the model --------------------------------------------------------------- */

// predictions that leave the finite numbers are no failure: states stand still then
static carom_status take_response(state_estimation *e, state_estimates *split, carom_model *model,
                                  carom_error *error) {
  if (split->chunks.count == 0) return CAROM_OK;
  const observations observed = states_observe(e, split);
  carom_status status =
      response_take(&split->response, model, &observed, split->damping, &e->onto, error);
  return status == CAROM_NUMERICAL_FAILURE ? CAROM_OK : status;
}

carom_status states_respond(state_estimation *e, carom_model *model, carom_error *error) {
  const size_t count = (size_t)model->parameter_count;
  if (e->parameters == NULL) e->parameters = size_allocate(count, sizeof(double));
  if (e->parameters == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %zu parameters", count);
  memcpy(e->parameters, model->parameters, sizeof(double) * count);
  carom_status status = take_response(e, &e->train, model, error);
  if (status == CAROM_OK) status = take_response(e, &e->validation, model, error);
  return status;
}

carom_status states_respond_as(state_estimation *e, carom_model *model, const double *parameters,
                               carom_error *error) {
  const size_t bytes = sizeof(double) * (size_t)model->parameter_count;
  double *kept = malloc(bytes);
  if (kept == NULL)
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for %d parameters",
                     model->parameter_count);
  memcpy(kept, model->parameters, bytes);
  memcpy(model->parameters, parameters, bytes);
  carom_status status = states_respond(e, model, error);
  memcpy(model->parameters, kept, bytes);
  free(kept);
  return status;
}
