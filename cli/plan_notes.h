/* What the attributes of a plan's result say (src/io/plan_file.h lists them). */
#ifndef CAROM_CLI_PLAN_NOTES_H
#define CAROM_CLI_PLAN_NOTES_H

#include "carom.h"

#include <jansson.h>

/* The plan itself, for the caller to release; NULL where the file has none. */
json_t *plan_note(const carom_arrays *arrays);

enum { MOST_TARGETS = 16 };

/* Where the objective wants a body to be. */
typedef struct plan_target {
  double position[3], radius;
  char label[96]; /* "ball-10" */
} plan_target;

/* The places that bodies are to be at, as far as the objective gives them as numbers on all axes. Of a file
 * without a plan none. */
int plan_targets(const carom_arrays *arrays, const carom_system *system,
                 plan_target targets[MOST_TARGETS]);

/* Line `index` of a note with a name on each; "number 3" where there is no such line. */
void note_line(const char *note, int index, char *text, size_t size);

#endif
