/* Friction and restitution of every possible contact: one value for all, and exceptions. */
#include <string.h>

#include "system/scene.h"

static double read_friction(const scene_node *object, double otherwise) {
  return scene_not_negative(object, "friction", otherwise);
}

static double read_restitution(const scene_node *object, double otherwise) {
  scene_node node = scene_member(object, "restitution");
  if (node.value == NULL) return otherwise;
  double value = scene_number(object, "restitution");
  if (value < 0 || value > 1) scene_fail(&node, "must be from 0 to 1, is %g", value);
  return value;
}

// index of the properties that {"between": [a, b]} means, or -1
static int pair_of(const scene_node *node) {
  const carom_system *system = node->reader->system;
  scene_node list = scene_array(node, "between", true);
  if (!scene_failed(node) && scene_size(&list) != 2)
    scene_fail(&list, "expected the ids of two bodies, found %d", scene_size(&list));
  if (scene_failed(node)) return -1;
  scene_node first = scene_element(&list, 0), second = scene_element(&list, 1);
  int i = scene_lookup(&first, NAME_BODY), j = scene_lookup(&second, NAME_BODY);
  if (i == j) scene_fail(&list, "a body does not touch itself");
  if (!system->pair_contacts)
    scene_fail(&list, "bodies do not touch each other in this scene; set contacts.pairs to true");
  if (scene_failed(node)) return -1;
  return i < j ? system_pair_property(system, i, j) : system_pair_property(system, j, i);
}

static int plane_contact_of(const scene_node *node) {
  scene_node first = scene_member(node, "body"), second = scene_member(node, "plane");
  int i = scene_lookup(&first, NAME_BODY);
  int plane_index = scene_lookup(&second, NAME_PLANE);
  return scene_failed(node) ? -1 : system_plane_property(node->reader->system, i, plane_index);
}

static int limit_of(const scene_node *node) {
  // the system's limits have been sorted since they were named
  scene_node name = scene_member(node, "limit");
  int index = scene_lookup(&name, NAME_LIMIT);
  return index >= 0 ? node->reader->limits_as_named[index].property : -1;
}

static int overridden_contact(const scene_node *node) {
  static const char *const fields[] = {"between",  "body",        "plane", "limit",
                                       "friction", "restitution", NULL};
  scene_check_object(node, fields);
  if (scene_failed(node)) return -1;
  bool pair = json_object_get(node->value, "between") != NULL;
  bool limited = json_object_get(node->value, "limit") != NULL;
  bool walled =
      json_object_get(node->value, "body") != NULL || json_object_get(node->value, "plane") != NULL;
  if (pair + limited + walled != 1) {
    scene_fail(node,
               "say which contact: \"between\": [body, body], or \"body\" and \"plane\", or "
               "\"limit\"");
    return -1;
  }
  if (pair) return pair_of(node);
  return limited ? limit_of(node) : plane_contact_of(node);
}

static void read_overrides(const scene_node *contacts) {
  carom_system *system = contacts->reader->system;
  scene_node list = scene_array(contacts, "overrides", false);
  bool *seen = ARENA_ARRAY(&system->memory, bool, system->contact_count);
  memset(seen, 0, sizeof(bool) * (size_t)system->contact_count);
  for (int i = 0; i < scene_size(&list) && !scene_failed(contacts); i++) {
    scene_node node = scene_element(&list, i);
    int contact = overridden_contact(&node);
    if (contact < 0) return;
    if (seen[contact]) scene_fail(&node, "this contact has been given before");
    seen[contact] = true;
    if (scene_member(&node, "friction").value == NULL &&
        scene_member(&node, "restitution").value == NULL)
      scene_fail(&node, "give \"friction\", \"restitution\" or both");
    system->friction[contact] = read_friction(&node, system->friction[contact]);
    system->restitution[contact] = read_restitution(&node, system->restitution[contact]);
  }
}

static void read_shared(const scene_node *contacts) {
  carom_system *system = contacts->reader->system;
  scene_node overrides = scene_member(contacts, "overrides");
  bool uniform = json_array_size(overrides.value) == 0;
  system->shared_properties = scene_flag(contacts, "shared", uniform);
  if (system->shared_properties && !uniform)
    scene_fail(&overrides,
               "properties that are shared by all contacts cannot be overridden; set "
               "\"shared\" to false");
}

const char *const contact_time_names[] = {"step", "event", NULL};
const char *const friction_names[] = {
    [CAROM_CONVEX_FRICTION] = "convex", [CAROM_COULOMB_FRICTION] = "coulomb", NULL};

void scene_read_contacts(const scene_node *root) {
  static const char *const fields[] = {"pairs",     "friction",    "restitution", "shared",
                                       "overrides", "regularizer", "law",         "hold",
                                       "time",      NULL};
  carom_system *system = root->reader->system;
  scene_node contacts = scene_member(root, "contacts");
  bool given = contacts.value != NULL;
  if (given) scene_check_object(&contacts, fields);
  if (scene_failed(root)) return;
  system->pair_contacts = scene_flag(&contacts, "pairs", false);
  system->friction_law = (carom_friction_law)scene_choice(&contacts, "law", friction_names, false);
  system->hold_contacts = scene_flag(&contacts, "hold", false);
  system->contact_time =
      (carom_contact_time)scene_choice(&contacts, "time", contact_time_names, false);
  system->regularizer = scene_not_negative(&contacts, "regularizer", 0.01);

  root->reader->limits_as_named = system->limits;
  carom_error cause;
  carom_status status = system_index_contacts(system, &cause);
  scene_pass_on(given ? &contacts : root, status, &cause);
  if (scene_failed(root)) return;
  double friction = read_friction(&contacts, 0), restitution = read_restitution(&contacts, 0);
  system->friction = arena_doubles(&system->memory, system->contact_count);
  system->restitution = arena_doubles(&system->memory, system->contact_count);
  for (int i = 0; i < system->contact_count; i++) {
    system->friction[i] = friction;
    system->restitution[i] = restitution;
  }
  read_shared(&contacts);
  read_overrides(&contacts);
}
