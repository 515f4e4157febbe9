/* What commands say on standard error, beside progress. */
#ifndef CAROM_CLI_MESSAGES_H
#define CAROM_CLI_MESSAGES_H

#include "carom.h"

/* Prints the message and returns the exit code that belongs to it. */
int report_failure(const char *command, const carom_error *error);

/* A loud line where cone programs failed; nothing otherwise. report_trouble adds how to get hold of
 * them, for commands with --dump-failures; report_unsolved_with adds what the command gives it. */
void report_unsolved(const char *command, const carom_report *report);
void report_unsolved_with(const char *command, const carom_report *report, const char *more);
void report_trouble(const char *command, const carom_report *report, const char *dump_folder);

/* Where the time step of data comes from: "attribute dt of FILE", ... */
void describe_time_step(carom_dt_source from, const char *path, char *text, size_t size);

/* A line where data do not say their time step and the scene's is taken; nothing otherwise. */
void report_time_step(const char *command, carom_dt_source from, double dt, const char *path);

#endif
