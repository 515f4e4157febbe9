#include "system/redundancy.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "base/semidefinite.h"

/* Rows have length 1 here, so that their matrix has a diagonal of 1 and pivots are squares of sines.
 * Given states hold the constraints to 1e-6, which leaves dependent rows pivots of 1e-12. */
static const double RANK_TOLERANCE = 1e-10;

/* Pivots that the way back to the constraints is not to lean on. */
static const double STEP_TOLERANCE = 1e-12;

/* How well a state has to hold the constraints, of its largest coordinate. */
static const double HELD = 1e-12;

/* Newton's method takes 4 to 6 steps back where the rank is constant. At a dead point that cannot be
 * left (a chain pulled straight between two anchors) it halves the distance with each step and does
 * not arrive: such states are not counted. */
enum { TRIES = 12, STEPS_BACK = 8, NEEDED = 3 };

static double norm(const double *a, int count) {
  double sum = 0;
  for (int k = 0; k < count; k++) sum += a[k] * a[k];
  return sqrt(sum);
}

/* The constraints at one state, each row of J_E divided by its length: on point k of its arm a
 * distance has the row w_k direction', a coincidence the rows w_k I, weights scaled. */
typedef struct linearised {
  const carom_system *system;
  double *direction; /* [constraint_count][dimension] */
  double *scale;     /* [constraint_count] 1 / length of the weights */
  double *error;     /* [row_count] by how much the constraints are not held */
  double *values;    /* J_E J_E' in system->constraint_shape */
} linearised;

static linearised linearised_make(const carom_system *s, arena *memory) {
  linearised l = {.system = s,
                  .direction = arena_zeros(memory, s->constraint_count * s->dimension),
                  .scale = arena_doubles(memory, s->constraint_count),
                  .error = arena_doubles(memory, s->row_count),
                  .values = arena_doubles(memory, s->constraint_shape.start[s->row_count])};
  for (int i = 0; i < s->constraint_count; i++)
    l.scale[i] = 1 / norm(s->constraints[i].arm.weight, s->constraints[i].arm.count);
  return l;
}

// product of the weights of two arms over the points they share
static double shared_weight(const combination *a, const combination *b) {
  double sum = 0;
  for (int i = 0; i < a->count; i++)
    for (int j = 0; j < b->count; j++)
      if (a->point[i] == b->point[j]) sum += a->weight[i] * b->weight[j];
  return sum;
}

// row i of one constraint as a direction in space
static double row_entry(const linearised *l, int index, int i, int axis) {
  if (l->system->constraints[index].kind == CONSTRAINT_COINCIDE) return i == axis;
  return l->direction[index * l->system->dimension + axis];
}

/* The block of J_E J_E' of two constraints: (sum over shared points w_a w_b) rows_a rows_b' */
static void place_block(linearised *l, int a, int b) {
  const carom_system *s = l->system;
  const constraint *row = &s->constraints[a], *column = &s->constraints[b];
  double weight = l->scale[a] * l->scale[b] * shared_weight(&row->arm, &column->arm);
  for (int i = 0; i < row->row_count; i++) {
    for (int j = 0; j < column->row_count; j++) {
      if (column->first_row + j > row->first_row + i) break;
      double product = 0;
      for (int k = 0; k < s->dimension; k++)
        product += row_entry(l, a, i, k) * row_entry(l, b, j, k);
      l->values[envelope_at(&s->constraint_shape, row->first_row + i, column->first_row + j)] =
          weight * product;
    }
  }
}

static void linearise(linearised *l, const double *x) {
  const carom_system *s = l->system;
  int d = s->dimension;
  for (int i = 0; i < s->constraint_count; i++) {
    const constraint *c = &s->constraints[i];
    double arm[MAX_DIMENSION];
    combination_value(&c->arm, d, x, true, arm);
    double length = norm(arm, d);
    for (int k = 0; k < d; k++) l->direction[i * d + k] = length > 0 ? arm[k] / length : k == 0;
    for (int k = 0; k < c->row_count; k++)
      l->error[c->first_row + k] =
          l->scale[i] * (c->kind == CONSTRAINT_DISTANCE ? length - c->length : arm[k]);
  }
  // the envelope of a row begins where a constraint does
  for (int a = 0; a < s->constraint_count; a++) {
    int first = s->constraint_shape.first[s->constraints[a].first_row];
    for (int b = a; b >= 0 && s->constraints[b].first_row >= first; b--) place_block(l, a, b);
  }
}

// x -= J_E' rows
static void step_back(const linearised *l, const double *rows, double *x) {
  const carom_system *s = l->system;
  int d = s->dimension;
  for (int i = 0; i < s->constraint_count; i++) {
    const constraint *c = &s->constraints[i];
    for (int axis = 0; axis < d; axis++) {
      double push = 0;
      for (int k = 0; k < c->row_count; k++)
        push += row_entry(l, i, k, axis) * rows[c->first_row + k];
      for (int k = 0; k < c->arm.count; k++)
        x[c->arm.point[k] * d + axis] -= l->scale[i] * c->arm.weight[k] * push;
    }
  }
}

/* Moves x to a state nearby that holds the constraints, where l is linearised then; false if it
 * takes too long. */
static bool return_to_constraints(linearised *l, double *x, arena *scratch) {
  const carom_system *s = l->system;
  for (int step = 0; step <= STEPS_BACK; step++) {
    double largest = 0, error = 0;
    linearise(l, x);
    for (int i = 0; i < s->coordinate_count; i++) largest = fmax(largest, fabs(x[i]));
    for (int i = 0; i < s->row_count; i++) error = fmax(error, fabs(l->error[i]));
    if (error <= HELD * largest) return true;
    if (!isfinite(error)) return false;
    arena_mark mark = arena_save(scratch);
    semidefinite k = semidefinite_make(&s->constraint_shape, l->values, STEP_TOLERANCE, scratch);
    semidefinite_solve(&k, l->error);
    step_back(l, l->error, x);
    arena_restore(scratch, mark);
  }
  return false;
}

// how far each point may be moved: the shortest length that hangs on it
static double *point_reach(const carom_system *s, arena *memory) {
  double *reach = arena_doubles(memory, s->point_count), shortest = INFINITY;
  for (int p = 0; p < s->point_count; p++) reach[p] = INFINITY;
  for (int i = 0; i < s->constraint_count; i++) {
    const constraint *c = &s->constraints[i];
    if (c->kind != CONSTRAINT_DISTANCE) continue;
    for (int k = 0; k < c->arm.count; k++) {
      double *r = &reach[c->arm.point[k]];
      *r = fmin(*r, c->length / fmax(fabs(c->arm.weight[k]), 1));
    }
    shortest = fmin(shortest, c->length);
  }
  for (int p = 0; p < s->point_count; p++)
    if (isinf(reach[p])) reach[p] = isinf(shortest) ? 1 : shortest;
  return reach;
}

/* Out of the joints whose rows depend on each other at l the last one in the scene that has a
 * considerable part in it: what is listed last is likely to be one too many. */
static int pick(const linearised *l, const semidefinite *k, rng *random, double *part) {
  const carom_system *s = l->system;
  for (int i = 0; i < s->row_count; i++) part[i] = rng_normal(random);
  semidefinite_null(k, part);
  double largest = 0;
  int picked = -1;
  for (int i = 0; i < s->row_count; i++) largest = fmax(largest, fabs(part[i]));
  for (int i = 0; i < s->constraint_count; i++) {
    const constraint *c = &s->constraints[i];
    if (norm(part + c->first_row, c->row_count) >= 1e-3 * largest && c->joint > picked)
      picked = c->joint;
  }
  return picked;
}

static bool has_joints(const carom_system *s) {
  for (int i = 0; i < s->constraint_count; i++)
    if (s->constraints[i].joint >= 0) return true;
  return false;
}

static int find_redundant(const carom_system *s, const double *given, arena *memory) {
  linearised l = linearised_make(s, memory);
  double *x = arena_doubles(memory, s->coordinate_count);
  double *part = arena_doubles(memory, s->row_count);
  const double *reach = point_reach(s, memory);
  rng random;
  rng_seed(&random, 1, 0);
  int found = -1, count = 0;
  for (int k = 0; k <= TRIES; k++) {
    // the given state first, then others further and less far away from it
    double distance = k == 0 ? 0 : 0.2 / (double)(1 << k % 3);
    for (int i = 0; i < s->coordinate_count; i++)
      x[i] = given[i] + distance * reach[i / s->dimension] * rng_normal(&random);
    if (k == 0)
      linearise(&l, x);
    else if (!return_to_constraints(&l, x, memory))
      continue;
    arena_mark mark = arena_save(memory);
    semidefinite factor = semidefinite_make(&s->constraint_shape, l.values, RANK_TOLERANCE, memory);
    bool independent = factor.rank == s->row_count;
    found = independent ? -1 : pick(&l, &factor, &random, part);
    arena_restore(memory, mark);
    if (independent) return -1;
    count += k > 0;
  }
  return count >= NEEDED ? found : -1;
}

int redundant_joint(const carom_system *system, const double *x, arena *scratch) {
  return has_joints(system) ? find_redundant(system, x, scratch) : -1;
}
