/* From what a scene says to what the engine needs: indices of points, constraints that hold rigid
 * bodies together, indices of possible contacts, segments of theta. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "system/assemblies.h"
#include "system/system.h"

carom_status system_place_points(carom_system *system, carom_error *error) {
  int64_t count = 0;
  for (int i = 0; i < system->body_count; i++) {
    body *b = &system->bodies[i];
    b->first_point = (int)count;
    b->point_count = b->rigid ? system->dimension + 1 : 1;
    count += b->point_count;
    if (count > MAX_POINTS)
      return error_set(error, CAROM_INVALID_SCENE, "the bodies have more than %d points",
                       MAX_POINTS);
  }
  system->point_count = (int)count;
  system->coordinate_count = system->point_count * system->dimension;
  system->point_body = ARENA_ARRAY(&system->memory, int, count);
  for (int i = 0; i < system->body_count; i++) {
    const body *b = &system->bodies[i];
    for (int k = 0; k < b->point_count; k++) system->point_body[b->first_point + k] = i;
  }
  return CAROM_OK;
}

// bends before stretches, otherwise as they came; the unsorted ones know their property as well
static void sort_limits(carom_system *system) {
  int bend_count = 0;
  for (int i = 0; i < system->limit_count; i++) bend_count += system->limits[i].kind == LIMIT_BEND;
  limit *sorted = ARENA_ARRAY(&system->memory, limit, system->limit_count);
  int next[2] = {[LIMIT_BEND] = 0, [LIMIT_STRETCH] = bend_count};
  for (int i = 0; i < system->limit_count; i++) {
    limit *l = &system->limits[i];
    int place = next[l->kind]++;
    l->property = system->limit_property_first + place;
    sorted[place] = *l;
  }
  system->limits = sorted;
}

carom_status system_index_contacts(carom_system *system, carom_error *error) {
  int64_t bodies = system->body_count;
  int64_t pairs = system->pair_contacts ? bodies * (bodies - 1) / 2 : 0;
  int64_t walls = bodies * system->plane_count;
  int64_t count = pairs + walls + system->limit_count;
  if (count > MAX_CONTACTS)
    return error_set(error, CAROM_INVALID_SCENE,
                     "%lld possible contacts (%lld pairs, %lld bodies with planes, %d limits) are "
                     "more than %d",
                     (long long)count, (long long)pairs, (long long)walls, system->limit_count,
                     MAX_CONTACTS);
  system->pair_property_count = (int)pairs;
  system->plane_property_first = (int)pairs;
  system->limit_property_first = (int)(pairs + walls);
  system->contact_count = (int)count;
  sort_limits(system);
  return CAROM_OK;
}

// the distances |x_k - x_l| = sqrt(2) of the tips and |x_k - x_0| = 1 of a rigid body
static constraint *add_internal(const carom_system *system, int body_index, char *label,
                                constraint *next) {
  const body *b = &system->bodies[body_index];
  for (int k = 0; k < b->point_count; k++) {
    for (int l = k + 1; l < b->point_count; l++) {
      combination arm = {
          .count = 2, .point = {b->first_point + l, b->first_point + k}, .weight = {1, -1}};
      *next++ = (constraint){.kind = CONSTRAINT_DISTANCE,
                             .arm = arm,
                             .length = k == 0 ? 1 : sqrt(2),
                             .internal_of = body_index,
                             .joint = -1,
                             .label = label};
    }
  }
  return next;
}

static char *internal_label(carom_system *system, const body *b) {
  size_t size = strlen(b->id) + sizeof "body ''";
  char *label = arena_bytes(&system->memory, size);
  memcpy(label, "body '", 6);
  memcpy(label + 6, b->id, size - 8);
  memcpy(label + size - 2, "'", 2);
  return label;
}

// the scene's constraints and those inside rigid bodies in one array
static void add_internal_constraints(carom_system *system) {
  int count = system->constraint_count;
  for (int i = 0; i < system->body_count; i++) {
    int points = system->bodies[i].point_count;
    count += points * (points - 1) / 2;
  }
  constraint *all = ARENA_ARRAY(&system->memory, constraint, count);
  constraint *next = all;
  for (int i = 0; i < system->constraint_count; i++) {
    *next = system->constraints[i];
    next->internal_of = -1;
    next++;
  }
  for (int i = 0; i < system->body_count; i++) {
    body *b = &system->bodies[i];
    if (b->rigid) next = add_internal(system, i, internal_label(system, b), next);
  }
  for (int i = 0; i < count; i++)
    all[i].row_count = all[i].kind == CONSTRAINT_DISTANCE ? 1 : system->dimension;
  system->constraints = all;
  system->constraint_count = count;
}

// places of the points of shapes among those of all bodies
static void count_corners(carom_system *system) {
  system->corner_count = 0;
  for (int i = 0; i < system->body_count; i++) {
    body *b = &system->bodies[i];
    b->first_corner = system->corner_count;
    if (b->shape == SHAPE_POINTS) system->corner_count += b->shape_point_count;
  }
}

static void set_segments(carom_system *system) {
  const int sizes[CAROM_SEGMENT_COUNT] = {
      [CAROM_LOG_MASS] = system->body_count,
      [CAROM_LOG_MOMENT] = system->body_count * system->dimension,
      [CAROM_FRICTION] = system->contact_count,
      [CAROM_RESTITUTION] = system->contact_count,
      [CAROM_REGULARIZER] = 1,
      [CAROM_GRAVITY] = system->dimension,
      [CAROM_STIFFNESS] = system->spring_count,
      [CAROM_RADIUS] = system->body_count,
      [CAROM_OFFSET] = system->plane_count,
      [CAROM_CORNER] = system->corner_count * system->dimension,
      [CAROM_DRAG] = system->body_count,
      [CAROM_ANGULAR_DRAG] = system->body_count};
  static const char *const names[CAROM_SEGMENT_COUNT] = {[CAROM_LOG_MASS] = "log_mass",
                                                         [CAROM_LOG_MOMENT] = "log_moment",
                                                         [CAROM_FRICTION] = "friction",
                                                         [CAROM_RESTITUTION] = "restitution",
                                                         [CAROM_REGULARIZER] = "regularizer",
                                                         [CAROM_GRAVITY] = "gravity",
                                                         [CAROM_STIFFNESS] = "stiffness",
                                                         [CAROM_RADIUS] = "radius",
                                                         [CAROM_OFFSET] = "offset",
                                                         [CAROM_CORNER] = "corner",
                                                         [CAROM_DRAG] = "drag",
                                                         [CAROM_ANGULAR_DRAG] = "angular_drag"};
  int offset = 0;
  for (int i = 0; i < CAROM_SEGMENT_COUNT; i++) {
    system->segments[i] =
        (carom_segment_info){.name = names[i], .offset = offset, .size = sizes[i]};
    offset += sizes[i];
  }
  system->parameter_count = offset;
}

carom_status system_finish(carom_system *system, carom_error *error) {
  add_internal_constraints(system);
  carom_status status = assemblies_make(system, error);
  if (status == CAROM_OK) status = assemblies_order_rows(system, error);
  count_corners(system);
  if (status == CAROM_OK) set_segments(system);
  return status;
}
