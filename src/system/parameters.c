/* Theta: its segments, the scene's values, what values are possible. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "system/system.h"

int carom_parameters_count(const carom_system *system) {
  return system != NULL ? system->parameter_count : 0;
}

carom_segment_info carom_parameters_segment(const carom_system *system, carom_segment segment) {
  bool known = system != NULL && (int)segment >= 0 && (int)segment < CAROM_SEGMENT_COUNT;
  return known ? system->segments[segment] : (carom_segment_info){.name = ""};
}

/* Radii, corners, drags and places of planes. */
static void shapes_default(const carom_system *system, double *theta) {
  const carom_segment_info *segments = system->segments;
  int d = system->dimension;
  for (int i = 0; i < system->body_count; i++) {
    const body *b = &system->bodies[i];
    theta[segments[CAROM_RADIUS].offset + i] = b->shape == SHAPE_BALL ? b->radius : b->rounding;
    theta[segments[CAROM_DRAG].offset + i] = b->drag;
    theta[segments[CAROM_ANGULAR_DRAG].offset + i] = b->angular_drag;
    if (b->shape == SHAPE_POINTS)
      memcpy(theta + segments[CAROM_CORNER].offset + b->first_corner * d, b->shape_points,
             sizeof(double) * (size_t)(b->shape_point_count * d));
  }
  for (int i = 0; i < system->plane_count; i++)
    theta[segments[CAROM_OFFSET].offset + i] = system->planes[i].offset;
}

void carom_parameters_default(const carom_system *system, double *theta) {
  if (system == NULL || theta == NULL) return;
  const carom_segment_info *segments = system->segments;
  int d = system->dimension;
  double *log_mass = theta + segments[CAROM_LOG_MASS].offset;
  double *log_moment = theta + segments[CAROM_LOG_MOMENT].offset;
  for (int i = 0; i < system->body_count; i++) {
    const body *b = &system->bodies[i];
    log_mass[i] = log(b->mass);
    for (int k = 0; k < d; k++) log_moment[i * d + k] = b->rigid ? log(b->moment[k]) : 0;
  }
  for (int i = 0; i < system->contact_count; i++) {
    theta[segments[CAROM_FRICTION].offset + i] = system->friction[i];
    theta[segments[CAROM_RESTITUTION].offset + i] = system->restitution[i];
  }
  theta[segments[CAROM_REGULARIZER].offset] = system->regularizer;
  for (int k = 0; k < d; k++) theta[segments[CAROM_GRAVITY].offset + k] = system->gravity[k];
  for (int i = 0; i < system->spring_count; i++)
    theta[segments[CAROM_STIFFNESS].offset + i] = system->springs[i].stiffness;
  shapes_default(system, theta);
}

// what is wrong with a value of a segment, or NULL
static const char *objection(carom_segment segment, double value) {
  if (!isfinite(value)) return "must be finite";
  if (segment == CAROM_FRICTION && value < 0) return "must not be negative";
  if (segment == CAROM_RESTITUTION && (value < 0 || value > 1)) return "must be from 0 to 1";
  if (segment == CAROM_REGULARIZER && value < 0) return "must not be negative";
  return NULL;
}

// whom an entry belongs to, for a message: " (a|ground)" or nothing
static void describe_entry(const carom_system *system, carom_segment segment, int entry,
                           char *buffer, size_t size) {
  char name[160] = "";
  if (segment == CAROM_FRICTION || segment == CAROM_RESTITUTION)
    carom_system_contact_label(system, entry, name, sizeof name);
  if (segment == CAROM_LOG_MASS || segment == CAROM_RADIUS || segment == CAROM_DRAG ||
      segment == CAROM_ANGULAR_DRAG)
    snprintf(name, sizeof name, "%s", system->bodies[entry].id);
  if (segment == CAROM_OFFSET) snprintf(name, sizeof name, "%s", system->planes[entry].id);
  if (segment == CAROM_LOG_MOMENT)
    snprintf(name, sizeof name, "%s", system->bodies[entry / system->dimension].id);
  snprintf(buffer, size, name[0] != '\0' ? " (%s)" : "%s", name);
}

carom_status carom_parameters_check(const carom_system *system, const double *theta,
                                    carom_error *error) {
  REQUIRE(system, error);
  REQUIRE(theta, error);
  for (int s = 0; s < CAROM_SEGMENT_COUNT; s++) {
    const carom_segment_info *segment = &system->segments[s];
    for (int i = 0; i < segment->size; i++) {
      double value = theta[segment->offset + i];
      const char *problem = objection((carom_segment)s, value);
      if (problem == NULL) continue;
      char entry[176];
      describe_entry(system, (carom_segment)s, i, entry, sizeof entry);
      return error_set(error, CAROM_INVALID_ARGUMENT, "parameter %s[%d]%s is %g; it %s",
                       segment->name, i, entry, value, problem);
    }
  }
  return error_clear(error);
}

double carom_parameters_mass_ratio(const carom_system *system, const double *theta,
                                   int body_index) {
  if (system == NULL || theta == NULL || body_index < 0 || body_index >= system->body_count)
    return NAN;
  const double *log_mass = theta + carom_parameters_segment(system, CAROM_LOG_MASS).offset;
  return exp(log_mass[body_index] - log_mass[0]);
}

/* sum_k exp(log_moment_k) */
double carom_parameters_inertia(const carom_system *system, const double *theta, int body_index) {
  if (system == NULL || theta == NULL || body_index < 0 || body_index >= system->body_count)
    return NAN;
  const double *log_moment = theta + carom_parameters_segment(system, CAROM_LOG_MOMENT).offset +
                             body_index * system->dimension;
  double sum = 0;
  for (int k = 0; k < system->dimension; k++) sum += exp(log_moment[k]);
  return sum;
}
