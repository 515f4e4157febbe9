/* Bodies with their shapes, and planes. */
#include <math.h>
#include <string.h>

#include "system/scene.h"

enum { MAX_RIM_POINTS = 10000 };

static const double TWO_PI = 6.28318530717958647693;

static double *allocate_shape_points(const scene_node *node, body *b, int count) {
  // the total over all bodies is bounded
  carom_system *system = node->reader->system;
  if (count > MAX_SHAPE_POINTS - node->reader->shape_point_count) {
    scene_fail(node, "the shapes of all bodies have more than %d points", MAX_SHAPE_POINTS);
    return NULL;
  }
  node->reader->shape_point_count += count;
  b->shape_point_count = count;
  b->shape_points = arena_doubles(&system->memory, count * system->dimension);
  return b->shape_points;
}

// a circle of points in the plane of the first two axes
static void read_rim(const scene_node *shape, body *b) {
  static const char *const fields[] = {"type", "radius", "count", "offset", "angle", NULL};
  scene_check_object(shape, fields);
  if (shape->reader->system->dimension != 3) {
    scene_fail(shape, "a rim needs dimension 3");
    return;
  }
  b->shape = SHAPE_RIM;
  b->radius = scene_positive(shape, "radius");
  int count = scene_integer(shape, "count", 3, MAX_RIM_POINTS);
  double offset = scene_number_or(shape, "offset", 0);
  double angle = scene_number_or(shape, "angle", TWO_PI);
  double *points = allocate_shape_points(shape, b, count);
  for (int k = 0; points != NULL && k < count; k++) {
    points[3 * k + 0] = b->radius * cos(angle * k / count);
    points[3 * k + 1] = b->radius * sin(angle * k / count);
    points[3 * k + 2] = offset;
  }
}

// points are the centres of small balls
static void read_rounding(const scene_node *shape, body *b) {
  if (scene_member(shape, "radius").value != NULL) b->rounding = scene_positive(shape, "radius");
}

static void read_point_set(const scene_node *shape, body *b) {
  static const char *const fields[] = {"type", "points", "radius", NULL};
  scene_check_object(shape, fields);
  read_rounding(shape, b);
  int d = shape->reader->system->dimension;
  scene_node list = scene_array(shape, "points", true);
  int count = scene_size(&list);
  if (count == 0) scene_fail(&list, "a set of points needs at least one");
  double *points = allocate_shape_points(shape, b, count);
  b->shape = SHAPE_POINTS;
  for (int k = 0; points != NULL && k < count && !scene_failed(shape); k++) {
    scene_node element = scene_element(&list, k);
    scene_read_vector(&element, d, points + k * d);
  }
}

// the corners of a box; its moments, if not given, are those of a solid one
static void read_box(const scene_node *shape, body *b) {
  static const char *const fields[] = {"type", "half_extents", "radius", NULL};
  scene_check_object(shape, fields);
  read_rounding(shape, b);
  int d = shape->reader->system->dimension;
  double half[MAX_DIMENSION];
  scene_vector(shape, "half_extents", d, half);
  scene_node node = scene_member(shape, "half_extents");
  for (int k = 0; k < d; k++) {
    if (!(half[k] >= 1e-6)) scene_fail(&node, "must be above 0 (at least 1e-6) in every direction");
    b->moment[k] = half[k] * half[k] / 3;
  }
  double *points = allocate_shape_points(shape, b, 1 << d);
  b->shape = SHAPE_POINTS;
  for (int corner = 0; points != NULL && corner < 1 << d; corner++) {
    for (int k = 0; k < d; k++)
      points[corner * d + k] = (corner >> k & 1) == 1 ? half[k] : -half[k];
  }
}

static void read_shape(const scene_node *node, body *b) {
  static const char *const kinds[] = {"rim", "points", "box", NULL};
  scene_node shape = scene_member(node, "shape");
  if (shape.value == NULL) return;
  if (scene_member(node, "radius").value != NULL) {
    scene_fail(&shape, "a body has either a radius (a ball) or a shape, not both");
    return;
  }
  if (!b->rigid) {
    scene_fail(&shape,
               "a point mass has no axes to fix a shape to; make it rigid, or a ball by "
               "giving its radius");
    return;
  }
  if (!json_is_object(shape.value)) {
    static const char *const none[] = {NULL};
    scene_check_object(&shape, none);
    return;
  }
  switch (scene_choice(&shape, "type", kinds, true)) {
    case 0: read_rim(&shape, b); break;
    case 1: read_point_set(&shape, b); break;
    default: read_box(&shape, b); break;
  }
}

// a ball; the moments of a solid disk are r^2/4, of a solid sphere r^2/5
static void read_radius(const scene_node *node, body *b) {
  if (scene_member(node, "radius").value == NULL) return;
  int d = node->reader->system->dimension;
  b->radius = scene_positive(node, "radius");
  b->shape = SHAPE_BALL;
  for (int k = 0; b->rigid && k < d; k++) b->moment[k] = b->radius * b->radius / (d + 2);
}

static void read_moments(const scene_node *node, body *b) {
  int d = node->reader->system->dimension;
  scene_node moments = scene_member(node, "moments");
  if (!b->rigid) {
    if (moments.value != NULL) scene_fail(&moments, "a point mass has no moments");
    return;
  }
  if (moments.value != NULL) scene_read_vector(&moments, d, b->moment);
  if (moments.value == NULL && b->moment[0] == 0)
    scene_fail(&moments,
               "missing; a rigid body needs the second moments per unit mass along its "
               "%d axes (only a ball and a box have defaults)",
               d);
  for (int k = 0; k < d; k++) {
    if (!(b->moment[k] >= 1e-15))
      scene_fail(&moments, "moment %d must be above 0 (at least 1e-15), is %g", k, b->moment[k]);
  }
}

static void read_drag(const scene_node *node, body *b) {
  scene_node angular = scene_member(node, "angular_drag");
  if (!b->rigid && angular.value != NULL) scene_fail(&angular, "a point mass does not turn");
  b->drag = scene_not_negative(node, "drag", 0);
  b->angular_drag = scene_not_negative(node, "angular_drag", 0);
}

static void read_body(const scene_node *node, int index) {
  static const char *const fields[] = {"id",    "type", "mass",         "moments", "radius",
                                       "shape", "drag", "angular_drag", NULL};
  static const char *const types[] = {"point", "rigid", NULL};
  body *b = &node->reader->system->bodies[index];
  scene_check_object(node, fields);
  if (scene_failed(node)) return;
  b->id = scene_id(node);
  scene_name(node, b->id, NAME_BODY, index);
  b->rigid = scene_choice(node, "type", types, true) == 1;
  b->mass = scene_positive(node, "mass");
  read_radius(node, b);
  read_shape(node, b);
  if (!scene_failed(node)) read_moments(node, b);
  if (!scene_failed(node)) read_drag(node, b);
}

void scene_read_bodies(const scene_node *root) {
  scene_node list = scene_array(root, "bodies", false);
  for (int i = 0; i < scene_size(&list) && !scene_failed(root); i++) {
    scene_node node = scene_element(&list, i);
    read_body(&node, i);
  }
  if (!scene_failed(root)) scene_read_chain_bodies(root);
  if (scene_failed(root)) return;
  carom_error cause;
  carom_status status = system_place_points(root->reader->system, &cause);
  scene_pass_on(&list, status, &cause);
}

static void read_plane(const scene_node *node, int index) {
  static const char *const fields[] = {"id", "normal", "offset", NULL};
  carom_system *system = node->reader->system;
  plane *p = &system->planes[index];
  scene_check_object(node, fields);
  if (scene_failed(node)) return;
  p->id = scene_id(node);
  scene_name(node, p->id, NAME_PLANE, index);
  scene_vector(node, "normal", system->dimension, p->normal);
  p->offset = scene_number(node, "offset");

  // scaling a plane's normal and offset together leaves the plane where it is
  double length = 0;
  for (int k = 0; k < system->dimension; k++) length = hypot(length, p->normal[k]);
  if (!(length >= 1e-12)) {
    scene_node normal = scene_member(node, "normal");
    scene_fail(&normal, "must not be zero: it says on which side the bodies are");
    return;
  }
  for (int k = 0; k < system->dimension; k++) p->normal[k] /= length;
  p->offset /= length;
}

void scene_read_planes(const scene_node *root) {
  carom_system *system = root->reader->system;
  scene_node list = scene_array(root, "planes", false);
  system->plane_count = scene_size(&list);
  system->planes = ARENA_ARRAY(&system->memory, plane, system->plane_count);
  memset(system->planes, 0, sizeof(plane) * (size_t)system->plane_count);
  for (int i = 0; i < system->plane_count && !scene_failed(root); i++) {
    scene_node node = scene_element(&list, i);
    read_plane(&node, i);
  }
}
