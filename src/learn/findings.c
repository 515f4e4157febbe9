#include "learn/findings.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

carom_status finding_add(carom_dataset *dataset, carom_finding_kind kind, bool warning,
                         carom_error *error, const char *format, ...) {
  carom_finding *grown =
      realloc(dataset->findings, sizeof *grown * (size_t)(dataset->finding_count + 1));
  if (grown == NULL) return error_set(error, CAROM_OUT_OF_MEMORY, "no memory for a finding");
  dataset->findings = grown;
  carom_finding *f = &grown[dataset->finding_count++];
  *f = (carom_finding){.kind = kind, .warning = warning};
  va_list values;
  va_start(values, format);
  vsnprintf(f->text, sizeof f->text, format, values);
  va_end(values);
  return CAROM_OK;
}
