#include "contact/contact_event.h"

#include "contact/target_velocity.h"
#include "physics/constraints.h"

#include <math.h>
#include <string.h>

/* An axis of contact space that keeps less than this share of the mobility which it would have without
 * the constraints is held by them: the difference that A has there is rounding. */
static const double HELD_SHARE = 1e-14;

/* ---- operators ------------------------------------------------------------------------------- */

static const assembly *touched(const contact_event *e, int t) {
  return &e->mechanics->system->assemblies[e->group.touched[t].assembly];
}

void event_copy(const contact_event *e, double *to, const double *from) {
  int d = e->mechanics->system->dimension;
  for (int t = 0; t < e->group.touched_count; t++) {
    const assembly *a = touched(e, t);
    for (int k = 0; k < a->point_count; k++)
      for (int i = 0; i < d; i++) to[a->points[k] * d + i] = from[a->points[k] * d + i];
  }
}

void event_zero(const contact_event *e, double *to) {
  int d = e->mechanics->system->dimension;
  for (int t = 0; t < e->group.touched_count; t++) {
    const assembly *a = touched(e, t);
    for (int k = 0; k < a->point_count; k++)
      for (int i = 0; i < d; i++) to[a->points[k] * d + i] = 0;
  }
}

void event_jacobian(const contact_event *e, const double *v, double *rows) {
  int d = e->mechanics->system->dimension;
  for (int c = 0; c < e->group.count; c++) contact_apply(&e->group.contacts[c], d, v, rows + c * d);
}

void event_jacobian_transpose(const contact_event *e, const double *rows, double *out) {
  int d = e->mechanics->system->dimension;
  for (int c = 0; c < e->group.count; c++)
    contact_apply_transpose(&e->group.contacts[c], d, rows + c * d, out);
}

/* out = M^-1 force on one assembly */
static void assembly_free_mass(const mechanics *m, const assembly *a, const double *force,
                               double *out) {
  const carom_system *s = m->system;
  for (int k = 0; k < a->point_count; k++) {
    int body_index = s->point_body[a->points[k]];
    if (s->bodies[body_index].first_point == a->points[k])
      mass_inverse_body(m, body_index, force, out);
  }
}

/* From out = M^-1 push on one assembly: takes from push what the constraints answer with. */
static void assembly_constrain(const contact_event *e, int assembly_index, double *out,
                               double *push, double *lambda) {
  const mechanics *m = e->mechanics;
  const assembly *a = &m->system->assemblies[assembly_index];
  if (a->row_count == 0) return;
  int begin = m->assembly_constraint[assembly_index];
  int end = m->assembly_constraint[assembly_index + 1];
  constraints_apply(m, begin, end, e->arm, out, lambda);
  constraints_solve(m, begin, end, e->factor, lambda);
  for (int r = a->first_row; r < a->first_row + a->row_count; r++) lambda[r] = -lambda[r];
  constraints_apply_transpose(m, begin, end, e->arm, lambda, push);
  for (int r = a->first_row; r < a->first_row + a->row_count; r++) lambda[r] = -lambda[r];
  assembly_free_mass(m, a, push, out);
}

void event_inverse_mass(const contact_event *e, const double *force, double *out, double *push,
                        double *lambda) {
  event_copy(e, push, force);
  for (int t = 0; t < e->group.touched_count; t++) {
    assembly_free_mass(e->mechanics, touched(e, t), push, out);
    assembly_constrain(e, e->group.touched[t].assembly, out, push, lambda);
  }
}

/* ---- the matrix A ---------------------------------------------------------------------------- */

/* Constraint arms and factors of the touched assemblies. */
static void factor_constraints(contact_event *e, arena *memory) {
  const mechanics *m = e->mechanics;
  const carom_system *s = m->system;
  if (s->row_count == 0) return;
  int values = s->constraint_shape.start[s->row_count];
  e->arm = arena_doubles(memory, s->constraint_count * s->dimension);
  e->factor = arena_doubles(memory, values);
  if (e->options->penetration_compensation) e->geometric = arena_doubles(memory, values);
  for (int t = 0; t < e->group.touched_count; t++) {
    int begin = m->assembly_constraint[e->group.touched[t].assembly];
    int end = m->assembly_constraint[e->group.touched[t].assembly + 1];
    constraints_arms(m, begin, end, e->x, e->arm);
    constraints_factor(m, begin, end, e->arm, METRIC_INERTIAL, e->factor);
    if (e->geometric != NULL)
      constraints_factor(m, begin, end, e->arm, METRIC_GEOMETRIC, e->geometric);
  }
}

/* Scratch vectors over all points and rows, and what the responses of the rows of J amount to. */
typedef struct response_scratch {
  double *force, *velocity, *lambda;
  double *unheld; /* [C] J_i M^-1 J_i', as if there were no constraints */
  double *moved;  /* [C] J_i M^ J_i', as a sum of squares: exact to rounding however small */
} response_scratch;

/* force' velocity over the points of an assembly */
static double assembly_dot(const carom_system *s, const assembly *a, const response_scratch *w) {
  double sum = 0;
  for (int k = 0; k < a->point_count; k++)
    for (int j = 0; j < s->dimension; j++)
      sum +=
          w->force[a->points[k] * s->dimension + j] * w->velocity[a->points[k] * s->dimension + j];
  return sum;
}

/* Z = M^ J_c' on one assembly: response[k][j][i] is the velocity of its point k along axis j to a
 * unit impulse along contact axis i. */
static void contact_response(const contact_event *e, int assembly_index, int contact_index,
                             response_scratch *w, double *response) {
  const carom_system *s = e->mechanics->system;
  const contact *c = &e->group.contacts[contact_index];
  const assembly *a = &s->assemblies[assembly_index];
  int d = s->dimension;
  if (a->row_count == 0 && a->point_count == 1) {
    // a free point mass
    double inverse = e->mechanics->inverse_mass[s->point_body[a->points[0]]];
    for (int k = 0; k < c->point_count; k++)
      if (c->point[k] == a->points[0])
        for (int i = 0; i < d; i++)
          for (int j = 0; j < d; j++) {
            double entry = c->block[(k * d + i) * d + j];
            response[j * d + i] = entry * inverse;
            w->unheld[contact_index * d + i] += entry * entry * inverse;
            w->moved[contact_index * d + i] += entry * entry * inverse;
          }
    return;
  }
  for (int i = 0; i < d; i++) {
    for (int k = 0; k < a->point_count; k++)
      for (int j = 0; j < d; j++) w->force[a->points[k] * d + j] = 0;
    for (int k = 0; k < c->point_count; k++)
      if (s->point_assembly[c->point[k]] == assembly_index)
        for (int j = 0; j < d; j++) w->force[c->point[k] * d + j] += c->block[(k * d + i) * d + j];
    assembly_free_mass(e->mechanics, a, w->force, w->velocity);
    w->unheld[contact_index * d + i] += assembly_dot(s, a, w);
    assembly_constrain(e, assembly_index, w->velocity, w->force, w->lambda);
    w->moved[contact_index * d + i] += assembly_dot(s, a, w);
    for (int k = 0; k < a->point_count; k++)
      for (int j = 0; j < d; j++) response[(k * d + j) * d + i] = w->velocity[a->points[k] * d + j];
  }
}

/* Rows of contact `row`, columns of contact `column`: += J_row response, lower triangle. */
static inline void place_block_in(const int d, const contact_event *e, int assembly_index,
                                  int island, int row, int column, const double *response) {
  const carom_system *s = e->mechanics->system;
  const contact *c = &e->group.contacts[row];
  int first = e->group.island_first[island];
  double *A = e->A[island];
  const envelope *shape = &e->shape[island];
  for (int k = 0; k < c->point_count; k++) {
    if (s->point_assembly[c->point[k]] != assembly_index) continue;
    const double *z = response + s->point_in_assembly[c->point[k]] * d * d;
    for (int i = 0; i < d; i++) {
      double *entries = A + envelope_at(shape, (row - first) * d + i, (column - first) * d);
      int columns = row == column ? i + 1 : d;
      for (int l = 0; l < columns; l++)
        for (int j = 0; j < d; j++) entries[l] += c->block[(k * d + i) * d + j] * z[j * d + l];
    }
  }
}

static void place_block(const contact_event *e, int assembly_index, int island, int row, int column,
                        const double *response) {
  if (e->mechanics->system->dimension == 2)
    place_block_in(2, e, assembly_index, island, row, column, response);
  else
    place_block_in(3, e, assembly_index, island, row, column, response);
}

static void make_shapes(contact_event *e, arena *memory) {
  const contact_group *g = &e->group;
  int d = e->mechanics->system->dimension;
  e->shape = ARENA_ARRAY(memory, envelope, g->island_count);
  e->A = ARENA_ARRAY(memory, double *, g->island_count);
  for (int island = 0; island < g->island_count; island++) {
    int begin = g->island_first[island], end = g->island_first[island + 1];
    int size = (end - begin) * d;
    int *first = ARENA_ARRAY(memory, int, size);
    for (int c = begin; c < end; c++)
      for (int i = 0; i < d; i++) first[(c - begin) * d + i] = (g->first_coupled[c] - begin) * d;
    e->shape[island] = envelope_make(size, first, memory);
    e->A[island] = arena_zeros(memory, e->shape[island].start[size]);
  }
}

/* Axes along which only rounding errors of a difference of equal terms, of either sign, stand in A.
 * An epsilon above them keeps A definite, and its axes are left as they are. */
static bool find_held(contact_event *e, double epsilon, const response_scratch *w) {
  bool any = false;
  for (int r = 0; r < e->size; r++) {
    e->held[r] = w->moved[r] + epsilon <= HELD_SHARE * w->unheld[r];
    any = any || e->held[r];
  }
  return any;
}

/* Sets rows and columns of held axes to zero. A tangent then gets the diagonal entry of its contact's
 * normal: with b = 0 and nothing that couples to it, every positive entry gives the same impulse, 0,
 * the one of least norm, and A is not singular for its sake. */
static void clear_held(const contact_event *e, int island) {
  int d = e->mechanics->system->dimension;
  const bool *held = e->held + e->group.island_first[island] * d;
  const envelope *shape = &e->shape[island];
  double *A = e->A[island];
  for (int r = 0; r < shape->size; r++)
    for (int c = shape->first[r]; c <= r; c++)
      if (held[r] || held[c]) A[envelope_at(shape, r, c)] = 0;
  for (int r = 0; r < shape->size; r++) {
    int normal = r / d * d;
    if (held[r]) A[envelope_at(shape, r, r)] = A[envelope_at(shape, normal, normal)];
  }
}

static void assemble(contact_event *e, arena *memory) {
  const contact_group *g = &e->group;
  const carom_system *s = e->mechanics->system;
  int d = s->dimension;
  make_shapes(e, memory);
  e->held = ARENA_ARRAY(memory, bool, e->size);
  arena_mark mark = arena_save(memory);
  response_scratch work = {arena_doubles(memory, s->coordinate_count),
                           arena_doubles(memory, s->coordinate_count),
                           arena_doubles(memory, s->row_count), arena_zeros(memory, e->size),
                           arena_zeros(memory, e->size)};
  int *island_of = ARENA_ARRAY(memory, int, g->count);
  for (int island = 0; island < g->island_count; island++)
    for (int c = g->island_first[island]; c < g->island_first[island + 1]; c++)
      island_of[c] = island;
  for (int t = 0; t < g->touched_count; t++) {
    const touched_assembly *on = &g->touched[t];
    arena_mark inner = arena_save(memory);
    double *response = arena_doubles(memory, s->assemblies[on->assembly].point_count * d * d);
    for (int j = 0; j < on->count; j++) {
      contact_response(e, on->assembly, on->contacts[j], &work, response);
      for (int i = j; i < on->count; i++)
        place_block(e, on->assembly, island_of[on->contacts[i]], on->contacts[i], on->contacts[j],
                    response);
    }
    arena_restore(memory, inner);
  }
  double epsilon = e->options->contact == CAROM_CMR ? e->mechanics->regularizer : 0;
  bool any_held = find_held(e, epsilon, &work);
  arena_restore(memory, mark);
  for (int island = 0; island < g->island_count; island++) {
    if (any_held) clear_held(e, island);
    for (int r = 0; r < e->shape[island].size && epsilon > 0; r++)
      e->A[island][envelope_at(&e->shape[island], r, r)] += epsilon;
  }
}

contact_event contact_event_make(const mechanics *m, const carom_rollout_options *options,
                                 const contact_list *active, const double *x, arena *memory) {
  contact_group group = contact_group_make(m->system, active, x, memory);
  return contact_event_from_group(m, options, &group, x, memory);
}

contact_event contact_event_from_group(const mechanics *m, const carom_rollout_options *options,
                                       const contact_group *group, const double *x, arena *memory) {
  contact_event e = {.mechanics = m, .options = options, .x = x, .group = *group};
  e.size = e.group.count * m->system->dimension;
  e.mu = arena_doubles(memory, e.group.count);
  e.restitution = arena_doubles(memory, e.group.count);
  for (int c = 0; c < e.group.count; c++) {
    e.mu[c] = m->friction[e.group.contacts[c].id.property];
    e.restitution[c] = m->restitution[e.group.contacts[c].id.property];
  }
  factor_constraints(&e, memory);
  assemble(&e, memory);
  return e;
}

/* ---- the two phases -------------------------------------------------------------------------- */

size_t event_impulses_bytes(const contact_event *e) {
  size_t count = (size_t)e->group.count, size = (size_t)e->size;
  size_t islands = (size_t)e->group.island_count;
  size_t bytes =
      sizeof(double) * (4 * size + 2 * count) + sizeof(carom_cone_info) * 2 * islands + 2 * count;
  return (bytes + 7) / 8 * 8;
}

event_impulses event_impulses_at(const contact_event *e, void *memory) {
  event_impulses at;
  double *numbers = memory;
  at.f_c = numbers;
  at.f_r = at.f_c + e->size;
  at.dual_c = at.f_r + e->size;
  at.dual_r = at.dual_c + e->size + e->group.count;
  at.info_c = (carom_cone_info *)(void *)(at.dual_r + e->size + e->group.count);
  at.info_r = at.info_c + e->group.island_count;
  at.state_c = (unsigned char *)(at.info_r + e->group.island_count);
  at.state_r = at.state_c + e->group.count;
  return at;
}

cone_program contact_event_program(const contact_event *e, int island, const double *b,
                                   const double *lower, const double *before) {
  int d = e->mechanics->system->dimension;
  int first = e->group.island_first[island], end = e->group.island_first[island + 1];
  double speed = 0;
  for (int i = first * d; i < end * d; i++) speed = fmax(speed, fabs(before[i]));
  return (cone_program){.contact_count = end - first,
                        .dimension = d,
                        .shape = e->shape[island],
                        .A = e->A[island],
                        .b = b + first * d,
                        .mu = e->mu + first,
                        .lower = lower + first,
                        .scale = speed};
}

/* Sets rows of held axes to zero. Impulses change nothing there: a velocity along one is drift off
 * the constraints, and so is not to decide where a contact slides. */
static void drop_held(const contact_event *e, double *rows) {
  for (int r = 0; r < e->size; r++)
    if (e->held[r]) rows[r] = 0;
}

/* The part of a phase's solution that belongs to one island. */
static cone_solution island_solution(const contact_event *e, int island, double *f, double *dual,
                                     unsigned char *state, const carom_cone_info *info) {
  int d = e->mechanics->system->dimension;
  int first = e->group.island_first[island];
  return (cone_solution){.f = f + first * d,
                         .state = state + first,
                         .dual = dual + first * (d + 1),
                         .info = info[island]};
}

/* The program with b brought into the range of A. Velocities that drifted off the equality
 * constraints can make a program unbounded; what is left is the part that impulses can change. */
static cone_program within_range(cone_program program, arena *scratch) {
  const envelope *shape = &program.shape;
  double *b = arena_doubles(scratch, shape->size), *z = arena_doubles(scratch, shape->size);
  double largest = 0;
  for (int i = 0; i < shape->size; i++)
    largest = fmax(largest, program.A[envelope_at(shape, i, i)]);
  semidefinite A = semidefinite_make(shape, program.A, 1e-11 * largest, scratch);
  memcpy(z, program.b, sizeof(double) * (size_t)shape->size);
  semidefinite_solve(&A, z);
  envelope_multiply(shape, program.A, z, b);
  program.b = b;
  return program;
}

/* Is the normal of a contact of an island held? Then drift off the constraints alone would tell
 * whether it pushes, and it is on the border of two states. */
static bool has_held_normal(const contact_event *e, int island) {
  int d = e->mechanics->system->dimension;
  for (int c = e->group.island_first[island]; c < e->group.island_first[island + 1]; c++)
    if (e->held[c * d]) return true;
  return false;
}

static void solve_phase(const contact_event *e, const double *b, const double *lower,
                        const double *before, double *f, double *dual, unsigned char *state,
                        carom_cone_info *info, arena *scratch) {
  for (int island = 0; island < e->group.island_count; island++) {
    cone_program program = contact_event_program(e, island, b, lower, before);
    cone_solution solution = island_solution(e, island, f, dual, state, info);
    cone_solve(&program, &e->options->cone, false, &solution, scratch);
    if (solution.info.status > CAROM_CONE_DEGENERATE && e->failures != NULL)
      program_log_add(e->failures, &program);
    if (solution.info.status == CAROM_CONE_UNBOUNDED) {
      // it stays a failure, but with an impulse that the bodies can bear
      arena_mark mark = arena_save(scratch);
      program = within_range(program, scratch);
      cone_solve(&program, &e->options->cone, false, &solution, scratch);
      if (solution.info.status <= CAROM_CONE_DEGENERATE)
        solution.info.status = CAROM_CONE_UNBOUNDED;
      arena_restore(scratch, mark);
    }
    if (solution.info.status == CAROM_CONE_SOLVED && has_held_normal(e, island))
      solution.info.status = CAROM_CONE_DEGENERATE;
    info[island] = solution.info;
  }
}

/* v += M^ J' f */
static void apply_impulse(const contact_event *e, const double *f, double *v, arena *scratch) {
  const carom_system *s = e->mechanics->system;
  arena_mark mark = arena_save(scratch);
  double *force = arena_doubles(scratch, s->coordinate_count);
  double *change = arena_doubles(scratch, s->coordinate_count);
  double *lambda = arena_doubles(scratch, s->row_count);
  event_zero(e, force);
  event_jacobian_transpose(e, f, force);
  event_inverse_mass(e, force, change, force, lambda);
  for (int t = 0; t < e->group.touched_count; t++) {
    const assembly *a = touched(e, t);
    for (int k = 0; k < a->point_count; k++)
      for (int i = 0; i < s->dimension; i++)
        v[a->points[k] * s->dimension + i] += change[a->points[k] * s->dimension + i];
  }
  arena_restore(scratch, mark);
}

/* b = J v' - v_C*, lower = e f_c,n: the data of the restitution phase */
static void restitution_data(const contact_event *e, const target_velocity *target, const double *v,
                             const double *f_c, double *b, double *lower) {
  int d = e->mechanics->system->dimension;
  event_jacobian(e, v, b);
  for (int i = 0; i < e->size; i++) b[i] -= target->value[i];
  drop_held(e, b);
  for (int c = 0; c < e->group.count; c++) lower[c] = e->restitution[c] * f_c[c * d];
}

void contact_event_solve(const contact_event *e, double *v, event_impulses *impulses,
                         arena *scratch) {
  arena_mark mark = arena_save(scratch);
  target_velocity target = target_velocity_make(e, scratch);
  double *before = arena_doubles(scratch, e->size);
  double *b = arena_doubles(scratch, e->size);
  double *lower = arena_zeros(scratch, e->group.count);

  // compression
  event_jacobian(e, v, before);
  drop_held(e, before);
  solve_phase(e, before, lower, before, impulses->f_c, impulses->dual_c, impulses->state_c,
              impulses->info_c, scratch);
  apply_impulse(e, impulses->f_c, v, scratch);

  // restitution
  restitution_data(e, &target, v, impulses->f_c, b, lower);
  solve_phase(e, b, lower, before, impulses->f_r, impulses->dual_r, impulses->state_r,
              impulses->info_r, scratch);
  apply_impulse(e, impulses->f_r, v, scratch);
  arena_restore(scratch, mark);
}

/* ---- the derivative -------------------------------------------------------------------------- */

/* Cotangents that an event collects. */
typedef struct event_bars {
  double *blocks; /* [block_count][d * d], those of a contact from its first_block */
  double *mu;     /* [count] */
  double *lower;  /* [count] */
  double *gap;    /* [count] */
  double *x;
  double *theta;
} event_bars;

/* M^ is symmetric, and left' dM^ right = push_l' dM^-1 push_r - lambda_r' dJ_E u_l - lambda_l' dJ_E
 * u_r with u = M^ (.), push = (.) - J_E' lambda. */
typedef struct mass_image {
  double *u, *push, *lambda;
} mass_image;

static mass_image mass_image_of(const contact_event *e, const double *force, arena *scratch) {
  const carom_system *s = e->mechanics->system;
  mass_image image = {arena_doubles(scratch, s->coordinate_count),
                      arena_doubles(scratch, s->coordinate_count),
                      arena_doubles(scratch, s->row_count)};
  event_inverse_mass(e, force, image.u, image.push, image.lambda);
  return image;
}

static void mass_image_vjp(const contact_event *e, const mass_image *left, const mass_image *right,
                           const event_bars *bars) {
  const mechanics *m = e->mechanics;
  const carom_system *s = m->system;
  for (int t = 0; t < e->group.touched_count; t++) {
    const assembly *a = touched(e, t);
    for (int k = 0; k < a->point_count; k++) {
      int body_index = s->point_body[a->points[k]];
      if (s->bodies[body_index].first_point == a->points[k])
        mass_inverse_body_vjp(m, body_index, left->push, right->push, bars->theta);
    }
    int begin = m->assembly_constraint[e->group.touched[t].assembly];
    int end = m->assembly_constraint[e->group.touched[t].assembly + 1];
    constraints_bilinear_vjp(m, begin, end, -1, right->lambda, left->u, bars->x);
    constraints_bilinear_vjp(m, begin, end, -1, left->lambda, right->u, bars->x);
  }
}

/* Reverses one phase, v_after = v_before + M^ J' f, f = argmin(A, b = J v_before - target).
 * v_bar: of v_after on entry, of v_before on return. `f_bar` holds what else depends on f. p comes
 * back as minus the cotangent of b.
 *
 * With f_bar complete and p from the cone program's derivative, the terms of the update and of
 * A = J M^ J' add up: let alpha = v_bar - J' p; then v_before_bar = alpha, J_bar = f (x) M^ alpha
 * - p (x) v_after, and M^ enters as alpha' dM^ (J' f). */
static void phase_vjp(const contact_event *e, const double *v_after, const double *b,
                      const double *lower, const double *before, double *f, double *dual,
                      unsigned char *state, carom_cone_info *info, double *f_bar, double *v_bar,
                      double *p, const event_bars *bars, arena *scratch) {
  const carom_system *s = e->mechanics->system;
  int d = s->dimension;
  arena_mark mark = arena_save(scratch);

  // f_bar += J M^ v_bar
  double *rows = arena_doubles(scratch, e->size);
  mass_image pulled = mass_image_of(e, v_bar, scratch);
  event_jacobian(e, pulled.u, rows);
  for (int i = 0; i < e->size; i++) f_bar[i] += rows[i];

  // the cone programs
  double *p2 = arena_zeros(scratch, e->size);
  double *f2 = arena_zeros(scratch, e->size);
  bool second = false;
  for (int island = 0; island < e->group.island_count; island++) {
    int first = e->group.island_first[island];
    cone_program program = contact_event_program(e, island, b, lower, before);
    if (info[island].status == CAROM_CONE_UNBOUNDED) program = within_range(program, scratch);
    cone_solution solution = island_solution(e, island, f, dual, state, info);
    bool has_second = false;
    cone_solve_vjp(&program, &e->options->cone, &solution, f_bar + first * d, p + first * d,
                   bars->mu + first, bars->lower + first, p2 + first * d, f2 + first * d,
                   &has_second, scratch);
    second = second || has_second;
  }

  // b is constant along held axes; that A is too needs no care, since terms with M^ J_i' vanish
  drop_held(e, p);

  // alpha = v_bar - J' p
  double *force = arena_zeros(scratch, s->coordinate_count);
  for (int i = 0; i < e->size; i++) rows[i] = -p[i];
  event_jacobian_transpose(e, rows, v_bar);
  event_jacobian_transpose(e, f, force);
  mass_image alpha = mass_image_of(e, v_bar, scratch);
  mass_image beta = mass_image_of(e, force, scratch);
  mass_image_vjp(e, &alpha, &beta, bars);
  event_jacobian_outer(e, 1, f, alpha.u, bars->blocks);
  event_jacobian_outer(e, -1, p, v_after, bars->blocks);

  // the least-norm selection of a singular A: + p2' dA f2
  if (second) {
    double *force_p = arena_zeros(scratch, s->coordinate_count);
    event_zero(e, force);
    event_jacobian_transpose(e, p2, force_p);
    event_jacobian_transpose(e, f2, force);
    mass_image left = mass_image_of(e, force_p, scratch);
    mass_image right = mass_image_of(e, force, scratch);
    mass_image_vjp(e, &left, &right, bars);
    event_jacobian_outer(e, 1, p2, right.u, bars->blocks);
    event_jacobian_outer(e, 1, f2, left.u, bars->blocks);
  }
  if (e->options->contact == CAROM_CMR) {
    double sum = 0;
    for (int i = 0; i < e->size; i++) sum += p2[i] * f2[i] - p[i] * f[i];
    bars->theta[s->segments[CAROM_REGULARIZER].offset] += sum;
  }
  arena_restore(scratch, mark);
}

static void add_properties(const contact_event *e, carom_segment segment, const double *bar,
                           double *theta_bar) {
  int offset = e->mechanics->system->segments[segment].offset;
  for (int c = 0; c < e->group.count; c++)
    theta_bar[offset + e->group.contacts[c].id.property] += bar[c];
}

void contact_event_vjp(const contact_event *e, const double *v, const event_impulses *impulses,
                       double *v_bar, double *x_bar, double *theta_bar, arena *scratch) {
  const carom_system *s = e->mechanics->system;
  int d = s->dimension, count = e->group.count;
  arena_mark mark = arena_save(scratch);

  // the forward pass again, with the impulses that it found
  target_velocity target = target_velocity_make(e, scratch);
  double *middle = arena_doubles(scratch, s->coordinate_count);
  double *after = arena_doubles(scratch, s->coordinate_count);
  event_copy(e, middle, v);
  apply_impulse(e, impulses->f_c, middle, scratch);
  event_copy(e, after, middle);
  apply_impulse(e, impulses->f_r, after, scratch);
  double *b = arena_doubles(scratch, e->size);
  double *lower = arena_doubles(scratch, count);
  double *before = arena_doubles(scratch, e->size);
  event_jacobian(e, v, before);
  drop_held(e, before);
  restitution_data(e, &target, middle, impulses->f_c, b, lower);

  // restitution: v_C* entered as b = J v' - v_C*
  event_bars bars = {.blocks = arena_zeros(scratch, e->group.block_count * d * d),
                     .mu = arena_zeros(scratch, count),
                     .lower = arena_zeros(scratch, count),
                     .gap = arena_zeros(scratch, count),
                     .x = x_bar,
                     .theta = theta_bar};
  double *f_bar = arena_zeros(scratch, e->size);
  double *p = arena_doubles(scratch, e->size);
  phase_vjp(e, after, b, lower, before, impulses->f_r, impulses->dual_r, impulses->state_r,
            impulses->info_r, f_bar, v_bar, p, &bars, scratch);
  add_properties(e, CAROM_FRICTION, bars.mu, theta_bar);
  if (!(e->options->stop_target_gradient && s->row_count > 0))
    target_velocity_vjp(e, &target, p, bars.blocks, bars.gap, x_bar, scratch);

  // lower = e f_c,n
  for (int i = 0; i < e->size; i++) f_bar[i] = 0;
  for (int c = 0; c < count; c++) {
    f_bar[c * d] = e->restitution[c] * bars.lower[c];
    bars.lower[c] *= impulses->f_c[c * d];
  }
  add_properties(e, CAROM_RESTITUTION, bars.lower, theta_bar);

  // compression
  for (int c = 0; c < count; c++) lower[c] = 0;
  phase_vjp(e, middle, before, lower, before, impulses->f_c, impulses->dual_c, impulses->state_c,
            impulses->info_c, f_bar, v_bar, p, &bars, scratch);
  add_properties(e, CAROM_FRICTION, bars.mu, theta_bar);

  // geometry
  for (int c = 0; c < count; c++)
    contact_geometry_vjp(s, &e->group.contacts[c], e->x,
                         bars.blocks + e->group.contacts[c].first_block * d * d, bars.gap[c],
                         x_bar);
  arena_restore(scratch, mark);
}
