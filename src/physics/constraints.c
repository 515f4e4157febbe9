#include "physics/constraints.h"

static inline double dot_d(const double *a, const double *b, int d) {
  double sum = a[0] * b[0] + a[1] * b[1];
  return d == 3 ? sum + a[2] * b[2] : sum;
}

/* value = sum_k w_k u_k */
static inline void arm_of(const combination *c, int d, const double *u, double *value) {
  double sum[MAX_DIMENSION] = {0, 0, 0};
  for (int k = 0; k < c->count; k++) {
    const double *point = u + c->point[k] * d;
    double weight = c->weight[k];
    sum[0] += weight * point[0];
    sum[1] += weight * point[1];
    if (d == 3) sum[2] += weight * point[2];
  }
  value[0] = sum[0];
  value[1] = sum[1];
  if (d == 3) value[2] = sum[2];
}

/* out_k += w_k value */
static inline void arm_spread(const combination *c, int d, const double *value, double *out) {
  for (int k = 0; k < c->count; k++) {
    double *point = out + c->point[k] * d;
    double weight = c->weight[k];
    point[0] += weight * value[0];
    point[1] += weight * value[1];
    if (d == 3) point[2] += weight * value[2];
  }
}

/* arm_c(x) = sum_k w_k x_k + constant: the vector between the two ends of a constraint. */
void constraints_arms(const mechanics *m, int begin, int end, const double *x, double *arm) {
  int d = m->system->dimension;
  for (int c = begin; c < end; c++) {
    const combination *combo = &m->system->constraints[c].arm;
    arm_of(combo, d, x, arm + c * d);
    for (int i = 0; i < d; i++) arm[c * d + i] += combo->constant[i];
  }
}

void constraints_values(const mechanics *m, int begin, int end, const double *arm, double *rows) {
  int d = m->system->dimension;
  for (int c = begin; c < end; c++) {
    const constraint *link = &m->system->constraints[c];
    const double *on = arm + c * d;
    if (link->kind == CONSTRAINT_DISTANCE)
      rows[link->first_row] = dot_d(on, on, d) - link->length * link->length;
    else
      for (int i = 0; i < d; i++) rows[link->first_row + i] = on[i];
  }
}

/* The block of one coupling: weight * G_a G_b' with G = 2 arm' (distance) or I (coincidence). */
static void place_block(const carom_system *s, const coupling *link, double weight,
                        const double *arm, double *values) {
  const envelope *shape = &s->constraint_shape;
  const constraint *a = &s->constraints[link->row_constraint];
  const constraint *b = &s->constraints[link->column_constraint];
  const double *arm_a = arm + link->row_constraint * s->dimension;
  const double *arm_b = arm + link->column_constraint * s->dimension;
  for (int i = 0; i < a->row_count; i++) {
    int row = a->first_row + i;
    for (int j = 0; j < b->row_count; j++) {
      int column = b->first_row + j;
      if (column > row) break;
      double value;
      if (a->kind == CONSTRAINT_DISTANCE && b->kind == CONSTRAINT_DISTANCE)
        value = 4 * dot_d(arm_a, arm_b, s->dimension);
      else if (a->kind == CONSTRAINT_DISTANCE)
        value = 2 * arm_a[j];
      else if (b->kind == CONSTRAINT_DISTANCE)
        value = 2 * arm_b[i];
      else
        value = i == j;
      values[envelope_at(shape, row, column)] = weight * value;
    }
  }
}

/* K = J W J' by blocks, J = dPhi/dx with Phi = |arm|^2 - length^2 (distance) or arm (coincidence), W the
 * inverse mass or I; then K = L L'. */
double constraints_factor(const mechanics *m, int begin, int end, const double *arm,
                          constraint_metric metric, double *factor) {
  const carom_system *s = m->system;
  if (begin == end) return 1;
  int first_row = s->constraints[begin].first_row;
  int end_row = s->constraints[end - 1].first_row + s->constraints[end - 1].row_count;
  for (int i = s->constraint_shape.start[first_row]; i < s->constraint_shape.start[end_row]; i++)
    factor[i] = 0;
  for (int i = m->constraint_coupling[begin]; i < m->constraint_coupling[end]; i++) {
    const coupling *link = &m->couplings[i];
    double weight = metric == METRIC_INERTIAL ? link->inertial : link->geometric;
    place_block(s, link, weight, arm, factor);
  }
  return envelope_factor_rows(&s->constraint_shape, factor, first_row, end_row,
                              CONSTRAINT_PIVOT_FLOOR);
}

void constraints_solve(const mechanics *m, int begin, int end, const double *factor, double *z) {
  const carom_system *s = m->system;
  if (begin == end) return;
  int first_row = s->constraints[begin].first_row;
  int end_row = s->constraints[end - 1].first_row + s->constraints[end - 1].row_count;
  envelope_solve_rows(&s->constraint_shape, factor, first_row, end_row, z);
}

/* rows = J u: 2 arm . u_arm of a distance, u_arm of a coincidence, with u_arm = sum_k w_k u_k. */
void constraints_apply(const mechanics *m, int begin, int end, const double *arm, const double *u,
                       double *rows) {
  int d = m->system->dimension;
  for (int c = begin; c < end; c++) {
    const constraint *link = &m->system->constraints[c];
    double value[MAX_DIMENSION] = {0};
    arm_of(&link->arm, d, u, value);
    if (link->kind == CONSTRAINT_DISTANCE)
      rows[link->first_row] = 2 * dot_d(arm + c * d, value, d);
    else
      for (int i = 0; i < d; i++) rows[link->first_row + i] = value[i];
  }
}

/* out += J' rows */
void constraints_apply_transpose(const mechanics *m, int begin, int end, const double *arm,
                                 const double *rows, double *out) {
  int d = m->system->dimension;
  for (int c = begin; c < end; c++) {
    const constraint *link = &m->system->constraints[c];
    double value[MAX_DIMENSION] = {0};
    for (int i = 0; i < d; i++)
      value[i] = link->kind == CONSTRAINT_DISTANCE ? 2 * rows[link->first_row] * arm[c * d + i]
                                                   : rows[link->first_row + i];
    arm_spread(&link->arm, d, value, out);
  }
}

void constraints_bilinear_vjp(const mechanics *m, int begin, int end, double scale,
                              const double *rows, const double *u, double *x_bar) {
  int d = m->system->dimension;
  for (int c = begin; c < end; c++) {
    const constraint *link = &m->system->constraints[c];
    if (link->kind != CONSTRAINT_DISTANCE) continue;
    // in the forward pass this was rows_c * 2 arm . (sum_k w_k u_k), so now by the arm:
    double value[MAX_DIMENSION] = {0};
    arm_of(&link->arm, d, u, value);
    for (int i = 0; i < d; i++) value[i] *= 2 * scale * rows[link->first_row];
    arm_spread(&link->arm, d, value, x_bar);
  }
}

/* rows = B(v) y = (dJ/dx v) y: 2 v_arm . y_arm of a distance. d/dt (J v) = J v' + B(v) v. */
void constraints_curvature(const mechanics *m, const double *v, const double *y, double *rows) {
  int d = m->system->dimension;
  for (int c = 0; c < m->system->constraint_count; c++) {
    const constraint *link = &m->system->constraints[c];
    if (link->kind == CONSTRAINT_DISTANCE) {
      double arm_v[MAX_DIMENSION], arm_y[MAX_DIMENSION];
      arm_of(&link->arm, d, v, arm_v);
      arm_of(&link->arm, d, y, arm_y);
      rows[link->first_row] = 2 * dot_d(arm_v, arm_y, d);
    } else {
      for (int i = 0; i < d; i++) rows[link->first_row + i] = 0;
    }
  }
}

/* out += scale B(v)' rows: 2 scale rows_c w_k v_arm on point k. */
void constraints_curvature_transpose(const mechanics *m, double scale, const double *v,
                                     const double *rows, double *out) {
  int d = m->system->dimension;
  for (int c = 0; c < m->system->constraint_count; c++) {
    const constraint *link = &m->system->constraints[c];
    if (link->kind != CONSTRAINT_DISTANCE) continue;
    double value[MAX_DIMENSION] = {0};
    arm_of(&link->arm, d, v, value);
    for (int i = 0; i < d; i++) value[i] *= 2 * scale * rows[link->first_row];
    arm_spread(&link->arm, d, value, out);
  }
}
