/* Every table of options there is, by the public name of its struct. */
#ifndef CAROM_IO_OPTION_NAMES_H
#define CAROM_IO_OPTION_NAMES_H

#include "base/option_table.h"

/* NULL: `of` is none of its values. */
const option_table *option_table_of(carom_options of);

#endif
