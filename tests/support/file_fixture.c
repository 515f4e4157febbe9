#include "support/file_fixture.h"

#include <stdlib.h>

#include "support/systems.h"

int file_fixture_make(const char *name, const char *other, void **state) {
  file_fixture *f = calloc(1, sizeof *f);
  if (f == NULL) return -1;
  f->cp3 = load_system("cp3");
  if (other != NULL) f->other = load_system(other);
  *state = f;
  return folder_enter(&f->folder, name);
}

int file_fixture_free(void **state) {
  file_fixture *f = *state;
  const int removed = folder_leave(&f->folder);
  carom_system_destroy(f->cp3);
  carom_system_destroy(f->other);
  free(f);
  return removed;
}
