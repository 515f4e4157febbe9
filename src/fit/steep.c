#include "fit/steep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/size.h"
#include "fit/state_descent.h"

enum {
  AXES = 4,   /* the steepest, on which valleys stand closest */
  REACH = 15, /* points on each side of an axis */
  DIPS = 4    /* that a piece descends from */
};

/* Points of an axis in deviations: the further they are, the further apart. */
static double place_of(int point) {
  enum { EVEN = 6 };
  const double SPACING = 4, GROWTH = 1.25; // the last is at 179
  const double side = point < REACH ? -1 : 1;
  int k = abs(point - REACH);
  return side * SPACING * (k <= EVEN ? k : EVEN * pow(GROWTH, k - EVEN));
}

/* Dips of the cost of each suspect. */
typedef struct survey {
  minimiser *m;
  state_descent d;
  double *line;         /* [suspects][2 REACH + 1] costs along an axis */
  double *depth;        /* [suspects][DIPS] costs in the best dips, the least first */
  double *where;        /* [suspects][DIPS][f] and their places */
  double *found, *best; /* [piece_count][2 D], [piece_count] the best descent of each */
  double *limit;        /* [piece_count] of the cost: what is higher does not lead lower */
} survey;

static bool survey_make(survey *s, minimiser *m) {
  const size_t n = (size_t)m->sh->piece_count, f = (size_t)m->sh->f;
  *s = (survey){.m = m};
  if (!state_descent_make(&s->d, m->sh, m->q)) return false;
  s->line = size_allocate(n * (2 * REACH + 1 + DIPS * (1 + f) + 2 * (size_t)m->sh->D + 2),
                          sizeof(double));
  if (s->line == NULL) return false;
  s->depth = s->line + n * (2 * REACH + 1);
  s->where = s->depth + n * DIPS;
  s->found = s->where + n * DIPS * f;
  s->best = s->found + n * 2 * (size_t)m->sh->D;
  s->limit = s->best + n;
  return true;
}

static void survey_free(survey *s) {
  state_descent_free(&s->d);
  free(s->line);
}

/* A point of one axis: costs of all suspects there. Infinite where motion cannot be computed, or
 * above the limit. */
static carom_status look(survey *s, int axis, int point, carom_error *error) {
  state_descent *d = &s->d;
  shooting *sh = d->sh;
  const int f = sh->f;
  bool there;
  for (int k = 0; k < d->suspect_count; k++) {
    int i = d->suspects[k];
    const double *along = d->axes + ((size_t)i * (size_t)f + (size_t)axis) * (size_t)f;
    for (int c = 0; c < f; c++) d->z[c] = place_of(point) * along[c];
    state_descent_copy(d, d->trial, s->m->starts, i);
    if (!tangent_move(&sh->tangent, state_descent_state(d, d->trial, i), d->z))
      state_descent_copy(d, d->trial, s->m->starts, i);
  }
  carom_status status =
      shooting_try(sh, d->q, d->trial, d->suspects, d->suspect_count, s->limit, &there, error);
  for (int k = 0; k < d->suspect_count; k++)
    s->line[k * (2 * REACH + 1) + point] = there ? sh->piece_cost[d->suspects[k]] : INFINITY;
  return status;
}

/* A dip of a suspect goes to its place among the best. */
static void keep_dip(survey *s, int suspect, int axis, double by, double cost) {
  const size_t f = (size_t)s->d.sh->f;
  double *depth = s->depth + (size_t)suspect * DIPS, *where = s->where + (size_t)suspect * DIPS * f;
  int at = DIPS;
  while (at > 0 && cost < depth[at - 1]) at--;
  if (at == DIPS) return;
  memmove(depth + at + 1, depth + at, sizeof(double) * (size_t)(DIPS - 1 - at));
  memmove(where + (size_t)(at + 1) * f, where + (size_t)at * f,
          sizeof(double) * (size_t)(DIPS - 1 - at) * f);
  depth[at] = cost;
  const double *along = s->d.axes + ((size_t)s->d.suspects[suspect] * f + (size_t)axis) * f;
  for (size_t c = 0; c < f; c++) where[(size_t)at * f + c] = by * along[c];
}

static carom_status survey_axis(survey *s, int axis, carom_error *error) {
  carom_status status = CAROM_OK;
  for (int point = 0; point <= 2 * REACH && status == CAROM_OK; point++)
    status = look(s, axis, point, error);
  for (int k = 0; k < s->d.suspect_count && status == CAROM_OK; k++) {
    const double *line = s->line + k * (2 * REACH + 1);
    for (int point = 1; point < 2 * REACH; point++)
      if (point != REACH && line[point] < line[point - 1] && line[point] <= line[point + 1] &&
          line[point] < s->limit[s->d.suspects[k]])
        keep_dip(s, k, axis, place_of(point), line[point]);
  }
  return status;
}

/* Descents of all suspects from one dip each. */
static carom_status descend_from(survey *s, int dip, carom_error *error) {
  enum { STEPS = 8 };
  state_descent *d = &s->d;
  shooting *sh = d->sh;
  const size_t f = (size_t)sh->f;
  d->count = 0;
  for (int k = 0; k < d->suspect_count; k++) {
    int i = d->suspects[k];
    if (isinf(s->depth[k * DIPS + dip])) continue;
    state_descent_copy(d, d->starts, s->m->starts, i);
    if (tangent_move(&sh->tangent, state_descent_state(d, d->starts, i),
                     s->where + ((size_t)k * DIPS + (size_t)dip) * f))
      d->pieces[d->count++] = i;
    d->cost[i] = INFINITY;
  }
  carom_status status = d->count > 0 ? state_descent_run(d, STEPS, error) : CAROM_OK;
  for (int k = 0; k < d->count && status == CAROM_OK; k++) {
    int i = d->pieces[k];
    if (!(d->cost[i] < s->best[i])) continue;
    s->best[i] = d->cost[i];
    state_descent_copy(d, s->found, d->starts, i);
  }
  return status;
}

static carom_status search(survey *s, bool *moved, carom_error *error) {
  const double HIGH = 200; // of the cost
  state_descent *d = &s->d;
  bool there;
  carom_status status =
      state_descent_evaluate(d, s->m->starts, d->suspects, d->suspect_count, true, &there, error);
  if (status != CAROM_OK || !there) return status;
  for (int k = 0; k < d->suspect_count; k++) state_descent_axes(d, d->suspects[k]);
  for (int k = 0; k < d->suspect_count * DIPS; k++) s->depth[k] = INFINITY;
  for (int i = 0; i < d->sh->piece_count; i++) {
    s->best[i] = INFINITY;
    s->limit[i] = s->m->totals[i] + HIGH;
  }
  // eigenvalues ascend
  const int f = d->sh->f;
  for (int axis = f > AXES ? f - AXES : 0; axis < f && status == CAROM_OK; axis++)
    status = survey_axis(s, axis, error);
  for (int dip = 0; dip < DIPS && status == CAROM_OK; dip++) status = descend_from(s, dip, error);
  for (int k = 0; k < d->suspect_count && status == CAROM_OK; k++) {
    int i = d->suspects[k];
    d->cost[i] = s->best[i];
    state_descent_copy(d, d->starts, s->found, i);
  }
  if (status == CAROM_OK) state_descent_take(d, s->m, moved);
  return status;
}

carom_status steep_search(minimiser *m, bool *moved, carom_error *error) {
  survey s;
  *moved = false;
  if (!m->sh->free_states || m->sh->join > 0) return CAROM_OK;
  carom_status status =
      survey_make(&s, m) ? state_descent_find_suspects(&s.d, m, -INFINITY, error)
                         : error_set(error, CAROM_OUT_OF_MEMORY,
                                     "no memory for first states of %d pieces", m->sh->piece_count);
  if (status == CAROM_OK && s.d.suspect_count > 0) status = search(&s, moved, error);
  survey_free(&s);
  return status;
}
