#include "learn/force.h"

#include "base/error.h"
#include "base/size.h"
#include "learn/model.h"
#include "nn/gemm.h"
#include "physics/dynamics.h"
#include "physics/potential.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* States that are worked on at once. */
enum { BLOCK = 200 };

// gradient [count][D], count <= BLOCK
static void gradient_of(const potential *energy, const mechanics *m, int count, const double *x,
                        double *gradient, arena *scratch) {
  const arena_mark mark = arena_save(scratch);
  const size_t bytes = energy->record_bytes != NULL ? energy->record_bytes(energy, count) : 0;
  void *record = bytes > 0 ? arena_bytes(scratch, bytes) : NULL;
  energy->gradient(energy, m, count, x, gradient, record, scratch);
  arena_restore(scratch, mark);
}

/* States and where their forces or accelerations go, as a guard takes them. */
typedef struct force_work {
  const mechanics *mechanics;
  const potential *potential;
  int count;
  const double *x;
  double *result;
  arena scratch;
} force_work;

/* v' = M^-1 (-grad V + J' lambda) at v = 0, of the centres of bodies */
static void accelerations_from_rest(void *user) {
  force_work *w = user;
  const carom_system *s = w->mechanics->system;
  const int size = s->coordinate_count, d = s->dimension;
  const double *x = w->x;
  double *acceleration = w->result;
  double *gradient = arena_doubles(&w->scratch, BLOCK * size);
  double *rest = arena_zeros(&w->scratch, size), *velocity = arena_doubles(&w->scratch, size);
  double *change = arena_doubles(&w->scratch, size);
  dynamics_record record = dynamics_record_make(w->mechanics, &w->scratch);
  for (int first = 0, rows; first < w->count; first += rows) {
    rows = w->count - first < BLOCK ? w->count - first : BLOCK;
    gradient_of(w->potential, w->mechanics, rows, x, gradient, &w->scratch);
    for (int k = 0; k < rows; k++, x += size) {
      dynamics_eval(w->mechanics, CAROM_LAGRANGIAN, 1, x, rest, gradient + k * size, velocity,
                    change, &record, &w->scratch);
      for (int b = 0; b < s->body_count; b++, acceleration += d)
        memcpy(acceleration, change + s->bodies[b].first_point * d, sizeof(double) * (size_t)d);
    }
  }
}

static void forces(void *user) {
  force_work *w = user;
  const size_t size = (size_t)w->mechanics->system->coordinate_count;
  for (int first = 0, rows; first < w->count; first += rows) {
    rows = w->count - first < BLOCK ? w->count - first : BLOCK;
    double *part = w->result + (size_t)first * size;
    gradient_of(w->potential, w->mechanics, rows, w->x + (size_t)first * size, part, &w->scratch);
    for (size_t i = 0; i < (size_t)rows * size; i++) part[i] = -part[i];
  }
}

static carom_status do_work(void (*function)(void *user), force_work *w, carom_error *error) {
  arena_init(&w->scratch);
  gemm_begin();
  const bool done = arena_guard(function, w);
  gemm_end();
  arena_free(&w->scratch);
  if (done) return error_clear(error);
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the forces on %d states", w->count);
}

// of a system at theta
static carom_status accelerations_at(const carom_system *system, const double *theta,
                                     const potential *energy, int count, const double *x,
                                     double *acceleration, carom_error *error) {
  mechanics m;
  force_work w = {&m, energy, count, x, acceleration, {0}};
  carom_status status = CAROM_OUT_OF_MEMORY;
  if (mechanics_init(&m, system)) {
    mechanics_set_parameters(&m, theta);
    status = do_work(accelerations_from_rest, &w, error);
  } else {
    error_set(error, status, "no memory for the forces on %d states", count);
  }
  mechanics_free(&m);
  return status;
}

carom_status model_accelerations(carom_model *m, int count, const double *x, double *acceleration,
                                 carom_error *error) {
  if (!baseline_learns_potential(m->options.baseline)) {
    const size_t numbers = (size_t)(m->system->body_count * m->system->dimension) * (size_t)count;
    for (size_t i = 0; i < numbers; i++) acceleration[i] = NAN;
    return error_clear(error);
  }
  network_potential_refresh(&m->potential);
  model_expand(m, m->theta);
  return accelerations_at(m->system, m->theta, &m->potential.base, count, x, acceleration, error);
}

carom_status scene_accelerations(const carom_system *system, int count, const double *x,
                                 double *acceleration, carom_error *error) {
  double *theta = size_allocate_zero((size_t)system->parameter_count, sizeof(double));
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
  if (!baseline_learns_potential(model->options.baseline))
    return error_set(error, CAROM_INVALID_ARGUMENT, "%s learns no potential",
                     carom_model_options_name(&model->options));
  network_potential_refresh(&model->potential);
  force_work w = {&model->mechanics, &model->potential.base, count, x, force, {0}};
  return do_work(forces, &w, error);
}
