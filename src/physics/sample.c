#include "base/error.h"
#include "base/rng.h"
#include "physics/collision.h"
#include "system/sampler.h"

enum { MOST_TRIES = 100000 /* of one sample before the scene is called too crowded */ };

/* One state without an active contact. */
static carom_status sample_one(const carom_system *s, uint64_t seed, int index, double *x,
                               double *v, contact_list *active, carom_error *error) {
  rng random;
  rng_seed(&random, seed, (uint64_t)index);
  int tries = s->initial.kind == SAMPLER_STATE ? 1 : MOST_TRIES;
  for (int i = 0; i < tries; i++) {
    sampler_draw(s, &random, x, v);
    if (s->initial.kind == SAMPLER_STATE) return CAROM_OK;
    if (!collision_detect(s, x, active))
      return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for the contacts of a sample");
    if (active->count == 0) return CAROM_OK;
  }
  return error_set(error, CAROM_INVALID_SCENE,
                   "%s: none of %d sampled states is free of contacts; make the bodies smaller or "
                   "the sampler's range larger",
                   s->name, MOST_TRIES);
}

carom_status carom_system_sample(const carom_system *system, uint64_t seed, int count, double *x0,
                                 double *v0, carom_error *error) {
  REQUIRE(system, error);
  REQUIRE(x0, error);
  REQUIRE(v0, error);
  if (count < 0)
    return error_set(error, CAROM_INVALID_ARGUMENT,
                     "carom_system_sample: count is %d, must be at least 0", count);
  size_t size = (size_t)system->coordinate_count;
  contact_list active;
  contact_list_init(&active);
  carom_status status = CAROM_OK;
  for (int k = 0; k < count && status == CAROM_OK; k++)
    status =
        sample_one(system, seed, k, x0 + (size_t)k * size, v0 + (size_t)k * size, &active, error);
  contact_list_free(&active);
  return status == CAROM_OK ? error_clear(error) : status;
}
