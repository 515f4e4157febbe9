/* What hangs on bodies: joints (equality constraints), springs, limits. Their ends are points of
 * bodies or of the world. */
#include <math.h>

#include "system/scene.h"

enum { WORLD = -1 };

// an end: "id" (the centre of a body), {"body": "id", "at": [...]} or [x, y(, z)] in the world
typedef struct scene_end {
  combination point;
  int body; // index or WORLD
} scene_end;

combination scene_read_body_point(const scene_node *node, int *body_index) {
  const carom_system *system = node->reader->system;
  scene_node name = scene_member(node, "body");
  int index = scene_lookup(&name, NAME_BODY);
  double at[MAX_DIMENSION];
  scene_vector_or_zero(node, "at", system->dimension, at);
  scene_node place = scene_member(node, "at");
  if (index >= 0 && place.value != NULL && !system->bodies[index].rigid)
    scene_fail(&place, "'%s' is a point mass and has no body coordinates",
               system->bodies[index].id);
  *body_index = scene_failed(node) ? -1 : index;
  if (scene_failed(node)) return (combination){0};
  return combination_on_body(&system->bodies[index], system->dimension, at);
}

static scene_end read_body_end(const scene_node *node) {
  static const char *const fields[] = {"body", "at", NULL};
  scene_end end;
  scene_check_object(node, fields);
  end.point = scene_read_body_point(node, &end.body);
  return end;
}

static scene_end read_end(const scene_node *node) {
  const carom_system *system = node->reader->system;
  const double centre[MAX_DIMENSION] = {0};
  if (json_is_object(node->value)) return read_body_end(node);
  if (json_is_string(node->value)) {
    int index = scene_lookup(node, NAME_BODY);
    if (index < 0) return (scene_end){.body = WORLD};
    const body *b = &system->bodies[index];
    return (scene_end){.point = combination_on_body(b, system->dimension, centre), .body = index};
  }
  double position[MAX_DIMENSION];
  if (json_is_array(node->value))
    scene_read_vector(node, system->dimension, position);
  else
    scene_fail(node,
               "an end is the id of a body, {\"body\": id, \"at\": [..]}, or a point of the "
               "world");
  if (scene_failed(node)) return (scene_end){.body = WORLD};
  return (scene_end){.point = combination_world(system->dimension, position), .body = WORLD};
}

// reads "ends"; at least one of them must be on a body
static void read_ends(const scene_node *object, int count, scene_end *ends) {
  scene_node list = scene_array(object, "ends", true);
  if (!scene_failed(object) && scene_size(&list) != count)
    scene_fail(&list, "expected %d ends, found %d", count, scene_size(&list));
  bool moves = false;
  for (int i = 0; i < count; i++) ends[i] = (scene_end){.body = WORLD};
  for (int i = 0; i < count && !scene_failed(object); i++) {
    scene_node node = scene_element(&list, i);
    ends[i] = read_end(&node);
    moves = moves || ends[i].body != WORLD;
  }
  if (!moves) scene_fail(&list, "at least one end must be on a body");
}

// the segment from the first end to the second one, which must be on different bodies
static combination read_arm(const scene_node *object) {
  scene_end ends[2];
  read_ends(object, 2, ends);
  scene_node list = scene_member(object, "ends");
  if (!scene_failed(object) && ends[0].body == ends[1].body)
    scene_fail(&list, "both ends are on the same body");
  return combination_difference(&ends[1].point, &ends[0].point);
}

static void read_joint(const scene_node *node, int index) {
  static const char *const link_fields[] = {"type", "ends", "length", NULL};
  static const char *const ball_fields[] = {"type", "ends", NULL};
  static const char *const any_fields[] = {"type", "ends", "length", NULL};
  static const char *const types[] = {"link", "ball", NULL};
  carom_system *system = node->reader->system;
  scene_check_object(node, any_fields);
  if (scene_failed(node)) return;
  bool is_link = scene_choice(node, "type", types, true) == 0;
  scene_check_object(node, is_link ? link_fields : ball_fields);
  system->constraints[system->constraint_count++] =
      (constraint){.kind = is_link ? CONSTRAINT_DISTANCE : CONSTRAINT_COINCIDE,
                   .arm = read_arm(node),
                   .length = is_link ? scene_positive(node, "length") : 0,
                   .joint = index,
                   .label = scene_format(node->reader, "joints[%d]", index)};
}

void scene_read_joints(const scene_node *root) {
  scene_node list = scene_array(root, "joints", false);
  for (int i = 0; i < scene_size(&list) && !scene_failed(root); i++) {
    scene_node node = scene_element(&list, i);
    read_joint(&node, i);
  }
}

void scene_read_springs(const scene_node *root) {
  static const char *const fields[] = {"ends", "stiffness", "length", NULL};
  carom_system *system = root->reader->system;
  scene_node list = scene_array(root, "springs", false);
  for (int i = 0; i < scene_size(&list) && !scene_failed(root); i++) {
    scene_node node = scene_element(&list, i);
    scene_check_object(&node, fields);
    if (scene_failed(root)) return;
    system->springs[system->spring_count++] =
        (spring){.arm = read_arm(&node),
                 .stiffness = scene_positive(&node, "stiffness"),
                 .length = scene_not_negative(&node, "length", 0)};
  }
}

// a segment that can be measured: not always zero
static void check_segment(const scene_node *node, const combination *segment, const char *which) {
  double constant = 0;
  for (int k = 0; k < MAX_DIMENSION; k++) constant += fabs(segment->constant[k]);
  if (segment->count == 0 && constant == 0) scene_fail(node, "the %s two ends coincide", which);
}

static limit read_bend(const scene_node *node) {
  static const char *const fields[] = {"id", "type", "ends", "angle", NULL};
  scene_check_object(node, fields);
  scene_end ends[3];
  read_ends(node, 3, ends);
  limit l = {.kind = LIMIT_BEND,
             .segment = combination_difference(&ends[1].point, &ends[0].point),
             .next_segment = combination_difference(&ends[2].point, &ends[1].point),
             .high = scene_positive(node, "angle")};
  scene_node list = scene_member(node, "ends"), angle = scene_member(node, "angle");
  check_segment(&list, &l.segment, "first");
  check_segment(&list, &l.next_segment, "last");
  if (l.segment.count == 0 && l.next_segment.count == 0)
    scene_fail(&list, "none of the two segments can turn");
  if (l.high >= 3.14159) scene_fail(&angle, "must be below pi (a half turn), is %g", l.high);
  return l;
}

static limit read_stretch(const scene_node *node) {
  static const char *const fields[] = {"id", "type", "ends", "low", "high", NULL};
  scene_check_object(node, fields);
  scene_node low = scene_member(node, "low"), high = scene_member(node, "high");
  limit l = {.kind = LIMIT_STRETCH,
             .segment = read_arm(node),
             .low = low.value != NULL ? scene_positive(node, "low") : 0,
             .high = high.value != NULL ? scene_positive(node, "high") : INFINITY};
  if (low.value == NULL && high.value == NULL)
    scene_fail(node, "a stretch limit needs \"low\", \"high\" or both");
  if (l.low >= l.high) scene_fail(&low, "%g is not below \"high\", %g", l.low, l.high);
  return l;
}

static void read_limit(const scene_node *node, int index) {
  static const char *const any_fields[] = {"id", "type", "ends", "angle", "low", "high", NULL};
  static const char *const types[] = {"bend", "stretch", NULL};
  carom_system *system = node->reader->system;
  scene_check_object(node, any_fields);
  if (scene_failed(node)) return;
  limit l = scene_choice(node, "type", types, true) == 0 ? read_bend(node) : read_stretch(node);
  bool named = scene_member(node, "id").value != NULL;
  l.label = named ? scene_id(node) : scene_format(node->reader, "limits[%d]", index);
  scene_name(node, l.label, NAME_LIMIT, system->limit_count);
  system->limits[system->limit_count++] = l;
}

void scene_read_limits(const scene_node *root) {
  scene_node list = scene_array(root, "limits", false);
  for (int i = 0; i < scene_size(&list) && !scene_failed(root); i++) {
    scene_node node = scene_element(&list, i);
    read_limit(&node, i);
  }
}
