#include "cli/reproduce_target.h"

#include "cli/embedded.h"
#include "cli/template.h"

#include <stdio.h>

const reproduce_target *const reproduce_targets[] = {&learning_target, NULL};

json_t *target_document(const reproduce_target *target, const result_list *list,
                        const char *command) {
  json_t *document = json_pack("{ss ss}", "carom_version", carom_version(), "command", command);
  if (document != NULL) target->add_rows(list, document);
  return document;
}

char *target_text(const reproduce_target *target, const json_t *document) {
  char name[64];
  snprintf(name, sizeof name, "%s.md", target->name);
  return template_fill(embedded_text(name), document);
}
