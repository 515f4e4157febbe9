#include "physics/mechanics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* sum_{k,l} a_k b_l [same body, M^-1_kl] and [same point]: the weights of a coupling. */
static bool coupling_weights(const mechanics *m, const combination *a, const combination *b,
                             double *inertial, double *geometric) {
  const carom_system *s = m->system;
  bool share = false;
  *inertial = 0;
  *geometric = 0;
  for (int k = 0; k < a->count; k++) {
    for (int l = 0; l < b->count; l++) {
      int body_index = s->point_body[a->point[k]];
      if (body_index != s->point_body[b->point[l]]) continue;
      share = true;
      double weight = a->weight[k] * b->weight[l];
      double inverse = 1;
      if (a->point[k] == b->point[l]) {
        int axis = a->point[k] - s->bodies[body_index].first_point - 1;
        if (axis >= 0) inverse += m->inverse_moment[body_index * s->dimension + axis];
        *geometric += weight;
      }
      *inertial += weight * m->inverse_mass[body_index] * inverse;
    }
  }
  return share;
}

/* The constraints of each body, to find those that share one without comparing all pairs. */
typedef struct body_lists {
  int *first; /* [body_count + 1] */
  int *constraints;
} body_lists;

static body_lists list_constraints_by_body(const carom_system *s, arena *memory) {
  body_lists lists;
  lists.first = ARENA_ARRAY(memory, int, s->body_count + 1);
  memset(lists.first, 0, sizeof(int) * (size_t)(s->body_count + 1));
  // count, then place; a body that appears in several points of one arm is listed several times
  for (int pass = 0; pass < 2; pass++) {
    int *fill = ARENA_ARRAY(memory, int, s->body_count);
    if (pass == 1) {
      for (int i = 0; i < s->body_count; i++) lists.first[i + 1] += lists.first[i];
      memcpy(fill, lists.first, sizeof(int) * (size_t)s->body_count);
      lists.constraints = ARENA_ARRAY(memory, int, lists.first[s->body_count]);
    }
    for (int c = 0; c < s->constraint_count; c++) {
      const combination *arm = &s->constraints[c].arm;
      for (int k = 0; k < arm->count; k++) {
        int body_index = s->point_body[arm->point[k]];
        if (pass == 0) lists.first[body_index + 1]++;
        if (pass == 1) lists.constraints[fill[body_index]++] = c;
      }
    }
  }
  return lists;
}

static int compare_ints(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* Neighbours b <= a of constraint a, ascending and without repeats. Returns how many. */
static int list_neighbours(const carom_system *s, const body_lists *lists, int a, int *neighbours) {
  int count = 0;
  const combination *arm = &s->constraints[a].arm;
  for (int k = 0; k < arm->count; k++) {
    int body_index = s->point_body[arm->point[k]];
    for (int i = lists->first[body_index]; i < lists->first[body_index + 1]; i++)
      if (lists->constraints[i] <= a) neighbours[count++] = lists->constraints[i];
  }
  qsort(neighbours, (size_t)count, sizeof(int), compare_ints);
  int unique = 0;
  for (int i = 0; i < count; i++)
    if (i == 0 || neighbours[i] != neighbours[i - 1]) neighbours[unique++] = neighbours[i];
  return unique;
}

static void list_couplings(mechanics *m) {
  const carom_system *s = m->system;
  body_lists lists = list_constraints_by_body(s, &m->memory);
  m->constraint_coupling = ARENA_ARRAY(&m->memory, int, s->constraint_count + 1);
  int *neighbours =
      ARENA_ARRAY(&m->memory, int, MAX_COMBINATION_POINTS *(lists.first[s->body_count] + 1));
  // count, then place
  for (int pass = 0; pass < 2; pass++) {
    int total = 0;
    for (int a = 0; a < s->constraint_count; a++) {
      m->constraint_coupling[a] = total;
      int count = list_neighbours(s, &lists, a, neighbours);
      for (int i = 0; pass == 1 && i < count; i++)
        m->couplings[total + i] =
            (coupling){.row_constraint = a, .column_constraint = neighbours[i]};
      total += count;
    }
    m->constraint_coupling[s->constraint_count] = total;
    if (pass == 0) m->couplings = ARENA_ARRAY(&m->memory, coupling, total);
    m->coupling_count = total;
  }
}

/* The system with shapes and planes of its own. */
static carom_system *copy_shapes(const carom_system *system, arena *memory) {
  carom_system *placed = ARENA_ARRAY(memory, carom_system, 1);
  *placed = *system;
  placed->bodies = ARENA_ARRAY(memory, body, system->body_count);
  placed->planes = ARENA_ARRAY(memory, plane, system->plane_count);
  memcpy(placed->bodies, system->bodies, sizeof(body) * (size_t)system->body_count);
  if (system->plane_count > 0)
    memcpy(placed->planes, system->planes, sizeof(plane) * (size_t)system->plane_count);
  for (int i = 0; i < system->body_count; i++) {
    body *b = &placed->bodies[i];
    if (b->shape != SHAPE_POINTS) continue;
    int count = b->shape_point_count * system->dimension;
    b->shape_points = arena_doubles(memory, count);
    memcpy(b->shape_points, system->bodies[i].shape_points, sizeof(double) * (size_t)count);
  }
  return placed;
}

static void place_shapes(mechanics *m) {
  carom_system *s = m->placed;
  const double *radius = m->theta + s->segments[CAROM_RADIUS].offset;
  const double *corner = m->theta + s->segments[CAROM_CORNER].offset;
  for (int i = 0; i < s->body_count; i++) {
    body *b = &s->bodies[i];
    if (b->shape == SHAPE_BALL) b->radius = radius[i];
    if (b->shape != SHAPE_POINTS) continue;
    b->rounding = radius[i];
    memcpy(b->shape_points, corner + b->first_corner * s->dimension,
           sizeof(double) * (size_t)(b->shape_point_count * s->dimension));
  }
  for (int i = 0; i < s->plane_count; i++)
    s->planes[i].offset = m->theta[s->segments[CAROM_OFFSET].offset + i];
}

static void lay_out(void *user) {
  mechanics *m = user;
  m->placed = copy_shapes(m->system, &m->memory);
  m->system = m->placed;
  const carom_system *system = m->system;
  m->theta = arena_zeros(&m->memory, system->parameter_count);
  m->inverse_mass = arena_zeros(&m->memory, system->body_count);
  m->inverse_moment = arena_zeros(&m->memory, system->body_count * system->dimension);
  m->friction = m->theta + system->segments[CAROM_FRICTION].offset;
  m->restitution = m->theta + system->segments[CAROM_RESTITUTION].offset;
  m->gravity = m->theta + system->segments[CAROM_GRAVITY].offset;
  m->stiffness = m->theta + system->segments[CAROM_STIFFNESS].offset;
  m->drag = m->theta + system->segments[CAROM_DRAG].offset;
  m->angular_drag = m->theta + system->segments[CAROM_ANGULAR_DRAG].offset;

  // constraints are sorted by assembly
  m->assembly_constraint = ARENA_ARRAY(&m->memory, int, system->assembly_count + 1);
  int c = 0;
  for (int a = 0; a < system->assembly_count; a++) {
    m->assembly_constraint[a] = c;
    while (c < system->constraint_count && system->constraints[c].assembly == a) c++;
  }
  m->assembly_constraint[system->assembly_count] = c;
  list_couplings(m);
}

bool mechanics_init(mechanics *m, const carom_system *system) {
  *m = (mechanics){.system = system};
  arena_init(&m->memory);
  return arena_guard(lay_out, m);
}

void mechanics_free(mechanics *m) { arena_free(&m->memory); }

/* m = exp(log_mass), lambda = exp(log_moment), the second moments per unit mass. */
void mechanics_set_parameters(mechanics *m, const double *theta) {
  const carom_system *s = m->system;
  int d = s->dimension;
  memcpy(m->theta, theta, sizeof(double) * (size_t)s->parameter_count);
  place_shapes(m);
  m->drags = false;
  for (int i = 0; i < s->body_count; i++)
    m->drags = m->drags || m->drag[i] != 0 || m->angular_drag[i] != 0;
  const double *log_mass = m->theta + s->segments[CAROM_LOG_MASS].offset;
  const double *log_moment = m->theta + s->segments[CAROM_LOG_MOMENT].offset;
  m->regularizer = m->theta[s->segments[CAROM_REGULARIZER].offset];
  for (int i = 0; i < s->body_count; i++) {
    m->inverse_mass[i] = exp(-log_mass[i]);
    for (int k = 0; k < d; k++)
      m->inverse_moment[i * d + k] = s->bodies[i].rigid ? exp(-log_moment[i * d + k]) : 0;
  }
  for (int i = 0; i < m->coupling_count; i++) {
    coupling *c = &m->couplings[i];
    coupling_weights(m, &s->constraints[c->row_constraint].arm,
                     &s->constraints[c->column_constraint].arm, &c->inertial, &c->geometric);
  }
}

/* out_k = (sum_l f_l + f_k / lambda_k) / m, without the second term for the centre */
static inline void rigid_inverse_in(const int d, double inverse, const double *inverse_moment,
                                    const double *f, double *o) {
  for (int i = 0; i < d; i++) {
    double sum = 0;
    for (int k = 0; k <= d; k++) sum += f[k * d + i];
    for (int k = d; k >= 1; k--)
      o[k * d + i] = (sum + f[k * d + i] * inverse_moment[k - 1]) * inverse;
    o[i] = sum * inverse;
  }
}

void mass_inverse_body(const mechanics *m, int body_index, const double *force, double *out) {
  const body *b = &m->system->bodies[body_index];
  int d = m->system->dimension;
  const double *f = force + b->first_point * d;
  double *o = out + b->first_point * d;
  double inverse = m->inverse_mass[body_index];
  if (!b->rigid)
    for (int i = 0; i < d; i++) o[i] = f[i] * inverse;
  else if (d == 2)
    rigid_inverse_in(2, inverse, m->inverse_moment + body_index * d, f, o);
  else
    rigid_inverse_in(3, inverse, m->inverse_moment + body_index * d, f, o);
}

/* The body whose first point is the k-th of an assembly, or -1. */
static int body_at(const carom_system *s, const assembly *a, int k) {
  int body_index = s->point_body[a->points[k]];
  return s->bodies[body_index].first_point == a->points[k] ? body_index : -1;
}

void mass_inverse_assembly(const mechanics *m, const assembly *a, const double *force,
                           double *out) {
  for (int k = 0; k < a->point_count; k++) {
    int body_index = body_at(m->system, a, k);
    if (body_index >= 0) mass_inverse_body(m, body_index, force, out);
  }
}

void mass_inverse(const mechanics *m, const double *force, double *out) {
  const carom_system *s = m->system;
  const int d = s->dimension;
  for (int b = 0; b < s->body_count; b++) {
    const int at = s->bodies[b].first_point * d;
    if (s->bodies[b].rigid)
      mass_inverse_body(m, b, force, out);
    else // here, for the sake of long ropes
      for (int i = at; i < at + d; i++) out[i] = force[i] * m->inverse_mass[b];
  }
}

void mass_apply_body(const mechanics *m, int body_index, const double *velocity, double *out) {
  int d = m->system->dimension;
  const body *b = &m->system->bodies[body_index];
  const double *v = velocity + b->first_point * d;
  double *o = out + b->first_point * d;
  double mass = 1 / m->inverse_mass[body_index];
  // M = m [[1 + sum lambda, -lambda'], [-lambda, diag lambda]]
  for (int j = 0; j < d; j++) {
    double centre = v[j];
    for (int k = 1; k < b->point_count; k++) {
      double lambda = 1 / m->inverse_moment[body_index * d + k - 1];
      double relative = lambda * (v[k * d + j] - v[j]);
      centre -= relative;
      o[k * d + j] = mass * relative;
    }
    o[j] = mass * centre;
  }
}

void mass_apply(const mechanics *m, const double *velocity, double *out) {
  for (int i = 0; i < m->system->body_count; i++) mass_apply_body(m, i, velocity, out);
}

void mass_inverse_body_vjp(const mechanics *m, int body_index, const double *left,
                           const double *right, double *theta_bar) {
  const carom_system *s = m->system;
  const body *b = &s->bodies[body_index];
  int d = s->dimension;
  const double *l = left + b->first_point * d;
  const double *r = right + b->first_point * d;
  double inverse = m->inverse_mass[body_index];

  // in the forward pass this was left' (1/m)(11' + diag(0, 1/lambda)) right, with m and lambda
  // exponentials of the parameters, so now each term gives minus itself
  double whole = 0;
  for (int i = 0; i < d; i++) {
    double sum_l = 0, sum_r = 0;
    for (int k = 0; k < b->point_count; k++) {
      sum_l += l[k * d + i];
      sum_r += r[k * d + i];
    }
    whole += sum_l * sum_r;
  }
  double *moment_bar = theta_bar + s->segments[CAROM_LOG_MOMENT].offset + body_index * d;
  for (int k = 1; k < b->point_count; k++) {
    double term = 0;
    for (int i = 0; i < d; i++) term += l[k * d + i] * r[k * d + i];
    term *= m->inverse_moment[body_index * d + k - 1];
    whole += term;
    moment_bar[k - 1] -= inverse * term;
  }
  theta_bar[s->segments[CAROM_LOG_MASS].offset + body_index] -= inverse * whole;
}

void mass_inverse_assembly_vjp(const mechanics *m, const assembly *a, const double *left,
                               const double *right, double *theta_bar) {
  for (int k = 0; k < a->point_count; k++) {
    int body_index = body_at(m->system, a, k);
    if (body_index >= 0) mass_inverse_body_vjp(m, body_index, left, right, theta_bar);
  }
}

void mass_inverse_vjp(const mechanics *m, const double *left, const double *right,
                      double *theta_bar) {
  const carom_system *s = m->system;
  const int d = s->dimension;
  for (int b = 0; b < s->body_count; b++) {
    if (s->bodies[b].rigid) {
      mass_inverse_body_vjp(m, b, left, right, theta_bar);
      continue;
    }
    double whole = 0;
    const int at = s->bodies[b].first_point * d;
    for (int i = at; i < at + d; i++) whole += left[i] * right[i];
    theta_bar[s->segments[CAROM_LOG_MASS].offset + b] -= m->inverse_mass[b] * whole;
  }
}
