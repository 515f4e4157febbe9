#include "learn/force.h"

#include "base/error.h"
#include "learn/model.h"
#include "nn/gemm.h"
#include "physics/dynamics.h"
#include "physics/potential.h"

#include <stdlib.h>
#include <string.h>

/* States that are worked on at once. */
enum { BLOCK = 200 };

// gradient [count][D], count <= BLOCK
static void gradient_of(const potential *energy, const mechanics *m, int count, const double *x,
                        double *gradient, arena *scratch) {
  const arena_mark mark = arena_save(scratch);
  const size_t bytes = energy->record_bytes != NULL ? energy->record_bytes(energy, count) : 0;
  void *record = bytes > 0 ? arena_doubles(scratch, (int)(bytes / sizeof(double)) + 1) : NULL;
  energy->gradient(energy, m, count, x, gradient, record, scratch);
  arena_restore(scratch, mark);
}

static void accelerations_from_rest(const mechanics *m, const potential *energy, int count,
                                    const double *x, double *acceleration) {
  const carom_system *s = m->system;
  const int size = s->coordinate_count, d = s->dimension;
  arena scratch;
  arena_init(&scratch);
  double *gradient = arena_doubles(&scratch, BLOCK * size);
  double *rest = arena_doubles(&scratch, size);
  memset(rest, 0, sizeof(double) * (size_t)size);
  dynamics_record record = dynamics_record_make(m, &scratch);
  gemm_begin();
  for (int first = 0, rows; first < count; first += rows) {
    rows = count - first < BLOCK ? count - first : BLOCK;
    gradient_of(energy, m, rows, x, gradient, &scratch);
    for (int k = 0; k < rows; k++, x += size) {
      dynamics_eval(m, CAROM_LAGRANGIAN, x, rest, gradient + k * size, &record, &scratch);
      for (int b = 0; b < s->body_count; b++, acceleration += d)
        memcpy(acceleration, record.acceleration + s->bodies[b].first_point * d,
               sizeof(double) * (size_t)d);
    }
  }
  gemm_end();
  arena_free(&scratch);
}

// of a system at theta
static carom_status accelerations_at(const carom_system *system, const double *theta,
                                     const potential *energy, int count, const double *x,
                                     double *acceleration, carom_error *error) {
  mechanics m;
  mechanics_init(&m, system);
  mechanics_set_parameters(&m, theta);
  accelerations_from_rest(&m, energy, count, x, acceleration);
  mechanics_free(&m);
  return error_clear(error);
}

carom_status model_accelerations(carom_model *m, int count, const double *x, double *acceleration,
                                 carom_error *error) {
  network_potential_refresh(&m->potential);
  model_expand(m, m->theta);
  return accelerations_at(m->system, m->theta, &m->potential.base, count, x, acceleration, error);
}

carom_status scene_accelerations(const carom_system *system, int count, const double *x,
                                 double *acceleration, carom_error *error) {
  double *theta = calloc((size_t)system->parameter_count + 1, sizeof(double));
  if (theta == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for parameters");
  carom_parameters_default(system, theta);
  const carom_status status =
      accelerations_at(system, theta, &scene_potential, count, x, acceleration, error);
  free(theta);
  return status;
}

carom_status carom_model_force(carom_model *model, int count, const double *x, double *force,
                               carom_error *error) {
  REQUIRE(model, error);
  REQUIRE(x, error);
  REQUIRE(force, error);
  if (count < 0)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_model_force: count is %d, must be at least 0", count);
  carom_model *m = model;
  const size_t size = (size_t)m->system->coordinate_count;
  arena scratch;
  arena_init(&scratch);
  network_potential_refresh(&m->potential);
  gemm_begin();
  for (int first = 0, rows; first < count; first += rows) {
    rows = count - first < BLOCK ? count - first : BLOCK;
    double *part = force + (size_t)first * size;
    gradient_of(&m->potential.base, &m->mechanics, rows, x + (size_t)first * size, part, &scratch);
    for (size_t i = 0; i < (size_t)rows * size; i++) part[i] = -part[i];
  }
  gemm_end();
  arena_free(&scratch);
  return error_clear(error);
}
