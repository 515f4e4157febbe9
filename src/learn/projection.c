#include "learn/projection.h"

#include "physics/constraint_projection.h"

static void lay_out(void *user) {
  projection *p = user;
  const carom_system *system = p->system;
  double *theta = arena_doubles(&p->memory, system->parameter_count);
  carom_parameters_default(system, theta);
  mechanics_set_parameters(&p->mechanics, theta);

  // a try anywhere, after which scratch has all the memory that it will need
  double *x = arena_zeros(&p->memory, system->coordinate_count);
  projection_positions(p, x);
  projection_velocities(p, x, x);
}

bool projection_init(projection *p, const carom_system *system) {
  *p = (projection){.system = system};
  arena_init(&p->memory);
  arena_init(&p->scratch);
  return mechanics_init(&p->mechanics, system) && arena_guard(lay_out, p);
}

void projection_free(projection *p) {
  mechanics_free(&p->mechanics);
  arena_free(&p->memory);
  arena_free(&p->scratch);
}

bool projection_positions(projection *p, double *x) {
  bool arrived = true;
  for (int a = 0; a < p->system->assembly_count && arrived; a++)
    arrived = project_positions(&p->mechanics, METRIC_GEOMETRIC, a, x, &p->scratch);
  return arrived;
}

void projection_velocities(projection *p, const double *x, double *v) {
  for (int a = 0; a < p->system->assembly_count; a++)
    project_velocities(&p->mechanics, METRIC_GEOMETRIC, a, x, v, &p->scratch);
}

bool projection_apply(projection *p, double *x, double *v) {
  if (!projection_positions(p, x)) return false;
  projection_velocities(p, x, v);
  return true;
}
