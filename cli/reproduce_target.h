/* What `carom reproduce` can make: runs, and tables over what they gave. A target is
 *  - a file target_NAME.c, which makes the rows of its tables (reproduce_rows.h) and names the tasks,
 *  - a template cli/data/NAME.md, which shows them (template.h),
 *  - a line in the list. */
#ifndef CAROM_CLI_REPRODUCE_TARGET_H
#define CAROM_CLI_REPRODUCE_TARGET_H

#include "cli/reproduce_results.h"

typedef struct reproduce_target {
  const char *name;         /* on the command line, and of its files: NAME.md, NAME.json */
  const char *const *tasks; /* scenes to learn unless others are given; ends with NULL */
  /* adds the rows of its tables to the document, behind "carom_version" and "command" */
  void (*add_rows)(const result_list *list, json_t *document);
} reproduce_target;

extern const reproduce_target learning_target;

/* All of them; ends with NULL. */
extern const reproduce_target *const reproduce_targets[];

/* All tables as one JSON object, for the caller to release; NULL if there is no memory. */
json_t *target_document(const reproduce_target *target, const result_list *list,
                        const char *command);

/* The same to read, in Markdown; the caller frees it. */
char *target_text(const reproduce_target *target, const json_t *document);

#endif
