#include "physics/energy.h"

#include <math.h>

#include "base/error.h"
#include "physics/potential.h"

/* States and where their energies go. */
typedef struct energy_work {
  int count;
  const double *theta, *x, *v;
  double *kinetic, *potential_energy;
  mechanics mechanics;
  arena scratch;
} energy_work;

static void compute(void *user) {
  energy_work *w = user;
  const carom_system *s = w->mechanics.system;
  double *parameters = arena_doubles(&w->scratch, s->parameter_count);
  double *momentum = arena_doubles(&w->scratch, s->coordinate_count);
  if (w->theta == NULL) carom_parameters_default(s, parameters);
  mechanics_set_parameters(&w->mechanics, w->theta != NULL ? w->theta : parameters);
  if (w->potential_energy != NULL)
    scene_potential.value(&scene_potential, &w->mechanics, w->count, w->x, w->potential_energy,
                          &w->scratch);
  // 1/2 v'Mv
  for (int k = 0; w->kinetic != NULL && k < w->count; k++) {
    const double *v = w->v + (size_t)k * (size_t)s->coordinate_count;
    double twice = 0;
    mass_apply(&w->mechanics, v, momentum);
    for (int i = 0; i < s->coordinate_count; i++) twice += momentum[i] * v[i];
    w->kinetic[k] = twice / 2;
  }
}

carom_status energy_of_states(const carom_system *system, const double *theta, int count,
                              const double *x, const double *v, double *kinetic,
                              double *potential_energy, carom_error *error) {
  energy_work w = {.count = count,
                   .theta = theta,
                   .x = x,
                   .v = v,
                   .kinetic = kinetic,
                   .potential_energy = potential_energy};
  arena_init(&w.scratch);
  bool done = mechanics_init(&w.mechanics, system) && arena_guard(compute, &w);
  mechanics_free(&w.mechanics);
  arena_free(&w.scratch);
  if (done) return error_clear(error);
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the energies of %d states", count);
}

carom_status carom_system_energy(const carom_system *system, const double *theta, const double *x,
                                 const double *v, double *kinetic, double *potential_energy,
                                 carom_error *error) {
  if (kinetic != NULL) *kinetic = NAN;
  if (potential_energy != NULL) *potential_energy = NAN;
  REQUIRE(system, error);
  REQUIRE(x, error);
  REQUIRE(v, error);
  return energy_of_states(system, theta, 1, x, v, kinetic, potential_energy, error);
}
