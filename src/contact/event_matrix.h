/* The matrix A = J M^ J' of an event (appendix C.2), island by island, with what it needs: factors of
 * the constraints of touched assemblies. CMr adds epsilon I.
 *
 * A row of J that is a combination of rows of J_E, as the tangential row of a bend between rigid
 * links is, has M^ J_i' = 0: it is `held`. Then row and column of A and entry of b are zero, and
 * are set so, since rounding leaves an A that is not semidefinite and a b outside its range. */
#ifndef CAROM_CONTACT_EVENT_MATRIX_H
#define CAROM_CONTACT_EVENT_MATRIX_H

#include "contact/event_operators.h"

/* Fills arm, factor and geometric, then shape, A, held and mobility, of an event that has the rest. */
void event_matrix_make(contact_event *e, arena *memory);

#endif
