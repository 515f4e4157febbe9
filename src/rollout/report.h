/* Counters of several rollouts together. */
#ifndef CAROM_ROLLOUT_REPORT_H
#define CAROM_ROLLOUT_REPORT_H

#include "carom.h"

/* Adds the counters of one report to another. */
void report_merge(carom_report *into, const carom_report *from);

#endif
