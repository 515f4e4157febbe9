#include "support/stepper.h"

#include <math.h>

typedef struct energies {
  double kinetic, potential;
} energies;

static energies energies_of(stepper *s) {
  energies e = {0};
  arena_mark mark = arena_save(&s->scratch);
  double *momentum = arena_doubles(&s->scratch, s->system->coordinate_count);
  mass_apply(&s->mechanics, s->v, momentum);
  for (int i = 0; i < s->system->coordinate_count; i++) e.kinetic += 0.5 * s->v[i] * momentum[i];
  scene_potential.value(&scene_potential, &s->mechanics, 1, s->x, &e.potential, &s->scratch);
  arena_restore(&s->scratch, mark);
  return e;
}

double stepper_kinetic(stepper *s) { return energies_of(s).kinetic; }

void stepper_open(stepper *s, carom_system *system) {
  *s = (stepper){.system = system, .finite = true, .impulse = -INFINITY};
  arena_init(&s->memory);
  arena_init(&s->scratch);
  contact_list_init(&s->active);
  mechanics_init(&s->mechanics, system);
  double *theta = arena_zeros(&s->memory, system->parameter_count);
  carom_parameters_default(system, theta);
  mechanics_set_parameters(&s->mechanics, theta);
  s->options = carom_rollout_default_options(system);
  s->integrator = (integrator){.mechanics = &s->mechanics,
                               .potential = &scene_potential,
                               .method = s->options.integrator,
                               .dt = s->options.dt,
                               .substeps = 1};
  s->record = step_record_make(&s->integrator, 1, &s->memory);
  s->x = arena_zeros(&s->memory, system->coordinate_count);
  s->v = arena_zeros(&s->memory, system->coordinate_count);
  carom_system_sample(system, 0, 1, s->x, s->v, NULL);
  energies e = energies_of(s);
  s->first = s->energy = e.kinetic + e.potential;
}

void stepper_close(stepper *s) {
  contact_list_free(&s->active);
  mechanics_free(&s->mechanics);
  carom_system_destroy(s->system);
  arena_free(&s->memory);
  arena_free(&s->scratch);
}

static void event(stepper *s) {
  arena_mark mark = arena_save(&s->scratch);
  contact_event e = contact_event_make(&s->mechanics, &s->options, &s->active, s->x, &s->scratch);
  event_impulses impulses =
      event_impulses_at(&e, arena_bytes(&s->scratch, event_impulses_bytes(&e)));
  s->deepest = 0;
  for (int c = 0; c < e.group.count; c++) s->deepest = fmax(s->deepest, -e.group.contacts[c].gap);
  energies before = energies_of(s);
  s->failed += !contact_event_solve(&e, s->x, s->v, &impulses, &s->scratch);
  for (int i = 0; i < e.group.island_count; i++)
    s->failed += (impulses.compression.info[i].status > CAROM_CONE_DEGENERATE) +
                 (impulses.restitution.info[i].status > CAROM_CONE_DEGENERATE);
  energies after = energies_of(s);
  s->impulse = fmax(s->impulse, after.kinetic - before.kinetic);
  s->lifted += after.potential - before.potential;
  s->events++;
  arena_restore(&s->scratch, mark);
}

void stepper_step(stepper *s) {
  s->integrator.dynamics = s->options.dynamics;
  integrator_step(&s->integrator, 1, s->x, s->v, &s->record, &s->scratch);
  energies moved = energies_of(s);
  s->motion += moved.kinetic + moved.potential - s->energy;
  collision_detect(s->system, s->x, &s->active);
  if (s->active.count > 0) event(s);
  energies now = energies_of(s);
  s->energy = now.kinetic + now.potential;
  s->most = fmax(s->most, s->energy - s->first - s->lifted);
  s->given = fmax(s->given, s->energy - s->first - s->lifted - s->motion);
  s->finite = s->finite && isfinite(s->energy);
}

void stepper_run(stepper *s, int steps) {
  for (int k = 0; k < steps && s->finite; k++) stepper_step(s);
}
