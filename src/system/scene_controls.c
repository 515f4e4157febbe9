/* Forces and torques that a rollout may be given. */
#include "system/scene.h"

static control read_force(const scene_node *node) {
  static const char *const fields[] = {"id", "type", "body", "at", NULL};
  scene_check_object(node, fields);
  control c = {.kind = CAROM_CONTROL_FORCE, .size = node->reader->system->dimension};
  c.point = scene_read_body_point(node, &c.body);
  return c;
}

static control read_torque(const scene_node *node) {
  static const char *const fields[] = {"id", "type", "body", NULL};
  const carom_system *system = node->reader->system;
  scene_check_object(node, fields);
  scene_node name = scene_member(node, "body");
  control c = {.kind = CAROM_CONTROL_TORQUE, .size = system->dimension == 2 ? 1 : 3};
  c.body = scene_lookup(&name, NAME_BODY);
  if (c.body >= 0 && !system->bodies[c.body].rigid)
    scene_fail(&name, "'%s' is a point mass and cannot turn; a torque needs a rigid body",
               system->bodies[c.body].id);
  return c;
}

static void read_control(const scene_node *node, int index) {
  static const char *const any_fields[] = {"id", "type", "body", "at", NULL};
  static const char *const types[] = {"force", "torque", NULL};
  carom_system *system = node->reader->system;
  scene_check_object(node, any_fields);
  if (scene_failed(node)) return;
  control c = scene_choice(node, "type", types, true) == 0 ? read_force(node) : read_torque(node);
  bool named = scene_member(node, "id").value != NULL;
  c.id = named ? scene_id(node) : scene_format(node->reader, "controls[%d]", index);
  scene_name(node, c.id, NAME_CONTROL, index);
  c.first = system->control_size;
  system->control_size += c.size;
  system->controls[system->control_count++] = c;
}

void scene_read_controls(const scene_node *root) {
  scene_node list = scene_array(root, "controls", false);
  for (int i = 0; i < scene_size(&list) && !scene_failed(root); i++) {
    scene_node node = scene_element(&list, i);
    read_control(&node, i);
  }
}
