#include "io/trial.h"

#include "io/h5_session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { CLOCK_FACTOR = 3 };

/* What the child leaves, in memory that it shares with its parent. */
typedef struct trial_result {
  bool ended;
  carom_error error;
} trial_result;

static void limit(int resource, rlim_t most) {
  struct rlimit now;
  if (getrlimit(resource, &now) != 0) return;
  if (now.rlim_max != RLIM_INFINITY && now.rlim_max < most) most = now.rlim_max;
  now.rlim_cur = now.rlim_max = most;
  setrlimit(resource, &now);
}

// address space in use, which the child begins with; 0 where the system does not say
static size_t memory_in_use(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (file == NULL) return 0;
  if (fscanf(file, "%lu", &pages) != 1) pages = 0;
  fclose(file);
  return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

static void set_limits(trial_limits limits) {
  const size_t used = memory_in_use();
  size_t most;
  if (used > 0 && !__builtin_add_overflow(used, limits.memory, &most)) limit(RLIMIT_AS, most);
  limit(RLIMIT_CPU, (rlim_t)limits.seconds);
  limit(RLIMIT_CORE, 0);
#ifdef __linux__
  prctl(PR_SET_DUMPABLE, 0);
#endif
}

// signals do what they do by default, whatever the program has arranged; the clock runs
static void set_signals(trial_limits limits) {
  static const int plain[] = {SIGALRM, SIGXCPU, SIGINT, SIGSEGV, SIGBUS,
                              SIGABRT, SIGFPE,  SIGILL, SIGTRAP, SIGTERM};
  for (size_t k = 0; k < sizeof plain / sizeof plain[0]; k++) signal(plain[k], SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  alarm((unsigned)(limits.seconds * CLOCK_FACTOR));
}

// what a dying process has to say is not for the user
static void be_silent(void) {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
}

_Noreturn static void child(trial_function *function, void *user, trial_limits limits,
                            trial_result *result) {
  be_silent();
  set_signals(limits);
  set_limits(limits);
  result->error.status = function(user, &result->error);
  result->ended = true;
  // no buffers are flushed, no exit functions run: they are the parent's
  _exit(EXIT_SUCCESS);
}

// how the child came to its end; a program that does not want to know of its children has -1
static int wait_for(pid_t process) {
  int status = -1;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return status;
}

static trial_outcome outcome_of(int status, bool ended) {
  if (ended) return TRIAL_ENDED;
  if (status == -1 || !WIFSIGNALED(status)) return TRIAL_CRASHED;
  const int by = WTERMSIG(status);
  if (by == SIGINT || by == SIGTERM) return TRIAL_INTERRUPT;
  return by == SIGXCPU || by == SIGKILL || by == SIGALRM ? TRIAL_TOO_LONG : TRIAL_CRASHED;
}

trial_outcome trial_run(trial_function *function, void *user, trial_limits limits,
                        carom_error *error) {
  trial_result *result =
      mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (result == MAP_FAILED) return TRIAL_IMPOSSIBLE;
  // no other thread is inside HDF5 when the copy is taken
  const h5_session session = h5_session_begin();
  const pid_t process = fork();
  const int code = errno;
  h5_session_end(session);
  if (process == 0) child(function, user, limits, result);
  trial_outcome outcome = TRIAL_IMPOSSIBLE;
  if (process > 0) {
    const int status = wait_for(process);
    outcome = outcome_of(status, result->ended);
    if (outcome == TRIAL_ENDED && error != NULL) *error = result->error;
  }
  munmap(result, sizeof *result);
  errno = code;
  return outcome;
}
