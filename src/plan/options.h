/* Every table of options there is, by the public name of its struct. */
#ifndef CAROM_PLAN_OPTIONS_H
#define CAROM_PLAN_OPTIONS_H

#include "base/option_table.h"

extern const option_table plan_option_table;

/* NULL: `of` is none of its values. */
const option_table *option_table_of(carom_options of);

#endif
