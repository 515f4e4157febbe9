/* What commands write: files that must not be inputs, cone programs that failed, JSON. */
#ifndef CAROM_CLI_OUTPUT_H
#define CAROM_CLI_OUTPUT_H

#include "cli/run_options.h"

#include <jansson.h>

/* Whether a file of this name (NULL: none) could be written and is none of the inputs, which may be
 * NULL: asked before long work. */
carom_status check_output(const char *path, int input_count, const char *const *inputs,
                          carom_error *error);

/* The file that a scene is read from; NULL for a built-in one. */
const char *scene_file(const char *scene);

/* The same for the inputs that `given` names, and one more of the command's own (or NULL). */
carom_status check_run_output(const char *path, const run_options *given, const char *other,
                              carom_error *error);

/* Writes the failed cone programs of a rollout into a folder, made if it is not there. */
carom_status dump_failures(const carom_rollout *rollout, const char *folder, int *written,
                           carom_error *error);

/* A JSON number, null if it is not finite. */
json_t *json_number(double value);
json_t *json_report(const carom_report *report);

/* Writes it to a file; NULL is what a lack of memory left. */
carom_status write_json(const char *path, const json_t *value, carom_error *error);

/* Prints and releases. */
void print_json(json_t *value);

#endif
