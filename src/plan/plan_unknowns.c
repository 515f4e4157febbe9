/* The unknowns of a plan file, and their numbers. */
#include "plan/plan_parse.h"
#include "plan/unknowns.h"

#include <math.h>
#include <string.h>

/* ---- what may be unknown --------------------------------------------------------------------- */

// bounds, and where starts are drawn
static void read_range(const scene_node *node, unknown *u) {
  plan_read_numbers(node, "start", u->size, u->start);
  plan_read_numbers(node, "low", u->size, u->low);
  plan_read_numbers(node, "high", u->size, u->high);
  for (int i = 0; i < u->size; i++) u->draw_low[i] = u->low[i], u->draw_high[i] = u->high[i];
  plan_read_numbers(node, "draw_low", u->size, u->draw_low);
  plan_read_numbers(node, "draw_high", u->size, u->draw_high);
  const scene_node low = scene_member(node, "low"), high = scene_member(node, "high");
  const scene_node drawn = scene_member(node, "draw_high"), start = scene_member(node, "start");
  for (int i = 0; i < u->size && !scene_failed(node); i++) {
    if (u->low[i] > u->high[i])
      scene_fail(high.value != NULL ? &high : &low, "the bound %g is above %g", u->low[i],
                 u->high[i]);
    else if (u->start[i] < u->low[i] || u->start[i] > u->high[i])
      scene_fail(start.value != NULL ? &start : node,
                 "it starts at %g, outside of its bounds %g and %g", u->start[i], u->low[i],
                 u->high[i]);
    else if (u->draw_low[i] > u->draw_high[i] || u->draw_low[i] < u->low[i] ||
             u->draw_high[i] > u->high[i])
      scene_fail(drawn.value != NULL ? &drawn : node,
                 "starts are to be drawn from %g to %g, which is not a range within the bounds",
                 u->draw_low[i], u->draw_high[i]);
  }
}

static void read_state_unknown(carom_plan *plan, const scene_node *node, unknown *u) {
  static const char *const fields[] = {"body", "quantity", "axes",      "start", "low",
                                       "high", "draw_low", "draw_high", NULL};
  const carom_system *s = plan->system;
  scene_check_object(node, fields);
  if (scene_failed(node)) return;
  u->kind = UNKNOWN_STATE;
  u->body = plan_read_body(node);
  u->quantity = (plan_quantity)scene_choice(node, "quantity", quantity_names, true);
  if (scene_failed(node)) return;
  const body *b = &s->bodies[u->body];
  const bool turns = u->quantity == QUANTITY_ANGLE || u->quantity == QUANTITY_RATE;
  const scene_node name = scene_member(node, "quantity");
  if (turns && !b->rigid) scene_fail(&name, "'%s' is a point mass and does not turn", b->id);
  u->size = plan_read_axes(node, quantity_size(s, u->quantity), u->axes);
  if (scene_failed(node)) return;

  // it starts where the scene, or the plan's "start", has it
  double here[MAX_DIMENSION] = {0};
  const int first = b->first_point * s->dimension;
  if (u->quantity == QUANTITY_POSITION)
    memcpy(here, plan->x0 + first, sizeof(double) * (size_t)s->dimension);
  if (u->quantity == QUANTITY_VELOCITY)
    memcpy(here, plan->v0 + first, sizeof(double) * (size_t)s->dimension);
  if (u->quantity == QUANTITY_ANGLE) body_angle(s, u->body, plan->x0, here);
  if (u->quantity == QUANTITY_RATE) body_rate(s, u->body, plan->x0, plan->v0, here);
  for (int i = 0; i < u->size; i++) u->start[i] = here[u->axes[i]];
  u->label = plan_format(plan, "%s %s", b->id, quantity_names[u->quantity]);
}

static void read_control_unknown(carom_plan *plan, const scene_node *node, unknown *u) {
  enum { MOST_PIECES = 100000000 };
  static const char *const fields[] = {"control", "pieces",   "start",     "low",
                                       "high",    "draw_low", "draw_high", NULL};
  scene_check_object(node, fields);
  if (scene_failed(node)) return;
  const scene_node name = scene_member(node, "control");
  u->kind = UNKNOWN_CONTROL;
  u->control = scene_lookup(&name, NAME_CONTROL);
  if (scene_member(node, "pieces").value != NULL)
    u->given_pieces = scene_integer(node, "pieces", 1, MOST_PIECES);
  if (scene_failed(node)) return;
  u->size = plan->system->controls[u->control].size;
  u->label = plan_format(plan, "%s", plan->system->controls[u->control].id);
}

/* ---- parameters ------------------------------------------------------------------------------ */

static const char *const parameter_names[] = {"mass",    "moment",    "friction", "restitution",
                                              "gravity", "stiffness", NULL};
static const carom_segment parameter_segments[] = {CAROM_LOG_MASS, CAROM_LOG_MOMENT,
                                                   CAROM_FRICTION, CAROM_RESTITUTION,
                                                   CAROM_GRAVITY,  CAROM_STIFFNESS};

static void allow_entry(unknown *u, int entry) { u->entries[u->entry_count++] = entry; }

// the entries of theta of a body's mass or moments
static void body_entries(carom_plan *plan, const scene_node *node, unknown *u, int first) {
  const int index = plan_read_body(node), d = plan->system->dimension;
  if (index < 0) return;
  const bool turning = u->segment == CAROM_LOG_MOMENT;
  const scene_node name = scene_member(node, "body");
  if (turning && !plan->system->bodies[index].rigid)
    scene_fail(&name, "'%s' is a point mass and has no moments", plan->system->bodies[index].id);
  u->logarithm = true;
  for (int k = 0; k < (turning ? d : 1); k++)
    allow_entry(u, first + (turning ? index * d + k : index));
  u->label =
      plan_format(plan, "%s %s", plan->system->bodies[index].id, turning ? "moment" : "mass");
}

static void contact_entries(carom_plan *plan, const scene_node *node, unknown *u, int first) {
  const scene_node name = scene_member(node, "contact");
  const bool *flags = name.value != NULL ? plan_read_contacts(plan, &name) : NULL;
  for (int k = 0; k < plan->system->contact_count && !scene_failed(node); k++)
    if (flags == NULL || flags[k]) allow_entry(u, first + k);
  if (u->entry_count == 0) scene_fail(node, "the scene has no contacts");
  const char *text = name.value != NULL ? json_string_value(name.value) : NULL;
  u->label =
      plan_format(plan, "%s%s%.100s", u->segment == CAROM_FRICTION ? "friction" : "restitution",
                  text != NULL ? " " : "", text != NULL ? text : "");
}

// which entries of theta, and what they may be
static void read_parameter_unknown(carom_plan *plan, const scene_node *node, unknown *u) {
  static const char *const fields[] = {"parameter", "body",      "contact", "axes",
                                       "spring",    "start",     "low",     "high",
                                       "draw_low",  "draw_high", NULL};
  const carom_system *s = plan->system;
  scene_check_object(node, fields);
  if (scene_failed(node)) return;
  u->kind = UNKNOWN_PARAMETER;
  u->segment = parameter_segments[scene_choice(node, "parameter", parameter_names, true)];
  const int first = s->segments[u->segment].offset, size = s->segments[u->segment].size;
  u->entries = ARENA_ARRAY(&plan->memory, int, size + 1);
  u->size = 1;
  if (scene_failed(node)) return;
  if (u->segment == CAROM_LOG_MASS || u->segment == CAROM_LOG_MOMENT) {
    body_entries(plan, node, u, first);
    u->low[0] = 1e-12;
  } else if (u->segment == CAROM_FRICTION || u->segment == CAROM_RESTITUTION) {
    contact_entries(plan, node, u, first);
    u->low[0] = 0;
    if (u->segment == CAROM_RESTITUTION) u->high[0] = 1;
  } else if (u->segment == CAROM_GRAVITY) {
    u->size = plan_read_axes(node, s->dimension, u->axes);
    u->each = true;
    for (int i = 0; i < u->size; i++) allow_entry(u, first + u->axes[i]);
    u->label = plan_format(plan, "gravity");
  } else {
    if (s->spring_count == 0)
      scene_fail(node, "the scene has no springs");
    else
      allow_entry(u, first + scene_integer(node, "spring", 0, s->spring_count - 1));
    u->label = plan_format(plan, "stiffness");
  }
  for (int i = 0; i < u->size && i < u->entry_count; i++) {
    const double value = plan->theta[u->entries[i]];
    u->start[i] = u->logarithm ? exp(value) : value;
  }
}

/* Bounds of the file stay within what a parameter may be. */
static void keep_possible(const scene_node *node, const unknown *u) {
  const scene_node low = scene_member(node, "low"), high = scene_member(node, "high");
  if (u->kind != UNKNOWN_PARAMETER || u->segment == CAROM_GRAVITY || u->segment == CAROM_STIFFNESS)
    return;
  if (u->low[0] < 0 || (u->logarithm && u->low[0] <= 0))
    scene_fail(&low, "%g is below what it may be", u->low[0]);
  if (u->segment == CAROM_RESTITUTION && u->high[0] > 1)
    scene_fail(&high, "%g is above what it may be, 1", u->high[0]);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void read_unknown(carom_plan *plan, const scene_node *node, unknown *u) {
  u->line = scene_line(node);
  for (int i = 0; i < MAX_DIMENSION; i++) u->low[i] = -INFINITY, u->high[i] = INFINITY;
  if (!json_is_object(node->value)) {
    static const char *const none[] = {NULL};
    scene_check_object(node, none);
    return;
  }
  if (json_object_get(node->value, "control") != NULL)
    read_control_unknown(plan, node, u);
  else if (json_object_get(node->value, "parameter") != NULL)
    read_parameter_unknown(plan, node, u);
  else
    read_state_unknown(plan, node, u);
  if (!scene_failed(node)) read_range(node, u);
  if (!scene_failed(node)) keep_possible(node, u);
}

// whether two entries are about the same number
static bool overlap(const unknown *a, const unknown *b) {
  if (a->kind != b->kind) return false;
  if (a->kind == UNKNOWN_CONTROL) return a->control == b->control;
  if (a->kind == UNKNOWN_STATE && (a->body != b->body || a->quantity != b->quantity)) return false;
  const int *of_a = a->kind == UNKNOWN_STATE ? a->axes : a->entries;
  const int *of_b = b->kind == UNKNOWN_STATE ? b->axes : b->entries;
  const int count_a = a->kind == UNKNOWN_STATE ? a->size : a->entry_count;
  const int count_b = b->kind == UNKNOWN_STATE ? b->size : b->entry_count;
  for (int i = 0; i < count_a; i++)
    for (int j = 0; j < count_b; j++)
      if (of_a[i] == of_b[j]) return true;
  return false;
}

void plan_read_unknowns(carom_plan *plan, const scene_node *root) {
  const scene_node list = scene_array(root, "unknowns", true);
  plan->entry_count = scene_size(&list);
  if (plan->entry_count == 0 && !scene_failed(root))
    scene_fail(&list, "there is nothing to be found; name at least one unknown");
  plan->entries = arena_zeroed(&plan->memory, sizeof(unknown) * (size_t)(plan->entry_count + 1));
  for (int i = 0; i < plan->entry_count && !scene_failed(root); i++) {
    const scene_node node = scene_element(&list, i);
    read_unknown(plan, &node, &plan->entries[i]);
    for (int j = 0; j < i && !scene_failed(root); j++)
      if (overlap(&plan->entries[i], &plan->entries[j]))
        scene_fail(&node, "unknowns[%d] is about the same numbers", j);
  }
}
