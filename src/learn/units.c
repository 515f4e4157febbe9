#include "learn/units.h"

#include "base/error.h"
#include "system/system.h"

#include <math.h>
#include <stddef.h>

/* ---- bodies ---------------------------------------------------------------------------------- */

static double shape_reach(const body *b, int dimension) {
  double reach = b->shape == SHAPE_BALL || b->shape == SHAPE_RIM ? b->radius : 0;
  for (int k = 0; k < b->shape_point_count; k++) {
    double square = 0;
    for (int i = 0; i < dimension; i++)
      square += b->shape_points[k * dimension + i] * b->shape_points[k * dimension + i];
    reach = fmax(reach, sqrt(square));
  }
  return reach;
}

/* The weights of a combination on the tips of a body are the body coordinates of its end there. */
static double arm_reach(const body *b, const combination *arm) {
  double square = 0;
  for (int k = 0; k < arm->count; k++) {
    const int tip = arm->point[k] - b->first_point;
    if (tip >= 1 && tip < b->point_count) square += arm->weight[k] * arm->weight[k];
  }
  return sqrt(square);
}

double body_extent(const carom_system *s, int body_index) {
  const body *b = &s->bodies[body_index];
  double reach = shape_reach(b, s->dimension);
  for (int k = 0; k < s->constraint_count; k++)
    if (s->constraints[k].internal_of < 0)
      reach = fmax(reach, arm_reach(b, &s->constraints[k].arm));
  for (int k = 0; k < s->spring_count; k++) reach = fmax(reach, arm_reach(b, &s->springs[k].arm));
  return 2 * reach;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Sums over the centres of all bodies in all states. */
typedef struct spread {
  int64_t count;
  double mean[MAX_DIMENSION];
  double position_squares; /* about the mean */
  double speed_squares;
} spread;

/* Welford: S += (x - mean_{n-1}) (x - mean_n) */
static void add_centre(spread *a, int dimension, const double *x, const double *v) {
  a->count++;
  for (int i = 0; i < dimension; i++) {
    const double off = x[i] - a->mean[i];
    a->mean[i] += off / (double)a->count;
    a->position_squares += off * (x[i] - a->mean[i]);
    a->speed_squares += v[i] * v[i];
  }
}

static spread spread_of(const carom_system *s, const carom_chunks *chunks) {
  spread a = {0};
  const size_t states = (size_t)chunks->count * (size_t)chunks->states;
  for (size_t k = 0; k < states; k++)
    for (int b = 0; b < s->body_count; b++) {
      const size_t at =
          k * (size_t)s->coordinate_count + (size_t)(s->bodies[b].first_point * s->dimension);
      add_centre(&a, s->dimension, chunks->x + at, chunks->v + at);
    }
  return a;
}

// of a body that turns about its centre
static double largest_extent(const carom_system *s) {
  double extent = 0;
  for (int b = 0; b < s->body_count; b++)
    if (s->bodies[b].rigid) extent = fmax(extent, body_extent(s, b));
  return extent;
}

// a number to divide by
static bool usable(double value) { return isfinite(value) && value > 0; }

carom_status carom_model_options_by_data(carom_model_options *options, const carom_system *system,
                                         const carom_dataset *dataset, carom_error *error) {
  REQUIRE(options, error);
  REQUIRE(system, error);
  REQUIRE(dataset, error);
  const carom_chunks *chunks = &dataset->train;
  if (chunks->count < 1 || chunks->states < 1 || chunks->x == NULL || chunks->v == NULL)
    return error_set(error, CAROM_INVALID_DATA, "the data has no training chunks");
  if (!usable(dataset->dt))
    return error_set(error, CAROM_INVALID_DATA, "the time step of the data is %g, must be positive",
                     dataset->dt);
  const spread a = spread_of(system, chunks);
  const double numbers = (double)a.count * system->dimension;
  const double duration = dataset->dt * chunks->states;
  double length = sqrt(a.position_squares / numbers), speed = sqrt(a.speed_squares / numbers);
  // bodies that do not leave their places, or that rest
  if (!usable(length)) length = largest_extent(system);
  if (!usable(length)) length = speed * duration;
  if (!usable(length)) length = 1;
  if (!usable(speed)) speed = length / duration;
  options->dt = dataset->dt;
  options->length_scale = length;
  options->speed_scale = usable(speed) ? speed : 1;
  return error_clear(error);
}
