/* What the attributes of a plan's result say (src/io/plan_file.h lists them). */
#ifndef CAROM_CLI_PLAN_NOTES_H
#define CAROM_CLI_PLAN_NOTES_H

#include "carom.h"

#include <jansson.h>

/* The plan itself, for the caller to release; NULL where the file has none. */
json_t *plan_note(const carom_arrays *arrays);

/* Line `index` of a note with a name on each; "number 3" where there is no such line. */
void note_line(const char *note, int index, char *text, size_t size);

#endif
