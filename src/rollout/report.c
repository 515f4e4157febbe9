#include "rollout/report.h"

#include "base/ranks.h"

void carom_report_add(carom_report *into, const carom_report *from) {
  if (into == NULL || from == NULL) return;
  into->time_steps += from->time_steps;
  into->events += from->events;
  into->contacts += from->contacts;
  into->programs += from->programs;
  into->interior_programs += from->interior_programs;
  into->singular_programs += from->singular_programs;
  into->degenerate_programs += from->degenerate_programs;
  into->projected_programs += from->projected_programs;
  into->failed_programs += from->failed_programs;
  into->failed_projections += from->failed_projections;
  into->impacts += from->impacts;
  into->resting_contacts += from->resting_contacts;
  into->grazing_impacts += from->grazing_impacts;
  into->overlaps += from->overlaps;
  into->cut_steps += from->cut_steps;
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
