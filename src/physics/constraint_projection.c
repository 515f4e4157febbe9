#include "physics/constraint_projection.h"

#include "base/vector.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST_NEWTON_STEPS = 30 };

/* Of what is left of Phi, relative to the terms it is a sum of: where a further step would be one of
 * rounding errors, and where no further progress is one of them too. */
static const double ROUNDING = 16 * DBL_EPSILON;
static const double ARRIVED = 1e-10;

/* The constraints of one assembly at one state. Arrays are those of a whole system, used where the
 * assembly is. */
typedef struct linearisation {
  const mechanics *mechanics;
  const assembly *assembly;
  int begin, end; /* constraints */
  constraint_metric metric;
  double *arm, *factor;
  double *rows; /* [row_count] r = Phi or J v, then z = -(J W J')^-1 r */
  double *push; /* [D] J' z */
  double *step; /* [D] W J' z */
} linearisation;

static linearisation linearisation_make(const mechanics *m, constraint_metric metric,
                                        int assembly_index, const double *x, arena *memory) {
  const carom_system *s = m->system;
  linearisation l = {.mechanics = m,
                     .assembly = &s->assemblies[assembly_index],
                     .begin = m->assembly_constraint[assembly_index],
                     .end = m->assembly_constraint[assembly_index + 1],
                     .metric = metric,
                     .arm = arena_doubles(memory, s->constraint_count * s->dimension),
                     .factor = arena_doubles(memory, s->constraint_shape.start[s->row_count]),
                     .rows = arena_doubles(memory, s->row_count),
                     .push = arena_doubles(memory, s->coordinate_count),
                     .step = arena_doubles(memory, s->coordinate_count)};
  constraints_arms(m, l.begin, l.end, x, l.arm);
  return l;
}

/* to += from on the points of an assembly; to = from; to = 0 */
static void points_add(const linearisation *l, const double *from, double *to) {
  int d = l->mechanics->system->dimension;
  for (int k = 0; k < l->assembly->point_count; k++)
    for (int i = 0, at = l->assembly->points[k] * d; i < d; i++) to[at + i] += from[at + i];
}

static void points_copy(const assembly *a, int d, const double *from, double *to) {
  for (int k = 0; k < a->point_count; k++)
    for (int i = 0, at = a->points[k] * d; i < d; i++) to[at + i] = from[at + i];
}

static void points_zero(const linearisation *l, double *to) {
  int d = l->mechanics->system->dimension;
  for (int k = 0; k < l->assembly->point_count; k++)
    for (int i = 0, at = l->assembly->points[k] * d; i < d; i++) to[at + i] = 0;
}

/* out = W force */
static void apply_metric(const linearisation *l, const double *force, double *out) {
  if (l->metric == METRIC_INERTIAL)
    mass_inverse_assembly(l->mechanics, l->assembly, force, out);
  else
    points_copy(l->assembly, l->mechanics->system->dimension, force, out);
}

/* The size of the terms that an arm is a sum of. */
static double arm_terms(const combination *c, int d, const double *x) {
  double sum = 0;
  for (int k = 0; k < c->count; k++) {
    const double *point = x + c->point[k] * d;
    sum += fabs(c->weight[k]) * sqrt(vector_dot_small(point, point, d));
  }
  return sum + sqrt(vector_dot_small(c->constant, c->constant, d));
}

/* rows = Phi(x); returns the largest violation relative to the terms it is a sum of */
static double violations(linearisation *l, const double *x) {
  const carom_system *s = l->mechanics->system;
  int d = s->dimension;
  double worst = 0;
  for (int c = l->begin; c < l->end; c++) {
    const constraint *on = &s->constraints[c];
    const double *arm = l->arm + c * d;
    double square = vector_dot_small(arm, arm, d), terms = arm_terms(&on->arm, d, x), relative;
    if (on->kind == CONSTRAINT_DISTANCE) {
      l->rows[on->first_row] = square - on->length * on->length;
      relative = fabs(l->rows[on->first_row]) / (2 * on->length * (on->length + terms));
    } else {
      for (int k = 0; k < d; k++) l->rows[on->first_row + k] = arm[k];
      relative = terms > 0 ? sqrt(square) / terms : 0;
    }
    if (!(relative <= worst)) worst = relative;
  }
  return worst;
}

/* rows of the assembly = -(J W J')^-1 rows */
static void solve_negative(const linearisation *l, double *rows) {
  constraints_solve(l->mechanics, l->begin, l->end, l->factor, rows);
  for (int r = 0; r < l->assembly->row_count; r++)
    rows[l->assembly->first_row + r] = -rows[l->assembly->first_row + r];
}

/* values += W J' z, z = -(J W J')^-1 rows */
static void remove_rows(linearisation *l, double *values) {
  constraints_factor(l->mechanics, l->begin, l->end, l->arm, l->metric, l->factor);
  solve_negative(l, l->rows);
  points_zero(l, l->push);
  constraints_apply_transpose(l->mechanics, l->begin, l->end, l->arm, l->rows, l->push);
  apply_metric(l, l->push, l->step);
  points_add(l, l->step, values);
}

/* Reverse of remove_rows and of the rows r that it removed, with W = M^-1 and K = J W J', K z = -r. Let
 *
 *   kappa = -K^-1 J W bar,  alpha = bar + J' kappa
 *
 * Then r_bar = kappa; J in J' z gives z (x) W bar, that in K gives kappa (x) W J' z + z (x) W J' kappa.
 * Rows are Phi(x), dr = J dx, or J v, dr = J dv + dJ v. Either way bar becomes alpha, J gets
 *
 *   z (x) W alpha + kappa (x) after,   after = W J' z, the step, or v + W J' z, the new velocity,
 *
 * and M^-1 the term alpha' dM^-1 J' z. */
static void remove_rows_vjp(const linearisation *l, const double *after, double *bar, double *x_bar,
                            double *theta_bar, arena *scratch) {
  const mechanics *m = l->mechanics;
  arena_mark mark = arena_save(scratch);
  double *kappa = arena_doubles(scratch, m->system->row_count);
  double *u = arena_doubles(scratch, m->system->coordinate_count);
  apply_metric(l, bar, u);
  constraints_apply(m, l->begin, l->end, l->arm, u, kappa);
  solve_negative(l, kappa);
  constraints_apply_transpose(m, l->begin, l->end, l->arm, kappa, bar);
  apply_metric(l, bar, u);
  mass_inverse_assembly_vjp(m, l->assembly, bar, l->push, theta_bar);
  constraints_bilinear_vjp(m, l->begin, l->end, 1, l->rows, u, x_bar);
  constraints_bilinear_vjp(m, l->begin, l->end, 1, kappa, after, x_bar);
  arena_restore(scratch, mark);
}

/* ---- positions ---------------------------------------------------------------------------------- */

/* Newton's steps, kept for the reverse, and one more where they arrive that moves nothing. */
typedef struct newton_path {
  int count;
  linearisation steps[MOST_NEWTON_STEPS + 1];
} newton_path;

/* The step that is left at a state on the constraints: none, but changes of x are projected. */
static void arrive(linearisation *l, double *x, newton_path *path) {
  for (int r = 0; r < l->assembly->row_count; r++) l->rows[l->assembly->first_row + r] = 0;
  remove_rows(l, x);
  path->steps[path->count++] = *l;
}

/* Walks from x to the constraints; false, with x as it was, if that does not arrive. The steps are kept
 * if there is a path to keep them in. */
static bool walk(const mechanics *m, constraint_metric metric, int assembly_index, double *x,
                 newton_path *path, arena *memory) {
  const carom_system *s = m->system;
  const assembly *a = &s->assemblies[assembly_index];
  double *before = arena_doubles(memory, s->coordinate_count), left = INFINITY;
  points_copy(a, s->dimension, x, before);
  for (int k = 0; k <= MOST_NEWTON_STEPS; k++) {
    arena_mark mark = arena_save(memory);
    linearisation l = linearisation_make(m, metric, assembly_index, x, memory);
    double now = violations(&l, x);
    if (now <= ROUNDING || (now >= left / 2 && now < ARRIVED)) {
      if (path != NULL) arrive(&l, x, path);
      return true;
    }
    if (k == MOST_NEWTON_STEPS || !isfinite(now)) break;
    remove_rows(&l, x);
    left = now;
    if (path != NULL)
      path->steps[path->count++] = l;
    else
      arena_restore(memory, mark);
  }
  points_copy(a, s->dimension, before, x);
  return false;
}

/* x <- x - W J' (J W J')^-1 Phi(x) until Phi = 0, J at each x anew */
bool project_positions(const mechanics *m, constraint_metric metric, int assembly_index, double *x,
                       arena *scratch) {
  if (m->system->assemblies[assembly_index].row_count == 0) return true;
  arena_mark mark = arena_save(scratch);
  bool arrived = walk(m, metric, assembly_index, x, NULL, scratch);
  arena_restore(scratch, mark);
  return arrived;
}

/* Reverses the steps of a path, the last one first. */
static void walk_vjp(const newton_path *path, double *x_bar, double *theta_bar, arena *scratch) {
  for (int k = path->count - 1; k >= 0; k--)
    remove_rows_vjp(&path->steps[k], path->steps[k].step, x_bar, x_bar, theta_bar, scratch);
}

/* The positions of an assembly put on the constraints again, from x, with the steps kept; NULL if they do
 * not arrive. */
static double *walk_again(const mechanics *m, int assembly_index, const double *x,
                          newton_path *path, arena *memory) {
  const carom_system *s = m->system;
  double *moved = arena_doubles(memory, s->coordinate_count);
  points_copy(&s->assemblies[assembly_index], s->dimension, x, moved);
  return walk(m, METRIC_INERTIAL, assembly_index, moved, path, memory) ? moved : NULL;
}

void project_positions_vjp(const mechanics *m, int assembly_index, const double *x, double *x_bar,
                           double *theta_bar, arena *scratch) {
  if (m->system->assemblies[assembly_index].row_count == 0) return;
  arena_mark mark = arena_save(scratch);
  newton_path path = {.count = 0};
  if (walk_again(m, assembly_index, x, &path, scratch) != NULL)
    walk_vjp(&path, x_bar, theta_bar, scratch);
  arena_restore(scratch, mark);
}

/* ---- velocities --------------------------------------------------------------------------------- */

/* v <- v - W J' (J W J')^-1 J v: the nearest in the metric with J v = 0 */
static linearisation remove_velocity(const mechanics *m, constraint_metric metric,
                                     int assembly_index, const double *x, double *v,
                                     arena *memory) {
  linearisation l = linearisation_make(m, metric, assembly_index, x, memory);
  constraints_apply(m, l.begin, l.end, l.arm, v, l.rows);
  remove_rows(&l, v);
  return l;
}

void project_velocities(const mechanics *m, constraint_metric metric, int assembly_index,
                        const double *x, double *v, arena *scratch) {
  if (m->system->assemblies[assembly_index].row_count == 0) return;
  arena_mark mark = arena_save(scratch);
  remove_velocity(m, metric, assembly_index, x, v, scratch);
  arena_restore(scratch, mark);
}

void project_velocities_vjp(const mechanics *m, int assembly_index, const double *x,
                            const double *v, double *v_bar, double *x_bar, double *theta_bar,
                            arena *scratch) {
  const carom_system *s = m->system;
  const assembly *a = &s->assemblies[assembly_index];
  if (a->row_count == 0) return;
  arena_mark mark = arena_save(scratch);
  double *after = arena_doubles(scratch, s->coordinate_count);
  points_copy(a, s->dimension, v, after);
  linearisation l = remove_velocity(m, METRIC_INERTIAL, assembly_index, x, after, scratch);
  remove_rows_vjp(&l, after, v_bar, x_bar, theta_bar, scratch);
  arena_restore(scratch, mark);
}

/* ---- states ------------------------------------------------------------------------------------- */

int project_state(const mechanics *m, double *x, double *v, arena *scratch) {
  int failed = 0;
  for (int a = 0; a < m->system->assembly_count; a++) {
    if (project_positions(m, METRIC_INERTIAL, a, x, scratch))
      project_velocities(m, METRIC_INERTIAL, a, x, v, scratch);
    else
      failed++;
  }
  return failed;
}

void project_state_vjp(const mechanics *m, const double *x, const double *v, double *x_bar,
                       double *v_bar, double *theta_bar, arena *scratch) {
  for (int a = 0; a < m->system->assembly_count; a++) {
    if (m->system->assemblies[a].row_count == 0) continue;
    arena_mark mark = arena_save(scratch);
    newton_path path = {.count = 0};
    const double *moved = walk_again(m, a, x, &path, scratch);
    if (moved != NULL) {
      project_velocities_vjp(m, a, moved, v, v_bar, x_bar, theta_bar, scratch);
      walk_vjp(&path, x_bar, theta_bar, scratch);
    }
    arena_restore(scratch, mark);
  }
}
