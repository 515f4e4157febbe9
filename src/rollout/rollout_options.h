/* The table of carom_rollout_options. */
#ifndef CAROM_ROLLOUT_ROLLOUT_OPTIONS_H
#define CAROM_ROLLOUT_ROLLOUT_OPTIONS_H

#include "base/option_table.h"
#include "base/threads.h"

extern const option_table rollout_option_table;

/* Names of values, as files and command lines have them; each list ends with NULL. */
extern const char *const dynamics_choices[], *const contact_choices[];

#endif
