#include "nn/relation_touch.h"

#include <math.h>

/* The lowest of the points of a shape; else the contact itself. */
static contact_id nearest(const carom_system *s, const contact_id *of, const double *x) {
  contact_id best = *of;
  double least = contact_gap(s, &best, x);
  const body *b = of->kind == CONTACT_POINT_PLANE ? &s->bodies[of->first] : NULL;
  for (int k = 1; b != NULL && b->shape == SHAPE_POINTS && k < b->shape_point_count; k++) {
    contact_id id = *of;
    id.detail = k;
    const double gap = contact_gap(s, &id, x);
    if (!(gap < least)) continue;
    least = gap;
    best = id;
  }
  return best;
}

/* A limit has a lower side too, but for a bend in space, which has no sign. */
static bool has_other_side(const carom_system *s, const relation *r) {
  if (r->touch.kind != CONTACT_LIMIT) return false;
  return s->limits[r->touch.first].kind == LIMIT_STRETCH || s->dimension == 2;
}

static contact_id other_side(const relation *r) {
  contact_id id = r->touch;
  id.detail = 1;
  return id;
}

/* A contact of the relation at x, and its velocity. */
static contact touch_at(const carom_system *s, const contact_id *id, const double *x,
                        const double *v, double *velocity, arena *scratch) {
  contact c;
  contact_geometry(s, id, x, &c, scratch);
  c.turns = true; // the components along both tangents are seen
  contact_apply(&c, s->dimension, v, velocity);
  return c;
}

/* g, infinite where a limit has no such side */
static double seen_gap(const contact *c, const relation *r, const touch_units *u,
                       const double *velocity) {
  const double gap = c->gap + (u->ahead ? u->dt * velocity[0] : 0);
  return r->arm * gap / (u->speed * u->dt);
}

static double squash(double g) { return isinf(g) ? 1 : g / (1 + fabs(g)); }

static double squash_slope(double g) { return 1 / ((1 + fabs(g)) * (1 + fabs(g))); }

static double nearness(double g) { return g <= 0 ? 1 : g >= 1 ? 0 : 1 - g; }

static double nearness_slope(double g) { return g > 0 && g < 1 ? -1 : 0; }

void relation_touch(const carom_system *s, const relation *r, const touch_units *units,
                    const double *x, const double *v, double *out, arena *scratch) {
  const arena_mark mark = arena_save(scratch);
  double velocity[MAX_DIMENSION], other_velocity[MAX_DIMENSION];
  const contact_id id = nearest(s, &r->touch, x);
  const contact c = touch_at(s, &id, x, v, velocity, scratch);
  const double g = seen_gap(&c, r, units, velocity);
  out[TOUCH_GAP] = squash(g);
  out[TOUCH_NEAR] = nearness(g);
  for (int k = 0; k < s->dimension; k++)
    out[TOUCH_VELOCITY + k] = r->arm * velocity[k] / units->speed;
  if (has_other_side(s, r)) {
    const contact_id lower = other_side(r);
    const contact other = touch_at(s, &lower, x, v, other_velocity, scratch);
    const double g_lower = seen_gap(&other, r, units, other_velocity);
    out[TOUCH_GAP] = squash(g_lower) - out[TOUCH_GAP];
    out[TOUCH_NEAR] += nearness(g_lower);
  }
  arena_restore(scratch, mark);
}

/* From the cotangents of h(g), of `near` and of J v / S (may be NULL) of one contact. */
static void contact_vjp(const carom_system *s, const relation *r, const touch_units *u,
                        const contact_id *id, const double *x, const double *v, double squash_bar,
                        double near_bar, const double *seen_bar, double *x_bar, double *v_bar,
                        arena *scratch) {
  const int d = s->dimension;
  double velocity[MAX_DIMENSION], velocity_bar[MAX_DIMENSION];
  const contact c = touch_at(s, id, x, v, velocity, scratch);
  const double g = seen_gap(&c, r, u, velocity);
  const double g_bar = squash_bar * squash_slope(g) + near_bar * nearness_slope(g);
  // in the forward pass this was g = arm (gap + dt J_n v) / (S dt)
  const double gap_bar = r->arm * g_bar / (u->speed * u->dt);
  for (int k = 0; k < d; k++)
    velocity_bar[k] = seen_bar != NULL ? r->arm * seen_bar[k] / u->speed : 0;
  if (u->ahead) velocity_bar[0] += u->dt * gap_bar;
  // velocity = sum_k block_k v_k
  contact_apply_transpose(&c, d, velocity_bar, v_bar);
  double *block_bar = arena_zeros(scratch, c.point_count * d * d);
  for (int k = 0; k < c.point_count; k++)
    for (int i = 0; i < d; i++)
      for (int j = 0; j < d; j++)
        block_bar[(k * d + i) * d + j] = velocity_bar[i] * v[c.point[k] * d + j];
  contact_geometry_vjp(s, &c, x, block_bar, gap_bar, x_bar, NULL);
}

void relation_touch_vjp(const carom_system *s, const relation *r, const touch_units *units,
                        const double *x, const double *v, const double *out_bar, double *x_bar,
                        double *v_bar, arena *scratch) {
  const arena_mark mark = arena_save(scratch);
  const contact_id id = nearest(s, &r->touch, x), lower = other_side(r);
  const bool both = has_other_side(s, r);
  const double gap_bar = out_bar[TOUCH_GAP], near_bar = out_bar[TOUCH_NEAR];
  contact_vjp(s, r, units, &id, x, v, both ? -gap_bar : gap_bar, near_bar, out_bar + TOUCH_VELOCITY,
              x_bar, v_bar, scratch);
  if (both) contact_vjp(s, r, units, &lower, x, v, gap_bar, near_bar, NULL, x_bar, v_bar, scratch);
  arena_restore(scratch, mark);
}
