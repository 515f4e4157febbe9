#include "learn/projection.h"

#include "physics/constraints.h"

#include <math.h>
#include <string.h>

enum { MOST_NEWTON_STEPS = 30 };
static const double NEWTON_TOLERANCE = 1e-13; /* of what is left, relative to the lengths */
static const double ARRIVED = 1e-10;          /* where rounding errors are as far as it goes */

static void lay_out(void *user) {
  projection *p = user;
  const carom_system *system = p->system;
  double *theta = arena_doubles(&p->memory, system->parameter_count);
  carom_parameters_default(system, theta);
  mechanics_set_parameters(&p->mechanics, theta);
  p->arm = arena_doubles(&p->memory, system->constraint_count * system->dimension);
  p->factor =
      arena_doubles(&p->memory, system->constraint_shape.start[system->constraint_shape.size]);
  p->rows = arena_doubles(&p->memory, system->row_count);
  p->step = arena_doubles(&p->memory, system->coordinate_count);
}

bool projection_init(projection *p, const carom_system *system) {
  *p = (projection){.system = system};
  arena_init(&p->memory);
  return mechanics_init(&p->mechanics, system) && arena_guard(lay_out, p);
}

void projection_free(projection *p) {
  mechanics_free(&p->mechanics);
  arena_free(&p->memory);
}

// rows = Phi(x); returns the largest violation relative to the lengths
static double violations(projection *p, const double *x) {
  const carom_system *s = p->system;
  int d = s->dimension;
  double worst = 0;
  constraints_arms(&p->mechanics, 0, s->constraint_count, x, p->arm);
  for (int c = 0; c < s->constraint_count; c++) {
    const constraint *on = &s->constraints[c];
    const double *arm = p->arm + c * d;
    double square = 0;
    for (int k = 0; k < d; k++) square += arm[k] * arm[k];
    if (on->kind == CONSTRAINT_DISTANCE) {
      double length = on->length * on->length;
      p->rows[on->first_row] = square - length;
      worst = fmax(worst, fabs(square - length) / length);
    } else {
      for (int k = 0; k < d; k++) p->rows[on->first_row + k] = arm[k];
      worst = fmax(worst, sqrt(square));
    }
  }
  return worst;
}

// values -= J' (J J')^-1 rows
static void remove_rows(projection *p, double *values) {
  const carom_system *s = p->system;
  size_t count = (size_t)s->coordinate_count;
  constraints_factor(&p->mechanics, 0, s->constraint_count, p->arm, METRIC_GEOMETRIC, p->factor);
  constraints_solve(&p->mechanics, 0, s->constraint_count, p->factor, p->rows);
  memset(p->step, 0, sizeof(double) * count);
  constraints_apply_transpose(&p->mechanics, 0, s->constraint_count, p->arm, p->rows, p->step);
  for (size_t k = 0; k < count; k++) values[k] -= p->step[k];
}

bool projection_positions(projection *p, double *x) {
  if (p->system->constraint_count == 0) return true;
  double left = violations(p, x);
  for (int k = 0; k < MOST_NEWTON_STEPS && left > NEWTON_TOLERANCE; k++) {
    remove_rows(p, x);
    double now = violations(p, x);
    if (now >= left && left < ARRIVED) break;
    left = now;
  }
  return left < ARRIVED;
}

void projection_velocities(projection *p, const double *x, double *v) {
  const carom_system *s = p->system;
  if (s->constraint_count == 0) return;
  constraints_arms(&p->mechanics, 0, s->constraint_count, x, p->arm);
  constraints_apply(&p->mechanics, 0, s->constraint_count, p->arm, v, p->rows);
  remove_rows(p, v);
}

bool projection_apply(projection *p, double *x, double *v) {
  if (!projection_positions(p, x)) return false;
  projection_velocities(p, x, v);
  return true;
}
