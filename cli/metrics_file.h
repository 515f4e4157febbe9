/* What a training reports, epoch by epoch: metrics.csv (RFC 4180) and TensorBoard event files in
 * the run folder.
 *
 *   epoch, loss, validation_loss, best, learning_rate, gradient_norm,
 *   moves, search_loss_before, search_loss_after (empty without moves), seconds,
 *   one column for each learned property (carom_property): friction, mass_ratio/b, ...,
 *   time_steps, events, contacts, programs, degenerate_programs, failed_programs, worst_residual
 *
 * One line for each epoch, flushed when it is there. Numbers read back as they were; one that is not
 * finite (the validation loss without validation chunks) is an empty field. In TensorBoard the same
 * are loss/train, loss/validation, rate, gradient_norm, failed_programs, moves and the properties. */
#ifndef CAROM_CLI_METRICS_FILE_H
#define CAROM_CLI_METRICS_FILE_H

#include "carom.h"

typedef struct metrics_file metrics_file;

/* Begins the metrics of a run in `folder`, or goes on with them: lines of epochs after
 * `epochs_done`, and a line that was cut short, are dropped. Columns of a file of another version are
 * taken by their names, empty where it has none, and that file is kept beside it, where metrics_aside
 * says ("" if there was none). The properties must outlive it. */
carom_status metrics_open(const char *folder, const carom_properties *properties, int epochs_done,
                          metrics_file **metrics, carom_error *error);

const char *metrics_aside(const metrics_file *metrics);

/* Adds an epoch; theta is what carom_model_theta gives. */
carom_status metrics_add(metrics_file *metrics, const carom_epoch *epoch, const double *theta,
                         carom_error *error);
void metrics_close(metrics_file *metrics);

#endif
