/* Files of a test: a folder of its own, bytes there and back, a disk that is full. */
#ifndef CAROM_TESTS_FILES_H
#define CAROM_TESTS_FILES_H

#include <stddef.h>
#include <sys/resource.h>

/* A folder of the test's own, in which it works until folder_leave removes it with its files. Both
 * return 0, or -1 where that was not possible: leaving fails where a folder was left inside. */
typedef struct test_folder {
  char path[64];
} test_folder;

int folder_enter(test_folder *folder, const char *name);
int folder_leave(const test_folder *folder);

/* Removes the files in the working folder. */
void folder_empty(void);

/* No temporary file is in the working folder. */
void assert_no_leftover(void);

void write_bytes(const char *path, const void *bytes, size_t size);

/* The content of a file, for the caller to free, with a zero behind it. */
char *read_bytes(const char *path, size_t *size);
void assert_same_files(const char *a, const char *b);

/* Takes the checksum of a file of carom away (io/seal.h), as if another program had written it. */
void unseal(const char *path);

/* Files cannot grow beyond `bytes` until files_unlimit gets what files_limit returned: writing more
 * fails as on a full disk. */
struct rlimit files_limit(size_t bytes);
void files_unlimit(const struct rlimit *before);

#endif
