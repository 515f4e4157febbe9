/* Chains: a row of point masses that hangs on an anchor, with springs or rigid links between them
 * and limits of bending and stretch. A chain is shorthand: it becomes bodies, springs, joints and
 * limits like any others. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "system/scene.h"

static const char *const chain_fields[] = {
    "id",     "points",    "mass",       "length",         "anchor",
    "radius", "stiffness", "bend_limit", "stretch_limits", NULL};

// number of points of all chains; fails beyond what a scene may have
static int count_points(const scene_node *root) {
  scene_node list = scene_array(root, "chains", false);
  int64_t total = 0;
  for (int i = 0; i < scene_size(&list) && !scene_failed(root); i++) {
    scene_node node = scene_element(&list, i);
    scene_check_object(&node, chain_fields);
    total += scene_failed(root) ? 0 : scene_integer(&node, "points", 1, MAX_POINTS);
    if (total > MAX_POINTS)
      scene_fail(&list, "the chains have more than %d points together", MAX_POINTS);
  }
  return scene_failed(root) ? 0 : (int)total;
}

static void check_size(const scene_node *list, int most) {
  int size = scene_size(list);
  if (size > most) scene_fail(list, "has %d entries, more than %d", size, most);
}

void scene_allocate(const scene_node *root) {
  carom_system *system = root->reader->system;
  arena *memory = &system->memory;
  int in_chains = count_points(root);
  scene_node bodies = scene_array(root, "bodies", false);
  scene_node joints = scene_array(root, "joints", false);
  scene_node springs = scene_array(root, "springs", false);
  scene_node limits = scene_array(root, "limits", false);
  scene_node controls = scene_array(root, "controls", false);
  if (!scene_failed(root) && scene_size(&bodies) + in_chains == 0)
    scene_fail(&bodies, "missing; a scene needs at least one body or chain");
  check_size(&bodies, MAX_POINTS);
  check_size(&joints, MAX_TIES);
  check_size(&springs, MAX_TIES);
  check_size(&limits, MAX_TIES);
  check_size(&controls, MAX_TIES);
  if (scene_failed(root)) return;

  // the rest is counted up while it is read
  system->body_count = scene_size(&bodies) + in_chains;
  system->bodies = ARENA_ARRAY(memory, body, system->body_count);
  memset(system->bodies, 0, sizeof(body) * (size_t)system->body_count);
  system->constraints = ARENA_ARRAY(memory, constraint, scene_size(&joints) + in_chains);
  system->springs = ARENA_ARRAY(memory, spring, scene_size(&springs) + in_chains);
  system->limits = ARENA_ARRAY(memory, limit, scene_size(&limits) + 2 * in_chains);
  system->controls = ARENA_ARRAY(memory, control, scene_size(&controls));
}

// ids of the points are "rope.0", "rope.1", ...
static void read_points(const scene_node *node, int first, int count) {
  scene_reader *reader = node->reader;
  const char *id = scene_id(node);
  double mass = scene_positive(node, "mass");
  bool ball = scene_member(node, "radius").value != NULL;
  double radius = ball ? scene_positive(node, "radius") : 0;
  scene_name(node, id, NAME_CHAIN, node->index);
  for (int i = 0; i < count && !scene_failed(node); i++) {
    body *b = &reader->system->bodies[first + i];
    *b = (body){.id = scene_format(reader, "%s.%d", id, i),
                .mass = mass,
                .shape = ball ? SHAPE_BALL : SHAPE_NONE,
                .radius = radius};
    scene_name(node, b->id, NAME_BODY, first + i);
  }
}

void scene_read_chain_bodies(const scene_node *root) {
  scene_node bodies = scene_array(root, "bodies", false);
  scene_node list = scene_array(root, "chains", false);
  int first = scene_size(&bodies);
  for (int i = 0; i < scene_size(&list) && !scene_failed(root); i++) {
    scene_node node = scene_element(&list, i);
    int count = scene_integer(&node, "points", 1, MAX_POINTS);
    read_points(&node, first, count);
    first += count;
  }
}

// what the segments of a chain are made of
typedef struct chain {
  const char *id;
  int first_body, count;
  double length;
  double anchor[MAX_DIMENSION];
  bool rigid; // links instead of springs
  double stiffness;
  double bend;                      // 0: no limit
  double stretch_low, stretch_high; // times the length; 0: no limit
} chain;

static void read_stretch_limits(const scene_node *node, chain *c) {
  scene_node limits = scene_member(node, "stretch_limits");
  if (limits.value == NULL) return;
  scene_range(node, "stretch_limits", &c->stretch_low, &c->stretch_high);
  if (c->rigid) scene_fail(&limits, "the links of a chain without stiffness are rigid");
  if (!(c->stretch_low > 0 && c->stretch_low < 1 && c->stretch_high > 1))
    scene_fail(&limits, "must lie on both sides of the rest length: 0 < low < 1 < high");
}

static chain read_chain(const scene_node *node, int first_body) {
  const carom_system *system = node->reader->system;
  chain c = {.id = scene_string(node, "id"),
             .first_body = first_body,
             .count = scene_integer(node, "points", 1, MAX_POINTS),
             .length = scene_positive(node, "length"),
             .rigid = scene_member(node, "stiffness").value == NULL};
  scene_vector_or_zero(node, "anchor", system->dimension, c.anchor);
  if (!c.rigid) c.stiffness = scene_positive(node, "stiffness");
  read_stretch_limits(node, &c);
  scene_node bend = scene_member(node, "bend_limit");
  if (bend.value == NULL) return c;
  c.bend = scene_positive(node, "bend_limit");
  if (c.bend >= 3.14159) scene_fail(&bend, "must be below pi (a half turn), is %g", c.bend);
  return c;
}

// the vector from the point before (the anchor for the first) to point i
static combination chain_segment(const carom_system *system, const chain *c, int i) {
  const double centre[MAX_DIMENSION] = {0};
  const body *b = &system->bodies[c->first_body + i];
  combination end = combination_on_body(b, system->dimension, centre);
  combination before = combination_world(system->dimension, c->anchor);
  if (i > 0) before = combination_on_body(b - 1, system->dimension, centre);
  return combination_difference(&end, &before);
}

static void add_limit(const scene_node *node, limit l) {
  carom_system *system = node->reader->system;
  scene_name(node, l.label, NAME_LIMIT, system->limit_count);
  system->limits[system->limit_count++] = l;
}

static void expand_segment(const scene_node *node, const chain *c, int i) {
  scene_reader *reader = node->reader;
  carom_system *system = reader->system;
  combination segment = chain_segment(system, c, i);
  if (c->rigid)
    system->constraints[system->constraint_count++] =
        (constraint){.kind = CONSTRAINT_DISTANCE,
                     .arm = segment,
                     .length = c->length,
                     .joint = -1,
                     .label = scene_format(reader, "%s link %d", c->id, i)};
  else
    system->springs[system->spring_count++] =
        (spring){.arm = segment, .stiffness = c->stiffness, .length = c->length};
  if (c->bend > 0 && i + 1 < c->count)
    add_limit(node, (limit){.kind = LIMIT_BEND,
                            .segment = segment,
                            .next_segment = chain_segment(system, c, i + 1),
                            .high = c->bend,
                            .label = scene_format(reader, "%s bend %d", c->id, i)});
  if (c->stretch_high > 0)
    add_limit(node, (limit){.kind = LIMIT_STRETCH,
                            .segment = segment,
                            .low = c->stretch_low * c->length,
                            .high = c->stretch_high * c->length,
                            .label = scene_format(reader, "%s stretch %d", c->id, i)});
}

void scene_read_chains(const scene_node *root) {
  scene_node bodies = scene_array(root, "bodies", false);
  scene_node list = scene_array(root, "chains", false);
  int first = scene_size(&bodies);
  for (int i = 0; i < scene_size(&list) && !scene_failed(root); i++) {
    scene_node node = scene_element(&list, i);
    chain c = read_chain(&node, first);
    for (int k = 0; k < c.count && !scene_failed(root); k++) expand_segment(&node, &c, k);
    first += c.count;
  }
}
