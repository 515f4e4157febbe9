#include "carom.h"

const char *carom_version(void) { return CAROM_VERSION; }
int carom_version_number(void) { return CAROM_VERSION_NUMBER; }
