#include "cli/findings.h"

#include <stdio.h>

static const char *const subjects[] = {[CAROM_FINDING_TRAJECTORIES] = "trajectories",
                                       [CAROM_FINDING_PROJECTION] = "constraints",
                                       [CAROM_FINDING_VELOCITY] = "velocity",
                                       [CAROM_FINDING_CONTACTS] = "contacts",
                                       [CAROM_FINDING_UNITS] = "units"};

void findings_warn(const char *command, const carom_dataset *data) {
  for (int k = 0; k < data->finding_count; k++)
    if (data->findings[k].warning)
      fprintf(stderr, "carom %s: WARNING: %s\n", command, data->findings[k].text);
}

void findings_print(const carom_dataset *data) {
  for (int k = 0; k < data->finding_count; k++)
    if (!data->findings[k].warning)
      printf("%-14s %s\n", subjects[data->findings[k].kind], data->findings[k].text);
}

json_t *findings_json(const carom_dataset *data) {
  json_t *all = json_array();
  for (int k = 0; k < data->finding_count; k++) {
    const carom_finding *f = &data->findings[k];
    json_array_append_new(all, json_pack("{ss sb ss}", "about", subjects[f->kind], "warning",
                                         f->warning, "text", f->text));
  }
  return all;
}
