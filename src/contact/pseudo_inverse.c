#include "contact/pseudo_inverse.h"

#include <string.h>

/* A pivot ratio of J J' below this means that rows of J depend on each other. In the tests' scenes
 * independent rows have ratios above 1e-3, dependent ones below 1e-13. A larger one makes v_C* of nearly
 * dependent rows a compromise although it could be met, a smaller one meets it by an enormous y. */
static const double RANK_TOLERANCE = 1e-10;

/* Weight of tangential rows in the least squares where J is rank deficient. With a larger one
 * tangential velocities of zero have a say in how fast crowded ropes leave their penetrations; with a
 * smaller one its square, which conditions J J', comes near rounding. */
static const double TANGENT_WEIGHT = 3e-4;

/* The same for J'J with weighted rows, where the weight enters squared. Dependent columns leave 1e-16;
 * between that and 1e-14 stand columns that are so nearly dependent that the derivative, which divides
 * twice, comes out wrong in its second digit: they are left to the semidefinite factor. */
static const double COLUMN_RANK_TOLERANCE = 1e-13;

/* Pivots of the semidefinite factor of J J' with weighted rows that count as zero, of its largest
 * diagonal entry: rounding. */
static const double WEIGHTED_RANK_TOLERANCE = 1e-15;

/* Weights make J J' and J'J badly conditioned: one solve is off by 2e-6 in the median of crowded ropes
 * and by 1e-3 at worst. Two steps on the residual of J itself reach what rounding allows. */
enum { REFINEMENTS = 2 };

/* ---- factors ----------------------------------------------------------------------------------- */

/* Weight of row i of a contact. */
static double row_weight(double tangent_weight, int i) { return i == 0 ? 1 : tangent_weight; }

/* J J' with weighted rows, in the making. */
typedef struct row_system {
  const envelope *shape;
  double tangent_weight;
  double *values;
} row_system;

/* Its block between two contacts: sum over common points of block block'. */
static inline void place_row_block_in(const int d, const contact *a, const contact *b,
                                      const row_system *to, int row, int column) {
  for (int k = 0; k < a->point_count; k++) {
    for (int l = 0; l < b->point_count; l++) {
      if (a->point[k] != b->point[l]) continue;
      for (int i = 0; i < d; i++)
        for (int j = 0; j < d && column + j <= row + i; j++) {
          double sum = 0;
          for (int q = 0; q < d; q++)
            sum += a->block[(k * d + i) * d + q] * b->block[(l * d + j) * d + q];
          to->values[envelope_at(to->shape, row + i, column + j)] +=
              sum * row_weight(to->tangent_weight, i) * row_weight(to->tangent_weight, j);
        }
    }
  }
}

static double *row_matrix(const contact_event *e, int island, double weight, const envelope *shape,
                          arena *memory) {
  int d = e->mechanics->system->dimension, begin = island_begin(e, island);
  row_system to = {shape, weight, arena_zeros(memory, shape->start[shape->size])};
  for (int c = begin; c < island_end(e, island); c++)
    for (int other = e->group.first_coupled[c]; other <= c; other++) {
      const contact *a = &e->group.contacts[c], *b = &e->group.contacts[other];
      int row = (c - begin) * d, column = (other - begin) * d;
      if (d == 2)
        place_row_block_in(2, a, b, &to, row, column);
      else
        place_row_block_in(3, a, b, &to, row, column);
    }
  return to.values;
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

/* Cannot the rows be independent, since there are more of them than coordinates? Only bodies that
 * several contacts touch make that possible, so that a small count need not look closer. */
static bool has_more_rows(const contact_event *e, int island) {
  int contacts = island_end(e, island) - island_begin(e, island), points = 0;
  if (contacts == 1) return false;
  for (int t = 0; t < e->group.touched_count; t++) {
    int first = e->group.touched[t].contacts[0];
    if (first >= island_begin(e, island) && first < island_end(e, island))
      points += touched_at(e, t)->point_count;
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
    if (envelope_factor(&columns, factor, COLUMN_RANK_TOLERANCE) > COLUMN_RANK_TOLERANCE) {
      inverse.kind = INVERSE_COLUMNS;
      inverse.shape = columns;
      inverse.factor = factor;
      return inverse;
    }
  }

  // both do
  inverse.kind = INVERSE_SEMIDEFINITE;
  double *values = row_matrix(e, island, TANGENT_WEIGHT, &e->shape[island], memory);
  double threshold = WEIGHTED_RANK_TOLERANCE * envelope_largest_diagonal(&e->shape[island], values);
  inverse.pseudo = semidefinite_make(&e->shape[island], values, threshold, memory);
  return inverse;
}

pseudo_inverse pseudo_inverse_make(const contact_event *e, arena *memory) {
  pseudo_inverse inverse = {.event = e};
  inverse.islands = ARENA_ARRAY(memory, island_inverse, e->group.island_count);
  for (int island = 0; island < e->group.island_count; island++) {
    inverse.islands[island] = island_inverse_make(e, island, memory);
    if (inverse.islands[island].kind != INVERSE_ROWS) inverse.deficient = true;
  }
  return inverse;
}

/* ---- products ---------------------------------------------------------------------------------- */

/* Multiplies tangential rows by their island's weight. */
static void weigh_rows(const pseudo_inverse *inverse, double *rows) {
  const contact_event *e = inverse->event;
  int d = e->mechanics->system->dimension;
  for (int island = 0; island < e->group.island_count; island++)
    for (int c = island_begin(e, island); c < island_end(e, island); c++)
      for (int i = 1; i < d; i++) rows[c * d + i] *= inverse->islands[island].tangent_weight;
}

/* rows = J points with weighted rows */
static void weighted_jacobian(const pseudo_inverse *inverse, const double *points, double *rows) {
  const contact_event *e = inverse->event;
  event_jacobian(e, points, rows);
  weigh_rows(inverse, rows);
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
static void apply_once(const pseudo_inverse *inverse, const double *rows, double *points,
                       arena *scratch) {
  const contact_event *e = inverse->event;
  arena_mark mark = arena_save(scratch);
  double *work = arena_doubles(scratch, e->size);
  memcpy(work, rows, sizeof(double) * (size_t)e->size);
  for (int island = 0; island < e->group.island_count; island++)
    if (inverse->islands[island].kind != INVERSE_COLUMNS)
      solve_rows(e, island, &inverse->islands[island], work);
  weigh_rows(inverse, work);
  event_zero(e, points);
  for (int island = 0; island < e->group.island_count; island++) {
    island_transpose(e, island, work, points);
    if (inverse->islands[island].kind == INVERSE_COLUMNS)
      solve_columns(e, &inverse->islands[island], points, scratch);
  }
  arena_restore(scratch, mark);
}

/* rows = (J^+)' points on all islands, as good as the factors are */
static void apply_transpose_once(const pseudo_inverse *inverse, const double *points, double *rows,
                                 arena *scratch) {
  const contact_event *e = inverse->event;
  arena_mark mark = arena_save(scratch);
  double *work = arena_doubles(scratch, e->mechanics->system->coordinate_count);
  event_copy(e, work, points);
  for (int island = 0; island < e->group.island_count; island++)
    if (inverse->islands[island].kind == INVERSE_COLUMNS)
      solve_columns(e, &inverse->islands[island], work, scratch);
  weighted_jacobian(inverse, work, rows);
  for (int island = 0; island < e->group.island_count; island++)
    if (inverse->islands[island].kind != INVERSE_COLUMNS)
      solve_rows(e, island, &inverse->islands[island], rows);
  arena_restore(scratch, mark);
}

/* Sets the rows of islands that need no refinement to zero. */
static void keep_deficient(const pseudo_inverse *inverse, double *rows) {
  const contact_event *e = inverse->event;
  int d = e->mechanics->system->dimension;
  for (int island = 0; island < e->group.island_count; island++) {
    if (inverse->islands[island].kind != INVERSE_ROWS) continue;
    int begin = island_begin(e, island) * d, end = island_end(e, island) * d;
    memset(rows + begin, 0, sizeof(double) * (size_t)(end - begin));
  }
}

void pseudo_inverse_apply(const pseudo_inverse *inverse, const double *rows, double *points,
                          arena *scratch) {
  const contact_event *e = inverse->event;
  arena_mark mark = arena_save(scratch);
  double *rest = arena_doubles(scratch, e->size);
  double *more = arena_doubles(scratch, e->mechanics->system->coordinate_count);
  apply_once(inverse, rows, points, scratch);
  for (int step = inverse->deficient ? REFINEMENTS : 0; step > 0; step--) {
    // points += J^+ (rows - J points)
    weighted_jacobian(inverse, points, rest);
    for (int i = 0; i < e->size; i++) rest[i] = rows[i] - rest[i];
    keep_deficient(inverse, rest);
    apply_once(inverse, rest, more, scratch);
    event_add(e, 1, more, points);
  }
  arena_restore(scratch, mark);
}

void pseudo_inverse_apply_transpose(const pseudo_inverse *inverse, const double *points,
                                    double *rows, arena *scratch) {
  const contact_event *e = inverse->event;
  arena_mark mark = arena_save(scratch);
  double *rest = arena_doubles(scratch, e->mechanics->system->coordinate_count);
  double *more = arena_doubles(scratch, e->size);
  apply_transpose_once(inverse, points, rows, scratch);
  for (int step = inverse->deficient ? REFINEMENTS : 0; step > 0; step--) {
    // rows += (J^+)' (points - J' rows)
    memcpy(more, rows, sizeof(double) * (size_t)e->size);
    weigh_rows(inverse, more);
    event_zero(e, rest);
    event_jacobian_transpose(e, more, rest);
    event_add(e, -1, points, rest);
    apply_transpose_once(inverse, rest, more, scratch);
    keep_deficient(inverse, more);
    for (int i = 0; i < e->size; i++) rows[i] -= more[i];
  }
  arena_restore(scratch, mark);
}

/* ---- the derivative ----------------------------------------------------------------------------- */

/* At constant rank, with r = rows:
 *   dy = -J^+ dJ y + J^+ J^+' dJ' (r - J y) + (I - J^+ J) dJ' J^+' y + J^+ dr
 * so with q = J^+' y_bar:
 *   J_bar = -q (x) y + (r - J y) (x) J^+ q + (J^+' y) (x) (I - J^+ J) y_bar,  r_bar = q
 * for the weighted J; each row of J_bar takes its weight once more. r is normal, so that its weights
 * are 1. */
void pseudo_inverse_vjp(const pseudo_inverse *inverse, const double *rows, const double *y,
                        const double *y_bar, double *rows_bar, double *blocks_bar, arena *scratch) {
  const contact_event *e = inverse->event;
  arena_mark mark = arena_save(scratch);
  double *work = arena_doubles(scratch, e->size);
  double *points = arena_doubles(scratch, e->mechanics->system->coordinate_count);

  // (r - J y) (x) J^+ q
  pseudo_inverse_apply_transpose(inverse, y_bar, rows_bar, scratch);
  pseudo_inverse_apply(inverse, rows_bar, points, scratch);
  weighted_jacobian(inverse, y, work);
  for (int i = 0; i < e->size; i++) work[i] = rows[i] - work[i];
  weigh_rows(inverse, work);
  event_jacobian_outer(e, 1, work, points, blocks_bar);

  // (J^+' y) (x) (y_bar - J^+ J y_bar)
  weighted_jacobian(inverse, y_bar, work);
  pseudo_inverse_apply(inverse, work, points, scratch);
  pseudo_inverse_apply_transpose(inverse, y, work, scratch);
  weigh_rows(inverse, work);
  event_jacobian_outer(e, 1, work, y_bar, blocks_bar);
  event_jacobian_outer(e, -1, work, points, blocks_bar);

  // -q (x) y
  weigh_rows(inverse, rows_bar);
  event_jacobian_outer(e, -1, rows_bar, y, blocks_bar);
  arena_restore(scratch, mark);
}
