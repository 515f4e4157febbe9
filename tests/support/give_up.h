/* How programs that make figures end where they cannot go on. */
#ifndef CAROM_TESTS_GIVE_UP_H
#define CAROM_TESTS_GIVE_UP_H

#include <stdio.h>
#include <stdlib.h>

static inline _Noreturn void give_up(const char *program, const char *what) {
  fprintf(stderr, "%s: %s\n", program, what);
  exit(1);
}

#endif
