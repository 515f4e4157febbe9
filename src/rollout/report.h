/* Counting what happens. */
#ifndef CAROM_ROLLOUT_REPORT_H
#define CAROM_ROLLOUT_REPORT_H

#include "contact/contact_event.h"

/* One program, and those of an event: one or two phases of each island. */
void report_program(carom_report *report, const carom_cone_info *info);
void report_event(carom_report *report, const contact_event *e, const event_impulses *impulses);

/* Counters of work that ranks did each by itself become those of all. */
void report_of_ranks(carom_report *report);

#endif
