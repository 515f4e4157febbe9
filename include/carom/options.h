/* Options by their names, as tables: for command lines, configuration files, other languages. */
#ifndef CAROM_PUBLIC_OPTIONS_H
#define CAROM_PUBLIC_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "evaluation.h"
#include "fit.h"
#include "plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The structs of options above as tables: for command lines, configuration files and other languages.
 * Where a function takes `options`, it is a pointer to the struct that `of` names. */
typedef enum carom_options {
  CAROM_CONE_OPTIONS,
  CAROM_ROLLOUT_OPTIONS,
  CAROM_DATASET_OPTIONS,
  CAROM_MODEL_OPTIONS,
  CAROM_TRAINER_OPTIONS,
  CAROM_EVALUATION_OPTIONS, /* but for `train`, which is no value */
  CAROM_PLAN_OPTIONS,
  CAROM_FIT_OPTIONS,
  CAROM_OPTIONS_COUNT
} carom_options;

/* Room for any of them. */
typedef union carom_any_options {
  carom_cone_options cone;
  carom_rollout_options rollout;
  carom_dataset_options dataset;
  carom_model_options model;
  carom_trainer_options trainer;
  carom_evaluation_options evaluation;
  carom_plan_options plan;
  carom_fit_options fit;
} carom_any_options;

/* What an option is; beside it the type of its field. */
typedef enum carom_option_kind {
  CAROM_OPTION_INTEGER, /* int */
  CAROM_OPTION_COUNT,   /* int64_t */
  CAROM_OPTION_SEED,    /* uint64_t */
  CAROM_OPTION_NUMBER,  /* double */
  CAROM_OPTION_SWITCH,  /* bool: "true", "false" */
  CAROM_OPTION_CHOICE   /* an enum, by the names of its values */
} carom_option_kind;

typedef struct carom_option_info {
  const char
      *name; /* of the field: "learning_rate", "cone.tolerance"; NULL: there is no such option */
  carom_option_kind kind;
  double low, high; /* of integers and numbers; an end that is open does not belong to the range */
  bool low_open, high_open;
  const char *const *names; /* of a choice, in the order of its values; ends with NULL */
  bool from_scene;          /* the default is the scene's, `value` is empty */
  char value[32];           /* the default as text */
  char range[160];          /* in words: "a positive number", "one of cm, cmr" */
  const char *flag;     /* on the command line, without dashes: "lr"; NULL: it has none. The flag of
                               a switch takes no argument and sets it to what it is not by default */
  const char *argument; /* the word for its value in a help: "X" */
  const char *heading;  /* of its group in a help: "Training" */
  const char *help;
} carom_option_info;

CAROM_API int carom_option_count(carom_options of);
CAROM_API carom_option_info carom_option_describe(carom_options of, int index);

/* Sets one option from text; `name` is that of the field or its flag with dashes ("--lr"). What cannot
 * be is refused and leaves the struct as it is: "--lr 0: expected a positive number". */
CAROM_API carom_status carom_option_set(carom_options of, void *options, const char *name,
                                        const char *text, carom_error *error);

/* Writes one option as text from which carom_option_set makes the same bits. */
CAROM_API carom_status carom_option_get(carom_options of, const void *options, const char *name,
                                        char *text, size_t size, carom_error *error);

/* Whether all options are in their ranges, as the functions that take them check it. */
CAROM_API carom_status carom_options_check(carom_options of, const void *options,
                                           carom_error *error);

/* Sets the options that the paper's protocol has otherwise than the defaults, and leaves the rest. */
CAROM_API void carom_options_set_paper(carom_options of, void *options);

#ifdef __cplusplus
}
#endif
#endif
