/* Scene text to system: the document, its first fields, the order in which sections are read. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "system/scene.h"

enum { FORMAT_VERSION = 1, MAX_TEXT = 64 << 20, MAX_STEPS = 100000000 };

void scene_pass_on(const scene_node *node, carom_status status, const carom_error *cause) {
  if (status != CAROM_OK) scene_fail(node, "%s", cause->message);
}

const char *const integrator_names[] = {[CAROM_RK4] = "rk4",
                                        [CAROM_EULER] = "euler",
                                        [CAROM_SYMPLECTIC_EULER] = "symplectic-euler",
                                        [CAROM_RK4_SECANT] = "rk4-secant",
                                        NULL};
const char *const compensation_names[] = {
    [CAROM_COMPENSATION_POSITION] = "position", [CAROM_COMPENSATION_PAPER] = "paper", NULL};

// name, description, dimension, time, gravity
static void read_header(const scene_node *root) {
  carom_system *system = root->reader->system;
  system->name = scene_copy(root->reader, scene_string(root, "name"));
  scene_node name = scene_member(root, "name");
  if (system->name[0] == '\0') scene_fail(&name, "must not be empty");
  bool described = scene_member(root, "description").value != NULL;
  system->description =
      scene_copy(root->reader, described ? scene_string(root, "description") : "");
  system->dimension = scene_integer(root, "dimension", 2, 3);
  system->dt = scene_positive(root, "dt");
  system->steps = scene_integer(root, "steps", 1, MAX_STEPS);
  system->integrator = (carom_integrator)scene_choice(root, "integrator", integrator_names, false);
  system->compensation =
      (carom_compensation)scene_choice(root, "compensation", compensation_names, false);
  system->stabilize = scene_flag(root, "stabilize", false);
  scene_vector_or_zero(root, "gravity", system->dimension, system->gravity);
}

static void read_document(void *user) {
  const scene_node *root = user;
  static const char *const fields[] = {
      "carom",    "name",    "description",  "dimension", "dt",       "steps",   "integrator",
      "gravity",  "bodies",  "chains",       "planes",    "joints",   "springs", "limits",
      "contacts", "initial", "compensation", "stabilize", "controls", NULL};
  if (json_is_object(root->value)) scene_integer(root, "carom", FORMAT_VERSION, FORMAT_VERSION);
  if (!scene_failed(root)) scene_check_object(root, fields);
  void (*const sections[])(const scene_node *) = {
      read_header,         scene_allocate,     scene_read_bodies, scene_read_planes,
      scene_read_joints,   scene_read_springs, scene_read_limits, scene_read_chains,
      scene_read_controls, scene_read_contacts};
  for (size_t i = 0; i < sizeof sections / sizeof sections[0] && !scene_failed(root); i++)
    sections[i](root);
  if (scene_failed(root)) return;
  carom_error cause;
  carom_status status = system_finish(root->reader->system, &cause);
  scene_pass_on(root, status, &cause);
  if (!scene_failed(root)) scene_read_initial(root);
}

static carom_status parse_text(carom_system *system, const char *origin, size_t length,
                               carom_error *error) {
  json_error_t problem;
  size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL;
  json_t *document = json_loadb(system->json, length, flags, &problem);
  if (document == NULL && json_error_code(&problem) == json_error_out_of_memory)
    return error_set(error, CAROM_OUT_OF_MEMORY, "%.200s: out of memory", origin);
  if (document == NULL)
    return error_set(error, CAROM_INVALID_SCENE, "%.200s:%d:%d: not valid JSON: %s", origin,
                     problem.line, problem.column, problem.text);
  scene_reader reader = {.origin = origin,
                         .text = system->json,
                         .length = length,
                         .error = error,
                         .status = CAROM_OK,
                         .system = system,
                         .names = json_object()};
  scene_node root = {.reader = &reader, .value = document};
  arena_init(&reader.scratch);
  if (reader.names == NULL || !arena_guard(read_document, &root))
    reader.status = error_set(error, CAROM_OUT_OF_MEMORY, "%.200s: out of memory", origin);
  arena_free(&reader.scratch);
  json_decref(reader.names);
  json_decref(document);
  return reader.status;
}

/* The text that a system is made from, and keeps. */
typedef struct scene_text {
  carom_system *system;
  const char *json;
  size_t length;
} scene_text;

static void keep_text(void *user) {
  const scene_text *t = user;
  t->system->json = arena_bytes(&t->system->memory, t->length + 1);
  memcpy(t->system->json, t->json, t->length);
  t->system->json[t->length] = '\0';
}

carom_status carom_system_parse(const char *json, size_t length, const char *origin,
                                carom_system **system, carom_error *error) {
  if (system != NULL) *system = NULL;
  REQUIRE(json, error);
  REQUIRE(system, error);
  if (origin == NULL) origin = "scene";
  if (length > MAX_TEXT)
    return error_set(error, CAROM_INVALID_SCENE, "%.200s: a scene may have %d MB at most", origin,
                     MAX_TEXT >> 20);
  carom_system *made = calloc(1, sizeof *made);
  if (made == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "%.200s: out of memory", origin);
  arena_init(&made->memory);
  scene_text text = {made, json, length};
  carom_status status = arena_guard(keep_text, &text) ? parse_text(made, origin, length, error)
                                                      : error_set(error, CAROM_OUT_OF_MEMORY,
                                                                  "%.200s: out of memory", origin);
  if (status != CAROM_OK) {
    carom_system_destroy(made);
    return status;
  }
  *system = made;
  return error_clear(error);
}
