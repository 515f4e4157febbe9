#include "contact/normal_rows.h"

/* ---- the rows as an operator -------------------------------------------------------------------- */

void normal_velocities(const contact_event *e, const double *v, double *normals) {
  int d = e->mechanics->system->dimension;
  for (int c = 0; c < e->group.count; c++) {
    const contact *on = &e->group.contacts[c];
    normals[c] = 0;
    for (int k = 0; k < on->point_count; k++)
      for (int i = 0; i < d; i++) normals[c] += on->block[k * d * d + i] * v[on->point[k] * d + i];
  }
}

void add_normal_forces(const contact_event *e, double scale, const double *normals, double *out) {
  int d = e->mechanics->system->dimension;
  for (int c = 0; c < e->group.count; c++) {
    const contact *on = &e->group.contacts[c];
    for (int k = 0; k < on->point_count; k++)
      for (int i = 0; i < d; i++)
        out[on->point[k] * d + i] += scale * normals[c] * on->block[k * d * d + i];
  }
}

void add_normal_outer(const contact_event *e, double scale, const double *normals,
                      const double *points, double *blocks_bar) {
  int d = e->mechanics->system->dimension;
  for (int c = 0; c < e->group.count; c++) {
    const contact *on = &e->group.contacts[c];
    for (int k = 0; k < on->point_count; k++)
      for (int i = 0; i < d; i++)
        blocks_bar[(on->first_block + k) * d * d + i] +=
            scale * normals[c] * points[on->point[k] * d + i];
  }
}

/* ---- their matrix ------------------------------------------------------------------------------- */

/* epsilon of CMr, which A has on its diagonal and H has not */
static double epsilon_of(const contact_event *e) {
  return e->options->contact == CAROM_CMR ? e->mechanics->regularizer : 0;
}

double normal_entry(const contact_event *e, int island, double softness) {
  return e->A[island][0] + softness * e->mobility[island_begin(e, island)] - epsilon_of(e);
}

normal_matrix normal_matrix_make(const contact_event *e, int island, double softness,
                                 arena *memory) {
  int d = e->mechanics->system->dimension;
  int begin = island_begin(e, island), size = island_end(e, island) - begin;
  const envelope *all = &e->shape[island];
  int *first = ARENA_ARRAY(memory, int, size);
  for (int i = 0; i < size; i++) first[i] = all->first[i * d] / d;
  normal_matrix h = {.shape = envelope_make(size, first, memory)};
  h.values = arena_doubles(memory, h.shape.start[size]);
  for (int i = 0; i < size; i++) {
    for (int j = first[i]; j <= i; j++)
      h.values[envelope_at(&h.shape, i, j)] = e->A[island][envelope_at(all, i * d, j * d)];
    h.values[envelope_at(&h.shape, i, i)] += softness * e->mobility[begin + i] - epsilon_of(e);
  }
  return h;
}

/* ---- the derivative of its soft diagonal -------------------------------------------------------- */

/* From the term scale * J_n M^-1 J_n' on a point mass that a contact touches with its point k. */
static void point_mobility_vjp(const contact_event *e, const contact *on, int k, double scale,
                               const event_cotangents *bars) {
  const carom_system *s = e->mechanics->system;
  int d = s->dimension, body_index = s->point_body[on->point[k]];
  double inverse = e->mechanics->inverse_mass[body_index], square = 0;
  for (int j = 0; j < d; j++) {
    double entry = on->block[k * d * d + j];
    square += entry * entry;
    bars->blocks[(on->first_block + k) * d * d + j] += 2 * scale * inverse * entry;
  }
  bars->theta[s->segments[CAROM_LOG_MASS].offset + body_index] -= scale * inverse * square;
}

/* The same on an extended body, for all points of it; force and velocity [D] are scratch. */
static void body_mobility_vjp(const contact_event *e, const contact *on, int body_index,
                              double scale, const event_cotangents *bars, double *force,
                              double *velocity) {
  const mechanics *m = e->mechanics;
  const carom_system *s = m->system;
  const body *b = &s->bodies[body_index];
  int d = s->dimension, begin = b->first_point * d, end = begin + b->point_count * d;
  for (int i = begin; i < end; i++) force[i] = 0;
  for (int k = 0; k < on->point_count; k++)
    if (s->point_body[on->point[k]] == body_index)
      for (int j = 0; j < d; j++) force[on->point[k] * d + j] += on->block[k * d * d + j];
  mass_inverse_body(m, body_index, force, velocity);
  for (int k = 0; k < on->point_count; k++)
    if (s->point_body[on->point[k]] == body_index)
      for (int j = 0; j < d; j++)
        bars->blocks[(on->first_block + k) * d * d + j] +=
            2 * scale * velocity[on->point[k] * d + j];
  for (int i = begin; i < end; i++) velocity[i] = scale * force[i];
  mass_inverse_body_vjp(m, body_index, velocity, force, bars->theta);
}

void mobility_vjp(const contact_event *e, int c, double scale, const event_cotangents *bars,
                  double *force, double *velocity) {
  const carom_system *s = e->mechanics->system;
  const contact *on = &e->group.contacts[c];
  for (int k = 0; k < on->point_count; k++) {
    int body_index = s->point_body[on->point[k]];
    if (!s->bodies[body_index].rigid) {
      point_mobility_vjp(e, on, k, scale, bars);
      continue;
    }
    bool seen = false;
    for (int l = 0; l < k && !seen; l++) seen = s->point_body[on->point[l]] == body_index;
    if (!seen) body_mobility_vjp(e, on, body_index, scale, bars, force, velocity);
  }
}
