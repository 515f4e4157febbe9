#include "contact/target_velocity.h"

#include "physics/constraints.h"

#include <math.h>
#include <string.h>

/* A pivot ratio below this means that rows (or columns) of J depend on each other. */
static const double RANK_TOLERANCE = 1e-10;

/* Weight of tangential rows in the least squares where J is rank deficient. */
static const double TANGENT_WEIGHT = 3e-4;

/* The same for matrices with weighted rows: the weight enters squared, and long chains lower the
 * pivots further. */
static const double WEIGHTED_RANK_TOLERANCE = 1e-15;

/* Weights make J J' and J'J badly conditioned: one solve is off by 2e-6 in the median of crowded ropes
 * and by 1e-3 at worst. Two steps on the residual of J itself reach what rounding allows. */
enum { REFINEMENTS = 2 };

/* ---- the pseudo-inverse of J, island by island ----------------------------------------------- */

static int island_begin(const contact_event *e, int island) {
  return e->group.island_first[island];
}
static int island_end(const contact_event *e, int island) {
  return e->group.island_first[island + 1];
}

/* Weight of row i of a contact. */
static double row_weight(double tangent_weight, int i) { return i == 0 ? 1 : tangent_weight; }

/* Blocks of J J' between two contacts: sum over common points of block block'. */
static inline void place_row_block_in(const int d, const contact *a, const contact *b,
                                      double weight, const envelope *shape, int row, int column,
                                      double *values) {
  for (int k = 0; k < a->point_count; k++) {
    for (int l = 0; l < b->point_count; l++) {
      if (a->point[k] != b->point[l]) continue;
      for (int i = 0; i < d; i++)
        for (int j = 0; j < d && column + j <= row + i; j++) {
          double sum = 0;
          for (int q = 0; q < d; q++)
            sum += a->block[(k * d + i) * d + q] * b->block[(l * d + j) * d + q];
          values[envelope_at(shape, row + i, column + j)] +=
              sum * row_weight(weight, i) * row_weight(weight, j);
        }
    }
  }
}

static void place_row_block(const contact *a, const contact *b, int d, double weight,
                            const envelope *shape, int row, int column, double *values) {
  if (d == 2)
    place_row_block_in(2, a, b, weight, shape, row, column, values);
  else
    place_row_block_in(3, a, b, weight, shape, row, column, values);
}

static double *row_matrix(const contact_event *e, int island, double weight, const envelope *shape,
                          arena *memory) {
  int d = e->mechanics->system->dimension;
  int begin = island_begin(e, island), end = island_end(e, island);
  double *values = arena_zeros(memory, shape->start[shape->size]);
  for (int c = begin; c < end; c++)
    for (int other = e->group.first_coupled[c]; other <= c; other++)
      place_row_block(&e->group.contacts[c], &e->group.contacts[other], d, weight, shape,
                      (c - begin) * d, (other - begin) * d, values);
  return values;
}

/* Points of an island in the order in which its contacts meet them, and each one's place. */
static void order_points(const contact_event *e, int island, island_inverse *inverse, int *place,
                         arena *memory) {
  int begin = island_begin(e, island), end = island_end(e, island);
  int most = 0;
  for (int c = begin; c < end; c++) most += e->group.contacts[c].point_count;
  inverse->points = ARENA_ARRAY(memory, int, most);
  inverse->point_count = 0;
  for (int c = begin; c < end; c++)
    for (int k = 0; k < e->group.contacts[c].point_count; k++)
      place[e->group.contacts[c].point[k]] = -1;
  for (int c = begin; c < end; c++)
    for (int k = 0; k < e->group.contacts[c].point_count; k++) {
      int point = e->group.contacts[c].point[k];
      if (place[point] >= 0) continue;
      place[point] = inverse->point_count;
      inverse->points[inverse->point_count++] = point;
    }
}

static envelope column_shape(const contact_event *e, int island, int point_count, const int *place,
                             arena *memory) {
  int d = e->mechanics->system->dimension;
  int columns = point_count * d;
  int *first = ARENA_ARRAY(memory, int, columns);
  for (int i = 0; i < columns; i++) first[i] = i / d * d;
  for (int c = island_begin(e, island); c < island_end(e, island); c++) {
    const contact *on = &e->group.contacts[c];
    int least = point_count;
    for (int k = 0; k < on->point_count; k++)
      if (place[on->point[k]] < least) least = place[on->point[k]];
    for (int k = 0; k < on->point_count; k++)
      for (int i = 0; i < d; i++) {
        int row = place[on->point[k]] * d + i;
        if (least * d < first[row]) first[row] = least * d;
      }
  }
  return envelope_make(columns, first, memory);
}

/* J'J over the island's points. */
static double *column_matrix(const contact_event *e, int island, double weight,
                             const envelope *shape, const int *place, arena *memory) {
  int d = e->mechanics->system->dimension;
  double *values = arena_zeros(memory, shape->start[shape->size]);
  for (int c = island_begin(e, island); c < island_end(e, island); c++) {
    const contact *on = &e->group.contacts[c];
    for (int k = 0; k < on->point_count; k++)
      for (int l = 0; l < on->point_count; l++)
        for (int i = 0; i < d; i++)
          for (int j = 0; j < d; j++) {
            int row = place[on->point[k]] * d + i, column = place[on->point[l]] * d + j;
            if (column > row) continue;
            double sum = 0;
            for (int q = 0; q < d; q++)
              sum += row_weight(weight, q) * row_weight(weight, q) *
                     on->block[(k * d + q) * d + i] * on->block[(l * d + q) * d + j];
            values[envelope_at(shape, row, column)] += sum;
          }
  }
  return values;
}

static double largest_diagonal(const envelope *shape, const double *values) {
  double largest = 0;
  for (int i = 0; i < shape->size; i++) largest = fmax(largest, values[envelope_at(shape, i, i)]);
  return largest;
}

/* Cannot the rows be independent, since there are more of them than coordinates? Only bodies that
 * several contacts touch make that possible, so that a small count need not look closer. */
static bool has_more_rows(const contact_event *e, int island) {
  const mechanics *m = e->mechanics;
  int contacts = island_end(e, island) - island_begin(e, island), points = 0;
  if (contacts == 1) return false;
  for (int t = 0; t < e->group.touched_count; t++) {
    int first = e->group.touched[t].contacts[0];
    if (first >= island_begin(e, island) && first < island_end(e, island))
      points += m->system->assemblies[e->group.touched[t].assembly].point_count;
  }
  return contacts > points;
}

static island_inverse island_inverse_make(const contact_event *e, int island, arena *memory) {
  island_inverse inverse = {.kind = INVERSE_ROWS, .tangent_weight = 1, .shape = e->shape[island]};
  if (!has_more_rows(e, island)) {
    inverse.factor = row_matrix(e, island, 1, &inverse.shape, memory);
    if (envelope_factor(&inverse.shape, inverse.factor, RANK_TOLERANCE) > RANK_TOLERANCE)
      return inverse;
  }

  // rows depend on each other: perhaps columns do not
  inverse.tangent_weight = TANGENT_WEIGHT;
  int *place = ARENA_ARRAY(memory, int, e->mechanics->system->point_count);
  order_points(e, island, &inverse, place, memory);
  envelope columns = column_shape(e, island, inverse.point_count, place, memory);
  if (columns.size <= inverse.shape.size) {
    double *factor = column_matrix(e, island, TANGENT_WEIGHT, &columns, place, memory);
    if (envelope_factor(&columns, factor, WEIGHTED_RANK_TOLERANCE) > WEIGHTED_RANK_TOLERANCE) {
      inverse.kind = INVERSE_COLUMNS;
      inverse.shape = columns;
      inverse.factor = factor;
      return inverse;
    }
  }

  // both do
  inverse.kind = INVERSE_SEMIDEFINITE;
  double *values = row_matrix(e, island, TANGENT_WEIGHT, &e->shape[island], memory);
  double threshold = WEIGHTED_RANK_TOLERANCE * largest_diagonal(&e->shape[island], values);
  inverse.pseudo = semidefinite_make(&e->shape[island], values, threshold, memory);
  return inverse;
}

/* Multiplies tangential rows by their island's weight. */
static void weigh_rows(const contact_event *e, const target_velocity *t, double *rows) {
  int d = e->mechanics->system->dimension;
  for (int island = 0; island < e->group.island_count; island++)
    for (int c = island_begin(e, island); c < island_end(e, island); c++)
      for (int i = 1; i < d; i++) rows[c * d + i] *= t->inverses[island].tangent_weight;
}

/* rows = J points with weighted rows */
static void weighted_jacobian(const contact_event *e, const target_velocity *t,
                              const double *points, double *rows) {
  event_jacobian(e, points, rows);
  weigh_rows(e, t, rows);
}

/* points += J' rows of one island, rows weighted already */
static void island_transpose(const contact_event *e, int island, const double *rows,
                             double *points) {
  int d = e->mechanics->system->dimension;
  for (int c = island_begin(e, island); c < island_end(e, island); c++)
    contact_apply_transpose(&e->group.contacts[c], d, rows + c * d, points);
}

/* points = (J'J)^-1 points for an island of full column rank */
static void solve_columns(const contact_event *e, const island_inverse *inverse, double *points,
                          arena *scratch) {
  int d = e->mechanics->system->dimension;
  double *local = arena_doubles(scratch, inverse->point_count * d);
  for (int k = 0; k < inverse->point_count; k++)
    for (int i = 0; i < d; i++) local[k * d + i] = points[inverse->points[k] * d + i];
  envelope_solve(&inverse->shape, inverse->factor, local);
  for (int k = 0; k < inverse->point_count; k++)
    for (int i = 0; i < d; i++) points[inverse->points[k] * d + i] = local[k * d + i];
}

/* (J J')^+ on the rows of an island, in place */
static void solve_rows(const contact_event *e, int island, const island_inverse *inverse,
                       double *rows) {
  double *local = rows + island_begin(e, island) * e->mechanics->system->dimension;
  if (inverse->kind == INVERSE_ROWS)
    envelope_solve(&inverse->shape, inverse->factor, local);
  else
    semidefinite_solve(&inverse->pseudo, local);
}

/* points = J^+ rows on all islands, as good as the factors are; points are those of the touched
 * assemblies */
static void inverse_apply_once(const contact_event *e, const target_velocity *t, const double *rows,
                               double *points, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  double *work = arena_doubles(scratch, e->size);
  memcpy(work, rows, sizeof(double) * (size_t)e->size);
  for (int island = 0; island < e->group.island_count; island++)
    if (t->inverses[island].kind != INVERSE_COLUMNS)
      solve_rows(e, island, &t->inverses[island], work);
  weigh_rows(e, t, work);
  event_zero(e, points);
  for (int island = 0; island < e->group.island_count; island++) {
    island_transpose(e, island, work, points);
    if (t->inverses[island].kind == INVERSE_COLUMNS)
      solve_columns(e, &t->inverses[island], points, scratch);
  }
  arena_restore(scratch, mark);
}

/* rows = (J^+)' points on all islands, as good as the factors are */
static void inverse_apply_transpose_once(const contact_event *e, const target_velocity *t,
                                         const double *points, double *rows, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  double *work = arena_doubles(scratch, e->mechanics->system->coordinate_count);
  event_copy(e, work, points);
  for (int island = 0; island < e->group.island_count; island++)
    if (t->inverses[island].kind == INVERSE_COLUMNS)
      solve_columns(e, &t->inverses[island], work, scratch);
  weighted_jacobian(e, t, work, rows);
  for (int island = 0; island < e->group.island_count; island++)
    if (t->inverses[island].kind != INVERSE_COLUMNS)
      solve_rows(e, island, &t->inverses[island], rows);
  arena_restore(scratch, mark);
}

/* Steps of refinement: none where J has full row rank everywhere. */
static int refinements(const contact_event *e, const target_velocity *t) {
  for (int island = 0; island < e->group.island_count; island++)
    if (t->inverses[island].kind != INVERSE_ROWS) return REFINEMENTS;
  return 0;
}

/* Sets the rows of islands that need no refinement to zero. */
static void keep_deficient(const contact_event *e, const target_velocity *t, double *rows) {
  int d = e->mechanics->system->dimension;
  for (int island = 0; island < e->group.island_count; island++) {
    if (t->inverses[island].kind != INVERSE_ROWS) continue;
    int begin = island_begin(e, island) * d, end = island_end(e, island) * d;
    memset(rows + begin, 0, sizeof(double) * (size_t)(end - begin));
  }
}

/* to += scale * from over the points of the touched assemblies */
static void add_points(const contact_event *e, double scale, const double *from, double *to) {
  const carom_system *s = e->mechanics->system;
  int d = s->dimension;
  for (int t = 0; t < e->group.touched_count; t++) {
    const assembly *a = &s->assemblies[e->group.touched[t].assembly];
    for (int k = 0; k < a->point_count; k++)
      for (int i = 0; i < d; i++) to[a->points[k] * d + i] += scale * from[a->points[k] * d + i];
  }
}

/* points = J^+ rows on all islands */
static void inverse_apply(const contact_event *e, const target_velocity *t, const double *rows,
                          double *points, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  double *rest = arena_doubles(scratch, e->size);
  double *more = arena_doubles(scratch, e->mechanics->system->coordinate_count);
  inverse_apply_once(e, t, rows, points, scratch);
  for (int step = refinements(e, t); step > 0; step--) {
    // points += J^+ (rows - J points)
    weighted_jacobian(e, t, points, rest);
    for (int i = 0; i < e->size; i++) rest[i] = rows[i] - rest[i];
    keep_deficient(e, t, rest);
    inverse_apply_once(e, t, rest, more, scratch);
    add_points(e, 1, more, points);
  }
  arena_restore(scratch, mark);
}

/* rows = (J^+)' points on all islands */
static void inverse_apply_transpose(const contact_event *e, const target_velocity *t,
                                    const double *points, double *rows, arena *scratch) {
  arena_mark mark = arena_save(scratch);
  double *rest = arena_doubles(scratch, e->mechanics->system->coordinate_count);
  double *more = arena_doubles(scratch, e->size);
  inverse_apply_transpose_once(e, t, points, rows, scratch);
  for (int step = refinements(e, t); step > 0; step--) {
    // rows += (J^+)' (points - J' rows)
    memcpy(more, rows, sizeof(double) * (size_t)e->size);
    weigh_rows(e, t, more);
    event_zero(e, rest);
    event_jacobian_transpose(e, more, rest);
    add_points(e, -1, points, rest);
    inverse_apply_transpose_once(e, t, rest, more, scratch);
    keep_deficient(e, t, more);
    for (int i = 0; i < e->size; i++) rows[i] -= more[i];
  }
  arena_restore(scratch, mark);
}

/* ---- projection on the velocities that the constraints allow --------------------------------- */

/* out = u - J_E' multipliers, multipliers = (J_E J_E')^-1 J_E u; out may be u */
static void project(const contact_event *e, const double *u, double *out, double *multipliers) {
  const mechanics *m = e->mechanics;
  if (out != u) event_copy(e, out, u);
  for (int t = 0; t < e->group.touched_count; t++) {
    const assembly *a = &m->system->assemblies[e->group.touched[t].assembly];
    int begin = m->assembly_constraint[e->group.touched[t].assembly];
    int end = m->assembly_constraint[e->group.touched[t].assembly + 1];
    if (begin == end) continue;
    constraints_apply(m, begin, end, e->arm, out, multipliers);
    constraints_solve(m, begin, end, e->geometric, multipliers);
    for (int r = a->first_row; r < a->first_row + a->row_count; r++)
      multipliers[r] = -multipliers[r];
    constraints_apply_transpose(m, begin, end, e->arm, multipliers, out);
    for (int r = a->first_row; r < a->first_row + a->row_count; r++)
      multipliers[r] = -multipliers[r];
  }
}

static bool any_constraint(const contact_event *e) {
  for (int t = 0; t < e->group.touched_count; t++)
    if (e->mechanics->system->assemblies[e->group.touched[t].assembly].row_count > 0) return true;
  return false;
}

/* ---- v_C* ------------------------------------------------------------------------------------ */

/* Time in which a penetration is to be undone. */
static double compensation_time(const contact_event *e) {
  return e->options->compensation_steps * e->options->dt;
}

target_velocity target_velocity_make(const contact_event *e, arena *memory) {
  const carom_system *s = e->mechanics->system;
  target_velocity t = {.desired = arena_zeros(memory, e->size)};
  t.value = t.desired;
  if (!e->options->penetration_compensation) return t;
  for (int c = 0; c < e->group.count; c++)
    t.desired[c * s->dimension] = -e->group.contacts[c].gap / compensation_time(e);

  // v_C* = v_d where that is a velocity the system can have
  t.inverses = ARENA_ARRAY(memory, island_inverse, e->group.island_count);
  t.projected = any_constraint(e);
  for (int island = 0; island < e->group.island_count; island++) {
    t.inverses[island] = island_inverse_make(e, island, memory);
    if (t.inverses[island].kind != INVERSE_ROWS) t.projected = true;
  }
  if (!t.projected) return t;

  t.y = arena_doubles(memory, s->coordinate_count);
  t.w = arena_doubles(memory, s->coordinate_count);
  t.multipliers = arena_zeros(memory, s->row_count);
  t.value = arena_doubles(memory, e->size);
  inverse_apply(e, &t, t.desired, t.y, memory);
  project(e, t.y, t.w, t.multipliers);
  event_jacobian(e, t.w, t.value);
  return t;
}

static inline void outer_in(const int d, const contact_event *e, double scale, const double *rows,
                            const double *points, double *block_bar) {
  for (int c = 0; c < e->group.count; c++) {
    const contact *on = &e->group.contacts[c];
    for (int k = 0; k < on->point_count; k++) {
      double *bar = block_bar + (on->first_block + k) * d * d;
      const double *u = points + on->point[k] * d;
      for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) bar[i * d + j] += scale * rows[c * d + i] * u[j];
    }
  }
}

void event_jacobian_outer(const contact_event *e, double scale, const double *rows,
                          const double *points, double *block_bar) {
  if (e->mechanics->system->dimension == 2)
    outer_in(2, e, scale, rows, points, block_bar);
  else
    outer_in(3, e, scale, rows, points, block_bar);
}

/* From y_bar, y = J^+ v_d, at constant rank:
 *   dy = -J^+ dJ y + J^+ J^+' dJ' (v_d - J y) + (I - J^+ J) dJ' J^+' y + J^+ dv_d
 * so with q = J^+' y_bar:
 *   J_bar = -q (x) y + (v_d - J y) (x) J^+ q + (J^+' y) (x) (I - J^+ J) y_bar,  v_d_bar = q
 * for the weighted J; each row of J_bar takes its weight once more. v_d is normal, so that its
 * weights are 1. */
static void inverse_vjp(const contact_event *e, const target_velocity *t, const double *y_bar,
                        double *desired_bar, double *block_bar, arena *scratch) {
  double *rows = arena_doubles(scratch, e->size);
  double *points = arena_doubles(scratch, e->mechanics->system->coordinate_count);
  inverse_apply_transpose(e, t, y_bar, desired_bar, scratch);
  inverse_apply(e, t, desired_bar, points, scratch);
  weighted_jacobian(e, t, t->y, rows);
  for (int i = 0; i < e->size; i++) rows[i] = t->desired[i] - rows[i];
  weigh_rows(e, t, rows);
  event_jacobian_outer(e, 1, rows, points, block_bar);

  weighted_jacobian(e, t, y_bar, rows);
  inverse_apply(e, t, rows, points, scratch);
  inverse_apply_transpose(e, t, t->y, rows, scratch);
  weigh_rows(e, t, rows);
  event_jacobian_outer(e, 1, rows, y_bar, block_bar);
  event_jacobian_outer(e, -1, rows, points, block_bar);

  weigh_rows(e, t, desired_bar);
  event_jacobian_outer(e, -1, desired_bar, t->y, block_bar);
}

/* w = P y with P = I - J_E' N, N = (J_E J_E')^-1 J_E symmetric as a projection:
 * dP = -P dJ_E' N - N' dJ_E P, so J_E_bar = -(N y) (x) (P w_bar) - (N w_bar) (x) (P y).
 * w_bar becomes y_bar = P w_bar. */
static void project_vjp(const contact_event *e, const target_velocity *t, double *w_bar,
                        double *x_bar, arena *scratch) {
  const mechanics *m = e->mechanics;
  double *multipliers = arena_zeros(scratch, m->system->row_count);
  project(e, w_bar, w_bar, multipliers);
  for (int i = 0; i < e->group.touched_count; i++) {
    int begin = m->assembly_constraint[e->group.touched[i].assembly];
    int end = m->assembly_constraint[e->group.touched[i].assembly + 1];
    constraints_bilinear_vjp(m, begin, end, -1, t->multipliers, w_bar, x_bar);
    constraints_bilinear_vjp(m, begin, end, -1, multipliers, t->w, x_bar);
  }
}

void target_velocity_vjp(const contact_event *e, const target_velocity *t, const double *value_bar,
                         double *block_bar, double *gap_bar, double *x_bar, arena *scratch) {
  if (!e->options->penetration_compensation) return;
  int d = e->mechanics->system->dimension;
  arena_mark mark = arena_save(scratch);
  double *desired_bar = arena_doubles(scratch, e->size);
  memcpy(desired_bar, value_bar, sizeof(double) * (size_t)e->size);
  if (t->projected) {
    // value = J w
    double *w_bar = arena_doubles(scratch, e->mechanics->system->coordinate_count);
    event_zero(e, w_bar);
    event_jacobian_transpose(e, value_bar, w_bar);
    event_jacobian_outer(e, 1, value_bar, t->w, block_bar);
    project_vjp(e, t, w_bar, x_bar, scratch);
    inverse_vjp(e, t, w_bar, desired_bar, block_bar, scratch);
  }
  for (int c = 0; c < e->group.count; c++) gap_bar[c] -= desired_bar[c * d] / compensation_time(e);
  arena_restore(scratch, mark);
}
