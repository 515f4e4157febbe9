/* What the options of a command name, loaded and checked: system, parameters, initial states. */
#ifndef CAROM_CLI_SETUP_H
#define CAROM_CLI_SETUP_H

#include "cli/run_options.h"

/* Everything that a run needs, loaded and checked. */
typedef struct setup {
  carom_system *system;
  carom_system_info info;
  carom_rollout_options options;
  double *theta;
  int batch;
  double *x0, *v0; /* [batch][point_count][dimension] */
  double *u;       /* [batch][options.steps][control_size]; NULL: no controls */
} setup;

/* Loads the system and its parameters; no initial states yet. */
carom_status setup_load(const run_options *given, setup *s, carom_error *error);

/* How many states are drawn where none are given. */
int drawn_states(const run_options *given);

/* Initial states from --init, or `sample` drawn ones (at least one). */
carom_status setup_states(const run_options *given, setup *s, carom_error *error);

/* Controls from --controls, if there are some. The first is for before the states: where --steps is not
 * given, there are as many as of controls. The second for when samples and steps are known: controls must be
 * of as many, those of one sample are for all. */
carom_status setup_controls_begin(const run_options *given, setup *s, carom_controls *read,
                                  carom_error *error);
carom_status setup_controls(const run_options *given, setup *s, carom_controls *read,
                            carom_error *error);
void setup_close(setup *s);

/* Doubles in one state of the system. */
size_t state_size(const setup *s);

#endif
