/* What the parts of a warm start share: the residual of a state, and asking whether to go on. */
#ifndef CAROM_LEARN_WARM_WORK_H
#define CAROM_LEARN_WARM_WORK_H

#include "learn/model.h"

typedef struct warm_work {
  carom_progress progress; /* of the trainer; NULL: none */
  void *user;
  int64_t batches; /* of the whole training */
} warm_work;

/* CAROM_INTERRUPTED if the caller wants to stop, on all ranks alike. */
carom_status warm_work_go_on(const warm_work *work, carom_error *error);

/* seen [D] = a difference of states as the loss sees it (learn/units.h), tips at the length of their body,
 * by `unit`; and the transpose: difference_bar [D] = that of `seen_bar`. */
void state_seen(const carom_model *model, const double *difference, double unit, double *seen);
void state_seen_vjp(const carom_model *model, const double *seen_bar, double unit,
                    double *difference_bar);

#endif
