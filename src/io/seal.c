#include "io/seal.h"

#include "base/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char MARK[] = "carom checksum";

void seal_make(const void *bytes, size_t size, char block[SEAL_SIZE]) {
  char line[96];
  const int written = snprintf(line, sizeof line, "%s 1 XXH64 %016" PRIx64 " of %zu bytes\n", MARK,
                               checksum64(bytes, size), size);
  const size_t length = (size_t)written;
  memset(block, '\n', SEAL_SIZE);
  for (size_t at = 0; at + length <= SEAL_SIZE; at += length) memcpy(block + at, line, length);
}

bool seal_is_there(const void *begin, size_t size) {
  const char *at = begin;
  const size_t length = sizeof MARK - 1;
  if (size > SEAL_SIZE) size = SEAL_SIZE;
  for (size_t k = 0; k + length <= size; k++) {
    if (memcmp(at + k, MARK, length) == 0) return true;
  }
  return false;
}

bool seal_is_good(const void *file, size_t size) {
  if (size < SEAL_SIZE) return false;
  char expected[SEAL_SIZE];
  seal_make((const char *)file + SEAL_SIZE, size - SEAL_SIZE, expected);
  return memcmp(file, expected, SEAL_SIZE) == 0;
}
