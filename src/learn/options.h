/* The tables of the options of learning (dataset_options.c, model_options.c, trainer_options.c,
 * evaluation_options.c). */
#ifndef CAROM_LEARN_OPTIONS_H
#define CAROM_LEARN_OPTIONS_H

#include "base/option_table.h"

extern const option_table dataset_option_table, model_option_table, trainer_option_table,
    evaluation_option_table;

#endif
