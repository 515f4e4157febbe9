#include "cli/embedded.h"

#include <stddef.h>
#include <string.h>

const char *embedded_text(const char *name) {
  const embedded_file *file = embedded_files;
  while (file->name != NULL && strcmp(file->name, name) != 0) file++;
  return file->text;
}
