#include "support/data_fixture.h"

#include <stdlib.h>

int data_fixture_make(carom_system *system, carom_dataset_options options, void **state) {
  data_fixture *f = calloc(1, sizeof *f);
  if (f == NULL) return -1;
  f->system = system;
  *state = f;
  return carom_dataset_generate(system, NULL, &options, &f->data, NULL) == CAROM_OK ? 0 : -1;
}

int data_fixture_free(void **state) {
  data_fixture *f = *state;
  carom_dataset_destroy(f->data);
  carom_system_destroy(f->system);
  free(f);
  return 0;
}
