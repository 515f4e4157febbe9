#include "physics/integrator.h"

#include <string.h>

#include "base/size.h"
#include "base/vector.h"
#include "physics/drag.h"

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
  return method == CAROM_RK4 ? &RK4_TABLEAU : &EULER_TABLEAU;
}

static size_t potential_bytes(const integrator *in, int capacity) {
  const potential *p = in->potential;
  return p->record_bytes != NULL ? p->record_bytes(p, capacity) : 0;
}

size_t step_record_bytes(const integrator *in, int capacity) {
  size_t stages = size_multiply((size_t)in->substeps, (size_t)tableau_of(in->method)->stage_count);
  size_t state = (size_t)in->mechanics->system->coordinate_count * sizeof(double);
  size_t sample = 2 * state + sizeof(dynamics_record) + dynamics_record_bytes(in->mechanics);
  size_t stage = size_add(size_multiply((size_t)capacity, sample), potential_bytes(in, capacity));
  return size_multiply(stages, size_add(stage, 4 * sizeof(void *)));
}

step_record step_record_make(const integrator *in, int capacity, arena *memory) {
  int stage_count = in->substeps * tableau_of(in->method)->stage_count;
  int size = capacity * in->mechanics->system->coordinate_count;
  step_record record = {.capacity = capacity, .stage_count = stage_count};
  record.x = ARENA_ARRAY(memory, double *, stage_count);
  record.v = ARENA_ARRAY(memory, double *, stage_count);
  record.dynamics = ARENA_ARRAY(memory, dynamics_record *, stage_count);
  record.potential = ARENA_ARRAY(memory, void *, stage_count);
  size_t kept = potential_bytes(in, capacity);
  for (int s = 0; s < stage_count; s++) {
    record.x[s] = arena_doubles(memory, size);
    record.v[s] = arena_doubles(memory, size);
    record.dynamics[s] = ARENA_ARRAY(memory, dynamics_record, capacity);
    for (int i = 0; i < capacity; i++)
      record.dynamics[s][i] = dynamics_record_make(in->mechanics, memory);
    record.potential[s] = kept > 0 ? arena_bytes(memory, kept) : NULL;
  }
  return record;
}

static void add_scaled(double *y, double a, const double *x, int count) {
  for (int i = 0; i < count; i++) y[i] += a * x[i];
}

/* Evaluates the dynamics of all states at the record's stage. */
static void evaluate_stage(const integrator *in, int count, step_record *record, int stage,
                           arena *scratch) {
  int d_size = in->mechanics->system->coordinate_count;
  double *gradient = arena_doubles(scratch, count * d_size);
  double start = stopwatch_read(record->watch);
  in->potential->gradient(in->potential, in->mechanics, count, record->x[stage], gradient,
                          record->potential[stage], scratch);
  double middle = stopwatch_read(record->watch);
  const step_controls *c = &record->controls;
  for (int i = 0; c->u != NULL && i < count; i++)
    controls_apply(in->mechanics->system, record->x[stage] + i * d_size,
                   c->u + (size_t)i * c->stride, gradient + i * d_size);
  for (int i = 0; in->mechanics->drags && i < count; i++)
    drag_apply(in->mechanics, record->v[stage] + i * d_size, gradient + i * d_size);
  for (int i = 0; i < count; i++)
    dynamics_eval(in->mechanics, in->dynamics, record->x[stage] + i * d_size,
                  record->v[stage] + i * d_size, gradient + i * d_size, &record->dynamics[stage][i],
                  scratch);
  if (record->watch != NULL) {
    record->watch->potential += middle - start;
    record->watch->dynamics += stopwatch_read(record->watch) - middle;
  }
}

/* The end of a substep of symplectic Euler, from its only stage:
 *   v1 = v + h k_v,  x1 = x + h (v1 + k_x - v),
 * where k_x - v is what the projection of Hamiltonian dynamics changed. */
static void finish_symplectic(double h, int size, const dynamics_record *k, double *x, double *v) {
  for (int j = 0; j < size; j++) {
    double correction = k->velocity[j] - v[j];
    v[j] += h * k->acceleration[j];
    x[j] += h * (v[j] + correction);
  }
}

/* z + h sum_s weight_s k_s */
static void finish_substep(const integrator *in, int count, const step_record *record,
                           int first_stage, double *x, double *v) {
  const tableau *t = tableau_of(in->method);
  int size = in->mechanics->system->coordinate_count;
  double h = in->dt / in->substeps;
  for (int i = 0; i < count; i++) {
    if (in->method == CAROM_SYMPLECTIC_EULER) {
      finish_symplectic(h, size, &record->dynamics[first_stage][i], x + i * size, v + i * size);
      continue;
    }
    for (int s = 0; s < t->stage_count; s++) {
      const dynamics_record *k = &record->dynamics[first_stage + s][i];
      add_scaled(x + i * size, t->weight[s] * h, k->velocity, size);
      add_scaled(v + i * size, t->weight[s] * h, k->acceleration, size);
    }
  }
}

/* z_s = z + h sum_{r<s} advance_sr k_r,  k_s = f(z_s) */
static void substep(const integrator *in, int count, double *x, double *v, step_record *record,
                    int first_stage, arena *scratch) {
  const tableau *t = tableau_of(in->method);
  int size = in->mechanics->system->coordinate_count;
  double h = in->dt / in->substeps;
  for (int s = 0; s < t->stage_count; s++) {
    int stage = first_stage + s;
    vector_copy(record->x[stage], x, count * size);
    vector_copy(record->v[stage], v, count * size);
    for (int i = 0; i < count; i++)
      for (int r = 0; r < s; r++) {
        const dynamics_record *before = &record->dynamics[first_stage + r][i];
        add_scaled(record->x[stage] + i * size, t->advance[s][r] * h, before->velocity, size);
        add_scaled(record->v[stage] + i * size, t->advance[s][r] * h, before->acceleration, size);
      }
    evaluate_stage(in, count, record, stage, scratch);
  }
  finish_substep(in, count, record, first_stage, x, v);
}

void integrator_replay(const integrator *in, int count, const step_record *record, double *x,
                       double *v) {
  int size = in->mechanics->system->coordinate_count;
  int last = record->stage_count - tableau_of(in->method)->stage_count;
  vector_copy(x, record->x[last], count * size);
  vector_copy(v, record->v[last], count * size);
  finish_substep(in, count, record, last, x, v);
}

void integrator_step(const integrator *in, int count, double *x, double *v, step_record *record,
                     arena *scratch) {
  arena_mark mark = arena_save(scratch);
  int stages = tableau_of(in->method)->stage_count;
  for (int k = 0; k < in->substeps; k++) substep(in, count, x, v, record, k * stages, scratch);
  arena_restore(scratch, mark);
}

/* Cotangents of one stage: kx, kv of its derivatives; adds those of its state to sx, sv. */
static void evaluate_stage_vjp(const integrator *in, int count, const step_record *record,
                               int stage, const double *kx_bar, const double *kv_bar,
                               double *sx_bar, double *sv_bar, double *theta_bar,
                               double *potential_bar, arena *scratch) {
  int size = in->mechanics->system->coordinate_count;
  double *gradient_bar = arena_doubles(scratch, count * size);
  double start = stopwatch_read(record->watch);
  for (int i = 0; i < count; i++)
    dynamics_eval_vjp(in->mechanics, in->dynamics, record->v[stage] + i * size,
                      &record->dynamics[stage][i], kx_bar + i * size, kv_bar + i * size,
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
  double middle = stopwatch_read(record->watch);
  in->potential->gradient_vjp(in->potential, in->mechanics, count, record->x[stage],
                              record->potential[stage], gradient_bar, sx_bar, potential_bar,
                              scratch);
  if (record->watch != NULL) {
    record->watch->dynamics += middle - start;
    record->watch->potential += stopwatch_read(record->watch) - middle;
  }
}

/* bar [count] += weight (k_x . x_bar + k_v . v_bar) of each sample, k the derivatives at a stage */
static void add_length_cotangent(const integrator *in, int count, const step_record *record,
                                 int stage, double weight, const double *x_bar, const double *v_bar,
                                 double *bar) {
  int size = in->mechanics->system->coordinate_count;
  for (int i = 0; bar != NULL && i < count; i++) {
    const dynamics_record *k = &record->dynamics[stage][i];
    double sum = 0;
    for (int j = i * size; j < (i + 1) * size; j++)
      sum += k->velocity[j - i * size] * x_bar[j] + k->acceleration[j - i * size] * v_bar[j];
    bar[i] += weight * sum;
  }
}

/* h_bar [count] += that of the substep's length, where it is not NULL. */
static void substep_vjp(const integrator *in, int count, const step_record *record, int first_stage,
                        double *x_bar, double *v_bar, double *theta_bar, double *potential_bar,
                        double *h_bar, arena *scratch) {
  const tableau *t = tableau_of(in->method);
  int total = count * in->mechanics->system->coordinate_count;
  double h = in->dt / in->substeps;

  // the end of the step: k_s went into it with its weight
  double *kx_bar[4], *kv_bar[4];
  for (int s = 0; s < t->stage_count; s++) {
    kx_bar[s] = arena_zeros(scratch, total);
    kv_bar[s] = arena_zeros(scratch, total);
    add_scaled(kx_bar[s], t->weight[s] * h, x_bar, total);
    add_scaled(kv_bar[s], t->weight[s] * h, v_bar, total);
    add_length_cotangent(in, count, record, first_stage + s, t->weight[s], x_bar, v_bar, h_bar);
  }
  // v1 = v + h k_v, x1 = x + h (v1 + k_x - v) = x + h k_x + h^2 k_v
  if (in->method == CAROM_SYMPLECTIC_EULER) {
    const double *none = arena_zeros(scratch, total);
    add_scaled(kv_bar[0], h * h, x_bar, total);
    add_length_cotangent(in, count, record, first_stage, 2 * h, none, x_bar, h_bar);
  }

  // the stages: k_r went into the states of all later ones
  double *sx_bar = arena_doubles(scratch, total);
  double *sv_bar = arena_doubles(scratch, total);
  for (int s = t->stage_count - 1; s >= 0; s--) {
    memset(sx_bar, 0, sizeof(double) * (size_t)total);
    memset(sv_bar, 0, sizeof(double) * (size_t)total);
    evaluate_stage_vjp(in, count, record, first_stage + s, kx_bar[s], kv_bar[s], sx_bar, sv_bar,
                       theta_bar, potential_bar, scratch);
    add_scaled(x_bar, 1, sx_bar, total);
    add_scaled(v_bar, 1, sv_bar, total);
    // z_s = z + h sum_{r<s} advance_sr k_r
    for (int r = 0; r < s; r++) {
      add_scaled(kx_bar[r], t->advance[s][r] * h, sx_bar, total);
      add_scaled(kv_bar[r], t->advance[s][r] * h, sv_bar, total);
      add_length_cotangent(in, count, record, first_stage + r, t->advance[s][r], sx_bar, sv_bar,
                           h_bar);
    }
  }
}

void integrator_step_vjp(const integrator *in, int count, const step_record *record, double *x_bar,
                         double *v_bar, double *theta_bar, double *potential_bar, double *dt_bar,
                         arena *scratch) {
  arena_mark mark = arena_save(scratch);
  int stages = tableau_of(in->method)->stage_count;
  double *h_bar = dt_bar != NULL ? arena_zeros(scratch, count) : NULL;
  for (int k = in->substeps - 1; k >= 0; k--)
    substep_vjp(in, count, record, k * stages, x_bar, v_bar, theta_bar, potential_bar, h_bar,
                scratch);
  // h = dt / substeps
  for (int i = 0; dt_bar != NULL && i < count; i++) dt_bar[i] += h_bar[i] / in->substeps;
  arena_restore(scratch, mark);
}
