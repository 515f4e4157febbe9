#include "rollout/impact_log.h"

#include <string.h>

#include "base/vector.h"

static impact_entry *entries(const impact_log *log) {
  return (impact_entry *)(void *)log->entries.bytes;
}
static int *ints(const growing *g) { return (int *)(void *)g->bytes; }

void impact_log_free(impact_log *log) {
  growing *const parts[] = {&log->entries, &log->numbers, &log->contacts, &log->order, &log->first};
  for (int i = 0; i < 5; i++) growing_free(parts[i]);
}

long impact_log_allocations(const impact_log *log) {
  return log->entries.allocations + log->numbers.allocations + log->contacts.allocations +
         log->order.allocations + log->first.allocations;
}

void impact_log_begin(impact_log *log) {
  log->entries.used = log->numbers.used = log->contacts.used = 0;
  log->order.used = log->first.used = 0;
}

double *impact_log_part(const impact_log *log, const impact_entry *entry, int size, int part) {
  return (double *)(void *)log->numbers.bytes + entry->numbers + (size_t)part * (size_t)size;
}

const int *impact_log_contacts(const impact_log *log, const impact_entry *entry) {
  return ints(&log->contacts) + entry->contacts;
}

int impact_log_add(impact_log *log, const contact_event *e, int sample, int step, double time,
                   const double *v) {
  const carom_system *s = e->mechanics->system;
  size_t size = (size_t)s->coordinate_count, count = (size_t)e->group.count;
  impact_entry made = {.sample = sample,
                       .step = step,
                       .time = time,
                       .contact_count = e->group.count,
                       .contacts = log->contacts.used / sizeof(int),
                       .numbers = log->numbers.used / sizeof(double)};
  size_t numbers = IMPACT_PARTS * size + count * (size_t)s->dimension;
  if (growing_append(&log->contacts, sizeof(int) * count) == NULL ||
      growing_append(&log->numbers, sizeof(double) * numbers) == NULL ||
      growing_append(&log->entries, sizeof made) == NULL)
    return -1;
  int place = (int)(log->entries.used / sizeof made) - 1;
  entries(log)[place] = made;
  vector_copy(impact_log_part(log, &made, (int)size, IMPACT_X), e->x, (int)size);
  vector_copy(impact_log_part(log, &made, (int)size, IMPACT_BEFORE), v, (int)size);
  memset(impact_log_part(log, &made, (int)size, IMPACT_X_BAR), 0, sizeof(double) * 3 * size);
  return place;
}

/* Contacts in the order of possible contacts, with their impulses f_c + f_r, by insertion: events have few,
 * and nearly in that order. */
static void list_contacts(impact_log *log, const impact_entry *entry, const contact_event *e,
                          const event_impulses *impulses) {
  int d = e->mechanics->system->dimension, size = e->mechanics->system->coordinate_count;
  int *id = ints(&log->contacts) + entry->contacts;
  double *f = impact_log_part(log, entry, size, IMPACT_PARTS);
  for (int c = 0; c < e->group.count; c++) {
    int property = e->group.contacts[c].id.property, k = c;
    for (; k > 0 && id[k - 1] > property; k--) {
      id[k] = id[k - 1];
      vector_copy(f + k * d, f + (k - 1) * d, d);
    }
    id[k] = property;
    for (int i = 0; i < d; i++)
      f[k * d + i] = impulses->compression.f[c * d + i] + impulses->restitution.f[c * d + i];
  }
}

void impact_log_complete(impact_log *log, int place, const contact_event *e,
                         const event_impulses *impulses, const double *v) {
  const impact_entry *entry = &entries(log)[place];
  int size = e->mechanics->system->coordinate_count;
  vector_copy(impact_log_part(log, entry, size, IMPACT_AFTER), v, size);
  list_contacts(log, entry, e, impulses);
}

bool impact_log_finish(impact_log *log, int samples) {
  int count = (int)(log->entries.used / sizeof(impact_entry));
  log->order.used = log->first.used = 0;
  if (growing_append(&log->order, sizeof(int) * (size_t)count) == NULL ||
      growing_append(&log->first, sizeof(int) * ((size_t)samples + 2)) == NULL)
    return false;

  // first[s + 1] counts along while the entries of sample s are placed
  int *first = ints(&log->first), *order = ints(&log->order);
  memset(first, 0, sizeof(int) * ((size_t)samples + 2));
  for (int i = 0; i < count; i++) first[entries(log)[i].sample + 2]++;
  for (int s = 1; s < samples + 2; s++) first[s] += first[s - 1];
  for (int i = 0; i < count; i++) order[first[entries(log)[i].sample + 1]++] = i;
  return true;
}

int impact_log_count(const impact_log *log, int sample) {
  if (log->first.used == 0) return 0;
  const int *first = ints(&log->first);
  return first[sample + 1] - first[sample];
}

impact_entry *impact_log_at(const impact_log *log, int sample, int index) {
  return &entries(log)[ints(&log->order)[ints(&log->first)[sample] + index]];
}
