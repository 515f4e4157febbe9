#include "physics/given_potential.h"

#include <string.h>

#include "base/error.h"
#include "base/vector.h"

static const given_potential *given_of(const potential *base) {
  return (const given_potential *)(const void *)base;
}

/* Keeps the first failure and leaves the guard. */
static _Noreturn void fail(const given_potential *p, carom_status status, carom_error *error) {
  if (error->message[0] == '\0')
    error_set(error, status, "the potential that was given failed: %s", carom_status_text(status));
  error->status = status;
#pragma omp critical(carom_given_potential)
  if (p->failure->status == CAROM_OK) *p->failure = *error;
  arena_give_up();
}

/* A number that is not finite at a finite state is the potential's fault, and is said to be. */
static void require_finite(const given_potential *p, const char *what, int count, int size,
                           const double *values, const double *x, const double *cotangent) {
  carom_error error;
  for (int i = 0; i < count; i++) {
    const size_t at = (size_t)i * (size_t)size;
    if (vector_is_finite(values + at, size) || !vector_is_finite(x + at, size) ||
        !vector_is_finite(cotangent + at, size))
      continue;
    error_set(&error, CAROM_NUMERICAL_FAILURE,
              "the potential that was given: its %s is not finite at state %d of %d", what, i,
              count);
    fail(p, CAROM_NUMERICAL_FAILURE, &error);
  }
}

static void given_gradient(const potential *self, const mechanics *m, int count, const double *x,
                           double *gradient, void *record, arena *scratch) {
  const given_potential *p = given_of(self);
  const int size = m->system->coordinate_count;
  carom_error error = {0};
  const carom_status status = p->given.gradient(p->given.user, count, x, gradient, &error);
  if (status != CAROM_OK) fail(p, status, &error);
  require_finite(p, "gradient", count, size, gradient, x, x);
  if (!p->given.beside_scene) return;
  arena_mark mark = arena_save(scratch);
  double *of_scene = arena_doubles(scratch, count * size);
  scene_potential.gradient(&scene_potential, m, count, x, of_scene, record, scratch);
  for (int i = 0; i < count * size; i++) gradient[i] += of_scene[i];
  arena_restore(scratch, mark);
}

/* In the forward pass this was gradient = given(x) + scene(x). */
static void given_gradient_vjp(const potential *self, const mechanics *m, int count,
                               const double *x, void *record, const double *gradient_bar,
                               double *x_bar, double *parameters_bar, arena *scratch) {
  const given_potential *p = given_of(self);
  const int own = p->given.parameter_count, size = m->system->coordinate_count;
  arena_mark mark = arena_save(scratch);
  double *given_bar = arena_zeros(scratch, count * size);
  carom_error error = {0};
  const carom_status status = p->given.gradient_vjp(
      p->given.user, count, x, gradient_bar, given_bar, own > 0 ? parameters_bar : NULL, &error);
  if (status != CAROM_OK) fail(p, status, &error);
  require_finite(p, "Hessian", count, size, given_bar, x, gradient_bar);
  for (int i = 0; i < count * size; i++) x_bar[i] += given_bar[i];
  if (p->given.beside_scene) {
    double *theta_bar = parameters_bar != NULL ? parameters_bar + own
                                               : arena_zeros(scratch, m->system->parameter_count);
    scene_potential.gradient_vjp(&scene_potential, m, count, x, record, gradient_bar, x_bar,
                                 theta_bar, scratch);
  }
  arena_restore(scratch, mark);
}

carom_status given_potential_check(const carom_potential *given, carom_error *error) {
  if (given->gradient == NULL || given->gradient_vjp == NULL)
    return error_set(error, CAROM_INVALID_ARGUMENT, "potential.%s is NULL",
                     given->gradient == NULL ? "gradient" : "gradient_vjp");
  if (given->parameter_count < 0)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "potential.parameter_count is %d, must not be negative",
                     given->parameter_count);
  return CAROM_OK;
}

given_potential given_potential_make(const carom_potential *given, carom_error *failure) {
  return (given_potential){.base = {.gradient = given_gradient, .gradient_vjp = given_gradient_vjp},
                           .given = *given,
                           .failure = failure};
}

int given_potential_count(const given_potential *p, const carom_system *system) {
  return p->given.parameter_count + (p->given.beside_scene ? system->parameter_count : 0);
}
