/* Copies of the cone programs that were not solved, so that they can be written out and replayed. */
#ifndef CAROM_CONTACT_PROGRAM_LOG_H
#define CAROM_CONTACT_PROGRAM_LOG_H

#include "contact/cone_program.h"

enum { PROGRAM_LOG_MOST = 16 };

typedef struct program_log {
  int count;
  carom_cone_program programs[PROGRAM_LOG_MOST]; /* arrays owned here, dense */
} program_log;

void program_log_clear(program_log *log);

/* Keeps a copy unless the log is full or memory is short. */
void program_log_add(program_log *log, const cone_program *program);

#endif
