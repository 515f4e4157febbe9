#include "carom.h"

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
  if (!(from->worst_residual <= into->worst_residual)) into->worst_residual = from->worst_residual;
}
