/* Measured states in which bodies are inside of each other or of planes: a plane in the wrong
 * place, a wrong radius. */
#ifndef CAROM_FIT_OVERLAP_H
#define CAROM_FIT_OVERLAP_H

#include "fit/judge.h"

/* Adds a warning where more states than noise explains are so, with the contact that is worst. */
carom_status overlap_note(shooting *sh, int states, verdict *v, carom_error *error);

#endif
