/* Training of a model: epochs, moves of contact properties, stopping and going on. */
#ifndef CAROM_PUBLIC_TRAINER_H
#define CAROM_PUBLIC_TRAINER_H

#include <stdbool.h>
#include <stdint.h>

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum carom_schedule { CAROM_CONSTANT, CAROM_COSINE } carom_schedule;

/* When chunks with a contact weigh less than others in what they say of motion between contacts, by how much worse they are
 * predicted (docs/learning.md). */
typedef enum carom_balance {
  CAROM_BALANCE_MEASURED, /* of data that carom did not simulate */
  CAROM_BALANCE_ALWAYS,
  CAROM_BALANCE_NEVER
} carom_balance;

typedef struct carom_trainer_options {
  int epochs;           /* 300 */
  int batch;            /* 200 */
  double learning_rate; /* 4e-3 */
  double
      property_rate;   /* masses, moments, friction and restitution learn at this times the learning
                            rate: 10 */
  double beta1, beta2; /* 0.9, 0.999 */
  double epsilon;      /* 1e-8 */
  double weight_decay; /* 1e-4, decoupled (AdamW) */
  carom_schedule schedule; /* CAROM_COSINE: falls to final_rate * learning_rate at the last epoch */
  double final_rate;       /* 2e-4 */
  int search_every; /* 25: so many epochs apart, frictions and restitutions are tried at values all
                       over their range and moved where that lowers the loss; 0: never */
  int patience; /* 0: all epochs; else the training ends when so many epochs have brought no lower
                       validation loss (training loss, without validation chunks) */
  bool
      warm_start; /* true: carom_trainer_run begins with carom_trainer_warm_start; the paper has none */
  double
      tolerance; /* 1e-6: carom_trainer_run ends where the validation loss (training loss, without
                       validation chunks) is no more than that: predictions agree with the data to this
                       part of its length and speed; 0: never */
  bool estimate_states;    /* false. The first state of every chunk is an unknown too, held to its
                           measurement by the deviation of the noise: for noisy data, which otherwise
                           biases what is learned. The loss is then that of Student's distribution,
                           about the mean square of residuals by their deviation: near 1 where the
                           model explains the data */
  double noise_deviation;  /* 0: estimated from the data, of positions and of velocities. As that of
                             carom_dataset_options.noise */
  int states_every;        /* 5: epochs between two passes over the states */
  carom_balance balance;   /* CAROM_BALANCE_MEASURED; without estimate_states */
  uint64_t seed;           /* of the order of the chunks */
  carom_progress progress; /* NULL; called after each batch with the batches done and those of the
                              whole training. Return false to stop: CAROM_INTERRUPTED; the next
                              carom_trainer_epoch goes on with the batch that follows */
  void *progress_user;
} carom_trainer_options;

CAROM_API carom_trainer_options carom_trainer_default_options(void);

/* The paper's protocol: 1000 epochs at a constant 1e-3 for all parameters, no search, no warm start. */
CAROM_API carom_trainer_options carom_trainer_paper_options(void);

/* Whether a model with these options can be trained so on at most `chunks` chunks: values in range,
 * memory for parameters, optimiser and gradients. To be asked before data is made. */
CAROM_API carom_status carom_trainer_options_check(const carom_trainer_options *options,
                                                   const carom_model_options *model,
                                                   const carom_system *system, int chunks,
                                                   carom_error *error);

/* A friction or restitution that a search moved. */
typedef struct carom_move {
  char name[96];   /* "friction", "restitution/a|ground"; "mass_scale", "regularizer" (CMr) */
  double from, to; /* mass_scale: a factor on all masses and the potential */
  int chunks;      /* training chunks whose prediction meets the contact */
  double loss_before, loss_after; /* of these */
} carom_move;

/* What an epoch gave. */
typedef struct carom_epoch {
  int epoch;              /* 1 for the first */
  double loss;            /* mean over the epoch's batches, each before its update */
  double validation_loss; /* after the epoch; NaN without validation chunks */
  bool best; /* the lowest validation loss so far (loss, without validation chunks); with
                             estimate_states no more than its standard error above that */
  double learning_rate;
  double gradient_norm; /* of the last batch */
  int moves;            /* of frictions and restitutions, by a search before the epoch */
  double search_loss_before, search_loss_after; /* training loss around the moves; NaN without */
  double seconds;
  carom_report report; /* of all rollouts of the epoch */
} carom_epoch;

/* A training: the model, the optimiser's state, the order of the chunks. model and dataset must
 * outlive it. */
typedef struct carom_trainer carom_trainer;

CAROM_API carom_status carom_trainer_create(carom_model *model, const carom_dataset *dataset,
                                            const carom_trainer_options *options,
                                            carom_trainer **trainer, carom_error *error);
CAROM_API void carom_trainer_destroy(carom_trainer *trainer);

/* What the warm start of a training gave. */
typedef struct carom_warm_start {
  bool
      done; /* it has been made; false: not yet, not wanted, or there is none: for baselines, where first
                states are estimated, after the first batch */
  bool
      kept; /* forces explain the steps without a contact, and the losses of training and validation
                chunks have fallen: descent begins there, the slower the better it is; if not, everything is as it was */
  double loss_before, loss_after; /* of training chunks, of up to 4000 (50 where forces do
                                                 not explain the steps, and nothing else was fitted) */
  double validation_before, validation_after; /* of validation chunks; 0 without */
  int pairs;      /* of states without a contact, from which forces were fitted */
  int unknowns;   /* of that fit: weights of the last layer, elasticity, masses, moments */
  int chunks;     /* with a contact, from which contacts were fitted */
  int properties; /* of that fit: masses, moments, frictions, restitutions */
  double seconds; /* 0 where it was made by another process: files do not hold it */
} carom_warm_start;

/* Solves for what is nearly linear before descent begins, unless that has been done: the last layer of the
 * potential and masses from pairs of states without a contact, then masses, frictions and restitutions from
 * the chunks with one (docs/learning.md). The hidden layers stay. options.progress is asked now and then
 * whether to go on; CAROM_INTERRUPTED leaves everything as it was. result may be NULL. */
CAROM_API carom_status carom_trainer_warm_start(carom_trainer *trainer, carom_warm_start *result,
                                                carom_error *error);

/* One optimiser step on chosen training chunks (indices NULL: the first `count`); loss may be
 * NULL. */
CAROM_API carom_status carom_trainer_step(carom_trainer *trainer, int count, const int *indices,
                                          double *loss, carom_error *error);

/* One pass over the training chunks, without a warm start before the first; result may be NULL. A loss or gradient that is not finite is
 * an error (CAROM_NUMERICAL_FAILURE) and leaves parameters and optimiser as they were before that
 * batch. */
CAROM_API carom_status carom_trainer_epoch(carom_trainer *trainer, carom_epoch *result,
                                           carom_error *error);

/* The warm start, if options.warm_start wants it and it has not been made, then all epochs that are left, up to
 * where options.tolerance or options.patience ends it; the callback (or NULL) sees each one and may end it
 * by returning false (CAROM_INTERRUPTED). */
typedef bool (*carom_epoch_callback)(void *user, const carom_epoch *result);
CAROM_API carom_status carom_trainer_run(carom_trainer *trainer, carom_epoch_callback callback,
                                         void *user, carom_error *error);

/* How far a training is. */
typedef struct carom_trainer_info {
  int epochs_done;
  int batches_done; /* of the epoch under way */
  int batches;      /* of every epoch */
  int best_epoch;   /* 0: the warm start, or before the first epoch has ended */
  double best_loss; /* of validation, else of training; INFINITY before that */
  carom_warm_start warm_start;
  double position_noise, velocity_noise; /* deviations of the data; 0 unless states are estimated */
  double noise_scale;                    /* deviation of the residuals by these, at least 1 */
  double
      contact_weight; /* of chunks with a contact in the next epoch; 0: options.balance weighs none */
  bool
      within_tolerance; /* the best loss is no more than options.tolerance: nothing is left to do */
  bool
      stands_still; /* options.patience epochs have passed since the lowest loss: nothing is left to do */
} carom_trainer_info;

CAROM_API carom_trainer_info carom_trainer_describe(const carom_trainer *trainer);

/* Saves a training with its model: carom_model_load reads the model of such a file too. */
CAROM_API carom_status carom_trainer_save(const carom_trainer *trainer, const char *path,
                                          carom_error *error);

/* Puts model, optimiser and state of a saved training into a trainer made with the same scene,
 * model options, training options and data; the message names what differs. Of the training
 * options `epochs` may differ if the schedule is constant. Going on gives the same bits as never
 * having stopped. Nothing is changed on failure. */
CAROM_API carom_status carom_trainer_restore(carom_trainer *trainer, const char *path,
                                             carom_error *error);

/* The moves of the last search since the trainer was made, owned by the trainer, until the next one:
 * carom_epoch.moves of them after an epoch that began with a search. No search raises the loss of
 * the training chunks; where there are more than 4000 it is judged on as many, evenly spread. */
CAROM_API const carom_move *carom_trainer_moves(const carom_trainer *trainer, int *count);

/* The estimated first states of the training or validation chunks, x and v
 * [count][point_count][dimension], owned by the trainer: they change with its epochs. NULL where first
 * states are taken as exact. */
CAROM_API carom_status carom_trainer_states(const carom_trainer *trainer, carom_split split,
                                            const double **x, const double **v, carom_error *error);

#ifdef __cplusplus
}
#endif
#endif
