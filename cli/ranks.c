#include "cli/ranks.h"

#include "carom.h"
#include "cli/arguments.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds that a rank which has failed waits for the others to fail too. */
static const double PATIENCE = 3;

/* Where standard output and error of a silent rank went, and what it would have said. */
static int spoken[2] = {-1, -1};
static int silent[2] = {-1, -1};

static void put_streams(const int to[2]) {
  fflush(stdout);
  fflush(stderr);
  if (to[0] >= 0) dup2(to[0], STDOUT_FILENO);
  if (to[1] >= 0) dup2(to[1], STDERR_FILENO);
}

// a file without a name
static int hidden_file(void) {
  FILE *file = tmpfile();
  const int copy = file != NULL ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 0) : -1;
  if (file != NULL) fclose(file);
  return copy;
}

static void be_silent(void) {
  spoken[0] = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  spoken[1] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  silent[0] = open("/dev/null", O_WRONLY | O_CLOEXEC);
  silent[1] = hidden_file();
  put_streams(silent);
}

bool ranks_writes(void) { return carom_ranks_index() == 0; }

void ranks_speak(bool all) {
  if (silent[0] >= 0) put_streams(all ? spoken : silent);
}

// the last lines that a silent rank would have said
static void say_last_words(int rank) {
  char text[4096];
  const off_t size = lseek(silent[1], 0, SEEK_END);
  const off_t first = size > (off_t)sizeof text - 1 ? size - (off_t)sizeof text + 1 : 0;
  const ssize_t length = size > 0 ? pread(silent[1], text, sizeof text - 1, first) : 0;
  text[length > 0 ? length : 0] = '\0';
  put_streams(spoken);
  fprintf(stderr, "carom: rank %d failed by itself, all ranks are ended\n%s", rank, text);
}

// the program ends
static void leave(int code, void *unused) {
  (void)unused;
  const int rank = carom_ranks_index();
  fflush(stdout);
  fflush(stderr);
  if (carom_ranks_end(code == 0 ? -1 : PATIENCE)) return;
  if (rank > 0)
    say_last_words(rank);
  else
    fputs("carom: rank 0 failed by itself, all ranks are ended\n", stderr);
  fflush(stderr);
  carom_ranks_abort(code);
}

int ranks_join(const char *command, bool shares) {
  carom_error error = {0};
  if (carom_ranks_begin(&error) != CAROM_OK) {
    fprintf(stderr, "carom %s: %s\n", command, error.message);
    return EXIT_USAGE;
  }
  if (carom_ranks_count() == 1) {
    carom_ranks_end(-1);
    return EXIT_SUCCESS;
  }
  on_exit(leave, NULL);
  if (carom_ranks_index() > 0) be_silent();
  if (shares) return EXIT_SUCCESS;
  fprintf(stderr,
          "carom %s: works in one process, %d were started; train, dataset, evaluate, reproduce "
          "and `bench ranks` share their work\n",
          command, carom_ranks_count());
  return EXIT_USAGE;
}
