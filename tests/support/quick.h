/* Tests that try many random cases try fewer where CAROM_TEST_QUICK is set: under valgrind. */
#ifndef CAROM_TESTS_QUICK_H
#define CAROM_TESTS_QUICK_H

#include <stdlib.h>

/* `count`, or a twentieth of it, but at least 2. */
static inline int repeats(int count) {
  if (getenv("CAROM_TEST_QUICK") == NULL) return count;
  return count / 20 > 2 ? count / 20 : 2;
}

#endif
