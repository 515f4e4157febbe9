/* Where a simulation starts: one given state, or a way to draw states at random. */
#include <math.h>
#include <string.h>

#include "base/rotation.h"
#include "system/redundancy.h"
#include "system/sampler.h"
#include "system/scene.h"

// a state that is given in decimal numbers may be off by this much
static const double STATE_TOLERANCE = 1e-6;

// ---- one given state ----

// rotation and spin: a number in the plane, a vector in space
static void read_rotation(const scene_node *node, bool rigid, double *rotation, double *spin) {
  scene_node turned = scene_member(node, "rotation"), turning = scene_member(node, "spin");
  const scene_node *extra = turned.value != NULL ? &turned : &turning;
  if (!rigid && extra->value != NULL) {
    scene_fail(extra, "a point mass does not turn");
    return;
  }
  if (node->reader->system->dimension == 2) {
    rotation_from_angle(scene_number_or(node, "rotation", 0), rotation);
    spin[0] = scene_number_or(node, "spin", 0);
    return;
  }
  double vector[3];
  scene_vector_or_zero(node, "rotation", 3, vector);
  scene_vector_or_zero(node, "spin", 3, spin);
  rotation_from_vector(vector, rotation);
}

static void read_body_state(const scene_node *node, bool *seen) {
  static const char *const fields[] = {"body", "position", "velocity", "rotation", "spin", NULL};
  carom_system *system = node->reader->system;
  scene_check_object(node, fields);
  if (scene_failed(node)) return;
  scene_node name = scene_member(node, "body");
  int index = scene_lookup(&name, NAME_BODY);
  if (index < 0) return;
  if (seen[index])
    scene_fail(&name, "the state of '%s' has been given before", system->bodies[index].id);
  seen[index] = true;
  double centre[MAX_DIMENSION], velocity[MAX_DIMENSION];
  double rotation[MAX_DIMENSION * MAX_DIMENSION], spin[MAX_DIMENSION];
  scene_vector(node, "position", system->dimension, centre);
  scene_vector_or_zero(node, "velocity", system->dimension, velocity);
  read_rotation(node, system->bodies[index].rigid, rotation, spin);
  if (scene_failed(node)) return;
  place_body(system, index, centre, velocity, rotation, spin, system->initial.x, system->initial.v);
}

// the other samplers are for systems whose constraints are independent, and see to it
static void check_redundancy(const scene_node *node) {
  const carom_system *system = node->reader->system;
  int index = redundant_joint(system, system->initial.x, &node->reader->scratch);
  if (index < 0) return;
  scene_node list = scene_member(node->parent, "joints");
  scene_node joint = scene_element(&list, index);
  const char *type = scene_string(&joint, "type");
  if (strcmp(type, "ball") == 0)
    scene_fail(&joint,
               "other constraints of the same bodies hold this, or a part of it, already; remove "
               "it, or put links in its place (a hinge in 3D is one ball joint and two links)");
  else
    scene_fail(&joint, "follows from other constraints of the same bodies; remove it");
}

static void read_state(const scene_node *node) {
  static const char *const fields[] = {"sampler", "bodies", NULL};
  carom_system *system = node->reader->system;
  scene_check_object(node, fields);
  scene_node list = scene_array(node, "bodies", true);
  bool *seen = ARENA_ARRAY(&system->memory, bool, system->body_count);
  memset(seen, 0, sizeof(bool) * (size_t)system->body_count);
  system->initial.x = arena_zeros(&system->memory, system->coordinate_count);
  system->initial.v = arena_zeros(&system->memory, system->coordinate_count);
  for (int i = 0; i < scene_size(&list) && !scene_failed(node); i++) {
    scene_node element = scene_element(&list, i);
    read_body_state(&element, seen);
  }
  for (int i = 0; i < system->body_count && !scene_failed(node); i++) {
    if (!seen[i]) scene_fail(&list, "the state of body '%s' is missing", system->bodies[i].id);
  }
  if (scene_failed(node)) return;
  carom_error cause;
  carom_status status = carom_system_check_states(system, 1, system->initial.x, system->initial.v,
                                                  STATE_TOLERANCE, &cause);
  // there is only one state here, so do not number it
  static const char numbering[] = "state 0: ";
  if (status != CAROM_OK && strncmp(cause.message, numbering, sizeof numbering - 1) == 0)
    scene_fail(&list, "%s", cause.message + sizeof numbering - 1);
  scene_pass_on(&list, status, &cause);
  if (!scene_failed(node)) check_redundancy(node);
}

// ---- random states ----

static void read_box(const scene_node *node) {
  static const char *const fields[] = {"sampler", "low", "high", "speed", "rate", NULL};
  carom_system *system = node->reader->system;
  sampler *initial = &system->initial;
  scene_check_object(node, fields);
  scene_vector(node, "low", system->dimension, initial->low);
  scene_vector(node, "high", system->dimension, initial->high);
  scene_node high = scene_member(node, "high");
  for (int k = 0; k < system->dimension; k++) {
    if (initial->low[k] > initial->high[k])
      scene_fail(&high, "%g is below \"low\", %g", initial->high[k], initial->low[k]);
  }
  initial->speed = scene_not_negative(node, "speed", 0);
  initial->rate = scene_not_negative(node, "rate", 0);
  for (int i = 0; i < system->constraint_count; i++) {
    if (system->constraints[i].internal_of < 0)
      scene_fail(node,
                 "sampler 'box' places bodies independently, but %s ties some together; use "
                 "another sampler",
                 system->constraints[i].label);
  }
}

// the sampler's chain: memory for all bodies
static void allocate_chain(carom_system *system, int count) {
  sampler *initial = &system->initial;
  initial->chain_count = count;
  initial->chain_bodies = ARENA_ARRAY(&system->memory, int, count);
  initial->chain_lengths = arena_zeros(&system->memory, count);
}

// the order of bodies from the anchor down: the field "bodies", or all as they are listed; `rank`
// [body_count] gets the place of each
static void read_chain_order(const scene_node *node, int *rank) {
  carom_system *system = node->reader->system;
  scene_node list = scene_array(node, "bodies", false);
  int count = system->body_count;
  for (int i = 0; i < count; i++) rank[i] = list.value == NULL ? i : -1;
  if (list.value != NULL && scene_size(&list) != count)
    scene_fail(&list, "must name all %d bodies, names %d", count, scene_size(&list));
  allocate_chain(system, count);
  for (int i = 0; i < count && !scene_failed(node); i++) {
    system->initial.chain_bodies[i] = i;
    if (list.value == NULL) continue;
    scene_node element = scene_element(&list, i);
    int index = scene_lookup(&element, NAME_BODY);
    if (index < 0) return;
    if (rank[index] >= 0) scene_fail(&element, "names a body twice");
    system->initial.chain_bodies[i] = index;
    rank[index] = i;
  }
  for (int i = 0; i < count; i++) {
    if (system->bodies[i].rigid)
      scene_fail(node, "this sampler is for point masses; '%s' is rigid", system->bodies[i].id);
  }
}

// enters a link between the bodies of places `upper` and `lower` = upper + 1 (upper = -1: anchor)
static void enter_link(const scene_node *node, const constraint *c, const int *rank) {
  carom_system *system = node->reader->system;
  sampler *initial = &system->initial;
  int lower = rank[system->point_body[c->arm.point[0]]], upper = -1;
  if (c->arm.count == 2) {
    int other = rank[system->point_body[c->arm.point[1]]];
    upper = lower < other ? lower : other;
    lower = lower < other ? other : lower;
  }
  bool fits = c->kind == CONSTRAINT_DISTANCE && c->arm.count <= 2 && lower == upper + 1;
  if (!fits || initial->chain_lengths[lower] != 0) {
    scene_fail(node,
               "%s is not a link of one chain from an anchor down in the order of the "
               "bodies",
               c->label);
    return;
  }
  initial->chain_lengths[lower] = c->length;
  for (int k = 0; upper < 0 && k < system->dimension; k++)
    initial->anchor[k] = -c->arm.constant[k] * c->arm.weight[0];
}

// the links of a pendulum chain, from the scene's joints
static void find_links(const scene_node *node, const int *rank) {
  const carom_system *system = node->reader->system;
  for (int i = 0; i < system->constraint_count && !scene_failed(node); i++)
    enter_link(node, &system->constraints[i], rank);
  for (int i = 0; i < system->initial.chain_count && !scene_failed(node); i++) {
    if (system->initial.chain_lengths[i] == 0)
      scene_fail(node,
                 "body '%s' does not hang on the one before it (the first: on a fixed point) "
                 "by a link",
                 system->bodies[system->initial.chain_bodies[i]].id);
  }
}

static void need_dimension(const scene_node *node, int dimension, const char *name) {
  if (node->reader->system->dimension != dimension)
    scene_fail(node, "sampler '%s' is for dimension %d only", name, dimension);
}

static void read_angles(const scene_node *node) {
  static const char *const fields[] = {"sampler", "bodies", "angle", "rate", NULL};
  carom_system *system = node->reader->system;
  scene_check_object(node, fields);
  need_dimension(node, 2, "angles");
  scene_range(node, "angle", &system->initial.angle_low, &system->initial.angle_high);
  system->initial.rate = scene_not_negative(node, "rate", 0);
  int *rank = ARENA_ARRAY(&system->memory, int, system->body_count);
  read_chain_order(node, rank);
  if (!scene_failed(node)) find_links(node, rank);
}

static void read_chain(const scene_node *node) {
  static const char *const fields[] = {"sampler", "angle", "bend", "rate", NULL};
  carom_system *system = node->reader->system;
  sampler *initial = &system->initial;
  scene_check_object(node, fields);
  need_dimension(node, 2, "chain");
  scene_range(node, "angle", &initial->angle_low, &initial->angle_high);
  initial->bend = scene_not_negative(node, "bend", 0);
  initial->rate = scene_not_negative(node, "rate", 0);

  // one chain and nothing else
  scene_node chains = scene_array(node->parent, "chains", false);
  scene_node bodies = scene_array(node->parent, "bodies", false);
  scene_node joints = scene_array(node->parent, "joints", false);
  if (scene_size(&chains) != 1 || scene_size(&bodies) != 0 || scene_size(&joints) != 0)
    scene_fail(node, "sampler 'chain' is for a scene of one chain and no other bodies or joints");
  if (scene_failed(node)) return;
  scene_node only = scene_element(&chains, 0);
  allocate_chain(system, system->body_count);
  scene_vector_or_zero(&only, "anchor", system->dimension, initial->anchor);
  for (int i = 0; i < initial->chain_count; i++) {
    initial->chain_bodies[i] = i;
    initial->chain_lengths[i] = scene_positive(&only, "length");
  }
}

// the ball joint of the only body: where it is in the world and in the body
static void find_joint(const scene_node *node) {
  carom_system *system = node->reader->system;
  sampler *initial = &system->initial;
  int found = 0;
  for (int i = 0; i < system->constraint_count; i++) {
    const constraint *c = &system->constraints[i];
    if (c->internal_of >= 0) continue;
    if (c->kind == CONSTRAINT_DISTANCE) found = system->constraint_count;
    found++;
    double sign = 0;
    for (int k = 0; k < c->arm.count; k++) sign += c->arm.weight[k];
    sign = sign < 0 ? -1 : 1;
    for (int k = 0; k < c->arm.count; k++) {
      if (c->arm.point[k] > 0) initial->joint[c->arm.point[k] - 1] = sign * c->arm.weight[k];
    }
    for (int k = 0; k < 3; k++) initial->anchor[k] = -sign * c->arm.constant[k];
  }
  if (found != 1) scene_fail(node, "sampler 'euler' needs one ball joint and no other joint");
}

static void read_euler(const scene_node *node) {
  static const char *const fields[] = {"sampler",    "angle",     "phi_rate", "theta_rate",
                                       "spin_scale", "spin_mean", NULL};
  carom_system *system = node->reader->system;
  sampler *initial = &system->initial;
  scene_check_object(node, fields);
  need_dimension(node, 3, "euler");
  if (system->body_count != 1 || !system->bodies[0].rigid)
    scene_fail(node, "sampler 'euler' is for a scene of one rigid body");
  scene_range(node, "angle", &initial->angle_low, &initial->angle_high);
  scene_range(node, "phi_rate", &initial->rate_low[0], &initial->rate_high[0]);
  scene_range(node, "theta_rate", &initial->rate_low[1], &initial->rate_high[1]);
  initial->spin_scale = scene_not_negative(node, "spin_scale", 0);
  initial->spin_mean = scene_number_or(node, "spin_mean", 0);
  if (!scene_failed(node)) find_joint(node);
}

void scene_read_initial(const scene_node *root) {
  static const char *const kinds[] = {
      [SAMPLER_STATE] = "state", [SAMPLER_BOX] = "box",     [SAMPLER_ANGLES] = "angles",
      [SAMPLER_EULER] = "euler", [SAMPLER_CHAIN] = "chain", NULL};
  scene_node node = scene_member(root, "initial");
  if (!json_is_object(node.value)) {
    static const char *const none[] = {NULL};
    scene_check_object(&node, none);
    return;
  }
  sampler_kind kind = (sampler_kind)scene_choice(&node, "sampler", kinds, true);
  root->reader->system->initial.kind = kind;
  if (scene_failed(root)) return;
  switch (kind) {
    case SAMPLER_STATE: read_state(&node); break;
    case SAMPLER_BOX: read_box(&node); break;
    case SAMPLER_ANGLES: read_angles(&node); break;
    case SAMPLER_EULER: read_euler(&node); break;
    case SAMPLER_CHAIN: read_chain(&node); break;
  }
}
