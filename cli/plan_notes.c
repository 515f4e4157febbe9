#include "cli/plan_notes.h"

#include <stdio.h>
#include <string.h>

json_t *plan_note(const carom_arrays *arrays) {
  const char *text = carom_arrays_note(arrays, "plan");
  return text != NULL ? json_loads(text, 0, NULL) : NULL;
}

void note_line(const char *note, int index, char *text, size_t size) {
  for (int k = 0; note != NULL && k < index; k++) {
    note = strchr(note, '\n');
    if (note != NULL) note++;
  }
  if (note == NULL || note[0] == '\0')
    snprintf(text, size, "number %d", index);
  else
    snprintf(text, size, "%.*s", (int)strcspn(note, "\n"), note);
}
