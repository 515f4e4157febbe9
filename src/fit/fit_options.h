/* The table of carom_fit_options. */
#ifndef CAROM_FIT_FIT_OPTIONS_H
#define CAROM_FIT_FIT_OPTIONS_H

#include "base/option_table.h"

extern const option_table fit_option_table;

#endif
