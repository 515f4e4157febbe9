#include "cli/messages.h"

#include "cli/arguments.h"
#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>

int report_failure(const char *command, const carom_error *error) {
  if (error->status == CAROM_INTERRUPTED || interrupted()) {
    fprintf(stderr, "carom %s: interrupted, nothing was written\n", command);
    return EXIT_INTERRUPTED;
  }
  fprintf(stderr, "carom %s: %s\n", command, error->message);
  return EXIT_FAILURE;
}

/* States that --stabilize could not put on their constraints. */
static void report_off_constraints(const char *command, const carom_report *report) {
  if (report->failed_projections == 0) return;
  fprintf(stderr,
          "carom %s: WARNING: bodies could NOT be put on their constraints or contacts %lld times, "
          "and were "
          "left where they were; use a smaller dt or more substeps.\n",
          command, (long long)report->failed_projections);
}

/* What contacts that act when their gaps close could not do. */
static void report_impacts(const char *command, const carom_report *report) {
  if (report->overlaps > 0)
    fprintf(
        stderr,
        "carom %s: WARNING: bodies overlapped %lld times at the start of a time step, where they "
        "should at most touch; those that did not part by themselves were moved apart.\n",
        command, (long long)report->overlaps);
  if (report->cut_steps > 0)
    fprintf(
        stderr,
        "carom %s: WARNING: %lld time steps had too many impacts to follow each of them; what was "
        "left of them acted at the end of the step. Use a smaller dt.\n",
        command, (long long)report->cut_steps);
}

void report_unsolved_with(const char *command, const carom_report *report, const char *more) {
  report_off_constraints(command, report);
  report_impacts(command, report);
  if (report->failed_programs == 0) return;
  fprintf(stderr,
          "carom %s: WARNING: %lld of %lld cone programs were NOT solved (worst residual %.2g); "
          "the best impulses found were used.%s\n",
          command, (long long)report->failed_programs, (long long)report->programs,
          report->worst_residual, more);
}

void report_unsolved(const char *command, const carom_report *report) {
  report_unsolved_with(command, report, "");
}

void report_trouble(const char *command, const carom_report *report, const char *dump_folder) {
  report_unsolved(command, report);
  if (report->failed_programs == 0) return;
  if (dump_folder == NULL) {
    fputs("  --dump-failures DIR writes them to files that `carom solve FILE` replays.\n", stderr);
  } else {
    fprintf(stderr, "  The first ones are in %s: replay with `carom solve %s/cone-000.json`.\n",
            dump_folder, dump_folder);
  }
}

void describe_time_step(carom_dt_source from, const char *path, char *text, size_t size) {
  switch (from) {
    case CAROM_DT_OF_ATTRIBUTE: snprintf(text, size, "attribute dt of %s", path); return;
    case CAROM_DT_OF_TIMES: snprintf(text, size, "times /t of %s", path); return;
    case CAROM_DT_OF_SCENE: break;
  }
  snprintf(text, size, "the scene's%s%s%s", path != NULL ? ": " : "", path != NULL ? path : "",
           path != NULL ? " has neither dt nor /t" : "");
}

void report_time_step(const char *command, carom_dt_source from, double dt, const char *path) {
  if (from != CAROM_DT_OF_SCENE) return;
  fprintf(stderr,
          "carom %s: %s has neither the attribute dt nor times /t: the time step of the scene, %g, "
          "is taken\n",
          command, path, dt);
}
