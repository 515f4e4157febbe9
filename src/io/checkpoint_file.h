/* Checkpoints (HDF5): a model, and with it the training that it is in.
 *
 *   /mass, /moment, /friction, ...      float64, one dataset for each array of the model's
 *   /weight0, /bias0, ...               parameters, as they are learned (before their transforms)
 *   root attributes
 *     checkpoint        1, the version of this format
 *     carom_version, scene, dt          as in every file of carom
 *     model             "cm-cd-clnn", ...
 *     hidden_layers, ...                the options of the model, by the names in their table
 *                                       (io/option_file.h)
 *     model_seed        text
 *
 * and, where a training is saved,
 *   /first_moment, /second_moment       float64 [parameters] of AdamW
 *   /train_x, /train_v, /train_damping, /validation_x, ...
 *                                       float64 [chunks][numbers of each]: estimated first states of
 *                                       chunks, where the training estimates them (learn/states.h)
 *   /states_parameters                  float64 [parameters] of the model after the last pass over these
 *   root attributes
 *     epochs, batch, ...                the options of the trainer, by the names in their table
 *     train_seed (text), data_hash (text, hexadecimal)
 *     optimizer_steps, epochs_done, best_loss, best_epoch, lowest_loss, lowest_epoch, contact_weight, and of the epoch under way batches_done,
 *     loss_sum, free_loss, contact_loss, free_count, contact_count, gradient_norm, moves and the counters of its report; noise_scale
 *
 * An attribute of any other name is refused. The same training gives the same bytes: there is no time in it. */
#ifndef CAROM_IO_CHECKPOINT_FILE_H
#define CAROM_IO_CHECKPOINT_FILE_H

#include "carom.h"

#endif
