/* States beside impacts in an evaluation: compared with both sides of them (fit/branch.h). */
#ifndef CAROM_FIT_SIDES_H
#define CAROM_FIT_SIDES_H

#include "fit/evaluation.h"

/* Notes whether the step of a sample had an impact, and the state before it. Before the sample goes
 * on. */
void sides_note(evaluation *e, int sample);

/* Units of the state to be compared take that side of an impact in the last step which fits them
 * best, if it is better than what they have. */
carom_status sides_consider(evaluation *e, int sample, branch_side side, carom_error *error);

#endif
