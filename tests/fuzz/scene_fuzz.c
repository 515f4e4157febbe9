/* Any text is either refused with a message or becomes a system that can be described, sampled and
 * checked. Build with clang -fsanitize=fuzzer,address,undefined and run over tests/fuzz/corpus with
 * -dict=tests/fuzz/scene.dict. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "system/sampler.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// a failure of the library's promises, not of the input
static void require(bool promise) {
  if (!promise) abort();
}

static void use(carom_system *system) {
  char label[32];
  for (int i = 0; i < system->contact_count && i < 100; i++) {
    carom_system_contact_label(system, i, label, sizeof label);
    require(label[0] != '\0');
  }
  double *theta = malloc(sizeof(double) * (size_t)carom_parameters_count(system));
  require(theta != NULL);
  carom_parameters_default(system, theta);
  require(carom_parameters_check(system, theta, NULL) == CAROM_OK);
  free(theta);

  // a drawn state is finite and holds the constraints, unless numbers of very different size leave
  // no precision for that
  double *x = arena_doubles(&system->memory, system->coordinate_count);
  double *v = arena_doubles(&system->memory, system->coordinate_count);
  rng r;
  rng_seed(&r, 1, 2);
  sampler_draw(system, &r, x, v);
  double largest = 1;
  for (int i = 0; i < system->coordinate_count; i++) {
    require(x[i] - x[i] == 0 && v[i] - v[i] == 0);
    if (x[i] > largest || -x[i] > largest) largest = x[i] > 0 ? x[i] : -x[i];
    if (v[i] > largest || -v[i] > largest) largest = v[i] > 0 ? v[i] : -v[i];
  }
  double shortest = 1;
  for (int i = 0; i < system->constraint_count; i++) {
    const constraint *c = &system->constraints[i];
    if (c->kind == CONSTRAINT_DISTANCE && c->length < shortest) shortest = c->length;
  }
  carom_status status = carom_system_check_states(system, 1, x, v, 1e-5, NULL);
  require(status == CAROM_OK || largest > 1e6 * shortest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  carom_system *system = NULL;
  carom_error error;
  carom_status status = carom_system_parse((const char *)data, size, "fuzz.json", &system, &error);
  require((status == CAROM_OK) == (system != NULL));
  require(error.status == status);
  require(status == CAROM_OK || strlen(error.message) > 0);
  if (system != NULL) use(system);
  carom_system_destroy(system);
  return 0;
}
