/* The impacts of a shard as results of its run: what happened, and where cotangents go. One after the
 * other in order of time steps; of each sample in order of time. */
#ifndef CAROM_ROLLOUT_IMPACT_LOG_H
#define CAROM_ROLLOUT_IMPACT_LOG_H

#include "base/growing.h"
#include "contact/contact_event.h"

/* One impact; its numbers and contacts stand in the log's arrays from these places on. */
typedef struct impact_entry {
  int sample; /* inside the shard */
  int step;
  double time, time_bar;
  int contact_count;
  size_t contacts; /* first possible contact of it */
  size_t
      numbers; /* x, v_before, v_after, their three cotangents, impulses [contact_count][dimension] */
} impact_entry;

typedef struct impact_log {
  growing entries;  /* impact_entry */
  growing numbers;  /* double */
  growing contacts; /* int */
  growing order;    /* int: entries by sample, those of a sample in order of time */
  growing first;    /* int [samples + 1]: where a sample's begin in `order` */
} impact_log;

void impact_log_free(impact_log *log);
long impact_log_allocations(const impact_log *log);

/* Empties it. */
void impact_log_begin(impact_log *log);

/* Adds an impact that is about to happen at e->x with velocity v; its place among the entries, or -1 if
 * memory is short. impact_log_complete is due when it has happened. */
int impact_log_add(impact_log *log, const contact_event *e, int sample, int step, double time,
                   const double *v);
void impact_log_complete(impact_log *log, int entry, const contact_event *e,
                         const event_impulses *impulses, const double *v);

/* Sorts by samples, once all are there; false if memory is short. */
bool impact_log_finish(impact_log *log, int samples);

/* Impacts of a sample, and one of them. */
int impact_log_count(const impact_log *log, int sample);
impact_entry *impact_log_at(const impact_log *log, int sample, int index);

/* Its possible contacts, and its numbers by parts, each [size]; behind the last come the impulses. */
enum impact_part {
  IMPACT_X,
  IMPACT_BEFORE,
  IMPACT_AFTER,
  IMPACT_X_BAR,
  IMPACT_BEFORE_BAR,
  IMPACT_AFTER_BAR,
  IMPACT_PARTS
};
const int *impact_log_contacts(const impact_log *log, const impact_entry *entry);
double *impact_log_part(const impact_log *log, const impact_entry *entry, int size, int part);

#endif
