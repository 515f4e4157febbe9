/* One training in its run folder: begun or taken up, trained, saved epoch by epoch. `carom train`
 * makes one, `carom reproduce` many. Nothing is printed here but progress, that data do not say their
 * time step, and that a metrics.csv of another version was put aside. */
#ifndef CAROM_CLI_TRAIN_RUN_H
#define CAROM_CLI_TRAIN_RUN_H

#include "cli/metrics_file.h"
#include "cli/progress.h"
#include "cli/train_options.h"

typedef struct train_run {
  const train_arguments *given;
  bool made_folder;
  bool made_data;    /* data.h5 was made by this command and belongs to no run yet */
  int lock;          /* descriptor of the folder, locked; -1 */
  bool not_restored; /* last.h5 could not be used */
  bool no_data;      /* nor could the data of a run that is taken up */
  bool usage;        /* the failure is one of usage */
  bool busy;         /* the failure: another process trains in this folder */
  carom_run_config config;
  carom_system *system;
  carom_dataset *data;
  carom_model *model;
  carom_trainer *trainer;
  carom_properties properties;
  double *theta;         /* of the model after the last epoch */
  metrics_file *metrics; /* NULL until the training has begun */
  progress bar;
  carom_report report; /* of all epochs of this process */
  carom_epoch last;
  carom_error failure; /* in the callback */
} train_run;

/* Makes the folder, the data and the model, or loads them where given->resume is set, and trains
 * the epochs that are left. The folder stays locked until train_run_close, which is due after a
 * failure too. `given` must outlive the run. CAROM_INTERRUPTED after Ctrl-C: the state is saved. */
carom_status train_run_do(train_run *r, const train_arguments *given, carom_error *error);
void train_run_close(train_run *r);

#endif
