#include "cli/paper_values.h"

#include "cli/embedded.h"

const char *const paper_tasks[] = {"bp5-e", "bp5",    "cp3-e", "cp3", "bd5",
                                   "rope",  "gyro-e", "gyro",  NULL};

const json_t *paper_entry(const char *table, const char *task, const char *model) {
  static json_t *paper;
  if (paper == NULL) paper = json_loads(embedded_text("paper.json"), JSON_REJECT_DUPLICATES, NULL);
  return json_object_get(json_object_get(json_object_get(paper, table), task), model);
}
