#include "support/files.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/seal.h"

int folder_enter(test_folder *folder, const char *name) {
  snprintf(folder->path, sizeof folder->path, "/tmp/carom-%s-XXXXXX", name);
  return mkdtemp(folder->path) != NULL ? chdir(folder->path) : -1;
}

int folder_leave(const test_folder *folder) {
  if (chdir(folder->path) != 0) return -1;
  folder_empty();
  return chdir("/") == 0 ? rmdir(folder->path) : -1;
}

void folder_empty(void) {
  DIR *folder = opendir(".");
  assert_non_null(folder);
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] != '.') unlink(entry->d_name);
  }
  closedir(folder);
}

void assert_no_leftover(void) {
  DIR *folder = opendir(".");
  assert_non_null(folder);
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    assert_null(strstr(entry->d_name, ".tmp-"));
  }
  closedir(folder);
}

void write_bytes(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

char *read_bytes(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  *size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*size + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  bytes[*size] = '\0';
  fclose(file);
  return bytes;
}

void assert_same_files(const char *a, const char *b) {
  size_t a_size, b_size;
  char *a_bytes = read_bytes(a, &a_size), *b_bytes = read_bytes(b, &b_size);
  assert_int_equal(a_size, b_size);
  assert_memory_equal(a_bytes, b_bytes, a_size);
  free(a_bytes);
  free(b_bytes);
}

void unseal(const char *path) {
  size_t size;
  char *bytes = read_bytes(path, &size);
  assert_true(seal_is_there(bytes, size));
  memset(bytes, 0, SEAL_SIZE);
  write_bytes(path, bytes, size);
  free(bytes);
}

struct rlimit files_limit(size_t bytes) {
  // the signal would end the program
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit before;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = bytes;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  return before;
}

void files_unlimit(const struct rlimit *before) {
  assert_int_equal(setrlimit(RLIMIT_FSIZE, before), 0);
}
