/* Loads a system, draws initial states, simulates them as one batch and prints what happened.
 *
 *   simulate [SCENE]      a built-in name or the path of a scene file; bd1 if none is given
 */
#include <carom.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 8, SEED = 1 };

static int give_up(const carom_error *error) {
  fprintf(stderr, "simulate: %s\n", error->message);
  return EXIT_FAILURE;
}

/* Total energy of the state at `step` of trajectory `sample`; x and v are whole trajectories. */
static double energy_at(const carom_system *system, int steps, int sample, int step,
                        const double *x, const double *v) {
  const carom_system_info info = carom_system_describe(system);
  const size_t at = ((size_t)sample * (size_t)(steps + 1) + (size_t)step) *
                    (size_t)(info.point_count * info.dimension);
  double kinetic, potential;
  carom_system_energy(system, NULL, x + at, v + at, &kinetic, &potential, NULL);
  return kinetic + potential;
}

/* One line for each trajectory. Returns whether every energy is a finite number. */
static bool print_trajectories(const carom_system *system, int steps, const double *x,
                               const double *v, const uint8_t *contacts) {
  bool finite = true;
  printf("sample  contact steps  energy before   after\n");
  for (int sample = 0; sample < BATCH; sample++) {
    int contact_steps = 0;
    for (int step = 0; step <= steps; step++)
      contact_steps += contacts[sample * (steps + 1) + step];
    const double before = energy_at(system, steps, sample, 0, x, v);
    const double after = energy_at(system, steps, sample, steps, x, v);
    printf("%6d  %13d  %13.6f  %13.6f\n", sample, contact_steps, before, after);
    finite = finite && isfinite(before) && isfinite(after);
  }
  return finite;
}

static int simulate(const carom_system *system, carom_error *error) {
  // the scene's own time step, number of steps and integrator
  const carom_rollout_options options = carom_rollout_default_options(system);
  const carom_system_info info = carom_system_describe(system);
  const size_t state = (size_t)(info.point_count * info.dimension);
  const size_t states = (size_t)BATCH * (size_t)(options.steps + 1);

  // states are [batch][point][coordinate], trajectories [batch][step][point][coordinate]
  double *x0 = malloc(BATCH * state * sizeof *x0);
  double *v0 = malloc(BATCH * state * sizeof *v0);
  double *x = malloc(states * state * sizeof *x);
  double *v = malloc(states * state * sizeof *v);
  uint8_t *contacts = malloc(states);
  int result = EXIT_FAILURE;
  carom_report report;
  if (x0 == NULL || v0 == NULL || x == NULL || v == NULL || contacts == NULL) {
    fprintf(stderr, "simulate: out of memory\n");
  } else if (carom_system_sample(system, SEED, BATCH, x0, v0, error) != CAROM_OK ||
             carom_system_simulate(system, &options, NULL, BATCH, x0, v0, x, v, contacts, &report,
                                   error) != CAROM_OK) {
    result = give_up(error);
  } else {
    printf("%s: %d bodies, %d steps of %g\n", info.name, info.body_count, options.steps,
           options.dt);
    const bool finite = print_trajectories(system, options.steps, x, v, contacts);
    printf("%lld contact events, %lld cone programs, %lld of them not solved\n",
           (long long)report.events, (long long)report.programs, (long long)report.failed_programs);
    if (finite && report.failed_programs == 0) result = EXIT_SUCCESS;
  }
  free(x0);
  free(v0);
  free(x);
  free(v);
  free(contacts);
  return result;
}

int main(int argc, char **argv) {
  carom_error error;
  carom_system *system;
  if (carom_system_load(argc > 1 ? argv[1] : "bd1", &system, &error) != CAROM_OK)
    return give_up(&error);
  const int result = simulate(system, &error);
  carom_system_destroy(system);
  return result;
}
