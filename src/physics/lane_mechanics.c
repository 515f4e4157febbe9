#include "physics/lane_mechanics.h"

#include "physics/constraints.h"

/* Functions *_in are inlined with a constant dimension d. */
#define INLINE static inline __attribute__((always_inline))

/* ---- mass ------------------------------------------------------------------------------------ */

/* out_k = (sum_l f_l + f_k / lambda_k) / m, without the second term for the centre; a point mass is its centre */
INLINE void body_inverse(int d, int points, double inverse, const double *inverse_moment,
                         const lanes *f, lanes *o) {
  for (int i = 0; i < d; i++) {
    lanes sum = f[i];
    for (int k = 1; k < points; k++) sum += f[k * d + i];
    for (int k = 1; k < points; k++)
      o[k * d + i] = (sum + f[k * d + i] * inverse_moment[k - 1]) * inverse;
    o[i] = sum * inverse;
  }
}

void lane_mass_inverse(const mechanics *m, const lanes *force, lanes *out) {
  const carom_system *s = m->system;
  const int d = s->dimension;
  for (int b = 0; b < s->body_count; b++) {
    const int at = s->bodies[b].first_point * d;
    const double inverse = m->inverse_mass[b], *inverse_moment = m->inverse_moment + b * d;
    if (!s->bodies[b].rigid)
      for (int i = 0; i < d; i++) out[at + i] = force[at + i] * inverse;
    else if (d == 2)
      body_inverse(2, 3, inverse, inverse_moment, force + at, out + at);
    else
      body_inverse(3, 4, inverse, inverse_moment, force + at, out + at);
  }
}

/* In the forward pass this was left' (1/m)(11' + diag(0, 1/lambda)) right, with m and lambda exponentials of the
 * parameters, so now each term gives minus itself. */
void lane_mass_inverse_vjp(const mechanics *m, const lanes *left, const lanes *right,
                           double *theta_bar) {
  const carom_system *s = m->system;
  const int d = s->dimension;
  double *mass_bar = theta_bar + s->segments[CAROM_LOG_MASS].offset;
  for (int b = 0; b < s->body_count; b++) {
    const int points = s->bodies[b].point_count;
    const lanes *l = left + s->bodies[b].first_point * d;
    const lanes *r = right + s->bodies[b].first_point * d;
    lanes whole = {0};
    for (int i = 0; i < d; i++) {
      lanes sum_l = l[i], sum_r = r[i];
      for (int k = 1; k < points; k++) {
        sum_l += l[k * d + i];
        sum_r += r[k * d + i];
      }
      whole += sum_l * sum_r;
    }
    double *moment_bar = theta_bar + s->segments[CAROM_LOG_MOMENT].offset + b * d;
    for (int k = 1; k < points; k++) {
      lanes term = {0};
      for (int i = 0; i < d; i++) term += l[k * d + i] * r[k * d + i];
      term *= m->inverse_moment[b * d + k - 1];
      whole += term;
      moment_bar[k - 1] -= m->inverse_mass[b] * lanes_sum(term);
    }
    mass_bar[b] -= m->inverse_mass[b] * lanes_sum(whole);
  }
}

/* ---- constraints ------------------------------------------------------------------------------- */

/* value = sum_k w_k u_k */
INLINE void arm_of(const combination *c, int d, const lanes *u, lanes *value) {
  for (int i = 0; i < d; i++) value[i] = c->weight[0] * u[c->point[0] * d + i];
  for (int k = 1; k < c->count; k++)
    for (int i = 0; i < d; i++) value[i] += c->weight[k] * u[c->point[k] * d + i];
}

/* out_k += w_k value */
INLINE void arm_spread(const combination *c, int d, const lanes *value, lanes *out) {
  for (int k = 0; k < c->count; k++)
    for (int i = 0; i < d; i++) out[c->point[k] * d + i] += c->weight[k] * value[i];
}

INLINE lanes dot(int d, const lanes *a, const lanes *b) {
  lanes sum = a[0] * b[0] + a[1] * b[1];
  if (d == 3) sum += a[2] * b[2];
  return sum;
}

INLINE void arms_in(int d, const mechanics *m, const lanes *x, lanes *arm) {
  for (int c = 0; c < m->system->constraint_count; c++) {
    const combination *combo = &m->system->constraints[c].arm;
    arm_of(combo, d, x, arm + c * d);
    for (int i = 0; i < d; i++) arm[c * d + i] += combo->constant[i];
  }
}
void lane_arms(const mechanics *m, const lanes *x, lanes *arm) {
  if (m->system->dimension == 2)
    arms_in(2, m, x, arm);
  else
    arms_in(3, m, x, arm);
}

/* The block of one coupling: weight G_a G_b' with G = 2 arm' (distance) or I (coincidence). */
INLINE void place_block(const carom_system *s, const coupling *link, const lanes *arm,
                        lanes *values) {
  const envelope *shape = &s->constraint_shape;
  const constraint *a = &s->constraints[link->row_constraint];
  const constraint *b = &s->constraints[link->column_constraint];
  const lanes *arm_a = arm + link->row_constraint * s->dimension;
  const lanes *arm_b = arm + link->column_constraint * s->dimension;
  const double weight = link->inertial;
  if (a->kind == CONSTRAINT_DISTANCE && b->kind == CONSTRAINT_DISTANCE) {
    values[envelope_at(shape, a->first_row, b->first_row)] =
        4 * weight * dot(s->dimension, arm_a, arm_b);
    return;
  }
  for (int i = 0; i < a->row_count; i++)
    for (int j = 0; j < b->row_count && b->first_row + j <= a->first_row + i; j++) {
      lanes value = lanes_all(weight * (i == j));
      if (a->kind == CONSTRAINT_DISTANCE) value = 2 * weight * arm_a[j];
      if (b->kind == CONSTRAINT_DISTANCE) value = 2 * weight * arm_b[i];
      values[envelope_at(shape, a->first_row + i, b->first_row + j)] = value;
    }
}

/* values = L L' in place, as envelope_factor does it: reciprocals of L's diagonal stand on the diagonal, pivots not
 * above PIVOT_FLOOR of their diagonal entry are replaced by that. */
static void factor_rows(const envelope *shape, lanes *values) {
  for (int i = 0; i < shape->size; i++) {
    lanes *row = values + shape->start[i]; // row[j - first_i] is entry (i, j)
    const int first_i = shape->first[i];
    lanes pivot = row[i - first_i];
    const lanes least = CONSTRAINT_PIVOT_FLOOR * lanes_select(pivot < 0, -pivot, pivot);
    for (int j = first_i; j < i; j++) {
      // L_ij = (A_ij - sum_k L_ik L_jk) / L_jj over the columns that both rows have
      const lanes *other = values + shape->start[j];
      const int first_j = shape->first[j];
      lanes entry = row[j - first_i];
      for (int k = first_i > first_j ? first_i : first_j; k < j; k++)
        entry -= row[k - first_i] * other[k - first_j];
      row[j - first_i] = entry * other[j - first_j];
      pivot -= row[j - first_i] * row[j - first_i];
    }
    pivot = lanes_select(pivot > least, pivot, lanes_select(least > 0, least, lanes_all(1)));
    row[i - first_i] = 1 / lanes_root(pivot);
  }
}

void lane_factor(const mechanics *m, const lanes *arm, lanes *factor) {
  const carom_system *s = m->system;
  lanes_clear(factor, s->constraint_shape.start[s->row_count]);
  for (int i = 0; i < m->coupling_count; i++) place_block(s, &m->couplings[i], arm, factor);
  factor_rows(&s->constraint_shape, factor);
}

void lane_solve(const mechanics *m, const lanes *factor, lanes *z) {
  const envelope *shape = &m->system->constraint_shape;
  // L y = z
  for (int i = 0; i < shape->size; i++) {
    const lanes *row = factor + shape->start[i];
    const int first = shape->first[i];
    lanes value = z[i];
    for (int k = first; k < i; k++) value -= row[k - first] * z[k];
    z[i] = value * row[i - first];
  }
  // L' z = y
  for (int i = shape->size - 1; i >= 0; i--) {
    const lanes *row = factor + shape->start[i];
    const int first = shape->first[i];
    const lanes value = z[i] * row[i - first];
    z[i] = value;
    for (int k = first; k < i; k++) z[k] -= row[k - first] * value;
  }
}

/* rows = J u: 2 arm . u_arm of a distance, u_arm of a coincidence, with u_arm = sum_k w_k u_k. */
INLINE void apply_in(int d, const mechanics *m, const lanes *arm, const lanes *u, lanes *rows) {
  for (int c = 0; c < m->system->constraint_count; c++) {
    const constraint *link = &m->system->constraints[c];
    lanes value[MAX_DIMENSION];
    arm_of(&link->arm, d, u, value);
    if (link->kind == CONSTRAINT_DISTANCE)
      rows[link->first_row] = 2 * dot(d, arm + c * d, value);
    else
      for (int i = 0; i < d; i++) rows[link->first_row + i] = value[i];
  }
}
void lane_apply(const mechanics *m, const lanes *arm, const lanes *u, lanes *rows) {
  if (m->system->dimension == 2)
    apply_in(2, m, arm, u, rows);
  else
    apply_in(3, m, arm, u, rows);
}

INLINE void apply_transpose_in(int d, const mechanics *m, const lanes *arm, const lanes *rows,
                               lanes *out) {
  for (int c = 0; c < m->system->constraint_count; c++) {
    const constraint *link = &m->system->constraints[c];
    const lanes *on = rows + link->first_row;
    lanes value[MAX_DIMENSION];
    for (int i = 0; i < d; i++)
      if (link->kind == CONSTRAINT_DISTANCE)
        value[i] = 2 * on[0] * arm[c * d + i];
      else
        value[i] = on[i];
    arm_spread(&link->arm, d, value, out);
  }
}
void lane_apply_transpose(const mechanics *m, const lanes *arm, const lanes *rows, lanes *out) {
  if (m->system->dimension == 2)
    apply_transpose_in(2, m, arm, rows, out);
  else
    apply_transpose_in(3, m, arm, rows, out);
}

/* 2 v_arm . y_arm of a distance; a coincidence has none */
INLINE void curvature_in(int d, const mechanics *m, const lanes *v, const lanes *y, lanes *rows) {
  for (int c = 0; c < m->system->constraint_count; c++) {
    const constraint *link = &m->system->constraints[c];
    for (int i = 0; i < link->row_count; i++) rows[link->first_row + i] = (lanes){0};
    if (link->kind != CONSTRAINT_DISTANCE) continue;
    lanes arm_v[MAX_DIMENSION], arm_y[MAX_DIMENSION];
    arm_of(&link->arm, d, v, arm_v);
    arm_of(&link->arm, d, y, arm_y);
    rows[link->first_row] = 2 * dot(d, arm_v, arm_y);
  }
}
void lane_curvature(const mechanics *m, const lanes *v, const lanes *y, lanes *rows) {
  if (m->system->dimension == 2)
    curvature_in(2, m, v, y, rows);
  else
    curvature_in(3, m, v, y, rows);
}

/* out += 2 scale rows_c w_k v_arm on point k */
INLINE void curvature_transpose_in(int d, const mechanics *m, double scale, const lanes *v,
                                   const lanes *rows, lanes *out) {
  for (int c = 0; c < m->system->constraint_count; c++) {
    const constraint *link = &m->system->constraints[c];
    if (link->kind != CONSTRAINT_DISTANCE) continue;
    lanes value[MAX_DIMENSION];
    arm_of(&link->arm, d, v, value);
    const lanes factor = 2 * scale * rows[link->first_row];
    for (int i = 0; i < d; i++) value[i] *= factor;
    arm_spread(&link->arm, d, value, out);
  }
}
void lane_curvature_transpose(const mechanics *m, double scale, const lanes *v, const lanes *rows,
                              lanes *out) {
  if (m->system->dimension == 2)
    curvature_transpose_in(2, m, scale, v, rows, out);
  else
    curvature_transpose_in(3, m, scale, v, rows, out);
}
