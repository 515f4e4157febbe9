#include "io/atomic_file.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMPORARY_NAMES = 100 };

static void forget(atomic_file *file) {
  free(file->target);
  free(file->temporary);
  *file = (atomic_file){.descriptor = -1};
}

static carom_status write_failed(const atomic_file *file, int code, carom_error *error) {
  return error_set(error, CAROM_FILE_ERROR, "%s: cannot be written: %s", file->target,
                   strerror(code));
}

// opens a new file beside the target, under a name that no other process uses
static int open_temporary(atomic_file *file, mode_t mode) {
  size_t size = strlen(file->target) + 48;
  file->temporary = malloc(size);
  if (file->temporary == NULL) return ENOMEM;
  for (int k = 0; k < TEMPORARY_NAMES; k++) {
    snprintf(file->temporary, size, "%s.tmp-%ld-%d", file->target, (long)getpid(), k);
    file->descriptor = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (file->descriptor >= 0) return 0;
    if (errno != EEXIST) break;
  }
  int code = errno;
  free(file->temporary);
  file->temporary = NULL;
  return code;
}

// opens what the target's kind asks for; 0 or an errno
static int open_for_target(atomic_file *file) {
  struct stat status;
  bool exists = stat(file->target, &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) return EISDIR;
  if (!exists || S_ISREG(status.st_mode)) {
    return open_temporary(file, exists ? status.st_mode & 0777 : 0666);
  }
  file->descriptor = open(file->target, O_WRONLY | O_CLOEXEC);
  return file->descriptor >= 0 ? 0 : errno;
}

carom_status atomic_file_open(const char *path, atomic_file *file, carom_error *error) {
  *file = (atomic_file){.descriptor = -1};
  if (path == NULL || path[0] == '\0') {
    return error_set(error, CAROM_INVALID_ARGUMENT, "the name of the output file is empty");
  }
  // a link stays a link: what it points to is replaced
  char *resolved = realpath(path, NULL);
  file->target = resolved != NULL ? resolved : strdup(path);
  if (file->target == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "out of memory");
  int code = open_for_target(file);
  if (code == 0) return CAROM_OK;
  error_set(error, CAROM_FILE_ERROR, "%s: cannot be written: %s%s", path, strerror(code),
            code == ENOENT || code == ENOTDIR ? " (does its folder exist?)" : "");
  forget(file);
  return CAROM_FILE_ERROR;
}

carom_status atomic_file_write(atomic_file *file, const void *bytes, size_t size,
                               carom_error *error) {
  const char *at = bytes;
  while (size > 0) {
    ssize_t written = write(file->descriptor, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return write_failed(file, errno, error);
    at += written;
    size -= (size_t)written;
  }
  return CAROM_OK;
}

// the rename itself is on the disk only when the folder is
static void sync_folder(const char *target) {
  char *folder = strdup(target);
  if (folder == NULL) return;
  char *slash = strrchr(folder, '/');
  if (slash != NULL) slash[slash == folder ? 1 : 0] = '\0';
  int descriptor = open(slash != NULL ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    fsync(descriptor);
    close(descriptor);
  }
  free(folder);
}

carom_status atomic_file_commit(atomic_file *file, carom_error *error) {
  bool direct = file->temporary == NULL;
  // a pipe or a device has nothing to force to the disk
  int code = !direct && fsync(file->descriptor) != 0 ? errno : 0;
  if (close(file->descriptor) != 0 && code == 0) code = errno;
  file->descriptor = -1;
  if (code == 0 && !direct && rename(file->temporary, file->target) != 0) code = errno;
  if (code != 0) {
    write_failed(file, code, error);
    atomic_file_discard(file);
    return CAROM_FILE_ERROR;
  }
  if (!direct) sync_folder(file->target);
  forget(file);
  return CAROM_OK;
}

void atomic_file_discard(atomic_file *file) {
  if (file->descriptor >= 0) close(file->descriptor);
  if (file->temporary != NULL) unlink(file->temporary);
  forget(file);
}

carom_status carom_file_write(const char *path, const void *bytes, size_t size,
                              carom_error *error) {
  REQUIRE(path, error);
  if (size > 0) REQUIRE(bytes, error);
  atomic_file file;
  carom_status status = atomic_file_open(path, &file, error);
  if (status != CAROM_OK) return status;
  status = atomic_file_write(&file, bytes, size, error);
  if (status == CAROM_OK) return atomic_file_commit(&file, error);
  atomic_file_discard(&file);
  return status;
}

carom_status carom_file_check(const char *path, carom_error *error) {
  REQUIRE(path, error);
  atomic_file file;
  carom_status status = atomic_file_open(path, &file, error);
  if (status == CAROM_OK) atomic_file_discard(&file);
  return status;
}
