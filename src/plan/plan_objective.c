/* The objective of a plan file: terms and the moments at which they look. */
#include "plan/plan_parse.h"

#include <string.h>

enum { MOST_STEPS = 1000000000, MOST_CONTACTS = 1000000000 };

/* ---- moments --------------------------------------------------------------------------------- */

// the contact and its number, of a contact and of the apex after one
static void read_contact(carom_plan *plan, const scene_node *node, moment *m) {
  const scene_node name = scene_member(node, "contact");
  m->contacts = plan_read_contacts(plan, &name);
  m->number = 1;
  if (scene_member(node, "number").value != NULL)
    m->number = scene_integer(node, "number", 1, MOST_CONTACTS);
}

static void read_apex(carom_plan *plan, const scene_node *node, int body_index, moment *m) {
  const carom_system *s = plan->system;
  double square = 0;
  for (int k = 0; k < s->dimension; k++) square += s->gravity[k] * s->gravity[k];
  if (square == 0) scene_fail(node, "the scene has no gravity, and so no apex");
  m->kind = MOMENT_APEX;
  m->body = body_index;
}

static void read_moment_object(carom_plan *plan, const scene_node *node, int body_index,
                               moment *m) {
  static const char *const fields[] = {"time", "step",       "contact", "number",
                                       "side", "apex_after", NULL};
  static const char *const sides[] = {"before", "after", NULL};
  scene_check_object(node, fields);
  if (scene_failed(node)) return;
  const scene_node after = scene_member(node, "apex_after");
  const int kinds = (scene_member(node, "time").value != NULL) +
                    (scene_member(node, "step").value != NULL) +
                    (scene_member(node, "contact").value != NULL) + (after.value != NULL);
  if (kinds != 1) {
    scene_fail(node,
               "one of \"time\", \"step\", \"contact\" and \"apex_after\" is needed, found %d",
               kinds);
  } else if (after.value != NULL) {
    static const char *const of_apex[] = {"contact", "number", NULL};
    scene_check_object(&after, of_apex);
    read_apex(plan, node, body_index, m);
    if (!scene_failed(node)) read_contact(plan, &after, m);
    const char *text = json_string_value(json_object_get(after.value, "contact"));
    m->label = plan_format(plan, "at the apex after contact %d (%.60s)", m->number,
                           text != NULL ? text : "");
  } else if (scene_member(node, "contact").value != NULL) {
    m->kind = MOMENT_CONTACT;
    read_contact(plan, node, m);
    m->after = scene_choice(node, "side", sides, true) == 1;
    const char *text = json_string_value(json_object_get(node->value, "contact"));
    m->label = plan_format(plan, "just %s contact %d (%.60s)", m->after ? "after" : "before",
                           m->number, text != NULL ? text : "");
  } else if (scene_member(node, "time").value != NULL) {
    m->by_time = true;
    m->time = scene_not_negative(node, "time", 0);
    m->label = plan_format(plan, "at time %g", m->time);
  } else {
    m->step = scene_integer(node, "step", 0, MOST_STEPS);
    m->label = plan_format(plan, "at step %d", m->step);
  }
  if (!scene_failed(node) && m->kind != MOMENT_CONTACT) {
    const scene_node side = scene_member(node, "side"), number = scene_member(node, "number");
    if (side.value != NULL) scene_fail(&side, "belongs to \"contact\"");
    if (number.value != NULL) scene_fail(&number, "belongs to \"contact\"");
  }
}

static moment read_moment(carom_plan *plan, const scene_node *object, int body_index) {
  const scene_node node = scene_member(object, "at");
  moment m = {.kind = MOMENT_STEP, .line = scene_line(&node)};
  const char *text = json_string_value(node.value);
  if (node.value == NULL || (text != NULL && strcmp(text, "end") == 0)) {
    m.kind = MOMENT_END;
    m.label = plan_format(plan, "at the end");
  } else if (text != NULL && strcmp(text, "apex") == 0) {
    read_apex(plan, &node, body_index, &m);
    m.label = plan_format(plan, "at the apex");
  } else if (text != NULL) {
    scene_fail(&node,
               "'%s' is not one of end, apex; other moments are objects like {\"time\": 0.5}",
               scene_quote(text).text);
  } else {
    read_moment_object(plan, &node, body_index, &m);
  }
  return m;
}

/* ---- terms ----------------------------------------------------------------------------------- */

// numbers, or another body or moment
static void read_target(carom_plan *plan, const scene_node *node, term *t) {
  static const char *const fields[] = {"body", "at", NULL};
  const scene_node target = scene_member(node, "target");
  const bool needed = t->quantity == QUANTITY_POSITION || t->quantity == QUANTITY_ANGLE;
  if (target.value == NULL && needed) {
    scene_fail(&target, "missing; numbers, or {\"body\": ..., \"at\": ...}, are required");
  } else if (json_is_object(target.value)) {
    scene_check_object(&target, fields);
    t->relative = true;
    t->other_body = t->body;
    if (scene_member(&target, "body").value != NULL) t->other_body = plan_read_body(&target);
    if (scene_failed(node)) return;
    t->other_at = read_moment(plan, &target, t->other_body);
    const bool turns = t->quantity == QUANTITY_ANGLE || t->quantity == QUANTITY_RATE;
    if (turns && !plan->system->bodies[t->other_body].rigid)
      scene_fail(&target, "'%s' is a point mass and does not turn",
                 plan->system->bodies[t->other_body].id);
  } else {
    plan_read_numbers(node, "target", t->axis_count, t->target);
  }
}

static void read_value(carom_plan *plan, const scene_node *node, term *t) {
  static const char *const fields[] = {"term", "body",   "axes",   "norm",
                                       "at",   "target", "weight", NULL};
  static const char *const norms[] = {[NORM_SQUARED] = "squared",
                                      [NORM_ABSOLUTE] = "absolute",
                                      [NORM_EUCLIDEAN] = "euclidean",
                                      NULL};
  const carom_system *s = plan->system;
  scene_check_object(node, fields);
  if (scene_failed(node)) return;
  t->body = plan_read_body(node);
  t->norm = (term_norm)scene_choice(node, "norm", norms, false);
  if (scene_failed(node)) return;
  const bool turns = t->quantity == QUANTITY_ANGLE || t->quantity == QUANTITY_RATE;
  const scene_node name = scene_member(node, "body"), kind = scene_member(node, "term");
  if (turns && !s->bodies[t->body].rigid)
    scene_fail(&name, "'%s' is a point mass and does not turn", s->bodies[t->body].id);
  if (t->quantity == QUANTITY_ANGLE && s->dimension == 3)
    scene_fail(&kind, "angles are for the plane; in space take the position of a body or its rate");
  t->axis_count = plan_read_axes(node, quantity_size(s, t->quantity), t->axes);
  if (scene_failed(node)) return;
  t->at = read_moment(plan, node, t->body);
  if (!scene_failed(node)) read_target(plan, node, t);
  if (scene_failed(node)) return;
  char axes[8] = "";
  for (int i = 0; i < t->axis_count && t->axis_count < quantity_size(s, t->quantity); i++) {
    strcat(axes, i == 0 ? " " : "");
    strcat(axes, axis_names[t->axes[i]]);
  }
  t->label = plan_format(plan, "%s %s%s of %s %s%s%s", norms[t->norm], quantity_names[t->quantity],
                         axes, s->bodies[t->body].id, t->at.label, t->relative ? " from that " : "",
                         t->relative ? t->other_at.label : "");
}

static void read_effort(carom_plan *plan, const scene_node *node, term *t) {
  static const char *const fields[] = {"term", "control", "weight", NULL};
  const carom_system *s = plan->system;
  const scene_node name = scene_member(node, "control");
  scene_check_object(node, fields);
  if (s->control_size == 0) scene_fail(node, "the scene '%s' has no controls", s->name);
  if (scene_failed(node)) return;
  t->control_size = s->control_size;
  if (name.value != NULL) {
    const int index = scene_lookup(&name, NAME_CONTROL);
    if (index < 0) return;
    t->control_first = s->controls[index].first;
    t->control_size = s->controls[index].size;
  }
  t->label = plan_format(plan, "effort%s%s", name.value != NULL ? " of " : "",
                         name.value != NULL ? json_string_value(name.value) : "");
}

static void read_clearance(carom_plan *plan, const scene_node *node, term *t) {
  static const char *const fields[] = {"term", "body", "from", "distance", "weight", NULL};
  const carom_system *s = plan->system;
  scene_check_object(node, fields);
  if (scene_failed(node)) return;
  const scene_node from = scene_member(node, "from");
  t->body = plan_read_body(node);
  t->distance = scene_positive(node, "distance");
  if (json_is_array(from.value)) {
    t->obstacle = OBSTACLE_POINT;
    scene_read_vector(&from, s->dimension, t->point);
  } else {
    const char *text = json_string_value(from.value);
    bool is_plane = false;
    for (int i = 0; text != NULL && i < s->plane_count; i++)
      is_plane = is_plane || strcmp(s->planes[i].id, text) == 0;
    t->obstacle = is_plane ? OBSTACLE_PLANE : OBSTACLE_BODY;
    t->other = scene_lookup(&from, is_plane ? NAME_PLANE : NAME_BODY);
    if (!is_plane && t->other == t->body) scene_fail(&from, "a body cannot stay clear of itself");
  }
  if (scene_failed(node)) return;
  t->label = plan_format(plan, "clearance %g of %s from %s", t->distance, s->bodies[t->body].id,
                         t->obstacle == OBSTACLE_POINT ? "a point" : json_string_value(from.value));
}

static void read_term(carom_plan *plan, const scene_node *node, term *t) {
  static const char *const kinds[] = {"position", "velocity",  "angle", "rate",
                                      "effort",   "clearance", NULL};
  enum { EFFORT = 4, CLEARANCE };
  if (!json_is_object(node->value)) {
    static const char *const none[] = {NULL};
    scene_check_object(node, none);
    return;
  }
  const int kind = scene_choice(node, "term", kinds, true);
  const scene_node weight = scene_member(node, "weight");
  t->weight = scene_number_or(node, "weight", 1);
  if (t->weight == 0) scene_fail(&weight, "a term of weight 0 is none; remove it");
  if (scene_failed(node)) return;
  t->kind = kind == EFFORT ? TERM_EFFORT : kind == CLEARANCE ? TERM_CLEARANCE : TERM_VALUE;
  t->quantity = (plan_quantity)(t->kind == TERM_VALUE ? kind : 0);
  if (t->kind == TERM_VALUE) read_value(plan, node, t);
  if (t->kind == TERM_EFFORT) read_effort(plan, node, t);
  if (t->kind == TERM_CLEARANCE) read_clearance(plan, node, t);
}

void plan_read_objective(carom_plan *plan, const scene_node *root) {
  const scene_node list = scene_array(root, "objective", true);
  plan->term_count = scene_size(&list);
  if (plan->term_count == 0 && !scene_failed(root))
    scene_fail(&list, "there is nothing to be reached; the objective needs at least one term");
  plan->terms = arena_zeroed(&plan->memory, sizeof(term) * (size_t)(plan->term_count + 1));
  for (int i = 0; i < plan->term_count && !scene_failed(root); i++) {
    const scene_node node = scene_element(&list, i);
    read_term(plan, &node, &plan->terms[i]);
  }
}
