#include "base/rng.h"

#include <math.h>

static uint64_t splitmix64(uint64_t *state) {
  uint64_t z = (*state += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

void rng_seed(rng *r, uint64_t seed, uint64_t stream) {
  uint64_t mixer = seed;
  mixer = splitmix64(&mixer) ^ (stream * 0xD1342543DE82EF95u + 0x2545F4914F6CDD1Du);
  for (int i = 0; i < 4; i++) r->state[i] = splitmix64(&mixer);
  r->has_spare = false;
  r->spare = 0;
}

/* xoshiro256++ */
uint64_t rng_next(rng *r) {
  uint64_t *s = r->state;
  uint64_t result = rotate_left(s[0] + s[3], 23) + s[0];
  uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = rotate_left(s[3], 45);
  return result;
}

/* the upper 53 bits as a fraction */
double rng_uniform(rng *r, double low, double high) {
  double unit = (double)(rng_next(r) >> 11) * 0x1.0p-53;
  return low + unit * (high - low);
}

double rng_normal(rng *r) {
  if (r->has_spare) {
    r->has_spare = false;
    return r->spare;
  }
  // polar method of Marsaglia
  double a, b, s;
  do {
    a = rng_uniform(r, -1, 1);
    b = rng_uniform(r, -1, 1);
    s = a * a + b * b;
  } while (s >= 1 || s == 0);
  // (a, b) sqrt(-2 ln s / s), s = a^2 + b^2 < 1, are two normal deviates
  double scale = sqrt(-2 * log(s) / s);
  r->spare = b * scale;
  r->has_spare = true;
  return a * scale;
}

int rng_below(rng *r, int bound) { return (int)(((rng_next(r) >> 32) * (uint64_t)bound) >> 32); }
