/* The inside of a training, open so that io/ can save it and take it up again.
 *
 * A training is a function of (model parameters, optimiser moments, training_state, estimated
 * states): the order of the chunks in epoch k comes from (seed, k) alone, so that no generator has to be
 * kept. Restoring these and going on gives the same bits as never having stopped, between any two batches.
 *
 * Rate in epoch k of E (k = 1 .. E), constant for all batches of an epoch:
 * times what a warm start leaves of it (trainer_slowing), and
 *   constant  learning_rate
 *   cosine    learning_rate (f + (1 - f) (1 + cos(pi (k - 1) / (E - 1))) / 2),  f = final_rate */
#ifndef CAROM_LEARN_TRAINER_H
#define CAROM_LEARN_TRAINER_H

#include "carom.h"

#include "learn/adamw.h"
#include "learn/balance.h"
#include "learn/property_search.h"
#include "learn/states.h"

/* How far a training is. What belongs to the epoch under way is zero between epochs. */
typedef struct training_state {
  int epochs_done;
  int batches_done;      /* of the epoch under way */
  double loss_sum;       /* of its batches, each weighted by its chunks */
  double gradient_norm;  /* of its last batch */
  carom_report report;   /* of its rollouts */
  kind_losses kinds;     /* of its batches */
  double contact_weight; /* of chunks with a contact in it; 0: they are not weighed, or not yet */
  int moves;             /* of properties, by the search before it */
  double search_loss_before, search_loss_after; /* training loss around them; 0 without */
  carom_warm_start warm;                        /* before the first epoch */
  double best_loss;                             /* INFINITY before the first epoch has ended */
  int best_epoch;                               /* 0 before that, and of the warm start */
  double lowest_loss; /* which may be that of another epoch, where states are estimated */
  int lowest_epoch;   /* 0 before that, and in files of earlier versions: the best one */
} training_state;

struct carom_trainer {
  carom_model *model;
  const carom_dataset *dataset;
  carom_trainer_options options;
  adamw optimizer;
  search_result search;       /* of the last search */
  state_estimation estimated; /* first states of chunks, where these are unknown too */
  training_state state;
  uint64_t
      data_hash;    /* of the chunks it trains and validates on: a resumed run must have the same */
  int samples;      /* of an epoch: training chunks, or their pairs of states */
  int *order;       /* [samples] in the order of the epoch under way */
  double *gradient; /* [optimizer.size] */
};

/* Batches in one epoch; the last one may be smaller. */
int trainer_batch_count(const carom_trainer *trainer);

/* The learning rate of an epoch, 1 for the first; times trainer_slowing behind a warm start. */
double trainer_rate(const carom_trainer_options *options, int epoch);

/* What a warm start leaves of the rate: AdamW's steps have a fixed size, and those of the full rate would
 * undo it. 1 without. */
double trainer_slowing(const carom_trainer *trainer);

/* Puts 0 .. count - 1 into the order of an epoch. */
void trainer_shuffle(uint64_t seed, int epoch, int count, int *order);

#endif
