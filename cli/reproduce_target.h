/* What `carom reproduce` can make: runs, and tables over what they gave. A target is
 *  - a description: the tasks and models that it trains, or experiments with options of their own, and a
 *    function that makes the rows of its tables (reproduce_rows.h),
 *  - a template cli/data/NAME.md, which shows them (template.h),
 *  - a line in the list. */
#ifndef CAROM_CLI_REPRODUCE_TARGET_H
#define CAROM_CLI_REPRODUCE_TARGET_H

#include "cli/reproduce_results.h"
#include "cli/train_options.h"

/* An option of `carom train`, by the name of its field. */
typedef struct experiment_option {
  carom_options of; /* CAROM_DATASET_OPTIONS, _MODEL_ or _TRAINER_ */
  const char *name; /* NULL: none */
  const char *value;
} experiment_option;

enum { EXPERIMENT_OPTIONS = 2 };

/* A scene with its options: runs in <task>/<model>/seed<k>, or <task>+<variant>/<model>/seed<k>. */
typedef struct experiment {
  const char *task;
  const char *variant;       /* NULL: none */
  const char *const *models; /* NULL: those of the target */
  experiment_option options[EXPERIMENT_OPTIONS];
  bool not_quick; /* --quick leaves it out */
  bool lcp;       /* data are simulated with contacts as a linear complementarity problem */
} experiment;

typedef struct reproduce_target {
  const char *name;    /* on the command line, and of its files: NAME.md, NAME.json, NAME.h5 */
  const char *summary; /* in the help */
  const char *const *models;     /* ends with NULL */
  const char *const *tasks;      /* scenes to learn unless others are given; ends with NULL */
  const experiment *experiments; /* in their place; ends with an empty one. NULL: none */
  /* adds the rows of its tables to the document, behind "carom_version" and "command" */
  void (*add_rows)(const result_list *list, json_t *document);
  /* datasets of each run's evaluation.h5 that its figures need beside errors; ends with NULL, or NULL */
  const char *const *figures;
  /* what is done with evaluated runs before tables are written, plans for example; adds to the document. NULL:
   * nothing. What is there already is not done again */
  carom_status (*follow)(const char *folder, const result_list *list,
                         const general_options *general, json_t *document, carom_error *error);
} reproduce_target;

extern const reproduce_target table2_target, baselines_target, long_target, energy_target,
    samples_target, scalability_target, noise_target, regularizer_target, rope_target, lcp_target,
    planning_target;

/* All of them; ends with NULL. */
extern const reproduce_target *const reproduce_targets[];

/* The folder of an experiment's task. */
enum { TASK_NAME = 128 };
void experiment_folder(const experiment *e, char folder[TASK_NAME]);

/* The options of an experiment over those given; --quick's where none were given. */
void experiment_apply(const experiment *e, bool quick, train_arguments *given);

/* What --quick shortens, for the tables. */
const char *quick_words(void);

/* Leaves of the results those that belong to a target: of its experiments, or of any task without a
 * variant. */
void target_select(const reproduce_target *target, result_list *list);

/* All tables as one JSON object, for the caller to release; NULL if there is no memory. */
json_t *target_document(const reproduce_target *target, const result_list *list,
                        const char *command, bool quick);

/* The same to read, in Markdown; the caller frees it. */
char *target_text(const reproduce_target *target, const json_t *document);

/* Data of its figures to FOLDER/NAME.h5: numbers of the rows of "errors" in TASK|MODEL, the target's own
 * datasets of each run in TASK|MODEL|seed<k>. */
carom_status target_write_figures(const reproduce_target *target, const result_list *list,
                                  const json_t *document, const char *folder, carom_error *error);

#endif
