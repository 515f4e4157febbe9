#include "support/messages.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void assert_message(const carom_error *error, carom_status status, const char *piece) {
  assert_int_equal(error->status, status);
  if (strstr(error->message, piece) == NULL)
    fail_msg("no '%s' in the message '%s'", piece, error->message);
}
