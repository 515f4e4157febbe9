/* Plan text to plan: the document, its scene, simulation, start and optimiser. */
#include "plan/plan_parse.h"

#include "base/error.h"
#include "base/option_table.h"
#include "base/rotation.h"
#include "base/vector.h"
#include "plan/plan_options.h"
#include "plan/unknowns.h"
#include "rollout/rollout_options.h"
#include "system/sampler.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_VERSION = 1, MAX_TEXT = 64 << 20 };

char *plan_format(carom_plan *plan, const char *format, ...) {
  char buffer[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  const size_t size = strlen(buffer) + 1;
  return memcpy(arena_bytes(&plan->memory, size), buffer, size);
}

/* ---- readers that sections share ------------------------------------------------------------- */

int plan_read_body(const scene_node *object) {
  const scene_node name = scene_member(object, "body");
  return scene_lookup(&name, NAME_BODY);
}

void plan_read_numbers(const scene_node *object, const char *key, int size, double *numbers) {
  const scene_node node = scene_member(object, key);
  if (node.value == NULL) return;
  if (!json_is_number(node.value)) {
    scene_read_vector(&node, size, numbers);
    return;
  }
  const double number = scene_number(object, key);
  for (int i = 0; i < size; i++) numbers[i] = number;
}

int plan_read_axes(const scene_node *object, int size, int *axes) {
  const scene_node list = scene_array(object, "axes", false);
  for (int i = 0; i < size; i++) axes[i] = i;
  if (list.value == NULL || scene_failed(object)) return size;
  if (scene_size(&list) < 1 || scene_size(&list) > size) {
    scene_fail(&list, "names %d axes, there are %d", scene_size(&list), size);
    return size;
  }
  bool seen[MAX_DIMENSION] = {false};
  for (int i = 0; i < scene_size(&list); i++) {
    const scene_node element = scene_element(&list, i);
    const char *text = json_string_value(element.value);
    int axis = 0;
    while (axis < size && (text == NULL || strcmp(text, axis_names[axis]) != 0)) axis++;
    if (axis == size || seen[axis]) {
      scene_fail(&element, axis == size ? "not an axis; \"x\", \"y\"%s" : "named before%s",
                 axis == size && size == 3 ? ", \"z\"" : "");
      return size;
    }
    seen[axis] = true;
    axes[i] = axis;
  }
  return scene_size(&list);
}

// whether a contact is of a body or plane
static bool contact_is_of(const carom_system *s, int contact, const char *id) {
  char label[160];
  carom_system_contact_label(s, contact, label, sizeof label);
  if (strcmp(label, id) == 0) return true;
  const size_t length = strlen(id), whole = strlen(label);
  if (length >= whole || contact >= s->limit_property_first) return false;
  const bool first = strncmp(label, id, length) == 0 && strchr("|-", label[length]) != NULL;
  const char *end = label + whole - length;
  return first || (strcmp(end, id) == 0 && strchr("|-", end[-1]) != NULL);
}

bool *plan_read_contacts(carom_plan *plan, const scene_node *node) {
  const carom_system *s = plan->system;
  const char *text = json_string_value(node->value);
  if (text == NULL) {
    scene_fail(
        node,
        "the name of a contact is required, like \"a|ground\", \"a-b\", the id of a plane or "
        "body, or \"any\"");
    return NULL;
  }
  if (strcmp(text, "any") == 0 || scene_failed(node)) return NULL;
  bool *flags = arena_zeroed(&plan->memory, sizeof(bool) * (size_t)(s->contact_count + 1));
  bool found = false;
  for (int k = 0; k < s->contact_count; k++) {
    flags[k] = contact_is_of(s, k, text);
    found = found || flags[k];
  }
  if (!found)
    scene_fail(
        node,
        "'%s' names no possible contact of '%s'; contacts are like \"a|ground\" or \"a-b\", or "
        "the id of a plane or body stands for all of its own",
        scene_quote(text).text, s->name);
  return flags;
}

/* ---- the scene ------------------------------------------------------------------------------- */

// a scene inside the plan: its text, with as many empty lines before it as it has lines before it
static carom_status parse_inline(carom_plan *plan, const scene_node *node, carom_error *error) {
  size_t length;
  const char *text = scene_value_text(node, &length);
  size_t lines = 0;
  for (const char *p = node->reader->text; p < text; p++) lines += *p == '\n';
  char *alone = arena_bytes(&plan->memory, lines + length + 1);
  memset(alone, '\n', lines);
  memcpy(alone + lines, text, length);
  alone[lines + length] = '\0';
  return carom_system_parse(alone, lines + length, plan->origin, &plan->system, error);
}

// a file beside the plan, or a built-in scene
static carom_status load_scene(carom_plan *plan, const char *name, carom_error *error) {
  const char *slash = strrchr(plan->origin, '/');
  for (int k = 0; k < carom_scene_count(); k++)
    if (strcmp(name, carom_scene_name(k)) == 0)
      return carom_system_load(name, &plan->system, error);
  if (slash == NULL || name[0] == '/') return carom_system_load(name, &plan->system, error);
  const size_t folder = (size_t)(slash + 1 - plan->origin);
  char *path = arena_bytes(&plan->memory, folder + strlen(name) + 1);
  memcpy(path, plan->origin, folder);
  strcpy(path + folder, name);
  return carom_system_load(path, &plan->system, error);
}

static void read_scene(carom_plan *plan, const scene_node *root) {
  const scene_node node = scene_member(root, "scene");
  carom_error cause = {0};
  carom_status status = CAROM_OK;
  if (json_is_object(node.value)) {
    status = parse_inline(plan, &node, &cause);
    // the message has origin and line already
    if (status != CAROM_OK)
      root->reader->status = error_set(root->reader->error, status, "%s", cause.message);
  } else if (json_is_string(node.value)) {
    status = load_scene(plan, json_string_value(node.value), &cause);
    if (status != CAROM_OK) scene_fail(&node, "%s", cause.message);
  } else {
    scene_fail(&node,
               "missing; the name of a built-in scene, the path of a scene file or a scene is "
               "required");
  }
  if (status != CAROM_OK || scene_failed(root)) return;

  // names that the plan may use
  const carom_system *s = plan->system;
  root->reader->system = plan->system;
  for (int i = 0; i < s->body_count; i++) scene_name(root, s->bodies[i].id, NAME_BODY, i);
  for (int i = 0; i < s->plane_count; i++) scene_name(root, s->planes[i].id, NAME_PLANE, i);
  for (int i = 0; i < s->control_count; i++) scene_name(root, s->controls[i].id, NAME_CONTROL, i);
}

/* ---- options --------------------------------------------------------------------------------- */

// one option from a JSON value, as text
static void read_option(const scene_node *node, const option_field *field, void *options) {
  char number[OPTION_TEXT];
  const char *text = json_is_string(node->value)   ? json_string_value(node->value)
                     : json_is_true(node->value)   ? "true"
                     : json_is_false(node->value)  ? "false"
                     : json_is_number(node->value) ? number
                                                   : NULL;
  if (text == number) snprintf(number, sizeof number, "%.17g", json_number_value(node->value));
  carom_error cause;
  if (text == NULL)
    scene_fail(node, "expected a number, a string, true or false");
  else if (option_set_text(field, options, field->name, text, &cause) != CAROM_OK)
    scene_fail(node, "%s", cause.message);
}

/* Members of an object by the names of a table; the message for others lists what there is. */
static void read_options(const scene_node *root, const char *key, const option_table *table,
                         void *options) {
  enum { MOST = 64 };
  const scene_node node = scene_member(root, key);
  const char *names[MOST + 1];
  int count = 0;
  if (node.value == NULL) return;
  for (int k = 0; k < table->count && count < MOST; k++)
    if (!(table->fields[k].role & OPTION_SPEED)) names[count++] = table->fields[k].name;
  names[count] = NULL;
  scene_check_object(&node, names);
  const char *name;
  json_t *value;
  if (scene_failed(root)) return;
  json_object_foreach((json_t *)node.value, name, value) {
    const scene_node member = scene_member(&node, name);
    read_option(&member, option_find(table, name), options);
  }
}

static carom_rollout_options read_rollout(const carom_plan *plan, const scene_node *root) {
  carom_rollout_options options = carom_rollout_default_options(plan->system);
  // derivatives through contacts are what a plan is for
  options.contact_time = CAROM_CONTACT_TIME_EVENT;
  read_options(root, "rollout", &rollout_option_table, &options);
  return options;
}

/* ---- the start ------------------------------------------------------------------------------- */

static void read_body_start(carom_plan *plan, const scene_node *node) {
  static const char *const fields[] = {"body", "position", "velocity", "angle", "rate", NULL};
  const carom_system *s = plan->system;
  scene_check_object(node, fields);
  if (scene_failed(node)) return;
  const int index = plan_read_body(node);
  if (index < 0) return;
  const body *b = &s->bodies[index];
  const int d = s->dimension, turns = d == 2 ? 1 : 3;
  double centre[MAX_DIMENSION], velocity[MAX_DIMENSION];
  double angle[MAX_DIMENSION] = {0}, rate[MAX_DIMENSION] = {0}, rotation[9] = {0};
  memcpy(centre, plan->x0 + b->first_point * d, sizeof(double) * (size_t)d);
  memcpy(velocity, plan->v0 + b->first_point * d, sizeof(double) * (size_t)d);
  const scene_node turned = scene_member(node, "angle"), turning = scene_member(node, "rate");
  const scene_node *extra = turned.value != NULL ? &turned : &turning;
  if (!b->rigid && extra->value != NULL)
    scene_fail(extra, "'%s' is a point mass and does not turn", b->id);
  if (b->rigid) {
    body_angle(s, index, plan->x0, angle);
    body_rate(s, index, plan->x0, plan->v0, rate);
  }
  plan_read_numbers(node, "position", d, centre);
  plan_read_numbers(node, "velocity", d, velocity);
  plan_read_numbers(node, "angle", turns, angle);
  plan_read_numbers(node, "rate", turns, rate);
  if (scene_failed(node)) return;
  if (d == 2)
    rotation_from_angle(angle[0], rotation);
  else
    rotation_from_vector(angle, rotation);
  place_body(s, index, centre, velocity, rotation, rate, plan->x0, plan->v0);
}

static void read_start(carom_plan *plan, const scene_node *root) {
  const carom_system *s = plan->system;
  const scene_node list = scene_array(root, "start", false);
  carom_error cause = {0};
  plan->x0 = arena_zeros(&plan->memory, s->coordinate_count);
  plan->v0 = arena_zeros(&plan->memory, s->coordinate_count);
  plan->theta = arena_zeros(&plan->memory, s->parameter_count);
  carom_parameters_default(s, plan->theta);
  if (carom_system_sample(s, 0, 1, plan->x0, plan->v0, &cause) != CAROM_OK)
    scene_fail(root, "%s", cause.message);
  for (int i = 0; i < scene_size(&list) && !scene_failed(root); i++) {
    const scene_node node = scene_element(&list, i);
    read_body_start(plan, &node);
  }
}

/* ---- the document ---------------------------------------------------------------------------- */

static void read_header(carom_plan *plan, const scene_node *root) {
  const bool described = scene_member(root, "description").value != NULL;
  plan->name = plan_format(plan, "%.200s", scene_string(root, "name"));
  plan->description =
      plan_format(plan, "%.500s", described ? scene_string(root, "description") : "");
}

/* What a guard takes. */
typedef struct document {
  carom_plan *plan;
  const scene_node *root;
} document;

static void read_document(void *user) {
  static const char *const fields[] = {"carom_plan", "name",  "description", "scene",
                                       "rollout",    "start", "unknowns",    "objective",
                                       "optimizer",  NULL};
  const document *d = user;
  const scene_node *root = d->root;
  carom_plan *plan = d->plan;
  if (json_is_object(root->value)) {
    if (json_object_get(root->value, "carom") != NULL &&
        json_object_get(root->value, "carom_plan") == NULL)
      scene_fail(root, "this is a scene; a plan has \"carom_plan\": 1, and names its scene");
    scene_integer(root, "carom_plan", FORMAT_VERSION, FORMAT_VERSION);
  }
  if (!scene_failed(root)) scene_check_object(root, fields);
  if (!scene_failed(root)) read_header(plan, root);
  if (!scene_failed(root)) read_scene(plan, root);
  if (scene_failed(root)) return;
  plan->options = carom_plan_default_options();
  read_options(root, "optimizer", &plan_option_table, &plan->options);
  const carom_rollout_options rollout = read_rollout(plan, root);
  if (!scene_failed(root)) read_start(plan, root);
  if (!scene_failed(root)) plan_read_unknowns(plan, root);
  if (!scene_failed(root)) plan_read_objective(plan, root);
  if (!scene_failed(root))
    root->reader->status = plan_take_rollout(plan, &rollout, root->reader->error);
}

static carom_status read_text(carom_plan *plan, size_t length, carom_error *error) {
  json_error_t problem;
  json_t *value =
      json_loadb(plan->json, length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &problem);
  if (value == NULL && json_error_code(&problem) == json_error_out_of_memory)
    return error_set(error, CAROM_OUT_OF_MEMORY, "%.200s: out of memory", plan->origin);
  if (value == NULL)
    return error_set(error, CAROM_INVALID_PLAN, "%.200s:%d:%d: not valid JSON: %s", plan->origin,
                     problem.line, problem.column, problem.text);
  carom_error own = {0};
  scene_reader reader = {.origin = plan->origin,
                         .text = plan->json,
                         .length = length,
                         .error = &own,
                         .failure = CAROM_INVALID_PLAN,
                         .names = json_object()};
  const scene_node root = {.reader = &reader, .value = value};
  document d = {plan, &root};
  if (reader.names == NULL || !arena_guard(read_document, &d))
    reader.status = error_set(&own, CAROM_OUT_OF_MEMORY, "%.200s: out of memory", plan->origin);
  json_decref(reader.names);
  json_decref(value);
  return reader.status == CAROM_OK ? CAROM_OK : error_set(error, own.status, "%s", own.message);
}

/* The text that a plan is made from, and keeps. */
typedef struct plan_text {
  carom_plan *plan;
  const char *json, *origin;
  size_t length;
} plan_text;

static void keep_text(void *user) {
  const plan_text *t = user;
  t->plan->json = arena_bytes(&t->plan->memory, t->length + 1);
  memcpy(t->plan->json, t->json, t->length);
  t->plan->json[t->length] = '\0';
  t->plan->origin = arena_bytes(&t->plan->memory, strlen(t->origin) + 1);
  strcpy(t->plan->origin, t->origin);
}

carom_status carom_plan_parse(const char *json, size_t length, const char *origin,
                              carom_plan **plan, carom_error *error) {
  if (plan != NULL) *plan = NULL;
  REQUIRE(json, error);
  REQUIRE(plan, error);
  if (origin == NULL) origin = "plan";
  if (length > MAX_TEXT)
    return error_set(error, CAROM_INVALID_PLAN, "%.200s: a plan may have %d MB at most", origin,
                     MAX_TEXT >> 20);
  carom_plan *made = calloc(1, sizeof *made);
  if (made == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "%.200s: out of memory", origin);
  arena_init(&made->memory);
  plan_text text = {made, json, origin, length};
  carom_status status = arena_guard(keep_text, &text) ? read_text(made, length, error)
                                                      : error_set(error, CAROM_OUT_OF_MEMORY,
                                                                  "%.200s: out of memory", origin);
  if (status != CAROM_OK) {
    carom_plan_destroy(made);
    return status;
  }
  *plan = made;
  return error_clear(error);
}
