/* What was found out about data that was given, on the command line. */
#ifndef CAROM_CLI_FINDINGS_H
#define CAROM_CLI_FINDINGS_H

#include "carom.h"

#include <jansson.h>

/* Warnings on standard error. */
void findings_warn(const char *command, const carom_dataset *data);

/* All others, a line each on standard output, as `carom dataset` prints its results. */
void findings_print(const carom_dataset *data);

/* All of them: [{"about": "velocity", "warning": true, "text": "..."}, ...] */
json_t *findings_json(const carom_dataset *data);

#endif
