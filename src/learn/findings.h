/* What was found out about given data, in the order in which it was found. */
#ifndef CAROM_LEARN_FINDINGS_H
#define CAROM_LEARN_FINDINGS_H

#include "carom.h"

/* Adds one to the data set. */
carom_status finding_add(carom_dataset *dataset, carom_finding_kind kind, bool warning,
                         carom_error *error, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
