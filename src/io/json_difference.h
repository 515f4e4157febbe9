/* Where two JSON values differ: to say why a run folder or a checkpoint does not fit. */
#ifndef CAROM_IO_JSON_DIFFERENCE_H
#define CAROM_IO_JSON_DIFFERENCE_H

#include "carom.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Whether they differ. Integers and reals of the same value are the same. */
bool json_find_difference(const json_t *first, const json_t *second, carom_difference *found);

/* The same for two scenes as text; name and description do not count. */
bool scene_find_difference(const char *first, const char *second, carom_difference *found);

#endif
