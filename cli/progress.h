/* Progress on standard error: on a terminal a bar with rate and time left, otherwise a plain line
 * now and then, nothing if quiet. Also where Ctrl-C arrives: work asks `interrupted` between steps
 * and ends cleanly. */
#ifndef CAROM_CLI_PROGRESS_H
#define CAROM_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* A work that is one of several: how much of all is done. */
typedef struct progress_whole {
  int index, count; /* of this one, from 0; 0 of none: it stands alone */
  double start;     /* seconds, of the first */
} progress_whole;

typedef struct progress {
  const char *label;
  const char *unit; /* what is counted: "steps" */
  bool quiet;
  bool terminal;
  bool shown;     /* a bar stands on the current line */
  double start;   /* seconds */
  double last;    /* when something was shown last */
  int64_t first;  /* what was done when it began, of a work that is taken up; 0 */
  char note[160]; /* shown behind the time left; "" */
  progress_whole whole;
} progress;

progress progress_begin(const char *label, const char *unit, bool quiet);

/* A carom_progress callback, `user` being the progress: shows, and returns false after Ctrl-C. */
bool progress_update(void *user, int64_t done, int64_t total);

/* Sets the note. */
void progress_note(progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line that stays, above the bar. */
void progress_line(progress *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Takes the bar away. */
void progress_end(progress *p);

/* From here on SIGINT and SIGTERM only set a flag; a second one ends the program at once. */
void interrupt_install(void);
bool interrupted(void);

/* Seconds of a clock that only goes forward. */
double seconds_now(void);

#endif
