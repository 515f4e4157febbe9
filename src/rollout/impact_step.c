#include "rollout/impact_step.h"

#include "base/vector.h"
#include "rollout/gap_root.h"
#include "rollout/report.h"

#include <math.h>
#include <string.h>

/* A gap beside the size of coordinates that counts as closed; rounding leaves 1e-16 of it. Of bends, whose
 * gap is an angle, by itself. */
static const double CLOSED = 1e-12;
/* A contact lasts if its next flight would be shorter than this share of a time step, */
static const double SHORT_FLIGHT = 0.05;
/* or if it neither leaves nor approaches: its speed beside those of the bodies. */
static const double NO_SPEED = 1e-8;
/* A share of a time step in which nothing is looked for any more. */
static const double NO_TIME = 1e-13;
/* Impacts of one time step that are followed; more of them act together at its end. */
enum { MOST_IMPACTS = 256, MOST_AT_ONCE = 8 };
/* An impact grazes if the normal part of its velocity is below this share. */
static const double GRAZING = 1e-3;

carom_rollout_options impact_options(const carom_rollout_options *options) {
  carom_rollout_options o = *options;
  o.compensation = CAROM_COMPENSATION_POSITION;
  o.penetration_compensation = false;
  o.hold_contacts = false;
  return o;
}

/* ---- stretches on the tape --------------------------------------------------------------------- */

/* One stretch with the event at its end; its arrays follow it. */
typedef struct stretch_entry {
  int64_t previous; /* of the same time step, or -1 */
  double h;
  int resting_count, event_count;
  int root; /* which contact of the event closed at its end; -1: h does not depend on anything */
  int rest_of_step; /* h is what the stretches before have left */
  int impact;       /* whether its event is in the log */
  int padding;
} stretch_entry;

typedef struct entry_parts {
  double *x, *v;         /* [D] at the start */
  double *x_end, *v_end; /* [D] before the event */
  contact_list resting, event;
  void *resting_impulses, *event_impulses;
} entry_parts;

static size_t padded(size_t bytes) { return (bytes + 7) / 8 * 8; }

static size_t ids_bytes(int count) { return padded(sizeof(contact_id) * (size_t)count); }

static size_t entry_bytes(const carom_system *s, int resting, int event) {
  return sizeof(stretch_entry) + 4 * sizeof(double) * (size_t)s->coordinate_count +
         ids_bytes(resting) + stretch_impulse_bytes(s, resting) + ids_bytes(event) +
         stretch_impulse_bytes(s, event);
}

static entry_parts parts_of(const carom_system *s, stretch_entry *entry) {
  entry_parts p = {.x = (double *)(void *)(entry + 1)};
  p.v = p.x + s->coordinate_count;
  p.x_end = p.v + s->coordinate_count;
  p.v_end = p.x_end + s->coordinate_count;
  unsigned char *at = (unsigned char *)(p.v_end + s->coordinate_count);
  p.resting = (contact_list){.count = entry->resting_count, .ids = (contact_id *)(void *)at};
  p.resting_impulses = at + ids_bytes(entry->resting_count);
  at = (unsigned char *)p.resting_impulses + stretch_impulse_bytes(s, entry->resting_count);
  p.event = (contact_list){.count = entry->event_count, .ids = (contact_id *)(void *)at};
  p.event_impulses = at + ids_bytes(entry->event_count);
  return p;
}

/* ---- a time step under way --------------------------------------------------------------------- */

typedef struct passage {
  const impact_setting *s;
  const mechanics *m;
  int size;
  double left;         /* of the time step */
  double *x, *v;       /* [D] now */
  double *xe, *ve;     /* [D] at the end of the step if nothing more happens */
  stretch_outcome way; /* how that went, with impulses in `impulses` */
  void *impulses;      /* NULL: nothing rests */
  double length;       /* size of coordinates */
  int count;           /* contacts that are near */
  near_contact *near;
  contact_list resting;
  int impacts, at_once; /* in this step, and at this time */
  bool pushed;          /* a contact that lasts did */
  bool foreseen;        /* xe, ve are the end from here */
  bool over;            /* the last stretch is behind */
  int64_t last;         /* entry on the tape */
} passage;

static double tolerance_of(const passage *p, const contact_id *id) {
  const carom_system *s = p->m->system;
  bool is_angle = id->kind == CONTACT_LIMIT && s->limits[id->first].kind == LIMIT_BEND;
  return CLOSED * (is_angle ? 1 : p->length);
}

static double largest(const double *values, int count) {
  double most = 0;
  for (int i = 0; i < count; i++) most = fabs(values[i]) > most ? fabs(values[i]) : most;
  return most;
}

/* Over how far a body may reach from its centre along its axes. */
static double extent(const body *b, int d, bool tied) {
  double most = tied ? 1 : 0;
  if (b->shape == SHAPE_RIM) most = fmax(most, 1.5 * b->radius);
  for (int k = 0; b->shape == SHAPE_POINTS && k < b->shape_point_count; k++) {
    double sum = 0;
    for (int i = 0; i < d; i++) sum += fabs(b->shape_points[k * d + i]);
    most = fmax(most, sum);
  }
  return most;
}

/* No point of a body that may touch something is faster. */
static double body_speed(const carom_system *s, const body *b, const double *v) {
  int d = s->dimension;
  const double *centre = v + b->first_point * d;
  double speed = sqrt(vector_dot_small(centre, centre, d)), turn = 0;
  if (!b->rigid || (b->shape == SHAPE_BALL && s->limit_count == 0)) return speed;
  for (int k = 1; k <= d; k++) {
    double square = 0;
    for (int i = 0; i < d; i++)
      square += (centre[k * d + i] - centre[i]) * (centre[k * d + i] - centre[i]);
    turn = fmax(turn, square);
  }
  return speed + extent(b, d, s->limit_count > 0) * sqrt(turn);
}

static double fastest(const carom_system *s, const double *v) {
  double most = 0;
  for (int b = 0; b < s->body_count; b++) {
    double speed = body_speed(s, &s->bodies[b], v);
    if (speed > most) most = speed;
  }
  return most;
}

/* Contacts whose gap is below `margin` at x, that of bends below what its ends may turn by over that length. */
static bool detect(const passage *p, const double *x, double margin) {
  contact_list *list = p->s->near;
  list->margin = list->bend_margin = margin;
  list->bend_margin_is_length = true;
  return collision_detect(p->m->system, x, list);
}

/* Gaps and rates of a contact at both ends. Those at the start are needed where it may close. */
static void measure(const passage *p, near_contact *c) {
  const carom_system *s = p->m->system;
  contact_id id = c->id;
  c->tolerance = tolerance_of(p, &c->id);
  c->end_gap = contact_gap(s, &c->id, p->xe);
  c->end_rate = contact_rate(s, &c->id, p->xe, p->ve, p->s->stretch.scratch);
  c->gap = contact_gap(s, &id, p->x);
  c->touches = c->gap <= c->tolerance;
  if (c->touches || c->end_gap < 0 || c->end_rate > 0)
    c->rate = contact_rate(s, &id, p->x, p->v, p->s->stretch.scratch);
}

static bool is_resting(const passage *p, const contact_id *id) {
  for (int i = 0; i < p->resting.count; i++) {
    const contact_id *r = &p->resting.ids[i];
    bool rim =
        id->kind == CONTACT_POINT_PLANE && p->m->system->bodies[id->first].shape == SHAPE_RIM;
    if (r->kind == id->kind && r->first == id->first && r->second == id->second &&
        (rim || r->detail == id->detail))
      return true;
  }
  return false;
}

/* Lists what may close before the end of the step: bodies move by at most their speed, to the point where they
 * touch and away from it. False if memory is short. */
static bool look_around(passage *p) {
  const carom_system *s = p->m->system;
  double start = fastest(s, p->v), end = fastest(s, p->ve), speed = start > end ? start : end;
  p->length = fmax(largest(p->x, p->size), largest(p->xe, p->size));
  if (!detect(p, p->xe, 2.5 * speed * p->left + 10 * CLOSED * p->length)) return false;
  p->count = p->s->near->count;
  if (p->count == 0) return true;
  p->near = ARENA_ARRAY(p->s->stretch.scratch, near_contact, p->count);
  for (int i = 0; i < p->count; i++) {
    p->near[i] = (near_contact){.id = p->s->near->ids[i]};
    p->near[i].rests = is_resting(p, &p->near[i].id);
    measure(p, &p->near[i]);
  }
  return true;
}

/* May anything happen at all? */
static bool is_quiet(const passage *p) {
  for (int i = 0; i < p->count; i++) {
    const near_contact *c = &p->near[i];
    if (c->touches || c->end_gap < 0 || (c->rate < 0 && c->end_rate > 0)) return false;
  }
  return true;
}

/* Speeds of a contact up to this are no approach and no flight: a flight that gravity ends within a share of a
 * time step, or rounding. */
static double resting_speed(const passage *p, const near_contact *c) {
  double change = 0;
  for (int i = 0; i < p->size; i++) change = fmax(change, fabs(p->ve[i] - p->v[i]));
  double rounding = NO_SPEED * (largest(p->v, p->size) + change);
  double acceleration = p->left > 1e-6 * p->s->dt ? (c->end_rate - c->rate) / p->left : 0;
  return fmax(rounding, SHORT_FLIGHT / 2 * p->s->dt * fmax(0, -acceleration));
}

/* Does a contact that touches approach? */
static bool approaches(const passage *p, const near_contact *c) {
  return c->touches && !c->rests && c->rate < -resting_speed(p, c);
}

/* The end of the step from here: free, or under the contacts that last. */
static void foresee(passage *p) {
  arena *scratch = p->s->stretch.scratch;
  p->impulses = NULL;
  if (p->resting.count > 0)
    p->impulses = arena_bytes(scratch, stretch_impulse_bytes(p->m->system, p->resting.count));
  arena_mark mark = arena_save(scratch);
  vector_copy(p->xe, p->x, p->size);
  vector_copy(p->ve, p->v, p->size);
  p->way = stretch_run(&p->s->stretch, p->left, &p->resting, p->xe, p->ve, p->impulses);
  p->foreseen = true;
  arena_restore(scratch, mark);
}

/* Adds the contacts that neither leave nor approach to those that last, until no more do. */
static bool find_resting(passage *p) {
  arena *scratch = p->s->stretch.scratch;
  for (bool more = true; more;) {
    more = false;
    contact_id *ids = ARENA_ARRAY(scratch, contact_id, p->resting.count + p->count);
    for (int i = 0; i < p->resting.count; i++) ids[i] = p->resting.ids[i];
    p->resting.ids = ids;
    for (int i = 0; i < p->count; i++) {
      near_contact *c = &p->near[i];
      if (!c->touches || c->rests || c->rate > resting_speed(p, c)) continue;
      c->rests = more = true;
      p->resting.ids[p->resting.count++] = c->id;
    }
    if (!more) return true;
    foresee(p);
    if (!look_around(p)) return false;
  }
  return true;
}

/* ---- what happens ------------------------------------------------------------------------------ */

/* What a stretch is to be, and what ends it. */
typedef struct stretch_plan {
  double h;
  const contact_list *event; /* NULL: nothing */
  int root;
  bool rest_of_step;
  const double *x, *v;        /* [D] its end, where it is known; NULL: it is not */
  const stretch_outcome *way; /* how it came there */
  const void *impulses;       /* of what rests on the way */
} stretch_plan;

/* Room for a stretch on the tape, or in scratch memory; NULL if memory is short. */
static stretch_entry *new_entry(passage *p, const stretch_plan *plan, int resting) {
  const carom_system *s = p->m->system;
  int event = plan->event != NULL ? plan->event->count : 0;
  size_t bytes = entry_bytes(s, resting, event);
  tape *t = p->s->tape;
  stretch_entry *entry =
      t != NULL ? growing_append(&t->memory, bytes) : arena_bytes(p->s->stretch.scratch, bytes);
  if (entry == NULL) return NULL;
  *entry = (stretch_entry){.previous = p->last,
                           .h = plan->h,
                           .resting_count = resting,
                           .event_count = event,
                           .root = plan->event != NULL ? plan->root : -1,
                           .rest_of_step = plan->rest_of_step};
  if (t != NULL) p->last = (unsigned char *)entry - t->memory.bytes;
  return entry;
}

/* Is the approach of the contact that closed nearly along the surface? */
static bool is_grazing(const contact_event *e, const contact_id *id, const double *v) {
  int d = e->mechanics->system->dimension;
  for (int c = 0; c < e->group.count; c++) {
    const contact *on = &e->group.contacts[c];
    if (on->id.property != id->property || on->id.detail != id->detail) continue;
    double velocity[MAX_DIMENSION];
    contact_apply(on, d, v, velocity);
    return fabs(velocity[0]) < GRAZING * sqrt(vector_dot_small(velocity, velocity, d));
  }
  return false;
}

/* The event at the end of a stretch; false if memory is short. */
static bool act(passage *p, stretch_entry *entry, const entry_parts *parts) {
  const impact_setting *s = p->s;
  arena *scratch = s->stretch.scratch;
  arena_mark mark = arena_save(scratch);
  vector_copy(parts->x_end, p->x, p->size);
  vector_copy(parts->v_end, p->v, p->size);
  contact_event event = contact_event_make(p->m, s->impact, &parts->event, parts->x_end, scratch);
  event.failures = s->stretch.failures;
  event_impulses impulses = event_impulses_at(&event, parts->event_impulses);
  double time = s->step * s->dt + (s->dt - p->left);
  int log = 0;
  if (s->keeps_impacts)
    log = impact_log_add(&s->tape->impacts, &event, s->sample, s->step, time, p->v);
  if (log < 0) return false;
  if (entry->root >= 0)
    s->report->grazing_impacts += is_grazing(&event, &parts->event.ids[entry->root], p->v);
  contact_event_solve(&event, p->x, p->v, &impulses, scratch);
  if (s->keeps_impacts) impact_log_complete(&s->tape->impacts, log, &event, &impulses, p->v);
  entry->impact = s->keeps_impacts;
  s->report->impacts++;
  s->report->contacts += event.group.count;
  report_event(s->report, &event, &impulses);
  arena_restore(scratch, mark);
  p->impacts++;
  return true;
}

/* What contacts that last have done in a stretch. */
static void count_resting(passage *p, const stretch_outcome *way) {
  carom_report *report = p->s->report;
  report->failed_projections += way->failed_projections + !way->arrived;
  report->resting_contacts += way->pushing_count;
  for (int k = 0; k < way->island_count; k++)
    report_program(report, &way->resting.compression.info[k]);
  p->pushed = p->pushed || way->pushing_count > 0;
}

/* To the end of a stretch, without integrating it again where its end is known. Impulses of contacts that last
 * go to the tape. */
static void move_on(passage *p, const stretch_plan *plan, const entry_parts *parts) {
  int resting = parts->resting.count;
  if (plan->x != NULL && (resting == 0 || plan->impulses != NULL)) {
    vector_copy(p->x, plan->x, p->size);
    vector_copy(p->v, plan->v, p->size);
    if (resting > 0)
      memcpy(parts->resting_impulses, plan->impulses, stretch_impulse_bytes(p->m->system, resting));
    count_resting(p, plan->way);
    return;
  }
  stretch_outcome way =
      stretch_run(&p->s->stretch, plan->h, &parts->resting, p->x, p->v, parts->resting_impulses);
  count_resting(p, &way);
}

/* Goes through a stretch and the event at its end. */
static bool go(passage *p, const stretch_plan *plan) {
  const contact_list none = {0};
  const contact_list *resting = plan->h > 0 ? &p->resting : &none;
  const carom_system *system = p->m->system;
  stretch_entry *entry = new_entry(p, plan, resting->count);
  if (entry == NULL) return false;
  entry_parts parts = parts_of(system, entry);
  vector_copy(parts.x, p->x, p->size);
  vector_copy(parts.v, p->v, p->size);
  for (int i = 0; i < resting->count; i++) parts.resting.ids[i] = resting->ids[i];
  for (int i = 0; i < entry->event_count; i++) parts.event.ids[i] = plan->event->ids[i];
  if (plan->h > 0) move_on(p, plan, &parts);
  p->left = plan->rest_of_step ? 0 : p->left - plan->h;
  p->over = plan->rest_of_step;
  p->at_once = plan->h > 0 ? 0 : p->at_once + 1;
  p->foreseen = false;
  p->resting.count = 0;
  return plan->event == NULL || act(p, entry, &parts);
}

/* The near contacts that touch at x, `closed` in any case; *root is its place among them. */
static contact_list list_touching(passage *p, const double *x, const near_contact *closed,
                                  int *root) {
  contact_list list = {.ids = ARENA_ARRAY(p->s->stretch.scratch, contact_id, p->count)};
  for (int i = 0; i < p->count; i++) {
    contact_id id = p->near[i].id;
    bool touches = contact_gap(p->m->system, &id, x) <= p->near[i].tolerance;
    if (&p->near[i] == closed) *root = list.count;
    if (touches || &p->near[i] == closed) list.ids[list.count++] = id;
  }
  return list;
}

/* A contact that touches and approaches acts now. Its gap has closed here, at a time that moves with the
 * state, unless it had been closed before. */
static bool impact_now(passage *p, const near_contact *c) {
  stretch_plan plan = {0};
  contact_list event = list_touching(p, p->x, c, &plan.root);
  plan.event = &event;
  if (p->at_once > 0 || p->impacts > 0 || c->gap < -c->tolerance) plan.root = -1;
  return go(p, &plan);
}

/* What is left of the step in one stretch. */
static bool finish(passage *p) {
  return go(p, &(stretch_plan){.h = p->left,
                               .rest_of_step = true,
                               .x = p->foreseen ? p->xe : NULL,
                               .v = p->ve,
                               .way = &p->way,
                               .impulses = p->impulses});
}

/* Too many impacts: whatever is closed at the end pushes until then. */
static bool cut(passage *p) {
  contact_id *ids = ARENA_ARRAY(p->s->stretch.scratch, contact_id, p->count);
  p->resting = (contact_list){.ids = ids};
  for (int i = 0; i < p->count; i++)
    if (p->near[i].touches || p->near[i].end_gap < 0) ids[p->resting.count++] = p->near[i].id;
  p->s->report->cut_steps++;
  p->foreseen = false;
  return finish(p);
}

/* To the next impact, or to the end of the step. */
static bool advance(passage *p) {
  const stretch_setting *setting = &p->s->stretch;
  gap_search search = {.setting = setting,
                       .x = p->x,
                       .v = p->v,
                       .length = p->left,
                       .resting = &p->resting,
                       .xt = arena_doubles(setting->scratch, p->size),
                       .vt = arena_doubles(setting->scratch, p->size),
                       .t = -1};
  int next = first_root(&search, p->near, p->count);
  p->s->report->grazing_impacts += search.grazes;
  if (next < 0) return finish(p);
  stretch_plan plan = {.h = search.t, .x = search.xt, .v = search.vt, .way = &search.way};
  contact_list event = list_touching(p, search.xt, &p->near[next], &plan.root);
  plan.event = &event;
  return go(p, &plan);
}

/* One thing after the other until the step is over. */
static bool pass(passage *p) {
  arena *scratch = p->s->stretch.scratch;
  while (!p->over) {
    if (p->left <= NO_TIME * p->s->dt) return finish(p);
    arena_mark mark = arena_save(scratch);
    const near_contact *now = NULL;
    for (int i = 0; i < p->count && now == NULL && p->at_once < MOST_AT_ONCE; i++)
      if (approaches(p, &p->near[i])) now = &p->near[i];
    bool going = p->impacts >= MOST_IMPACTS ? cut(p)
                 : now != NULL              ? impact_now(p, now)
                                            : find_resting(p) && advance(p);
    if (!going) return false;
    if (p->over) break;
    arena_restore(scratch, mark);
    foresee(p);
    if (!look_around(p)) return false;
  }
  return true;
}

bool impact_step(const impact_setting *s, const double *x0, const double *v0, double *x, double *v,
                 int64_t *offset, bool *acted) {
  arena *scratch = s->stretch.scratch;
  arena_mark mark = arena_save(scratch);
  passage p = {.s = s, .m = s->stretch.integrator.mechanics, .left = s->dt, .last = -1};
  p.size = p.m->system->coordinate_count;
  p.x = arena_doubles(scratch, p.size);
  p.v = arena_doubles(scratch, p.size);
  p.xe = x;
  p.ve = v;
  p.foreseen = true;
  p.way.arrived = true;
  vector_copy(p.x, x0, p.size);
  vector_copy(p.v, v0, p.size);
  *offset = -1;
  *acted = false;
  bool done = look_around(&p);
  if (!done || is_quiet(&p)) {
    arena_restore(scratch, mark);
    return done;
  }
  for (int i = 0; i < p.count; i++) s->report->overlaps += p.near[i].gap < -p.near[i].tolerance;
  done = pass(&p);
  vector_copy(x, p.x, p.size);
  vector_copy(v, p.v, p.size);
  *offset = p.last;
  *acted = p.impacts > 0 || p.pushed;
  s->report->events += *acted;
  arena_restore(scratch, mark);
  return done;
}

/* ---- the derivative ---------------------------------------------------------------------------- */

/* Cotangents of a step on their way back. */
typedef struct step_cotangents {
  double *x, *v; /* [D] */
  double *theta, *potential, *u;
  double later; /* of the time at which a stretch ends, by all that comes later */
} step_cotangents;

/* Adds a part of an impact's cotangents. */
static void add_part(const impact_log *log, const impact_entry *impact, int size, int part,
                     double *bar) {
  const double *from = impact_log_part(log, impact, size, part);
  for (int k = 0; k < size; k++) bar[k] += from[k];
}

static void event_vjp(const impact_setting *s, const stretch_entry *entry, const entry_parts *parts,
                      int *impacts_left, step_cotangents *bars) {
  const mechanics *m = s->stretch.integrator.mechanics;
  int size = m->system->coordinate_count;
  arena *scratch = s->stretch.scratch;
  const impact_log *log = &s->tape->impacts;
  const impact_entry *impact =
      entry->impact ? impact_log_at(log, s->sample, --*impacts_left) : NULL;
  if (impact != NULL) add_part(log, impact, size, IMPACT_AFTER_BAR, bars->v);
  arena_mark mark = arena_save(scratch);
  contact_event event = contact_event_make(m, s->impact, &parts->event, parts->x_end, scratch);
  event_impulses impulses = event_impulses_at(&event, parts->event_impulses);
  contact_event_vjp(&event, parts->v_end, &impulses, bars->v, bars->x, bars->theta, scratch);
  arena_restore(scratch, mark);
  if (impact == NULL) return;
  add_part(log, impact, size, IMPACT_BEFORE_BAR, bars->v);
  add_part(log, impact, size, IMPACT_X_BAR, bars->x);
  bars->later += impact->time_bar;
}

/* The cotangent of h that cotangents x_bar, v_bar [D] of the end of a stretch have. */
static double length_cotangent(const impact_setting *s, const stretch_record *record,
                               const double *x_bar, const double *v_bar) {
  const carom_system *system = s->stretch.integrator.mechanics->system;
  int size = system->coordinate_count;
  arena *scratch = s->stretch.scratch;
  arena_mark mark = arena_save(scratch);
  double *x = arena_doubles(scratch, size), *v = arena_doubles(scratch, size), h_bar = 0;
  vector_copy(x, x_bar, size);
  vector_copy(v, v_bar, size);
  stretch_cotangents unused = {.theta = arena_zeros(scratch, system->parameter_count), .h = &h_bar};
  if (s->stretch.integrator.potential == &scene_potential) unused.potential = unused.theta;
  stretch_vjp(&s->stretch, record, x, v, &unused);
  arena_restore(scratch, mark);
  return h_bar;
}

/* gradient [D] of the gap of a contact at x, and its derivative [parameter_count] by theta */
static void gap_gradient(const carom_system *s, const contact_id *id, const double *x,
                         double *gradient, double *by_theta, arena *scratch) {
  contact c;
  arena_mark mark = arena_save(scratch);
  contact_geometry(s, id, x, &c, scratch);
  double *none = arena_zeros(scratch, c.point_count * s->dimension * s->dimension);
  memset(gradient, 0, sizeof(double) * (size_t)s->coordinate_count);
  memset(by_theta, 0, sizeof(double) * (size_t)s->parameter_count);
  contact_geometry_vjp(s, &c, x, none, 1, gradient, by_theta);
  arena_restore(scratch, mark);
}

/* The length h of a stretch z1 = Psi(z, h) that ends where gap(x1) = 0. A change of z changes h by
 *
 *   dh = -(grad gap . dx1|_h + dgap/dtheta . dtheta) / (grad gap . dx1/dh),
 *
 * so with h_bar, what the loss makes of h by itself, lambda = -h_bar / (grad gap . dx1/dh) times grad gap
 * is added to x1_bar, and times dgap/dtheta (radii, corners, planes) to theta_bar. h_bar is that through the
 * end of this stretch and what comes later. */
static void root_vjp(const impact_setting *s, const contact_id *id, const stretch_record *record,
                     const double *x_end, const step_cotangents *bars) {
  const carom_system *system = s->stretch.integrator.mechanics->system;
  int size = system->coordinate_count;
  arena *scratch = s->stretch.scratch;
  double *gradient = arena_doubles(scratch, size), *none = arena_zeros(scratch, size);
  double *by_theta = arena_doubles(scratch, system->parameter_count);
  gap_gradient(system, id, x_end, gradient, by_theta, scratch);
  double rate = length_cotangent(s, record, gradient, none);
  double h_bar = length_cotangent(s, record, bars->x, bars->v) + bars->later;
  if (!(rate < 0)) return;
  for (int i = 0; i < size; i++) bars->x[i] -= h_bar / rate * gradient[i];
  for (int i = 0; i < system->parameter_count; i++) bars->theta[i] -= h_bar / rate * by_theta[i];
}

static void entry_vjp(const impact_setting *s, stretch_entry *entry, int *impacts_left,
                      step_cotangents *bars) {
  arena *scratch = s->stretch.scratch;
  arena_mark mark = arena_save(scratch);
  entry_parts parts = parts_of(s->stretch.integrator.mechanics->system, entry);
  stretch_record record = stretch_repeat(&s->stretch, entry->h, &parts.resting, parts.x, parts.v,
                                         parts.resting_impulses, scratch);
  if (entry->event_count > 0) event_vjp(s, entry, &parts, impacts_left, bars);
  if (entry->root >= 0) root_vjp(s, &parts.event.ids[entry->root], &record, parts.x_end, bars);
  double h_bar = 0;
  stretch_cotangents out = {
      .theta = bars->theta, .potential = bars->potential, .u = bars->u, .h = &h_bar};
  if (entry->h > 0 || entry->root >= 0 || entry->rest_of_step)
    stretch_vjp(&s->stretch, &record, bars->x, bars->v, &out);
  // h = dt - the lengths of the stretches before
  if (entry->rest_of_step) bars->later -= h_bar;
  arena_restore(scratch, mark);
}

void impact_step_vjp(const impact_setting *s, int64_t offset, int *impacts_left, double *x_bar,
                     double *v_bar, double *theta_bar, double *potential_bar, double *u_bar) {
  step_cotangents bars = {
      .x = x_bar, .v = v_bar, .theta = theta_bar, .potential = potential_bar, .u = u_bar};
  while (offset >= 0) {
    stretch_entry *entry = (stretch_entry *)(void *)(s->tape->memory.bytes + offset);
    entry_vjp(s, entry, impacts_left, &bars);
    offset = entry->previous;
  }
}
