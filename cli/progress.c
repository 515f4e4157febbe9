#include "cli/progress.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { BAR_WIDTH = 30, NOTED_BAR_WIDTH = 12 };
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

// columns of the terminal: a longer line would wrap and could not be taken away
static int terminal_width(void) {
  struct winsize size;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

/* "run 3 of 56, 5 % of all, 2h10m left": all works are taken to be as long as those so far. */
static void format_whole(const progress *p, double share, char *text, size_t size) {
  const progress_whole *w = &p->whole;
  char left[32];
  text[0] = '\0';
  if (w->count < 2) return;
  const double done = (w->index + share) / w->count;
  format_duration((seconds_now() - w->start) * (1 - done) / done, left, sizeof left);
  snprintf(text, size, "run %d of %d, %.0f %% of all, %s left for all; ", w->index + 1, w->count,
           100 * done, left);
}

static void show(progress *p, double share, double rate, double left) {
  char left_text[32], rate_text[32], whole[96];
  format_whole(p, share, whole, sizeof whole);
  format_duration(left, left_text, sizeof left_text);
  format_rate(rate, rate_text, sizeof rate_text);
  if (!p->terminal) {
    fprintf(stderr, "%s%s: %.0f %%, %s %s/s, %s left%s%s\n", whole, p->label, 100.0 * share,
            rate_text, p->unit, left_text, p->note[0] != '\0' ? ", " : "", p->note);
    return;
  }
  // beside a note the bar is shorter
  char bar[BAR_WIDTH + 1], line[512];
  const int width = p->note[0] != '\0' ? NOTED_BAR_WIDTH : BAR_WIDTH, full = (int)(share * width);
  for (int k = 0; k < width; k++) bar[k] = k < full ? '#' : '.';
  bar[width] = '\0';
  snprintf(line, sizeof line, "%s%s [%s] %3.0f %%  %s %s/s  %s left  %s", whole, p->label, bar,
           100.0 * share, rate_text, p->unit, left_text, p->note);
  fprintf(stderr, "\r\033[K%.*s", terminal_width() - 1, line);
  fflush(stderr);
  p->shown = true;
}

void progress_note(progress *p, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(p->note, sizeof p->note, format, arguments);
  va_end(arguments);
}

void progress_line(progress *p, const char *format, ...) {
  if (p->quiet) return;
  progress_end(p);
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
}

bool progress_update(void *user, int64_t done, int64_t total) {
  progress *p = user;
  if (interrupted()) return false;
  if (p->quiet || total <= 0 || done <= p->first) return true;
  double now = seconds_now();
  if (now - p->last < (p->terminal ? TERMINAL_INTERVAL : PLAIN_INTERVAL)) return true;
  p->last = now;
  double rate = (double)(done - p->first) / (now - p->start);
  show(p, (double)done / (double)total, rate, (double)(total - done) / rate);
  return true;
}

void progress_end(progress *p) {
  if (p->shown) fputs("\r\033[K", stderr);
  p->shown = false;
}
