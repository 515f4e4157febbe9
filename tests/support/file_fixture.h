/* A folder of the test's own and systems, for tests of files. */
#ifndef CAROM_TESTS_FILE_FIXTURE_H
#define CAROM_TESTS_FILE_FIXTURE_H

#include "carom.h"
#include "support/files.h"

typedef struct file_fixture {
  test_folder folder;
  carom_system *cp3;   /* 3 point masses in 2D */
  carom_system *other; /* a second one, or NULL */
} file_fixture;

/* For a group's setup: enters a folder called after the test; `other` is a scene or NULL. */
int file_fixture_make(const char *name, const char *other, void **state);

/* For a group's teardown. */
int file_fixture_free(void **state);

#endif
