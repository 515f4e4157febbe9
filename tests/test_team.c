/* Whether other threads are woken for short work: the faster way, whichever that is and becomes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/team.h"

// how many of `pieces` were done together, each of which takes so long
static int pieces_together(team *t, int pieces, int size, double alone, double together) {
  int count = 0;
  for (int k = 0; k < pieces; k++) {
    const bool awake = team_begin(t, size);
    count += awake;
    team_took(t, awake ? together : alone);
  }
  return count;
}

static void test_the_faster_way_is_taken(void **state) {
  (void)state;
  team t = {0};
  assert_in_range(pieces_together(&t, 10000, 32, 1e-4, 0.6e-4), 9980, 9999);
  team busy = {0};
  assert_in_range(pieces_together(&busy, 10000, 32, 1e-4, 5e-3), 1, 20);
}

static void test_what_becomes_slower_is_left(void **state) {
  (void)state;
  team t = {0};
  pieces_together(&t, 1000, 32, 1e-4, 0.6e-4);
  // another program takes the processors, and leaves them again
  assert_in_range(pieces_together(&t, 10000, 32, 1e-4, 5e-3), 1, 30);
  assert_in_range(pieces_together(&t, 20000, 32, 1e-4, 0.6e-4), 10000, 20000);
}

// one piece that was interrupted is no reason to change
static void test_one_long_piece(void **state) {
  (void)state;
  team t = {0};
  pieces_together(&t, 100, 32, 1e-4, 0.5e-4);
  while (!team_begin(&t, 32)) team_took(&t, 1e-4);
  team_took(&t, 1);
  assert_in_range(pieces_together(&t, 100, 32, 1e-4, 0.5e-4), 95, 100);
}

// little work is not worth what more is
static void test_sizes_are_told_apart(void **state) {
  (void)state;
  team t = {0};
  int small = 0, large = 0;
  for (int k = 0; k < 1000; k++) {
    small += pieces_together(&t, 1, 2, 1e-6, 1e-5);
    large += pieces_together(&t, 1, 200, 1e-4, 0.6e-4);
  }
  assert_in_range(small, 1, 20);
  assert_in_range(large, 980, 999);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_faster_way_is_taken),
                                     cmocka_unit_test(test_what_becomes_slower_is_left),
                                     cmocka_unit_test(test_one_long_piece),
                                     cmocka_unit_test(test_sizes_are_told_apart)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
