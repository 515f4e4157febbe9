/* Errors that a test asks for. */
#ifndef CAROM_TESTS_MESSAGES_H
#define CAROM_TESTS_MESSAGES_H

#include "carom.h"

/* Fails unless the error has this status and `piece` is in its message. */
void assert_message(const carom_error *error, carom_status status, const char *piece);

#endif
