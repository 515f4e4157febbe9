#include "learn/contact_evidence.h"

#include "base/error.h"
#include "physics/collision.h"
#include "system/state_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Deviations from which a number is no scatter any more. */
static const double CLEARLY = 6;

/* A jump takes away at least this part of the closing rate: without restitution it takes all. */
static const double STOPPED = 0.5;

/* A gap counts as closed below this part of what it changes in a step. */
static const double CLOSED = 0.5;

/* Bends that are further from their limit (radians) are not looked at: none is as fast. */
static const double NEAR_BEND = 0.5;

/* Steps that are looked at to measure scatter, at most. */
enum { MOST_SAMPLES = 4000 };

/* Untied bodies fall alike, or it is not known how: deviation by the mean. */
static const double UNIFORM = 0.25;

/* How a body falls where nothing is near, in one step of the usual length. */
typedef struct free_fall {
  int samples; /* 0: not known */
  double change[MAX_DIMENSION];
  double deviation; /* of the coordinate that scatters most */
  double speed;
} free_fall;

/* What is known of a step, coordinate by coordinate. */
enum step_vector {
  VELOCITY_BEFORE, /* at k - 1, coming from the states before */
  VELOCITY_AFTER,  /* at k, going to the states after */
  CHANGE_BEFORE,   /* of the velocity, in the step before; NaN if there is none */
  CHANGE_WITHIN,
  CHANGE_AFTER,
  CHANGE_FREE,   /* what free motion explains */
  FLOWN_FORWARD, /* position at the end of the flight from k - 1 */
  FLOWN_BACK,    /* and of that from k back in time */
  STEP_VECTORS
};

struct contact_evidence {
  const carom_system *system;
  scatter *scatters;          /* [coordinate_count] */
  free_fall *falls;           /* [body_count] */
  double *reach;              /* [body_count] of its shape from its centre */
  contact_list active;        /* at state k */
  contact_list near[2];       /* at states k - 1 and k */
  contact_list flight[2];     /* closed at the end of the flight from k - 1, and back from k */
  double *step[STEP_VECTORS]; /* each [coordinate_count], of the step from k - 1 to k */
  bool *busy;                 /* [body_count] near to something */
  arena memory;
};

/* ---- making ---- */

void contact_evidence_destroy(contact_evidence *e) {
  if (e == NULL) return;
  contact_list_free(&e->active);
  for (int i = 0; i < 2; i++) {
    contact_list_free(&e->near[i]);
    contact_list_free(&e->flight[i]);
  }
  free(e->scatters);
  free(e->falls);
  free(e->step[0]);
  free(e->busy);
  free(e->reach);
  arena_free(&e->memory);
  free(e);
}

// how far out a body's shape has points that turn with it; a ball looks the same however it turns
static double shape_reach(const body *b, int d) {
  double largest = 0;
  for (int k = 0; k < b->shape_point_count; k++) {
    double square = 0;
    for (int j = 0; j < d; j++) square += b->shape_points[k * d + j] * b->shape_points[k * d + j];
    largest = fmax(largest, square);
  }
  return sqrt(largest);
}

// room for the geometry of any contact, so that there is enough of it later
static void warm_up(void *user) {
  arena *memory = user;
  arena_mark mark = arena_save(memory);
  arena_doubles(memory, MAX_CONTACT_POINTS * (MAX_DIMENSION * MAX_DIMENSION + 3));
  arena_restore(memory, mark);
}

carom_status contact_evidence_create_plain(const carom_system *system, contact_evidence **evidence,
                                           carom_error *error) {
  contact_evidence *e = calloc(1, sizeof *e);
  *evidence = NULL;
  if (e == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory to look for contacts");
  arena_init(&e->memory);
  e->system = system;
  e->scatters = calloc((size_t)system->coordinate_count, sizeof *e->scatters);
  e->falls = calloc((size_t)system->body_count, sizeof *e->falls);
  e->step[0] = calloc((size_t)system->coordinate_count * STEP_VECTORS, sizeof(double));
  e->busy = calloc((size_t)system->body_count, sizeof *e->busy);
  e->reach = calloc((size_t)system->body_count, sizeof *e->reach);
  for (int i = 0; i < 2; i++) e->near[i].bend_margin = NEAR_BEND;
  if (e->scatters != NULL && e->falls != NULL && e->step[0] != NULL && e->busy != NULL &&
      e->reach != NULL && arena_guard(warm_up, &e->memory)) {
    for (int b = 0; b < system->body_count; b++)
      e->reach[b] = shape_reach(&system->bodies[b], system->dimension);
    for (int i = 1; i < STEP_VECTORS; i++)
      e->step[i] = e->step[0] + (size_t)i * (size_t)system->coordinate_count;
    *evidence = e;
    return CAROM_OK;
  }
  contact_evidence_destroy(e);
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory to look for contacts of %d points",
                   system->point_count);
}

/* ---- what is near ---- */

static void fill_step(contact_evidence *e, const motion *m, int k) {
  for (int c = 0; c < m->size; c++) {
    const velocity_changes changes = motion_changes(m, k, c);
    e->step[VELOCITY_BEFORE][c] = motion_velocity_before(m, k - 1, c);
    e->step[VELOCITY_AFTER][c] = motion_velocity_after(m, k, c);
    e->step[CHANGE_BEFORE][c] = changes.before;
    e->step[CHANGE_WITHIN][c] = changes.within;
    e->step[CHANGE_AFTER][c] = changes.after;
    e->step[CHANGE_FREE][c] = free_change(&changes);
  }
}

static double distance_of(const double *a, const double *b, int d) {
  double square = 0;
  for (int i = 0; i < d; i++) square += (a[i] - b[i]) * (a[i] - b[i]);
  return sqrt(square);
}

/* A bound on the speed of all points of shapes: that of the centre, and of the coordinates of a point
 * times the speeds of the axes about it. Limits hang on any points. */
static double surface_speed(const contact_evidence *e, const double *v) {
  static const double still[MAX_DIMENSION] = {0};
  const carom_system *s = e->system;
  const int d = s->dimension;
  double fastest = s->limit_count > 0 ? state_speed(s, v) : 0;
  for (int b = 0; b < s->body_count; b++) {
    const double *centre = v + s->bodies[b].first_point * d;
    double speed = distance_of(centre, still, d);
    for (int k = 1; k < s->bodies[b].point_count && e->reach[b] > 0; k++)
      speed += e->reach[b] * distance_of(centre + k * d, centre, d);
    fastest = fmax(fastest, speed);
  }
  return fastest;
}

// the contacts that could close in the step from k - 1 to k, as either end sees them
static bool list_near(contact_evidence *e, const motion *m, int k) {
  // two surfaces part at twice the speed of one
  const double speed = 2 * fmax(surface_speed(e, e->step[VELOCITY_BEFORE]),
                                surface_speed(e, e->step[VELOCITY_AFTER]));
  bool enough_memory = true;
  for (int i = 0; i < 2 && enough_memory; i++) {
    e->near[i].margin = speed * motion_time(m, k - 1, k);
    enough_memory =
        collision_detect(e->system, m->x + (size_t)(k - 1 + i) * (size_t)m->size, &e->near[i]);
  }
  return enough_memory;
}

/* The flights over the step: x + v dt + change dt / 2 forward, x - v dt + change dt / 2 back, with the
 * change of velocity of free motion. */
static bool list_flights(contact_evidence *e, const motion *m, int k) {
  bool enough_memory = true;
  for (int i = 0; i < 2 && enough_memory; i++) {
    const double *from = m->x + (size_t)(k - 1 + i) * (size_t)m->size;
    const double *v = e->step[VELOCITY_BEFORE + i], *change = e->step[CHANGE_FREE];
    double *flown = e->step[FLOWN_FORWARD + i], sign = i == 0 ? 1 : -1;
    const double dt = motion_time(m, k - 1, k);
    for (int c = 0; c < m->size; c++) flown[c] = from[c] + dt * (sign * v[c] + 0.5 * change[c]);
    enough_memory = collision_detect(e->system, flown, &e->flight[i]);
  }
  return enough_memory;
}

// the same contact in another list; a rim touches with another of its points there
static const contact_id *same_contact(const carom_system *s, const contact_list *list,
                                      const contact_id *id) {
  bool rim = id->kind == CONTACT_POINT_PLANE && s->bodies[id->first].shape == SHAPE_RIM;
  for (int k = 0; k < list->count; k++) {
    const contact_id *other = &list->ids[k];
    if (other->property == id->property && (rim || other->detail == id->detail)) return other;
  }
  return NULL;
}

/* ---- a gap over one step ---- */

/* A possible contact before [0] and after [1] a step. */
typedef struct passage {
  contact_id id;      /* as it is after */
  double dt, shorter; /* length of the step; by the usual one */
  double gap[2], rate[2];
  double change; /* of the rate, by the change of velocity alone */
  double free;   /* what free motion explains of it */
  double rate_deviation, gap_deviation;
  double normal[MAX_DIMENSION];
} passage;

/* J_n v, the first row of the contact's block: the rate of its gap */
static double normal_rate(const contact *c, int d, const double *v) {
  double velocity[MAX_DIMENSION];
  contact_apply(c, d, v, velocity);
  return velocity[0];
}

// deviation of a sum of independent scatters, weighted as the normal rate weights coordinates
static void propagate(const contact_evidence *e, const contact *c, passage *p) {
  const int d = e->system->dimension;
  double rate = 0, gap = 0;
  for (int k = 0; k < c->point_count; k++) {
    for (int j = 0; j < d; j++) {
      const double weight = c->block[k * d * d + j];
      const scatter *s = &e->scatters[c->point[k] * d + j];
      rate += weight * weight * s->velocity * s->velocity;
      gap += weight * weight * s->position * s->position;
    }
  }
  p->rate_deviation = sqrt(rate);
  p->gap_deviation = sqrt(gap);
}

static passage passage_of(contact_evidence *e, const motion *m, int k, const contact_id *before,
                          const contact_id *after) {
  const carom_system *s = e->system;
  const contact_id *ids[2] = {before, after};
  const double dt = motion_time(m, k - 1, k);
  passage p = {.id = *after, .dt = dt, .shorter = dt / m->dt};
  velocity_changes changes;
  arena_mark mark = arena_save(&e->memory);
  for (int i = 0; i < 2; i++) {
    contact c;
    contact_geometry(s, ids[i], m->x + (size_t)(k - 1 + i) * (size_t)m->size, &c, &e->memory);
    p.gap[i] = c.gap;
    p.rate[i] = normal_rate(&c, s->dimension, e->step[VELOCITY_BEFORE + i]);
    // J_n of the middle of the step: the mean of both ends
    p.change += 0.5 * normal_rate(&c, s->dimension, e->step[CHANGE_WITHIN]);
    *(i == 0 ? &changes.before : &changes.after) =
        normal_rate(&c, s->dimension, e->step[i == 0 ? CHANGE_BEFORE : CHANGE_AFTER]);
    memcpy(p.normal, c.frame[0], sizeof p.normal);
    propagate(e, &c, &p);
  }
  p.free = free_change(&changes);
  arena_restore(&e->memory, mark);
  return p;
}

/* Gap where the flights from both ends meet. With g + u s + a s^2 / 2 from either end and the same a
 * the difference of the two is linear in s. */
static double meeting_gap(const passage *p) {
  const double a = p->free / p->dt, dt = p->dt;
  const double jump = p->rate[1] - p->rate[0] - a * dt;
  double s = (p->gap[0] - p->gap[1] + p->rate[1] * dt - 0.5 * a * dt * dt) / jump;
  s = jump > 0 ? fmin(fmax(s, 0), dt) : dt;
  const double left = dt - s;
  return 0.5 * (p->gap[0] + p->rate[0] * s + 0.5 * a * s * s) +
         0.5 * (p->gap[1] - p->rate[1] * left + 0.5 * a * left * left);
}

static bool closing(const passage *p) {
  return p->gap[0] >= 0 && p->gap[1] >= 0 && p->rate[0] < -CLEARLY * p->rate_deviation;
}

// what free motion does not explain stops the closing of the gap
static bool stopped(const passage *p) {
  const double jump = p->change - p->free, least = STOPPED * -p->rate[0];
  return jump > fmax(least, CLEARLY * p->rate_deviation) && p->rate[1] > p->rate[0] + least;
}

static bool jumps(const passage *p) {
  const double travel = fmax(fabs(p->rate[0]), fabs(p->rate[1])) * p->dt;
  return closing(p) && stopped(p) &&
         fabs(meeting_gap(p)) < CLOSED * travel + CLEARLY * p->gap_deviation;
}

// the gap at the end of a flight, if it is closed there
static double flown_gap(contact_evidence *e, int way, const contact_id *id) {
  const contact_id *there = same_contact(e->system, &e->flight[way], id);
  if (there == NULL) return 0;
  arena_mark mark = arena_save(&e->memory);
  contact c;
  contact_geometry(e->system, there, e->step[FLOWN_FORWARD + way], &c, &e->memory);
  arena_restore(&e->memory, mark);
  return c.gap;
}

static bool flies_through(contact_evidence *e, const passage *p) {
  if (!closing(p) || !stopped(p)) return false;
  const double depth = -fmin(flown_gap(e, 0, &p->id), flown_gap(e, 1, &p->id));
  return depth > CLEARLY * (p->gap_deviation + p->rate_deviation * p->dt);
}

/* ---- held bodies ---- */

static bool untied(const carom_system *s, int body_index) {
  const body *b = &s->bodies[body_index];
  return s->assemblies[s->point_assembly[b->first_point]].point_count == b->point_count;
}

// adds sign times the fall of a body along the normal, and what the body did instead
static bool add_fall(const contact_evidence *e, const passage *p, int body_index, double sign,
                     double *fall, double *change) {
  const carom_system *s = e->system;
  const free_fall *f = &e->falls[body_index];
  const int first = s->bodies[body_index].first_point * s->dimension;
  if (f->samples == 0) return false;
  for (int i = 0; i < s->dimension; i++) {
    *fall += sign * p->normal[i] * p->shorter * f->change[i];
    *change += sign * p->normal[i] * e->step[CHANGE_WITHIN][first + i];
  }
  return true;
}

/* At a gap that is closed and slow, a body that does not fall: v_C = F (v_second - v_first). */
static bool holds(const contact_evidence *e, const passage *p) {
  if (p->id.kind == CONTACT_LIMIT) return false;
  double fall = 0, change = 0;
  if (!add_fall(e, p, p->id.first, -1, &fall, &change)) return false;
  if (p->id.kind == CONTACT_PAIR && !add_fall(e, p, p->id.second, 1, &fall, &change)) return false;
  const free_fall *f = &e->falls[p->id.first];
  const double slow = 2 * fabs(fall) + CLEARLY * p->rate_deviation;
  return fall < 0 && f->deviation < UNIFORM * -fall && change - fall > STOPPED * -fall &&
         fabs(p->rate[0]) < slow && fabs(p->rate[1]) < slow &&
         fmax(p->gap[0], p->gap[1]) < 0.5 * CLOSED * f->speed * p->dt;
}

/* ---- the contacts of a step ---- */

// the first kind that tells it, or EVIDENCE_KINDS
static evidence_kind kind_of(contact_evidence *e, const passage *p) {
  if (p->gap[1] < 0) return EVIDENCE_PENETRATION;
  if (jumps(p)) return EVIDENCE_JUMP;
  if (flies_through(e, p)) return EVIDENCE_FLIGHT;
  return holds(e, p) ? EVIDENCE_HELD : EVIDENCE_KINDS;
}

/* A contact and what told it. */
typedef struct told {
  int state;
  contact_id id;
  evidence_kind kind;
  double jump; /* that free motion does not explain */
} told;

typedef struct told_list {
  int count, capacity;
  told *items;
} told_list;

static bool tell(told_list *list, told item) {
  if (list->count == list->capacity) {
    const int capacity = list->capacity > 0 ? 2 * list->capacity : 16;
    told *items = realloc(list->items, sizeof *items * (size_t)capacity);
    if (items == NULL) return false;
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count++] = item;
  return true;
}

// contacts near at both ends of the step to k that have something to tell
static bool tell_passages(contact_evidence *e, const motion *m, int k, told_list *list) {
  bool enough_memory = true;
  for (int i = 0; i < e->near[1].count && enough_memory; i++) {
    const contact_id *after = &e->near[1].ids[i];
    const contact_id *before = same_contact(e->system, &e->near[0], after);
    if (before == NULL) continue;
    const passage p = passage_of(e, m, k, before, after);
    const evidence_kind kind = kind_of(e, &p);
    if (kind != EVIDENCE_KINDS && kind != EVIDENCE_PENETRATION)
      enough_memory = tell(list, (told){k, *after, kind, p.change - p.free});
  }
  return enough_memory;
}

static bool tell_contacts(contact_evidence *e, const motion *m, int k, told_list *list) {
  bool enough_memory = collision_detect(e->system, m->x + (size_t)k * (size_t)m->size, &e->active);
  for (int i = 0; i < e->active.count && enough_memory; i++)
    enough_memory = tell(list, (told){k, e->active.ids[i], EVIDENCE_PENETRATION, 0});
  e->near[1].count = 0;
  if (!enough_memory || k == 0) return enough_memory;
  fill_step(e, m, k);
  if (!list_near(e, m, k)) return false;
  if (e->near[0].count == 0 || e->near[1].count == 0) return true;
  return list_flights(e, m, k) && tell_passages(e, m, k, list);
}

static carom_status no_memory(carom_error *error) {
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the contacts of a state");
}

static bool impact(const told *t) { return t->kind == EVIDENCE_JUMP || t->kind == EVIDENCE_FLIGHT; }

/* One-sided differences across an impact see it from the steps beside it too: of impacts of one contact
 * in consecutive steps the strongest is the one. */
static void drop_echoes(told_list *list) {
  int kept = 0;
  for (int i = 0; i < list->count; i++) {
    told *now = &list->items[i];
    bool echo = false;
    for (int j = kept - 1; j >= 0 && list->items[j].state >= now->state - 1 && !echo; j--) {
      told *last = &list->items[j];
      if (!impact(now) || !impact(last) || last->state == now->state ||
          last->id.property != now->id.property)
        continue;
      if (now->jump > last->jump) *last = *now;
      echo = true;
    }
    if (!echo) list->items[kept++] = *now;
  }
  list->count = kept;
}

// whether a contact was told in the state before already: it goes on
static bool goes_on(const told_list *list, int index) {
  const told *now = &list->items[index];
  for (int j = index - 1; j >= 0 && list->items[j].state >= now->state - 1; j--)
    if (list->items[j].state < now->state && list->items[j].id.property == now->id.property)
      return true;
  return false;
}

carom_status contact_evidence_flag(contact_evidence *e, const motion *m, uint8_t *flags,
                                   uint8_t *impacts, evidence_counts *counts, carom_error *error) {
  told_list list = {0};
  bool enough_memory = true;
  for (int k = 0; k < m->states && enough_memory; k++)
    enough_memory = tell_contacts(e, m, k, &list);
  if (m->v == NULL) drop_echoes(&list);
  for (int k = 0; k < m->states; k++) flags[k] = impacts[k] = 0;
  for (int i = 0; i < list.count; i++) {
    flags[list.items[i].state] = 1;
    if (impact(&list.items[i]) || !goes_on(&list, i)) impacts[list.items[i].state] = 1;
    counts->contacts[list.items[i].kind]++;
  }
  free(list.items);
  return enough_memory ? CAROM_OK : no_memory(error);
}

// of the contacts that were near the step that was listed last, the one with the least gap
static const contact_id *nearest(contact_evidence *e, const motion *m, int k, double *least_gap) {
  const contact_id *least = NULL;
  *least_gap = INFINITY;
  for (int i = 0; i < e->near[1].count; i++) {
    arena_mark mark = arena_save(&e->memory);
    contact c;
    contact_geometry(e->system, &e->near[1].ids[i], m->x + (size_t)k * (size_t)m->size, &c,
                     &e->memory);
    arena_restore(&e->memory, mark);
    if (c.gap >= *least_gap) continue;
    *least_gap = c.gap;
    least = &e->near[1].ids[i];
  }
  return least;
}

carom_status contact_evidence_attribute(contact_evidence *e, const motion *m, int k,
                                        contact_list *found, carom_error *error) {
  told_list list = {0};
  bool enough_memory = tell_contacts(e, m, k, &list);
  found->count = 0;
  for (int i = 0; i < list.count && enough_memory; i++)
    enough_memory = contact_list_push(found, list.items[i].id);
  double gap;
  const contact_id *id = list.count == 0 && enough_memory ? nearest(e, m, k, &gap) : NULL;
  if (id != NULL) enough_memory = contact_list_push(found, *id);
  free(list.items);
  return enough_memory ? CAROM_OK : no_memory(error);
}

/* ---- scatter and free fall of the data ---- */

// marks the bodies of the contacts that are near
static void mark_busy(contact_evidence *e, const contact_list *near) {
  for (int k = 0; k < near->count; k++) {
    const contact_id *id = &near->ids[k];
    if (id->kind == CONTACT_LIMIT) continue;
    e->busy[id->first] = true;
    if (id->kind == CONTACT_PAIR) e->busy[id->second] = true;
  }
}

/* Samples of the free steps of all bodies: change of the centre's velocity and its speed,
 * [body_count][dimension + 1][most]. */
typedef struct fall_samples {
  int most;
  double *values;
} fall_samples;

static double *samples_of(const contact_evidence *e, const fall_samples *samples, int body_index,
                          int row) {
  const size_t rows = (size_t)e->system->dimension + 1;
  return samples->values + ((size_t)body_index * rows + (size_t)row) * (size_t)samples->most;
}

// `longer`: the usual step by the one that has been looked at
static void sample_body(contact_evidence *e, int body_index, double longer,
                        const fall_samples *samples) {
  const carom_system *s = e->system;
  free_fall *f = &e->falls[body_index];
  if (e->busy[body_index] || f->samples == samples->most || !untied(s, body_index)) return;
  const int first = s->bodies[body_index].first_point * s->dimension;
  double square = 0;
  for (int i = 0; i < s->dimension; i++) {
    samples_of(e, samples, body_index, i)[f->samples] = longer * e->step[CHANGE_WITHIN][first + i];
    square += e->step[VELOCITY_AFTER][first + i] * e->step[VELOCITY_AFTER][first + i];
  }
  samples_of(e, samples, body_index, s->dimension)[f->samples++] = sqrt(square);
}

static bool sample_falls(contact_evidence *e, int count, const motion *motions,
                         const fall_samples *samples) {
  const size_t stride = motion_stride(count, motions, samples->most);
  size_t place = 0;
  for (int i = 0; i < count; i++) {
    for (int k = 1; k < motions[i].states; k++) {
      if (place++ % stride != 0) continue;
      fill_step(e, &motions[i], k);
      if (!list_near(e, &motions[i], k)) return false;
      memset(e->busy, 0, sizeof(bool) * (size_t)e->system->body_count);
      for (int side = 0; side < 2; side++) mark_busy(e, &e->near[side]);
      const double longer = motions[i].dt / motion_time(&motions[i], k - 1, k);
      for (int b = 0; b < e->system->body_count; b++) sample_body(e, b, longer, samples);
    }
  }
  return true;
}

/* The usual change of velocity in a free step, median_k dv_k, and its deviation, 1.4826 times
 * median_k |dv_k - median|. */
static void finish_fall(contact_evidence *e, int body_index, const fall_samples *samples) {
  enum { LEAST_SAMPLES = 8 };
  free_fall *f = &e->falls[body_index];
  if (f->samples < LEAST_SAMPLES) {
    f->samples = 0;
    return;
  }
  for (int i = 0; i < e->system->dimension; i++) {
    double *of = samples_of(e, samples, body_index, i);
    f->change[i] = median(of, f->samples);
    for (int k = 0; k < f->samples; k++) of[k] = fabs(of[k] - f->change[i]);
    f->deviation = fmax(f->deviation, DEVIATION_OF_MEDIAN * median(of, f->samples));
  }
  f->speed = median(samples_of(e, samples, body_index, e->system->dimension), f->samples);
}

static bool measure_falls(contact_evidence *e, int count, const motion *motions) {
  enum { MOST_NUMBERS = 4000000, FEW_SAMPLES = 50 };
  const int rows = e->system->body_count * (e->system->dimension + 1);
  const int room = MOST_NUMBERS / rows;
  fall_samples samples = {.most = room > MOST_SAMPLES ? MOST_SAMPLES : room};
  if (samples.most < FEW_SAMPLES) samples.most = FEW_SAMPLES;
  samples.values = malloc(sizeof(double) * (size_t)rows * (size_t)samples.most);
  const bool done = samples.values != NULL && sample_falls(e, count, motions, &samples);
  for (int b = 0; b < e->system->body_count && done; b++) finish_fall(e, b, &samples);
  free(samples.values);
  return done;
}

static bool measure_scatter(contact_evidence *e, int count, const motion *motions) {
  double *samples = malloc(sizeof(double) * MOST_SAMPLES);
  for (int c = 0; c < e->system->coordinate_count && samples != NULL; c++)
    e->scatters[c] = motion_scatter(count, motions, c, samples, MOST_SAMPLES);
  const bool done = samples != NULL;
  free(samples);
  return done;
}

carom_status contact_evidence_create(const carom_system *system, int motion_count,
                                     const motion *motions, contact_evidence **evidence,
                                     carom_error *error) {
  carom_status status = contact_evidence_create_plain(system, evidence, error);
  if (status != CAROM_OK) return status;
  if (measure_scatter(*evidence, motion_count, motions) &&
      measure_falls(*evidence, motion_count, motions))
    return CAROM_OK;
  contact_evidence_destroy(*evidence);
  *evidence = NULL;
  return error_set(error, CAROM_OUT_OF_MEMORY, "no memory to look for contacts of %d points",
                   system->point_count);
}

carom_status contact_evidence_least_gap(contact_evidence *e, int count, const motion *motions,
                                        double *gap, int *property, carom_error *error) {
  const size_t stride = motion_stride(count, motions, MOST_SAMPLES);
  size_t place = 0;
  bool enough_memory = true;
  *gap = INFINITY;
  e->near[1].margin = e->near[1].bend_margin = INFINITY;
  for (int i = 0; i < count && enough_memory; i++) {
    for (int k = 0; k < motions[i].states && enough_memory; k++) {
      if (place++ % stride != 0) continue;
      const double *x = motions[i].x + (size_t)k * (size_t)motions[i].size;
      enough_memory = collision_detect(e->system, x, &e->near[1]);
      double here = INFINITY;
      const contact_id *id = enough_memory ? nearest(e, &motions[i], k, &here) : NULL;
      if (id == NULL || here >= *gap) continue;
      *gap = here;
      *property = id->property;
    }
  }
  e->near[1].bend_margin = NEAR_BEND;
  return enough_memory ? CAROM_OK : no_memory(error);
}

bool contact_evidence_free_change(const contact_evidence *e, double *change) {
  int most = -1;
  for (int b = 0; b < e->system->body_count; b++)
    if (e->falls[b].samples > 0 && (most < 0 || e->falls[b].samples > e->falls[most].samples))
      most = b;
  if (most < 0) return false;
  memcpy(change, e->falls[most].change, sizeof(double) * (size_t)e->system->dimension);
  return true;
}
