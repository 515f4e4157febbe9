#include "fit/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "system/system.h"

/* ---- whose everything is --------------------------------------------------------------------- */

static bool flies_apart(const carom_system *s, const unknown_list *unknowns, const double *theta) {
  bool apart = s->body_count > 1 && s->row_count == 0 && s->spring_count == 0 &&
               s->limit_count == 0 && s->control_count == 0;
  for (int b = 0; b < s->body_count; b++) apart = apart && !s->bodies[b].rigid;
  static const carom_segment none[] = {CAROM_GRAVITY, CAROM_DRAG};
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < s->segments[none[k]].size; i++)
      apart = apart && theta[s->segments[none[k]].offset + i] == 0;
  for (int j = 0; j < unknowns->count; j++) {
    const unknown *u = &unknowns->items[j];
    apart = apart && u->kind < UNKNOWN_SCALE &&
            (u->segment == CAROM_LOG_MASS || u->segment == CAROM_FRICTION ||
             u->segment == CAROM_RESTITUTION);
  }
  return apart;
}

// the first body of a contact; of a pair the other one goes to `other`, else -1
static int body_of_contact(const carom_system *s, int contact, int *other) {
  *other = -1;
  for (int i = 0; i < s->body_count && contact < s->pair_property_count; i++)
    for (int j = i + 1; j < s->body_count; j++)
      if (system_pair_property(s, i, j) == contact) {
        *other = j;
        return i;
      }
  return (contact - s->plane_property_first) / s->plane_count;
}

static void own_entries(body_parts *p) {
  const carom_system *s = p->system;
  int other;
  for (int e = 0; e < s->parameter_count; e++) p->entry_body[e] = -1;
  for (int b = 0; b < s->body_count; b++) p->entry_body[s->segments[CAROM_LOG_MASS].offset + b] = b;
  for (int c = 0; c < s->contact_count; c++)
    p->entry_body[s->segments[CAROM_FRICTION].offset + c] =
        p->entry_body[s->segments[CAROM_RESTITUTION].offset + c] = body_of_contact(s, c, &other);
}

// false if a row is of several bodies
static bool own_rows(body_parts *p, const double *L) {
  const carom_system *s = p->system;
  const int D = s->coordinate_count;
  for (int i = 0; i < p->rows; i++) {
    p->row_body[i] = -1;
    for (int c = 0; c < 2 * D; c++) {
      if (L[i * 2 * D + c] == 0) continue;
      int owner = s->point_body[c % D / s->dimension];
      if (p->row_body[i] >= 0 && p->row_body[i] != owner) return false;
      p->row_body[i] = owner;
    }
  }
  return true;
}

bool parts_init(body_parts *p, const carom_system *system, const unknown_list *unknowns, int rows,
                const double *L, int most) {
  size_t entries = (size_t)system->parameter_count, bodies = (size_t)system->body_count;
  *p = (body_parts){
      .system = system,
      .rows = rows,
      .most = most,
      .row_body = size_allocate((size_t)rows + entries + (size_t)most * (bodies + (size_t)rows),
                                sizeof(int)),
      .masked = size_allocate(entries, sizeof(double))};
  if (p->row_body == NULL || p->masked == NULL) return false;
  p->entry_body = p->row_body + rows;
  p->group = p->entry_body + entries;
  p->slot = p->group + (size_t)most * bodies;
  carom_parameters_default(system, p->masked);
  p->apart = flies_apart(system, unknowns, p->masked) && own_rows(p, L);
  if (p->apart) own_entries(p);
  return true;
}

void parts_free(body_parts *p) {
  free(p->row_body);
  free(p->masked);
}

/* ---- groups of a step ------------------------------------------------------------------------ */

static void join(int *group, int count, int a, int b) {
  int from = group[b], to = group[a];
  for (int i = 0; i < count && from != to; i++)
    if (group[i] == from) group[i] = to;
}

int parts_split(body_parts *p, const carom_rollout *rollout, int sample) {
  const carom_system *s = p->system;
  int *group = p->group + sample * s->body_count, *slot = p->slot + sample * p->rows, most = 0;
  const int impacts = carom_rollout_impact_count(rollout, sample);
  // contacts that last leave no impact: any of them may have acted
  const bool apart =
      p->apart && (impacts > 0 || carom_rollout_contacts(rollout)[2 * sample + 1] == 0);
  for (int b = 0; b < s->body_count; b++) group[b] = apart ? b : 0;
  for (int k = 0; k < impacts && apart; k++) {
    carom_impact impact = carom_rollout_impact(rollout, sample, k);
    for (int c = 0; c < impact.contact_count; c++) {
      int other, one = body_of_contact(s, impact.contacts[c], &other);
      if (other >= 0) join(group, s->body_count, one, other);
    }
  }
  for (int i = 0; i < p->rows; i++) {
    slot[i] = 0;
    for (int before = 0; before < i; before++)
      slot[i] += !apart || group[p->row_body[before]] == group[p->row_body[i]];
    most = slot[i] + 1 > most ? slot[i] + 1 : most;
  }
  return most;
}

void parts_seed(const body_parts *p, int sample, int pass, const double *L, double *seed) {
  const int *slot = p->slot + sample * p->rows, size = 2 * p->system->coordinate_count;
  memset(seed, 0, sizeof(double) * (size_t)size);
  for (int i = 0; i < p->rows; i++)
    for (int c = 0; c < size && slot[i] == pass; c++) seed[c] += L[i * size + c];
}

void parts_row(body_parts *p, const unknown_list *unknowns, const double *q, int sample, int i,
               const double *state_bar, const double *theta_bar, double *row) {
  const carom_system *s = p->system;
  const int D = s->coordinate_count, *group = p->group + sample * s->body_count;
  if (!p->apart) {
    memcpy(row, state_bar, sizeof(double) * 2 * (size_t)D);
    unknowns_pull(unknowns, q, theta_bar, row + 2 * D);
    return;
  }
  const int own = group[p->row_body[i]];
  for (int c = 0; c < 2 * D; c++)
    row[c] = group[s->point_body[c % D / s->dimension]] == own ? state_bar[c] : 0;
  for (int e = 0; e < s->parameter_count; e++)
    p->masked[e] = p->entry_body[e] >= 0 && group[p->entry_body[e]] == own ? theta_bar[e] : 0;
  unknowns_pull(unknowns, q, p->masked, row + 2 * D);
}
