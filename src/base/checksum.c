#include "base/checksum.h"

static const uint64_t PRIME1 = 0x9E3779B185EBCA87u, PRIME2 = 0xC2B2AE3D27D4EB4Fu,
                      PRIME3 = 0x165667B19E3779F9u, PRIME4 = 0x85EBCA77C2B2AE63u,
                      PRIME5 = 0x27D4EB2F165667C5u;

enum { LANES = 4, STRIPE = 8 * LANES };

static uint64_t rotate(uint64_t value, int bits) { return value << bits | value >> (64 - bits); }

// little-endian on every machine; compilers make one load of it
static uint64_t load32(const uint8_t *p) {
  return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
}

static uint64_t load64(const uint8_t *p) { return load32(p) | load32(p + 4) << 32; }

static uint64_t mix(uint64_t lane, uint64_t input) {
  return rotate(lane + input * PRIME2, 31) * PRIME1;
}

// four lanes side by side over whole stripes, then one number of them
static uint64_t hash_stripes(const uint8_t *p, size_t stripe_count) {
  uint64_t lane[LANES] = {PRIME1 + PRIME2, PRIME2, 0, 0 - PRIME1};
  for (size_t k = 0; k < stripe_count; k++, p += STRIPE) {
    for (int i = 0; i < LANES; i++) lane[i] = mix(lane[i], load64(p + 8 * i));
  }
  uint64_t hash =
      rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
  for (int i = 0; i < LANES; i++) hash = (hash ^ mix(0, lane[i])) * PRIME1 + PRIME4;
  return hash;
}

// what is left behind the stripes: eight bytes, four, then one at a time
static uint64_t hash_rest(uint64_t hash, const uint8_t *p, size_t size) {
  for (; size >= 8; p += 8, size -= 8) {
    hash = rotate(hash ^ mix(0, load64(p)), 27) * PRIME1 + PRIME4;
  }
  if (size >= 4) {
    hash = rotate(hash ^ load32(p) * PRIME1, 23) * PRIME2 + PRIME3;
    p += 4;
    size -= 4;
  }
  for (; size > 0; p++, size--) hash = rotate(hash ^ *p * PRIME5, 11) * PRIME1;
  return hash;
}

uint64_t checksum64(const void *bytes, size_t size) {
  const uint8_t *p = bytes;
  const size_t stripe_count = size / STRIPE;
  uint64_t hash = stripe_count > 0 ? hash_stripes(p, stripe_count) : PRIME5;
  hash = hash_rest(hash + size, p + stripe_count * STRIPE, size % STRIPE);
  // every bit of the input reaches every bit of the result
  hash = (hash ^ hash >> 33) * PRIME2;
  hash = (hash ^ hash >> 29) * PRIME3;
  return hash ^ hash >> 32;
}
