#include "rollout/report.h"

#include <assert.h>
#include <stddef.h>

#include "base/ranks.h"

#define COUNTER(member) \
  { #member, offsetof(carom_report, member) }

static const struct {
  const char *name;
  size_t offset;
} counters[] = {
    COUNTER(time_steps),
    COUNTER(events),
    COUNTER(contacts),
    COUNTER(programs),
    COUNTER(interior_programs),
    COUNTER(singular_programs),
    COUNTER(degenerate_programs),
    COUNTER(projected_programs),
    COUNTER(failed_programs),
    COUNTER(failed_projections),
    COUNTER(impacts),
    COUNTER(resting_contacts),
    COUNTER(grazing_impacts),
    COUNTER(overlaps),
    COUNTER(cut_steps),
};
enum { COUNTERS = sizeof counters / sizeof counters[0] };
static_assert(sizeof(carom_report) == COUNTERS * sizeof(int64_t) + sizeof(double),
              "every member of a report but worst_residual is a counter with a row");

static int64_t *counter(carom_report *report, int index) {
  return (int64_t *)((char *)report + counters[index].offset);
}
static int64_t count_of(const carom_report *report, int index) {
  return *(const int64_t *)((const char *)report + counters[index].offset);
}

carom_counter carom_report_counter(const carom_report *report, int index) {
  if (report == NULL || index < 0 || index >= COUNTERS) return (carom_counter){0};
  return (carom_counter){counters[index].name, count_of(report, index)};
}

void carom_report_add(carom_report *into, const carom_report *from) {
  if (into == NULL || from == NULL) return;
  for (int k = 0; k < COUNTERS; k++) *counter(into, k) += count_of(from, k);
  if (!(from->worst_residual <= into->worst_residual)) into->worst_residual = from->worst_residual;
}

void report_program(carom_report *report, const carom_cone_info *info) {
  report->programs++;
  report->interior_programs += info->interior_steps > 0;
  report->singular_programs += info->singular;
  report->degenerate_programs += info->status == CAROM_CONE_DEGENERATE;
  report->projected_programs += info->projected;
  report->failed_programs += info->status > CAROM_CONE_DEGENERATE;
  if (!(info->residual <= report->worst_residual)) report->worst_residual = info->residual;
}

void report_event(carom_report *report, const contact_event *e, const event_impulses *impulses) {
  for (int k = 0; k < e->group.island_count; k++) {
    report_program(report, &impulses->compression.info[k]);
    if (!event_is_complementary(e)) report_program(report, &impulses->restitution.info[k]);
  }
}

void report_of_ranks(carom_report *report) {
  carom_report all = {0};
  for (int from = 0; from < carom_ranks_count(); from++) {
    carom_report theirs = *report;
    ranks_tell(&theirs, sizeof theirs, from);
    carom_report_add(&all, &theirs);
  }
  *report = all;
}
