/* A 64-bit checksum of bytes: XXH64 with seed 0 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md). It
 * finds damage, not forgery. */
#ifndef CAROM_BASE_CHECKSUM_H
#define CAROM_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t checksum64(const void *bytes, size_t size);

#endif
