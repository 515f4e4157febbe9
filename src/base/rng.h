/* Random numbers: xoshiro256++ seeded through splitmix64. A stream is named by (seed, stream), so
 * that sample k of a data set does not depend on how many others are drawn. */
#ifndef CAROM_BASE_RNG_H
#define CAROM_BASE_RNG_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rng {
  uint64_t state[4];
  double spare; /* second normal deviate of a pair */
  bool has_spare;
} rng;

void rng_seed(rng *r, uint64_t seed, uint64_t stream);
uint64_t rng_next(rng *r);
double rng_uniform(rng *r, double low, double high); /* in [low, high) */
double rng_normal(rng *r);                           /* mean 0, deviation 1 */
int rng_below(rng *r, int bound);                    /* uniform in 0 .. bound - 1 */

#endif
