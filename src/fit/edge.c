#include "fit/edge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "base/vector.h"
#include "fit/state_descent.h"

enum { MOST_NORMALS = 4 };

/* One piece at an edge. Directions are of w, deviations of its first state along the principal
 * axes. */
typedef struct slide {
  minimiser *m;
  state_descent d;
  int piece;
  double cost;             /* where it stands */
  double *centre;          /* [f] w* */
  double *along;           /* [f] what is left of it beside the edges */
  double *from, *ray, *at; /* [f] scratch */
  double *normals;         /* [MOST_NORMALS][f] of the edges that were met, orthonormal */
  double *limit;           /* [piece_count] cost from which on a place is beyond an edge */
  int normal_count;
} slide;

static bool slide_make(slide *s, minimiser *m) {
  const size_t f = (size_t)m->sh->f;
  *s = (slide){.m = m};
  if (!state_descent_make(&s->d, m->sh, m->q)) return false;
  s->centre = size_allocate((5 + MOST_NORMALS) * f + (size_t)m->sh->piece_count, sizeof(double));
  if (s->centre == NULL) return false;
  s->along = s->centre + f;
  s->from = s->along + f;
  s->ray = s->from + f;
  s->at = s->ray + f;
  s->normals = s->at + f;
  s->limit = s->normals + MOST_NORMALS * f;
  return true;
}

static void slide_free(slide *s) {
  state_descent_free(&s->d);
  free(s->centre);
}

/* The cost at w, and whether it is far above the sphere there. */
static carom_status look(slide *s, const double *w, double *cost, bool *beyond,
                         carom_error *error) {
  const double JUMP = 4; // of the cost
  state_descent *d = &s->d;
  shooting *sh = d->sh;
  const int f = sh->f;
  const double *axes = d->axes + (size_t)s->piece * (size_t)(f * f);
  double rise = 0;
  bool there;
  memset(d->z, 0, sizeof(double) * (size_t)f);
  for (int k = 0; k < f; k++) {
    for (int c = 0; c < f; c++) d->z[c] += w[k] * axes[k * f + c];
    rise += 0.5 * w[k] * w[k] - w[k] * s->centre[k];
  }
  *cost = INFINITY;
  *beyond = true;
  state_descent_copy(d, d->trial, d->starts, s->piece);
  if (!tangent_move(&sh->tangent, state_descent_state(d, d->trial, s->piece), d->z))
    return CAROM_OK;
  s->limit[s->piece] = s->cost + rise + JUMP;
  carom_status status = shooting_try(sh, d->q, d->trial, &s->piece, 1, s->limit, &there, error);
  if (there) *cost = sh->piece_cost[s->piece];
  *beyond = !(*cost < s->limit[s->piece]);
  return status;
}

/* How far it is from `from` along a ray to an edge; infinite where there is none up to `most`. */
static carom_status distance(slide *s, const double *from, const double *ray, double most,
                             double *t, carom_error *error) {
  enum { HALVINGS = 9 };
  const int f = s->d.sh->f;
  double inside = 0, outside = most, cost;
  bool beyond;
  for (int step = 0; step <= HALVINGS; step++) {
    const double to = step == 0 ? most : 0.5 * (inside + outside);
    for (int k = 0; k < f; k++) s->at[k] = from[k] + to * ray[k];
    carom_status status = look(s, s->at, &cost, &beyond, error);
    if (status != CAROM_OK) return status;
    if (step == 0 && !beyond) {
      *t = INFINITY;
      return CAROM_OK;
    }
    *(beyond ? &outside : &inside) = to;
  }
  *t = outside;
  return CAROM_OK;
}

/* The normal of the edge that s->along meets goes to the others, orthogonal to them; `found` is
 * false if there is none. */
static carom_status find_normal(slide *s, bool *found, carom_error *error) {
  static const double before[] = {0.3, 0.1, 0.03, 0.01}; // deviations: another edge may be behind
  enum { BEFORE = sizeof before / sizeof before[0] };
  const double SLANT = 0.5, FAR = 4; // of a ray; times the distance
  const int f = s->d.sh->f;
  const double length = sqrt(vector_dot(s->along, s->along, f));
  double *n = s->normals + s->normal_count * f, *from = s->from, *ray = s->ray, reach, cost;
  bool beyond = true;
  carom_status status = CAROM_OK;
  *found = false;
  for (int k = 0; k < f; k++) ray[k] = s->along[k] / length;
  for (int b = 0; b < BEFORE && beyond && status == CAROM_OK; b++) {
    for (int k = 0; k < f; k++) from[k] = -before[b] * ray[k];
    status = look(s, from, &cost, &beyond, error);
  }
  if (status == CAROM_OK && !beyond)
    status = distance(s, from, ray, before[0] + length, &reach, error);
  if (status != CAROM_OK || beyond || isinf(reach)) return status;
  for (int k = 0; k < f && status == CAROM_OK; k++) {
    double t = INFINITY;
    n[k] = ray[k];
    for (int side = 1; side >= -1 && isinf(t) && status == CAROM_OK; side -= 2) {
      ray[k] = s->along[k] / length + side * SLANT;
      status = distance(s, from, ray, FAR * reach, &t, error);
      if (isfinite(t)) n[k] = side * (reach / t - 1) / SLANT;
    }
    ray[k] = s->along[k] / length;
  }
  for (int i = 0; i < s->normal_count; i++) {
    const double *other = s->normals + i * f;
    const double part = vector_dot(n, other, f);
    for (int k = 0; k < f; k++) n[k] -= part * other[k];
  }
  const double size = sqrt(vector_dot(n, n, f));
  for (int k = 0; k < f; k++) n[k] /= size;
  *found = size > 0;
  s->normal_count += *found;
  return status;
}

/* What is left of the way to w* beside the edges, a bit before them. */
static void set_along(slide *s) {
  const int f = s->d.sh->f;
  memcpy(s->along, s->centre, sizeof(double) * (size_t)f);
  for (int i = 0; i < s->normal_count; i++) {
    const double *n = s->normals + i * f, part = vector_dot(s->along, n, f);
    for (int k = 0; k < f; k++) s->along[k] -= part * n[k];
  }
}

/* As far along the edges as the cost falls. */
static carom_status go(slide *s, bool *moved, carom_error *error) {
  static const double parts[] = {1, 0.6, 0.3, 0.1};
  const double MARGIN = 0.02, LEAST = 0.02; // deviations; of the cost
  const int f = s->d.sh->f;
  double cost;
  bool beyond;
  *moved = false;
  for (size_t p = 0; p < sizeof parts / sizeof parts[0] && !*moved; p++) {
    for (int k = 0; k < f; k++) {
      s->at[k] = parts[p] * s->along[k];
      for (int i = 0; i < s->normal_count; i++) s->at[k] -= MARGIN * s->normals[i * f + k];
    }
    carom_status status = look(s, s->at, &cost, &beyond, error);
    if (status != CAROM_OK) return status;
    *moved = cost < s->cost - LEAST;
    if (*moved) state_descent_copy(&s->d, s->d.starts, s->d.trial, s->piece);
  }
  return CAROM_OK;
}

static const double WORTH = 0.2; // of the cost

/* w* of the piece by its derivatives as they were evaluated last; false if it is where it
 * stands. */
static bool set_centre(slide *s) {
  const int f = s->d.sh->f;
  const double *axes = state_descent_axes(&s->d, s->piece);
  for (int k = 0; k < f; k++)
    s->centre[k] = -vector_dot(axes + k * f, s->d.sh->normals[s->piece].gs, f);
  return 0.5 * vector_dot(s->centre, s->centre, f) > WORTH;
}

/* One move of the piece, from derivatives there. */
static carom_status slide_once(slide *s, bool *moved, carom_error *error) {
  state_descent *d = &s->d;
  const int f = d->sh->f;
  bool there, found = true;
  *moved = false;
  carom_status status = state_descent_evaluate(d, d->starts, &s->piece, 1, true, &there, error);
  if (status != CAROM_OK || !there || !set_centre(s)) return status;
  s->cost = d->sh->piece_cost[s->piece];
  s->normal_count = 0;
  set_along(s);
  while (status == CAROM_OK && s->normal_count < MOST_NORMALS && found && !*moved &&
         0.5 * vector_dot(s->along, s->along, f) > WORTH) {
    status = find_normal(s, &found, error);
    set_along(s);
    if (status == CAROM_OK && found) status = go(s, moved, error);
  }
  return status;
}

static carom_status slide_piece(slide *s, bool *moved, carom_error *error) {
  enum { TIMES = 4, STEPS = 4 };
  state_descent *d = &s->d;
  bool again = true, better = false;
  carom_status status = CAROM_OK;
  for (int k = 0; k < TIMES && again && status == CAROM_OK; k++) {
    status = slide_once(s, &again, error);
    if (!again || status != CAROM_OK) break;
    d->pieces[0] = s->piece;
    d->count = 1;
    status = state_descent_run(d, STEPS, error);
    better = true;
  }
  *moved = *moved || better;
  if (better) state_descent_copy(d, s->m->starts, d->starts, s->piece);
  return status;
}

static carom_status search(slide *s, bool *moved, carom_error *error) {
  state_descent *d = &s->d;
  const shooting *sh = d->sh;
  double cost;
  memcpy(d->starts, s->m->starts, sizeof(double) * (size_t)sh->piece_count * 2 * (size_t)sh->D);
  carom_status status = shooting_evaluate(d->sh, d->q, d->starts, NULL, 0, true, &cost, error);
  if (status != CAROM_OK || isinf(cost)) return status;
  d->suspect_count = 0;
  for (s->piece = 0; s->piece < sh->piece_count; s->piece++)
    if (set_centre(s)) d->suspects[d->suspect_count++] = s->piece;
  for (int k = 0; k < d->suspect_count && status == CAROM_OK; k++) {
    s->piece = d->suspects[k];
    status = slide_piece(s, moved, error);
  }
  return status;
}

carom_status edge_search(minimiser *m, bool *moved, carom_error *error) {
  slide s;
  *moved = false;
  if (!m->sh->free_states || m->sh->join > 0) return CAROM_OK;
  carom_status status = slide_make(&s, m)
                            ? search(&s, moved, error)
                            : error_set(error, CAROM_OUT_OF_MEMORY, "no memory for an edge");
  slide_free(&s);
  return status;
}
