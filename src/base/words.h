/* Words that are spelt almost alike: for "did you mean". */
#ifndef CAROM_BASE_WORDS_H
#define CAROM_BASE_WORDS_H

#include <stdbool.h>

/* Whether `text` may be a misspelt `candidate`; `distance` gets how many letters are in the way. */
bool words_resemble(const char *text, const char *candidate, int *distance);

#endif
