/* What the items of a list of unknowns stand for in a scene. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fit/unknown_item.h"
#include "fit/unknowns.h"
#include "system/system.h"

typedef struct parser {
  const carom_system *system;
  unknown_list *list;
  double *theta; /* the scene's */
  int capacity;
  carom_error *error;
} parser;

static carom_status bad(const parser *p, const unknown_item *it, const char *why) {
  return unknown_item_bad(it, p->error, why);
}

static carom_status add(parser *p, const unknown_item *it, const unknown *u) {
  unknown_list *list = p->list;
  for (int i = 0; i < list->count; i++)
    for (int k = 0; k < list->items[i].entry_count; k++)
      for (int j = 0; j < u->entry_count; j++)
        if (list->items[i].entries[k] == u->entries[j] &&
            (u->kind == UNKNOWN_CENTRE) == (list->items[i].kind == UNKNOWN_CENTRE))
          return error_set(p->error, CAROM_INVALID_ARGUMENT,
                           "unknown '%s': it is part of '%s' already; list it once", it->text,
                           list->items[i].name);
  if (list->count == p->capacity) {
    int capacity = 2 * p->capacity + 8;
    unknown *grown = realloc(list->items, sizeof *grown * (size_t)capacity);
    if (grown == NULL) return error_set(p->error, CAROM_OUT_OF_MEMORY, "no memory for unknowns");
    list->items = grown;
    p->capacity = capacity;
  }
  list->items[list->count++] = *u;
  return CAROM_OK;
}

// bounds, start and prior as the item says
static carom_status set_range(const parser *p, const unknown_item *it, unknown *u) {
  if (!isnan(it->low)) u->low = fmax(u->low, it->low);
  if (!isnan(it->high)) u->high = fmin(u->high, it->high);
  if (!isnan(it->start)) u->start = it->start;
  if (it->prior_deviation > 0) {
    u->prior = it->prior;
    u->prior_deviation = it->prior_deviation;
  }
  if (u->spread == 0) u->spread = unknown_is_logarithmic(u) ? 0.15 : 0.05 * u->natural;
  if (u->low >= u->high) return bad(p, it, "the low bound is not below the high one");
  if (unknown_is_logarithmic(u) && u->start <= 0) return bad(p, it, "the start must be positive");
  if (u->start < u->low || u->start > u->high)
    return isnan(it->start)
               ? bad(p, it, "the scene's value is outside of the bounds; give one: :start=X")
               : bad(p, it, "the start is outside of the bounds");
  return CAROM_OK;
}

/* An unknown over entries [count] of theta. */
static carom_status add_entries(parser *p, const unknown_item *it, const char *name,
                                unknown_kind kind, carom_segment segment, int count,
                                const int *entries, const double *coefficients, double scene,
                                double low, double high, double natural) {
  unknown u = {.kind = kind,
               .segment = segment,
               .entry_count = count,
               .scene = scene,
               .start = scene,
               .low = low,
               .high = high,
               .natural = natural};
  snprintf(u.name, sizeof u.name, "%s", name);
  carom_status status = set_range(p, it, &u);
  if (status != CAROM_OK) return status;
  u.entries = malloc(sizeof(int) * (size_t)count + 1);
  u.coefficients = malloc(sizeof(double) * (size_t)count + 1);
  if (u.entries == NULL || u.coefficients == NULL) {
    status = error_set(p->error, CAROM_OUT_OF_MEMORY, "no memory for unknowns");
  } else {
    memcpy(u.entries, entries, sizeof(int) * (size_t)count);
    memcpy(u.coefficients, coefficients, sizeof(double) * (size_t)count);
    status = add(p, it, &u);
  }
  if (status != CAROM_OK) {
    free(u.entries);
    free(u.coefficients);
  }
  return status;
}

// one unknown of all, or one for each, of `count` entries whose labels stand in `names`
static carom_status add_all(parser *p, const unknown_item *it, unknown_kind kind,
                            carom_segment segment, int count, const int *entries, char (*names)[96],
                            bool shared, double high, double natural) {
  double low = kind == UNKNOWN_LINEAR ? 0 : 1e-12;
  double *coefficients = malloc(sizeof(double) * (size_t)count + 1);
  if (coefficients == NULL)
    return error_set(p->error, CAROM_OUT_OF_MEMORY, "no memory for unknowns");
  double first = kind == UNKNOWN_LOG ? exp(p->theta[entries[0]]) : p->theta[entries[0]];
  carom_status status = CAROM_OK;
  for (int k = 0; k < count; k++)
    coefficients[k] = kind == UNKNOWN_LOG ? p->theta[entries[k]] - p->theta[entries[0]] : 1;
  if (shared)
    status = add_entries(p, it,
                         count == 1          ? names[0]
                         : it->at_count == 0 ? it->name
                                             : names[0],
                         kind, segment, count, entries, coefficients, first, low, high, natural);
  for (int k = 0; k < count && !shared && status == CAROM_OK; k++) {
    double one = kind == UNKNOWN_LOG ? 0 : 1;
    double value = kind == UNKNOWN_LOG ? exp(p->theta[entries[k]]) : p->theta[entries[k]];
    status = add_entries(p, it, names[k], kind, segment, 1, &entries[k], &one, value, low, high,
                         natural);
  }
  free(coefficients);
  return status;
}

static int body_named(const carom_system *s, const char *id) {
  for (int i = 0; i < s->body_count; i++)
    if (strcmp(s->bodies[i].id, id) == 0) return i;
  return -1;
}

/* Entries with their names, to be filled. */
typedef struct selection {
  int count;
  int *entries;
  char (*names)[96];
} selection;

static void selection_free(selection *s) {
  free(s->entries);
  free(s->names);
  *s = (selection){0};
}
// false if memory is short; then there is nothing to free
static bool selection_make(selection *s, int most) {
  *s = (selection){.entries = malloc(sizeof(int) * (size_t)most + 1),
                   .names = malloc(96 * (size_t)most + 1)};
  if (s->entries != NULL && s->names != NULL) return true;
  selection_free(s);
  return false;
}
// NAME[OF], with an axis that is not negative NAME[OF][AXIS]
static void select_entry(selection *s, int entry, const char *name, const char *of, int axis) {
  char *to = s->names[s->count];
  s->entries[s->count++] = entry;
  if (axis >= 0)
    snprintf(to, 96, "%.20s[%.60s][%d]", name, of, axis);
  else
    snprintf(to, 96, "%.20s[%.66s]", name, of);
}

// contacts by their label, or all
static carom_status select_contacts(const parser *p, const unknown_item *it, int offset,
                                    selection *s) {
  const carom_system *system = p->system;
  char label[80], example[80] = "";
  bool found = false;
  if (it->at_count > 1) return bad(p, it, "a contact has one label");
  for (int i = 0; i < system->contact_count; i++) {
    carom_system_contact_label(system, i, label, sizeof label);
    const char *const names[] = {label, NULL};
    bool near = it->at_count == 1 && carom_name_nearest(it->at[0], names) != NULL;
    if (i == 0 || (near && !found)) snprintf(example, sizeof example, "%s", label);
    found = found || near;
    if (it->at_count == 1 && strcmp(label, it->at[0]) != 0) continue;
    select_entry(s, offset + i, it->name, label, -1);
  }
  if (s->count > 0) return CAROM_OK;
  if (system->contact_count == 0) return bad(p, it, "nothing in the scene can touch anything");
  return error_set(p->error, CAROM_INVALID_ARGUMENT,
                   "unknown '%s': %s has no such contact; they are written as in '%s[%s]'",
                   it->text, system->name, it->name, example);
}

static carom_status no_body(const parser *p, const unknown_item *it) {
  const char *names[257];
  int count = 0;
  for (; count < p->system->body_count && count < 256; count++)
    names[count] = p->system->bodies[count].id;
  names[count] = NULL;
  const char *near = carom_name_nearest(it->at[0], names);
  return error_set(p->error, CAROM_INVALID_ARGUMENT, "unknown '%s': %s has no body '%s'%s%s%s",
                   it->text, p->system->name, it->at[0], near != NULL ? "; did you mean '" : "",
                   near != NULL ? near : "", near != NULL ? "'?" : "");
}

static carom_status read_axis(const parser *p, const unknown_item *it, const char *text,
                              int *axis) {
  static const char letters[] = "xyz";
  const char *at = strlen(text) == 1 ? strchr(letters, text[0]) : NULL;
  *axis = at != NULL && text[0] != '\0' ? (int)(at - letters) : -1;
  if (strlen(text) == 1 && text[0] >= '0' && text[0] <= '2') *axis = text[0] - '0';
  if (*axis >= 0 && *axis < p->system->dimension) return CAROM_OK;
  return bad(p, it,
             p->system->dimension == 2 ? "an axis is x or y (0 or 1)"
                                       : "an axis is x, y or z (0, 1 or 2)");
}

static carom_status add_properties(parser *p, const unknown_item *it, carom_segment segment) {
  selection s;
  carom_status status = selection_make(&s, p->system->contact_count)
                            ? select_contacts(p, it, p->system->segments[segment].offset, &s)
                            : error_set(p->error, CAROM_OUT_OF_MEMORY, "no memory for unknowns");
  bool shared = it->sharing == SHARING_SHARED ||
                (it->sharing == SHARING_SCENE && p->system->shared_properties && it->at_count == 0);
  if (status == CAROM_OK)
    status = add_all(p, it, UNKNOWN_LINEAR, segment, s.count, s.entries, s.names, shared,
                     segment == CAROM_RESTITUTION ? 1 : INFINITY, 1);
  selection_free(&s);
  return status;
}

// the body that the masses are given by: it is not unknown itself
static carom_status check_divisor(const parser *p, const unknown_item *it) {
  char id[112];
  size_t length = strlen(it->divisor);
  if (strncmp(it->divisor, "mass[", 5) != 0 || length < 7 || it->divisor[length - 1] != ']')
    return bad(p, it, "a ratio is written mass[b]/mass[a]");
  snprintf(id, sizeof id, "%.*s", (int)(length - 6), it->divisor + 5);
  int body_index = body_named(p->system, id);
  if (body_index < 0) return bad(p, it, "the scene has no body of the divisor's name");
  for (int i = 0; i < p->list->count; i++)
    for (int k = 0; k < p->list->items[i].entry_count; k++)
      if (p->list->items[i].entries[k] == p->system->segments[CAROM_LOG_MASS].offset + body_index)
        return bad(p, it, "the divisor is unknown itself; list the ratio alone");
  return CAROM_OK;
}

static carom_status add_mass(parser *p, const unknown_item *it) {
  const carom_system *system = p->system;
  int offset = system->segments[CAROM_LOG_MASS].offset;
  selection s;
  if (it->at_count > 1) return bad(p, it, "expected mass or mass[BODY]");
  if (it->divisor[0] != '\0') {
    carom_status status = check_divisor(p, it);
    if (status != CAROM_OK) return status;
  }
  if (!selection_make(&s, system->body_count))
    return error_set(p->error, CAROM_OUT_OF_MEMORY, "no memory for unknowns");
  for (int i = 0; i < system->body_count; i++)
    if (it->at_count == 0 || strcmp(system->bodies[i].id, it->at[0]) == 0)
      select_entry(&s, offset + i, it->name, system->bodies[i].id, -1);
  carom_status status = s.count == 0
                            ? no_body(p, it)
                            : add_all(p, it, UNKNOWN_LOG, CAROM_LOG_MASS, s.count, s.entries,
                                      s.names, it->sharing == SHARING_SHARED, INFINITY, 1);
  selection_free(&s);
  return status;
}

/* In the plane motion depends on the sum of a body's moments: they change together. */
static carom_status add_moment_of(parser *p, const unknown_item *it, int body_index) {
  const carom_system *system = p->system;
  int d = system->dimension, axis = -1;
  const body *b = &system->bodies[body_index];
  if (!b->rigid) return it->at_count > 0 ? bad(p, it, "a point mass has no moments") : CAROM_OK;
  if (it->at_count == 2) {
    carom_status status = read_axis(p, it, it->at[1], &axis);
    if (status != CAROM_OK) return status;
    if (d == 2)
      return bad(p, it, "in the plane a body has one moment, the sum of both: moment[BODY]");
  }
  selection s;
  if (!selection_make(&s, d))
    return error_set(p->error, CAROM_OUT_OF_MEMORY, "no memory for unknowns");
  bool shared = d == 2 || it->sharing == SHARING_SHARED;
  for (int k = 0; k < d; k++)
    if (axis < 0 || k == axis)
      select_entry(&s, system->segments[CAROM_LOG_MOMENT].offset + body_index * d + k, it->name,
                   b->id, shared ? -1 : k);
  unknown_item one = *it;
  one.at_count = 1;
  carom_status status = add_all(p, &one, UNKNOWN_LOG, CAROM_LOG_MOMENT, s.count, s.entries, s.names,
                                shared, INFINITY, 1);
  selection_free(&s);
  return status;
}

static carom_status add_moments(parser *p, const unknown_item *it) {
  int before = p->list->count;
  if (it->at_count > 0) {
    int body_index = body_named(p->system, it->at[0]);
    return body_index < 0 ? no_body(p, it) : add_moment_of(p, it, body_index);
  }
  carom_status status = CAROM_OK;
  for (int i = 0; i < p->system->body_count && status == CAROM_OK; i++)
    status = add_moment_of(p, it, i);
  if (status == CAROM_OK && p->list->count == before)
    return bad(p, it, "the scene has no rigid body");
  return status;
}

static carom_status add_gravity(parser *p, const unknown_item *it) {
  const carom_system *system = p->system;
  int d = system->dimension, offset = system->segments[CAROM_GRAVITY].offset, axis;
  int entries[MAX_DIMENSION];
  double coefficients[MAX_DIMENSION], strength = 0;
  char name[96];
  for (int k = 0; k < d; k++) strength += system->gravity[k] * system->gravity[k];
  strength = sqrt(strength);
  double natural = strength > 0 ? strength : 1;
  if (it->at_count == 1) {
    carom_status status = read_axis(p, it, it->at[0], &axis);
    if (status != CAROM_OK) return status;
    entries[0] = offset + axis;
    coefficients[0] = 1;
    snprintf(name, sizeof name, "gravity[%c]", "xyz"[axis]);
    return add_entries(p, it, name, UNKNOWN_LINEAR, CAROM_GRAVITY, 1, entries, coefficients,
                       system->gravity[axis], -INFINITY, INFINITY, natural);
  }
  if (it->at_count > 0) return bad(p, it, "expected gravity or gravity[AXIS]");
  if (strength == 0)
    return bad(p, it,
               "the scene has no gravity, so no direction of it; take gravity[x], gravity[y], ...");
  for (int k = 0; k < d; k++) {
    entries[k] = offset + k;
    coefficients[k] = system->gravity[k] / strength;
  }
  return add_entries(p, it, "gravity", UNKNOWN_LINEAR, CAROM_GRAVITY, d, entries, coefficients,
                     strength, -INFINITY, INFINITY, natural);
}

static carom_status add_stiffness(parser *p, const unknown_item *it) {
  const carom_system *system = p->system;
  int offset = system->segments[CAROM_STIFFNESS].offset;
  selection s;
  if (system->spring_count == 0) return bad(p, it, "the scene has no springs");
  if (!selection_make(&s, system->spring_count))
    return error_set(p->error, CAROM_OUT_OF_MEMORY, "no memory for unknowns");
  for (int i = 0; i < system->spring_count; i++) {
    char number[16];
    snprintf(number, sizeof number, "%d", i);
    if (it->at_count == 0 || strcmp(number, it->at[0]) == 0)
      select_entry(&s, offset + i, it->name, number, -1);
  }
  carom_status status = s.count == 0
                            ? bad(p, it, "springs are numbered from 0: stiffness[0]")
                            : add_all(p, it, UNKNOWN_POSITIVE, CAROM_STIFFNESS, s.count, s.entries,
                                      s.names, it->sharing == SHARING_SHARED, INFINITY, 1);
  selection_free(&s);
  return status;
}

static carom_status add_regularizer(parser *p, const unknown_item *it) {
  int entry = p->system->segments[CAROM_REGULARIZER].offset;
  double one = 1;
  return add_entries(p, it, "regularizer", UNKNOWN_LINEAR, CAROM_REGULARIZER, 1, &entry, &one,
                     p->system->regularizer, 0, INFINITY, 1);
}

/* A length by which others are small or large: the farthest that a shape reaches from its centre; 1
 * without one. */
static double size_of_bodies(const carom_system *system) {
  double size = 0;
  for (int i = 0; i < system->body_count; i++) {
    const body *b = &system->bodies[i];
    size = fmax(size, b->radius);
    for (int k = 0; k < b->shape_point_count * system->dimension; k++)
      size = fmax(size, fabs(b->shape_points[k]));
  }
  return size > 0 ? size : 1;
}

static bool has_joints(const carom_system *system) {
  for (int i = 0; i < system->constraint_count; i++)
    if (system->constraints[i].internal_of < 0) return true;
  return false;
}

// what belongs to the data and not to theta
static carom_status add_of_data(parser *p, const unknown_item *it) {
  unknown u = {.kind = UNKNOWN_SCALE,
               .segment = CAROM_SEGMENT_COUNT,
               .start = 1,
               .scene = 1,
               .low = 1e-9,
               .high = INFINITY,
               .natural = 1};
  snprintf(u.name, sizeof u.name, "%s", it->name);
  u.spread = 0.02;
  if (has_joints(p->system))
    return bad(p, it,
               "the scene has joints, whose lengths and places say where the data stands; it is "
               "for bodies without");
  if (strcmp(it->name, "shift") == 0) {
    if (it->at_count != 1) return bad(p, it, "expected shift[AXIS]");
    carom_status status = read_axis(p, it, it->at[0], &u.axis);
    if (status != CAROM_OK) return status;
    u.kind = UNKNOWN_SHIFT;
    u.spread = 0.02 * size_of_bodies(p->system);
    u.start = u.scene = 0;
    u.low = -INFINITY;
    snprintf(u.name, sizeof u.name, "shift[%c]", "xyz"[u.axis]);
  } else if (it->at_count > 0) {
    return bad(p, it, "scale is one number");
  }
  for (int i = 0; i < p->list->count; i++)
    if (strcmp(p->list->items[i].name, u.name) == 0) return bad(p, it, "it is listed twice");
  carom_status status = set_range(p, it, &u);
  return status == CAROM_OK ? add(p, it, &u) : status;
}

/* ---- shapes, planes, drag -------------------------------------------------------------------- */

static carom_status no_memory(const parser *p) {
  return error_set(p->error, CAROM_OUT_OF_MEMORY, "no memory for unknowns");
}

/* One unknown for each entry of a selection, or one for all: theta = value. */
static carom_status add_values(parser *p, const unknown_item *it, carom_segment segment,
                               const selection *s, double low, double natural) {
  bool shared = it->sharing == SHARING_SHARED;
  carom_status status = CAROM_OK;
  double *ones = malloc(sizeof(double) * (size_t)s->count + 1);
  if (ones == NULL) return no_memory(p);
  for (int k = 0; k < s->count; k++) ones[k] = 1;
  for (int k = 0; k < (shared ? 1 : s->count) && status == CAROM_OK; k++)
    status = add_entries(p, it, shared && s->count > 1 ? it->name : s->names[k], UNKNOWN_LINEAR,
                         segment, shared ? s->count : 1, s->entries + k, ones,
                         p->theta[s->entries[k]], low, INFINITY, natural);
  free(ones);
  return status;
}

// a number of bodies: of one, or of all that have it
static carom_status add_of_bodies(parser *p, const unknown_item *it, carom_segment segment,
                                  const char *without) {
  const carom_system *system = p->system;
  selection s;
  if (it->at_count > 1) return bad(p, it, "expected NAME or NAME[BODY]");
  if (it->at_count == 1 && body_named(system, it->at[0]) < 0) return no_body(p, it);
  if (!selection_make(&s, system->body_count)) return no_memory(p);
  for (int i = 0; i < system->body_count; i++) {
    const body *b = &system->bodies[i];
    bool has = segment == CAROM_DRAG || (segment == CAROM_ANGULAR_DRAG && b->rigid) ||
               (segment == CAROM_RADIUS && (b->shape == SHAPE_BALL || b->shape == SHAPE_POINTS));
    if (has && (it->at_count == 0 || strcmp(b->id, it->at[0]) == 0))
      select_entry(&s, system->segments[segment].offset + i, it->name, b->id, -1);
  }
  // drags by the mass and the moment of inertia, as rates; radii by the size
  double natural = size_of_bodies(system), mass = exp(p->theta[0]);
  if (segment == CAROM_DRAG) natural = mass;
  if (segment == CAROM_ANGULAR_DRAG) natural *= mass * natural;
  carom_status status =
      s.count == 0 ? bad(p, it, without) : add_values(p, it, segment, &s, 0, natural);
  selection_free(&s);
  return status;
}

static carom_status add_offsets(parser *p, const unknown_item *it) {
  const carom_system *system = p->system;
  selection s;
  if (it->at_count > 1) return bad(p, it, "expected offset or offset[PLANE]");
  if (!selection_make(&s, system->plane_count)) return no_memory(p);
  for (int i = 0; i < system->plane_count; i++)
    if (it->at_count == 0 || strcmp(system->planes[i].id, it->at[0]) == 0)
      select_entry(&s, system->segments[CAROM_OFFSET].offset + i, it->name, system->planes[i].id,
                   -1);
  carom_status status =
      s.count == 0 ? bad(p, it, "the scene has no such plane")
                   : add_values(p, it, CAROM_OFFSET, &s, -INFINITY, size_of_bodies(system));
  selection_free(&s);
  return status;
}

/* corner[BODY]:shared is one factor of all its corners, corner[BODY][K][AXIS] one coordinate of one
 * of them. */
static carom_status add_corner_factor(parser *p, const unknown_item *it, const selection *s) {
  double *coordinates = malloc(sizeof(double) * (size_t)s->count + 1);
  char name[96];
  if (coordinates == NULL) return no_memory(p);
  for (int k = 0; k < s->count; k++) coordinates[k] = p->theta[s->entries[k]];
  snprintf(name, sizeof name, "corner[%.60s] factor", it->at[0]);
  carom_status status = add_entries(p, it, name, UNKNOWN_LINEAR, CAROM_CORNER, s->count, s->entries,
                                    coordinates, 1, 1e-9, INFINITY, 0.3);
  free(coordinates);
  return status;
}

static carom_status add_corners(parser *p, const unknown_item *it) {
  const carom_system *system = p->system;
  int d = system->dimension, axis = -1, body_index, offset = system->segments[CAROM_CORNER].offset;
  if (it->at_count == 0)
    return bad(p, it, "expected corner[BODY], corner[BODY][K] or corner[BODY][K][AXIS]");
  body_index = body_named(system, it->at[0]);
  if (body_index < 0) return no_body(p, it);
  const body *b = &system->bodies[body_index];
  if (b->shape != SHAPE_POINTS) return bad(p, it, "it has no corners: no shape of points, no box");
  if (it->at_count == 3) {
    carom_status status = read_axis(p, it, it->at[2], &axis);
    if (status != CAROM_OK) return status;
  }
  selection s;
  if (!selection_make(&s, b->shape_point_count * d)) return no_memory(p);
  for (int k = 0; k < b->shape_point_count; k++)
    for (int i = 0; i < d; i++) {
      char number[16], of[96];
      snprintf(number, sizeof number, "%d", k);
      if ((it->at_count > 1 && strcmp(number, it->at[1]) != 0) || (axis >= 0 && i != axis))
        continue;
      snprintf(of, sizeof of, "%.50s][%d", b->id, k);
      select_entry(&s, offset + (b->first_corner + k) * d + i, it->name, of, i);
    }
  carom_status status;
  if (s.count == 0)
    status = bad(p, it, "corners are numbered from 0");
  else if (it->sharing == SHARING_SHARED)
    status = add_corner_factor(p, it, &s);
  else
    status = add_values(p, it, CAROM_CORNER, &s, -INFINITY, size_of_bodies(system));
  selection_free(&s);
  return status;
}

/* ---- centres of mass ------------------------------------------------------------------------- */

// what stands somewhere in a body beside its corners, and would have to move with them
static carom_status check_centre(const parser *p, const unknown_item *it, const body *b) {
  const carom_system *system = p->system;
  if (!b->rigid) return bad(p, it, "a point mass is its own centre");
  if (b->shape == SHAPE_BALL) return bad(p, it, "the centre of a ball's shape is that of its mass");
  if (system->spring_count > 0) return bad(p, it, "the scene has springs, which hold bodies by it");
  return has_joints(system)
             ? bad(p, it, "the scene has joints, which hold bodies by it; it is for bodies without")
             : CAROM_OK;
}

/* Along one axis of a body: its corners move the other way, as seen from the centre. */
static carom_status add_centre_along(parser *p, const unknown_item *it, int body_index, int axis) {
  const carom_system *system = p->system;
  const body *b = &system->bodies[body_index];
  int d = system->dimension, corners = b->shape == SHAPE_POINTS ? b->shape_point_count : 0;
  double size = size_of_bodies(system);
  unknown u = {.kind = UNKNOWN_CENTRE,
               .segment = CAROM_CORNER,
               .axis = axis,
               .body = body_index,
               .entry_count = corners,
               .low = -INFINITY,
               .high = INFINITY,
               .natural = size,
               .spread = 0.03 * size};
  snprintf(u.name, sizeof u.name, "centre[%.60s][%c]", b->id, "xyz"[axis]);
  for (int i = 0; i < p->list->count; i++)
    if (strcmp(p->list->items[i].name, u.name) == 0) return bad(p, it, "it is listed twice");
  carom_status status = set_range(p, it, &u);
  if (status != CAROM_OK) return status;
  u.entries = malloc(sizeof(int) * (size_t)corners + 1);
  u.coefficients = malloc(sizeof(double) * (size_t)corners + 1);
  for (int k = 0; k < corners && u.entries != NULL && u.coefficients != NULL; k++) {
    u.entries[k] = system->segments[CAROM_CORNER].offset + (b->first_corner + k) * d + axis;
    u.coefficients[k] = -1;
  }
  status = u.entries != NULL && u.coefficients != NULL ? add(p, it, &u) : no_memory(p);
  if (status == CAROM_OK) return status;
  free(u.entries);
  free(u.coefficients);
  return status;
}

// centre[BODY], all its coordinates, or centre[BODY][AXIS]
static carom_status add_centre(parser *p, const unknown_item *it) {
  int axis = -1;
  if (it->at_count < 1 || it->at_count > 2)
    return bad(p, it, "expected centre[BODY] or centre[BODY][AXIS]");
  int body_index = body_named(p->system, it->at[0]);
  if (body_index < 0) return no_body(p, it);
  carom_status status = check_centre(p, it, &p->system->bodies[body_index]);
  if (status == CAROM_OK && it->at_count == 2) status = read_axis(p, it, it->at[1], &axis);
  for (int i = 0; i < p->system->dimension && status == CAROM_OK; i++)
    if (axis < 0 || i == axis) status = add_centre_along(p, it, body_index, i);
  return status;
}

static carom_status add_item(parser *p, const unknown_item *it) {
  static const char *const names[] = {"friction", "restitution",  "mass",        "moment",
                                      "gravity",  "stiffness",    "regularizer", "scale",
                                      "shift",    "radius",       "offset",      "corner",
                                      "drag",     "angular_drag", "centre",      NULL};
  if (it->divisor[0] != '\0' && strcmp(it->name, "mass") != 0)
    return bad(p, it, "only masses may be given as a ratio");
  if (strcmp(it->name, "friction") == 0) return add_properties(p, it, CAROM_FRICTION);
  if (strcmp(it->name, "restitution") == 0) return add_properties(p, it, CAROM_RESTITUTION);
  if (strcmp(it->name, "mass") == 0) return add_mass(p, it);
  if (strcmp(it->name, "moment") == 0) return add_moments(p, it);
  if (strcmp(it->name, "gravity") == 0) return add_gravity(p, it);
  if (strcmp(it->name, "stiffness") == 0) return add_stiffness(p, it);
  if (strcmp(it->name, "regularizer") == 0) return add_regularizer(p, it);
  if (strcmp(it->name, "radius") == 0)
    return add_of_bodies(p, it, CAROM_RADIUS, "it has no radius: no ball, no shape of points");
  if (strcmp(it->name, "drag") == 0) return add_of_bodies(p, it, CAROM_DRAG, "no body has drag");
  if (strcmp(it->name, "angular_drag") == 0)
    return add_of_bodies(p, it, CAROM_ANGULAR_DRAG, "a point mass does not turn");
  if (strcmp(it->name, "offset") == 0) return add_offsets(p, it);
  if (strcmp(it->name, "corner") == 0) return add_corners(p, it);
  if (strcmp(it->name, "centre") == 0) return add_centre(p, it);
  if (strcmp(it->name, "scale") == 0 || strcmp(it->name, "shift") == 0) return add_of_data(p, it);
  const char *near = carom_name_nearest(it->name, names);
  return error_set(
      p->error, CAROM_INVALID_ARGUMENT,
      "unknown '%s': there is no such quantity%s%s%s; they are friction, restitution, "
      "mass, moment, gravity, stiffness, regularizer, radius, offset, corner, centre, drag, "
      "angular_drag, scale, shift",
      it->text, near != NULL ? ", did you mean '" : "", near != NULL ? near : "",
      near != NULL ? "'" : "");
}

carom_status unknowns_parse(const carom_system *system, const char *text, unknown_list *list,
                            carom_error *error) {
  *list = (unknown_list){.system = system};
  parser p = {.system = system, .list = list, .error = error};
  p.theta = malloc(sizeof(double) * ((size_t)system->parameter_count + 1));
  if (p.theta == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for parameters");
  carom_parameters_default(system, p.theta);
  carom_status status = CAROM_OK;
  for (const char *at = text; status == CAROM_OK; at++) {
    size_t length = strcspn(at, ",");
    unknown_item it;
    status = unknown_item_read(at, length, &it, error);
    if (status == CAROM_OK) status = add_item(&p, &it);
    at += length;
    if (*at == '\0') break;
  }
  free(p.theta);
  if (status != CAROM_OK) unknowns_free(list);
  return status;
}
