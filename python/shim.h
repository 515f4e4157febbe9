/* What the Python package needs beside the public interface, all of it from C: a page of the viewer and
 * the metrics of a run as the program writes them, and a progress that rarely asks Python. */
#ifndef CAROM_PYTHON_SHIM_H
#define CAROM_PYTHON_SHIM_H

/* A progress callback for long calls: asks carom_py_poll, which takes the interpreter's lock, at most
 * every `interval` seconds. The user pointer of the callback is this struct. */
typedef struct carom_py_watch {
  double interval; /* seconds */
  double last;     /* when it asked; 0: not yet */
  void *user;      /* handed on */
} carom_py_watch;
bool carom_py_progress(void *watch, int64_t done, int64_t total);

/* The page of `carom view` for files and run folders; NULL on failure. Given back by carom_py_free. Of
 * temporary files it does not tell the names. */
char *carom_py_page(const char *const *paths, int count, const char *title, int samples,
                    bool temporary, size_t *size, carom_error *error);
void carom_py_free(void *memory);

/* metrics.csv and TensorBoard events of a run folder (cli/metrics_file.h). */
typedef struct metrics_file metrics_file;
carom_status metrics_open(const char *folder, const carom_properties *properties, int epochs_done,
                          metrics_file **metrics, carom_error *error);
carom_status metrics_add(metrics_file *metrics, const carom_epoch *epoch, const double *theta,
                         carom_error *error);
void metrics_close(metrics_file *metrics);

/* A run; what it gives at once is whether it failed: minus its status, else the number of contact problems
 * that were not solved, INT_MAX for more. */
int carom_py_run(carom_rollout *rollout, const double *theta, const double *x0, const double *v0,
                 carom_error *error);

/* For bench/overhead.py: seconds of `repeats` runs from C, with nothing of Python between them; below 0
 * if one failed. */
double carom_py_run_seconds(carom_rollout *rollout, const double *theta, const double *x0,
                            const double *v0, int repeats);

#endif
