#include "cli/animation.h"
#include "cli/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ffmpeg reads frames from a pipe. */
typedef struct encoder {
  pid_t process;
  int input;
} encoder;

// in the child: standard input is the pipe, what ffmpeg says goes to standard error
static void run_ffmpeg(const animation *a, int input, const char *target) {
  char size[64], rate[64];
  snprintf(size, sizeof size, "%dx%d", a->width, a->height);
  snprintf(rate, sizeof rate, "%.6g", a->rate);
  dup2(input, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  signal(SIGPIPE, SIG_DFL);
  execlp("ffmpeg", "ffmpeg", "-nostdin", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "bgr0",
         "-video_size", size, "-framerate", rate, "-i", "pipe:0", "-c:v", "libx264", "-pix_fmt",
         "yuv420p", "-crf", "20", "-movflags", "+faststart", "-f", "mp4", "-y", target,
         (char *)NULL);
  _exit(errno == ENOENT ? 127 : 126);
}

static carom_status encoder_start(encoder *e, const animation *a, const char *target,
                                  carom_error *error) {
  int ends[2];
  if (pipe(ends) != 0)
    return carom_error_set(error, CAROM_FILE_ERROR, "no pipe to ffmpeg: %s", strerror(errno));
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  e->process = fork();
  if (e->process == 0) run_ffmpeg(a, ends[0], target);
  close(ends[0]);
  e->input = ends[1];
  if (e->process > 0) return CAROM_OK;
  close(ends[1]);
  return carom_error_set(error, CAROM_FILE_ERROR, "ffmpeg cannot be started: %s", strerror(errno));
}

// false if ffmpeg has gone
static bool put_all(int descriptor, const void *bytes, size_t size) {
  const char *at = bytes;
  while (size > 0) {
    const ssize_t put = write(descriptor, at, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    size -= (size_t)put;
  }
  return true;
}

static carom_status encoder_finish(encoder *e, const char *path, carom_error *error) {
  int code = 0;
  close(e->input);
  while (waitpid(e->process, &code, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(code) && WEXITSTATUS(code) == 0) return CAROM_OK;
  if (WIFEXITED(code) && WEXITSTATUS(code) == 127)
    return carom_error_set(
        error, CAROM_FILE_ERROR,
        "%s: MP4 needs the program ffmpeg, which is not here; install it (Debian: apt-get "
        "install ffmpeg), or write a .gif",
        path);
  return carom_error_set(error, CAROM_FILE_ERROR, "%s: ffmpeg failed; what it said stands above",
                         path);
}

carom_status animation_write_mp4(const animation *a, const char *path, carom_error *error) {
  char target[PATH_MAX];
  const size_t size = (size_t)a->width * (size_t)a->height * sizeof(uint32_t);
  snprintf(target, sizeof target, "%.*s.%ld.part", PATH_MAX - 32, path, (long)getpid());
  uint32_t *pixels = allocate(size, 1);
  if (pixels == NULL) return carom_error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  // an encoder that ends early is told by its exit code
  void (*before)(int) = signal(SIGPIPE, SIG_IGN);
  encoder e = {.input = -1};
  carom_status status = encoder_start(&e, a, target, error);
  if (status == CAROM_OK) {
    bool going = true, drawn = true;
    for (int k = 0; going && drawn && k < a->frames; k++) {
      drawn = a->draw(a->user, k, pixels);
      going = drawn && put_all(e.input, pixels, size);
    }
    status = encoder_finish(&e, path, error);
    if (status == CAROM_OK && !drawn)
      status = carom_error_set(error, CAROM_INTERRUPTED, "interrupted");
  }
  if (status == CAROM_OK && rename(target, path) != 0)
    status = carom_error_set(error, CAROM_FILE_ERROR, "%s: cannot be written: %s", path,
                             strerror(errno));
  if (status != CAROM_OK) unlink(target);
  signal(SIGPIPE, before);
  free(pixels);
  return status;
}
