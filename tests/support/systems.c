#include "support/systems.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

carom_system *load_system(const char *name_or_path) {
  carom_system *system = NULL;
  carom_error error;
  if (carom_system_load(name_or_path, &system, &error) != CAROM_OK) fail_msg("%s", error.message);
  return system;
}

carom_system *parse_system(const char *text) {
  carom_system *system = NULL;
  carom_error error;
  if (carom_system_parse(text, strlen(text), "test.json", &system, &error) != CAROM_OK)
    fail_msg("%s", error.message);
  return system;
}

void assert_near(double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance))
    fail_msg("%.17g instead of %.17g (off by %g)", value, expected, value - expected);
}
