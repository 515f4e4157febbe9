/* Tests that try many random cases try fewer where CAROM_TEST_QUICK is set: under the sanitizers and valgrind. */
#ifndef CAROM_TESTS_QUICK_H
#define CAROM_TESTS_QUICK_H

#include <stdbool.h>
#include <stdlib.h>

static inline bool quick(void) { return getenv("CAROM_TEST_QUICK") != NULL; }

/* `count`, or a twentieth of it, but at least 2. */
static inline int repeats(int count) {
  if (!quick()) return count;
  return count / 20 > 2 ? count / 20 : 2;
}

#endif
