/* What a system looks like (carom/drawing.h). */
#include "system/system.h"

_Static_assert(MAX_COMBINATION_POINTS == sizeof((carom_place){0}.points) / sizeof(int),
               "a place has room for every combination");

carom_body_info carom_system_body(const carom_system *system, int index) {
  if (system == NULL || index < 0 || index >= system->body_count)
    return (carom_body_info){.id = ""};
  static const carom_shape shapes[] = {[SHAPE_NONE] = CAROM_SHAPE_NONE,
                                       [SHAPE_BALL] = CAROM_SHAPE_BALL,
                                       [SHAPE_RIM] = CAROM_SHAPE_RIM,
                                       [SHAPE_POINTS] = CAROM_SHAPE_POINTS};
  const body *b = &system->bodies[index];
  const bool round = b->shape == SHAPE_BALL || b->shape == SHAPE_RIM;
  return (carom_body_info){.id = b->id,
                           .rigid = b->rigid,
                           .first_point = b->first_point,
                           .point_count = b->point_count,
                           .mass = b->mass,
                           .shape = shapes[b->shape],
                           .radius = round ? b->radius : 0,
                           .shape_point_count = b->shape_point_count,
                           .shape_points = b->shape_points};
}

int carom_system_plane_count(const carom_system *system) {
  return system != NULL ? system->plane_count : 0;
}

carom_plane_info carom_system_plane(const carom_system *system, int index) {
  carom_plane_info info = {.id = ""};
  if (system == NULL || index < 0 || index >= system->plane_count) return info;
  const plane *p = &system->planes[index];
  info.id = p->id;
  for (int k = 0; k < system->dimension; k++) info.normal[k] = p->normal[k];
  info.offset = p->offset;
  return info;
}

void carom_place_position(const carom_place *place, const carom_system *system, const double *x,
                          double *position) {
  if (place == NULL || system == NULL || x == NULL || position == NULL) return;
  const int d = system->dimension;
  for (int k = 0; k < d; k++) position[k] = place->constant[k];
  for (int i = 0; i < place->count && i < MAX_COMBINATION_POINTS; i++) {
    if (place->points[i] < 0 || place->points[i] >= system->point_count) continue;
    for (int k = 0; k < d; k++) position[k] += place->weights[i] * x[place->points[i] * d + k];
  }
}

int carom_system_tie_count(const carom_system *system) {
  if (system == NULL) return 0;
  int count = system->spring_count;
  for (int i = 0; i < system->constraint_count; i++)
    count += system->constraints[i].internal_of < 0;
  for (int i = 0; i < system->limit_count; i++) count += system->limits[i].kind == LIMIT_STRETCH;
  return count;
}

void system_arm_ends(const carom_system *s, const combination *arm, carom_place ends[2]) {
  ends[0] = ends[1] = (carom_place){0};
  double sum[2] = {0, 0};
  int bodies[2] = {-1, -1};
  for (int i = 0; i < arm->count; i++) {
    const int of = s->point_body[arm->point[i]];
    const int side = bodies[0] < 0 || bodies[0] == of ? 0 : 1;
    bodies[side] = of;
    sum[side] += arm->weight[i];
  }
  // the weights of an end sum to 1
  const int second = sum[0] > 0 ? 0 : 1;
  for (int i = 0; i < arm->count; i++) {
    const bool to = s->point_body[arm->point[i]] == bodies[second];
    carom_place *end = &ends[to ? 1 : 0];
    end->points[end->count] = arm->point[i];
    end->weights[end->count++] = to ? arm->weight[i] : -arm->weight[i];
  }
  // an end without points is a place of the world
  for (int k = 0; k < s->dimension; k++) {
    if (ends[0].count == 0) ends[0].constant[k] = -arm->constant[k];
    if (ends[1].count == 0) ends[1].constant[k] = arm->constant[k];
  }
}

static carom_tie_info make_tie(const carom_system *s, carom_tie_kind kind, const combination *arm,
                               double length) {
  carom_tie_info tie = {.kind = kind, .length = length};
  system_arm_ends(s, arm, tie.ends);
  return tie;
}

carom_tie_info carom_system_tie(const carom_system *system, int index) {
  if (system == NULL || index < 0) return (carom_tie_info){0};
  for (int i = 0; i < system->constraint_count; i++) {
    const constraint *c = &system->constraints[i];
    if (c->internal_of >= 0 || index-- > 0) continue;
    const bool link = c->kind == CONSTRAINT_DISTANCE;
    return make_tie(system, link ? CAROM_TIE_LINK : CAROM_TIE_JOINT, &c->arm, link ? c->length : 0);
  }
  if (index < system->spring_count) {
    const spring *pull = &system->springs[index];
    return make_tie(system, CAROM_TIE_SPRING, &pull->arm, pull->length);
  }
  index -= system->spring_count;
  for (int i = 0; i < system->limit_count; i++)
    if (system->limits[i].kind == LIMIT_STRETCH && index-- == 0)
      return make_tie(system, CAROM_TIE_SEGMENT, &system->limits[i].segment, 0);
  return (carom_tie_info){0};
}
