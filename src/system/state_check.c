#include "system/state_check.h"

#include <math.h>

#include "base/error.h"

static double norm(const double *a, int count) {
  double sum = 0;
  for (int k = 0; k < count; k++) sum += a[k] * a[k];
  return sqrt(sum);
}

static carom_status check_finite(const carom_system *system, const double *values, const char *what,
                                 carom_error *error) {
  for (int i = 0; i < system->coordinate_count; i++) {
    if (isfinite(values[i])) continue;
    int point = i / system->dimension;
    const body *b = &system->bodies[system->point_body[point]];
    return error_set(error, CAROM_INVALID_DATA,
                     "%s of body '%s' (point %d, coordinate %d) is not finite", what, b->id, point,
                     i % system->dimension);
  }
  return CAROM_OK;
}

double state_speed(const carom_system *system, const double *v) {
  double greatest = 0;
  for (int i = 0; i < system->point_count; i++)
    greatest = fmax(greatest, norm(v + i * system->dimension, system->dimension));
  return greatest;
}

// what a constraint is meant to hold, for a message
static const char *purpose(const constraint *c) {
  if (c->internal_of >= 0) return "the distance of two of its points";
  return c->kind == CONSTRAINT_DISTANCE ? "the distance of its ends" : "the gap of its ends";
}

static carom_status check_constraint(const carom_system *system, const constraint *c,
                                     const double *x, const double *v, double speed,
                                     double tolerance, carom_error *error) {
  int d = system->dimension;
  double arm[MAX_DIMENSION], rate[MAX_DIMENSION];
  combination_value(&c->arm, d, x, true, arm);
  combination_value(&c->arm, d, v, false, rate);

  // position: how far off, relative to the length (to the unit axes of a body in a ball joint)
  bool distance = c->kind == CONSTRAINT_DISTANCE;
  double length = norm(arm, d);
  double expected = distance ? c->length : 0;
  double scale = distance ? c->length : 1;
  if (!(fabs(length - expected) <= tolerance * scale))
    return error_set(error, CAROM_INVALID_DATA,
                     "position violates %s: %s is %.12g, should be %.12g (off by %.3g)", c->label,
                     purpose(c), length, expected, length - expected);

  // velocity: how fast the ends part
  double parting = norm(rate, d);
  if (distance) {
    double product = 0;
    for (int k = 0; k < d; k++) product += arm[k] * rate[k];
    parting = product / length;
  }
  if (!(fabs(parting) <= tolerance * speed))
    return error_set(error, CAROM_INVALID_DATA,
                     "velocity violates %s: %s changes at a rate of %.3g, should be 0", c->label,
                     purpose(c), parting);
  return CAROM_OK;
}

carom_status state_check(const carom_system *system, const double *x, const double *v,
                         double tolerance, double speed, carom_error *error) {
  carom_status status = check_finite(system, x, "position", error);
  if (status == CAROM_OK) status = check_finite(system, v, "velocity", error);
  for (int k = 0; k < system->constraint_count && status == CAROM_OK; k++)
    status = check_constraint(system, &system->constraints[k], x, v, speed, tolerance, error);
  return status;
}

carom_status carom_system_check_states(const carom_system *system, int count, const double *x,
                                       const double *v, double tolerance, carom_error *error) {
  REQUIRE(system, error);
  REQUIRE(x, error);
  REQUIRE(v, error);
  if (count < 0 || !(tolerance >= 0))
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_system_check_states: count is %d and tolerance %g; neither may be "
                     "negative",
                     count, tolerance);
  for (int i = 0; i < count; i++) {
    if (state_check(system, x, v, tolerance, state_speed(system, v), error) != CAROM_OK) {
      error_prefix(error, "state %d", i);
      return CAROM_INVALID_DATA;
    }
    x += system->coordinate_count;
    v += system->coordinate_count;
  }
  return error_clear(error);
}
