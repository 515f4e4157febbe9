#include "learn/state_response.h"

#include "base/error.h"
#include "base/size.h"
#include "learn/measurement.h"
#include "learn/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Length of differences, in deviations; the least damping. */
static const double STATE_DIFFERENCE = 0.005, LEAST_DAMPING = 0.01;

static size_t factor_size(const state_response *r) {
  return (size_t)r->numbers * ((size_t)r->numbers + 1) / 2;
}

size_t response_bytes(int chunks, int numbers, int residuals) {
  const size_t n = (size_t)numbers, each = size_multiply(n * sizeof(float), (size_t)residuals);
  const size_t other = sizeof(double) * ((size_t)residuals + n * (n + 1) / 2);
  return size_multiply((size_t)chunks, size_add(each, other));
}

bool response_init(state_response *r, int chunks, const envelope *shape, int residuals) {
  *r = (state_response){
      .chunks = chunks, .numbers = shape->size, .residuals = residuals, .shape = shape};
  const size_t count = (size_t)chunks, numbers = (size_t)residuals;
  r->slopes = size_allocate(size_multiply(count * (size_t)shape->size, numbers), sizeof *r->slopes);
  r->weights = size_allocate(size_multiply(count, numbers), sizeof(double));
  r->factors = size_allocate(size_multiply(count, factor_size(r)), sizeof(double));
  return r->slopes != NULL && r->weights != NULL && r->factors != NULL;
}

void response_free(state_response *r) {
  free(r->slopes);
  free(r->weights);
  free(r->factors);
  *r = (state_response){0};
}

/* ---- slopes ---------------------------------------------------------------------------------- */

/* Chunks whose predictions run at once: from the estimate and from beside it in every number. */
typedef struct bundle {
  const observations *observed;
  const double *damping; /* of all chunks */
  projection *onto;
  int first, count, numbers, width;
  int *indices;  /* [count (n + 1)] */
  double *x, *v; /* [count (n + 1)][D] */
} bundle;

// sample j of chunk k: the estimate, moved in number j - 1
static void place(const bundle *b, int k, int j, double length) {
  const int at = k * (b->numbers + 1) + j, chunk = b->first + k;
  const size_t bytes = sizeof(double) * (size_t)b->width, row = (size_t)at * (size_t)b->width;
  const double *x0 = observed_x0(b->observed, b->width, chunk);
  const double *v0 = observed_v0(b->observed, b->width, chunk);
  b->indices[at] = chunk;
  memcpy(b->x + row, x0, bytes);
  memcpy(b->v + row, v0, bytes);
  if (j == 0) return;
  double step[STATES_MOST_NUMBERS] = {0};
  const noise_level *noise = b->observed->noise;
  step[j - 1] = length * (2 * (j - 1) < b->numbers ? noise->position : noise->velocity);
  if (measurement_step(b->onto, step, b->x + row, b->v + row)) return;
  // off the constraints for good: no slope
  memcpy(b->x + row, x0, bytes);
  memcpy(b->v + row, v0, bytes);
}

// slopes and weights of a chunk from z [n + 1][R]; none where a prediction is not finite
static void take_chunk(state_response *r, int chunk, const double *z, double length) {
  const int numbers = r->residuals;
  float *slopes = r->slopes + (size_t)chunk * (size_t)r->numbers * (size_t)numbers;
  bool finite = true;
  for (int i = 0; i < numbers; i++) {
    r->weights[(size_t)chunk * (size_t)numbers + (size_t)i] = student_weight(z[i]);
    finite = finite && isfinite(z[i]);
  }
  for (int j = 0; j < r->numbers; j++)
    for (int i = 0; i < numbers; i++) {
      const double slope = (z[(j + 1) * numbers + i] - z[i]) / length;
      finite = finite && isfinite(slope);
      slopes[j * numbers + i] = (float)slope;
    }
  if (finite) return;
  memset(slopes, 0, sizeof(float) * (size_t)r->numbers * (size_t)numbers);
  for (int i = 0; i < numbers; i++) r->weights[(size_t)chunk * (size_t)numbers + (size_t)i] = 1;
}

/* H = J' W J + damping. A state in deviations of which the first measurement alone tells: J' J = scale^-2. */
static void factorise(state_response *r, int chunk, double damping, double scale) {
  double *matrix = r->factors + (size_t)chunk * factor_size(r);
  const double *w = r->weights + (size_t)chunk * (size_t)r->residuals;
  for (int a = 0; a < r->numbers; a++)
    for (int b = 0; b <= a; b++) {
      const float *f = response_slope(r, chunk, a), *g = response_slope(r, chunk, b);
      double sum = a == b ? fmax(damping, LEAST_DAMPING) / (scale * scale) : 0;
      for (int i = 0; i < r->residuals; i++) sum += w[i] * (double)f[i] * (double)g[i];
      matrix[envelope_at(r->shape, a, b)] = sum;
    }
  envelope_factor(r->shape, matrix, 1e-12);
}

static carom_status take_bundle(state_response *r, carom_model *model, const bundle *b,
                                carom_error *error) {
  const int each = r->numbers + 1;
  const double length = STATE_DIFFERENCE * b->observed->noise->scale;
  for (int k = 0; k < b->count; k++)
    for (int j = 0; j < each; j++) place(b, k, j, length);
  const double *z;
  carom_status status = observations_residuals(model, b->observed, b->count * each, b->indices,
                                               b->x, b->v, &z, error);
  for (int k = 0; k < b->count && status == CAROM_OK; k++) {
    take_chunk(r, b->first + k, z + (size_t)(k * each) * (size_t)r->residuals, length);
    factorise(r, b->first + k, b->damping[b->first + k], b->observed->noise->scale);
  }
  return status;
}

carom_status response_take(state_response *r, carom_model *model, const observations *observed,
                           const double *damping, projection *onto, carom_error *error) {
  r->known = false;
  const int each = r->numbers + 1, width = model->system->coordinate_count;
  const int most = STATES_MOST_SAMPLES / each < r->chunks ? STATES_MOST_SAMPLES / each : r->chunks;
  const size_t samples = (size_t)most * (size_t)each;
  bundle b = {.observed = observed,
              .damping = damping,
              .onto = onto,
              .numbers = r->numbers,
              .width = width,
              .indices = size_allocate(samples, sizeof(int)),
              .x = size_allocate(samples * (size_t)width, sizeof(double)),
              .v = size_allocate(samples * (size_t)width, sizeof(double))};
  carom_status status = CAROM_OK;
  if (b.indices == NULL || b.x == NULL || b.v == NULL)
    status = error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the slopes of %zu predictions",
                       samples);
  for (; b.first < r->chunks && status == CAROM_OK; b.first += b.count) {
    b.count = r->chunks - b.first < most ? r->chunks - b.first : most;
    status = take_bundle(r, model, &b, error);
  }
  free(b.indices);
  free(b.x);
  free(b.v);
  r->known = status == CAROM_OK;
  return status;
}

/* ---- what follows ---------------------------------------------------------------------------- */

// y = H^-1 J' (w z), w NULL: 1
static void solve_state(const state_response *r, int chunk, const double *w, const double *z,
                        double *y) {
  for (int a = 0; a < r->numbers; a++) {
    const float *slope = response_slope(r, chunk, a);
    double sum = 0;
    for (int i = 0; i < r->residuals; i++) sum += (double)slope[i] * (w ? w[i] * z[i] : z[i]);
    y[a] = sum;
  }
  envelope_solve(r->shape, r->factors + (size_t)chunk * factor_size(r), y);
}

// z -= (w) J y
static void subtract(const state_response *r, int chunk, const double *w, const double *y,
                     double *z) {
  for (int a = 0; a < r->numbers; a++) {
    const float *slope = response_slope(r, chunk, a);
    for (int i = 0; i < r->residuals; i++) z[i] -= (double)slope[i] * (w ? w[i] * y[a] : y[a]);
  }
}

void response_follow(const state_response *r, int chunk, double *z) {
  double y[STATES_MOST_NUMBERS];
  solve_state(r, chunk, r->weights + (size_t)chunk * (size_t)r->residuals, z, y);
  subtract(r, chunk, NULL, y, z);
}

/* P' = 1 - W J H^-1 J' */
void response_follow_vjp(const state_response *r, int chunk, double *z_bar) {
  double y[STATES_MOST_NUMBERS];
  solve_state(r, chunk, NULL, z_bar, y);
  subtract(r, chunk, r->weights + (size_t)chunk * (size_t)r->residuals, y, z_bar);
}
