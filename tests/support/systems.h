/* Systems for tests: loaded or parsed, or the test fails with the message. */
#ifndef CAROM_TESTS_SYSTEMS_H
#define CAROM_TESTS_SYSTEMS_H

#include "carom.h"

carom_system *load_system(const char *name_or_path);
carom_system *parse_system(const char *text);

/* Fails unless |value - expected| <= tolerance. */
void assert_near(double value, double expected, double tolerance);

#endif
