/* The C part of the Python package; python/build_binding.py compiles it into the extension. */
#include "cli/metrics_file.h"
#include "cli/page_input.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// defined by cffi, filled in carom/_engine.py
static bool carom_py_poll(void *user, int64_t done, int64_t total);
static bool carom_py_epoch(void *user, const carom_epoch *result);
static bool carom_py_plan(void *user, const carom_plan_progress *progress);

typedef struct carom_py_watch {
  double interval;
  double last;
  void *user;
} carom_py_watch;

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool carom_py_progress(void *user, int64_t done, int64_t total) {
  carom_py_watch *watch = user;
  const double now = seconds_of(CLOCK_MONOTONIC_COARSE);
  if (now - watch->last < watch->interval) return true;
  watch->last = now;
  return carom_py_poll(watch->user, done, total);
}

// leaves out the fact that tells where a document comes from
static void forget_files(page *p) {
  for (int k = 0; k < p->count; k++) {
    json_t *facts = json_object_get(p->documents[k].root, "facts");
    for (size_t i = json_array_size(facts); i-- > 0;) {
      const char *label = json_string_value(json_array_get(json_array_get(facts, i), 0));
      if (label != NULL && strcmp(label, "File") == 0) json_array_remove(facts, i);
    }
  }
}

static char *carom_py_page(const char *const *paths, int count, const char *title, int samples,
                           bool temporary, size_t *size, carom_error *error) {
  page p = {0};
  const motion_choice choice = {.first = 0, .most = samples};
  carom_status status = CAROM_OK;
  for (int k = 0; k < count && status == CAROM_OK; k++)
    status = page_add_input(&p, paths[k], &choice, error);
  if (temporary) forget_files(&p);
  char *html = status == CAROM_OK ? page_html(&p, title, size) : NULL;
  if (status == CAROM_OK && html == NULL)
    carom_error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a page");
  page_free(&p);
  return html;
}

static void carom_py_free(void *memory) { free(memory); }

static int carom_py_run(carom_rollout *rollout, const double *theta, const double *x0,
                        const double *v0, carom_error *error) {
  const carom_status status = carom_rollout_run(rollout, theta, x0, v0, error);
  if (status != CAROM_OK) return -(int)status;
  const int64_t failed = carom_rollout_report(rollout).failed_programs;
  return failed < INT_MAX ? (int)failed : INT_MAX;
}

static double carom_py_run_seconds(carom_rollout *rollout, const double *theta, const double *x0,
                                   const double *v0, int repeats) {
  const double start = seconds_of(CLOCK_MONOTONIC);
  for (int k = 0; k < repeats; k++)
    if (carom_rollout_run(rollout, theta, x0, v0, NULL) != CAROM_OK) return -1;
  return seconds_of(CLOCK_MONOTONIC) - start;
}
