#include "cli/page_motion.h"

#include "cli/memory.h"
#include "cli/output.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the scene ------------------------------------------------------------------------------- */

static json_t *numbers_json(const double *values, int count) {
  json_t *array = json_array();
  for (int k = 0; k < count; k++) json_array_append_new(array, json_number(values[k]));
  return array;
}

static json_t *body_json(const carom_body_info *b, int dimension) {
  static const char *const shapes[] = {"none", "ball", "rim", "points"};
  json_t *points = json_array();
  for (int k = 0; k < b->shape_point_count; k++)
    json_array_append_new(points, numbers_json(b->shape_points + k * dimension, dimension));
  return json_pack("{ss sb si si so ss so so}", "id", b->id, "rigid", (int)b->rigid, "first",
                   b->first_point, "count", b->point_count, "mass", json_number(b->mass), "shape",
                   shapes[b->shape], "radius", json_number(b->radius), "points", points);
}

static json_t *place_json(const carom_place *p, int dimension) {
  json_t *points = json_array();
  for (int k = 0; k < p->count; k++) json_array_append_new(points, json_integer(p->points[k]));
  return json_pack("{so so so}", "points", points, "weights", numbers_json(p->weights, p->count),
                   "constant", numbers_json(p->constant, dimension));
}

static json_t *gravity_json(const carom_system *system) {
  const carom_segment_info segment = carom_parameters_segment(system, CAROM_GRAVITY);
  double *theta = allocate((size_t)carom_parameters_count(system), sizeof(double));
  if (theta == NULL) return json_array();
  carom_parameters_default(system, theta);
  json_t *gravity = numbers_json(theta + segment.offset, segment.size);
  free(theta);
  return gravity;
}

static bool same_place(const carom_place *a, const carom_place *b) {
  return a->count == b->count &&
         memcmp(a->points, b->points, sizeof(int) * (size_t)a->count) == 0 &&
         memcmp(a->weights, b->weights, sizeof(double) * (size_t)a->count) == 0;
}

carom_tie_info *drawn_ties(const carom_system *system, int *count) {
  const int all = carom_system_tie_count(system);
  carom_tie_info *ties = allocate((size_t)all, sizeof *ties);
  *count = 0;
  for (int k = 0; ties != NULL && k < all; k++) ties[k] = carom_system_tie(system, k);
  for (int k = 0; ties != NULL && k < all; k++) {
    // segments stand behind springs
    bool rope = false;
    for (int i = all - 1; ties[k].kind == CAROM_TIE_SPRING && i > k && !rope; i--)
      rope = ties[i].kind == CAROM_TIE_SEGMENT && same_place(&ties[i].ends[0], &ties[k].ends[0]) &&
             same_place(&ties[i].ends[1], &ties[k].ends[1]);
    if (!rope) ties[(*count)++] = ties[k];
  }
  return ties;
}

json_t *page_scene(const carom_system *system) {
  static const char *const kinds[] = {"link", "joint", "spring", "segment"};
  const carom_system_info info = carom_system_describe(system);
  json_t *bodies = json_array(), *planes = json_array(), *ties = json_array();
  for (int k = 0; k < info.body_count; k++) {
    const carom_body_info b = carom_system_body(system, k);
    json_array_append_new(bodies, body_json(&b, info.dimension));
  }
  for (int k = 0; k < carom_system_plane_count(system); k++) {
    const carom_plane_info p = carom_system_plane(system, k);
    json_array_append_new(
        planes, json_pack("{ss so so}", "id", p.id, "normal",
                          numbers_json(p.normal, info.dimension), "offset", json_number(p.offset)));
  }
  int tie_count;
  carom_tie_info *drawn = drawn_ties(system, &tie_count);
  for (int k = 0; k < tie_count; k++) {
    const carom_tie_info t = drawn[k];
    json_array_append_new(
        ties, json_pack("{ss so so so}", "kind", kinds[t.kind], "from",
                        place_json(&t.ends[0], info.dimension), "to",
                        place_json(&t.ends[1], info.dimension), "length", json_number(t.length)));
  }
  free(drawn);
  return json_pack("{ss ss si so so so so}", "name", info.name, "description", info.description,
                   "dimension", info.dimension, "gravity", gravity_json(system), "bodies", bodies,
                   "planes", planes, "ties", ties);
}

/* ---- contacts -------------------------------------------------------------------------------- */

void motion_contacts_free(motion_contacts *found) {
  free(found->state);
  free(found->items);
  *found = (motion_contacts){0};
}

static carom_status append(motion_contacts *found, int state, const carom_contact_list *list,
                           carom_error *error) {
  const size_t count = (size_t)found->count + (size_t)list->count;
  int *states = realloc(found->state, sizeof(int) * (count + 1));
  if (states != NULL) found->state = states;
  carom_contact *items =
      states != NULL ? realloc(found->items, sizeof(carom_contact) * (count + 1)) : NULL;
  if (items == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  found->items = items;
  for (int k = 0; k < list->count; k++) {
    // limits of a rope that do not push are many and tell nothing
    if (list->items[k].bodies[0] < 0 && list->items[k].normal_impulse == 0) continue;
    found->state[found->count] = state;
    found->items[found->count++] = list->items[k];
  }
  return CAROM_OK;
}

// what acts on the way to state k, or what touches there
static carom_status contacts_of_state(const motion_set *set, const motion *m, int k,
                                      const carom_rollout_options *options,
                                      carom_contact_list *list, carom_error *error) {
  const size_t size = (size_t)set->info.point_count * (size_t)set->info.dimension;
  const double *x = m->x + (size_t)k * size;
  if (m->v == NULL || m->predicted || k == 0)
    return carom_system_contacts(set->system, x, 0.0, list, error);
  const double *u = m->u != NULL ? m->u + (size_t)(k - 1) * (size_t)set->info.control_size : NULL;
  return carom_system_step_contacts(set->system, options, NULL, x - size,
                                    m->v + (size_t)(k - 1) * size, u, list, error);
}

carom_status motion_contacts_find(const motion_set *set, const motion *m, motion_contacts *found,
                                  carom_error *error) {
  *found = (motion_contacts){0};
  carom_rollout_options options = carom_rollout_default_options(set->system);
  options.dt = set->dt;
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && set->info.contact_count > 0 && k < m->states; k++) {
    if (m->contact != NULL && m->contact[k] == 0) continue;
    carom_contact_list list;
    status = contacts_of_state(set, m, k, &options, &list, error);
    if (status == CAROM_OK) status = append(found, k, &list, error);
    // a state from which the scene cannot go on is no reason not to show it
    if (status == CAROM_NUMERICAL_FAILURE) status = CAROM_OK;
    carom_contact_list_free(&list);
  }
  if (status != CAROM_OK) motion_contacts_free(found);
  return status;
}

/* Labels of the contacts that occur, each by its number among them. */
typedef struct label_list {
  json_t *texts;
  int *number; /* [contact_count] from 1; 0: it has not occurred */
} label_list;

static bool labels_open(const motion_set *set, label_list *labels) {
  *labels = (label_list){json_array(), allocate((size_t)set->info.contact_count, sizeof(int))};
  return labels->texts != NULL && labels->number != NULL;
}

// the number of a contact, from 0
static int label_number(const motion_set *set, label_list *labels, int contact) {
  if (labels->number[contact] == 0) {
    char text[128];
    carom_system_contact_label(set->system, contact, text, sizeof text);
    json_array_append_new(labels->texts, json_string(text));
    labels->number[contact] = (int)json_array_size(labels->texts);
  }
  return labels->number[contact] - 1;
}

static bool is_limit(const carom_contact *c) { return c->bodies[0] < 0; }

// contacts between bodies, and of bodies with planes
static json_t *events_json(page_document *d, const motion_set *set, const motion_contacts *found) {
  const int dimension = set->info.dimension;
  // state, contact, gap, normal impulse, then point and impulse
  double *values = allocate((size_t)found->count * (size_t)(4 + 2 * dimension), sizeof(double));
  label_list labels;
  if (!labels_open(set, &labels) || values == NULL) {
    d->failed = true;
    free(values);
    free(labels.number);
    return json_null();
  }
  int n = 0;
  double *state = values, *contact = state + found->count, *gap = contact + found->count;
  double *normal = gap + found->count, *point = normal + found->count;
  double *impulse = point + (size_t)found->count * (size_t)dimension;
  for (int k = 0; k < found->count; k++) {
    const carom_contact *c = &found->items[k];
    if (is_limit(c)) continue;
    state[n] = found->state[k];
    contact[n] = label_number(set, &labels, c->contact);
    gap[n] = c->gap;
    normal[n] = c->normal_impulse;
    for (int i = 0; i < dimension; i++) {
      point[n * dimension + i] = c->point[i];
      impulse[n * dimension + i] = c->impulse[i];
    }
    n++;
  }
  json_t *events = json_pack(
      "{so so so so so so so}", "label", labels.texts, "state", page_numbers(d, state, n, 1, false),
      "contact", page_numbers(d, contact, n, 1, false), "gap", page_numbers(d, gap, n, 1, false),
      "normal", page_numbers(d, normal, n, 1, false), "point",
      page_numbers(d, point, n, dimension, false), "impulse",
      page_numbers(d, impulse, n, dimension, false));
  free(labels.number);
  free(values);
  return events;
}

// the drawn tie in whose middle a limit is, as near as can be
static int tie_of_limit(const motion_set *set, const double *x, const carom_contact *c,
                        const carom_tie_info *ties, int count) {
  int best = 0;
  double nearest = INFINITY;
  for (int k = 0; k < count; k++) {
    double ends[2][3] = {{0}}, off = 0;
    for (int i = 0; i < 2; i++) carom_place_position(&ties[k].ends[i], set->system, x, ends[i]);
    for (int i = 0; i < set->info.dimension; i++) {
      const double apart = (ends[0][i] + ends[1][i]) / 2 - c->point[i];
      off += apart * apart;
    }
    if (off >= nearest) continue;
    nearest = off;
    best = k;
  }
  return best;
}

/* Limits of ropes act by the hundred, and on and on: of each the times when it begins and ends, and
 * the tie where it is. */
static json_t *limits_json(page_document *d, const motion_set *set, const motion *m,
                           const motion_contacts *found) {
  const size_t size = (size_t)set->info.point_count * (size_t)set->info.dimension;
  double *values = allocate(3 * (size_t)found->count, sizeof(double));
  int *run = allocate((size_t)set->info.contact_count, sizeof(int)); // the last of each, from 1
  int tie_count = 0, n = 0;
  carom_tie_info *ties = drawn_ties(set->system, &tie_count);
  label_list labels;
  json_t *places = json_array(), *limits = NULL;
  double *contact = values, *first = values + found->count, *last = first + found->count;
  bool done = labels_open(set, &labels) && values != NULL && run != NULL && ties != NULL;
  for (int k = 0; done && k < found->count; k++) {
    const carom_contact *c = &found->items[k];
    const int state = found->state[k];
    if (!is_limit(c)) continue;
    const int before = run[c->contact] - 1;
    if (before >= 0 && last[before] >= state - 1) {
      last[before] = state;
      continue;
    }
    contact[n] = label_number(set, &labels, c->contact);
    if (contact[n] >= (double)json_array_size(places))
      json_array_append_new(
          places, json_integer(tie_of_limit(set, m->x + (size_t)state * size, c, ties, tie_count)));
    first[n] = last[n] = state;
    run[c->contact] = ++n;
  }
  if (done)
    limits =
        json_pack("{sO sO so so so}", "label", labels.texts, "tie", places, "contact",
                  page_numbers(d, contact, n, 1, false), "first",
                  page_numbers(d, first, n, 1, false), "last", page_numbers(d, last, n, 1, false));
  if (limits == NULL) d->failed = true;
  json_decref(labels.texts);
  json_decref(places);
  free(labels.number);
  free(ties);
  free(run);
  free(values);
  return limits != NULL ? limits : json_null();
}

/* ---- series ---------------------------------------------------------------------------------- */

static void add_series(page_document *d, json_t *series, const char *group, const char *name,
                       const double *values, int count) {
  json_array_append_new(series, json_pack("{ss ss so}", "group", group, "name", name, "values",
                                          page_numbers(d, values, count, 1, false)));
}

static void add_energies(page_document *d, json_t *series, const motion_set *set, const motion *m,
                         double *values) {
  const size_t size = (size_t)set->info.point_count * (size_t)set->info.dimension;
  double *kinetic = values, *potential = values + m->states, *total = potential + m->states;
  if (m->v == NULL) return;
  for (int k = 0; k < m->states; k++) {
    carom_system_energy(set->system, NULL, m->x + (size_t)k * size, m->v + (size_t)k * size,
                        &kinetic[k], &potential[k], NULL);
    total[k] = kinetic[k] + potential[k];
  }
  add_series(d, series, "energy", "kinetic", kinetic, m->states);
  add_series(d, series, "energy", "potential", potential, m->states);
  add_series(d, series, "energy", "total", total, m->states);
}

// the smallest gap between two bodies, and between a body and a plane
static carom_status add_gaps(page_document *d, json_t *series, const motion_set *set,
                             const motion *m, double *values, carom_error *error) {
  enum { MOST_CONTACTS = 5000 }; // beyond that, all gaps of all states take too long
  const size_t size = (size_t)set->info.point_count * (size_t)set->info.dimension;
  double *pairs = values, *planes = values + m->states;
  bool have[2] = {false, false};
  if (set->info.contact_count > MOST_CONTACTS) return CAROM_OK;
  for (int k = 0; k < m->states; k++) {
    carom_contact_list list;
    const carom_status status =
        carom_system_contacts(set->system, m->x + (size_t)k * size, INFINITY, &list, error);
    if (status != CAROM_OK) return status;
    pairs[k] = planes[k] = INFINITY;
    for (int i = 0; i < list.count; i++) {
      const carom_contact *c = &list.items[i];
      if (c->bodies[0] < 0) continue;
      const bool pair = c->bodies[1] >= 0;
      double *smallest = pair ? &pairs[k] : &planes[k];
      *smallest = fmin(*smallest, c->gap);
      have[pair ? 0 : 1] = true;
    }
    carom_contact_list_free(&list);
  }
  if (have[0]) add_series(d, series, "gap", "between bodies", pairs, m->states);
  if (have[1]) add_series(d, series, "gap", "to planes", planes, m->states);
  return CAROM_OK;
}

static void add_impulses(page_document *d, json_t *series, const motion *m,
                         const motion_contacts *found, double *values) {
  double sum = 0;
  for (int k = 0; k < m->states; k++) values[k] = 0;
  for (int k = 0; k < found->count; k++) {
    values[found->state[k]] += found->items[k].normal_impulse;
    sum += found->items[k].normal_impulse;
  }
  if (sum > 0) add_series(d, series, "impulse", "normal impulse, all contacts", values, m->states);
}

// sqrt(sum (predicted - true)^2 / sum true^2) over positions and velocities, of each state
static void add_error(page_document *d, json_t *series, const motion_set *set, const motion *m,
                      double *values) {
  const size_t size = (size_t)set->info.point_count * (size_t)set->info.dimension;
  const motion *truth = NULL;
  for (int k = 0; k < set->count; k++)
    if (set->items[k].sample == m->sample && strcmp(set->items[k].role, "true") == 0)
      truth = &set->items[k];
  if (truth == NULL || !m->predicted || m->v == NULL || truth->v == NULL) return;
  const int states = m->states < truth->states ? m->states : truth->states;
  for (int k = 0; k < m->states; k++) values[k] = NAN;
  for (int k = 0; k < states; k++) {
    double off = 0, norm = 0;
    for (size_t i = (size_t)k * size; i < (size_t)(k + 1) * size; i++) {
      off += (m->x[i] - truth->x[i]) * (m->x[i] - truth->x[i]) +
             (m->v[i] - truth->v[i]) * (m->v[i] - truth->v[i]);
      norm += truth->x[i] * truth->x[i] + truth->v[i] * truth->v[i];
    }
    values[k] = norm > 0 ? sqrt(off / norm) : NAN;
  }
  add_series(d, series, "error", "relative error of the state", values, m->states);
}

// forces and torques of each time step, at the state that it begins with
static void add_controls(page_document *d, json_t *series, const motion_set *set, const motion *m,
                         double *values) {
  enum { MOST_LINES = 12 };
  const int size = set->info.control_size;
  if (m->u == NULL || size > MOST_LINES) return;
  for (int c = 0; c < set->info.control_count; c++) {
    const carom_control_info control = carom_system_control(set->system, c);
    for (int i = 0; i < control.size; i++) {
      char name[128];
      snprintf(name, sizeof name, "%s%s%.1s", control.id, control.size > 1 ? " " : "",
               control.size > 1 ? &"xyz"[i] : "");
      for (int k = 0; k < m->states; k++)
        values[k] =
            k + 1 < m->states ? m->u[(size_t)k * (size_t)size + (size_t)(control.first + i)] : NAN;
      add_series(d, series, "control", name, values, m->states);
    }
  }
}

/* ---- tracks ---------------------------------------------------------------------------------- */

static carom_status add_track(page_document *d, const motion_set *set, const motion *m,
                              const char *file, double *values, carom_error *error) {
  json_t *series = json_array();
  motion_contacts found;
  carom_status status = motion_contacts_find(set, m, &found, error);
  if (status == CAROM_OK) status = add_gaps(d, series, set, m, values, error);
  if (status != CAROM_OK) {
    json_decref(series);
    return status;
  }
  add_energies(d, series, set, m, values);
  add_impulses(d, series, m, &found, values);
  add_error(d, series, set, m, values);
  add_controls(d, series, set, m, values);
  json_t *track = json_pack(
      "{ss ss so si so so so so so}", "sample", m->name, "role", m->role, "file", page_text(file),
      "states", m->states, "dt", json_number(set->dt), "x",
      page_motion(d, m->x, m->states, set->info.point_count * set->info.dimension), "series",
      series, "events", events_json(d, set, &found), "limits", limits_json(d, set, m, &found));
  motion_contacts_free(&found);
  if (track == NULL) d->failed = true;
  if (track != NULL) json_array_append_new(json_object_get(d->root, "tracks"), track);
  return CAROM_OK;
}

carom_status page_add_tracks(page_document *d, const motion_set *set, const char *file,
                             carom_error *error) {
  carom_status status = CAROM_OK;
  for (int k = 0; status == CAROM_OK && k < set->count; k++) {
    double *values = allocate(3 * (size_t)set->items[k].states, sizeof(double));
    status = values != NULL ? add_track(d, set, &set->items[k], file, values, error)
                            : carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
    free(values);
  }
  return status;
}
