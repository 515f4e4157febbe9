#include "cli/plan_notes.h"

#include <stdio.h>
#include <string.h>

json_t *plan_note(const carom_arrays *arrays) {
  const char *text = carom_arrays_note(arrays, "plan");
  return text != NULL ? json_loads(text, 0, NULL) : NULL;
}

void note_line(const char *note, int index, char *text, size_t size) {
  for (int k = 0; note != NULL && k < index; k++) {
    note = strchr(note, '\n');
    if (note != NULL) note++;
  }
  if (note == NULL || note[0] == '\0')
    snprintf(text, size, "number %d", index);
  else
    snprintf(text, size, "%.*s", (int)strcspn(note, "\n"), note);
}

// a term of an objective that says where a body is to be
static bool read_target(const json_t *term, const carom_system *system, plan_target *to) {
  const carom_system_info info = carom_system_describe(system);
  const char *kind = json_string_value(json_object_get(term, "term"));
  const char *id = json_string_value(json_object_get(term, "body"));
  const json_t *place = json_object_get(term, "target");
  if (kind == NULL || id == NULL || strcmp(kind, "position") != 0 ||
      json_object_get(term, "axes") != NULL || json_array_size(place) != (size_t)info.dimension)
    return false;
  for (int k = 0; k < info.body_count; k++) {
    const carom_body_info body = carom_system_body(system, k);
    if (strcmp(body.id, id) != 0) continue;
    *to = (plan_target){.radius = body.radius};
    for (int i = 0; i < info.dimension; i++)
      to->position[i] = json_number_value(json_array_get(place, (size_t)i));
    snprintf(to->label, sizeof to->label, "%s", id);
    return true;
  }
  return false;
}

int plan_targets(const carom_arrays *arrays, const carom_system *system,
                 plan_target targets[MOST_TARGETS]) {
  json_t *plan = plan_note(arrays);
  const json_t *terms = json_object_get(plan, "objective");
  int count = 0;
  for (size_t k = 0; k < json_array_size(terms) && count < MOST_TARGETS; k++)
    count += read_target(json_array_get(terms, k), system, &targets[count]);
  json_decref(plan);
  return count;
}
