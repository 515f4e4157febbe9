/* The table of carom_rollout_options. */
#ifndef CAROM_ROLLOUT_ROLLOUT_OPTIONS_H
#define CAROM_ROLLOUT_ROLLOUT_OPTIONS_H

#include "base/option_table.h"
#include "base/threads.h"

extern const option_table rollout_option_table;

/* Whether a system can be simulated with these options: in range, and what they ask for is there. */
carom_status rollout_options_check(const carom_system *system, const carom_rollout_options *options,
                                   carom_error *error);

/* Whether the contact model makes sense for a system: that of complementarity is asked for by name, and a scene
 * without contacts has no use for it. */
carom_status contact_model_check(const carom_system *system, carom_contact_model contact,
                                 carom_error *error);

/* Names of values, as files and command lines have them; each list ends with NULL. */
extern const char *const dynamics_choices[], *const contact_choices[];

#endif
