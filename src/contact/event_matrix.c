#include "contact/event_matrix.h"

#include "physics/constraints.h"

/* An axis of contact space that keeps less than this share of the mobility which it would have without
 * the constraints is held by them: the difference that A has there is rounding. Axes held at every x
 * come out below 1e-28, others of events at random states above 1e-6; in between, as the square of the
 * drift, are axes that are held only where the constraints are met exactly. */
static const double HELD_SHARE = 1e-14;

/* Constraint arms and factors of the touched assemblies. */
static void factor_constraints(contact_event *e, arena *memory) {
  const mechanics *m = e->mechanics;
  const carom_system *s = m->system;
  if (s->row_count == 0) return;
  event_factor_constraints(e, e->x, memory);
  if (!event_has_target(e)) return;
  e->geometric = arena_doubles(memory, s->constraint_shape.start[s->row_count]);
  for (int t = 0; t < e->group.touched_count; t++)
    constraints_factor(m, touched_begin(e, t), touched_end(e, t), e->arm, METRIC_GEOMETRIC,
                       e->geometric);
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

/* Z = J_c' / m of a free point mass; see contact_response. */
static void point_response(const contact_event *e, int point, int contact_index,
                           response_scratch *w, double *response) {
  const contact *c = &e->group.contacts[contact_index];
  int d = e->mechanics->system->dimension;
  double inverse = e->mechanics->inverse_mass[e->mechanics->system->point_body[point]];
  for (int k = 0; k < c->point_count; k++)
    if (c->point[k] == point)
      for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++) {
          double entry = c->block[(k * d + i) * d + j];
          response[j * d + i] = entry * inverse;
          w->unheld[contact_index * d + i] += entry * entry * inverse;
          w->moved[contact_index * d + i] += entry * entry * inverse;
        }
}

/* force = J_i' of a contact's axis i on one assembly */
static void row_force(const carom_system *s, const contact *c, int assembly_index, int i,
                      double *force) {
  const assembly *a = &s->assemblies[assembly_index];
  int d = s->dimension;
  for (int k = 0; k < a->point_count; k++)
    for (int j = 0; j < d; j++) force[a->points[k] * d + j] = 0;
  for (int k = 0; k < c->point_count; k++)
    if (s->point_assembly[c->point[k]] == assembly_index)
      for (int j = 0; j < d; j++) force[c->point[k] * d + j] += c->block[(k * d + i) * d + j];
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
    point_response(e, a->points[0], contact_index, w, response);
    return;
  }
  for (int i = 0; i < d; i++) {
    row_force(s, c, assembly_index, i, w->force);
    mass_inverse_assembly(e->mechanics, a, w->force, w->velocity);
    w->unheld[contact_index * d + i] += assembly_dot(s, a, w);
    assembly_constrain(e, assembly_index, w->velocity, w->force, w->lambda);
    w->moved[contact_index * d + i] += assembly_dot(s, a, w);
    for (int k = 0; k < a->point_count; k++)
      for (int j = 0; j < d; j++) response[(k * d + j) * d + i] = w->velocity[a->points[k] * d + j];
  }
}

/* The block of A between contact `row` and the contact whose response is `response`: where it stands,
 * in the matrix of which island. */
typedef struct block_place {
  int assembly, island, row, column;
} block_place;

/* A_row,column += J_row Z_column on one assembly, lower triangle. */
static inline void place_block_in(const int d, const contact_event *e, block_place at,
                                  const double *response) {
  const carom_system *s = e->mechanics->system;
  const contact *c = &e->group.contacts[at.row];
  int first = island_begin(e, at.island);
  double *A = e->A[at.island];
  const envelope *shape = &e->shape[at.island];
  for (int k = 0; k < c->point_count; k++) {
    if (s->point_assembly[c->point[k]] != at.assembly) continue;
    const double *z = response + s->point_in_assembly[c->point[k]] * d * d;
    for (int i = 0; i < d; i++) {
      double *entries = A + envelope_at(shape, (at.row - first) * d + i, (at.column - first) * d);
      int columns = at.row == at.column ? i + 1 : d;
      for (int l = 0; l < columns; l++)
        for (int j = 0; j < d; j++) entries[l] += c->block[(k * d + i) * d + j] * z[j * d + l];
    }
  }
}

static void place_block(const contact_event *e, block_place at, const double *response) {
  if (e->mechanics->system->dimension == 2)
    place_block_in(2, e, at, response);
  else
    place_block_in(3, e, at, response);
}

static void make_shapes(contact_event *e, arena *memory) {
  const contact_group *g = &e->group;
  int d = e->mechanics->system->dimension;
  e->shape = ARENA_ARRAY(memory, envelope, g->island_count);
  e->A = ARENA_ARRAY(memory, double *, g->island_count);
  for (int island = 0; island < g->island_count; island++) {
    int begin = island_begin(e, island), end = island_end(e, island);
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
  const bool *held = e->held + island_begin(e, island) * d;
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

/* Which island each contact is in. */
static int *list_islands(const contact_event *e, arena *memory) {
  int *island_of = ARENA_ARRAY(memory, int, e->group.count);
  for (int island = 0; island < e->group.island_count; island++)
    for (int c = island_begin(e, island); c < island_end(e, island); c++) island_of[c] = island;
  return island_of;
}

/* A_row,column += wrench_row motion_column', all axes, lower triangle */
static void place_wrenches(const contact_event *e, block_place at, int size, const double *wrench,
                           const double *motion) {
  int d = e->mechanics->system->dimension, first = island_begin(e, at.island);
  double *A = e->A[at.island];
  const envelope *shape = &e->shape[at.island];
  for (int i = 0; i < d; i++) {
    double *entries = A + envelope_at(shape, (at.row - first) * d + i, (at.column - first) * d);
    int columns = at.row == at.column ? i + 1 : d;
    for (int l = 0; l < columns; l++)
      for (int j = 0; j < size; j++)
        entries[l] += wrench[i * MAX_WRENCH + j] * motion[l * MAX_WRENCH + j];
  }
}

/* The same of a rigid body by the wrenches of its contacts, [count][dimension][MAX_WRENCH]. */
static void add_rigid_body(const contact_event *e, const rigid_body *b, const touched_assembly *on,
                           const int *island_of, response_scratch *w, arena *memory) {
  const carom_system *s = e->mechanics->system;
  const assembly *a = &s->assemblies[on->assembly];
  int d = s->dimension, stride = d * MAX_WRENCH;
  double *wrench = arena_doubles(memory, on->count * stride);
  for (int j = 0; j < on->count; j++)
    for (int i = 0; i < d; i++) {
      row_force(s, &e->group.contacts[on->contacts[j]], on->assembly, i, w->force);
      rigid_body_wrench(b, w->force, wrench + j * stride + i * MAX_WRENCH);
      mass_inverse_assembly(e->mechanics, a, w->force, w->velocity);
      w->unheld[on->contacts[j] * d + i] += assembly_dot(s, a, w);
    }
  for (int j = 0; j < on->count; j++) {
    double motion[MAX_DIMENSION * MAX_WRENCH];
    int column = on->contacts[j];
    for (int i = 0; i < d; i++) {
      const double *row = wrench + j * stride + i * MAX_WRENCH;
      for (int k = 0; k < b->size; k++) motion[i * MAX_WRENCH + k] = row[k];
      rigid_body_move(b, motion + i * MAX_WRENCH);
      for (int k = 0; k < b->size; k++)
        w->moved[column * d + i] += row[k] * motion[i * MAX_WRENCH + k];
    }
    for (int i = j; i < on->count; i++) {
      block_place at = {on->assembly, island_of[column], on->contacts[i], column};
      place_wrenches(e, at, b->size, wrench + i * stride, motion);
    }
  }
}

/* A = sum over touched assemblies of J Z, Z = M^ J' */
static void add_assemblies(contact_event *e, response_scratch *work, arena *memory) {
  const carom_system *s = e->mechanics->system;
  const int *island_of = list_islands(e, memory);
  for (int t = 0; t < e->group.touched_count; t++) {
    const touched_assembly *on = &e->group.touched[t];
    arena_mark mark = arena_save(memory);
    if (rigid_at(e, t) != NULL) {
      add_rigid_body(e, rigid_at(e, t), on, island_of, work, memory);
      arena_restore(memory, mark);
      continue;
    }
    double *response = arena_doubles(
        memory, s->assemblies[on->assembly].point_count * s->dimension * s->dimension);
    for (int j = 0; j < on->count; j++) {
      int column = on->contacts[j];
      contact_response(e, on->assembly, column, work, response);
      for (int i = j; i < on->count; i++) {
        block_place at = {on->assembly, island_of[column], on->contacts[i], column};
        place_block(e, at, response);
      }
    }
    arena_restore(memory, mark);
  }
}

void event_matrix_make(contact_event *e, arena *memory) {
  const carom_system *s = e->mechanics->system;
  factor_constraints(e, memory);
  make_shapes(e, memory);
  e->held = ARENA_ARRAY(memory, bool, e->size);
  if (event_shifts(e)) e->mobility = arena_doubles(memory, e->group.count);
  arena_mark mark = arena_save(memory);
  response_scratch work = {.force = arena_doubles(memory, s->coordinate_count),
                           .velocity = arena_doubles(memory, s->coordinate_count),
                           .lambda = arena_doubles(memory, s->row_count),
                           .unheld = arena_zeros(memory, e->size),
                           .moved = arena_zeros(memory, e->size)};
  add_assemblies(e, &work, memory);
  double epsilon = e->options->contact == CAROM_CMR ? e->mechanics->regularizer : 0;
  bool any_held = find_held(e, epsilon, &work);
  for (int c = 0; c < e->group.count && event_shifts(e); c++)
    e->mobility[c] = work.unheld[c * s->dimension];
  arena_restore(memory, mark);

  // A + epsilon I
  for (int island = 0; island < e->group.island_count; island++) {
    if (any_held) clear_held(e, island);
    for (int r = 0; r < e->shape[island].size && epsilon > 0; r++)
      e->A[island][envelope_at(&e->shape[island], r, r)] += epsilon;
  }
}
