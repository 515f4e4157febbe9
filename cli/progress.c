#include "cli/progress.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 30 };
static const double TERMINAL_INTERVAL = 0.1, PLAIN_INTERVAL = 2.0; /* seconds */

static volatile sig_atomic_t stop_requested = 0;

static void on_signal(int number) {
  (void)number;
  stop_requested = 1;
}

void interrupt_install(void) {
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  // the second signal meets the default action
  action.sa_flags = (int)SA_RESETHAND;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

bool interrupted(void) { return stop_requested != 0; }

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

progress progress_begin(const char *label, const char *unit, bool quiet) {
  double now = seconds_now();
  return (progress){.label = label,
                    .unit = unit,
                    .quiet = quiet,
                    .terminal = isatty(STDERR_FILENO) == 1,
                    .start = now,
                    .last = now};
}

// "12s", "3m05s", "2h10m"
static void format_duration(double seconds, char *text, size_t size) {
  long whole = (long)(seconds + 0.5);
  if (whole < 60) {
    snprintf(text, size, "%lds", whole);
  } else if (whole < 3600) {
    snprintf(text, size, "%ldm%02lds", whole / 60, whole % 60);
  } else {
    snprintf(text, size, "%ldh%02ldm", whole / 3600, whole / 60 % 60);
  }
}

// "812", "12.3k", "4.56M"
static void format_rate(double rate, char *text, size_t size) {
  if (rate < 1e3) {
    snprintf(text, size, "%.3g", rate);
  } else if (rate < 1e6) {
    snprintf(text, size, "%.3gk", rate * 1e-3);
  } else {
    snprintf(text, size, "%.3gM", rate * 1e-6);
  }
}

static void show(progress *p, double share, double rate, double left) {
  char left_text[32], rate_text[32];
  format_duration(left, left_text, sizeof left_text);
  format_rate(rate, rate_text, sizeof rate_text);
  if (!p->terminal) {
    fprintf(stderr, "%s: %.0f %%, %s %s/s, %s left\n", p->label, 100.0 * share, rate_text, p->unit,
            left_text);
    return;
  }
  char bar[BAR_WIDTH + 1];
  int full = (int)(share * BAR_WIDTH);
  for (int k = 0; k < BAR_WIDTH; k++) bar[k] = k < full ? '#' : '.';
  bar[BAR_WIDTH] = '\0';
  fprintf(stderr, "\r\033[K%s [%s] %3.0f %%  %s %s/s  %s left", p->label, bar, 100.0 * share,
          rate_text, p->unit, left_text);
  fflush(stderr);
  p->shown = true;
}

bool progress_update(void *user, int64_t done, int64_t total) {
  progress *p = user;
  if (interrupted()) return false;
  if (p->quiet || total <= 0 || done <= 0) return true;
  double now = seconds_now();
  if (now - p->last < (p->terminal ? TERMINAL_INTERVAL : PLAIN_INTERVAL)) return true;
  p->last = now;
  double rate = (double)done / (now - p->start);
  show(p, (double)done / (double)total, rate, (double)(total - done) / rate);
  return true;
}

void progress_end(progress *p) {
  if (p->shown) fputs("\r\033[K", stderr);
  p->shown = false;
}
