#include "learn/noise.h"

#include "base/error.h"
#include "base/rng.h"
#include "base/size.h"
#include "learn/measurement.h"
#include "system/sampler.h"

#include <stdlib.h>

/* What noise on one state needs. */
typedef struct noise {
  const carom_system *system;
  double deviation;
  rng random;
  projection onto;
  double *step; /* [2 M] */
} noise;

static double draw(noise *n) { return n->deviation * rng_normal(&n->random); }

// an angle and its rate, link by link
static void draw_chain(noise *n, int count) {
  for (int i = 0; i < count; i++) {
    n->step[i] = draw(n);
    n->step[count + i] = draw(n);
  }
}

// a body's position, its velocity, then each turn with its spin
static void draw_bodies(noise *n, int count) {
  const carom_system *s = n->system;
  double *position = n->step, *velocity = n->step + count;
  for (int b = 0; b < s->body_count; b++) {
    for (int k = 0; k < s->dimension; k++) *position++ = draw(n);
    for (int k = 0; k < s->dimension; k++) *velocity++ = draw(n);
    for (int k = 0; s->bodies[b].rigid && k < (s->dimension == 2 ? 1 : 3); k++) {
      *position++ = draw(n);
      *velocity++ = draw(n);
    }
  }
}

static bool disturb_state(noise *n, double *x, double *v) {
  const int count = measurement_count(n->system);
  (n->system->initial.kind == SAMPLER_ANGLES ? draw_chain : draw_bodies)(n, count);
  return measurement_step(&n->onto, n->step, x, v);
}

carom_status noise_add(const carom_system *system, double deviation, uint64_t seed,
                       carom_chunks *chunks, carom_error *error) {
  if (deviation == 0) return CAROM_OK;
  noise n = {.system = system, .deviation = deviation};
  n.step = size_allocate_zero(2 * (size_t)measurement_count(system), sizeof(double));
  if (!projection_init(&n.onto, system) || n.step == NULL) {
    projection_free(&n.onto);
    free(n.step);
    return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for noise on states");
  }
  bool restored = true;
  size_t size = (size_t)system->coordinate_count;
  for (int chunk = 0; chunk < chunks->count && restored; chunk++) {
    rng_seed(&n.random, seed, (uint64_t)chunk);
    for (int k = 0; k < chunks->states && restored; k++) {
      size_t at = ((size_t)chunk * (size_t)chunks->states + (size_t)k) * size;
      restored = disturb_state(&n, chunks->x + at, chunks->v + at);
    }
  }
  projection_free(&n.onto);
  free(n.step);
  if (restored) return CAROM_OK;
  return error_set(error, CAROM_NUMERICAL_FAILURE,
                   "a state with noise of deviation %g cannot be put back on the constraints; "
                   "take less noise",
                   deviation);
}
