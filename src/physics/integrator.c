#include "physics/integrator.h"

#include <string.h>

#include "base/size.h"
#include "base/vector.h"
#include "physics/drag.h"
#include "physics/free_fall.h"

/* Stage s evaluates at z + h sum_{r<s} advance_sr k_r; the step ends at z + h sum_s weight_s k_s. */
typedef struct tableau {
  int stage_count;
  double advance[4][3];
  double weight[4];
} tableau;

/* Kutta's 3/8 rule */
static const tableau RK4_TABLEAU = {
    4,
    {{0}, {1.0 / 3}, {-1.0 / 3, 1}, {1, -1, 1}},
    {1.0 / 8, 3.0 / 8, 3.0 / 8, 1.0 / 8},
};
static const tableau EULER_TABLEAU = {1, {{0}}, {1}};

static const tableau *tableau_of(carom_integrator method) {
  return method == CAROM_RK4 || method == CAROM_RK4_SECANT ? &RK4_TABLEAU : &EULER_TABLEAU;
}

/* Where in a substep rk4-secant takes its second gradient: two thirds, at which two values integrate a
 * parabola exactly. Elsewhere a gradient belongs to each stage. */
static const double SECANT_NODE = 2.0 / 3;

static bool takes_secants(const integrator *in) { return in->method == CAROM_RK4_SECANT; }

/* Gradients of the potential in a substep. */
static int gradient_count(const integrator *in) {
  return takes_secants(in) ? 2 : tableau_of(in->method)->stage_count;
}

/* How far along the secant a stage is: 0 at the first gradient, 1 at the second. */
static double secant_share(const tableau *t, int stage) {
  double time = 0;
  for (int r = 0; r < stage; r++) time += t->advance[stage][r];
  return time / SECANT_NODE;
}

static size_t potential_bytes(const integrator *in, int capacity) {
  const potential *p = in->potential;
  return p->record_bytes != NULL ? p->record_bytes(p, capacity) : 0;
}

size_t step_record_bytes(const integrator *in, int capacity) {
  size_t stages = (size_t)tableau_of(in->method)->stage_count;
  size_t state = (size_t)in->mechanics->system->coordinate_count * sizeof(double);
  size_t record = sizeof(dynamics_record) + dynamics_record_bytes(in->mechanics);
  size_t records = size_multiply((size_t)dynamics_record_count(capacity), record);
  size_t stage = size_add(size_multiply((size_t)capacity, 4 * state), 5 * sizeof(void *));
  stage = size_add(stage, records);
  size_t gradient = size_add(potential_bytes(in, capacity), sizeof(void *));
  size_t point = takes_secants(in) ? size_multiply((size_t)capacity, state) : 0;
  size_t substep =
      size_add(size_multiply(stages, stage), size_multiply((size_t)gradient_count(in), gradient));
  return size_multiply((size_t)in->substeps, size_add(substep, size_add(point, sizeof(double *))));
}

step_record step_record_make(const integrator *in, int capacity, arena *memory) {
  int stage_count = in->substeps * tableau_of(in->method)->stage_count;
  int gradients = in->substeps * gradient_count(in);
  int size = capacity * in->mechanics->system->coordinate_count;
  step_record record = {.capacity = capacity, .stage_count = stage_count};
  record.x = ARENA_ARRAY(memory, double *, stage_count);
  record.v = ARENA_ARRAY(memory, double *, stage_count);
  record.kx = ARENA_ARRAY(memory, double *, stage_count);
  record.kv = ARENA_ARRAY(memory, double *, stage_count);
  record.dynamics = ARENA_ARRAY(memory, dynamics_record *, stage_count);
  record.potential = ARENA_ARRAY(memory, void *, gradients);
  record.point = ARENA_ARRAY(memory, double *, in->substeps);
  size_t kept = potential_bytes(in, capacity);
  for (int s = 0; s < stage_count; s++) {
    record.x[s] = arena_doubles(memory, size);
    record.v[s] = arena_doubles(memory, size);
    record.kx[s] = arena_doubles(memory, size);
    record.kv[s] = arena_doubles(memory, size);
    const int records = dynamics_record_count(capacity);
    record.dynamics[s] = ARENA_ARRAY(memory, dynamics_record, records);
    for (int i = 0; i < records; i++)
      record.dynamics[s][i] = dynamics_record_make(in->mechanics, memory);
  }
  for (int g = 0; g < gradients; g++)
    record.potential[g] = kept > 0 ? arena_bytes(memory, kept) : NULL;
  for (int k = 0; k < in->substeps; k++)
    record.point[k] = takes_secants(in) ? arena_doubles(memory, size) : NULL;
  return record;
}

static void add_scaled(double *y, double a, const double *x, int count) {
  for (int i = 0; i < count; i++) y[i] += a * x[i];
}

/* to = from + sum_r scale_r k_r, 0 to 4 of them, in their order, in one pass over memory; to may be from */
static void advance(double *to, const double *from, int terms, const double *scale,
                    double *const *k, int count) {
  if (terms == 0 && to != from) vector_copy(to, from, count);
#define SUM(n)                                               \
  if (terms == n)                                            \
    for (int i = 0; i < count; i++) {                        \
      double sum = from[i];                                  \
      for (int r = 0; r < n; r++) sum += scale[r] * k[r][i]; \
      to[i] = sum;                                           \
    }
  SUM(1) SUM(2) SUM(3) SUM(4)
#undef SUM
}

/* The potential's gradient [count][D] at x, its record the given one of the step's. */
static void evaluate_gradient(const integrator *in, int count, step_record *record, int index,
                              const double *x, double *gradient, arena *scratch) {
  double start = stopwatch_read(record->watch);
  in->potential->gradient(in->potential, in->mechanics, count, x, gradient,
                          record->potential[index], scratch);
  if (record->watch != NULL) record->watch->potential += stopwatch_read(record->watch) - start;
}

/* Evaluates the dynamics of all states at the record's stage, from the potential's gradient there, to which
 * controls are added. */
static void evaluate_stage(const integrator *in, int count, step_record *record, int stage,
                           double *gradient, arena *scratch) {
  int d_size = in->mechanics->system->coordinate_count;
  double start = stopwatch_read(record->watch);
  const step_controls *c = &record->controls;
  for (int i = 0; c->u != NULL && i < count; i++)
    controls_apply(in->mechanics->system, record->x[stage] + i * d_size,
                   c->u + (size_t)i * c->stride, gradient + i * d_size);
  for (int i = 0; in->mechanics->drags && i < count; i++)
    drag_apply(in->mechanics, record->v[stage] + i * d_size, gradient + i * d_size);
  for (int i = 0; i < count; i += LANES)
    dynamics_eval(in->mechanics, in->dynamics, count - i < LANES ? count - i : LANES,
                  record->x[stage] + i * d_size, record->v[stage] + i * d_size,
                  gradient + i * d_size, record->kx[stage] + i * d_size,
                  record->kv[stage] + i * d_size, &record->dynamics[stage][i / LANES], scratch);
  if (record->watch != NULL) record->watch->dynamics += stopwatch_read(record->watch) - start;
}

/* Where a secant ends: y = x + c h x' + (c h)^2 / 2 v' from the first stage, c = SECANT_NODE. */
static void place_point(const integrator *in, int count, step_record *record, int substep,
                        int first_stage) {
  int size = in->mechanics->system->coordinate_count;
  double ch = SECANT_NODE * in->dt / in->substeps;
  const double scale[2] = {ch, ch * ch / 2};
  double *k[2] = {record->kx[first_stage], record->kv[first_stage]};
  advance(record->point[substep], record->x[first_stage], 2, scale, k, count * size);
}

/* The gradient that stage s of a substep takes. secant [2]: the gradients of rk4-secant, filled at the first
 * two stages: first + share (second - first). */
static void stage_gradient(const integrator *in, int count, step_record *record, int substep, int s,
                           double *const *secant, double *gradient, arena *scratch) {
  const tableau *t = tableau_of(in->method);
  int stage = substep * t->stage_count + s, index = substep * gradient_count(in);
  int total = count * in->mechanics->system->coordinate_count;
  if (!takes_secants(in)) {
    evaluate_gradient(in, count, record, index + s, record->x[stage], gradient, scratch);
    return;
  }
  if (s == 0) evaluate_gradient(in, count, record, index, record->x[stage], secant[0], scratch);
  if (s == 1) {
    place_point(in, count, record, substep, stage - 1);
    evaluate_gradient(in, count, record, index + 1, record->point[substep], secant[1], scratch);
  }
  double share = secant_share(t, s);
  if (s == 0) vector_copy(gradient, secant[0], total);
  for (int i = 0; s > 0 && i < total; i++)
    gradient[i] = secant[0][i] + share * (secant[1][i] - secant[0][i]);
}

/* The end of a substep of symplectic Euler, from its only stage:
 *   v1 = v + h k_v,  x1 = x + h (v1 + k_x - v),
 * where k_x - v is what the projection of Hamiltonian dynamics changed. */
static void finish_symplectic(double h, int total, const double *kx, const double *kv, double *x,
                              double *v) {
  for (int j = 0; j < total; j++) {
    double correction = kx[j] - v[j];
    v[j] += h * kv[j];
    x[j] += h * (v[j] + correction);
  }
}

/* z + h sum_s weight_s k_s */
static void finish_substep(const integrator *in, int count, const step_record *record,
                           int first_stage, double *x, double *v) {
  const tableau *t = tableau_of(in->method);
  int total = count * in->mechanics->system->coordinate_count;
  double h = in->dt / in->substeps;
  if (in->method == CAROM_SYMPLECTIC_EULER) {
    finish_symplectic(h, total, record->kx[first_stage], record->kv[first_stage], x, v);
    return;
  }
  double scale[4];
  for (int s = 0; s < t->stage_count; s++) scale[s] = t->weight[s] * h;
  advance(x, x, t->stage_count, scale, record->kx + first_stage, total);
  advance(v, v, t->stage_count, scale, record->kv + first_stage, total);
}

/* z_s = z + h sum_{r<s} advance_sr k_r,  k_s = f(z_s) */
static void substep(const integrator *in, int count, double *x, double *v, step_record *record,
                    int index, arena *scratch) {
  const tableau *t = tableau_of(in->method);
  int size = in->mechanics->system->coordinate_count, first_stage = index * t->stage_count;
  double h = in->dt / in->substeps;
  double *gradient = arena_doubles(scratch, count * size), *secant[2] = {NULL, NULL};
  for (int g = 0; takes_secants(in) && g < 2; g++) secant[g] = arena_doubles(scratch, count * size);
  for (int s = 0; s < t->stage_count; s++) {
    int stage = first_stage + s;
    double scale[3];
    for (int r = 0; r < s; r++) scale[r] = t->advance[s][r] * h;
    advance(record->x[stage], x, s, scale, record->kx + first_stage, count * size);
    advance(record->v[stage], v, s, scale, record->kv + first_stage, count * size);
    stage_gradient(in, count, record, index, s, secant, gradient, scratch);
    evaluate_stage(in, count, record, stage, gradient, scratch);
  }
  finish_substep(in, count, record, first_stage, x, v);
}

void integrator_replay(const integrator *in, int count, const step_record *record, double *x,
                       double *v) {
  if (free_fall_is(in, record)) {
    free_fall_replay(in, count, record, x, v);
    return;
  }
  int size = in->mechanics->system->coordinate_count;
  int last = record->stage_count - tableau_of(in->method)->stage_count;
  vector_copy(x, record->x[last], count * size);
  vector_copy(v, record->v[last], count * size);
  finish_substep(in, count, record, last, x, v);
}

void integrator_step(const integrator *in, int count, double *x, double *v, step_record *record,
                     arena *scratch) {
  if (free_fall_is(in, record)) {
    free_fall_step(in, count, x, v, record);
    return;
  }
  arena_mark mark = arena_save(scratch);
  for (int k = 0; k < in->substeps; k++) substep(in, count, x, v, record, k, scratch);
  arena_restore(scratch, mark);
}

/* From the cotangent of a gradient of the potential at x: x_bar +=, potential_bar +=. */
static void evaluate_gradient_vjp(const integrator *in, int count, const step_record *record,
                                  int index, const double *x, const double *gradient_bar,
                                  double *x_bar, double *potential_bar, arena *scratch) {
  double start = stopwatch_read(record->watch);
  in->potential->gradient_vjp(in->potential, in->mechanics, count, x, record->potential[index],
                              gradient_bar, x_bar, potential_bar, scratch);
  if (record->watch != NULL) record->watch->potential += stopwatch_read(record->watch) - start;
}

/* Cotangents of one stage: kx, kv of its derivatives; adds those of its state to sx, sv, and sets that of its
 * gradient. */
static void evaluate_stage_vjp(const integrator *in, int count, const step_record *record,
                               int stage, const double *kx_bar, const double *kv_bar,
                               double *sx_bar, double *sv_bar, double *theta_bar,
                               double *gradient_bar, arena *scratch) {
  int size = in->mechanics->system->coordinate_count;
  double start = stopwatch_read(record->watch);
  for (int i = 0; i < count; i += LANES)
    dynamics_eval_vjp(in->mechanics, in->dynamics, count - i < LANES ? count - i : LANES,
                      &record->dynamics[stage][i / LANES], kx_bar + i * size, kv_bar + i * size,
                      sx_bar + i * size, sv_bar + i * size, gradient_bar + i * size, theta_bar,
                      scratch);
  const step_controls *c = &record->controls;
  for (int i = 0; c->u != NULL && i < count; i++)
    controls_apply_vjp(in->mechanics->system, record->x[stage] + i * size,
                       c->u + (size_t)i * c->stride, gradient_bar + i * size, sx_bar + i * size,
                       c->u_bar != NULL ? c->u_bar + (size_t)i * c->stride : NULL);
  for (int i = 0; i < count; i++)
    drag_apply_vjp(in->mechanics, record->v[stage] + i * size, gradient_bar + i * size,
                   sv_bar + i * size, theta_bar);
  if (record->watch != NULL) record->watch->dynamics += stopwatch_read(record->watch) - start;
}

/* bar [count] += weight (k_x . x_bar + k_v . v_bar) of each sample, k the derivatives at a stage */
static void add_length_cotangent(const integrator *in, int count, const step_record *record,
                                 int stage, double weight, const double *x_bar, const double *v_bar,
                                 double *bar) {
  int size = in->mechanics->system->coordinate_count;
  for (int i = 0; bar != NULL && i < count; i++) {
    double sum = 0;
    for (int j = i * size; j < (i + 1) * size; j++)
      sum += record->kx[stage][j] * x_bar[j] + record->kv[stage][j] * v_bar[j];
    bar[i] += weight * sum;
  }
}

/* Cotangents inside a substep: of the derivatives at its stages, and of the gradients of rk4-secant. */
typedef struct substep_bars {
  double *kx[4], *kv[4]; /* [stage][count][D] */
  double *secant[2];
  double *x, *v;             /* of the state, in the end that before the substep */
  double *theta, *potential; /* potential may be NULL */
  double *h;                 /* [count] of the substep's length, or NULL */
} substep_bars;

/* Reverses place_point: y_bar goes to the state and to the derivatives at the first stage. */
static void place_point_vjp(const integrator *in, int count, const step_record *record,
                            int first_stage, const double *y_bar, const substep_bars *bars,
                            const double *none) {
  int total = count * in->mechanics->system->coordinate_count;
  double c = SECANT_NODE, h = in->dt / in->substeps;
  add_scaled(bars->x, 1, y_bar, total);
  add_scaled(bars->kx[0], c * h, y_bar, total);
  add_scaled(bars->kv[0], c * c * h * h / 2, y_bar, total);
  add_length_cotangent(in, count, record, first_stage, c, y_bar, none, bars->h);
  add_length_cotangent(in, count, record, first_stage, c * c * h, none, y_bar, bars->h);
}

/* Reverses stage_gradient; the cotangent of the stage's position goes to sx_bar. */
static void stage_gradient_vjp(const integrator *in, int count, const step_record *record,
                               int substep, int s, double *gradient_bar, const substep_bars *bars,
                               double *sx_bar, arena *scratch) {
  const tableau *t = tableau_of(in->method);
  int stage = substep * t->stage_count + s, index = substep * gradient_count(in);
  int total = count * in->mechanics->system->coordinate_count;
  if (takes_secants(in)) {
    double share = secant_share(t, s);
    add_scaled(bars->secant[1], share, gradient_bar, total);
    add_scaled(bars->secant[0], 1 - share, gradient_bar, total);
    if (s == 1) {
      double *y_bar = arena_zeros(scratch, total);
      evaluate_gradient_vjp(in, count, record, index + 1, record->point[substep], bars->secant[1],
                            y_bar, bars->potential, scratch);
      place_point_vjp(in, count, record, stage - 1, y_bar, bars, arena_zeros(scratch, total));
    }
    if (s > 0) return;
    gradient_bar = bars->secant[0];
  }
  evaluate_gradient_vjp(in, count, record, index + s, record->x[stage], gradient_bar, sx_bar,
                        bars->potential, scratch);
}

/* The end of a substep: k_s went into it with its weight. */
static void finish_substep_vjp(const integrator *in, int count, const step_record *record,
                               int first_stage, substep_bars *bars, arena *scratch) {
  const tableau *t = tableau_of(in->method);
  int total = count * in->mechanics->system->coordinate_count;
  double h = in->dt / in->substeps;
  for (int s = 0; s < t->stage_count; s++) {
    bars->kx[s] = arena_doubles(scratch, total);
    bars->kv[s] = arena_doubles(scratch, total);
    const double scale = t->weight[s] * h;
    for (int i = 0; i < total; i++) bars->kx[s][i] = scale * bars->x[i];
    for (int i = 0; i < total; i++) bars->kv[s][i] = scale * bars->v[i];
    add_length_cotangent(in, count, record, first_stage + s, t->weight[s], bars->x, bars->v,
                         bars->h);
  }
  // v1 = v + h k_v, x1 = x + h (v1 + k_x - v) = x + h k_x + h^2 k_v
  if (in->method != CAROM_SYMPLECTIC_EULER) return;
  const double *none = arena_zeros(scratch, total);
  add_scaled(bars->kv[0], h * h, bars->x, total);
  add_length_cotangent(in, count, record, first_stage, 2 * h, none, bars->x, bars->h);
}

/* bars->x, v of the state after a substep become those before it. */
static void substep_vjp(const integrator *in, int count, const step_record *record, int index,
                        substep_bars *bars, arena *scratch) {
  const tableau *t = tableau_of(in->method);
  int total = count * in->mechanics->system->coordinate_count;
  int first_stage = index * t->stage_count;
  double h = in->dt / in->substeps;
  finish_substep_vjp(in, count, record, first_stage, bars, scratch);
  for (int g = 0; takes_secants(in) && g < 2; g++) bars->secant[g] = arena_zeros(scratch, total);

  // the stages: k_r went into the states of all later ones
  double *sx_bar = arena_doubles(scratch, total), *sv_bar = arena_doubles(scratch, total);
  double *gradient_bar = arena_doubles(scratch, total);
  for (int s = t->stage_count - 1; s >= 0; s--) {
    memset(sx_bar, 0, sizeof(double) * (size_t)total);
    memset(sv_bar, 0, sizeof(double) * (size_t)total);
    evaluate_stage_vjp(in, count, record, first_stage + s, bars->kx[s], bars->kv[s], sx_bar, sv_bar,
                       bars->theta, gradient_bar, scratch);
    stage_gradient_vjp(in, count, record, index, s, gradient_bar, bars, sx_bar, scratch);
    add_scaled(bars->x, 1, sx_bar, total);
    add_scaled(bars->v, 1, sv_bar, total);
    // z_s = z + h sum_{r<s} advance_sr k_r
    for (int r = 0; r < s; r++) {
      add_scaled(bars->kx[r], t->advance[s][r] * h, sx_bar, total);
      add_scaled(bars->kv[r], t->advance[s][r] * h, sv_bar, total);
      add_length_cotangent(in, count, record, first_stage + r, t->advance[s][r], sx_bar, sv_bar,
                           bars->h);
    }
  }
}

/* bars [count][D] of the samples by their weights, or by their inverses */
static void weigh(const integrator *in, int count, const double *weights, bool inverse,
                  double *bars) {
  int size = in->mechanics->system->coordinate_count;
  for (int i = 0; weights != NULL && i < count * size; i++)
    bars[i] *= inverse ? 1 / weights[i / size] : weights[i / size];
}

/* All that comes out is linear in the cotangents of the state after: they go in times the weights, and what is not to be
 * weighed is divided by them. */
void integrator_step_vjp(const integrator *in, int count, const step_record *record, double *x_bar,
                         double *v_bar, double *theta_bar, double *potential_bar, double *dt_bar,
                         arena *scratch) {
  if (free_fall_is(in, record)) {
    free_fall_step_vjp(in, count, record, x_bar, v_bar, theta_bar, potential_bar, dt_bar);
    return;
  }
  arena_mark mark = arena_save(scratch);
  substep_bars bars = {.x = x_bar,
                       .v = v_bar,
                       .theta = theta_bar,
                       .potential = potential_bar,
                       .h = dt_bar != NULL ? arena_zeros(scratch, count) : NULL};
  const double *weights = record->weights;
  weigh(in, count, weights, false, x_bar);
  weigh(in, count, weights, false, v_bar);
  for (int k = in->substeps - 1; k >= 0; k--) substep_vjp(in, count, record, k, &bars, scratch);
  weigh(in, count, weights, true, x_bar);
  weigh(in, count, weights, true, v_bar);
  // h = dt / substeps
  for (int i = 0; dt_bar != NULL && i < count; i++)
    dt_bar[i] += bars.h[i] / in->substeps / (weights != NULL ? weights[i] : 1);
  arena_restore(scratch, mark);
}
