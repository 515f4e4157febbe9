/* The table of carom_plan_options. */
#ifndef CAROM_PLAN_PLAN_OPTIONS_H
#define CAROM_PLAN_PLAN_OPTIONS_H

#include "base/option_table.h"

extern const option_table plan_option_table;

#endif
