/* What touches at a state, and which impulses act there (carom/contacts.h). */
#include "base/error.h"
#include "base/size.h"
#include "base/vector.h"
#include "contact/contact_event.h"
#include "physics/constraint_projection.h"
#include "physics/integrator.h"
#include "rollout/rollout_options.h"

#include <math.h>
#include <string.h>

/* A question about one state, as a guard takes it. */
typedef struct contact_query {
  const carom_system *system;
  const carom_rollout_options *options; /* NULL: gaps alone */
  const double *theta, *u;
  double *x, *v; /* copies that may change; v is NULL without options */
  mechanics mechanics;
  arena memory;
  contact_list active;
  carom_contact_list *list;
  bool short_of_memory;
} contact_query;

/* ---- one contact ----------------------------------------------------------------------------- */

// the place of a body-fixed point: x_0 + sum_k c_k (x_k - x_0)
static void body_place(const carom_system *s, const body *b, const double *c, const double *x,
                       double *place) {
  const int d = s->dimension;
  const double *x0 = x + b->first_point * d;
  for (int i = 0; i < d; i++) {
    place[i] = x0[i];
    for (int k = 0; k < d; k++) place[i] += c[k] * (x0[(k + 1) * d + i] - x0[i]);
  }
}

// in the middle of a segment
static void segment_middle(const carom_system *s, const combination *segment, const double *x,
                           double *place) {
  carom_place ends[2];
  system_arm_ends(s, segment, ends);
  for (int i = 0; i < 2; i++) {
    double end[MAX_DIMENSION] = {0};
    carom_place_position(&ends[i], s, x, end);
    for (int k = 0; k < s->dimension; k++) place[k] += end[k] / 2;
  }
}

/* Where a contact is: between two balls, at the foot of a ball, at the point that touches, in the middle
 * of a segment. */
static void contact_place(const carom_system *s, const contact *c, const double *x, double *place) {
  const int d = s->dimension;
  const body *b = c->id.kind != CONTACT_LIMIT ? &s->bodies[c->id.first] : NULL;
  switch (c->id.kind) {
    case CONTACT_PAIR:
      for (int k = 0; k < d; k++)
        place[k] = x[b->first_point * d + k] + (b->radius + c->gap / 2) * c->frame[0][k];
      return;
    case CONTACT_BALL_PLANE:
      for (int k = 0; k < d; k++) place[k] = x[b->first_point * d + k] + b->radius * c->frame[0][k];
      return;
    case CONTACT_POINT_PLANE:
      body_place(s, b, b->shape_points + c->id.detail * d, x, place);
      for (int k = 0; k < d; k++) place[k] += b->rounding * c->frame[0][k];
      return;
    case CONTACT_LIMIT: segment_middle(s, &s->limits[c->id.first].segment, x, place); return;
  }
}

/* f [d] in the frame of the contact, on the second body: the first takes -F'f. */
static carom_contact describe(const carom_system *s, const contact *c, const double *x,
                              const double *f) {
  const bool bounded = c->id.kind == CONTACT_LIMIT, pair = c->id.kind == CONTACT_PAIR;
  carom_contact out = {.contact = c->id.property,
                       .bodies = {bounded ? -1 : c->id.first, pair ? c->id.second : -1},
                       .gap = c->gap};
  contact_place(s, c, x, out.point);
  if (f != NULL) out.normal_impulse = f[0];
  for (int k = 0; !bounded && k < s->dimension; k++) {
    out.normal[k] = -c->frame[0][k];
    for (int i = 0; f != NULL && i < s->dimension; i++) out.impulse[k] -= c->frame[i][k] * f[i];
  }
  return out;
}

// room for so many; a result that is there is given back
static bool reserve(contact_query *q, int count) {
  q->list->items = size_allocate((size_t)count, sizeof(carom_contact));
  q->short_of_memory = q->list->items == NULL;
  return !q->short_of_memory;
}

/* ---- gaps ------------------------------------------------------------------------------------ */

static void list_near(void *user) {
  contact_query *q = user;
  if (!collision_detect(q->system, q->x, &q->active)) arena_give_up();
  if (!reserve(q, q->active.count)) return;
  for (int i = 0; i < q->active.count; i++) {
    contact c;
    const arena_mark mark = arena_save(&q->memory);
    contact_geometry(q->system, &q->active.ids[i], q->x, &c, &q->memory);
    q->list->items[q->list->count++] = describe(q->system, &c, q->x, NULL);
    arena_restore(&q->memory, mark);
  }
}

/* ---- impulses -------------------------------------------------------------------------------- */

// f_c + f_r of every contact that acts
static void list_event(contact_query *q) {
  const int d = q->system->dimension;
  contact_event event = contact_event_make(&q->mechanics, q->options, &q->active, q->x, &q->memory);
  event_impulses impulses =
      event_impulses_at(&event, arena_bytes(&q->memory, event_impulses_bytes(&event)));
  // the event moves bodies apart: places are those before
  double *x = arena_doubles(&q->memory, q->system->coordinate_count);
  memcpy(x, q->x, sizeof(double) * (size_t)q->system->coordinate_count);
  contact_event_solve(&event, q->x, q->v, &impulses, &q->memory);
  if (!reserve(q, event.group.count)) return;
  for (int i = 0; i < event.group.count; i++) {
    double f[MAX_DIMENSION];
    for (int k = 0; k < d; k++)
      f[k] = impulses.compression.f[i * d + k] + impulses.restitution.f[i * d + k];
    q->list->items[q->list->count++] =
        describe(q->mechanics.system, &event.group.contacts[i], x, f);
  }
}

// one time step, as shard_step takes it
static void list_acting(void *user) {
  contact_query *q = user;
  const carom_rollout_options *o = q->options;
  double *scene_theta = arena_doubles(&q->memory, q->system->parameter_count);
  carom_parameters_default(q->system, scene_theta);
  mechanics_set_parameters(&q->mechanics, q->theta != NULL ? q->theta : scene_theta);
  const integrator in = {.mechanics = &q->mechanics,
                         .potential = &scene_potential,
                         .method = o->integrator,
                         .dynamics = o->dynamics,
                         .dt = o->dt,
                         .substeps = o->substeps};
  if (!size_available(step_record_bytes(&in, 1))) arena_give_up();
  step_record record = step_record_make(&in, 1, &q->memory);
  record.controls = (step_controls){.u = q->u};
  integrator_step(&in, 1, q->x, q->v, &record, &q->memory);
  if (o->stabilize) project_state(&q->mechanics, q->x, q->v, &q->memory);
  if (!collision_detect(q->mechanics.system, q->x, &q->active)) arena_give_up();
  if (q->active.count > 0) list_event(q);
}

/* ---- the interface --------------------------------------------------------------------------- */

static carom_status run_query(contact_query *q, void (*answer)(void *user), carom_error *error) {
  arena_init(&q->memory);
  const bool ready = q->options == NULL || mechanics_init(&q->mechanics, q->system);
  const bool done = ready && arena_guard(answer, q) && !q->short_of_memory;
  if (q->options != NULL) mechanics_free(&q->mechanics);
  contact_list_free(&q->active);
  arena_free(&q->memory);
  if (done) return error_clear(error);
  carom_contact_list_free(q->list);
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the contacts of a state");
}

carom_status carom_system_contacts(const carom_system *system, const double *x, double margin,
                                   carom_contact_list *list, carom_error *error) {
  if (list != NULL) *list = (carom_contact_list){0};
  REQUIRE(system, error);
  REQUIRE(x, error);
  REQUIRE(list, error);
  if (isnan(margin) || margin == -INFINITY)
    return error_set(error, CAROM_INVALID_ARGUMENT, "margin is %g, must be a number or INFINITY",
                     margin);
  if (!vector_is_finite(x, system->coordinate_count))
    return error_set(error, CAROM_INVALID_DATA, "the state has a number that is not finite");
  contact_query q = {.system = system, .list = list};
  contact_list_init(&q.active);
  q.active.margin = q.active.bend_margin = margin;
  double *copy = size_allocate((size_t)system->coordinate_count, sizeof(double));
  if (copy == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a state");
  memcpy(copy, x, sizeof(double) * (size_t)system->coordinate_count);
  q.x = copy;
  const carom_status status = run_query(&q, list_near, error);
  free(copy);
  return status;
}

static carom_status check_step(const carom_system *s, const carom_rollout_options *options,
                               const double *theta, const double *x, const double *v,
                               const double *u, carom_error *error) {
  carom_status status = rollout_options_check(s, options, error);
  if (status == CAROM_OK && theta != NULL) status = carom_parameters_check(s, theta, error);
  if (status != CAROM_OK) return status;
  const int size = s->coordinate_count;
  if (!vector_is_finite(x, size) || !vector_is_finite(v, size))
    return error_set(error, CAROM_INVALID_DATA, "the state has a number that is not finite");
  if (u != NULL && !vector_is_finite(u, s->control_size))
    return error_set(error, CAROM_INVALID_DATA, "the controls have a number that is not finite");
  return CAROM_OK;
}

carom_status carom_system_step_contacts(const carom_system *system,
                                        const carom_rollout_options *options, const double *theta,
                                        const double *x, const double *v, const double *u,
                                        carom_contact_list *list, carom_error *error) {
  if (list != NULL) *list = (carom_contact_list){0};
  REQUIRE(system, error);
  REQUIRE(options, error);
  REQUIRE(x, error);
  REQUIRE(v, error);
  REQUIRE(list, error);
  carom_status status = check_step(system, options, theta, x, v, u, error);
  if (status != CAROM_OK) return status;
  const size_t size = (size_t)system->coordinate_count;
  double *copy = size_allocate(2 * size, sizeof(double));
  if (copy == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a state");
  memcpy(copy, x, sizeof(double) * size);
  memcpy(copy + size, v, sizeof(double) * size);
  contact_query q = {.system = system,
                     .options = options,
                     .theta = theta,
                     .u = u,
                     .x = copy,
                     .v = copy + size,
                     .list = list};
  contact_list_init(&q.active);
  status = run_query(&q, list_acting, error);
  free(copy);
  return status;
}

void carom_contact_list_free(carom_contact_list *list) {
  if (list == NULL) return;
  free(list->items);
  *list = (carom_contact_list){0};
}
