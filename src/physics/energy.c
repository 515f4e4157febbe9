#include "physics/potential.h"

#include <math.h>

void carom_system_energy(const carom_system *system, const double *theta, const double *x,
                         const double *v, double *kinetic, double *potential_energy) {
  if (kinetic != NULL) *kinetic = NAN;
  if (potential_energy != NULL) *potential_energy = NAN;
  if (system == NULL || x == NULL || v == NULL) return;
  mechanics m;
  arena scratch;
  arena_init(&scratch);
  double *parameters = arena_doubles(&scratch, system->parameter_count);
  double *momentum = arena_doubles(&scratch, system->coordinate_count);
  if (theta == NULL) {
    carom_parameters_default(system, parameters);
    theta = parameters;
  }
  mechanics_init(&m, system);
  mechanics_set_parameters(&m, theta);
  mass_apply(&m, v, momentum);
  double twice = 0;
  for (int i = 0; i < system->coordinate_count; i++) twice += momentum[i] * v[i];
  if (kinetic != NULL) *kinetic = twice / 2;
  if (potential_energy != NULL)
    scene_potential.value(&scene_potential, &m, 1, x, potential_energy, &scratch);
  mechanics_free(&m);
  arena_free(&scratch);
}
