#include "system/system.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

void combination_value(const combination *c, int dimension, const double *x, bool with_constant,
                       double *value) {
  for (int k = 0; k < dimension; k++) value[k] = with_constant ? c->constant[k] : 0;
  for (int i = 0; i < c->count; i++) {
    const double *point = x + c->point[i] * dimension;
    for (int k = 0; k < dimension; k++) value[k] += c->weight[i] * point[k];
  }
}

combination combination_world(int dimension, const double *position) {
  combination c = {0};
  for (int k = 0; k < dimension; k++) c.constant[k] = position[k];
  return c;
}

static void add_term(combination *c, int point, double weight) {
  // points that both ends have are merged; terms that vanish are left out
  for (int i = 0; i < c->count; i++) {
    if (c->point[i] != point) continue;
    c->weight[i] += weight;
    if (c->weight[i] != 0) return;
    c->count--;
    c->point[i] = c->point[c->count];
    c->weight[i] = c->weight[c->count];
    return;
  }
  if (weight == 0) return;
  assert(c->count < MAX_COMBINATION_POINTS);
  c->point[c->count] = point;
  c->weight[c->count] = weight;
  c->count++;
}

combination combination_on_body(const body *b, int dimension, const double *at) {
  combination c = {0};
  double rest = 1;
  for (int k = 0; b->rigid && k < dimension; k++) rest -= at[k];
  add_term(&c, b->first_point, rest);
  for (int k = 0; b->rigid && k < dimension; k++) add_term(&c, b->first_point + 1 + k, at[k]);
  return c;
}

combination combination_difference(const combination *a, const combination *b) {
  combination c = *a;
  for (int i = 0; i < b->count; i++) add_term(&c, b->point[i], -b->weight[i]);
  for (int k = 0; k < MAX_DIMENSION; k++) c.constant[k] -= b->constant[k];
  return c;
}

void carom_system_destroy(carom_system *system) {
  if (system == NULL) return;
  arena_free(&system->memory);
  free(system);
}

static bool is_conservative(const carom_system *s) {
  for (int i = 0; i < s->contact_count; i++) {
    if (s->friction[i] != 0 || s->restitution[i] != 1) return false;
  }
  return true;
}

carom_system_info carom_system_describe(const carom_system *system) {
  if (system == NULL) return (carom_system_info){.name = "", .description = "", .json = ""};
  return (carom_system_info){.name = system->name,
                             .description = system->description,
                             .json = system->json,
                             .dimension = system->dimension,
                             .body_count = system->body_count,
                             .point_count = system->point_count,
                             .constraint_count = system->row_count,
                             .contact_count = system->contact_count,
                             .spring_count = system->spring_count,
                             .control_count = system->control_count,
                             .control_size = system->control_size,
                             .dt = system->dt,
                             .steps = system->steps,
                             .shared_properties = system->shared_properties,
                             .conservative = is_conservative(system)};
}

bool carom_system_body_is_rigid(const carom_system *system, int body_index) {
  const bool known = system != NULL && body_index >= 0 && body_index < system->body_count;
  return known && system->bodies[body_index].rigid;
}

const char *carom_system_body_id(const carom_system *system, int index) {
  return system != NULL && index >= 0 && index < system->body_count ? system->bodies[index].id
                                                                    : NULL;
}

carom_control_info carom_system_control(const carom_system *system, int index) {
  if (system == NULL || index < 0 || index >= system->control_count)
    return (carom_control_info){.id = "", .body = -1};
  const control *c = &system->controls[index];
  return (carom_control_info){
      .id = c->id, .kind = c->kind, .body = c->body, .first = c->first, .size = c->size};
}

// the pair i < j whose properties stand at an index: row i of the triangle has n - 1 - i pairs
static void pair_of_property(const carom_system *s, int property, int *i, int *j) {
  int row = 0;
  while (property >= s->body_count - 1 - row) property -= s->body_count - 1 - row++;
  *i = row;
  *j = row + 1 + property;
}

void carom_system_contact_label(const carom_system *system, int contact, char *buffer,
                                size_t size) {
  if (buffer == NULL || size == 0) return;
  buffer[0] = '\0';
  if (system == NULL || contact < 0 || contact >= system->contact_count) return;
  if (contact >= system->limit_property_first) {
    const limit *l = &system->limits[contact - system->limit_property_first];
    snprintf(buffer, size, "%s", l->label);
  } else if (contact >= system->plane_property_first) {
    int place = contact - system->plane_property_first;
    snprintf(buffer, size, "%s|%s", system->bodies[place / system->plane_count].id,
             system->planes[place % system->plane_count].id);
  } else {
    int i, j;
    pair_of_property(system, contact, &i, &j);
    snprintf(buffer, size, "%s-%s", system->bodies[i].id, system->bodies[j].id);
  }
}
