#include "learn/recording.h"

#include "base/error.h"
#include "base/size.h"
#include "base/vector.h"
#include "learn/chunks.h"
#include "learn/contact_evidence.h"
#include "learn/findings.h"
#include "learn/projection.h"
#include "learn/velocity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is needed on the way. */
typedef struct maker {
  recording *r;
  const carom_trajectories *given;
  const carom_dataset_options *options;
  carom_dataset *dataset;
  carom_error *error;
  carom_velocity velocity; /* as it will be done */
  motion *motions;         /* [run_count] */
  uint8_t *impacts;        /* [count][states] between the state before and this one */
  size_t size;
} maker;

static size_t place_of(const recording *r, const run *at) {
  return (size_t)at->trajectory * (size_t)r->states + (size_t)at->first;
}

static carom_status no_memory(const maker *k) {
  return error_set(k->error, CAROM_OUT_OF_MEMORY, "no memory for %d trajectories of %d states",
                   k->r->count, k->r->states);
}

/* ---- runs ---- */

static bool is_missing(const maker *k, size_t state) {
  const double *x = k->r->x + state * k->size;
  const double *v = k->r->v != NULL ? k->r->v + state * k->size : x;
  for (size_t i = 0; i < k->size; i++)
    if (isnan(x[i]) || isnan(v[i])) return true;
  return false;
}

static int length_of(const carom_trajectories *given, int trajectory) {
  return given->lengths != NULL ? given->lengths[trajectory] : given->state_count;
}

/* What runs leave out. */
typedef struct omissions {
  int missing;      /* states inside trajectories */
  int gapped;       /* trajectories that have one */
  int padded;       /* trajectories that end in missing states */
  int short_pieces; /* pieces too short for a chunk */
  int64_t short_states;
} omissions;

// one run, or what is too short for one
static void add_run(maker *k, int trajectory, int first, int states, omissions *out) {
  if (states >= k->options->chunk) {
    k->r->runs[k->r->run_count++] = (run){trajectory, first, states};
  } else if (states > 0) {
    out->short_pieces++;
    out->short_states += states;
  }
}

static void split_trajectory(maker *k, int trajectory, omissions *out) {
  const size_t start = (size_t)trajectory * (size_t)k->r->states;
  int length = length_of(k->given, trajectory), missing = 0;
  const int said = length;
  while (length > 0 && is_missing(k, start + (size_t)length - 1)) length--;
  out->padded += length < said;
  int first = 0;
  for (int at = 0; at <= length; at++) {
    if (at < length && !is_missing(k, start + (size_t)at)) continue;
    add_run(k, trajectory, first, at - first, out);
    missing += at < length;
    first = at + 1;
  }
  out->missing += missing;
  out->gapped += missing > 0;
}

static carom_status report_omissions(maker *k, const omissions *out) {
  carom_status status = CAROM_OK;
  if (out->missing > 0)
    status = finding_add(k->dataset, CAROM_FINDING_TRAJECTORIES, true, k->error,
                         "%d states inside %d trajectories are missing (NaN): cut there",
                         out->missing, out->gapped);
  if (status == CAROM_OK && out->padded > 0)
    status =
        finding_add(k->dataset, CAROM_FINDING_TRAJECTORIES, false, k->error,
                    "%d of %d trajectories end in missing states (NaN) and are taken as shorter",
                    out->padded, k->r->count);
  if (status == CAROM_OK && out->short_pieces > 0)
    status = finding_add(k->dataset, CAROM_FINDING_TRAJECTORIES, true, k->error,
                         "%d pieces with %lld states in all are shorter than a chunk of %d states "
                         "and are left out",
                         out->short_pieces, (long long)out->short_states, k->options->chunk);
  return status;
}

static carom_status check_lengths(const maker *k) {
  for (int i = 0; i < k->given->batch; i++) {
    const int length = length_of(k->given, i);
    if (length < 0 || length > k->given->state_count)
      return error_set(k->error, CAROM_INVALID_DATA,
                       "trajectory %d has a length of %d, must be from 0 to %d (states in memory)",
                       i, length, k->given->state_count);
  }
  return CAROM_OK;
}

static carom_status find_runs(maker *k) {
  recording *r = k->r;
  carom_status status = check_lengths(k);
  if (status != CAROM_OK) return status;
  // a chunk and a gap take at least three states
  r->runs = calloc((size_t)r->count * ((size_t)r->states / 3 + 1), sizeof *r->runs);
  if (r->runs == NULL) return no_memory(k);
  omissions out = {0};
  for (int i = 0; i < r->count; i++) split_trajectory(k, i, &out);
  if (r->run_count == 0)
    return error_set(k->error, CAROM_INVALID_DATA,
                     "all of the %d trajectories are shorter than a chunk of %d states; take a "
                     "smaller chunk or longer trajectories",
                     r->count, k->options->chunk);
  k->motions = calloc((size_t)r->run_count, sizeof *k->motions);
  k->impacts = calloc((size_t)r->count * (size_t)r->states, 1);
  if (k->motions == NULL || k->impacts == NULL) return no_memory(k);
  return report_omissions(k, &out);
}

/* The runs as motions, with the positions and velocities of now. */
static void fill_motions(maker *k) {
  const recording *r = k->r;
  for (int i = 0; i < r->run_count; i++) {
    const size_t at = place_of(r, &r->runs[i]) * k->size;
    k->motions[i] = (motion){r->runs[i].states,
                             (int)k->size,
                             r->dt,
                             r->x + at,
                             r->v != NULL ? r->v + at : NULL,
                             r->times != NULL ? r->times + place_of(r, &r->runs[i]) : NULL};
  }
}

static carom_status check_finite(const maker *k) {
  const recording *r = k->r;
  for (int i = 0; i < r->run_count; i++) {
    for (int s = 0; s < r->runs[i].states; s++) {
      const size_t at = (place_of(r, &r->runs[i]) + (size_t)s) * k->size;
      for (size_t c = 0; c < k->size; c++)
        if (isinf(r->x[at + c]) || (r->v != NULL && isinf(r->v[at + c])))
          return error_set(
              k->error, CAROM_INVALID_DATA,
              "trajectory %d, step %d: %s of body '%s' (coordinate %zu of the state) is "
              "infinite",
              r->runs[i].trajectory, r->runs[i].first + s,
              isinf(r->x[at + c]) ? "position" : "velocity",
              carom_system_body_id(r->system,
                                   r->system->point_body[c / (size_t)r->system->dimension]),
              c);
    }
  }
  return CAROM_OK;
}

/* ---- projection ---- */

static double *copy_of(const maker *k, const double *values) {
  const size_t bytes = sizeof(double) * (size_t)k->r->count * (size_t)k->r->states * k->size;
  double *copy = malloc(bytes);
  if (copy != NULL) memcpy(copy, values, bytes);
  return copy;
}

static double largest_difference(const double *a, const double *b, size_t count) {
  double largest = 0;
  for (size_t i = 0; i < count; i++) largest = fmax(largest, fabs(a[i] - b[i]));
  return largest;
}

/* How far states were moved, in coordinates. */
typedef struct moves {
  int64_t states, moved;
  double largest, sum;
} moves;

static void add_move(moves *m, double distance) {
  const double nothing = 1e-9;
  m->states++;
  m->moved += distance > nothing;
  m->largest = fmax(m->largest, distance);
  m->sum += distance;
}

static carom_status project_positions(maker *k) {
  recording *r = k->r;
  r->owned_x = copy_of(k, r->x);
  if (r->owned_x == NULL) return no_memory(k);
  projection onto;
  moves m = {0};
  carom_status status = projection_init(&onto, r->system) ? CAROM_OK : no_memory(k);
  for (int i = 0; i < r->run_count && status == CAROM_OK; i++) {
    for (int s = 0; s < r->runs[i].states && status == CAROM_OK; s++) {
      const size_t at = (place_of(r, &r->runs[i]) + (size_t)s) * k->size;
      if (!projection_positions(&onto, r->owned_x + at))
        status =
            error_set(k->error, CAROM_INVALID_DATA,
                      "trajectory %d, step %d: cannot be put on the constraints; is it data of "
                      "this scene, with its points in this order?",
                      r->runs[i].trajectory, r->runs[i].first + s);
      add_move(&m, largest_difference(r->x + at, r->owned_x + at, k->size));
    }
  }
  projection_free(&onto);
  r->x = r->owned_x;
  if (status != CAROM_OK) return status;
  return finding_add(
      k->dataset, CAROM_FINDING_PROJECTION, false, k->error,
      "%lld of %lld states were put on the constraints: positions changed by %.3g on "
      "average, %.3g at most",
      (long long)m.moved, (long long)m.states, m.sum / (double)m.states, m.largest);
}

// velocities that were made here, or all if states are projected, into the tangent space
static carom_status project_velocities(maker *k) {
  recording *r = k->r;
  projection onto;
  const bool ready = projection_init(&onto, r->system);
  for (int i = 0; i < r->run_count && ready; i++) {
    for (int s = 0; s < r->runs[i].states; s++) {
      const size_t at = (place_of(r, &r->runs[i]) + (size_t)s) * k->size;
      projection_velocities(&onto, r->x + at, r->owned_v + at);
    }
  }
  projection_free(&onto);
  return ready ? CAROM_OK : no_memory(k);
}

/* ---- contacts ---- */

static carom_status find_contacts(maker *k, contact_evidence *evidence, evidence_counts *counts) {
  recording *r = k->r;
  carom_status status = CAROM_OK;
  for (int i = 0; i < r->run_count && status == CAROM_OK; i++) {
    const size_t at = place_of(r, &r->runs[i]);
    status = contact_evidence_flag(evidence, &k->motions[i], r->owned_contact + at, k->impacts + at,
                                   counts, k->error);
  }
  return status;
}

// where contacts are given, the first state of each is behind an impact as well
static void add_given_contacts(maker *k) {
  recording *r = k->r;
  for (int i = 0; i < r->run_count; i++) {
    const size_t at = place_of(r, &r->runs[i]);
    for (int s = 1; s < r->runs[i].states; s++)
      if (k->given->contact[at + (size_t)s] && !k->given->contact[at + (size_t)s - 1])
        k->impacts[at + (size_t)s] = 1;
  }
}

/* ---- velocities ---- */

static carom_status compare_velocities(maker *k) {
  const recording *r = k->r;
  const uint8_t **flags = calloc((size_t)r->run_count, sizeof *flags);
  if (flags == NULL) return no_memory(k);
  for (int i = 0; i < r->run_count; i++) flags[i] = r->owned_contact + place_of(r, &r->runs[i]);
  velocity_fit fit;
  carom_status status =
      velocity_fit_find(r->system, r->run_count, k->motions, flags, &fit, k->error);
  free(flags);
  if (status != CAROM_OK || fit.convention == VELOCITY_UNDECIDED) return status;
  static const struct {
    const char *text;
    carom_velocity remedy;
  } found[] = {[VELOCITY_OF_STATE] = {"v_k belongs to x_k", CAROM_VELOCITY_GIVEN},
               [VELOCITY_OF_STEP_BEFORE] = {"v_k is that of the step before, (x_k - x_{k-1}) / dt",
                                            CAROM_VELOCITY_NEXT},
               [VELOCITY_OF_STEP_AFTER] = {"v_k is that of the step after, (x_{k+1} - x_k) / dt",
                                           CAROM_VELOCITY_PREVIOUS}};
  const carom_velocity remedy = found[fit.convention].remedy;
  const bool as_said = remedy == k->velocity;
  return finding_add(k->dataset, CAROM_FINDING_VELOCITY, !as_said, k->error,
                     "%s (off the differences before, about, after: %.2g, %.2g, %.2g)%s%s",
                     found[fit.convention].text, fit.backward, fit.central, fit.forward,
                     as_said ? "" : "; learning needs v_k at x_k: take --velocity ",
                     as_said ? "" : carom_velocity_name(remedy));
}

/* Velocities of tips that were moved or made from those of other states do not belong to a rigid motion: e' at two
 * orientations has a mean that shortens the axis. The centre's velocity is right; the nearest rigid motion of all
 * points would change it, by as much as dt |omega|^2 / 8. So tips keep their turn alone:
 * omega = 1/2 sum e_k x (v_k - v_0), v_k = v_0 + omega x e_k. In the plane e' = omega e turned by 90 degrees. */
static void turn_tips(const body *b, int d, const double *x, double *v) {
  const double *x0 = x + b->first_point * d;
  double *v0 = v + b->first_point * d, omega[3] = {0, 0, 0};
  for (int t = 1; t <= d; t++) {
    double e[3] = {0, 0, 0}, w[3] = {0, 0, 0}, turn[3];
    for (int i = 0; i < d; i++) e[i] = x0[t * d + i] - x0[i], w[i] = v0[t * d + i] - v0[i];
    vector_cross(e, w, turn);
    for (int i = 0; i < 3; i++) omega[i] += 0.5 * turn[i];
  }
  for (int t = 1; t <= d; t++) {
    double e[3] = {0, 0, 0}, w[3];
    for (int i = 0; i < d; i++) e[i] = x0[t * d + i] - x0[i];
    vector_cross(omega, e, w);
    for (int i = 0; i < d; i++) v0[t * d + i] = v0[i] + w[i];
  }
}

static void turn_rigid_bodies(maker *k) {
  const recording *r = k->r;
  const carom_system *s = r->system;
  for (int i = 0; i < r->run_count; i++)
    for (int state = 0; state < r->runs[i].states; state++) {
      const size_t at = (place_of(r, &r->runs[i]) + (size_t)state) * k->size;
      for (int b = 0; b < s->body_count; b++)
        if (s->bodies[b].rigid) turn_tips(&s->bodies[b], s->dimension, r->x + at, r->owned_v + at);
    }
}

static carom_status make_velocities(maker *k) {
  recording *r = k->r;
  r->owned_v = r->v != NULL
                   ? copy_of(k, r->v)
                   : calloc((size_t)r->count * (size_t)r->states * k->size, sizeof(double));
  bool done = r->owned_v != NULL;
  for (int i = 0; i < r->run_count && done; i++) {
    const size_t at = place_of(r, &r->runs[i]);
    const uint8_t *impacts = k->impacts + at;
    double *v = r->owned_v + at * k->size;
    if (k->velocity == CAROM_VELOCITY_NEXT || k->velocity == CAROM_VELOCITY_PREVIOUS)
      done = velocity_shift(&k->motions[i], impacts, k->velocity == CAROM_VELOCITY_PREVIOUS, v);
    else if (k->velocity != CAROM_VELOCITY_GIVEN)
      velocity_estimate(&k->motions[i], impacts, k->velocity == CAROM_VELOCITY_ESTIMATE ? 2 : 1, v);
  }
  if (!done) return no_memory(k);
  r->v = r->owned_v;
  if (k->velocity != CAROM_VELOCITY_GIVEN) turn_rigid_bodies(k);
  carom_status status = project_velocities(k);
  if (status != CAROM_OK || k->velocity == CAROM_VELOCITY_GIVEN) return status;
  static const char *const how[] = {
      [CAROM_VELOCITY_NEXT] = "moved from the step before each state to the state",
      [CAROM_VELOCITY_PREVIOUS] = "moved from the step after each state to the state",
      [CAROM_VELOCITY_CENTRAL] = "computed from positions (central differences)",
      [CAROM_VELOCITY_ESTIMATE] = "computed from positions (parabolas through five states)"};
  return finding_add(k->dataset, CAROM_FINDING_VELOCITY, false, k->error,
                     "velocities are %s, on each side of an impact by itself%s", how[k->velocity],
                     k->given->v == NULL ? "; there are none in the data" : "");
}

/* ---- findings ---- */

static carom_status report_no_contact(maker *k, contact_evidence *evidence) {
  double gap;
  int property = 0;
  char label[64];
  carom_status status =
      contact_evidence_least_gap(evidence, k->r->run_count, k->motions, &gap, &property, k->error);
  if (status != CAROM_OK) return status;
  carom_system_contact_label(k->r->system, property, label, sizeof label);
  return finding_add(
      k->dataset, CAROM_FINDING_CONTACTS, true, k->error,
      "no contact in the data, though the scene has %d possible ones: nothing tells "
      "friction or restitution. The least gap is %.3g, of %s: look at units, offsets "
      "of planes, radii",
      k->r->system->contact_count, gap, label);
}

static carom_status report_contacts(maker *k, contact_evidence *evidence,
                                    const evidence_counts *counts) {
  const int64_t *n = counts->contacts;
  if (k->r->system->contact_count == 0) return CAROM_OK;
  if (n[EVIDENCE_PENETRATION] + n[EVIDENCE_JUMP] + n[EVIDENCE_FLIGHT] + n[EVIDENCE_HELD] == 0)
    return report_no_contact(k, evidence);
  return finding_add(
      k->dataset, CAROM_FINDING_CONTACTS, false, k->error,
      "contacts told by penetration %lld, by a jump of velocity %lld, by a flight that "
      "would have gone through %lld, by a body that is held %lld",
      (long long)n[EVIDENCE_PENETRATION], (long long)n[EVIDENCE_JUMP],
      (long long)n[EVIDENCE_FLIGHT], (long long)n[EVIDENCE_HELD]);
}

// free bodies beside the scene's gravity, which is what tells another unit of length or time
static carom_status report_fall(maker *k, const contact_evidence *evidence) {
  const carom_system *s = k->r->system;
  double change[MAX_DIMENSION], fall = 0, gravity = 0;
  if (!contact_evidence_free_change(evidence, change) || s->spring_count > 0) return CAROM_OK;
  for (int i = 0; i < s->dimension; i++) {
    fall += change[i] * change[i] / (k->r->dt * k->r->dt);
    gravity += s->gravity[i] * s->gravity[i];
  }
  fall = sqrt(fall);
  gravity = sqrt(gravity);
  if (gravity == 0) return CAROM_OK;
  const bool far = fall > 1.5 * gravity || fall < gravity / 1.5;
  return finding_add(k->dataset, CAROM_FINDING_UNITS, far, k->error,
                     "free bodies accelerate by %.3g, the scene's gravity is %.3g%s", fall, gravity,
                     far ? ": another unit of length, or another time step? carom import has "
                           "--length-factor and --dt"
                         : "");
}

/* ---- the whole ---- */

static carom_status examine(maker *k) {
  recording *r = k->r;
  contact_evidence *evidence;
  evidence_counts counts = {0};
  fill_motions(k);
  carom_status status =
      contact_evidence_create(r->system, r->run_count, k->motions, &evidence, k->error);
  if (status != CAROM_OK) return status;
  status = find_contacts(k, evidence, &counts);
  if (status == CAROM_OK && k->given->contact != NULL) add_given_contacts(k);
  if (status == CAROM_OK && r->v != NULL) status = compare_velocities(k);
  if (status == CAROM_OK) status = report_contacts(k, evidence, &counts);
  if (status == CAROM_OK) status = report_fall(k, evidence);
  contact_evidence_destroy(evidence);
  return status;
}

// velocities of another time part what they should hold together: the message says so
static carom_status blame_velocities(const maker *k, carom_status status) {
  if (status == CAROM_OK || k->error == NULL) return status;
  for (int i = 0; i < k->dataset->finding_count; i++) {
    const carom_finding *f = &k->dataset->findings[i];
    const size_t length = strlen(k->error->message);
    if (f->kind == CAROM_FINDING_VELOCITY && f->warning)
      snprintf(k->error->message + length, sizeof k->error->message - length, ". %s", f->text);
  }
  return status;
}

static carom_status check_runs(const maker *k) {
  const recording *r = k->r;
  carom_status status = CAROM_OK;
  for (int i = 0; i < r->run_count && status == CAROM_OK; i++) {
    const size_t at = place_of(r, &r->runs[i]) * k->size;
    status = trajectory_check(r->system, "trajectory", r->runs[i].trajectory, r->runs[i].first,
                              r->runs[i].states, r->x + at, r->v + at, k->error);
  }
  return blame_velocities(k, status);
}

static carom_status make(maker *k) {
  recording *r = k->r;
  r->owned_contact = size_allocate_zero((size_t)r->count * (size_t)r->states, 1);
  if (r->owned_contact == NULL) return no_memory(k);
  carom_status status = find_runs(k);
  if (status == CAROM_OK) status = check_finite(k);
  if (status == CAROM_OK && k->options->project) status = project_positions(k);
  if (status == CAROM_OK) status = examine(k);
  if (status == CAROM_OK && (k->velocity != CAROM_VELOCITY_GIVEN || k->options->project))
    status = make_velocities(k);
  if (status == CAROM_OK) status = check_runs(k);
  r->contact = k->given->contact != NULL ? k->given->contact : r->owned_contact;
  return status;
}

// velocities that are computed from positions, or are not there, are not looked at
static carom_velocity velocity_to_do(const carom_trajectories *given, carom_velocity wanted) {
  return given->v == NULL && wanted != CAROM_VELOCITY_CENTRAL ? CAROM_VELOCITY_ESTIMATE : wanted;
}

carom_status recording_make(const carom_system *system, const carom_trajectories *given,
                            const carom_dataset_options *options, recording *r,
                            carom_dataset *dataset, carom_error *error) {
  maker k = {.r = r,
             .given = given,
             .options = options,
             .dataset = dataset,
             .error = error,
             .velocity = velocity_to_do(given, options->velocity),
             .size = (size_t)system->coordinate_count};
  *r = (recording){.system = system,
                   .count = given->batch,
                   .states = given->state_count,
                   .dt = given->dt,
                   .times = given->times,
                   .x = given->x};
  if (k.velocity < CAROM_VELOCITY_CENTRAL) r->v = given->v;
  const bool moved =
      options->velocity == CAROM_VELOCITY_NEXT || options->velocity == CAROM_VELOCITY_PREVIOUS;
  if (moved && given->v == NULL)
    return error_set(error, CAROM_INVALID_DATA,
                     "there are no velocities that could be moved; take central or estimate, which "
                     "need positions alone");
  const carom_status status = make(&k);
  free(k.motions);
  free(k.impacts);
  return status;
}

void recording_free(recording *r) {
  free(r->runs);
  free(r->owned_x);
  free(r->owned_v);
  free(r->owned_contact);
}
