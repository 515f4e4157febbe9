/* Inside view of data sets: what generating them and cutting given trajectories share. */
#ifndef CAROM_LEARN_DATASET_H
#define CAROM_LEARN_DATASET_H

#include "carom.h"

enum { SPLIT_COUNT = CAROM_SPLIT_COUNT };

/* Chunks of a split, to be filled; how many of them the options want. */
carom_chunks *dataset_split(carom_dataset *dataset, int split);
int dataset_split_size(const carom_dataset_options *options, int split);

/* Seeds of a split for one purpose: streams that have nothing to do with each other. */
typedef enum dataset_purpose {
  PURPOSE_STATES, /* initial states; `index` is the block of trajectories */
  PURPOSE_PLACES, /* where in a trajectory its chunk is cut */
  PURPOSE_KINDS,  /* which trajectories give a chunk with a contact */
  PURPOSE_NOISE,
  PURPOSE_ORDER /* of given trajectories */
} dataset_purpose;
uint64_t dataset_seed(uint64_t seed, int split, dataset_purpose purpose, uint64_t index);

#endif
